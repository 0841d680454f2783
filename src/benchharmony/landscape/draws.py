"""H of many models on one benchmark under resampled items: the noise, and what models share of it.

The models of a benchmark answered the same items, so a resample draws items once for all of them:
an easy draw is easy for every model, and only that shared part is left when many models are
averaged. Resampled performances are recentred on the shrunken ones before H is taken. Without
that the noise counts twice, once in the data and once in the resample, and the spread of adjusted
H comes out up to three times too wide (docs/landscape.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.harmony import HarmonyResult
from benchharmony.metric import agreement, harmony_values, shrunken_performance
from benchharmony.partition import Partition

FloatArray = NDArray[np.float64]

#: Numbers in one block of item counts: 32 MB.
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class Measured:
    """One evaluation, its partition, and H under it (defined)."""

    evaluation: Evaluation
    split: Partition
    result: HarmonyResult

    @property
    def scores(self) -> FloatArray:
        """Item scores, shape (n,)."""
        scores = self.evaluation.scores
        if scores is None:
            raise BenchharmonyError(f"{self.evaluation.name}: no scores")
        return scores


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of M models under B sets of items, each of shape (M, B)."""

    score: FloatArray
    raw: FloatArray
    adjusted: FloatArray
    agreement: FloatArray

    def covariance(self, name: str) -> FloatArray:
        """Return the covariance of the models' numbers over the sets, shape (M, M)."""
        drawn: FloatArray = getattr(self, name)
        return np.atleast_2d(np.cov(drawn))


def resampled(
    group: Sequence[Measured],
    draws: int,
    rng: np.random.Generator,
    *,
    bandwidth: float,
    epsilon: float,
) -> Values:
    """Return the numbers of a benchmark's models under bootstrap resamples of its items."""
    ids = item_ids(group)
    n = len(ids)

    def counts() -> Iterator[FloatArray]:
        step = max(1, _CHUNK // n)
        for start in range(0, draws, step):
            rows = min(step, draws - start)
            picked = rng.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
            flat = np.bincount(picked.ravel(), minlength=rows * n)
            yield flat.reshape(rows, n).astype(np.float64)

    return _values(group, ids, counts(), recentre=True, bandwidth=bandwidth, epsilon=epsilon)


def subsampled(
    group: Sequence[Measured],
    size: int,
    repeats: int,
    rng: np.random.Generator,
    *,
    bandwidth: float,
    epsilon: float,
) -> Values:
    """Return the numbers of a benchmark's models on random subsets of ``size`` items.

    The partition stays as it is; subdomains that a subset misses do not count.
    """
    ids = item_ids(group)
    n = len(ids)

    def counts() -> Iterator[FloatArray]:
        step = max(1, _CHUNK // n)
        for start in range(0, repeats, step):
            block = np.zeros((min(step, repeats - start), n))
            for row in block:
                row[rng.choice(n, min(size, n), replace=False)] = 1.0
            yield block

    return _values(group, ids, counts(), recentre=False, bandwidth=bandwidth, epsilon=epsilon)


def item_ids(group: Sequence[Measured]) -> dict[str, int]:
    """Return every item id of a benchmark's models with its place."""
    ids: dict[str, int] = {}
    for m in group:
        for item in m.evaluation.item_ids:
            ids.setdefault(item, len(ids))
    return ids


def _values(
    group: Sequence[Measured],
    ids: dict[str, int],
    blocks: Iterator[FloatArray],
    *,
    recentre: bool,
    bandwidth: float,
    epsilon: float,
) -> Values:
    places = [_place(m, ids) for m in group]
    tables = [_table(m) for m in group]
    found: list[FloatArray] = []
    for block in blocks:
        rows = [
            _of_block(
                block if place is None else block[:, place], table, m, recentre, bandwidth, epsilon
            )
            for m, place, table in zip(group, places, tables, strict=True)
        ]
        found.append(np.array(rows))  # (M, 4, rows of the block)
    whole = np.concatenate(found, axis=2)
    return Values(*(_filled(whole[:, i]) for i in range(4)))


def _place(m: Measured, ids: dict[str, int]) -> NDArray[np.int64] | None:
    """Return the column of each item of a model; None where it has all of them in order."""
    place = np.array([ids[i] for i in m.evaluation.item_ids])
    return None if np.array_equal(place, np.arange(len(ids))) else place


def _table(m: Measured) -> FloatArray:
    """Return the indicator of each subdomain, alone, times the score, times its square; (n, 3k)."""
    member = np.eye(m.split.k)[m.split.labels]
    score = m.scores[:, None]
    return np.hstack([member, member * score, member * score**2])


def _of_block(
    counts: FloatArray,
    table: FloatArray,
    m: Measured,
    recentre: bool,
    bandwidth: float,
    epsilon: float,
) -> FloatArray:
    """Return score, raw H, adjusted H and adjusted agreement of each row of counts, (4, rows)."""
    sizes, totals, squares = np.split(counts @ table, 3, axis=1)
    sizes = np.where(sizes.sum(axis=1, keepdims=True) > 0, sizes, 1.0)  # no item of this model
    held = np.maximum(sizes, 1.0)
    performance = totals / held
    n = sizes.sum(axis=1)
    within = np.maximum((squares - totals**2 / held).sum(axis=1), 0.0)
    variances = (within / np.maximum(n - (sizes > 0).sum(axis=1), 1))[:, None] / held
    weights = sizes / n[:, None]
    if recentre:
        parts = m.result.subdomains
        centre = shrunken_performance(parts.weights, parts.performance, parts.variances)
        performance = centre + (performance - parts.performance)
        performance = np.where(sizes > 0, performance, 0.0)
    shrunk = shrunken_performance(weights, performance, variances)
    return np.array(
        [
            totals.sum(axis=1) / n,
            harmony_values(weights, performance, bandwidth=bandwidth, epsilon=epsilon),
            harmony_values(weights, shrunk, bandwidth=bandwidth, epsilon=epsilon),
            agreement(weights, shrunk, bandwidth=bandwidth),
        ]
    )


def _filled(values: FloatArray) -> FloatArray:
    """Replace H of a draw that left fewer than two subdomains by the mean of the others."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    kept = np.where(missing, 0.0, values)
    count = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    return np.where(missing, kept.sum(axis=1, keepdims=True) / count, values)


def adjusted_agreement(m: Measured, bandwidth: float) -> float:
    """Return the agreement of the shrunken performances, in (0, 1]."""
    parts = m.result.subdomains
    shrunk = shrunken_performance(parts.weights, parts.performance, parts.variances)
    return float(agreement(parts.weights, shrunk, bandwidth=bandwidth))
