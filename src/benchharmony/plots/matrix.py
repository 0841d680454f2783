"""How far models' partitions agree: a heat map with numbers, as Vega-Lite."""

from __future__ import annotations

from typing import Any

from benchharmony.plots.style import framed
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: More models than this have no numbers in the cells.
_NUMBERED = 20


def matrix_spec(benchmark: str, found: dict[str, Any], key: str = "agreement") -> Spec:
    """Return the matrix of adjusted Rand indices between models, in the record's order.

    Parameters
    ----------
    benchmark : str
        For the title.
    found : dict
        ``record["partitions"][benchmark]`` of a landscape.
    key : {"agreement", "agreement_at_shared_k"}
        Each model at its own k, or all at the shared k.
    """
    names = [f"{shown(name, 24)}" for name in found["models"]]
    names = [n if names.count(n) == 1 else f"{n} ({i + 1})" for i, n in enumerate(names)]
    cells = [
        {"a": a, "b": b, "value": found[key][i][j]}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if found[key][i][j] is not None
    ]
    side = max(min(560 // max(len(names), 1), 40), 8)
    axis = {"labelLimit": 170, "title": None, "labelFontSize": 11 if side > 14 else 8}
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
                },
                "tooltip": [
                    {"field": "a", "type": "nominal", "title": "model"},
                    {"field": "b", "type": "nominal", "title": "with"},
                    {"field": "value", "type": "quantitative", "format": ".2f"},
                ],
            },
        }
    ]  # fmt: skip
    if len(names) <= _NUMBERED:
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 10 if side >= 26 else 8},
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
        }
    )
