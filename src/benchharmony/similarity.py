"""Jeffreys divergence J and predictive similarity S = exp(-tau/2 J), computed in tiles.

``J(i, j) = KL(p_i||p_j) + KL(p_j||p_i) = sum_t (p_i(t) - p_j(t)) (log p_i(t) - log p_j(t))``, in
nats ("The Flaw of Averages", arXiv 2509.25671, for S; Jeffreys 1946 for J).

Few outcomes: that sum as it stands. Many outcomes: matrix products, exact for top-K input. With
u the probability of one unlisted token, write ``p = u + d`` and ``log p = log u + e``, where d and
e are zero outside the listed tokens. Then ``sum_t p_i log p_j = log u_j + u_i sum(e_j) + d_i e_j``
and no vocabulary-sized row is ever made. Tokens that many items list are dense columns of d and e,
the others stay sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from benchharmony.errors import BenchharmonyError
from benchharmony.predictive import PADDING, Predictive

FloatArray = NDArray[np.float64]

#: Up to this many outcomes the direct sum is as fast as a product, and exact near zero.
_FEW_OUTCOMES = 64
_TILE = 512
#: Share of the items that must list a token for it to become a dense column.
_FREQUENT = 0.1
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
    factors = _factors(predictive)
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
    if not (tau > 0 and np.isfinite(tau)):
        raise BenchharmonyError(f"tau must be positive and finite, got {tau}")
    j *= -0.5 * tau
    return np.exp(j, out=j)


@dataclass(frozen=True)
class MedianTau:
    """The median rule's tau and, in words, what stood in its way (None when nothing did)."""

    value: float
    note: str | None


def median_tau(j: FloatArray) -> MedianTau:
    """Return ``tau = 2 / median(J)`` over pairs i < j, so that the median similarity is exp(-1).

    Where the median is 0 (most pairs are duplicates) or infinite, the median of the positive
    finite divergences stands in, with a note; 1.0 where there is none.
    """
    pairs = j[np.triu_indices(len(j), 1)]
    if len(pairs) == 0:
        return MedianTau(1.0, "tau: a single distinct item has no pairs; 1.0 was used")
    middle = float(np.median(pairs))
    if 0 < middle < np.inf:
        return MedianTau(2.0 / middle, None)
    usable = pairs[(pairs > 0) & np.isfinite(pairs)]
    why = "zero (most pairs are duplicates)" if middle == 0 else "infinite"
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


@dataclass(frozen=True)
class _Factors:
    """The parts of p and log p that products are made of (module docstring)."""

    dense_d: FloatArray
    dense_e: FloatArray
    sparse_d: Any
    sparse_e: Any
    u: FloatArray
    log_u: FloatArray
    sum_e: FloatArray
    mass: FloatArray
    own: FloatArray
    vocab_size: int
    #: (n, F) indicators of impossible and of possible outcomes, where some are impossible.
    impossible: NDArray[np.float32] | None = None
    possible: NDArray[np.float32] | None = None

    def cross(self, a: slice, b: slice) -> FloatArray:
        """Return ``sum_t p_i(t) log p_j(t)`` for i in a and j in b."""
        out: FloatArray = self.dense_d[a] @ self.dense_e[b].T
        if self.sparse_d is not None:
            out += (self.sparse_d[a] @ self.sparse_e[b].T).toarray()
        out += self.mass[a, None] * self.log_u[None, b]
        out += self.u[a, None] * self.sum_e[None, b]
        if self.possible is not None and self.impossible is not None:
            out[self.possible[a] @ self.impossible[b].T > 0] = -np.inf
        return out

    def pairs(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> FloatArray:
        """Return J of some pairs as the sum of non-negative terms, exact near zero."""
        du, dlog = self.u[i] - self.u[j], self.log_u[i] - self.log_u[j]
        x, y = self.dense_d[i] - self.dense_d[j], self.dense_e[i] - self.dense_e[j]
        total = (x * y).sum(axis=1) + du * y.sum(axis=1) + dlog * x.sum(axis=1)
        if self.sparse_d is not None:
            sx, sy = self.sparse_d[i] - self.sparse_d[j], self.sparse_e[i] - self.sparse_e[j]
            total += np.asarray(sx.multiply(sy).sum(axis=1)).ravel()
            total += du * np.asarray(sy.sum(axis=1)).ravel()
            total += dlog * np.asarray(sx.sum(axis=1)).ravel()
        value: FloatArray = np.maximum(total + self.vocab_size * du * dlog, 0.0)
        return value


def _mend_cancelled(j: FloatArray, factors: _Factors) -> None:
    rows, columns = np.nonzero(np.triu(j < _CANCELLED, 1))
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        i, k = rows[start : start + _PAIRS_AT_ONCE], columns[start : start + _PAIRS_AT_ONCE]
        j[i, k] = j[k, i] = factors.pairs(i, k)


def _factors(predictive: Predictive) -> _Factors:
    if predictive.token_ids is None:
        logs = predictive.logprobs.astype(np.float64)
        return _dense_factors(logs, np.ones(logs.shape[1]))
    listed = predictive.token_ids != PADDING
    impossible = listed & np.isneginf(predictive.logprobs)
    if impossible.any() or ((predictive.rest == 0) & (predictive.n_unlisted > 0)).any():
        return _dense_factors(*_over_listed_union(predictive))
    return _top_k_factors(predictive, listed)


def _dense_factors(logs: FloatArray, multiplicity: FloatArray) -> _Factors:
    """Return factors over explicit columns; column t stands for ``multiplicity[t]`` outcomes."""
    p = np.exp(logs) * multiplicity
    zero = np.isneginf(logs)
    e = np.where(zero, 0.0, logs) if zero.any() else logs
    n = len(logs)
    nothing = np.zeros(n)
    return _Factors(
        p, e, None, None, nothing, nothing, nothing, nothing, (p * e).sum(axis=1), 0,
        zero.astype(np.float32) if zero.any() else None,
        (~zero).astype(np.float32) if zero.any() else None,
    )  # fmt: skip


def _over_listed_union(predictive: Predictive) -> tuple[FloatArray, FloatArray]:
    """Return logs over every token that some item lists, and one column for all the others.

    Only for input with exact zeros, where the split into u, d and e has no finite log u.
    """
    ids = predictive.token_ids
    if ids is None:
        raise TypeError("top-K input is expected")
    log_u = _log_unlisted(predictive)
    tokens = np.unique(ids[ids != PADDING])
    others = predictive.vocab_size - len(tokens)
    logs = np.repeat(log_u[:, None], len(tokens) + (others > 0), axis=1)
    rows, columns = np.nonzero(ids != PADDING)
    logs[rows, np.searchsorted(tokens, ids[rows, columns])] = predictive.logprobs[rows, columns]
    return logs, np.r_[np.ones(len(tokens)), [others] * (others > 0)].astype(np.float64)


def _log_unlisted(predictive: Predictive) -> FloatArray:
    unlisted = np.maximum(predictive.n_unlisted, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(predictive.rest) - np.log(unlisted))


def _top_k_factors(predictive: Predictive, listed: NDArray[np.bool_]) -> _Factors:
    ids = predictive.token_ids
    if ids is None:
        raise TypeError("top-K input is expected")
    n = len(ids)
    # Rows that list the whole vocabulary have no unlisted token: any u does, 0 is simple.
    full = predictive.n_unlisted == 0
    log_u = np.where(full, 0.0, _log_unlisted(predictive))
    u = np.where(full, 0.0, np.exp(log_u))
    rows, columns = np.nonzero(listed)
    logs = predictive.logprobs[rows, columns].astype(np.float64)
    p = np.exp(logs)
    tokens, position, counts = np.unique(
        ids[rows, columns], return_inverse=True, return_counts=True
    )
    d, e = p - u[rows], logs - log_u[rows]
    frequent = counts >= max(_FREQUENT * n, 2)
    new_place = np.where(frequent, np.cumsum(frequent) - 1, np.cumsum(~frequent) - 1)[position]
    is_dense = frequent[position]
    shape = (n, int(frequent.sum()))
    dense_d, dense_e = np.zeros(shape), np.zeros(shape)
    dense_d[rows[is_dense], new_place[is_dense]] = d[is_dense]
    dense_e[rows[is_dense], new_place[is_dense]] = e[is_dense]
    rare = ~is_dense
    at = (rows[rare], new_place[rare])
    sparse_shape = (n, max(len(tokens) - shape[1], 1))
    mass = np.bincount(rows, p, minlength=n) + predictive.rest
    own = np.bincount(rows, p * logs, minlength=n) + predictive.rest * log_u
    sum_e = np.bincount(rows, e, minlength=n).astype(np.float64)
    return _Factors(
        dense_d, dense_e,
        sparse.csr_array((d[rare], at), shape=sparse_shape),
        sparse.csr_array((e[rare], at), shape=sparse_shape),
        u, log_u, sum_e, mass, own, predictive.vocab_size,
    )  # fmt: skip
