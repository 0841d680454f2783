"""Colours, shapes and sizes that every plot shares: told apart in print and by the colour-blind."""

from __future__ import annotations

from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
#: Okabe and Ito (2008), without their yellow, which white paper swallows.
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1b1b1b", "#7f7f7f",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip
GREY, FAINT = "#5f5f5f", "#c9c9c9"
#: Plots are this wide in all, legends included, in px.
WIDTH = 780


def framed(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a whole specification with the schema, background and fonts of all plots."""
    return {
        "$schema": SCHEMA,
        "background": "white",
        "config": {
            "font": "sans-serif",
            "axis": {"labelFontSize": 11, "titleFontSize": 12, "gridColor": "#ececec"},
            "legend": {"labelFontSize": 11, "titleFontSize": 12, "labelLimit": 220},
            "title": {"fontSize": 13, "anchor": "start"},
            "text": {"fontSize": 11},
            "view": {"stroke": FAINT},
        },
        **spec,
    }


def cycle(values: tuple[str, ...], count: int) -> list[str]:
    """Return ``count`` values, from the start again where there are more."""
    return [values[i % len(values)] for i in range(count)]
