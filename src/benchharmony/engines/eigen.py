"""Largest eigenpairs of a symmetric operator by blocks, with a check of the residuals.

A Rayleigh-Ritz search in a space that grows by the residuals of a whole block at a time (block
Davidson without a preconditioner, Krylov in effect) and is cut back to its best vectors when it is
full: few passes over the matrix, each a product with many columns. Blocks find eigenvalues that
coincide, as those of a graph in parts do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Floats
from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]

#: Vectors sought beyond the wanted ones, which hastens the last of those.
_EXTRA = 7
#: Blocks kept before the space is cut back, and blocks it is cut back to.
_FULL, _KEPT = 7, 2
_ROUNDS = 60
#: Where they run out: up to this size the matrix is solved whole; above it, residuals of crowded
#: eigenvalues up to this norm are accepted (any basis of what they span serves k-means as well).
_WHOLE, _CROWDED = 4096, 1e-3
#: Largest norm of a residual, for eigenvalues of at most 1: float64 converges as ARPACK does;
#: float32 stops where rounding of the products begins.
TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


def largest(
    operator: Callable[[Floats], Floats],
    n: int,
    m: int,
    seed: int,
    dtype: np.dtype[Any],
    near: Floats | None = None,
) -> tuple[FloatArray, Floats]:
    """Return the m largest eigenvalues, descending, and orthonormal vectors, shape (n, m).

    Parameters
    ----------
    operator : callable
        Product of the symmetric (n, n) matrix with a block of columns.
    n, m : int
        Size of the matrix and number of pairs.
    seed : int
        Of the first block.
    dtype : dtype
        float32 or float64.
    near : ndarray, shape (n, j), optional
        Approximations of the vectors to begin with, j <= m. Random columns join them, and one
        round at least is done, so that a vector of which they hold nothing is found as well.

    Raises
    ------
    BenchharmonyError
        When they do not converge.
    """
    width = min(m + _EXTRA, n)
    start = np.random.default_rng(seed).standard_normal((n, width)).astype(dtype)
    if near is not None:
        start[:, : near.shape[1]] = near / np.linalg.norm(near, axis=0) * np.sqrt(n)
    basis = _qr(start)[0]
    image = operator(basis)
    for done in range(_ROUNDS):
        values, turn = _ritz(basis, image, width)
        vectors, moved = basis @ turn, image @ turn
        residual = moved - vectors * values.astype(dtype)
        size = np.linalg.norm(residual, axis=0)
        if size[:m].max() <= TOLERANCE[dtype] and (near is None or done):
            return values[:m], vectors[:, :m]
        if basis.shape[1] + width > min(_FULL * width, n):
            _, turn = _ritz(basis, image, _KEPT * width)
            basis, image = basis @ turn, image @ turn
        new = _orthogonal(residual[:, size > TOLERANCE[dtype] / 10], basis)
        if new.shape[1] == 0:  # the space holds all there is
            return values[:m], vectors[:, :m]
        basis = np.hstack([basis, new])
        image = np.hstack([image, operator(new)])
    # Few outcomes span few directions: beyond them the wanted eigenvalues crowd together.
    if n <= _WHOLE:
        return _whole(operator, n, m, dtype)
    if size[:m].max() <= _CROWDED:
        return values[:m], vectors[:, :m]
    raise BenchharmonyError(
        "the eigenvectors of the similarity did not converge; try a smaller --k-max or --tau"
    )


def _whole(
    operator: Callable[[Floats], Floats], n: int, m: int, dtype: np.dtype[Any]
) -> tuple[FloatArray, Floats]:
    """Solve the matrix written out: slower, and sure to end."""
    from scipy import linalg

    matrix = operator(np.eye(n, dtype=dtype)).astype(np.float64)
    values, vectors = linalg.eigh((matrix + matrix.T) / 2, subset_by_index=[n - m, n - 1])
    return values[::-1], vectors[:, ::-1].astype(dtype)


def _ritz(basis: Floats, image: Floats, width: int) -> tuple[FloatArray, Floats]:
    """Return the largest Ritz values, descending, and the turn of the basis to their vectors."""
    small = (basis.T @ image).astype(np.float64)
    values, turn = np.linalg.eigh((small + small.T) / 2)
    chosen = turn[:, ::-1][:, :width].astype(basis.dtype)
    return values[::-1][:width], chosen


def _orthogonal(block: Floats, basis: Floats) -> Floats:
    """Return an orthonormal basis of what a block adds to a basis."""
    block = block / np.linalg.norm(block, axis=0)
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        block = block - basis @ (basis.T @ block)
        block, triangle = _qr(block)
        keep = np.abs(np.diag(triangle)) > 100 * np.finfo(block.dtype).eps
        block = block[:, keep]
    return block


def _qr(block: Floats) -> tuple[Floats, Floats]:
    from scipy import linalg

    turned, triangle = linalg.qr(block, mode="economic", overwrite_a=True, check_finite=False)
    return turned, triangle
