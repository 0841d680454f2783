"""The dense engine on an accelerator: S is held there, and its products are computed there.

Through the Python array API, so that the same lines serve PyTorch (CUDA, MPS, CPU) and CuPy.
Eigenvectors and k-means stay where they are: only what grows with n squared moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.iterative import iterated
from benchharmony.engines.kernel import Columns, Floats
from benchharmony.engines.tiles import FewOutcomes, Tiles
from benchharmony.engines.workers import Workers, blocks
from benchharmony.errors import BenchharmonyError

T = TypeVar("T")

#: Array libraries that can hold S.
LIBRARIES = ("torch", "cupy")
_ROWS, _PANEL = 1024, 2048


@dataclass(frozen=True, eq=False)
class Accelerated:
    """A similarity matrix on a device (:class:`benchharmony.engines.kernel.Kernel`).

    Attributes
    ----------
    matrix : array of the library ``xp``, shape (n, n)
        S of distinct items, zeros on the diagonal.
    engine : str
        As asked for: "torch", "torch:cuda", "cupy".
    """

    matrix: Any
    xp: Any
    dtype: np.dtype[Any]
    workers: Workers
    engine: str
    error: float | None = None

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def apply(self, right: Columns, use: Callable[[slice, Floats], T]) -> list[T]:
        """Return ``use(rows, (S @ right)[rows])`` for each panel of rows, in order."""
        whole = self._there(np.ascontiguousarray(right[0 : len(self)], dtype=self.dtype))
        return self.workers.run(
            lambda rows: use(rows, _here(self.matrix[rows, :] @ whole)), blocks(len(self), _PANEL)
        )

    def subset(self, rows: NDArray[np.int64]) -> Accelerated:
        """Return the similarity of some of the items."""
        places = self._there(rows)
        some = self.xp.take(self.xp.take(self.matrix, places, axis=0), places, axis=1)
        return Accelerated(some, self.xp, self.dtype, self.workers, self.engine)

    def eigenpairs(
        self, scale: Floats, shift: Floats, m: int, seed: int
    ) -> tuple[NDArray[np.float64], Floats]:
        """Return the m largest eigenpairs of ``scale S scale + shift``."""

        def similar(places: NDArray[np.int64]) -> Floats:
            return _here(self.xp.take(self.matrix, self._there(places), axis=0))

        return iterated(self, scale, shift, m, seed, similar)

    def _there(self, array: NDArray[Any]) -> Any:
        return self.xp.asarray(array, device=self.matrix.device)


def accelerated(tiles: Tiles, tau: float, name: str, workers: Workers) -> Accelerated:
    """Return the similarity held on a device.

    Parameters
    ----------
    tiles : Tiles
        Of few outcomes: made on the device from its factors; of many: made here and sent.
    tau : float
        Per nat.
    name : str
        "torch", "torch:DEVICE" or "cupy".
    workers : Workers
        Threads.

    Raises
    ------
    BenchharmonyError
        When the library is not installed, or has no such device or not the memory.
    """
    library, _, device = name.partition(":")
    xp = _namespace(library)
    place = {"device": device} if device else {}
    dtype = tiles.similarity(slice(0, 1), slice(0, 1), tau).dtype
    try:
        matrix = _filled(tiles, tau, xp, dtype, place)
    except (RuntimeError, AssertionError, MemoryError) as error:  # what torch and cupy raise
        short = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        need = len(tiles) ** 2 * dtype.itemsize / 2**30
        raise BenchharmonyError(
            f"--engine {name}: {short} ({len(tiles):,} distinct items take {need:.2f} GiB there); "
            "use --engine auto"
        ) from None
    return Accelerated(matrix, xp, dtype, workers, name)


def _namespace(library: str) -> Any:
    try:
        return import_module(f"array_api_compat.{library}")
    except ImportError:
        raise BenchharmonyError(
            f"--engine {library} needs array-api-compat and {library}: "
            f"pip install array-api-compat {library}"
        ) from None


def _filled(tiles: Tiles, tau: float, xp: Any, dtype: np.dtype[Any], place: dict[str, str]) -> Any:
    n = len(tiles)
    matrix = xp.empty((n, n), dtype=getattr(xp, dtype.name), **place)
    few = isinstance(tiles, FewOutcomes)
    every = slice(0, n)
    if isinstance(tiles, FewOutcomes):
        left = xp.asarray(tiles.left(every) * dtype.type(-0.5 * tau), **place)
        right = xp.asarray(tiles.right(every), **place)
    for rows in blocks(n, _ROWS):
        if few:
            panel = xp.exp(left[rows, :] @ right.T)
        else:
            panel = xp.asarray(tiles.similarity(rows, every, tau), **place)
        held = rows.stop - rows.start
        diagonal = xp.eye(held, dtype=matrix.dtype, **place)
        panel[:, rows] = panel[:, rows] * (1 - diagonal)
        matrix[rows, :] = panel
    return matrix


def _here(array: Any) -> Floats:
    """Return a device's array as NumPy's."""
    if hasattr(array, "get"):  # cupy
        return np.asarray(array.get())
    return np.asarray(array.cpu())
