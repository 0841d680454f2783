"""k-means of an embedding for many k, in matrix products over all starts at once.

Ten k-means++ starts (Arthur, Vassilvitskii 2007) converge on a sample of the rows; the best of
them go on with the fitting rows; every row then takes its nearest centre (Lloyd 1982). Samples are
weighted, and far rows are as likely in them as they weigh in the cost (Bachem, Lucic, Krause
2018), so that a rare group is not missed.

Every draw is the row of largest score plus a noise that belongs to the row: an embedding that
differs in its last digits, as those of two engines do, leads to the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Floats
from benchharmony.engines.workers import Workers, blocks

Labels = NDArray[np.int64]

#: As scikit-learn's SpectralClustering.
STARTS = 10
#: Rows that centres are fitted on, and rows that the starts are tried on.
FIT_ROWS, TRY_ROWS = 20_000, 1_000
_FINALISTS, _MOST_ROUNDS = 2, 100
_STILL = 1e-6  # of the mean variance, for the squared moves of the centres
_COLUMNS, _ROWS = 4096, 1 << 14


@dataclass(frozen=True, eq=False)
class _Points:
    """Rows to cluster, and their transpose with a row of ones: both sides of the products."""

    rows: Floats
    weights: Floats
    turned: Floats
    weighted: Floats

    @classmethod
    def of(cls, rows: Floats, weights: Floats) -> _Points:
        one = np.ones((1, len(rows)), dtype=rows.dtype)
        turned = np.vstack([rows.T, one])
        return cls(rows, weights, turned, np.ascontiguousarray((turned * weights).T))


def kmeans_by_k(
    embedding: Floats, counts: NDArray[Any], ks: Sequence[int], seed: int, workers: Workers
) -> dict[int, Labels]:
    """Cluster the first k columns of an embedding into k clusters, for every k of a list.

    Parameters
    ----------
    embedding : ndarray, shape (n, m)
        Nested: the first k columns are those of k clusters.
    counts : ndarray, shape (n,)
        Items that each row stands for.
    ks : sequence of int
        Numbers of clusters; some may stay empty where fewer rows are distinct.
    seed : int
        Of the starts: every k has a stream of its own.
    workers : Workers
        Threads.
    """
    points, weights = _scaled(embedding), counts.astype(embedding.dtype)
    fit = _sample(points, weights, FIT_ROWS, seed)
    tried = _sample(*fit, TRY_ROWS, seed + 1)
    noise = np.random.default_rng([seed, 2]).gumbel(size=(max(ks), STARTS, len(tried[0])))
    noise = noise.astype(points.dtype)

    def centres(k: int) -> Floats:
        small = _Points.of(np.ascontiguousarray(tried[0][:, :k]), tried[1])
        found, cost = _lloyd(small, _plus_plus(small, k, noise))
        found = found[np.argsort(cost, kind="stable")[:_FINALISTS]]
        if len(fit[0]) > len(tried[0]):
            whole = _Points.of(np.ascontiguousarray(fit[0][:, :k]), fit[1])
            found, cost = _lloyd(whole, found)
        winner: Floats = found[int(np.argmin(cost[: len(found)]))]
        return winner

    hardest_first = sorted(ks, reverse=True)
    found = dict(zip(hardest_first, workers.run(centres, hardest_first), strict=True))
    labels = {k: np.empty(len(points), dtype=np.int64) for k in ks}

    def assign(rows: slice) -> None:
        for k in ks:
            labels[k][rows] = _nearest(points[rows, :k], found[k])

    workers.run(assign, blocks(len(points), _ROWS))
    return labels


def _scaled(embedding: Floats) -> Floats:
    """Return the embedding in units of its root mean square, for float32's sake."""
    size = float(np.sqrt(np.mean(np.square(embedding, dtype=np.float64))))
    return embedding / embedding.dtype.type(size or 1.0)


def _sample(points: Floats, weights: Floats, size: int, seed: int) -> tuple[Floats, Floats]:
    """Return some rows and their weights by priority sampling (Duffield, Lund, Thorup 2007)."""
    n = len(points)
    if n <= size:
        return points, weights
    total = float(weights.sum(dtype=np.float64))
    mean = (weights @ points) / total
    spread = np.zeros(n)
    for part in blocks(n, _ROWS):
        spread[part] = np.square(points[part] - mean, dtype=np.float64).sum(axis=1)
    spread *= weights
    chance = 0.5 * weights / total + 0.5 * spread / max(float(spread.sum()), 1e-300)
    priority = chance / (1.0 - np.random.default_rng(seed).random(n))
    top = np.argpartition(priority, n - size - 1)
    threshold, drawn = priority[top[n - size - 1]], np.sort(top[n - size :])
    heavier = weights[drawn] * np.maximum(threshold / chance[drawn], 1.0)
    return np.ascontiguousarray(points[drawn]), heavier.astype(points.dtype)


def _plus_plus(points: _Points, k: int, noise: Floats) -> Floats:
    """Return k-means++ centres of every start, shape (STARTS, k, d)."""
    rows = points.rows
    norms = np.square(rows).sum(axis=1)
    log_weights = np.log(points.weights)
    chosen = np.empty((STARTS, k), dtype=np.int64)
    chosen[:, 0] = (log_weights + noise[0]).argmax(axis=1)
    nearest = np.full((STARTS, len(rows)), np.inf, dtype=rows.dtype)
    tiny = np.finfo(rows.dtype).tiny
    for step in range(1, k):
        last = chosen[:, step - 1]
        distance = norms - 2 * (rows[last] @ rows.T) + norms[last, None]
        np.minimum(nearest, distance, out=nearest)
        score = np.log(np.maximum(nearest, tiny)) + log_weights + noise[step]
        chosen[:, step] = score.argmax(axis=1)
    return rows[chosen]


def _lloyd(points: _Points, centres: Floats) -> tuple[Floats, Floats]:
    """Return centres moved by Lloyd's rounds, shape (s, k, d), and the costs, up to a constant."""
    spread = np.var(points.rows, axis=0).mean()
    centres, cost = centres.copy(), np.zeros(len(centres), dtype=np.float64)
    moving = np.arange(len(centres))
    for _ in range(_MOST_ROUNDS):
        sums, gain = _assigned(points, centres[moving])
        full = sums[..., -1] > 0
        moved = centres[moving]
        moved[full] = sums[full][:, :-1] / sums[full][:, -1:]
        shift = np.square(moved - centres[moving]).sum(axis=(1, 2))
        centres[moving], cost[moving] = moved, -gain
        moving = moving[shift > _STILL * spread]
        if len(moving) == 0:
            break
    return centres, cost


def _assigned(points: _Points, centres: Floats) -> tuple[Floats, NDArray[np.float64]]:
    """Return each centre's sums of rows and of weights, (s, k, d + 1), and the gains, (s,)."""
    starts, k, d = centres.shape
    flat = _with_offset(centres.reshape(-1, d))
    sums = np.zeros((starts * k, d + 1), dtype=centres.dtype)
    gain = np.zeros(starts)
    for part in blocks(len(points.rows), _COLUMNS):
        score = (flat @ points.turned[:, part]).reshape(starts, k, -1)
        top = score.max(axis=1)
        nearest = (score == top[:, None]).astype(centres.dtype)
        sums += nearest.reshape(starts * k, -1) @ points.weighted[part]
        gain += top @ points.weights[part]
    return sums.reshape(starts, k, d + 1), gain


def _with_offset(centres: Floats) -> Floats:
    """Return (c, -|c|^2 / 2): its product with (x, 1) is largest for the nearest centre."""
    return np.hstack([centres, -0.5 * np.square(centres).sum(axis=1, keepdims=True)])


def _nearest(rows: Floats, centres: Floats) -> Labels:
    offset = -0.5 * np.square(centres).sum(axis=1)
    score = rows @ centres.T
    score += offset
    nearest: Labels = score.argmax(axis=1)
    return nearest
