"""Divergences besides Jeffreys' J, of every pair of items: exact for the top tokens and a rest.

Sums of the form ``sum_t f(p_i(t)) g(p_j(t))`` (forward KL, Hellinger) go through dense blocks of
the columns that any item lists; what no item lists has one probability per item and is a closed
term. Jensen-Shannon has no such form and is summed pair by pair over the tokens that the two
items list. Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.predictive import PADDING, Predictive

FloatArray = NDArray[np.float64]

_COLUMNS = 4096
_TINY = np.finfo(np.float64).tiny
#: Tokens of a distribution above which it is cut before Jensen-Shannon, whose cost is n^2 K.
MOST_TOKENS = 1024


def forward_kl(view: Predictive) -> FloatArray:
    """Return ``KL(p_i || p_j)``, shape (n, n), not symmetric; infinite where p_j lacks support."""
    rows = _rows(view)
    n = len(view)
    own, cross = np.zeros(n), np.zeros((n, n))
    lacking = np.zeros((n, n))
    for p, times in _blocks(rows):
        with np.errstate(divide="ignore"):
            logs = np.log(p)
        missing = np.isneginf(logs)
        logs[missing] = 0.0
        own += times * (p * logs).sum(axis=1)
        cross += times * (p @ logs.T)
        if missing.any():
            lacking += p @ missing.T
    out = own[:, None] - cross
    np.maximum(out, 0.0, out=out)
    out[lacking > 0] = np.inf
    np.fill_diagonal(out, 0.0)
    return out


def hellinger(view: Predictive) -> FloatArray:
    """Return the squared Hellinger distance ``1 - sum_t sqrt(p_i p_j)``, shape (n, n), in [0, 1].

    It is symmetric.
    """
    affinity = np.zeros((len(view), len(view)))
    for p, times in _blocks(_rows(view)):
        root = np.sqrt(p)
        affinity += times * (root @ root.T)
    out: FloatArray = np.clip(1.0 - affinity, 0.0, 1.0)
    np.fill_diagonal(out, 0.0)
    return out


def jensen_shannon(view: Predictive) -> FloatArray:
    """Return the Jensen-Shannon divergence of every pair, shape (n, n), in [0, log 2].

    ``entropy((p_i + p_j) / 2) - (entropy(p_i) + entropy(p_j)) / 2`` (Lin 1991). Work is n^2 K;
    wide distributions can be cut with :func:`truncated` first.
    """
    rows = _rows(view)
    n = len(view)
    own = np.array([_own_entropy(rows, i) for i in range(n)])
    out = np.zeros((n, n))
    for i in range(n - 1):
        out[i, i + 1 :] = _mixed_entropies(rows, i) - (own[i] + own[i + 1 :]) / 2
    out += out.T
    return np.clip(out, 0.0, np.log(2.0))


def truncated(view: Predictive, most: int = MOST_TOKENS) -> Predictive:
    """Return the ``most`` likeliest tokens of each item and the rest of the mass.

    Returned as it is when it has no more.
    """
    if view.logprobs.shape[1] <= most:
        return view
    place = np.argpartition(-view.logprobs, most - 1, axis=1)[:, :most]
    logs = np.take_along_axis(view.logprobs, place, axis=1)
    ids = place if view.token_ids is None else np.take_along_axis(view.token_ids, place, axis=1)
    rest = np.clip(1.0 - np.exp(logs.astype(np.float64)).sum(axis=1), 0.0, 1.0)
    return Predictive.top_k(ids, logs, rest, view.vocab_size)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Distributions as listed tokens and the probability ``u`` of one unlisted token."""

    ids: NDArray[np.int64]
    p: FloatArray
    u: FloatArray
    vocab_size: int


def _rows(view: Predictive) -> _Rows:
    p = np.exp(view.logprobs.astype(np.float64))
    unlisted = view.n_unlisted
    u = np.divide(view.rest, unlisted, out=np.zeros(len(view)), where=unlisted > 0)
    if view.token_ids is None:
        ids = np.broadcast_to(np.arange(view.vocab_size), p.shape)
        return _Rows(ids, p, u, view.vocab_size)
    return _Rows(view.token_ids, p, u, view.vocab_size)


def _blocks(rows: _Rows) -> Iterator[tuple[FloatArray, int]]:
    """Yield probabilities of blocks of tokens and how many times each column counts.

    The last block is the one column that stands for all tokens that no item lists.
    """
    n = len(rows.u)
    listed = np.unique(rows.ids)
    listed = listed[listed != PADDING]
    # Column-sorted entries, so that each block is one slice.
    row_of = np.repeat(np.arange(n), rows.ids.shape[1])
    flat, values = rows.ids.ravel(), rows.p.ravel()
    order = np.argsort(flat, kind="stable")
    flat, values, row_of = flat[order], values[order], row_of[order]
    place = np.searchsorted(listed, flat)
    for start in range(0, len(listed), _COLUMNS):
        tokens = listed[start : start + _COLUMNS]
        low, high = np.searchsorted(flat, [tokens[0], tokens[-1] + 1])
        block = np.repeat(rows.u[:, None], len(tokens), axis=1)
        block[row_of[low:high], place[low:high] - start] = values[low:high]
        yield block, 1
    if len(listed) < rows.vocab_size:
        yield rows.u[:, None].copy(), rows.vocab_size - len(listed)


def _surprise(p: FloatArray) -> FloatArray:
    # Faster than scipy's xlogy by far; below the smallest normal number the term is 0 anyway.
    value: FloatArray = -p * np.log(np.maximum(p, _TINY))
    return value


def _own_entropy(rows: _Rows, i: int) -> float:
    there = rows.ids[i] != PADDING
    rest = (rows.vocab_size - int(there.sum())) * _surprise(rows.u[i : i + 1])[0]
    return float(_surprise(rows.p[i][there]).sum() + rest)


def _mixed_entropies(rows: _Rows, i: int) -> FloatArray:
    """Return the entropy of the mixture of item i with every later item."""
    mine = rows.ids[i][rows.ids[i] != PADDING]
    whole = np.full(rows.vocab_size + 1, rows.u[i])  # the last place takes padding
    whole[mine] = rows.p[i][rows.ids[i] != PADDING]
    is_mine = np.zeros(rows.vocab_size + 1, dtype=bool)
    is_mine[mine] = True
    later = slice(i + 1, None)
    ids, p, u = rows.ids[later], rows.p[later], rows.u[later]
    real = ids != PADDING
    x = whole[ids]
    theirs = (_surprise((x + p) / 2) * real).sum(axis=1)
    # Tokens that only i lists: all of i's, less those that both list.
    all_mine = _surprise((whole[mine][None, :] + u[:, None]) / 2).sum(axis=1)
    shared = is_mine[ids] & real
    both = np.where(shared, _surprise((x + u[:, None]) / 2), 0.0).sum(axis=1)
    union = len(mine) + real.sum(axis=1) - shared.sum(axis=1)
    nobody = (rows.vocab_size - union) * _surprise((rows.u[i] + u) / 2)
    total: FloatArray = theirs + all_mine - both + nobody
    return total


DIVERGENCES: dict[str, Callable[[Predictive], FloatArray]] = {
    "forward KL": forward_kl,
    "Hellinger": hellinger,
    "Jensen-Shannon": jensen_shannon,
}


def similarity_from(divergence: FloatArray) -> FloatArray:
    """Return ``exp(-D / median D)``: the median rule, the same for every divergence.

    The median is over pairs of different items with a positive, finite divergence. For J this is
    :func:`benchharmony.similarity.similarity_of` with the median rule's tau.
    """
    off = divergence[~np.eye(len(divergence), dtype=bool)]
    usable = off[(off > 0) & np.isfinite(off)]
    if len(usable) == 0:
        raise BenchharmonyError("no two items differ, so no similarity can be scaled")
    return np.exp(-divergence / np.median(usable))
