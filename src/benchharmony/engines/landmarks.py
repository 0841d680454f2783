"""Landmark items for the low-rank engine: spread so that rare subdomains have their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.tiles import Tiles
from benchharmony.engines.workers import Workers, blocks

Rows = NDArray[np.int64]

#: Landmarks drawn evenly, and at most so many more where those leave items uncovered.
EVEN, EXTRA = 320, 192
#: Candidates for the latter: the least covered items, and items drawn by how uncovered they are.
_LEAST, _DRAWN = 1024, 1024
#: Similarity to a landmark at which an item counts as covered.
_COVERED = 0.95
_PANEL = 1024


def landmarks(tiles: Tiles, tau: float, seed: int, workers: Workers) -> Rows:
    """Return rows to serve as landmarks, ascending.

    Rows in canonical order are as good as random, so every n-th is a random sample. A pass over
    all items then finds those that no landmark is like; from the least covered and from a draw by
    squared distance (as k-means++ draws) the farthest are taken first, so that one landmark of a
    rare group covers the others of its kind.
    """
    n = len(tiles)
    if n <= EVEN + EXTRA:
        return np.arange(n)
    even = evenly(n)
    coverage = np.concatenate(
        workers.run(lambda rows: tiles.similarity(rows, even, tau).max(axis=1), blocks(n, _PANEL))
    )
    candidates = _candidates(coverage, seed)
    near = coverage[candidates].astype(np.float64)
    between = tiles.similarity(candidates, candidates, tau)
    chosen: list[int] = []
    while len(chosen) < EXTRA and near.min() < _COVERED:
        far = int(near.argmin())
        chosen.append(int(candidates[far]))
        np.maximum(near, between[far], out=near)
        near[far] = 1.0
    return np.union1d(even, np.array(chosen, dtype=np.int64))


def evenly(n: int) -> Rows:
    """Return the first landmarks of n items."""
    return np.arange(min(n, EVEN)) * n // min(n, EVEN)


def _candidates(coverage: NDArray[np.floating], seed: int) -> Rows:
    least = np.argpartition(coverage, min(_LEAST, len(coverage) - 1))[:_LEAST]
    ladder = np.cumsum(np.square(1.0 - coverage.clip(0, 1), dtype=np.float64))
    if ladder[-1] <= 0:
        return np.sort(least)
    draws = np.random.default_rng(seed).random(_DRAWN) * ladder[-1]
    return np.union1d(least, np.searchsorted(ladder, draws).clip(0, len(coverage) - 1))
