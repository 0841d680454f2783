"""One benchmark of a landscape as the template shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchharmony.landscape.growth import size_words
from benchharmony.landscape.words import EVEN
from benchharmony.page.pictures import Drawer
from benchharmony.page.safe import block, line
from benchharmony.page.words import partition_words
from benchharmony.report.shown import interval, number


def benchmark_view(
    e: dict[str, Any], row: dict[str, Any], record: dict[str, Any], drawer: Drawer
) -> dict[str, Any]:
    """Return everything that the page shows of one benchmark.

    Parameters
    ----------
    e : dict
        Of ``record["benchmarks"]``.
    row : dict
        The same in the table at the top.
    record : dict
        The whole document.
    drawer : Drawer
        Of the page.
    """
    from benchharmony.plots import matrix_spec
    from benchharmony.plots.parts import parts_spec

    found = record["partitions"].get(e["benchmark"], {})
    matrix = None
    if len(found.get("models", ())) > 1 and found.get("agreement"):
        matrix = drawer.draw(
            matrix_spec(e["benchmark"], found),
            f"How far the models' own partitions of {line(e['benchmark'], 60)} agree.",
            themed=False,
        )
    return {
        **row,
        "sentence": block(e["verdict"]["sentence"], 600),
        "warning_texts": [block(w, 1000) for w in e["warnings"]],
        "partition": partition_words({"kind": e["partition"]}),
        "parts": [_part(s, e["n_models"]) for s in e["subdomains"]],
        "bars": drawer.both(
            lambda size: parts_spec(e, size),
            f"Scores of the models on each subdomain of {line(e['benchmark'], 60)}; the table "
            "below has the numbers.",
        ),
        "figures": _figures(e),
        "evaluations": [_evaluation(x) for x in record["evaluations"] if _is_of(x, e)],
        "without": _without(e),
        "found": [block(s, 600) for s in found.get("sentences", [])],
        "note": found.get("note") and block(found["note"], 400),
        "matrix": matrix,
    }


def _is_of(evaluation: dict[str, Any], benchmark: dict[str, Any]) -> bool:
    return bool(evaluation["benchmark"] == benchmark["benchmark"])


def _part(s: dict[str, Any], models: int) -> dict[str, Any]:
    return {
        "label": line(s["label"], 100),
        "size": s["size"],
        "weight": s["weight"],
        "mean": s["score"]["mean"],
        "low": s["score"]["min"],
        "high": s["score"]["max"],
        "below": round(s["below"] * models),
    }


def _figures(e: dict[str, Any]) -> list[tuple[str, str, str]]:
    h, a = e["harmony"]["adjusted"], e["agreement"]
    k = e["k"]
    return [
        (
            "score",
            f"{number(e['score']['mean'])} {interval(e['score']['ci'])}".strip(),
            f"mean of {e['n_models']} models on {e['n_items']:,} items",
        ),
        (
            "H, adjusted",
            f"{number(h['mean'])} {interval(h['ci'])}".strip(),
            "mean over models, chance taken out",
        ),
        (
            "spread of H",
            f"{number(h['sd'])}",
            "standard deviation over models, item noise taken out",
        ),
        (
            "agreement",
            f"{number(a['mean'])} {interval(a['items_ci'])}".strip(),
            f"mean over models, chance taken out, with its interval for these models; {EVEN} and "
            "more is even. The answer goes by this",
        ),
        (
            "k",
            f"{k['min']}" if k["min"] == k["max"] else f"{k['min']} to {k['max']}",
            "subdomains",
        ),
    ]


def _evaluation(x: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": line(x["model"], 80),
        "family": line(x["family"] or "-", 40),
        "parameters": x["parameters"],
        "size": size_words(x["parameters"]) or "-",
        "score": x["score"],
        "raw": x["raw"],
        "adjusted": x["adjusted"],
        "agreement": x["agreement"],
        "even": x["agreement"] >= EVEN,
    }


def _without(e: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return how the mean of H moves when one model, or one family, is left out."""
    out = []
    for key, words in (
        ("leave_one_model_out", "one model"),
        ("leave_one_family_out", "one family"),
    ):
        band = (e[key] or {}).get("adjusted")
        if band and band.get("mean"):
            low, high = band["mean"]
            out.append((words, number(low), number(high), line(band["most"] or "-", 60)))
    return out


def trend_table(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows of a trend, and a sentence for each benchmark."""
    rows, words = [], []
    for entry in entries:
        name = line(entry["benchmark"], 60)
        for h, s in zip(entry["adjusted"]["families"], entry["score"]["families"], strict=True):
            rows.append(
                (
                    name,
                    line(h["family"], 40),
                    str(h["sizes"]),
                    _slope(h),
                    _slope(s),
                )
            )
        common = entry["adjusted"]["common"]
        if common is None:
            words.append(f"{name}: no family with 3 sizes, so nothing is fitted.")
        else:
            words.append(
                f"{name}: per factor 10 in size, adjusted H changes by {common['slope']:+.3f} "
                f"{interval(common['ci'])}, the score by {entry['score']['common']['slope']:+.3f} "
                f"{interval(entry['score']['common']['ci'])}."
            )
    return {"rows": rows, "words": words}


def _slope(fit: dict[str, Any]) -> str:
    return "-" if fit["slope"] is None else f"{fit['slope']:+.2f} {interval(fit['ci'], 2)}".strip()
