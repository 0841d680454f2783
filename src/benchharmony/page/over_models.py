"""The picture over evaluations at the top of a report's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchharmony import verdict
from benchharmony.landscape import words as over_models
from benchharmony.page.pictures import Drawer, Picture
from benchharmony.page.safe import line
from benchharmony.plots.style import COLOURS, SHAPES, Size, cycle, framed

Spec = dict[str, Any]

#: Benchmarks of the simpler picture that have a colour of their own.
_MOST_COLOURS = 8
#: Share of the evaluations of a benchmark that must agree for a verdict on all of them.
_MOST = 0.8


def plane_of(
    entries: Sequence[dict[str, Any]], benchmarks: Mapping[str, int], drawer: Drawer
) -> dict[str, Any] | None:
    """Return the mean-variance plane, or a point per evaluation where it would be empty.

    Parameters
    ----------
    entries : sequence of dict
        Evaluations of a report.
    benchmarks : mapping of str to int
        Their numbers on the page.
    drawer : Drawer
        Of the page.

    Returns
    -------
    dict or None
        "picture" and "caption"; None for a single evaluation or without pictures.
    """
    there = [e for e in entries if e["harmony"]["adjusted"] is not None]
    groups = {b: [e for e in there if e["benchmark"] == b] for b in benchmarks}
    groups = {b: g for b, g in groups.items() if g}
    if len(groups) > 1 and min(len(g) for g in groups.values()) > 1:
        return _made(_plane(groups, benchmarks, drawer), (
            "A point per benchmark: mean and standard deviation of adjusted H over its models. "
            "Right and low is good: the average stands for the whole, whichever the model. The "
            "spread includes chance; benchharmony landscape takes it out. Choose a point to see "
            "its evaluations only."
        ))  # fmt: skip
    if len(there) < 2:
        return None
    return _made(_points(there, entries, groups, drawer), (
        "A point per evaluation. Further up, the score is higher; further right, the average "
        "stands better for all subdomains. Choose a point to go to its evaluation."
    ))  # fmt: skip


def _made(picture: Picture | None, caption: str) -> dict[str, Any] | None:
    return None if picture is None else {"picture": picture, "caption": caption}


def _plane(
    groups: Mapping[str, list[dict[str, Any]]], benchmarks: Mapping[str, int], drawer: Drawer
) -> Picture | None:
    from benchharmony.plots import plane_spec

    rows = []
    for b, group in groups.items():
        h = np.array([e["harmony"]["adjusted"] for e in group])
        numbers = {"mean": float(h.mean()), "variance": float(h.var(ddof=1)), "ci": None}
        rows.append(
            {
                "benchmark": b,
                "n_items": max(e["n_items"] for e in group),
                "n_models": len(group),
                "harmony": {"adjusted": numbers},
                "verdict": {"label": together(group)},
            }
        )
    # plane_spec draws large benchmarks first; links follow its order.
    links = [benchmarks[r["benchmark"]] for r in sorted(rows, key=lambda r: -r["n_items"])]
    words = "Mean and standard deviation of H over models, a point per benchmark."
    return drawer.both(
        lambda size: plane_spec({"benchmarks": rows}, size=size), words,
        links=links, kind="benchmark", role="page",
    )  # fmt: skip


def together(group: Sequence[dict[str, Any]]) -> str:
    """Return the verdict that most evaluations of a benchmark share."""
    labels = [e["verdict"]["label"] if e["verdict"] else "" for e in group]
    even = sum(label in (verdict.REPRESENTATIVE, verdict.EXCEPTIONS) for label in labels)
    uneven = sum(label == verdict.UNEVEN for label in labels)
    if even >= _MOST * len(group):
        return over_models.REPRESENTATIVE
    if uneven >= _MOST * len(group):
        return over_models.UNEVEN
    some = (1 - _MOST) * len(group)
    return over_models.MIXED if min(even, uneven) >= some else over_models.CANNOT_TELL


def _points(
    there: Sequence[dict[str, Any]],
    entries: Sequence[dict[str, Any]],
    groups: Mapping[str, Any],
    drawer: Drawer,
) -> Picture | None:
    place = {id(e): i for i, e in enumerate(entries)}
    names = [line(b, 40) for b in groups]
    number = {b: i for i, b in enumerate(groups)}
    values = [
        {
            "x": e["harmony"]["adjusted"], "y": e["score"]["mean"],
            "benchmark": names[number[e["benchmark"]]], "model": line(e["model"], 60),
        }
        for e in there
    ]  # fmt: skip
    some = len(names) <= _MOST_COLOURS
    group = {"field": "benchmark", "type": "nominal", "sort": names}
    looks: Spec = {"color": {"value": COLOURS[0]}} if not some else {
        "color": {**group, "scale": {"domain": names, "range": cycle(COLOURS, len(names))}},
        "shape": {**group, "scale": {"domain": names, "range": cycle(SHAPES, len(names))}},
    }  # fmt: skip
    axis = {
        "type": "quantitative", "scale": {"zero": False, "padding": 14}, "axis": {"tickCount": 6},
    }  # fmt: skip

    def spec(size: Size) -> Spec:
        narrow = size.is_narrow
        legend: Spec = {"orient": "bottom", "columns": 2} if narrow else {}
        asked = {"legend": legend} if some and len(names) > 1 else {"legend": None} if some else {}
        return framed(
            {
                "width": size.width - (60 if narrow else 240),
                "height": 240 if narrow else 300,
                "data": {"values": values},
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 0.9},
                "encoding": {
                    "x": {**axis, "field": "x", "title": "adjusted H: how even the score is"},
                    "y": {**axis, "field": "y", "title": "score: the average"},
                    **{key: {**look, **asked} for key, look in looks.items()},
                    "tooltip": [{"field": "model"}, {"field": "benchmark"}],
                },
            },
            size,
        )

    words = "Score and adjusted H of every evaluation; the table has the numbers."
    return drawer.both(
        spec, words, links=[place[id(e)] for e in there], kind="evaluation", role="page"
    )
