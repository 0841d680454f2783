"""A row per subdomain: names at the left that never cover each other, whatever the rows' heights.

Rows may be thinner than a line of text. Names then stand as near to their rows as they can, one
line apart, and a thin line joins each to its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchharmony.plots.measure import text_width
from benchharmony.plots.style import FAINT, INK, Size
from benchharmony.report.names import cut_names

Spec = dict[str, Any]

#: Names take at most this share of the width.
_NAMES = 0.4
#: Room between a name and the rows, for the line that joins them, in px.
_JOIN = 12
#: Room right of the rows, beside what is written there.
_EDGE = 10


@dataclass(frozen=True)
class Rows:
    """Where each row and its name are drawn, in px from the top of the plot.

    Attributes
    ----------
    width, height : float
        Of the plot without names.
    top, bottom, at : tuple of float
        Edges of each row, and the middle line of its name.
    names : tuple of str
        Cut to fit.
    """

    width: float
    height: float
    top: tuple[float, ...]
    bottom: tuple[float, ...]
    at: tuple[float, ...]
    names: tuple[str, ...]

    def fields(self, i: int) -> dict[str, Any]:
        """Return the fields of one row of data that say where it is drawn."""
        middle = (self.top[i] + self.bottom[i]) / 2
        return {
            "name": self.names[i], "top": round(self.top[i], 2),
            "bottom": round(self.bottom[i], 2), "middle": round(middle, 2),
            "at": round(self.at[i], 2),
        }  # fmt: skip

    def y(self, field: str) -> Spec:
        """Return the encoding of a field of px as a place from the top."""
        return {
            "field": field, "type": "quantitative", "axis": None,
            "scale": {"domain": [self.height, 0], "nice": False, "zero": False},
        }  # fmt: skip

    def layers(self) -> list[Spec]:
        """Return the names, and the lines that join them to their rows."""
        return [
            {
                "transform": [{"filter": "datum.name && abs(datum.at - datum.middle) > 1"}],
                "mark": {"type": "rule", "color": FAINT, "strokeWidth": 0.7},
                "encoding": {
                    "x": {"value": -2}, "x2": {"value": 2 - _JOIN}, "y": self.y("middle"),
                    "y2": {"field": "at"},
                },
            },
            {
                "mark": {"type": "text", "align": "right", "baseline": "middle", "color": INK},
                "encoding": {
                    "x": {"value": -_JOIN}, "y": self.y("at"),
                    "text": {"field": "name", "type": "nominal"},
                },
            },
        ]  # fmt: skip


def rows_of(
    labels: Sequence[str],
    weights: Sequence[float] | None,
    size: Size,
    *,
    beside: float = 0.0,
    square: bool = False,
) -> Rows:
    """Return the places of rows as high as their weights; of equal heights where there are none.

    A square plot does not grow with its rows: where not all names fit, the heaviest rows have one.

    Parameters
    ----------
    labels : sequence of str
        Of the rows, from the top.
    weights : sequence of float or None
        Positive, summing to 1.
    size : Size
        Of the picture.
    beside : float
        Room for text right of the rows, in px.
    square : bool
        As high as wide.
    """
    k = len(labels)
    names = cut_names(labels, size.width * _NAMES, measure=lambda text: text_width(text, size.font))
    left = max((text_width(name, size.font) for name in names), default=0.0) + _JOIN
    width = round(size.width - left - beside - _EDGE)
    height = width if square else max(k * size.line * (1.25 if k <= 20 else 1.05), 90.0)
    shares = [1 / k] * k if weights is None else list(weights)
    edges = [0.0]
    for share in shares:
        edges.append(edges[-1] + share * height)
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    fit = max(int(height / size.line + 1e-9), 1)
    named = sorted(sorted(range(k), key=lambda i: -shares[i])[:fit])
    half = size.line / 2
    at = dict(zip(named, spread([middles[i] for i in named], 2 * half, half, height - half),
                  strict=True))  # fmt: skip
    return Rows(
        width=width,
        height=round(height, 2),
        top=tuple(edges[:-1]),
        bottom=tuple(edges[1:]),
        at=tuple(at.get(i, middles[i]) for i in range(k)),
        names=tuple(names[i] if i in at else "" for i in range(k)),
    )


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places as near to those wanted as can be, at least a gap apart and inside limits.

    The least-squares solution: wanted places are ascending, so it is an isotonic regression of
    ``wanted[i] - i * gap`` (pool adjacent violators), cut to the limits.
    """
    pools: list[list[float]] = []  # sum, count
    for i, place in enumerate(wanted):
        pools.append([place - i * gap, 1.0])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    flat = [total / count for total, count in pools for _ in range(int(count))]
    last = max(high - (len(flat) - 1) * gap, low)
    return [min(max(value, low), last) + i * gap for i, value in enumerate(flat)]
