"""An order of the items that depends on what they hold alone, and which of them are duplicates.

Rows are hashed column by column, so that millions take seconds, and sorted by hash: an order that
is random to the eye but the same for any order of the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.workers import blocks
from benchharmony.predictive import Predictive

_Hash = NDArray[np.uint64]

# Odd constants of 64-bit mixing functions (splitmix64: Steele, Lea, Flood 2014).
_STEP, _MIX_1, _MIX_2 = (
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class Canonical:
    """The distinct distributions of n items.

    Attributes
    ----------
    first : ndarray of int64, shape (d,)
        One item for each distinct distribution, in canonical order.
    content : ndarray of int64, shape (n,)
        For each item, in the order of the input, which distinct distribution it has.
    counts : ndarray of int64, shape (d,)
        Items of each distinct distribution.
    """

    first: NDArray[np.int64]
    content: NDArray[np.int64]
    counts: NDArray[np.int64]


def canonical(view: Predictive) -> Canonical:
    """Return the distinct rows, ordered by content."""
    hashes = np.concatenate([_hash_rows(view, rows) for rows in blocks(len(view), _ROWS)])
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.r_[True, ordered[1:] != ordered[:-1]]
    repeats = np.flatnonzero(~new)
    if len(repeats) and not _equal(view, order[repeats], order[repeats - 1]).all():
        order, new = _by_bytes(view)
    number = np.cumsum(new) - 1
    content = np.empty(len(view), dtype=np.int64)
    content[order] = number
    return Canonical(order[new], content, np.bincount(number))


def _hash_rows(view: Predictive, rows: slice) -> _Hash:
    with np.errstate(over="ignore"):
        out = np.zeros(rows.stop - rows.start, dtype=np.uint64)
        parts: list[NDArray[Any]] = [view.logprobs[rows] + 0.0]  # -0.0 and 0.0 are one number
        if view.token_ids is not None:
            parts += [view.token_ids[rows], view.rest[rows, None]]
        for part in parts:
            bits = part.view(np.uint32 if part.dtype.itemsize == 4 else np.uint64)
            for column in np.ascontiguousarray(bits.T):
                out += column + _STEP
                out ^= out >> np.uint64(30)
                out *= _MIX_1
                out ^= out >> np.uint64(27)
                out *= _MIX_2
    out ^= out >> np.uint64(31)
    return out


def _equal(view: Predictive, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
    out = np.empty(len(a), dtype=bool)
    for part in blocks(len(a), _ROWS):
        i, j = a[part], b[part]
        same = (view.logprobs[i] == view.logprobs[j]).all(axis=1)
        if view.token_ids is not None:
            same &= (view.token_ids[i] == view.token_ids[j]).all(axis=1)
            same &= view.rest[i] == view.rest[j]
        out[part] = same
    return out


def _by_bytes(view: Predictive) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the order and the beginnings of distinct rows, exactly; for two rows of one hash."""
    parts: list[NDArray[Any]] = [view.logprobs + 0.0]
    if view.token_ids is not None:
        parts += [view.token_ids, view.rest[:, None]]
    keys = [b"".join(part[i].tobytes() for part in parts) for i in range(len(view))]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    new = [True, *(keys[a] != keys[b] for a, b in zip(order[1:], order, strict=False))]
    return np.array(order, dtype=np.int64), np.array(new)
