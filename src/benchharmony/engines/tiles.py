"""Blocks of J and of S between any rows, in the precision that their error allows.

Few outcomes: ``J(i, j) = own_i + own_j - p_i log p_j - log p_i p_j`` is one short product of
factors that are made from the rows when they are needed. Many outcomes and top-K input: products
of the factors of :mod:`benchharmony.factors`.

J is a product of differences, ``(p_i - p_j) (log p_i - log p_j)``, so what the items have in common
may be taken off both: of few outcomes the mean is, and items that hardly differ keep their digits.

Float32 products are off by a few roundings of what they add up, which tau/2 multiplies in the
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
from benchharmony.similarity import jeffreys

Rows = slice | NDArray[np.int64]

#: Dense input of up to this many outcomes is multiplied as it stands.
FEW_OUTCOMES = 64
#: Up to this many items everything is in float64: it costs nothing.
EXACT_ITEMS = 1024
#: Rows whose mean is taken off all.
_MEAN_ROWS = 1 << 16
#: The error of an entry of S that float32 may make.
_ALLOWED = 1e-4
#: Median of tau/2 J from which on float32 is enough, and rows whose pairs say so.
_FROM_ONE, _PAIRED = 0.05, 128
#: tau beyond which IMPOSSIBLE is too large for float32.
_LARGE = 5e8
#: J of two items of which one holds an outcome to be impossible and the other does not.
IMPOSSIBLE = 1e30


class Tiles(Protocol):
    """Divergences between rows of one set of items."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision."""
        ...

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
    if has_few_outcomes(view):
        return FewOutcomes(view.logprobs, dtype, _centre(view.logprobs))
    return ManyOutcomes(pair_factors(view, dtype, products_only=True), dtype)


def dtype_for(view: Predictive, tau: float | None) -> np.dtype[Any]:
    """Return the precision that products may have; tau is None where a rule will choose it."""
    if len(view) <= EXACT_ITEMS:
        return np.dtype(np.float64)
    if tau is None:
        return np.dtype(np.float32)
    size, terms = _size(view)
    bound = np.sqrt(terms) * float(np.finfo(np.float32).eps) * (1 + tau / 2 * size)
    # Where S is close to 1 all that tells items apart is its distance from 1.
    enough = bound <= _ALLOWED and tau <= _LARGE and tau / 2 * _typical(view) >= _FROM_ONE
    return np.dtype(np.float32 if enough else np.float64)


def _typical(view: Predictive) -> float:
    """Return the median J of some pairs."""
    rows = np.arange(min(len(view), _PAIRED)) * len(view) // min(len(view), _PAIRED)
    return float(np.median(jeffreys(view.take(rows))[np.triu_indices(len(rows), 1)]))


def has_few_outcomes(view: Predictive) -> bool:
    """Whether distributions are multiplied as they stand."""
    return view.is_dense and view.vocab_size <= FEW_OUTCOMES


def _size(view: Predictive) -> tuple[float, int]:
    """Return how large the numbers are of which J is the sum, in nats, and how many count."""
    if not has_few_outcomes(view):
        return float(np.log(view.vocab_size)), 64
    p, finite = _plain(_some(view.logprobs))
    size = np.abs(((p - p.mean(axis=0)) * (finite - finite.mean(axis=0))).sum(axis=1))
    return float(size.max()), 2 * view.vocab_size + 2


def _centre(logprobs: Floats) -> tuple[Floats, Floats]:
    """Return the mean distribution and the mean of the logarithms."""
    p, finite = _plain(_some(logprobs))
    return p.mean(axis=0), finite.mean(axis=0)


def _some(logprobs: Floats) -> Floats:
    """Return rows at even steps: enough for a mean."""
    return logprobs[:: -(-len(logprobs) // _MEAN_ROWS)]


def _plain(logprobs: Floats) -> tuple[Floats, Floats]:
    """Return probabilities and logarithms, 0 for the logarithm of 0."""
    logs = np.asarray(logprobs, dtype=np.float64)
    return np.exp(logs), np.where(np.isneginf(logs), 0.0, logs)


@dataclass(frozen=True, eq=False)
class FewOutcomes:
    """Tiles of whole distributions over few outcomes."""

    logprobs: Floats
    dtype: np.dtype[Any]
    centre: tuple[Floats, Floats]
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
        np.minimum(out, 0, out=out)
        return np.exp(out, out=out)

    def subset(self, rows: NDArray[np.int64]) -> FewOutcomes:
        """Return the tiles of some of the items."""
        return FewOutcomes(self.logprobs[rows], self.dtype, self.centre)

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
        logs = self.logprobs[rows]
        p, finite = (x - mean for x, mean in zip(_plain(logs), self.centre, strict=True))
        own = (p * finite).sum(axis=1, keepdims=True)
        one = np.ones_like(own)
        left, right = [own, one, -p, -finite], [one, own, finite, p]
        if self._has_zeros:
            never = np.isneginf(logs)
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
        np.minimum(out, 0, out=out)
        return np.exp(out, out=out)

    def subset(self, rows: NDArray[np.int64]) -> ManyOutcomes:
        """Return the tiles of some of the items."""
        return ManyOutcomes(self.factors.take(rows), self.dtype)
