"""Why each item was dropped, and which kept item stands for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchharmony.rebalancing.closeness import Closeness
from benchharmony.rebalancing.pruning import Order, nearest_kept
from benchharmony.rebalancing.result import Dropped
from benchharmony.rebalancing.stopping import Plan

IntArray = NDArray[np.int64]


def drop_list(
    plan: Plan,
    order: Order,
    stop: int,
    labels: IntArray,
    names: tuple[str, ...],
    ids: tuple[str, ...],
    closeness: Closeness | None,
) -> tuple[Dropped, ...]:
    """Return the items dropped up to a stop, in order, each with its nearest kept item."""
    rows = order.rows[:stop]
    kept = order.kept(len(labels), stop)
    nearest, similarity = np.full(stop, -1), np.full(stop, np.nan)
    if closeness is not None and stop:
        nearest, similarity = nearest_kept(labels, kept, rows, closeness)
    left = np.bincount(labels[kept], minlength=len(names))
    out = []
    for place, row in enumerate(rows.tolist()):
        near = None if nearest[place] < 0 else ids[int(nearest[place])]
        towards = None if near is None else float(similarity[place])
        group = int(labels[row])
        reason = _reason(plan, order, place, near, towards, int(left[group]))
        out.append(Dropped(place + 1, ids[row], names[group], near, towards, reason))
    return tuple(out)


def _reason(
    plan: Plan, order: Order, place: int, near: str | None, similarity: float | None, left: int
) -> str:
    if place < order.asked:
        return "its subdomain was asked to be removed"
    towards = "" if near is None else f"; similarity {similarity:.3f} to kept item {near}"
    if plan.strategy == "redundancy":
        return f"most redundant of a subdomain cut to {left} items{towards}"
    if plan.strategy == "threshold":
        return f"one of a pair of similarity {order.similarity[place]:.3f}{towards}"
    how = "less central than those kept" if plan.keep == "central" else "left out by the draw"
    return f"{how} in a subdomain cut to {left} items{towards}"
