"""The parts of p and log p that divergences are products of, for vocabularies of any size.

Exact for top-K input: with u the probability of one unlisted token, write ``p = u + d`` and
``log p = log u + e``, where d and e are zero outside the listed tokens. Then
``sum_t p_i log p_j = log u_j + u_i sum(e_j) + d_i e_j`` and no vocabulary-sized row is ever made.
Tokens that many items list are dense columns of d and e, the others stay sparse, and a token that
a single item lists joins no product of two items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.predictive import PADDING, Predictive

FloatArray = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Rows = slice | NDArray[np.int64]

#: Share of the items that must list a token for it to become a dense column.
FREQUENT = 0.1


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors of n items (module docstring); vectors have shape (n,)."""

    dense_d: Floats
    dense_e: Floats
    sparse_d: Any
    sparse_e: Any
    u: Floats
    log_u: Floats
    sum_e: Floats
    mass: Floats
    own: Floats
    vocab_size: int
    #: (n, F) indicators of impossible and of possible outcomes, where some are impossible.
    impossible: NDArray[np.float32] | None = None
    possible: NDArray[np.float32] | None = None

    def cross(self, a: Rows, b: Rows) -> Floats:
        """Return ``sum_t p_i(t) log p_j(t)`` for i in a and j in b."""
        out: Floats = self.dense_d[a] @ self.dense_e[b].T
        if self.sparse_d is not None:
            out += (self.sparse_d[a] @ self.sparse_e[b].T).toarray()
        out += self.mass[a, None] * self.log_u[None, b]
        out += self.u[a, None] * self.sum_e[None, b]
        if self.possible is not None and self.impossible is not None:
            out[self.possible[a] @ self.impossible[b].T > 0] = -np.inf
        return out

    def pairs(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
        """Return J of some pairs as the sum of non-negative terms, exact near zero."""
        du, dlog = self.u[i] - self.u[j], self.log_u[i] - self.log_u[j]
        x, y = self.dense_d[i] - self.dense_d[j], self.dense_e[i] - self.dense_e[j]
        total = (x * y).sum(axis=1) + du * y.sum(axis=1) + dlog * x.sum(axis=1)
        if self.sparse_d is not None:
            sx, sy = self.sparse_d[i] - self.sparse_d[j], self.sparse_e[i] - self.sparse_e[j]
            total += np.asarray(sx.multiply(sy).sum(axis=1)).ravel()
            total += du * np.asarray(sy.sum(axis=1)).ravel()
            total += dlog * np.asarray(sx.sum(axis=1)).ravel()
        value: Floats = np.maximum(total + self.vocab_size * du * dlog, 0.0)
        return value

    def take(self, rows: NDArray[np.int64]) -> Factors:
        """Return the factors of some of the items."""
        some = {
            name: value if value is None or name == "vocab_size" else value[rows]
            for name, value in vars(self).items()
        }
        return Factors(**some)


def pair_factors(
    predictive: Predictive, dtype: np.dtype[Any] | type = np.float64, *, products_only: bool = False
) -> Factors:
    """Return the factors of some distributions.

    Parameters
    ----------
    predictive : Predictive
        Of n items.
    dtype : dtype
        Of the factors and so of the products.
    products_only : bool
        Leave out what products of different items do not need; :meth:`Factors.pairs` is then wrong.
    """
    if predictive.token_ids is None:
        logs = predictive.logprobs.astype(np.float64)
        return _dense_factors(logs, np.ones(logs.shape[1]), dtype)
    listed = predictive.token_ids != PADDING
    impossible = listed & np.isneginf(predictive.logprobs)
    if impossible.any() or ((predictive.rest == 0) & (predictive.n_unlisted > 0)).any():
        return _dense_factors(*_over_listed_union(predictive), dtype)
    return _top_k_factors(predictive, listed, dtype, 2 if products_only else 1)


def _dense_factors(
    logs: FloatArray, multiplicity: FloatArray, dtype: np.dtype[Any] | type
) -> Factors:
    """Return factors over explicit columns; column t stands for ``multiplicity[t]`` outcomes."""
    p = np.exp(logs) * multiplicity
    zero = np.isneginf(logs)
    e = np.where(zero, 0.0, logs) if zero.any() else logs
    own = (p * e).sum(axis=1).astype(dtype)
    nothing = np.zeros(len(logs), dtype=dtype)
    return Factors(
        p.astype(dtype), e.astype(dtype), None, None, nothing, nothing, nothing, nothing, own, 0,
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


def _top_k_factors(
    predictive: Predictive, listed: NDArray[np.bool_], dtype: np.dtype[Any] | type, fewest: int
) -> Factors:
    """Return factors of top-K input; tokens that fewer than ``fewest`` items list are left out."""
    if predictive.token_ids is None:
        raise TypeError("top-K input is expected")
    n = len(listed)
    # Rows that list the whole vocabulary have no unlisted token: any u does, 0 is simple.
    full = predictive.n_unlisted == 0
    log_u = np.where(full, 0.0, _log_unlisted(predictive))
    u = np.where(full, 0.0, np.exp(log_u))
    rows = np.repeat(np.arange(n), listed.sum(axis=1))
    logs = predictive.logprobs[listed].astype(np.float64)
    p = np.exp(logs)
    d, e = p - u[rows], logs - log_u[rows]
    mass = np.bincount(rows, p, minlength=n) + predictive.rest
    own = np.bincount(rows, p * logs, minlength=n) + predictive.rest * log_u
    sum_e = np.bincount(rows, e, minlength=n)
    token = predictive.token_ids[listed]
    counts = np.bincount(token, minlength=predictive.vocab_size)
    columns = _split(n, rows, token, counts, d.astype(dtype), e.astype(dtype), fewest)
    return Factors(
        *columns, u.astype(dtype), log_u.astype(dtype), sum_e.astype(dtype), mass.astype(dtype),
        own.astype(dtype), predictive.vocab_size,
    )  # fmt: skip


def _split(
    n: int,
    rows: NDArray[np.int64],
    token: NDArray[np.int64],
    counts: NDArray[np.int64],
    d: Floats,
    e: Floats,
    fewest: int,
) -> tuple[Floats, Floats, Any, Any]:
    """Return d and e of frequent tokens as dense arrays and of the others as sparse ones."""
    frequent = counts >= max(FREQUENT * n, 2)
    rare = ~frequent & (counts >= fewest)
    place = np.where(frequent, np.cumsum(frequent), np.cumsum(rare)) - 1
    shape = (n, int(frequent.sum()))
    dense_d, dense_e = np.zeros(shape, dtype=d.dtype), np.zeros(shape, dtype=d.dtype)
    here = frequent[token]
    at = (rows[here], place[token[here]])
    dense_d[at], dense_e[at] = d[here], e[here]
    here = rare[token]
    if not here.any():
        return dense_d, dense_e, None, None
    from scipy import sparse

    at = (rows[here].astype(np.int32), place[token[here]].astype(np.int32))
    shape = (n, int(rare.sum()))
    return (
        dense_d,
        dense_e,
        sparse.csr_array((d[here], at), shape=shape),
        sparse.csr_array((e[here], at), shape=shape),
    )
