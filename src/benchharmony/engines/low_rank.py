"""The low-rank engine: S from landmark items, every product in O(n r), nothing n by n.

Nystrom's approximation (Williams, Seeger 2001) with an indefinite core: ``exp(-tau/2 J)`` is not
positive definite, so the core keeps the signs of its eigenvalues, ``S = F diag(sign) F'``.
The error is estimated on pairs of other items, and :func:`low_rank` refuses where it is too large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Columns, Floats
from benchharmony.engines.landmarks import evenly, landmarks
from benchharmony.engines.tiles import Tiles
from benchharmony.engines.workers import Workers, blocks

FloatArray = NDArray[np.float64]
T = TypeVar("T")

#: Eigenvalues of the core under a share of the largest are left out: this share in float32, in
#: float64 the one of these that leaves the smallest error.
_CUT, _CUTS = 1e-5, tuple(10.0**-i for i in range(3, 13))
#: Directions of the factors under this share of the largest are rounding.
_SPAN = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
#: Up to this many items float64 factors of all directions that help cost a second and 150 MB.
#: Eigenvectors are then exact to more digits than those of S in float32.
PRECISE_ITEMS = 1 << 15
#: Largest rank, and largest error of S over pairs relative to the spread of S, that are accepted.
MOST_RANK, TOLERATED = 256, 0.01
#: Items on whose pairs the error is estimated, and others on whose pairs the cut is chosen.
_PROBES, _TRIED = 768, 384
_BUILD, _PANEL = 1024, 2048


class NotLowRankError(Exception):
    """The similarity is not low-rank enough; the message says what was found."""


@dataclass(frozen=True, eq=False)
class LowRank:
    """Similarity as a product of factors (:class:`benchharmony.engines.kernel.Kernel`).

    Attributes
    ----------
    factors : ndarray, shape (n, r)
        F, float64 or float32.
    signs : ndarray, shape (r,)
        Of the core's eigenvalues.
    own : ndarray, shape (n,)
        The approximated diagonal, which products leave out.
    """

    factors: Floats
    signs: Floats
    own: Floats
    workers: Workers
    error: float | None
    engine: str = "low-rank"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return self.factors.dtype

    def __len__(self) -> int:
        return len(self.factors)

    def apply(self, right: Columns, use: Callable[[slice, Floats], T]) -> list[T]:
        """Return ``use(rows, (S @ right)[rows])`` for each panel of rows, in order."""
        core = self._sum(lambda rows: self.factors[rows].T @ right[rows])
        core = (self.signs[:, None] * core).astype(self.dtype)

        def panel(rows: slice) -> T:
            out = self.factors[rows] @ core
            out -= self.own[rows, None] * right[rows]
            return use(rows, out)

        return self.workers.run(panel, blocks(len(self), _PANEL))

    def subset(self, rows: NDArray[np.int64]) -> LowRank:
        """Return the similarity of some of the items."""
        return LowRank(self.factors[rows], self.signs, self.own[rows], self.workers, self.error)

    def eigenpairs(
        self, scale: Floats, shift: Floats, m: int, seed: int
    ) -> tuple[FloatArray, Floats]:
        """Return the m largest eigenpairs of ``scale S scale + shift``, fewer where r is less.

        Rayleigh-Ritz in the span of the scaled factors, G sign G' + D. An eigenvector is
        ``(value - D)^-1 G sign G' vector``, which brings in the diagonal D that the span lacks.
        """
        rest = (shift - scale**2 * self.own).astype(self.dtype)[:, None]
        scale = scale.astype(self.dtype)[:, None]

        def scaled(rows: slice) -> Floats:
            out: Floats = scale[rows] * self.factors[rows]
            return out

        gram = self._sum(lambda rows: _gram(scaled(rows), np.ones((1, 1), dtype=self.dtype)))
        diagonal = self._sum(lambda rows: _gram(scaled(rows), rest[rows]))
        signs = self.signs.astype(np.float64)
        values, turn = _ritz(gram, signs, diagonal, m, _SPAN[self.dtype])
        plain = turn.astype(self.dtype)
        through = (self.signs[:, None] * (gram @ turn)).astype(self.dtype)
        out = np.empty((len(self), len(values)), dtype=self.dtype)

        def fill(rows: slice) -> None:
            some, gap = scaled(rows), values.astype(self.dtype) - rest[rows]
            near = np.abs(rest[rows]) > np.abs(values) / 2
            out[rows] = np.divide(some @ through, gap, where=~near, out=np.zeros_like(gap))
            if near.any():
                out[rows][near] = (some @ plain)[near]

        self.workers.run(fill, blocks(len(self), _PANEL))
        return values, out

    def _sum(self, of: Callable[[slice], Floats]) -> FloatArray:
        total: Any = 0.0
        for part in self.workers.each(of, blocks(len(self), _PANEL)):
            total = total + part.astype(np.float64)
        return np.asarray(total)


def low_rank(
    tiles: Tiles,
    tau: float,
    *,
    seed: int,
    workers: Workers,
    most_rank: int = MOST_RANK,
    precise: Callable[[], Tiles] | None = None,
) -> LowRank:
    """Return the similarity through landmarks.

    Parameters
    ----------
    tiles : Tiles
    tau : float
    seed : int
        Of the landmarks.
    workers : Workers
    most_rank : int
        Of the first check, and of the factors where ``precise`` is not given.
    precise : callable, optional
        Returns the tiles in float64; the factors are then float64 and of every direction of the
        landmarks that helps.

    Raises
    ------
    NotLowRankError
        When the rank or the estimated error is too large.
    """
    even = evenly(len(tiles))
    factored(tiles.similarity(even, even, tau), _CUT, most_rank)  # refuses before the work
    places = landmarks(tiles, tau, seed, workers)
    if precise is not None:
        tiles, most_rank = precise(), len(places)
    dtype = tiles.dtype
    is_fine = dtype == np.float64
    cut = _CUTS[-1] if is_fine else _CUT
    found = factored(tiles.similarity(places, places, tau), cut, most_rank)
    kept = _helpful(tiles, tau, places, *found) if is_fine else slice(None)
    project, signs = (x[..., kept].astype(dtype) for x in found)
    n, rank = len(tiles), len(signs)
    factors = np.empty((n, rank), dtype=dtype)
    own = np.empty(n, dtype=dtype)

    def build(rows: slice) -> None:
        part = tiles.similarity(rows, places, tau).astype(dtype, copy=False) @ project
        factors[rows] = part
        own[rows] = np.square(part) @ signs

    workers.run(build, blocks(n, _BUILD))
    error, relative = _error(tiles, tau, factors, signs)
    if not relative <= TOLERATED:
        raise NotLowRankError(
            f"the error of S over pairs would be {min(relative, 9.99):.1%} of its spread, more "
            f"than {TOLERATED:.0%}, with {rank} factors of {len(places)} landmark items"
        )
    return LowRank(factors, signs, own, workers, error)


def factored(core: Floats, cut: float, most_rank: int) -> tuple[FloatArray, FloatArray]:
    """Return what turns similarities to landmarks into factors, and the signs of the factors.

    Parameters
    ----------
    core : ndarray, shape (l, l)
        S of the landmarks, ones on the diagonal.
    cut : float
        Eigenvalues under this share of the largest are left out.
    most_rank : int
        Of them at most so many are kept.

    Raises
    ------
    NotLowRankError
        When those miss too much.
    """
    whole = core.astype(np.float64)
    values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    size = np.abs(values)
    kept = np.flatnonzero(size > cut * size.max())
    if len(kept) > most_rank:
        kept = np.sort(np.argsort(size)[-most_rank:])
        left_out = 1 - np.square(size[kept]).sum() / np.square(size).sum()
        if left_out > TOLERATED**2:
            raise NotLowRankError(
                f"its {most_rank} largest directions miss {np.sqrt(left_out):.1%} of the size of S"
            )
    project = vectors[:, kept] / np.sqrt(size[kept])
    return project, np.sign(values[kept])


def _helpful(
    tiles: Tiles, tau: float, places: NDArray[np.int64], project: FloatArray, signs: FloatArray
) -> NDArray[np.bool_]:
    """Return which directions to keep, shape (r,).

    S is not positive definite, so small eigenvalues of the core magnify what the landmarks do not
    span: of few outcomes every direction helps, of many the small ones harm.
    """
    size = 1 / np.square(project).sum(axis=0)
    probes = _probes(len(tiles), _TRIED, 2)
    missing = tiles.similarity(probes, probes, tau).astype(np.float64)
    missing[np.equal.outer(probes, probes)] = 1
    factors = tiles.similarity(probes, places, tau).astype(np.float64) @ project
    errors, done = [], np.inf
    cuts = [cut * size.max() for cut in _CUTS]
    for cut in cuts:
        some = (size > cut) & (size <= done)
        missing -= (factors[:, some] * signs[some]) @ factors[:, some].T
        errors.append(float(np.square(missing).sum()))
        done = cut
    kept: NDArray[np.bool_] = size > cuts[int(np.argmin(errors))]
    return kept


def _probes(n: int, most: int, shift: int) -> NDArray[np.int64]:
    """Return items at even steps; with another shift others, where there are enough."""
    return (np.arange(min(n, most)) * n // min(n, most) + shift) % n


def _error(tiles: Tiles, tau: float, factors: Floats, signs: Floats) -> tuple[float, float]:
    """Return the root mean square error of S over pairs, also relative to the SD of S."""
    probes = _probes(len(tiles), _PROBES, 1)
    exact = tiles.similarity(probes, probes, tau).astype(np.float64)
    found = (factors[probes] * signs) @ factors[probes].T
    off = np.not_equal.outer(probes, probes)
    spread = float(exact[off].std())
    error = float(np.sqrt(np.mean(np.square(found[off] - exact[off]))))
    return error, error / max(spread, 1e-300)


def _ritz(
    gram: FloatArray, signs: FloatArray, diagonal: FloatArray, m: int, cut: float
) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, descending, of G sign G' + D within the span of G, and turns of G."""
    sizes, turn = np.linalg.eigh(gram)
    kept = sizes > cut * sizes[-1]
    turn = turn[:, kept] / np.sqrt(sizes[kept])
    small = turn.T @ (gram * signs @ gram + diagonal) @ turn
    values, vectors = np.linalg.eigh((small + small.T) / 2)
    return values[::-1][:m], turn @ vectors[:, ::-1][:, :m]


def _gram(block: Floats, weights: Floats) -> Floats:
    out: Floats = block.T @ (block * weights)
    return out
