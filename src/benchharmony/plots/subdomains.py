"""Subdomains of one evaluation: their performance, and what each weighs in H, as Vega-Lite."""

from __future__ import annotations

from typing import Any

from benchharmony.metric import BANDWIDTH
from benchharmony.plots.measure import text_width
from benchharmony.plots.naming import subdomain_names, title_of
from benchharmony.plots.rows import Rows, rows_of
from benchharmony.plots.style import ABOVE, COLOURS, GREY, INK, SCREEN, Size, framed, words_above
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Where a subdomain lies against the band, and its colour.
_PLACES = {
    "above the band": "#009e73",
    "within the band": "#56b4e9",
    "below the band": "#e07b39",
}


def subdomain_spec(entry: dict[str, Any], size: Size = SCREEN) -> Spec | None:
    """Return bars of the subdomains' performance, best first, as high as their shares of items.

    Bars end at the mean score of the subdomain, with its interval; the dashed line is the mean of
    all items and the band around it one bandwidth to each side: a subdomain at its edge counts
    1/e of its share in H. Rows of the data carry ``index``, the subdomain's place in the record.

    Parameters
    ----------
    entry : dict
        One evaluation of a document ``benchharmony/report/1``.
    size : Size
        Of the picture.

    Returns
    -------
    dict or None
        None where the evaluation has no subdomains.
    """
    if not entry["subdomains"]:
        return None
    order = _best_first(entry)
    beside = text_width("0.00 (0000)", size.font) + 6
    weights = [s["weight"] for _, s in order]
    names = subdomain_names(entry)
    rows = rows_of([names[i] for i, _ in order], weights, size, beside=beside)
    mean, b = entry["score"]["mean"], entry["harmony"].get("bandwidth") or BANDWIDTH
    values = [
        {
            **_facts(i, s), **rows.fields(place), "figures": f"{s['score']:.2f} ({s['size']})",
            "place": _place(s["score"], mean, b),
        }
        for place, (i, s) in enumerate(order)
    ]  # fmt: skip
    x = _score_axis(entry, size)
    return framed(
        {
            "title": title_of(entry, "score of each subdomain", size),
            "width": rows.width,
            "height": rows.height,
            "data": {"values": values},
            "layer": [
                _bars(rows, x, values, size),
                *_band(mean, b, x, size),
                *rows.layers(),
                *_figures(rows, beside),
                *_intervals(rows, x),
                _mean_line(mean, x),
            ],
        },
        size,
    )


def masses_spec(entry: dict[str, Any], size: Size = SCREEN) -> Spec | None:
    """Return a bar per subdomain: its mass in H, beside a tick at its share of the items.

    H is the evenness of the bars: all at the dashed line give H = 1. Rows are in the order of
    :func:`subdomain_spec`; None where the evaluation has no subdomains.
    """
    if not entry["subdomains"]:
        return None
    order = _best_first(entry)
    names = subdomain_names(entry)
    rows = rows_of([names[i] for i, _ in order], None, size)
    values = [{**_facts(i, s), **rows.fields(place)} for place, (i, s) in enumerate(order)]
    top = max(max(s["mass"], s["weight"]) for s in entry["subdomains"])
    x: Spec = {
        "type": "quantitative", "title": "share of all",
        "scale": {"domain": [0, min(top * 1.05, 1.0)], "nice": False},
        "axis": {"format": ".0%", "tickCount": 4 if size.is_narrow else 8},
    }  # fmt: skip
    pad = (rows.bottom[0] - rows.top[0]) * 0.15
    for value in values:
        value |= {"upper": value["top"] + pad, "lower": value["bottom"] - pad}
    share = "share" if size.is_narrow else "share of items"
    words = f"bars: mass; ticks: {share}; dashed: even"
    return framed(
        {
            "title": title_of(entry, "what each subdomain weighs in H", size),
            "width": rows.width,
            "height": rows.height,
            "data": {"values": values},
            "layer": [
                {
                    "mark": {"type": "rect", "color": COLOURS[0], "opacity": 0.75},
                    "encoding": {
                        "x": {**x, "field": "mass"}, "x2": {"datum": 0}, "y": rows.y("upper"),
                        "y2": {"field": "lower"}, "tooltip": _TOOLTIP,
                    },
                },
                {
                    "mark": {"type": "rule", "color": INK, "strokeWidth": 2},
                    "encoding": {
                        "x": {**x, "field": "weight"}, "y": rows.y("top"),
                        "y2": {"field": "bottom"},
                    },
                },
                {
                    "data": {"values": [{"even": 1 / len(order)}]},
                    "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
                    "encoding": {"x": {**x, "field": "even"}},
                },
                *rows.layers(),
                words_above(words),
            ],
        },
        size,
    )  # fmt: skip


_TOOLTIP = [
    {"field": "label", "type": "nominal", "title": "subdomain"},
    {"field": "items", "type": "quantitative"},
    {"field": "weight", "type": "quantitative", "format": ".1%", "title": "share of items"},
    {"field": "score", "type": "quantitative", "format": ".3f"},
    {"field": "interval", "type": "nominal"},
    {"field": "mass", "type": "quantitative", "format": ".3f"},
]


def _best_first(entry: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the subdomains with their places in the record, by score."""
    return sorted(enumerate(entry["subdomains"]), key=lambda pair: -pair[1]["score"])


def _facts(index: int, s: dict[str, Any]) -> dict[str, Any]:
    out = {
        "index": index, "label": shown(s["label"], 80), "items": s["size"], "weight": s["weight"],
        "score": s["score"], "mass": s["mass"], "interval": "-",
    }  # fmt: skip
    if s.get("ci"):
        low, high = s["ci"]
        out |= {"low": low, "high": high, "interval": f"{low:.3f} to {high:.3f}"}
    return out


def _place(score: float, mean: float, b: float) -> str:
    if abs(score - mean) <= b:
        return "within the band"
    return "above the band" if score > mean else "below the band"


def _score_axis(entry: dict[str, Any], size: Size) -> Spec:
    return {
        "type": "quantitative", "title": f"score ({shown(entry['score']['name'], 30)})",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {
            "values": [0, 0.5, 1] if size.is_narrow else [0, 0.2, 0.4, 0.6, 0.8, 1],
            "format": ".1f", "grid": not size.is_narrow,
        },
    }  # fmt: skip


def _band(mean: float, b: float, x: Spec, size: Size) -> list[Spec]:
    band = {"from": max(mean - b, 0.0), "to": min(mean + b, 1.0)}
    long = f"dashed: mean of all items, {mean:.3f}; grey band: \u00b1 {b:g}, the bandwidth of H"
    short = f"mean {mean:.3f}, band \u00b1 {b:g}"
    return [
        {
            "data": {"values": [band]},
            "mark": {"type": "rect", "color": GREY, "opacity": 0.2},
            "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}},
        },
        words_above(short if size.is_narrow else long),
    ]


def _bars(rows: Rows, x: Spec, values: list[dict[str, Any]], size: Size) -> Spec:
    there = [p for p in _PLACES if any(v["place"] == p for v in values)]
    colour = {
        "field": "place", "type": "nominal", "title": None,
        "scale": {"domain": there, "range": [_PLACES[p] for p in there]},
        "legend": {"orient": "bottom", "direction": "vertical" if size.is_narrow else "horizontal"},
    }  # fmt: skip
    return {
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.8, "opacity": 0.85},
        "encoding": {
            "x": {**x, "field": "score"}, "x2": {"datum": 0}, "y": rows.y("top"),
            "y2": {"field": "bottom"}, "color": colour, "tooltip": _TOOLTIP,
        },
    }  # fmt: skip


def _figures(rows: Rows, beside: float) -> list[Spec]:
    """Return score and number of items at the right edge, with what they are above."""
    head = {"type": "text", "align": "right", "baseline": "bottom", "color": GREY}
    return [
        {
            "mark": {"type": "text", "align": "left", "baseline": "middle", "color": INK},
            "encoding": {
                "x": {"value": rows.width + 6}, "y": rows.y("at"),
                "text": {"field": "figures", "type": "nominal"},
            },
        },
        {
            "data": {"values": [{}]},
            "mark": {**head, "text": "score (items)"},
            "encoding": {"x": {"value": rows.width + beside}, "y": {"value": -ABOVE}},
        },
    ]  # fmt: skip


def _intervals(rows: Rows, x: Spec) -> list[Spec]:
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.2},
            "encoding": {
                "x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": rows.y("middle"),
            },
        }
    ]  # fmt: skip


def _mean_line(mean: float, x: Spec) -> Spec:
    return {
        "data": {"values": [{"mean": mean}]},
        "mark": {"type": "rule", "color": INK, "strokeDash": [5, 3], "strokeWidth": 1.2},
        "encoding": {"x": {**x, "field": "mean"}},
    }
