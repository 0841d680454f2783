"""The report as LaTeX: a table of the evaluations and, for a few, one of each one's subdomains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchharmony.report.names import cut_names
from benchharmony.report.shown import interval, number
from benchharmony.report.tex import booktabs, tex

#: The preamble that the tables need, said in each file.
NEEDS = r"Needs \usepackage{booktabs}."
#: Up to so many evaluations have a table of their subdomains.
_DETAILS_UP_TO = 4


def to_latex(record: dict[str, Any]) -> str:
    """Return booktabs tables of a document ``benchharmony/report/1``."""
    entries, level = record["evaluations"], record["settings"]["level"]
    notes = [NEEDS, f"Made by benchharmony {record['version']}."]
    benchmarks, models = (short([e[key] for e in entries]) for key in ("benchmark", "model"))
    b = record["settings"]["bandwidth"]
    tables = [
        booktabs(
            _HEADS,
            [_row(e, b, m) for e, b, m in zip(entries, benchmarks, models, strict=True)],
            caption=f"Score and HARMONY with {level * 100:g}\\,\\% intervals (of $H$: of its "
            f"true value); adj.: noise-adjusted $H$; agr.: agreement; bandwidth $b = {b:g}$.",
            label="tab:harmony",
            align="llrllrrrl",
            notes=notes,
        )
    ]
    if len(entries) <= _DETAILS_UP_TO:
        tables += [_subdomains(e, i, level) for i, e in enumerate(entries) if e["subdomains"]]
    return "\n".join(tables)


_HEADS = ("Benchmark", "Model", "Items", "Score", "$H$", "adj.", "agr.", "$k$", "Verdict")


def short(names: Sequence[object], limit: int = 28) -> list[str]:
    """Return names for cells: cut to a length, still told apart, LaTeX already."""
    return [tex(name, limit) for name in cut_names(names, limit)]


def _row(entry: dict[str, Any], benchmark: str, model: str) -> list[str]:
    h, score = entry["harmony"], entry["score"]
    verdict = entry["verdict"]["label"] if entry["verdict"] else "undefined"
    return [
        benchmark, model, str(entry["n_items"]),
        bounded(score["mean"], score["ci"]), bounded(h["value"], h["ci"]), number(h["adjusted"], 2),
        number(h["agreement"], 2), str(entry["partition"]["k"] or "-"), tex(verdict),
    ]  # fmt: skip


def bounded(value: float | None, bounds: list[float] | None, digits: int = 2) -> str:
    """Return a number with its interval for a cell; "-" where it is undefined."""
    return f"{number(value, digits)} {interval(bounds, digits)}".strip()


def _subdomains(entry: dict[str, Any], place: int, level: float) -> str:
    names = short([s["label"] for s in entry["subdomains"]], 40)
    rows = [
        [
            name, str(s["size"]), f"{s['weight'] * 100:.0f}\\,\\%",
            bounded(s["score"], s["ci"]), number(s["mass"], 2),
        ]
        for s, name in zip(entry["subdomains"], names, strict=True)
    ]  # fmt: skip
    return booktabs(
        ("Subdomain", "Items", "Share", "Score", "Mass"),
        rows,
        caption=f"Subdomains of {tex(entry['benchmark'], 60)} for {tex(entry['model'], 60)}: score "
        f"with {level * 100:g}\\,\\% interval, and mass in $H$.",
        label=f"tab:harmony-subdomains-{place + 1}",
        align="lrrlr",
        notes=[NEEDS],
    )


def compared_to_latex(record: dict[str, Any]) -> str:
    """Return a booktabs table of a document ``benchharmony/compare/1``: where two models differ."""
    score, h = record["score"], record["harmony"]
    names = short([s["label"] for s in record["subdomains"]], 40)
    rows = [
        ["All items", str(record["n_items"]), signed(score["difference"], score["ci"]),
         _probability(score["p_value"])],
        *(
            [name, str(s["size"]), signed(s["difference"], None), _probability(s["q_value"])]
            for s, name in zip(record["subdomains"], names, strict=True)
        ),
    ]  # fmt: skip
    return booktabs(
        ("", "Items", "Difference of score", "$p$ or $q$"),
        rows,
        caption=f"{tex(record['benchmark'])}: {tex(record['a'])} less {tex(record['b'])}. First "
        "line: with interval and $p$-value; subdomains: with $q$-value (false discoveries held). "
        f"$H$ differs by {signed(h['difference'], None)}; interval of the true difference: "
        f"{interval(h['ci'], 2).replace('-', '$-$') or '-'}.",
        label="tab:compare",
        align="lrrr",
        notes=[NEEDS, f"Made by benchharmony {record['version']}."],
    )


def signed(value: float | None, bounds: list[float] | None) -> str:
    """Return a number with its sign, and its interval, with minus signs of mathematics."""
    if value is None:
        return "-"
    return f"{value:+.2f} {interval(bounds, 2)}".strip().replace("-", "$-$").replace("+", "$+$")


def _probability(value: float | None) -> str:
    return "-" if value is None else "$<$0.001" if value < 0.001 else f"{value:.3f}"
