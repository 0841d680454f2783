"""The matrix-free engine: S exact but never held, its tiles computed again for every product."""

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

_ROWS, _COLUMNS = 512, 1024


@dataclass(frozen=True, eq=False)
class MatrixFree:
    """Similarity computed when needed (:class:`benchharmony.engines.kernel.Kernel`)."""

    tiles: Tiles
    tau: float
    dtype: np.dtype[Any]
    workers: Workers
    engine: str = "matrix-free"
    error: float | None = None

    def __len__(self) -> int:
        return len(self.tiles)

    def apply(self, right: Columns, use: Callable[[slice, Floats], T]) -> list[T]:
        """Return ``use(rows, (S @ right)[rows])`` for each panel of rows, in order."""
        whole = right[0 : len(self)].astype(self.dtype, copy=False)
        columns = blocks(len(self), _COLUMNS)

        def panel(rows: slice) -> T:
            out = np.zeros((rows.stop - rows.start, whole.shape[1]), dtype=self.dtype)
            for part in columns:
                tile = self.tiles.similarity(rows, part, self.tau)
                inside = np.arange(max(rows.start, part.start), min(rows.stop, part.stop))
                tile[inside - rows.start, inside - part.start] = 0
                out += tile @ whole[part]
            return use(rows, out)

        return self.workers.run(panel, blocks(len(self), _ROWS))

    def subset(self, rows: NDArray[np.int64]) -> MatrixFree:
        """Return the similarity of some of the items."""
        return MatrixFree(self.tiles.subset(rows), self.tau, self.dtype, self.workers)

    def eigenpairs(
        self, scale: Floats, shift: Floats, m: int, seed: int
    ) -> tuple[NDArray[np.float64], Floats]:
        """Return the m largest eigenpairs of ``scale S scale + shift``."""
        every = slice(0, len(self))
        return iterated(
            self, scale, shift, m, seed,
            lambda places: self.tiles.similarity(places, every, self.tau),
        )  # fmt: skip
