"""The items in two dimensions, near ones alike to the model, as Vega-Lite."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from benchharmony.plots.measure import text_width
from benchharmony.plots.style import COLOURS, FAINT, SCREEN, SHAPES, Size, cycle, framed
from benchharmony.report.names import cut_names
from benchharmony.report.shown import shown

Spec = dict[str, Any]
Colour = Literal["subdomain", "correct", "declared"]
#: What can colour a map.
COLOURED_BY: tuple[Colour, ...] = ("subdomain", "correct", "declared")

#: Groups beyond these are drawn in grey and without a name of their own.
_MOST_GROUPS = 16
_TITLES = {"subdomain": "subdomain", "correct": "answer", "declared": "declared group"}
#: Names of induced subdomains, with or without keywords.
_NUMBERED = re.compile(r"S\d+(\s|$)")
_RIGHT, _WRONG = "right", "wrong"


def item_map_spec(
    items: Sequence[dict[str, Any]],
    colour: Colour = "subdomain",
    size: Size = SCREEN,
    title: str = "",
) -> Spec | None:
    """Return a point per item, told apart by colour and shape.

    Parameters
    ----------
    items : sequence of dict
        Each ``{x, y, subdomain, correct, declared, id}``: the place, the subdomain's label, the
        score in [0, 1] (or true and false; None where unknown), the declared label or None, and
        the item's id.
    colour : {"subdomain", "correct", "declared"}
        What colours the points. Of many groups, the 16 largest have a colour each.
    size : Size
        Of the picture.
    title : str
        Above it, on a screen.

    Returns
    -------
    dict or None
        None where there are no items or none has what should colour them.
    """
    groups = [_group(item, colour) for item in items]
    if not any(g is not None for g in groups):
        return None
    names, order = _named(groups, colour, size)
    values = [
        {
            "x": item["x"], "y": item["y"], "group": names.get(group or "", order[-1]),
            "id": shown(item["id"], 60), "subdomain": shown(item.get("subdomain") or "-", 60),
            "declared": shown(item.get("declared") or "-", 60),
            "answer": shown(_answer(item.get("correct")) or "-"),
        }
        for item, group in zip(items, groups, strict=True)
    ]  # fmt: skip
    colours, shapes = _looks(order, colour)
    field = {"field": "group", "type": "nominal", "title": _TITLES[colour], "sort": order}
    side = {"labelLimit": 400, "symbolOpacity": 1, "symbolSize": 50}
    legend: Spec = side if not size.is_narrow else {
        **side, "orient": "bottom",
        "columns": max(int(size.width / (_widest(order, size) + 30)), 1),
    }  # fmt: skip
    room = _legend_room(order, size)
    x, y = (
        {
            "field": name, "type": "quantitative", "axis": None,
            "scale": {"zero": False, "nice": False, "padding": 8},
        }
        for name in ("x", "y")
    )  # fmt: skip
    width = round(size.width - room - 24)
    spec: Spec = {
        "title": title or f"the items, near ones alike to the model, by {_TITLES[colour]}",
        "width": width,
        "height": round(width * (0.9 if size.is_narrow else 0.75)),
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "opacity": 0.7, "size": _point(len(items))},
        "encoding": {
            "x": x, "y": y,
            "color": {**field, "scale": {"domain": order, "range": colours}, "legend": legend},
            "shape": {**field, "scale": {"domain": order, "range": shapes}, "legend": legend},
            "tooltip": [
                {"field": "id", "type": "nominal", "title": "item"},
                {"field": "subdomain", "type": "nominal"},
                {"field": "declared", "type": "nominal"},
                {"field": "answer", "type": "nominal"},
            ],
        },
    }  # fmt: skip
    return framed(spec, size)


def _group(item: dict[str, Any], colour: Colour) -> str | None:
    if colour == "correct":
        return _answer(item.get("correct"))
    value = item.get(colour)
    return None if value is None else str(value)


def _answer(correct: Any) -> str | None:
    """Return "right", "wrong" or, for graded scores, the quarter that the score lies in."""
    if correct is None:
        return None
    value = float(correct)
    if value in (0.0, 1.0):
        return _RIGHT if value else _WRONG
    low = min(int(value * 4), 3) / 4
    return f"score {low:g} to {low + 0.25:g}"


def _named(
    groups: list[str | None], colour: Colour, size: Size
) -> tuple[dict[str, str], list[str]]:
    """Return the name in the legend of each group that has one, and all names in order."""
    counts = Counter(g for g in groups if g is not None)
    if colour == "correct":
        grades = sorted(g for g in counts if g not in (_RIGHT, _WRONG))
        found = [g for g in (_RIGHT, *reversed(grades), _WRONG) if g in counts]
    else:
        # The record's order where numbers are equal: dict order is that of first sight.
        found = sorted(counts, key=lambda g: -counts[g])[:_MOST_GROUPS]
        numbers = [_NUMBERED.match(g) for g in found]
        if all(numbers):  # a sample by subdomain may turn the order of near sizes round
            found.sort(key=lambda g: int(g[1:].split()[0]))
    limit = size.width * (0.8 if size.is_narrow else 0.28)
    cut = cut_names(found, limit, measure=lambda text: text_width(text, size.font))
    names = dict(zip(found, cut, strict=True))
    left, unknown = len(counts) - len(found), len(groups) - sum(counts.values())
    rest = []
    if left:
        rest.append(f"{left} smaller groups")
    if unknown:
        rest.append("no label")
    last = " or ".join(rest)
    while last in cut:
        last += " "
    return names, [*cut, *([last] if rest else [])]


def _looks(order: list[str], colour: Colour) -> tuple[list[str], list[str]]:
    """Return colours and shapes: eight of each, every pair of them only once."""
    if colour == "correct" and set(order) <= {_RIGHT, _WRONG, "no label"}:
        pairs = {_RIGHT: (COLOURS[0], "circle"), _WRONG: (COLOURS[1], "cross")}
        looks = [pairs.get(name, (FAINT, "square")) for name in order]
        return [c for c, _ in looks], [s for _, s in looks]
    # Seven colours against eight shapes: no pair comes back before 56 groups.
    colours, shapes = cycle(COLOURS[:7], len(order)), cycle(SHAPES, len(order))
    if order[-1].strip().endswith(("smaller groups", "no label")):
        colours[-1], shapes[-1] = FAINT, "circle"
    return colours, shapes


def _legend_room(order: list[str], size: Size) -> float:
    if size.is_narrow:
        return 0.0
    return _widest([*order, "declared group"], size) + 26


def _widest(names: list[str], size: Size) -> float:
    return max(text_width(name, size.font) for name in names)


def _point(count: int) -> int:
    return 40 if count <= 300 else 24 if count <= 1500 else 12
