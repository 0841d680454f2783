"""The validation record as plots: H estimated against H true, and H over tau and k."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchharmony.plots import save_for_print
from benchharmony.plots.style import COLOURS, FAINT, SCREEN, Size, framed
from benchharmony.report.shown import shown
from benchharmony.writing import file_stem

Spec = dict[str, Any]

#: Cells smaller than this have no numbers, in px for a px of font.
_NUMBERED = 2.3


def specs_of(record: dict[str, Any], size: Size = SCREEN) -> dict[str, Spec]:
    """Return every plot of a record by file stem, as Vega-Lite specifications."""
    out: dict[str, Spec] = {}
    for i, case in enumerate(record["cases"], start=1):
        stem = f"{i}-{file_stem(case['benchmark'], case['model'])}"
        if case.get("recovery"):
            out[f"recovery-{stem}"] = scatter_spec(case, size)
        if case.get("sensitivity"):
            out[f"sensitivity-{stem}"] = heat_map_spec(case, size)
    return out


def scatter_spec(case: dict[str, Any], size: Size = SCREEN) -> Spec:
    """Return H under the induced partition against H under the declared one, k as declared.

    One panel for each positions and kind of scores; the line is equality.
    """
    values = [
        {
            "panel": f"{r['positions']}, {r['scores']} scores", "true": p["true"], "H": p[key],
            "partition": name,
        }
        for r in case["recovery"]
        if r["rule"] == "declared"
        for p in r["points"]
        for key, name in (("estimated", "induced"), ("shuffled", "shuffled membership"))
    ]  # fmt: skip
    axis = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    names = ["induced", "shuffled membership"]
    legend_at = {"orient": "bottom"} if size.is_narrow else {}
    points = {
        "mark": {"type": "point", "size": 22, "filled": True, "opacity": 0.7},
        "encoding": {
            "x": {"field": "true", "title": "H, declared subdomains", **axis},
            "y": {"field": "H", "title": "H, induced partition", **axis},
            "color": {
                "field": "partition", "type": "nominal", "sort": names, "title": None,
                "scale": {"domain": names, "range": [COLOURS[0], FAINT]}, "legend": legend_at,
            },
            "shape": {
                "field": "partition", "type": "nominal", "sort": names, "title": None,
                "scale": {"domain": names, "range": ["circle", "square"]}, "legend": legend_at,
            },
        },
    }  # fmt: skip
    line = {
        "mark": {"type": "rule", "color": "black", "strokeDash": [4, 3]},
        "encoding": {
            "x": {"datum": 0, "type": "quantitative"}, "y": {"datum": 0, "type": "quantitative"},
            "x2": {"datum": 1}, "y2": {"datum": 1},
        },
    }  # fmt: skip
    columns = 1 if size.is_narrow else 2
    legend = 0.0 if size.is_narrow else 13 * size.font
    side = round((size.width - legend) / columns - 4.5 * size.font)
    return framed(
        {
            "title": f"{_name(case)}: H recovered over sub-benchmarks",
            "data": {"values": values},
            "facet": {"field": "panel", "type": "nominal", "title": None},
            "columns": columns,
            "spec": {"width": side, "height": side, "layer": [points, line]},
        },
        size,
    )


def heat_map_spec(case: dict[str, Any], size: Size = SCREEN) -> Spec:
    """Return H over tau and k as a heat map with numbers."""
    grid = case["sensitivity"]["heat_map"]
    values = [
        {"tau": f"{tau:g}", "k": str(k), "H": h}
        for tau, line in zip(grid["taus"], grid["h"], strict=True)
        for k, h in zip(grid["ks"], line, strict=True)
        if h is not None
    ]
    taus, ks = [f"{t:g}" for t in grid["taus"]], [str(k) for k in grid["ks"]]
    colour = {
        "field": "H", "type": "quantitative",
        "scale": {"scheme": "viridis", "domain": [0, 1], "clamp": True},
    }  # fmt: skip
    number = {
        "text": {"field": "H", "type": "quantitative", "format": ".2f"},
        "color": {
            "condition": {"test": "datum.H > 0.6", "value": "#1b1b1b"}, "value": "white",
        },
    }  # fmt: skip
    room = (7.0 if size.is_narrow else 15.0) * size.font
    cell = min((size.width - room) / len(ks), 42)
    if size.is_narrow:
        colour["legend"] = {"orient": "bottom"}
    cells: list[Spec] = [{"mark": {"type": "rect"}, "encoding": {"color": colour}}]
    if cell >= _NUMBERED * size.font:
        cells.append({"mark": {"type": "text", "fontSize": size.font - 1}, "encoding": number})
    return framed(
        {
            "title": f"{_name(case)}: H over tau and k ({shown(grid['positions'], 20)})",
            "width": cell * len(ks),
            "height": min(cell, 34) * len(taus),
            "data": {"values": values},
            "encoding": {
                "x": {"field": "k", "type": "nominal", "sort": ks, "axis": {"labelAngle": 0}},
                "y": {
                    "field": "tau", "type": "nominal", "sort": taus,
                    "title": "tau / median rule",
                },
            },
            "layer": cells,
        },
        size,
    )  # fmt: skip


def save_plots(
    record: dict[str, Any], folder: str | Path, told: Callable[[str], None] | None = None
) -> list[Path]:
    """Write every plot of a record in both sizes of print; return the files.

    Raises
    ------
    BenchharmonyError
        When the extra for plots is not installed or a file cannot be written.
    """
    return save_for_print(lambda size: specs_of(record, size), folder, told)


def _name(case: dict[str, Any]) -> str:
    return f"{shown(case['benchmark'], 40)} / {shown(case['model'], 40)}"
