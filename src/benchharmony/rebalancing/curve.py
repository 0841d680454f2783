"""Score, H and their companions as more and more is pruned, beside the bands of random removal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.metric import (
    BANDWIDTH,
    EPSILON,
    agreement,
    harmony_values,
    shrunken_performance,
    size_evenness,
)
from benchharmony.rebalancing.post_stratified import shuffled
from benchharmony.rebalancing.pruning import Order
from benchharmony.rebalancing.random_removal import is_binary, removed_anywhere, removed_within
from benchharmony.rebalancing.removal_tests import Drawn, Effect, draw_totals, effect
from benchharmony.resampling import Sums, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Fractions removed at which the curve is drawn, as far as whole levels allow.
FRACTIONS = tuple(round(0.05 * i, 2) for i in range(19))
#: What the curve follows.
QUANTITIES = ("score", "harmony", "adjusted", "agreement", "size_evenness", "k")


@dataclass(frozen=True)
class Scale:
    """Parameters of H."""

    bandwidth: float = BANDWIDTH
    epsilon: float = EPSILON


@dataclass(frozen=True)
class Band:
    """One quantity over random removals.

    Attributes
    ----------
    mean, low, high : float or None
        Mean, and the limits that hold the given share of the draws; None where undefined.
    """

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Point:
    """One model's curve at one number of items removed.

    Attributes
    ----------
    removed : int
        Items dropped.
    fraction : float
        The same as a share of all items.
    values : dict of str to (float or None)
        The quantities of :data:`QUANTITIES` for the kept items.
    random, within : dict of str to Band
        The same for random removal of as many items, and of as many from every subdomain.
    effect : Effect
        The shift of the score, its interval and p-values.
    """

    removed: int
    fraction: float
    values: dict[str, float | None]
    random: dict[str, Band]
    within: dict[str, Band]
    effect: Effect


def kept_sums(scores: FloatArray, labels: IntArray, order: Order, stops: Sequence[int]) -> Sums:
    """Return the subdomain sums of the kept items at each stop, shapes (stops, k)."""
    k = int(labels.max()) + 1
    parts = []
    for power in (0, 1, 2):
        values = scores**power
        whole = np.bincount(labels, values, minlength=k)
        gone = np.zeros((len(stops), k))
        for g in range(k):
            mine = np.where(labels[order.rows] == g, values[order.rows], 0.0)
            gone[:, g] = np.r_[0.0, np.cumsum(mine)][list(stops)]
        # A cumulative sum leaves rounding where nothing is left.
        left = whole - gone
        parts.append(np.rint(left) if power == 0 else np.where(np.abs(left) < 1e-9, 0.0, left))
    return Sums(*parts)


def quantities(sums: Sums, scale: Scale) -> dict[str, FloatArray]:
    """Return every quantity of :data:`QUANTITIES` for rows of sums, each of shape (rows,)."""
    sizes = np.broadcast_to(sums.sizes, sums.totals.shape)
    psi = sums.performance
    shrunk = shrunken_performance(sizes, psi, sums.variances)
    b, eps = scale.bandwidth, scale.epsilon
    return {
        "score": sums.totals.sum(axis=-1) / sizes.sum(axis=-1),
        "harmony": harmony_values(sizes, psi, bandwidth=b, epsilon=eps),
        "adjusted": harmony_values(sizes, shrunk, bandwidth=b, epsilon=eps),
        "agreement": agreement(sizes, psi, bandwidth=b),
        "size_evenness": size_evenness(sizes),
        "k": np.asarray((sizes > 0).sum(axis=-1), dtype=np.float64),
    }


def stops_for(order: Order, n: int, fractions: Sequence[float], also: Sequence[int]) -> list[int]:
    """Return the stops nearest below the fractions, and others asked for; ascending, no repeats."""
    wanted = {order.stop_at_most(f * n) for f in fractions}
    return sorted(wanted | set(also))


def curve(
    scores: FloatArray,
    labels: IntArray,
    order: Order,
    stops: Sequence[int],
    *,
    scale: Scale,
    draws: int = 1000,
    permutations: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    dealt: FloatArray | None = None,
) -> tuple[Point, ...]:
    """Return one model's curve.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores and subdomains.
    order : Order
        Of the n items.
    stops : sequence of int
        Numbers of items removed.
    scale : Scale
        Parameters of H.
    draws : int
        Random removals behind every band.
    permutations : int
        Random subsets behind the p-values of graded scores, and shuffles behind those of the sizes.
    level : float
        Of bands and intervals.
    seed : int
        Of all draws.
    dealt : ndarray, shape (shuffles, k), optional
        What :func:`~benchharmony.rebalancing.post_stratified.shuffled` gives, where it has been
        drawn already.
    """
    n = len(scores)
    sums = kept_sums(scores, labels, order, stops)
    values = quantities(sums, scale)
    sizes = [row.astype(np.int64) for row in sums.sizes]
    rng = stream(seed, "rebalance bands")
    anywhere = removed_anywhere(scores, labels, [n - s for s in stops], draws, rng)
    within = removed_within(scores, labels, sizes, draws, rng)
    kept = [order.kept(n, stop) for stop in stops]
    if dealt is None:
        dealt = shuffled(scores, labels, permutations, seed)
    tested: Sequence[Drawn | None] = [None] * len(stops)
    if not is_binary(scores):
        tested = draw_totals(scores, labels, kept, permutations, seed)
    return tuple(
        Point(
            removed=stop,
            fraction=stop / n,
            values={name: _number(values[name][i]) for name in QUANTITIES},
            random=_bands(anywhere[i], scale, level),
            within=_bands(within[i], scale, level),
            effect=effect(
                scores, labels, kept[i], level=level, seed=seed, drawn=tested[i], dealt=dealt,
            ),
        )
        for i, stop in enumerate(stops)
    )  # fmt: skip


def _bands(sums: Sums, scale: Scale, level: float) -> dict[str, Band]:
    return {name: _band(drawn, level) for name, drawn in quantities(sums, scale).items()}


def _band(drawn: FloatArray, level: float) -> Band:
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) == 0:
        return Band(None, None, None)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Band(float(drawn.mean()), float(low), float(high))


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
