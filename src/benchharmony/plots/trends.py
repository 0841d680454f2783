"""H and score against model size or training tokens, per family, as Vega-Lite."""

from __future__ import annotations

import math
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.landscape.growth import size_words
from benchharmony.plots.style import COLOURS, SCREEN, SHAPES, Size, cycle, framed
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Panels of a row: the number's name in the record and its title.
_PANELS = (("adjusted", "noise-adjusted H"), ("score", "score"))
_HIGHEST = 210
#: Room for each panel's axis and for the legend at the right, in px for a px of font.
_AXIS, _LEGEND = 5.0, 12.5
#: Half-width of the bars in standard deviations of the item noise.
_BAR = 1.96
#: Families are drawn this far apart on the logarithmic axis, so that equal sizes do not cover.
_ASIDE = 0.018


def trends_spec(record: dict[str, Any], over: str = "parameters", size: Size = SCREEN) -> Spec:
    """Return a row per benchmark: H on the left, the score on the right (below in one column).

    Bars are the item noise of one model (95 %), lines the fitted ones of families with 3 sizes;
    other families' points are joined by a thin dotted line.

    Raises
    ------
    BenchharmonyError
        When no model's size (or tokens) is known.
    """
    entries = record["trends"][over]
    if not entries:
        raise BenchharmonyError(f"nothing to plot: the {over} of no model are known")
    names = list(dict.fromkeys(f["family"] for e in entries for f in e["adjusted"]["families"]))
    panels = []
    for entry in entries:
        rows = _rows(record, entry, over)
        pair = [_panel(rows, entry, key, title, over, names, size) for key, title in _PANELS]
        limit = 36 if size.is_narrow else 60
        way = "vconcat" if size.is_narrow else "hconcat"
        panels.append({"title": shown(entry["benchmark"], limit), way: pair})
    return framed({"vconcat": panels, "resolve": {"legend": {"color": "shared"}}}, size)


def _rows(record: dict[str, Any], entry: dict[str, Any], over: str) -> list[Spec]:
    facts = {m["model"]: m for m in record["models"]}
    families = [f["family"] for f in entry["adjusted"]["families"]]
    out = []
    for e in record["evaluations"]:
        size = facts[e["model"]][over]
        name = _series(facts[e["model"]], over)
        if e["benchmark"] != entry["benchmark"] or size is None or name not in families:
            continue
        if over == "parameters" and _has_later(facts[e["model"]], record["models"]):
            continue
        row = {"family": shown(name, 30), "model": shown(e["model"], 60), "x": size}
        row["aside"] = size * 10 ** (_ASIDE * (families.index(name) - (len(families) - 1) / 2))
        for key, _ in _PANELS:
            noise = _BAR * e[f"{key}_noise_sd"]
            row[key] = e[key]
            row[f"{key}_low"] = max(e[key] - noise, 0.0)
            row[f"{key}_high"] = min(e[key] + noise, 1.0)
        out.append(row)
    return out


def _has_later(model: Spec, models: list[Spec]) -> bool:
    """Return whether a later checkpoint of the same model is there: that one has its size."""
    return model["checkpoint"] is not None and any(
        m["family"] == model["family"]
        and m["parameters"] == model["parameters"]
        and (m["tokens"] or 0) > (model["tokens"] or 0)
        for m in models
    )


def _series(facts: dict[str, Any], over: str) -> str | None:
    if over == "parameters":
        family: str | None = facts["family"]
        return family
    return f"{facts['family'] or 'unknown'}{size_words(facts['parameters'], before=' ')}"


def _lines(rows: list[Spec], entry: dict[str, Any], key: str) -> list[Spec]:
    """Return the two ends of each fitted line."""
    out = []
    for f in entry[key]["families"]:
        if f["slope"] is None:
            continue
        name = shown(f["family"], 30)
        sizes = [r["x"] for r in rows if r["family"] == name]
        for size in (min(sizes), max(sizes)):
            value = f["intercept"] + f["slope"] * math.log10(size)
            out.append({"family": name, "x": size, "fit": min(max(value, 0.0), 1.0)})
    return out


def _panel(
    rows: list[Spec],
    entry: dict[str, Any],
    key: str,
    title: str,
    over: str,
    names: list[str],
    size: Size,
) -> Spec:
    shown_names = [shown(n, 30) for n in names]
    unfitted = {shown(f["family"], 30) for f in entry[key]["families"] if f["slope"] is None}
    low = min(r[f"{key}_low"] for r in rows)
    x = {
        "field": "x", "type": "quantitative", "title": over,
        "scale": {"type": "log", "nice": False, "padding": 14},
        "axis": {"labelExpr": _UNITS, "values": _ticks([r["x"] for r in rows]), "grid": False},
    }  # fmt: skip
    aside = {**x, "field": "aside"}
    y = {
        "type": "quantitative", "title": title,
        "scale": {"domain": [max(math.floor(low * 10) / 10, 0.0), 1.0], "nice": False},
    }  # fmt: skip
    colour = {
        "field": "family", "type": "nominal", "title": "family", "sort": shown_names,
        "scale": {"domain": shown_names, "range": cycle(COLOURS, len(names))},
        "legend": {
            "symbolOpacity": 1, **({"orient": "bottom", "columns": 2} if size.is_narrow else {}),
        },
    }  # fmt: skip
    shape = {**colour, "scale": {"domain": shown_names, "range": cycle(SHAPES, len(names))}}
    bars = {
        "mark": {"type": "rule", "opacity": 0.45},
        "encoding": {
            "x": aside, "y": {**y, "field": f"{key}_low"}, "y2": {"field": f"{key}_high"},
            "color": colour,
        },
    }  # fmt: skip
    points = {
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
        "encoding": {
            "x": aside, "y": {**y, "field": key}, "color": colour, "shape": shape,
            "tooltip": [
                {"field": "model", "type": "nominal"},
                {"field": key, "type": "quantitative", "format": ".3f", "title": title},
            ],
        },
    }  # fmt: skip
    fitted = {
        "data": {"values": _lines(rows, entry, key)},
        "mark": {"type": "line", "strokeWidth": 1.5, "clip": True},
        "encoding": {"x": x, "y": {**y, "field": "fit"}, "color": colour},
    }
    joined = {
        "data": {"values": [r for r in rows if r["family"] in unfitted]},
        "mark": {"type": "line", "strokeDash": [2, 3], "strokeWidth": 1},
        "encoding": {"x": aside, "y": {**y, "field": key}, "color": colour},
    }
    width = size.width - _AXIS * size.font
    if not size.is_narrow:
        width = (size.width - (2 * _AXIS + _LEGEND) * size.font) / 2
    return {
        "width": round(width),
        "height": round(min(width * (0.5 if size.is_narrow else 0.8), _HIGHEST)),
        "data": {"values": rows},
        "layer": [joined, fitted, bars, points],
    }


def _ticks(sizes: list[float]) -> list[float]:
    """Return 1, 3, 10, ... between the ends; of many, the powers of ten alone."""
    low, high = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))
    both = [m * 10.0**e for e in range(low, high + 1) for m in (1, 3)]
    inside = [v for v in both if min(sizes) * 0.8 <= v <= max(sizes) * 1.25]
    return inside if len(inside) <= 7 else [v for v in inside if f"{v:e}"[0] == "1"]


#: Sizes on the axis as people write them.
_UNITS = (
    "datum.value >= 1e12 ? datum.value / 1e12 + 'T' : datum.value >= 1e9 ? datum.value / 1e9 + 'B'"
    " : datum.value >= 1e6 ? datum.value / 1e6 + 'M' : datum.value / 1e3 + 'K'"
)
