"""Colours, shapes and sizes that every plot shares: told apart in print and by the colour-blind."""

from __future__ import annotations

from dataclasses import dataclass
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
INK, GREY, FAINT = "#1b1b1b", "#5f5f5f", "#c9c9c9"
#: Room between a plot and words above it, in px.
ABOVE = 4


@dataclass(frozen=True)
class Size:
    """How large a plot is drawn.

    Attributes
    ----------
    width : int
        Of the whole picture, labels and legends included, in px (96 to the inch).
    font : float
        Of most text, in px.
    inches : float or None
        Exact width in print; None on a screen.
    """

    width: int
    font: float
    inches: float | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether there is room for one panel and short words only."""
        return self.width < 400

    @property
    def line(self) -> float:
        """Height of a line of text, in px."""
        return self.font + 3.0


SCREEN = Size(780, 11.0)
#: Both columns of a paper, and one; text of 8 and 7 points.
TWO_COLUMNS, ONE_COLUMN = Size(662, 10.67, 6.9), Size(317, 9.33, 3.3)


def framed(spec: dict[str, Any], size: Size = SCREEN) -> dict[str, Any]:
    """Return a whole specification with the schema, background and fonts of all plots.

    In print a title goes into the caption, so it is left out.
    """
    font = size.font
    whole = {
        "$schema": SCHEMA,
        "background": "white",
        "config": {
            "font": "sans-serif",
            "axis": {"labelFontSize": font, "titleFontSize": font + 1, "gridColor": "#ececec"},
            "legend": {"labelFontSize": font, "titleFontSize": font + 1, "labelLimit": 220},
            "header": {"labelFontSize": font, "titleFontSize": font + 1},
            "title": {"fontSize": font + 2, "anchor": "start"},
            "text": {"fontSize": font},
            "view": {"stroke": FAINT},
        },
        **spec,
    }
    if size.inches is not None:
        whole.pop("title", None)
    return whole


def words_above(text: str) -> dict[str, Any]:
    """Return the layer of a line of words above the top left corner of a plot."""
    return {
        "data": {"values": [{}]},
        "mark": {
            "type": "text", "align": "left", "baseline": "bottom", "color": GREY, "text": text,
        },
        "encoding": {"x": {"value": 0}, "y": {"value": -ABOVE}},
    }  # fmt: skip


def cycle(values: tuple[str, ...], count: int) -> list[str]:
    """Return ``count`` values, from the start again where there are more."""
    return [values[i % len(values)] for i in range(count)]
