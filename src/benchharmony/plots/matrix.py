"""How far models' partitions agree: a heat map with numbers, as Vega-Lite."""

from __future__ import annotations

from typing import Any

from benchharmony.plots.measure import text_width
from benchharmony.plots.style import SCREEN, Size, framed
from benchharmony.report.names import counted, cut_names
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Cells smaller than this have no numbers, in px for a px of font.
_NUMBERED = 1.7


def matrix_spec(
    benchmark: str, found: dict[str, Any], key: str = "agreement", size: Size = SCREEN
) -> Spec:
    """Return the matrix of adjusted Rand indices between models, in the record's order.

    Parameters
    ----------
    benchmark : str
        For the title.
    found : dict
        ``record["partitions"][benchmark]`` of a landscape.
    key : {"agreement", "agreement_at_shared_k"}
        Each model at its own k, or all at the shared k.
    size : Size
        Of the picture.
    """
    font = size.font
    limit = size.width * (0.3 if size.is_narrow else 0.2)
    names = counted(cut_names(found["models"], limit, measure=lambda text: text_width(text, font)))
    cells = [
        {"a": a, "b": b, "value": found[key][i][j]}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if found[key][i][j] is not None
    ]
    beside = max(text_width(n, font) for n in names) + (10 if size.is_narrow else 9 * font)
    side = max(min((size.width - beside) / len(names), 40), 7)
    axis: Spec = {
        "labelLimit": 400, "title": None, "labelFontSize": min(font, max(side - 2, 6)),
    }  # fmt: skip
    legend = {"orient": "bottom", "gradientLength": 150} if size.is_narrow else {}
    encoding = {
        "x": {"field": "b", "type": "nominal", "sort": names, "axis": {**axis, "labelAngle": -60}},
        "y": {"field": "a", "type": "nominal", "sort": names, "axis": axis},
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "rect"},
            "encoding": {
                "color": {
                    "field": "value", "type": "quantitative", "title": "adjusted Rand",
                    "scale": {"scheme": "viridis", "domain": [0, 1], "clamp": True},
                    "legend": legend,
                },
                "tooltip": [
                    {"field": "a", "type": "nominal", "title": "model"},
                    {"field": "b", "type": "nominal", "title": "with"},
                    {"field": "value", "type": "quantitative", "format": ".2f"},
                ],
            },
        }
    ]  # fmt: skip
    if side >= _NUMBERED * font:
        layers.append(
            {
                "mark": {"type": "text", "fontSize": min(font - 1, side / 2.4)},
                "encoding": {
                    "text": {"field": "value", "type": "quantitative", "format": ".2f"},
                    "color": {
                        "condition": {"test": "datum.value > 0.6", "value": "#1b1b1b"},
                        "value": "white",
                    },
                },
            }
        )
    return framed(
        {
            "title": f"{shown(benchmark, 50)}: agreement of the models' own partitions",
            "width": side * len(names),
            "height": side * len(names),
            "data": {"values": cells},
            "encoding": encoding,
            "layer": layers,
        },
        size,
    )
