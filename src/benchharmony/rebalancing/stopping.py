"""What to prune and where to stop: the choices of a rebalancing, checked, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.rebalancing.curve import Scale, kept_sums, quantities
from benchharmony.rebalancing.pruning import Keep, Order

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Strategy = Literal["redundancy", "threshold", "balance", "weights"]

STRATEGIES: tuple[Strategy, ...] = ("redundancy", "threshold", "balance", "weights")
#: Where no end is given: until sizes are even, but no more than this share of the items.
AT_MOST = 0.5
#: Similarity above which two items count as near-duplicates, where none is given.
THRESHOLD = 0.9


@dataclass(frozen=True)
class Plan:
    """What to prune and when to stop; the fields are parameters of :func:`rebalance`."""

    strategy: Strategy
    fraction: float | None
    target_h: float | None
    cap: int | None
    threshold: float | None
    similarity: str | None
    keep: Keep
    drop_subdomains: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise BenchharmonyError(
                f"unknown strategy {self.strategy!r}; choose {', '.join(STRATEGIES)}"
            )
        if self.keep not in ("central", "random"):
            raise BenchharmonyError(f"keep must be central or random, got {self.keep!r}")
        ends = {"fraction": self.fraction, "target_h": self.target_h, "cap": self.cap}
        given = [name for name, value in ends.items() if value is not None]
        if self.threshold is not None:
            given.append("threshold")
        if len(given) > 1:
            raise BenchharmonyError(f"pruning has one end; give only one of {', '.join(given)}")
        if self.fraction is not None and not 0 <= self.fraction < 1:
            raise BenchharmonyError(f"fraction must lie in [0, 1), got {self.fraction}")
        if self.cap is not None and (self.cap < 1 or self.strategy == "threshold"):
            raise BenchharmonyError("cap must be at least 1, with strategy redundancy or balance")
        if self.threshold is not None and self.strategy != "threshold":
            raise BenchharmonyError("a threshold needs the strategy threshold")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise BenchharmonyError(f"threshold must lie in (0, 1], got {self.threshold}")
        if self.strategy == "weights" and (given or self.drop_subdomains):
            raise BenchharmonyError("the strategy weights removes nothing, so it has no end")


def find_stop(
    plan: Plan, order: Order, labels: IntArray, scores: Sequence[FloatArray], scale: Scale
) -> tuple[int, str]:
    """Return the number of items to remove and, in words, what stopped there.

    Raises
    ------
    BenchharmonyError
        When no stop reaches the H asked for.
    """
    n = len(labels)
    if plan.strategy == "weights":
        return 0, "nothing is removed; every subdomain has the same weight"
    if plan.fraction is not None:
        stop = order.stop_at_most(plan.fraction * n)
        return stop, f"{stop / n:.1%} of the items removed (asked: {plan.fraction:.1%})"
    if plan.target_h is not None:
        return _stop_at_h(plan.target_h, order, labels, scores, scale)
    if plan.strategy == "threshold":
        bar = THRESHOLD if plan.threshold is None else plan.threshold
        stop = order.asked + int(np.count_nonzero(order.similarity[order.asked :] >= bar))
        return stop, f"no two kept items of a subdomain are {bar:g} or more similar"
    return _stop_at_cap(plan.cap, order, labels)


def _stop_at_cap(cap: int | None, order: Order, labels: IntArray) -> tuple[int, str]:
    n = len(labels)
    stayed = np.delete(labels, order.rows[: order.asked])
    sizes = np.unique(stayed, return_counts=True)[1]
    limit = int(sizes.min()) if cap is None else cap
    stop = order.asked + int(np.maximum(sizes - limit, 0).sum())
    if cap is not None:
        return stop, f"no subdomain has more than {cap} items"
    if stop <= AT_MOST * n or stop == order.asked:
        return stop, f"sizes are even, {limit} items each"
    stop = order.stop_at_most(AT_MOST * n)
    words = f"{stop / n:.1%} of the items removed (default: at most {AT_MOST:.0%})"
    return stop, f"{words}; even sizes would leave {limit} items each"


def _stop_at_h(
    target: float, order: Order, labels: IntArray, scores: Sequence[FloatArray], scale: Scale
) -> tuple[int, str]:
    stops = order.stops.tolist()
    each = [quantities(kept_sums(s, labels, order, stops), scale)["harmony"] for s in scores]
    h = np.mean(each, axis=0)
    reached = np.flatnonzero(h >= target)
    if len(reached) == 0:
        best = int(np.argmax(h))
        raise BenchharmonyError(
            f"no pruning reaches H = {target:g}; the highest is {h[best]:.3f}, with "
            f"{stops[best]} of {len(labels)} items removed"
        )
    return int(stops[reached[0]]), f"H is {h[reached[0]]:.3f} (target {target:g})"
