"""The landscape as LaTeX: a table of the benchmarks and one of the slopes with size."""

from __future__ import annotations

from typing import Any

from benchharmony.report.latex import NEEDS, bounded, short, signed
from benchharmony.report.shown import number
from benchharmony.report.tex import booktabs, tex


def to_latex(record: dict[str, Any]) -> str:
    """Return booktabs tables of a document ``benchharmony/landscape/1``."""
    s = record["settings"]
    names = short([e["benchmark"] for e in record["benchmarks"]])
    tables = [
        booktabs(
            ("Benchmark", "Items", "Models", "$k$", "Score", "$H$", "adj.\\ $H$", "SD", "agr.",
             "Verdict"),
            [_row(e, n) for e, n in zip(record["benchmarks"], names, strict=True)],
            caption="Means over models of score, $H$, noise-adjusted $H$ (with "
            f"{s['level'] * 100:g}\\,\\% interval) and agreement (agr.), and the standard "
            "deviation (SD) of noise-adjusted $H$ over models; bandwidth "
            f"$b = {s['bandwidth']:g}$.",
            label="tab:landscape",
            align="lrrrrrlrrl",
            notes=[NEEDS, f"Made by benchharmony {record['version']}."],
        )
    ]  # fmt: skip
    for over, entries in record["trends"].items():
        rows = [row for entry in entries for row in _slopes(entry)]
        if rows:
            tables.append(_trends(over, rows, s["level"]))
    return "\n".join(tables)


def _row(entry: dict[str, Any], name: str) -> list[str]:
    h, k = entry["harmony"]["adjusted"], entry["k"]
    ks = str(k["min"]) if k["min"] == k["max"] else f"{k['min']}--{k['max']}"
    return [
        name, str(entry["n_items"]), str(entry["n_models"]), ks,
        number(entry["score"]["mean"], 2), number(entry["harmony"]["raw"]["mean"], 2),
        bounded(h["mean"], h["ci"]), number(h["sd"], 2), number(entry["agreement"]["mean"], 2),
        tex(entry["verdict"]["label"]),
    ]  # fmt: skip


def _slopes(entry: dict[str, Any]) -> list[list[str]]:
    return [
        [
            tex(entry["benchmark"], 40), tex(h["family"], 30), str(h["sizes"]),
            signed(h["slope"], h["ci"]), signed(score["slope"], score["ci"]),
        ]
        for h, score in zip(entry["adjusted"]["families"], entry["score"]["families"], strict=True)
        if h["slope"] is not None
    ]  # fmt: skip


def _trends(over: str, rows: list[list[str]], level: float) -> str:
    return booktabs(
        ("Benchmark", "Family", "Sizes", "Slope of adj.\\ $H$", "Slope of score"),
        rows,
        caption=f"Change with {tex(over)} per factor 10, with {level * 100:g}\\,\\% intervals.",
        label=f"tab:trends-{over}",
        align="llrll",
        notes=[NEEDS],
    )
