"""Jeffreys divergence J and predictive similarity S = exp(-tau/2 J), computed in tiles.

``J(i, j) = KL(p_i||p_j) + KL(p_j||p_i) = sum_t (p_i(t) - p_j(t)) (log p_i(t) - log p_j(t))``, in
nats ("The Flaw of Averages", arXiv 2509.25671, for S; Jeffreys 1946 for J).

Few outcomes: that sum as it stands. Many outcomes: matrix products of factors that are exact for
top-K input (:mod:`benchharmony.factors`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.factors import Factors, pair_factors
from benchharmony.predictive import Predictive

FloatArray = NDArray[np.float64]

#: A divergence, in nats, that is no more than the rounding of products.
ROUNDING = 1e-13
#: Up to this many outcomes the direct sum is as fast as a product, and exact near zero.
_FEW_OUTCOMES = 64
_TILE = 512
#: Below this J, the product form has lost digits to cancellation: such pairs are summed directly.
_CANCELLED = 1e-5
_PAIRS_AT_ONCE = 1024


def jeffreys(p: ArrayLike | Predictive) -> FloatArray:
    """Return the Jeffreys divergence of every pair.

    Parameters
    ----------
    p : array_like, shape (n, v), or Predictive
        Rows summing to 1.

    Returns
    -------
    ndarray, shape (n, n)
        Nats, symmetric, zero diagonal; infinite where one item gives probability 0 to an outcome
        that is possible for the other. Nothing is clipped.
    """
    predictive = p if isinstance(p, Predictive) else Predictive.dense(p)
    n = len(predictive)
    if predictive.is_dense and predictive.vocab_size <= _FEW_OUTCOMES:
        return _direct(predictive)
    factors = pair_factors(predictive)
    j = np.empty((n, n))
    for a, b in _upper_tiles(n):
        one_way = factors.cross(a, b)
        other_way = one_way if a == b else factors.cross(b, a)
        tile = factors.own[a, None] + factors.own[None, b] - (one_way + other_way.T)
        np.maximum(tile, 0.0, out=tile)
        j[a, b] = tile
        j[b, a] = tile.T
    np.fill_diagonal(j, 0.0)
    _mend_cancelled(j, factors)
    return j


def predictive_similarity(p: ArrayLike | Predictive, *, tau: float) -> FloatArray:
    """Return ``exp(-tau/2 J)`` of every pair, shape (n, n), in [0, 1] with ones on the diagonal.

    Parameters
    ----------
    p : array_like, shape (n, v), or Predictive
        Rows summing to 1.
    tau : float
        Positive, per nat. :func:`median_tau` gives the default rule.
    """
    return similarity_of(jeffreys(p), tau)


def similarity_of(j: FloatArray, tau: float) -> FloatArray:
    """Return ``exp(-tau/2 J)`` for a matrix of divergences, in place of it."""
    if isinstance(tau, str) or not (tau > 0 and np.isfinite(tau)):
        raise BenchharmonyError(
            f"tau must be a positive, finite number, got {tau!r}; median_tau gives the default rule"
        )
    j *= -0.5 * tau
    return np.exp(j, out=j)


@dataclass(frozen=True)
class MedianTau:
    """The median rule's tau and, in words, what stood in its way (None when nothing did)."""

    value: float
    note: str | None


def median_tau(j: FloatArray) -> MedianTau:
    """Return ``tau = 2 / median(J)`` over pairs i < j, so that the median similarity is exp(-1).

    Where the median is 0 to rounding (most pairs are duplicates) or infinite, the median of the
    positive finite divergences stands in, with a note; 1.0 where there is none.
    """
    pairs = j[np.triu_indices(len(j), 1)]
    if len(pairs) == 0:
        return MedianTau(1.0, "tau: a single distinct item has no pairs; 1.0 was used")
    return tau_from(float(np.median(pairs)), pairs)


def tau_from(middle: float, pairs: FloatArray) -> MedianTau:
    """Return the rule's tau for a median of J; ``pairs`` stand in where it is 0 or infinite."""
    if ROUNDING < middle < np.inf:
        return MedianTau(2.0 / middle, None)
    usable = pairs[(pairs > ROUNDING) & np.isfinite(pairs)]
    why = "zero (most pairs are duplicates)" if middle <= ROUNDING else "infinite"
    if len(usable) == 0:
        return MedianTau(1.0, f"tau: the median divergence is {why}; 1.0 was used")
    return MedianTau(
        2.0 / float(np.median(usable)),
        f"tau: the median divergence is {why}; the median of the others was used",
    )


def _upper_tiles(n: int) -> Iterator[tuple[slice, slice]]:
    starts = range(0, n, _TILE)
    for i in starts:
        for j in starts:
            if j >= i:
                yield slice(i, min(i + _TILE, n)), slice(j, min(j + _TILE, n))


def _direct(predictive: Predictive) -> FloatArray:
    logs = predictive.logprobs.astype(np.float64)
    p = np.exp(logs)
    zeros = not np.isfinite(logs).all()
    n = len(p)
    j = np.empty((n, n))
    for a, b in _upper_tiles(n):
        tile = np.zeros((a.stop - a.start, b.stop - b.start))
        for t in range(p.shape[1]):
            tile += _outcome(
                p[a, t, None], p[None, b, t], logs[a, t, None], logs[None, b, t], zeros
            )
        j[a, b] = tile
        j[b, a] = tile.T
    return j


def _outcome(
    p: FloatArray, q: FloatArray, log_p: FloatArray, log_q: FloatArray, zeros: bool
) -> FloatArray:
    """Return ``(p - q)(log p - log q)``, 0 where both are 0 and infinite where one is."""
    if not zeros:
        return (p - q) * (log_p - log_q)
    with np.errstate(invalid="ignore"):
        term = (p - q) * (log_p - log_q)
    return np.where((p == 0) & (q == 0), 0.0, term)


def _mend_cancelled(j: FloatArray, factors: Factors) -> None:
    rows, columns = np.nonzero(np.triu(j < _CANCELLED, 1))
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        i, k = rows[start : start + _PAIRS_AT_ONCE], columns[start : start + _PAIRS_AT_ONCE]
        j[i, k] = j[k, i] = factors.pairs(i, k)
