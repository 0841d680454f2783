"""All evaluations of a report at a glance: H with its interval, and the score, as Vega-Lite."""

from __future__ import annotations

from typing import Any

from benchharmony.plots.rows import rows_of
from benchharmony.plots.style import COLOURS, INK, SCREEN, Size, framed, words_above
from benchharmony.report.shown import shown

Spec = dict[str, Any]

#: Evaluations that are drawn by default.
MOST = 40


def overview_spec(record: dict[str, Any], size: Size = SCREEN, most: int = MOST) -> Spec | None:
    """Return a row per evaluation, highest noise-adjusted H first: H, its interval, the score.

    Of more than ``most`` evaluations those of lowest H are drawn. None where no evaluation has a
    defined H.
    """
    entries = [e for e in record["evaluations"] if e["harmony"]["adjusted"] is not None]
    if not entries:
        return None
    order = sorted(entries, key=lambda e: -e["harmony"]["adjusted"])[-most:]
    rows = rows_of(_names(order), None, size)
    values = [{**_facts(e), **rows.fields(i)} for i, e in enumerate(order)]
    for value in values:
        inside = (value["bottom"] - value["top"]) * 0.2
        value |= {"upper": value["top"] + inside, "lower": value["bottom"] - inside}
    left = len(entries) - len(order)
    x: Spec = {
        "type": "quantitative", "title": "H and score",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"format": ".1f", "tickCount": 3 if size.is_narrow else 6},
    }  # fmt: skip
    y = rows.y("middle")
    whole = [{"filter": "isValid(datum.low)"}]
    words = "dot: adjusted H, line: where true H lies; ring: raw H; orange tick: score"
    if size.is_narrow:
        words = "dot: adjusted H; ring: raw; tick: score"
    if left:
        words += f" ({left} of higher H left out)"
    return framed(
        {
            "title": "HARMONY of every evaluation",
            "width": rows.width,
            "height": rows.height,
            "data": {"values": values},
            "layer": [
                {
                    "transform": whole,
                    "mark": {"type": "rule", "color": COLOURS[0], "strokeWidth": 1.5},
                    "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
                },
                {
                    "mark": {"type": "rule", "color": COLOURS[1], "strokeWidth": 2},
                    "encoding": {
                        "x": {**x, "field": "score"}, "y": rows.y("upper"),
                        "y2": {"field": "lower"},
                    },
                },
                {
                    "mark": {"type": "point", "filled": False, "color": INK, "size": 45},
                    "encoding": {"x": {**x, "field": "raw"}, "y": y},
                },
                {
                    "mark": {"type": "point", "filled": True, "color": COLOURS[0], "opacity": 1,
                             "size": 55},
                    "encoding": {"x": {**x, "field": "adjusted"}, "y": y, "tooltip": _TOOLTIP},
                },
                *rows.layers(),
                words_above(words),
            ],
        },
        size,
    )  # fmt: skip


_TOOLTIP = [
    {"field": "benchmark", "type": "nominal"},
    {"field": "model", "type": "nominal"},
    {"field": "score", "type": "quantitative", "format": ".3f"},
    {"field": "raw", "type": "quantitative", "format": ".3f", "title": "raw H"},
    {"field": "adjusted", "type": "quantitative", "format": ".3f", "title": "adjusted H"},
    {"field": "verdict", "type": "nominal"},
]


def _names(entries: list[dict[str, Any]]) -> list[str]:
    """Return models, benchmarks or both, whatever tells the evaluations apart."""
    for key in ("model", "benchmark"):
        if len({e["benchmark" if key == "model" else "model"] for e in entries}) == 1:
            return [e[key] for e in entries]
    return [f"{e['benchmark']} / {e['model']}" for e in entries]


def _facts(entry: dict[str, Any]) -> dict[str, Any]:
    h, verdict = entry["harmony"], entry["verdict"]
    out = {
        "benchmark": shown(entry["benchmark"], 80), "model": shown(entry["model"], 80),
        "score": entry["score"]["mean"], "raw": h["value"], "adjusted": h["adjusted"],
        "verdict": verdict["label"] if verdict else "-",
    }  # fmt: skip
    if h["ci"]:
        out |= {"low": h["ci"][0], "high": h["ci"][1]}
    return out
