"""The similarity of items ordered by subdomain: a heat map, as Vega-Lite."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.plots.raster import data_url
from benchharmony.plots.rows import Rows, rows_of
from benchharmony.plots.style import SCREEN, Size, framed, words_above
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Blocks of more subdomains than this are not told by a tooltip.
_MOST_BLOCKS = 20
#: A screen's picture is at most this wide in all: a square needs no more.
_WIDEST = 660


def similarity_spec(
    matrix: ArrayLike,
    bounds: Sequence[int],
    labels: Sequence[str],
    size: Size = SCREEN,
    title: str = "",
) -> Spec:
    """Return the heat map of a similarity matrix, a name and a frame for each subdomain.

    The cells are one picture inside the specification (a ``data:`` URL: a page's content policy
    must allow ``img-src data:``); nothing is loaded. Light is similar. The scale runs from the
    1st to the 99th percentile of the pairs.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
        Similarity of items, or means over neighbours, those of a subdomain side by side; about
        120 rows are enough.
    bounds : sequence of int, length k
        First row of each subdomain, ascending, from 0.
    labels : sequence of str, length k
        Of the subdomains.
    size : Size
        Of the picture.
    title : str
        Above it, on a screen.
    """
    cells = np.asarray(matrix, dtype=np.float64)
    low, high = _scale(cells)
    edges = [*bounds, len(cells)]
    shares = [(b - a) / len(cells) for a, b in pairwise(edges)]
    beside = 0.0 if size.is_narrow else 7.5 * size.font
    size_used = Size(min(size.width, _WIDEST), size.font, size.inches)
    rows = rows_of(labels, shares, size_used, beside=beside, square=True)
    values = [{"label": shown(label, 80), **rows.fields(i)} for i, label in enumerate(labels)]
    named = sum(bool(name) for name in rows.names)
    few = words_above(f"names: the {named} largest of {len(labels)} subdomains")
    spec: Spec = {
        "title": title or "similarity of the items, by subdomain",
        "width": rows.width,
        "height": rows.height,
        "data": {"values": values},
        "layer": [
            {
                "data": {"values": [{"picture": data_url(cells, low, high)}]},
                "mark": {"type": "image", "width": rows.width, "height": rows.height,
                         "align": "left", "baseline": "top", "aspect": False},
                "encoding": {
                    "url": {"field": "picture", "type": "nominal"},
                    "x": {"value": 0}, "y": {"value": 0},
                },
            },
            _blocks(cells, edges, labels, rows, (low, high), size),
            *_frames(rows),
            *rows.layers(),
            *([few] if named < len(labels) else []),
        ],
    }  # fmt: skip
    return framed(spec, size)


def _scale(cells: NDArray[np.float64]) -> tuple[float, float]:
    """Return the values of the darkest and the lightest colour."""
    off = cells[~np.eye(len(cells), dtype=bool)]
    if len(off) == 0:
        return 0.0, 1.0
    low, high = (float(v) for v in np.percentile(off, (1, 99)))
    low, high = np.floor(low * 20) / 20, np.ceil(high * 20) / 20
    return (low, high) if high > low else (max(low - 0.05, 0.0), low + 0.05)


def _blocks(
    cells: NDArray[np.float64],
    edges: list[int],
    labels: Sequence[str],
    rows: Rows,
    limits: tuple[float, float],
    size: Size,
) -> Spec:
    """Return unseen blocks of pairs of subdomains: they carry the legend and the tooltips."""
    k = len(labels) if len(labels) <= _MOST_BLOCKS else 1
    parts = [slice(a, b) for a, b in pairwise(edges)]
    values = [
        {
            "a": shown(labels[i], 60), "b": shown(labels[j], 60),
            "mean": float(cells[parts[i], parts[j]].mean()), "left": rows.top[j],
            "right": rows.bottom[j], "upper": rows.top[i], "lower": rows.bottom[i],
        }
        for i in range(k)
        for j in range(k)
    ]  # fmt: skip
    across = {"domain": [0, rows.height], "nice": False, "zero": False}
    legend: Spec = {"gradientOpacity": 1, "format": ".2f", "tickCount": 3 if size.is_narrow else 5}
    if size.is_narrow:
        legend |= {"orient": "bottom", "gradientLength": rows.width, "direction": "horizontal"}
    tooltip = [
        {"field": "a", "type": "nominal", "title": "subdomain"},
        {"field": "b", "type": "nominal", "title": "with"},
        {"field": "mean", "type": "quantitative", "format": ".3f", "title": "mean similarity"},
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "rect", "opacity": 0},
        "encoding": {
            "x": {"field": "left", "type": "quantitative", "scale": across, "axis": None},
            "x2": {"field": "right"}, "y": rows.y("upper"), "y2": {"field": "lower"},
            "color": {
                "field": "mean", "type": "quantitative", "title": "similarity",
                "scale": {"scheme": "viridis", "domain": list(limits), "clamp": True},
                "legend": legend,
            },
            **({"tooltip": tooltip} if k > 1 else {}),
        },
    }  # fmt: skip


def _frames(rows: Rows) -> list[Spec]:
    """Return white lines between the subdomains."""
    mark = {"type": "rule", "color": "white", "strokeWidth": 0.8}
    inner = [{"filter": "datum.top > 0"}]
    across: Spec = {
        "field": "top", "type": "quantitative", "axis": None,
        "scale": {"domain": [0, rows.height], "nice": False, "zero": False},
    }  # fmt: skip
    return [
        {"transform": inner, "mark": mark, "encoding": {"y": rows.y("top")}},
        {"transform": inner, "mark": mark, "encoding": {"x": across}},
    ]
