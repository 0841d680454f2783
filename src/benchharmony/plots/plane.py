"""The mean-variance plane of a landscape record as a Vega-Lite specification."""

from __future__ import annotations

import math
from typing import Any

from benchharmony.landscape.words import CANNOT_TELL, MIXED, REPRESENTATIVE, UNEVEN
from benchharmony.plots.labels import Box, place_labels
from benchharmony.plots.measure import text_width
from benchharmony.plots.style import GREY, INK, SCREEN, Size, framed
from benchharmony.report.names import cut_names
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Colour and shape of each verdict.
_VERDICTS = {
    REPRESENTATIVE: ("#0072b2", "circle"),
    MIXED: ("#e69f00", "diamond"),
    UNEVEN: ("#d55e00", "triangle-up"),
    CANNOT_TELL: ("#7f7f7f", "square"),
}
#: Corners: side, words, and fewer words.
_CORNERS = (
    (
        "left",
        "upper left: the average hangs on a few subdomains; on which ones depends on the model",
        "upper left: hangs on subdomains, by model",
    ),
    (
        "right",
        "lower right: the average stands for the whole, whichever model",
        "lower right: stands for the whole",
    ),
)
#: Longest names beside points, in px for a px of font.
_LONGEST = 15.0
#: Room beyond the ends of both axes, as a share, for points that sit on them.
_MARGIN = 0.06
#: Room for the axis at the left and for the legend at the right, in px for a px of font.
_AXIS, _LEGEND = 4.8, 15.5
#: A label this far from its point, in px, has a line to it.
_FAR = 14.0


def plane_spec(record: dict[str, Any], which: str = "adjusted", size: Size = SCREEN) -> Spec:
    """Return the plane: a point per benchmark at the mean and SD of H over models.

    Parameters
    ----------
    record : dict
        A document ``benchharmony/landscape/1``.
    which : {"adjusted", "raw"}
        The H that is shown.
    size : Size
        Of the picture.
    """
    names = _names_of(record, size)
    rows = [
        _row(e, e["harmony"][which], name)
        for e, name in zip(record["benchmarks"], names, strict=True)
    ]
    kind = "noise-adjusted H" if which == "adjusted" else "raw H"
    width = size.width - (_AXIS if size.is_narrow else _AXIS + _LEGEND) * size.font
    height = width * (0.85 if size.is_narrow else 0.72)
    title = f"mean of {kind} over models"
    return framed(_panel(rows, round(width), round(height), title, size, legend=True), size)


def matched_spec(record: dict[str, Any], size: Size = SCREEN) -> Spec:
    """Return two planes of raw H: as it is, and cut to one number of items."""
    items = record["size"]["matched_items"]
    cuts = record["size"]["matched"]
    pairs = list(zip(record["benchmarks"], _names_of(record, size), strict=True))
    whole = [_row(e, e["harmony"]["raw"], name, intervals=False) for e, name in pairs]
    cut = [_row(e, cuts[e["benchmark"]]["raw"], name, intervals=False) for e, name in pairs]
    limits = _limits([*whole, *cut])
    across = 1 if size.is_narrow else 2
    side = round((size.width - 24 * (across - 1)) / across - (_AXIS + 0.5) * size.font)
    title = "mean of raw H over models"
    panels = [
        _panel(whole, side, side, title, size, limits, "all items"),
        _panel(cut, side, side, title, size, limits, f"{items} items of each"),
    ]
    return framed({"hconcat" if across == 2 else "vconcat": panels, "spacing": 24}, size)


def _names_of(record: dict[str, Any], size: Size) -> list[str]:
    """Return the benchmarks' names, cut to fit beside points."""
    names = [e["benchmark"] for e in record["benchmarks"]]
    return cut_names(names, _LONGEST * size.font, measure=lambda text: text_width(text, size.font))


def _row(
    entry: dict[str, Any], numbers: dict[str, Any], name: str, *, intervals: bool = True
) -> Spec:
    variance = numbers["variance"] or 0.0
    row: Spec = {
        "benchmark": shown(entry["benchmark"], 80),
        "label": name,
        "mean": numbers["mean"],
        "sd": math.sqrt(variance),
        "items": entry["n_items"],
        "models": entry["n_models"],
        "verdict": entry["verdict"]["label"],
    }
    if intervals and numbers.get("ci"):
        row |= {"low": numbers["ci"][0], "high": numbers["ci"][1]}
        pair = numbers["variance_ci"]
        row |= {"sd_low": math.sqrt(pair[0]), "sd_high": math.sqrt(pair[1])}
    return row


def _limits(rows: list[Spec]) -> tuple[float, float]:
    """Return the lowest mean and the highest SD that the plane must show."""
    low = min(min(r["mean"], r.get("low", 1.0)) for r in rows)
    high = max(max(r["sd"], r.get("sd_high", 0.0)) for r in rows)
    return max(math.floor(low * 20 - 1) / 20, 0.0), min(math.ceil(high * 20 + 0.5) / 20, 0.5)


def _panel(
    rows: list[Spec],
    width: int,
    height: int,
    title: str,
    size: Size,
    limits: tuple[float, float] | None = None,
    heading: str = "",
    *,
    legend: bool = False,
) -> Spec:
    left, top = limits or _limits(rows)
    rows = _labelled(rows, width, height, left, top, size.font)
    x = _axis("mean", title, [left, 1 + _MARGIN * (1 - left)])
    y = _axis("sd", "standard deviation of H over models", [-_MARGIN * top, top])
    spec: Spec = {
        "width": width,
        "height": height,
        "data": {"values": rows},
        "layer": [
            *_corners(x, y, size, short=width < 400),
            *_bars(x, y),
            _points(x, y, rows, size, legend=legend),
            *_names(x, y),
        ],
    }
    return {**spec, "title": {"text": heading, "offset": 6}} if heading else spec


def _axis(field: str, title: str, domain: list[float]) -> Spec:
    step = 0.1 if domain[1] - domain[0] > 0.45 else 0.05
    first, last = math.ceil(max(domain[0], 0.0) / step - 1e-9), math.floor(domain[1] / step + 1e-9)
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": domain, "nice": False, "zero": False},
        "axis": {
            "values": [round(i * step, 2) for i in range(first, last + 1) if i * step <= 1],
            "format": ".2f",
        },
    }


def _labelled(
    rows: list[Spec], width: int, height: int, left: float, top: float, font: float
) -> list[Spec]:
    """Return the rows with the place of each label, in the units of the axes."""
    wide, tall = (1 - left) * (1 + _MARGIN), top * (1 + _MARGIN)

    def pixels(mean: float, sd: float) -> tuple[float, float]:
        return (mean - left) / wide * width, (top - sd) / tall * height

    lines: list[Box] = []
    for r in (r for r in rows if "low" in r):
        x, y = pixels(r["mean"], r["sd"])
        lines.append((pixels(r["low"], 0)[0], y - 1, pixels(r["high"], 0)[0], y + 1))
        lines.append((x - 1, pixels(0, r["sd_high"])[1], x + 1, pixels(0, r["sd_low"])[1]))
    places = place_labels(
        [pixels(r["mean"], r["sd"]) for r in rows],
        [r["label"] for r in rows],
        width,
        height,
        lines=lines,
        font=font,
    )
    out = []
    for r, place in zip(rows, places, strict=True):
        units = [
            (left + x / width * wide, top - y / height * tall)
            for x, y in (place.centre, place.edge)
        ]
        (lx, ly), (ex, ey) = units
        out.append({**r, "lx": lx, "ly": ly, "ex": ex, "ey": ey, "far": place.away > _FAR})
    # Small points last, on top of the large ones.
    return sorted(out, key=lambda r: -r["items"])


def _corners(x: Spec, y: Spec, size: Size, *, short: bool) -> list[Spec]:
    """Return what two of the corners mean, in words outside the plot area."""
    (left, right), (bottom, top) = x["scale"]["domain"], y["scale"]["domain"]
    below = 4.5 * size.font  # under the ticks and the title of the axis
    place = {"left": (left, top, "left", -8), "right": (right, bottom, "right", below)}
    out = []
    for side, words, fewer in _CORNERS:
        at, level, align, dy = place[side]
        out.append(
            {
                "data": {"values": [{"mean": at, "sd": level}]},
                "mark": {
                    "type": "text", "align": align, "baseline": "alphabetic", "dy": dy,
                    "color": GREY, "fontStyle": "italic", "text": fewer if short else words,
                },
                "encoding": {"x": x, "y": y},
            }
        )  # fmt: skip
    return out


def _bars(x: Spec, y: Spec) -> list[Spec]:
    whole = {"type": "rule", "color": "#a8a8a8", "strokeWidth": 1}
    present = [{"filter": "isValid(datum.low)"}]
    return [
        {
            "transform": present,
            "mark": whole,
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
        },
        {
            "transform": present,
            "mark": whole,
            "encoding": {"x": x, "y": {**y, "field": "sd_low"}, "y2": {"field": "sd_high"}},
        },
    ]


def _points(x: Spec, y: Spec, rows: list[Spec], size: Size, *, legend: bool) -> Spec:
    there = [name for name in _VERDICTS if any(r["verdict"] == name for r in rows)]
    colours, shapes = zip(*(_VERDICTS[name] for name in there), strict=True)
    verdict = {"field": "verdict", "type": "nominal", "title": "verdict"}
    low = {"orient": "bottom", "direction": "vertical", "columns": 1} if size.is_narrow else {}
    shown_legend: Spec = {"legend": low} if legend else {"legend": None}
    items = {**low, "values": _sizes(rows), "symbolType": "circle"}
    return {
        "mark": {"type": "point", "filled": True, "opacity": 1, "stroke": "white"},
        "encoding": {
            "x": x,
            "y": y,
            "color": {**verdict, "scale": {"domain": there, "range": [*colours]}, **shown_legend},
            "shape": {**verdict, "scale": {"domain": there, "range": [*shapes]}, **shown_legend},
            "size": {
                "field": "items", "type": "quantitative", "title": "items",
                "scale": {"type": "sqrt", "range": [90, 380], "zero": False},
                "legend": items if legend else None,
            },
            "tooltip": [
                {"field": "benchmark", "type": "nominal"},
                {"field": "mean", "type": "quantitative", "format": ".3f", "title": "mean of H"},
                {"field": "sd", "type": "quantitative", "format": ".3f", "title": "SD of H"},
                {"field": "items", "type": "quantitative"},
                {"field": "models", "type": "quantitative"},
                {"field": "verdict", "type": "nominal"},
            ],
        },
    }  # fmt: skip


def _sizes(rows: list[Spec]) -> list[int]:
    items = sorted({r["items"] for r in rows})
    return items if len(items) <= 3 else [items[0], items[len(items) // 2], items[-1]]


def _names(x: Spec, y: Spec) -> list[Spec]:
    at = {"x": {**x, "field": "lx"}, "y": {**y, "field": "ly"}}
    leaders = {
        "transform": [{"filter": "datum.far"}],
        "mark": {"type": "rule", "color": GREY, "strokeWidth": 0.7},
        "encoding": {"x": x, "x2": {"field": "ex"}, "y": y, "y2": {"field": "ey"}},
    }
    text = {
        "mark": {"type": "text", "color": INK},
        "encoding": {**at, "text": {"field": "label", "type": "nominal"}},
    }
    return [leaders, text]
