"""The dense engine: S held whole, in float32 or, for few items, float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.iterative import iterated
from benchharmony.engines.kernel import Columns, Floats
from benchharmony.engines.tiles import Tiles
from benchharmony.engines.workers import Workers, blocks

T = TypeVar("T")

#: Up to this many items a full solver is quicker than an iterative one.
_SMALL = 400
_TILE, _PANEL = 512, 512


@dataclass(frozen=True, eq=False)
class Dense:
    """A similarity matrix with zeros on its diagonal (:class:`benchharmony.engines.kernel.Kernel`).

    Attributes
    ----------
    matrix : ndarray, shape (n, n)
        S of distinct items.
    """

    matrix: Floats
    workers: Workers
    engine: str = "dense"
    error: float | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return self.matrix.dtype

    def __len__(self) -> int:
        return len(self.matrix)

    def apply(self, right: Columns, use: Callable[[slice, Floats], T]) -> list[T]:
        """Return ``use(rows, (S @ right)[rows])`` for each panel of rows, in order."""
        whole = right[0 : len(self)].astype(self.dtype, copy=False)
        return self.workers.run(
            lambda rows: use(rows, self.matrix[rows] @ whole), blocks(len(self), _PANEL)
        )

    def subset(self, rows: NDArray[np.int64]) -> Dense:
        """Return the similarity of some of the items."""
        return Dense(self.matrix[np.ix_(rows, rows)], self.workers)

    def eigenpairs(
        self, scale: Floats, shift: Floats, m: int, seed: int
    ) -> tuple[NDArray[np.float64], Floats]:
        """Return the m largest eigenpairs of ``scale S scale + shift``."""
        n = len(self)
        if n <= _SMALL or m >= n - 1:
            from scipy import linalg  # here: it takes longer to import than all of this package

            whole = self.matrix * scale[:, None] * scale
            np.fill_diagonal(whole, shift)
            values, vectors = linalg.eigh(whole, subset_by_index=[n - m, n - 1])
            return values[::-1].astype(np.float64), vectors[:, ::-1].copy()
        return iterated(self, scale, shift, m, seed, lambda places: self.matrix[places])


def filled(tiles: Tiles, tau: float | None, dtype: np.dtype[Any], workers: Workers) -> Floats:
    """Return S, shape (n, n), zeros on the diagonal; J where tau is None."""
    n = len(tiles)
    out = np.empty((n, n), dtype=dtype)
    parts = blocks(n, _TILE)

    def fill(pair: tuple[slice, slice]) -> None:
        a, b = pair
        if tau is None:
            tile = tiles.divergence(a, b)
            np.maximum(tile, 0, out=tile)
        else:
            tile = tiles.similarity(a, b, tau)
        out[a, b] = tile
        out[b, a] = tile.T

    workers.run(fill, [(a, b) for i, a in enumerate(parts) for b in parts[i:]])
    np.fill_diagonal(out, 0)
    return out


def to_similarity(j: Floats, tau: float, workers: Workers) -> Floats:
    """Return ``exp(-tau/2 J)`` in place of J, zeros on the diagonal."""
    factor = j.dtype.type(-0.5 * tau)

    def turn(rows: slice) -> None:
        panel = j[rows]
        panel *= factor
        np.exp(panel, out=panel)

    workers.run(turn, blocks(len(j), _PANEL))
    np.fill_diagonal(j, 0)
    return j
