"""What an engine offers: products with the off-diagonal part of S, panel of rows by panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.workers import Workers

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.signedinteger[Any]]
T = TypeVar("T")


class Columns(Protocol):
    """A matrix of n rows that is read by slices of rows: an array, or made on the fly."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __getitem__(self, rows: slice, /) -> Floats: ...


class Kernel(Protocol):
    """Predictive similarity of n distinct items, without an item's likeness to itself.

    Attributes
    ----------
    engine : str
        "dense", "matrix-free" or "low-rank".
    error : float or None
        Estimated root mean square error of S over pairs; None where S is exact to rounding.
    dtype : numpy dtype
        Of the products, float32 or float64.
    workers : Workers
        Threads.
    """

    @property
    def engine(self) -> str: ...  # noqa: D102
    @property
    def error(self) -> float | None: ...  # noqa: D102
    @property
    def dtype(self) -> np.dtype[Any]: ...  # noqa: D102
    @property
    def workers(self) -> Workers: ...  # noqa: D102

    def __len__(self) -> int: ...

    def apply(self, right: Columns, use: Callable[[slice, Floats], T]) -> list[T]:
        """Return ``use(rows, (S @ right)[rows])`` for each panel of rows, in order."""
        ...

    def subset(self, rows: NDArray[np.int64]) -> Kernel:
        """Return the similarity of some of the items."""
        ...

    def eigenpairs(
        self, scale: Floats, shift: Floats, m: int, seed: int
    ) -> tuple[NDArray[np.float64], Floats]:
        """Return the m largest eigenvalues, descending, and vectors of ``scale S scale + shift``.

        ``scale`` and ``shift`` are diagonal, shape (n,).
        """
        ...


def product(kernel: Kernel, right: Columns) -> Floats:
    """Return S @ right, without the diagonal of S."""
    out = np.empty((len(kernel), right.shape[1]), dtype=kernel.dtype)

    def keep(rows: slice, panel: Floats) -> None:
        out[rows] = panel

    kernel.apply(right, keep)
    return out


@dataclass(frozen=True, eq=False)
class Members:
    """Stacked one-hot labels times the number of items of each row, made block by block."""

    labels: list[Labels]
    sizes: list[int]
    counts: NDArray[Any]
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.counts), sum(self.sizes)

    def __getitem__(self, rows: slice) -> Floats:
        weights = self.counts[rows]
        out = np.zeros((len(weights), self.shape[1]), dtype=self.dtype)
        flat = out.reshape(-1)
        row_start = np.arange(len(weights)) * self.shape[1]
        offset = 0
        for labels, size in zip(self.labels, self.sizes, strict=True):
            flat[row_start + offset + labels[rows]] = weights
            offset += size
        return out
