"""The page of a report: every evaluation at a glance, and each of them in detail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchharmony.page.evaluation import evaluation_view
from benchharmony.page.items import ItemStore
from benchharmony.page.over_models import plane_of
from benchharmony.page.pictures import Drawer
from benchharmony.page.safe import block, line
from benchharmony.page.settings import settings_rows
from benchharmony.page.shell import render
from benchharmony.page.short import by_benchmark, in_short
from benchharmony.page.words import (
    GLOSSARY,
    LIMITS,
    NOT_JUDGED,
    OF_EVALUATION,
    UNDEFINED,
    Answer,
    counted,
    isolated,
    listed,
    spread,
)
from benchharmony.splits import Split

#: So many evaluations are open when the page opens.
_OPEN = 2


def page(record: dict[str, Any], splits: Sequence[Split], command: str | None) -> str:
    """Return the page.

    Parameters
    ----------
    record : dict
        A document ``benchharmony/report/1``.
    splits : sequence of Split
        Behind its evaluations, in their order; empty where items are not at hand.
    command : str or None
        What made it.
    """
    entries = record["evaluations"]
    drawer, store = Drawer(len(entries)), ItemStore(splits)
    names = {
        key: {n: i for i, n in enumerate(dict.fromkeys(e[key] for e in entries))}
        for key in ("benchmark", "model")
    }
    rows = [_row(i, e, names) for i, e in enumerate(entries)]
    plane = plane_of(entries, names["benchmark"], drawer)
    views = [
        evaluation_view(entry, row, splits[i] if splits else None, drawer, store)
        for i, (entry, row) in enumerate(zip(entries, rows, strict=True))
    ]
    context = {
        "title": _title(names),
        "version": record["version"],
        "lead": _lead(entries, names),
        "short": in_short(rows),
        "by_benchmark": by_benchmark(rows),
        "rows": rows,
        "benchmarks": [line(n, 80) for n in names["benchmark"]],
        "models": [line(n, 80) for n in names["model"]],
        "answers": _answers_there(rows),
        "plane": plane,
        "views": views,
        "open": len(views) <= _OPEN,
        "glossary": GLOSSARY,
        "limits": LIMITS,
        "settings": settings_rows(record["settings"]),
        "command": command and block(command, 20_000),
        "files": _files(entries),
        "why_not": drawer.why_not,
    }
    return render("report.html.j2", context, store.blobs())


def _title(names: dict[str, dict[str, int]]) -> str:
    benchmarks, models = list(names["benchmark"]), list(names["model"])
    if len(benchmarks) == len(models) == 1:
        return f"Can the average be trusted? {isolated(benchmarks[0])} / {isolated(models[0])}"
    if len(benchmarks) <= 2:
        return f"Can the average be trusted? {listed(benchmarks)}"
    return f"Can the averages be trusted? {counted(len(benchmarks), 'benchmark')}"


def _lead(entries: Sequence[dict[str, Any]], names: dict[str, dict[str, int]]) -> str:
    """Return what was measured, in words."""
    benchmarks, models = list(names["benchmark"]), list(names["model"])
    items = sum(e["n_items"] for e in entries)
    if len(entries) == 1:
        e = entries[0]
        score = e["score"]["mean"]
        scored = "" if score is None else f" and scored {score:.3f} on average"
        return (
            f"{isolated(e['model'], 80)} answered {counted(e['n_items'], 'item')} of "
            f"{isolated(e['benchmark'], 80)}{scored}. This page says whether that one number "
            "stands for all parts of the benchmark, and which parts it hides."
        )
    return (
        f"{counted(len(models), 'model')} ({listed(models)}) on "
        f"{counted(len(benchmarks), 'benchmark')} ({listed(benchmarks)}): "
        f"{counted(len(entries), 'evaluation')} with {counted(items, 'answer')} in all. For each "
        "of them, this page says whether its average score stands for all parts of the "
        "benchmark, and which parts it hides."
    )


def _row(i: int, e: dict[str, Any], names: dict[str, dict[str, int]]) -> dict[str, Any]:
    answer = answer_of(e)
    agreement = e["harmony"]["agreement"]
    return {
        "i": i,
        "benchmark": line(e["benchmark"], 80),
        "model": line(e["model"], 80),
        "b": names["benchmark"][e["benchmark"]],
        "m": names["model"][e["model"]],
        "answer": answer,
        "label": e["verdict"]["label"] if e["verdict"] else answer.short,
        "why": spread(e["subdomains"], e["score"]["mean"]),
        "n_items": e["n_items"],
        "score": e["score"],
        "h": e["harmony"],
        "k": e["partition"]["k"],
        "kind": (e["partition"]["kind"] or "-").split(":")[0],
        "warnings": len(e["warnings"]),
        "order": (answer.rank, 1.0 if agreement is None else agreement),
    }


def answer_of(entry: dict[str, Any]) -> Answer:
    """Return whether the average of an evaluation can be trusted."""
    if entry["harmony"]["value"] is None:
        return UNDEFINED
    if not entry["verdict"]:
        return NOT_JUDGED
    return OF_EVALUATION.get(entry["verdict"]["label"], NOT_JUDGED)


def _answers_there(rows: Sequence[dict[str, Any]]) -> list[Answer]:
    return sorted({r["answer"] for r in rows}, key=lambda a: a.rank)


def _files(entries: Sequence[dict[str, Any]]) -> list[str]:
    files = dict.fromkeys(f for e in entries for f in e["source"]["files"])
    return [line(f, 300) for f in files]
