"""k-means of an embedding for many k, in matrix products over all starts at once.

Several k-means++ starts (Arthur, Vassilvitskii 2007) are tried on a sample of the rows; the best of
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

Labels = NDArray[np.signedinteger[Any]]

#: Starts, and rows of which each draw of a start takes the best.
STARTS, _LEADING = 8, 3
#: Rows that centres are fitted on, and rows that the starts are tried on.
FIT_ROWS, TRY_ROWS = 20_000, 1_000
#: Rounds on the sample for all starts, starts that go on there, and starts that go on with all.
_HEATS, _BETTER, _FINALISTS = 3, 4, 2
_MOST_ROUNDS = 100
#: Squared moves of centres that end the rounds, of the mean variance: scikit-learn's tolerance for
#: the trial, and one that leaves nothing to chance for the labels.
_STILL_TRIED, _STILL = 1e-4, 1e-6
_COLUMNS, _ROWS, _MANY = 4096, 1 << 14, 1_000_000
#: Up to this many rows steps are so short that threads would mostly wait for the interpreter.
_ALONE = 8192


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
    dtype, size = embedding.dtype, _size(embedding)
    fit = _sample(embedding, counts.astype(dtype), FIT_ROWS, seed)
    fit = fit[0] / dtype.type(size), fit[1]  # near 1, for float32's sake
    tried = _sample(*fit, TRY_ROWS, seed + 1)
    noise = np.random.default_rng([seed, 2]).gumbel(size=(max(ks), STARTS, len(tried[0])))
    noise = noise.astype(dtype)

    def centres(k: int) -> Floats:
        small = _Points.of(np.ascontiguousarray(tried[0][:, :k]), tried[1])
        found, cost = _lloyd(small, _plus_plus(small, k, noise), _STILL_TRIED, _HEATS)
        found, cost = _lloyd(small, _best(found, cost, _BETTER), _STILL_TRIED)
        whole = _Points.of(np.ascontiguousarray(fit[0][:, :k]), fit[1])
        found, cost = _lloyd(whole, _best(found, cost, _FINALISTS), _STILL, _HEATS)
        found, cost = _lloyd(whole, _best(found, cost, 1), _STILL)
        winner: Floats = found[0] * dtype.type(size)
        return winner

    hardest_first = sorted(ks, reverse=True)
    run = workers.run if len(fit[0]) > _ALONE else map
    found = dict(zip(hardest_first, run(centres, hardest_first), strict=True))
    labels = {k: np.empty(len(embedding), dtype=_label_type(k, len(embedding))) for k in ks}

    def assign(rows: slice) -> None:
        for k in ks:
            labels[k][rows] = _nearest(embedding[rows, :k], found[k])

    workers.run(assign, blocks(len(embedding), _ROWS))
    return labels


def _size(embedding: Floats) -> float:
    """Return the root mean square of the entries, 1 where all are 0."""
    total = sum(
        float(np.square(embedding[part], dtype=np.float64).sum())
        for part in blocks(len(embedding), _ROWS)
    )
    return float(np.sqrt(total / embedding.size)) or 1.0


def _label_type(k: int, n: int) -> type[np.signedinteger[Any]]:
    """Return a small type for millions of items, whose labels of every k take gigabytes."""
    return np.int16 if n > _MANY and k < np.iinfo(np.int16).max else np.int64


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
    """Return centres of every start by greedy k-means++, shape (STARTS, k, d).

    Of the rows that lead a draw, the one that lowers the cost most becomes a centre.
    """
    rows, starts = points.rows, np.arange(STARTS)
    norms = np.square(rows).sum(axis=1, keepdims=True)
    one = np.ones_like(norms)
    from_row, to_row = np.hstack([-2 * rows, norms, one]), np.hstack([rows, one, norms]).T

    def distances(centres: NDArray[np.int64]) -> Floats:
        out: Floats = from_row[centres] @ to_row
        return np.maximum(out, 0, out=out)

    log_weights = np.log(points.weights)
    chosen = np.empty((STARTS, k), dtype=np.int64)
    chosen[:, 0] = (log_weights + noise[0]).argmax(axis=1)
    nearest = distances(chosen[:, 0])
    tiny = np.finfo(rows.dtype).tiny
    leading = np.empty((STARTS, _LEADING), dtype=np.int64)
    for step in range(1, k):
        score = np.log(np.maximum(nearest, tiny)) + log_weights + noise[step]
        for place in range(_LEADING):
            leading[:, place] = score.argmax(axis=1)
            score[starts, leading[:, place]] = -np.inf
        distance = distances(leading.ravel()).reshape(STARTS, _LEADING, -1)
        np.minimum(distance, nearest[:, None], out=distance)
        best = (distance @ points.weights).argmin(axis=1)
        chosen[:, step], nearest = leading[starts, best], distance[starts, best]
    return rows[chosen]


def _best(centres: Floats, cost: Floats, number: int) -> Floats:
    return centres[np.argsort(cost, kind="stable")[:number]]


def _lloyd(
    points: _Points, centres: Floats, still: float, rounds: int = _MOST_ROUNDS
) -> tuple[Floats, Floats]:
    """Return centres moved by Lloyd's rounds, shape (s, k, d), and the costs, up to a constant."""
    spread = np.var(points.rows, axis=0).mean()
    centres, cost = centres.copy(), np.zeros(len(centres), dtype=np.float64)
    moving = np.arange(len(centres))
    for _ in range(rounds):
        sums, gain = _assigned(points, centres[moving])
        before, weight = centres[moving], sums[..., -1:]
        moved = np.divide(sums[..., :-1], weight, out=before.copy(), where=weight > 0)
        shift = np.square(moved - before).sum(axis=(1, 2))
        centres[moving], cost[moving] = moved, -gain
        moving = moving[shift > still * spread]
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
