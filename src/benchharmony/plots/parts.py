"""The subdomains of a benchmark over its models: mean and range of the scores, as Vega-Lite."""

from __future__ import annotations

from typing import Any

from benchharmony.plots.measure import text_width
from benchharmony.plots.rows import rows_of
from benchharmony.plots.style import COLOURS, GREY, SCREEN, Size, framed
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Subdomains drawn, the largest; the record has all.
MOST = 40
_TOOLTIP = [
    {"field": "label", "type": "nominal", "title": "subdomain"},
    {"field": "mean", "type": "quantitative", "format": ".3f", "title": "mean of the models"},
    {"field": "low", "type": "quantitative", "format": ".3f", "title": "lowest model"},
    {"field": "high", "type": "quantitative", "format": ".3f", "title": "highest model"},
    {"field": "items", "type": "quantitative"},
]


def parts_spec(entry: dict[str, Any], size: Size = SCREEN) -> Spec | None:
    """Return a row per shared subdomain, best first: mean score of the models, and their range.

    Rows are as high as their shares of the items.

    Parameters
    ----------
    entry : dict
        One benchmark of a document ``benchharmony/landscape/1``.
    size : Size
        Of the picture.

    Returns
    -------
    dict or None
        None where the models do not share their subdomains.
    """
    large = sorted(entry["subdomains"], key=lambda s: -s["weight"])[:MOST]
    if not large:
        return None
    parts = sorted(large, key=lambda s: -s["score"]["mean"])
    total = sum(s["weight"] for s in parts)
    names = [f"{s['label']} ({s['weight']:.0%})" for s in parts]
    beside = text_width("0.00", size.font) + 8
    rows = rows_of(names, [s["weight"] / total for s in parts], size, beside=beside)
    values = [
        {
            "label": shown(s["label"], 80), "mean": s["score"]["mean"], "low": s["score"]["min"],
            "high": s["score"]["max"], "items": s["size"], "figure": f"{s['score']['mean']:.2f}",
            **rows.fields(i),
        }
        for i, s in enumerate(parts)
    ]  # fmt: skip
    average = entry["score"]["mean"]
    few = size.is_narrow
    words = f"point: mean; bar: range over models; dashed: average {average:.2f}"
    x: Spec = {
        "type": "quantitative", "title": "score" if few else f"score of {entry['n_models']} models",
        "scale": {"domain": [0, 1], "nice": False}, "axis": {"tickCount": 5, "format": ".1f"},
    }  # fmt: skip
    middle = rows.y("middle")
    bars: Spec = {
        "mark": {"type": "rule", "color": COLOURS[0], "strokeWidth": 6, "opacity": 0.3},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": middle},
    }
    line: Spec = {
        "data": {"values": [{"average": average}]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [5, 3]},
        "encoding": {"x": {**x, "field": "average"}},
    }
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 80, "color": COLOURS[0], "opacity": 1},
        "encoding": {"x": {**x, "field": "mean"}, "y": middle, "tooltip": _TOOLTIP},
    }
    figures: Spec = {
        "mark": {"type": "text", "align": "left", "baseline": "middle", "color": GREY},
        "encoding": {
            "x": {"value": rows.width + 6}, "y": middle,
            "text": {"field": "figure", "type": "nominal"},
        },
    }  # fmt: skip
    return framed(
        {
            "title": {"text": f"{shown(entry['benchmark'], 50)}: its subdomains over the models",
                      "subtitle": words, "subtitleColor": GREY, "subtitleFontSize": size.font},
            "width": rows.width,
            "height": rows.height,
            "data": {"values": values},
            "layer": [line, bars, points, *rows.layers(), figures],
        },
        size,
    )  # fmt: skip
