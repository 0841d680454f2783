"""Where labels go beside points so that they cover neither each other nor a point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

#: Average width of a letter and height of a line, in px for a px of font.
_LETTER, _LINE = 6.4 / 11, 13.0 / 11
#: Distances of a label's edge from its point that are tried, in px.
_GAPS = (9.0, 16.0, 26.0, 38.0, 52.0, 70.0, 92.0, 120.0)
#: Directions tried.
_WAYS = 16
#: Cost of a px of distance, of a square px over a label or point, over a thin line, and of
#: crossing another label's leader.
_FAR, _HARD, _SOFT, _CROSS = 1.0, 4.0, 0.6, 25.0
#: Times that every label is placed again, given all the others.
_ROUNDS = 4


@dataclass(frozen=True)
class Label:
    """A placed label: the centre of its text, and where a line from its point would meet it.

    ``away`` is the distance of the point from the label's edge, in px.
    """

    centre: Point
    edge: Point
    away: float


def place_labels(
    points: Sequence[Point],
    texts: Sequence[str],
    width: float,
    height: float,
    *,
    lines: Sequence[Box] = (),
    radius: float = 9.0,
    font: float = 11.0,
) -> list[Label]:
    """Return the place of each label.

    Parameters
    ----------
    points : sequence of (x, y)
        In px from the top left.
    texts : sequence of str
        One line each.
    width, height : float
        Of the picture; labels stay inside.
    lines : sequence of boxes
        Thin things that a label should rather not cover.
    radius : float
        Of the points.
    font : float
        Size of the texts.
    """
    dots = [(x - radius, y - radius, x + radius, y + radius) for x, y in points]
    boxes: list[Box | None] = [None] * len(points)
    for _ in range(_ROUNDS):
        for i, point in enumerate(points):
            others = [b for j, b in enumerate(boxes) if b is not None and j != i]
            leaders = [
                (points[j], _edge(points[j], b))
                for j, b in enumerate(boxes)
                if b is not None and j != i
            ]
            size = (_LETTER * font * len(texts[i]), _LINE * font)
            boxes[i] = min(
                _candidates(point, size, width, height),
                key=lambda box: _cost(point, box, [*others, *dots], lines, leaders),
            )
    return [_label(p, b) for p, b in zip(points, boxes, strict=True) if b is not None]


def _candidates(point: Point, size: Point, width: float, height: float) -> list[Box]:
    out = []
    for gap in _GAPS:
        for turn in range(_WAYS):
            angle = 2 * math.pi * turn / _WAYS
            x = point[0] + math.cos(angle) * (gap + size[0] / 2)
            y = point[1] - math.sin(angle) * (gap + size[1] / 2)
            x = min(max(x, size[0] / 2), width - size[0] / 2)
            y = min(max(y, size[1] / 2), height - size[1] / 2)
            out.append((x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2))
    return out


def _cost(
    point: Point,
    box: Box,
    solid: Sequence[Box],
    lines: Sequence[Box],
    leaders: Sequence[tuple[Point, Point]],
) -> float:
    edge = _edge(point, box)
    return (
        _FAR * math.dist(point, edge)
        + _HARD * sum(overlap(box, other) for other in solid)
        + _SOFT * sum(overlap(box, other) for other in lines)
        + _CROSS * sum(_crosses((point, edge), leader) for leader in leaders)
    )


def _label(point: Point, box: Box) -> Label:
    edge = _edge(point, box)
    centre = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    return Label(centre, edge, math.dist(point, edge))


def _edge(point: Point, box: Box) -> Point:
    """Return the place in a box nearest to a point."""
    return min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3])


def overlap(a: Box, b: Box) -> float:
    """Return the area that two boxes share, in square px."""
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return across * down if across > 0 and down > 0 else 0.0


def _crosses(a: tuple[Point, Point], b: tuple[Point, Point]) -> bool:
    def side(p: Point, q: Point, r: Point) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(*a, b[0]) * side(*a, b[1]) < 0 and side(*b, a[0]) * side(*b, a[1]) < 0
