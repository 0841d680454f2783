"""The page of a landscape: which benchmark's average can be trusted, over many models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchharmony.landscape.growth import size_words
from benchharmony.page.benchmark import benchmark_view, trend_table
from benchharmony.page.pictures import Drawer, Picture
from benchharmony.page.safe import block, line
from benchharmony.page.settings import settings_rows
from benchharmony.page.shell import render
from benchharmony.page.short import in_short
from benchharmony.page.words import (
    LANDSCAPE_GLOSSARY,
    LIMITS,
    NOT_JUDGED,
    OF_BENCHMARK,
    counted,
    isolated,
    listed,
    why_over_models,
)

#: So many benchmarks are open when the page opens.
_OPEN = 2


def page(record: dict[str, Any], command: str | None) -> str:
    """Return the page of a document ``benchharmony/landscape/1``."""
    entries = record["benchmarks"]
    drawer = Drawer(len(entries))
    rows = [_row(i, e) for i, e in enumerate(entries)]
    context = {
        "title": _title(entries),
        "version": record["version"],
        "lead": _lead(record),
        "short": in_short(rows),
        "rows": rows,
        "benchmarks": [r["benchmark"] for r in rows],
        "answers": sorted({r["answer"] for r in rows}, key=lambda a: a.rank),
        "warning_texts": [block(w, 600) for w in record["warnings"]],
        "plane": _plane(record, drawer),
        "views": [
            benchmark_view(e, row, record, drawer) for e, row in zip(entries, rows, strict=True)
        ],
        "open": len(rows) <= _OPEN,
        "matched": _matched(record, drawer),
        "trends": _trends(record, drawer),
        "members": [_member(m) for m in record["models"]],
        "left_out": [
            (line(x["benchmark"], 60), line(x["model"], 60), line(x["reason"], 300))
            for x in record["left_out"][:200]
        ],
        "glossary": LANDSCAPE_GLOSSARY,
        "limits": LIMITS,
        "settings": settings_rows(record["settings"]),
        "command": command and block(command, 20_000),
        "files": [],
    }
    return render("landscape.html.j2", {**context, "why_not": drawer.why_not}, {})


def _title(entries: Sequence[dict[str, Any]]) -> str:
    names = [e["benchmark"] for e in entries]
    if len(names) == 1:
        return f"Can the average of {isolated(names[0])} be trusted?"
    return f"Which averages can be trusted? {listed(names, 3)}"


def _lead(record: dict[str, Any]) -> str:
    models = [m["model"] for m in record["models"]]
    entries = record["benchmarks"]
    items = ", ".join(f"{isolated(e['benchmark'], 40)} {e['n_items']:,}" for e in entries[:6])
    more = f" and {len(entries) - 6} more" if len(entries) > 6 else ""
    return (
        f"{counted(len(models), 'model')} ({listed(models, 3)}) answered "
        f"{counted(len(entries), 'benchmark')} (items: {items}{more}). People quote a benchmark's "
        "average score. This page says of each benchmark whether its average stands for all of "
        "its parts, whichever of these models is looked at, and what it hides where it does not."
    )


def _row(i: int, e: dict[str, Any]) -> dict[str, Any]:
    answer = OF_BENCHMARK.get(e["verdict"]["label"], NOT_JUDGED)
    return {
        "i": i,
        "b": i,
        "benchmark": line(e["benchmark"], 80),
        "model": None,
        "answer": answer,
        "label": e["verdict"]["label"],
        "why": why_over_models(e),
        "n_items": e["n_items"],
        "n_models": e["n_models"],
        "k": e["k"],
        "score": e["score"],
        "h": e["harmony"],
        "agreement": e["agreement"],
        "warnings": len(e["warnings"]),
        "order": (answer.rank, e["agreement"]["mean"]),
    }


def _plane(record: dict[str, Any], drawer: Drawer) -> dict[str, Any] | None:
    from benchharmony.plots import plane_spec

    entries = record["benchmarks"]
    if len(entries) < 2:
        return None
    # Large benchmarks are drawn first, under the small ones.
    links = sorted(range(len(entries)), key=lambda i: -entries[i]["n_items"])
    words = "Mean and standard deviation of H over models, a point per benchmark."
    picture = drawer.both(
        lambda size: plane_spec(record, size=size),
        words,
        links=links,
        kind="benchmark",
        role="page",
    )
    if picture is None:
        return None
    return {
        "picture": picture,
        "caption": "Right and low is good: H is high for all models. Left: the average hangs on a "
        "few subdomains. High: it does so for some models and not for others. Bars are "
        "intervals. Choose a point to see its benchmark only.",
    }


def _matched(record: dict[str, Any], drawer: Drawer) -> dict[str, Any] | None:
    """Return every benchmark cut to one number of items: H falls with fewer items."""
    from benchharmony.plots import matched_spec

    if len(record["benchmarks"]) < 2:
        return None
    cuts = record["size"]["matched"]
    picture: Picture | None = drawer.draw(
        matched_spec(record),
        "The plane with all items, and cut to one number of items.",
        role="page",
    )
    return {
        "items": record["size"]["matched_items"],
        "picture": picture,
        "rows": [
            (
                line(e["benchmark"], 60),
                f"{e['n_items']:,}",
                f"{e['harmony']['raw']['mean']:.3f}",
                f"{e['harmony']['adjusted']['mean']:.3f}",
                f"{cuts[e['benchmark']]['raw']['mean']:.3f}",
                f"{cuts[e['benchmark']]['adjusted']['mean']:.3f}",
            )
            for e in record["benchmarks"]
        ],
    }


def _trends(record: dict[str, Any], drawer: Drawer) -> list[dict[str, Any]]:
    from benchharmony.plots import trends_spec

    out = []
    for over, entries in record["trends"].items():
        if not entries:
            continue
        picture = drawer.draw(
            trends_spec(record, over),
            f"H and score over {over}, a line per family of models.",
            role="page",
        )
        out.append({"over": over, "picture": picture, **trend_table(entries)})
    return out


def _member(m: dict[str, Any]) -> tuple[str, str, str, str, str]:
    return (
        line(m["model"], 80),
        line(m["family"] or "-", 40),
        size_words(m["parameters"]) or "-",
        size_words(m["tokens"]) or "-",
        line(m["source"] or "nothing known", 40),
    )
