"""The median rule for tau over all pairs of items, exact or from a sample of pairs.

Distinct rows stand for ``counts`` items each: a pair of rows counts for the product, and the
duplicates of a row are pairs at divergence 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Floats
from benchharmony.engines.tiles import IMPOSSIBLE, FewOutcomes, Tiles
from benchharmony.engines.workers import Workers, blocks
from benchharmony.similarity import ROUNDING, MedianTau, tau_from

Counts = NDArray[np.int64]

#: Up to this many entries of J are simply sorted.
_SORTED = 1 << 20
#: Entries that say where the median must lie, and pairs that stand for all.
_LOOKED_AT, PAIRS = 1 << 16, 1 << 20
_SAMPLE_ROWS = 4096
_PANEL = 256


@dataclass(frozen=True)
class _Tally:
    """Weights of the pairs of different rows and of duplicates."""

    distinct: float
    duplicates: float

    @classmethod
    def of(cls, counts: Counts) -> _Tally:
        w = counts.astype(np.float64)
        return cls(float(w.sum() ** 2 - (w**2).sum()), float((w * (w - 1)).sum()))


def tau_of_matrix(j: Floats, counts: Counts, workers: Workers) -> MedianTau:
    """Return the rule's tau from J of all pairs of rows, shape (n, n), zero diagonal."""
    tally = _Tally.of(counts)
    if j.size > _SORTED:
        middle = _within(j, counts, tally, workers)
        if middle is not None:
            return tau_from(middle, np.empty(0))
    values, weights = _off_diagonal(j, counts)
    return _from_sorted(values, weights, tally)


def tau_of_sample(tiles: Tiles, counts: Counts, workers: Workers) -> MedianTau:
    """Return the rule's tau from some pairs of rows, which their order by content makes random."""
    n = len(counts)
    if not isinstance(tiles, FewOutcomes):
        rows = np.arange(min(n, _SAMPLE_ROWS))
        j = np.maximum(tiles.subset(rows).divergence(rows, rows), 0)
        return _from_sorted(*_off_diagonal(j, counts[rows]), _Tally.of(counts))
    r = min(n, 1 << 20)
    steps = range(1, min(-(-PAIRS // r), n - 1) + 1)

    def along(step: int) -> tuple[Floats, Floats]:
        whole = min(r, n - step)  # the rows whose partner does not wrap around
        turns = [
            (slice(0, whole), slice(step, step + whole)),
            (slice(whole, r), slice(0, r - whole)),
        ]
        j = [np.einsum("ij,ij->i", tiles.left(a), tiles.right(b)) for a, b in turns]
        weights = [(counts[a] * counts[b]).astype(np.float64) for a, b in turns]
        return np.maximum(np.concatenate(j), 0), np.concatenate(weights)

    found = workers.run(along, steps)
    values, weights = (np.concatenate(x) for x in zip(*found, strict=True))
    return _from_sorted(values, weights, _Tally.of(counts))


def _off_diagonal(j: Floats, counts: Counts) -> tuple[Floats, Floats]:
    off = ~np.eye(len(j), dtype=bool)
    return j[off], np.outer(counts, counts)[off].astype(np.float64)


def _from_sorted(values: Floats, weights: Floats, tally: _Tally) -> MedianTau:
    """Return tau where the values stand for all pairs of different rows."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    ladder = np.cumsum(weights)
    scale = ladder[-1] / tally.distinct
    target = ((tally.distinct + tally.duplicates) / 2 - tally.duplicates) * scale
    middle = 0.0 if target <= 0 else _at(values, ladder, target)
    usable = (values > ROUNDING) & (values < IMPOSSIBLE / 2)
    if ROUNDING < middle < IMPOSSIBLE / 2 or not usable.any():
        return tau_from(middle if middle < IMPOSSIBLE / 2 else np.inf, np.empty(0))
    ladder = np.cumsum(weights[usable])
    other = _at(values[usable], ladder, ladder[-1] / 2)
    return tau_from(middle if middle <= ROUNDING else np.inf, np.array([other]))


def _at(values: Floats, ladder: Floats, target: float) -> float:
    """Return the value at which the weights reach the target; a mean of two where just so."""
    i = min(int(np.searchsorted(ladder, target)), len(values) - 1)
    if ladder[i] == target and i + 1 < len(values):
        return float(values[i] + values[i + 1]) / 2
    return float(values[i])


def _within(j: Floats, counts: Counts, tally: _Tally, workers: Workers) -> float | None:
    """Return the median by counting below a bracket and sorting within; None where that fails."""
    target = (tally.distinct + tally.duplicates) / 2 - tally.duplicates
    sample = np.sort(j.reshape(-1)[:: max(1, j.size // _LOOKED_AT)])
    place = target / tally.distinct
    low, high = (
        float(sample[int(np.clip(q, 0, 1) * (len(sample) - 1))])
        for q in (place - 0.02, place + 0.02)
    )
    if not ROUNDING < low <= high < IMPOSSIBLE / 2:
        return None
    single = bool((counts == 1).all())
    weights = counts.astype(np.float64)

    def look(rows: slice) -> tuple[float, Floats, Floats]:
        panel = j[rows]
        under, within = panel < low, (panel >= low) & (panel <= high)
        values: Floats = panel[within]
        if single:
            return float(np.count_nonzero(under)), values, np.ones(len(values))
        i, k = np.nonzero(within)
        return float(weights[rows] @ (under @ weights)), values, weights[rows][i] * weights[k]

    found = workers.run(look, blocks(len(j), _PANEL))
    base = sum(x[0] for x in found) - float((weights**2).sum())  # the diagonal is under
    values, parts = (np.concatenate([x[i] for x in found]) for i in (1, 2))
    if not base < target < base + parts.sum():
        return None
    if single:  # an order statistic, or the mean of the two in the middle
        places = [int(np.ceil(target - base)) - 1, int(np.floor(target - base))]
        values.partition(places)
        return float(values[places].mean(dtype=np.float64))
    order = np.argsort(values, kind="stable")
    return _at(values[order], base + np.cumsum(parts[order]), target)
