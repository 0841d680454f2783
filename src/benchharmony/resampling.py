"""Draws of subdomain sums: bootstrap resamples and random partitions, many at once.

Scores are mostly 0/1 or take few values, so a draw need not touch the items: how many items of
each subdomain have each score is one multinomial (bootstrap) or hypergeometric (random partition)
draw over cells. Only when nearly every score differs are items themselves drawn, in chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Items touched at once where items themselves are drawn: 32 MB of indices.
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Sums:
    """Subdomain sums of many draws.

    Attributes
    ----------
    sizes : ndarray, shape (draws, k) or (k,)
        Items of each subdomain; 0 where a resample left it empty.
    totals : ndarray, shape (draws, k)
        Sum of the scores.
    squares : ndarray, shape (draws, k)
        Sum of the squared scores.
    """

    sizes: FloatArray
    totals: FloatArray
    squares: FloatArray

    @property
    def performance(self) -> FloatArray:
        """Mean scores, shape (draws, k); 0 where a subdomain is empty."""
        return self.totals / np.maximum(self.sizes, 1)

    @property
    def variances(self) -> FloatArray:
        """Sampling variance of each mean, the within-subdomain variance pooled; (draws, k)."""
        sizes = np.broadcast_to(self.sizes, self.totals.shape)
        within = (self.squares - self.totals**2 / np.maximum(sizes, 1)).sum(axis=-1)
        free = np.maximum(sizes.sum(axis=-1) - (sizes > 0).sum(axis=-1), 1)
        pooled: FloatArray = np.maximum(within, 0.0) / free
        return pooled[:, None] / np.maximum(sizes, 1)


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of one named use of a seed: no two uses share their numbers."""
    return np.random.default_rng([seed, *name.encode()])


def checked(scores: object, labels: object) -> tuple[FloatArray, IntArray, int]:
    """Return scores (n,), labels (n,) and k; every label 0..k-1 at least once."""
    score = np.asarray(scores, dtype=np.float64)
    label = np.asarray(labels, dtype=np.int64)
    if score.ndim != 1 or score.shape != label.shape or len(score) == 0:
        raise BenchharmonyError(f"scores {score.shape} and labels {label.shape} do not fit")
    if not (np.isfinite(score).all() and score.min() >= 0.0 and score.max() <= 1.0):
        raise BenchharmonyError("scores must be finite and in [0, 1]")
    if label.min() < 0 or not np.bincount(label).all():
        raise BenchharmonyError("labels: every subdomain 0..k-1 needs at least one item")
    return score, label, int(label.max()) + 1


def bootstrap_sums(
    scores: FloatArray,
    labels: IntArray,
    draws: int,
    rng: np.random.Generator,
    clusters: IntArray | None = None,
) -> Sums:
    """Draw items (or whole clusters) with replacement; the partition stays as it is.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        As :func:`checked` returns them.
    draws : int
        Number of resamples.
    rng : Generator
        Source of randomness.
    clusters : ndarray of int, shape (n,), optional
        Items that share a value are drawn together (a passage and its questions).
    """
    k = int(labels.max()) + 1
    if clusters is not None:
        return _cluster_sums(scores, labels, k, draws, rng, clusters)
    levels, level = np.unique(scores, return_inverse=True)
    counts = np.bincount(labels * len(levels) + level, minlength=k * len(levels))
    occupied = np.flatnonzero(counts)
    if 2 * len(occupied) > len(scores):
        return _item_sums(scores, labels, k, draws, rng)
    drawn = rng.multinomial(len(scores), counts[occupied] / len(scores), size=draws)
    belongs = np.zeros((len(occupied), k))
    belongs[np.arange(len(occupied)), occupied // len(levels)] = 1.0
    value = levels[occupied % len(levels)][:, None]
    cells = drawn.astype(np.float64)
    return Sums(cells @ belongs, cells @ (belongs * value), cells @ (belongs * value**2))


def _item_sums(
    scores: FloatArray, labels: IntArray, k: int, draws: int, rng: np.random.Generator
) -> Sums:
    """Draw items one by one: the fallback for scores that nearly all differ."""
    parts = []
    step = max(1, _CHUNK // len(scores))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        index = rng.integers(len(scores), size=(rows, len(scores)))
        parts.append(_sums_of(scores[index], labels[index], k))
    return _stacked(parts)


def _cluster_sums(
    scores: FloatArray,
    labels: IntArray,
    k: int,
    draws: int,
    rng: np.random.Generator,
    clusters: IntArray,
) -> Sums:
    names, cluster = np.unique(clusters, return_inverse=True)
    count = len(names)
    if count < 2:
        raise BenchharmonyError("clusters: all items are in one cluster, nothing to resample")
    cell = cluster * k + labels
    sums = [
        np.bincount(cell, weights=scores**power, minlength=count * k).reshape(count, k)
        for power in (0, 1, 2)
    ]
    parts = []
    step = max(1, _CHUNK // count)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        times = rng.multinomial(count, np.full(count, 1.0 / count), size=rows).astype(np.float64)
        parts.append(Sums(times @ sums[0], times @ sums[1], times @ sums[2]))
    return _stacked(parts)


def partition_sums(
    scores: FloatArray, labels: IntArray, strata: IntArray, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Return the score sums (draws, k) of random partitions with these sizes in each stratum.

    Within a stratum, the items' scores are dealt out at random over its places in the subdomains
    (multivariate hypergeometric: exactly the law of a permutation within strata).
    """
    k = int(labels.max()) + 1
    total = np.zeros((draws, k))
    for stratum in np.unique(strata):
        inside = strata == stratum
        places = np.bincount(labels[inside], minlength=k)
        levels, counts = np.unique(scores[inside], return_counts=True)
        total += _dealt(levels, counts, places, draws, rng)
    return total


def _dealt(
    levels: FloatArray,
    counts: IntArray,
    places: IntArray,
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the sums (draws, k) when ``counts`` scores of each level fill ``places`` at random."""
    k = len(places)
    if len(levels) == 1:
        return np.tile(places * levels[0], (draws, 1))
    if len(levels) > 2 and len(levels) * 4 > places.sum():
        return _permuted(np.repeat(levels, counts), places, draws, rng)
    # The commonest level is what remains, so it needs no draws.
    order = np.argsort(counts)
    free = np.tile(places, (draws, 1))
    sums: FloatArray = np.zeros((draws, k))
    for index in order[:-1]:
        if (free == free[0]).all():
            taken = rng.multivariate_hypergeometric(free[0], counts[index], draws, "marginals")
        else:
            taken = _hypergeometric_rows(free, int(counts[index]), rng)
        sums += taken * levels[index]
        free = free - taken
    sums += free * levels[order[-1]]
    return sums


def _hypergeometric_rows(free: IntArray, wanted: int, rng: np.random.Generator) -> IntArray:
    """Draw ``wanted`` places from each row of free places, without replacement; (draws, k)."""
    taken = np.zeros_like(free)
    left = np.full(len(free), wanted)
    later = free[:, ::-1].cumsum(axis=1)[:, ::-1]
    for i in range(free.shape[1] - 1):
        taken[:, i] = rng.hypergeometric(free[:, i], later[:, i + 1], left)
        left -= taken[:, i]
    taken[:, -1] = left
    return taken


def _permuted(
    scores: FloatArray, places: IntArray, draws: int, rng: np.random.Generator
) -> FloatArray:
    ends = np.cumsum(places)
    parts = []
    step = max(1, _CHUNK // len(scores))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        shuffled = rng.permuted(np.tile(scores, (rows, 1)), axis=1)
        upto = np.zeros((rows, len(scores) + 1))
        np.cumsum(shuffled, axis=1, out=upto[:, 1:])
        parts.append(np.diff(upto[:, ends], axis=1, prepend=0.0))
    return np.concatenate(parts)


def _sums_of(scores: FloatArray, labels: IntArray, k: int) -> Sums:
    rows = len(scores)
    cell = (np.arange(rows)[:, None] * k + labels).ravel()
    flat = scores.ravel()
    sums = [
        np.bincount(cell, weights=flat**power, minlength=rows * k).astype(float).reshape(rows, k)
        for power in (0, 1, 2)
    ]
    return Sums(sums[0], sums[1], sums[2])


def _stacked(parts: list[Sums]) -> Sums:
    return Sums(
        np.concatenate([p.sizes for p in parts]),
        np.concatenate([p.totals for p in parts]),
        np.concatenate([p.squares for p in parts]),
    )
