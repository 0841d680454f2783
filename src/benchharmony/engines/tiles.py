"""Blocks of J and of S between any rows, in the precision that their error allows.

Few outcomes: ``J(i, j) = own_i + own_j - p_i log p_j - log p_i p_j`` is one short product of
factors that are made from the rows when they are needed. Many outcomes and top-K input: products
of the factors of :mod:`benchharmony.factors`.

Float32 products are off by a few roundings of the entropy of a row, which tau/2 multiplies in the
exponent: :func:`dtype_for` says when that is too much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Floats
from benchharmony.factors import Factors, pair_factors
from benchharmony.predictive import Predictive

Rows = slice | NDArray[np.int64]

#: Dense input of up to this many outcomes is multiplied as it stands.
FEW_OUTCOMES = 64
#: Up to this many items everything is in float64: it costs nothing.
EXACT_ITEMS = 1024
#: The error of an entry of S that float32 may make.
_ALLOWED = 1e-4
#: J of two items of which one holds an outcome to be impossible and the other does not.
IMPOSSIBLE = 1e30


class Tiles(Protocol):
    """Divergences between rows of one set of items."""

    def __len__(self) -> int: ...

    def divergence(self, a: Rows, b: Rows) -> Floats:
        """Return J, shape (len(a), len(b)); not clipped at 0; IMPOSSIBLE stands for infinity."""
        ...

    def similarity(self, a: Rows, b: Rows, tau: float) -> Floats:
        """Return ``exp(-tau/2 J)``."""
        ...

    def subset(self, rows: NDArray[np.int64]) -> Tiles:
        """Return the tiles of some of the items."""
        ...


def tiles_of(view: Predictive, dtype: np.dtype[Any]) -> Tiles:
    """Return the tiles of some distributions, in float32 or float64."""
    if view.is_dense and view.vocab_size <= FEW_OUTCOMES:
        return FewOutcomes(view.logprobs, dtype)
    return ManyOutcomes(pair_factors(view, dtype, products_only=True), dtype)


def dtype_for(view: Predictive, tau: float | None) -> np.dtype[Any]:
    """Return the precision that products may have; tau is None where a rule will choose it."""
    if len(view) <= EXACT_ITEMS:
        return np.dtype(np.float64)
    # The rule puts the median of tau/2 J at 1, so entropies of any size give a fitting tau.
    entropy = np.log(view.vocab_size)
    bound = 8 * float(np.finfo(np.float32).eps) * (1 + entropy * (0.0 if tau is None else tau / 2))
    return np.dtype(np.float32 if bound <= _ALLOWED else np.float64)


@dataclass(frozen=True, eq=False)
class FewOutcomes:
    """Tiles of whole distributions over few outcomes."""

    logprobs: Floats
    dtype: np.dtype[Any]
    _kept: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    #: Factors of up to this many rows are kept, of more they are made again when needed.
    KEEP = 1 << 17

    def __len__(self) -> int:
        return len(self.logprobs)

    def divergence(self, a: Rows, b: Rows) -> Floats:
        """Return J between rows."""
        out: Floats = self.left(a) @ self.right(b).T
        return out

    def similarity(self, a: Rows, b: Rows, tau: float) -> Floats:
        """Return S between rows."""
        out: Floats = (self.left(a) * self.dtype.type(-0.5 * tau)) @ self.right(b).T
        return np.exp(out, out=out)

    def subset(self, rows: NDArray[np.int64]) -> FewOutcomes:
        """Return the tiles of some of the items."""
        return FewOutcomes(self.logprobs[rows], self.dtype)

    def left(self, rows: Rows) -> Floats:
        """Return the left factors of rows."""
        return self._factors(rows)[0]

    def right(self, rows: Rows) -> Floats:
        """Return the right factors of rows: ``left @ right.T`` is J."""
        return self._factors(rows)[1]

    def _factors(self, rows: Rows) -> tuple[Floats, Floats]:
        if len(self) > self.KEEP:
            return self._made(rows)
        if "all" not in self._kept:
            self._kept["all"] = self._made(slice(0, len(self)))
        left, right = self._kept["all"]
        return left[rows], right[rows]

    def _made(self, rows: Rows) -> tuple[Floats, Floats]:
        logs = np.asarray(self.logprobs[rows], dtype=np.float64)
        p = np.exp(logs)
        never = np.isneginf(logs)
        finite = np.where(never, 0.0, logs) if never.any() else logs
        own = (p * finite).sum(axis=1, keepdims=True)
        one = np.ones_like(own)
        left, right = [own, one, -p, -finite], [one, own, finite, p]
        if self._has_zeros:
            left += [never * IMPOSSIBLE, ~never * IMPOSSIBLE]
            right += [~never, never]
        return np.hstack(left).astype(self.dtype), np.hstack(right).astype(self.dtype)

    @property
    def _has_zeros(self) -> bool:
        if "zeros" not in self._kept:
            some = any(
                np.isneginf(self.logprobs[i : i + self.KEEP]).any()
                for i in range(0, len(self), self.KEEP)
            )
            empty = np.empty(int(some))
            self._kept["zeros"] = (empty, empty)
        return len(self._kept["zeros"][0]) > 0


@dataclass(frozen=True, eq=False)
class ManyOutcomes:
    """Tiles of vocabulary-sized or top-K distributions."""

    factors: Factors
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return len(self.factors.own)

    def divergence(self, a: Rows, b: Rows) -> Floats:
        """Return J between rows."""
        f = self.factors
        out = -f.cross(a, b)
        out -= f.cross(b, a).T
        out += f.own[a, None]
        out += f.own[None, b]
        return np.minimum(out, IMPOSSIBLE, out=out)

    def similarity(self, a: Rows, b: Rows, tau: float) -> Floats:
        """Return S between rows."""
        out = self.divergence(a, b)
        out *= self.dtype.type(-0.5 * tau)
        return np.exp(out, out=out)

    def subset(self, rows: NDArray[np.int64]) -> ManyOutcomes:
        """Return the tiles of some of the items."""
        return ManyOutcomes(self.factors.take(rows), self.dtype)
