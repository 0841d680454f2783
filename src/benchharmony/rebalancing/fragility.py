"""The fragility index: how far a benchmark's score moves when the over-represented is pruned.

For one model the index is ``|shift|``, in units of score, either when a given share of the items
has been removed (*matched removal*, half of them by default) or at the first stop where H has
risen by a given amount (*matched gain*, 0.1 by default). Both make benchmarks of different sizes
comparable: a larger shift is not just the result of pruning more.

*Interval.* From the shift's own interval [L, U]: [0, max(-L, U)] where it holds 0, else between
the two absolute values. *Expected by chance*: the mean |shift| of random removal of as many items,
``sqrt(2/pi)`` times its standard deviation; a small benchmark moves more by chance alone, and
``excess`` is what goes beyond it. *By sizes*: the part of the shift that the new sizes of the
subdomains alone make up, as an absolute value; the rest is which items of their subdomains went,
and the two can cancel. For several models everything is a mean over the models; the limits are
then conservative, for the errors of models on shared items are never more than perfectly
correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.rebalancing.curve import FRACTIONS, Scale, kept_sums, quantities
from benchharmony.rebalancing.post_stratified import size_shift
from benchharmony.rebalancing.pruning import Order
from benchharmony.rebalancing.random_removal import removal_sd
from benchharmony.rebalancing.removal_tests import shift_interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AT_REMOVAL, AT_GAIN = 0.5, 0.1


@dataclass(frozen=True)
class Fragility:
    """The fragility index of one model, or of a benchmark over its models.

    Attributes
    ----------
    matched : str
        "removal" or "gain".
    at : float
        The share removed, or the gain of H, that was asked for.
    removed : float
        Share of the items really removed (mean over models).
    value : float
        ``|shift|``, in units of score.
    ci : (float, float)
        Its interval.
    by_sizes : float
        Absolute value of the part that the sizes alone make up.
    by_chance : float
        Mean ``|shift|`` of random removal of as many items.
    excess : float
        ``max(0, value - by_chance)``.
    models : int
        Models that it is the mean of.
    """

    matched: str
    at: float
    removed: float
    value: float
    ci: tuple[float, float]
    by_sizes: float
    by_chance: float
    excess: float
    models: int = 1


def fragility_at(
    scores: FloatArray,
    labels: IntArray,
    order: Order,
    stop: int,
    *,
    matched: str,
    at: float,
    level: float,
) -> Fragility:
    """Return one model's index at a number of items removed."""
    n = len(scores)
    kept = order.kept(n, stop)
    shift = abs(float(scores[kept].mean() - scores.mean()))
    low, high = shift_interval(scores, kept, level)
    limits = (0.0, max(-low, high)) if low <= 0 <= high else tuple(sorted((abs(low), abs(high))))
    chance = float(np.sqrt(2 / np.pi)) * removal_sd(scores, n - stop)
    shares = np.bincount(labels[kept], minlength=int(labels.max()) + 1) / kept.sum()
    by_sizes = abs(size_shift(scores, labels, shares))
    return Fragility(
        matched, at, stop / n, shift, (limits[0], limits[1]), by_sizes, chance,
        max(0.0, shift - chance),
    )  # fmt: skip


def at_removal(
    scores: FloatArray,
    labels: IntArray,
    order: Order,
    fraction: float = AT_REMOVAL,
    level: float = 0.95,
) -> Fragility | None:
    """Return the index at a matched share of the items; None where no stop is within a tenth."""
    n = len(scores)
    stop = order.stop_at_most(fraction * n)
    if stop == 0 or abs(stop - fraction * n) > 0.1 * n:
        return None
    return fragility_at(scores, labels, order, stop, matched="removal", at=fraction, level=level)


def at_gain(
    scores: FloatArray,
    labels: IntArray,
    order: Order,
    gain: float = AT_GAIN,
    *,
    scale: Scale,
    level: float = 0.95,
) -> Fragility | None:
    """Return the index at the first stop where H has risen by ``gain``; None where it never has.

    No further than the curve goes (90 % removed): H of a handful of items says nothing.
    """
    stops = order.stops[order.stops <= FRACTIONS[-1] * len(scores)]
    h = quantities(kept_sums(scores, labels, order, stops.tolist()), scale)["harmony"]
    before = quantities(kept_sums(scores, labels, order, [0]), scale)["harmony"][0]
    reached = np.flatnonzero(h >= before + gain)
    if len(reached) == 0:
        return None
    stop = int(stops[reached[0]])
    return fragility_at(scores, labels, order, stop, matched="gain", at=gain, level=level)


def over_models(parts: Sequence[Fragility | None]) -> Fragility | None:
    """Return the benchmark's index: the mean over the models for which it is defined."""
    there = [p for p in parts if p is not None]
    if not there:
        return None

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values))

    value, chance = mean([p.value for p in there]), mean([p.by_chance for p in there])
    return Fragility(
        there[0].matched, there[0].at, mean([p.removed for p in there]), value,
        (mean([p.ci[0] for p in there]), mean([p.ci[1] for p in there])),
        mean([p.by_sizes for p in there]), chance, max(0.0, value - chance), len(there),
    )  # fmt: skip
