"""What pruning at random would have done: the two control laws, by draws and exactly.

*Random*: the same number of items, drawn from all of them. *Within*: the same number from every
subdomain. Scores that take few values need no items: how many kept items of each subdomain have
each score is a (multivariate) hypergeometric draw, exactly the law of a random subset. Where
nearly every score differs, items themselves are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.resampling import Sums

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Items drawn at once where items themselves are drawn: 64 MB a matrix.
_CHUNK = 8_000_000
#: Probabilities this close (relatively) count as equal in a two-sided p-value.
_EQUAL = 1e-7


@dataclass(frozen=True)
class _Cells:
    """Numbers of items by subdomain and score."""

    levels: FloatArray
    counts: IntArray

    def sums(self, kept: IntArray) -> Sums:
        """Return subdomain sums of kept cell counts, shape (draws, k, L)."""
        cells = kept.astype(np.float64)
        return Sums(cells.sum(axis=-1), cells @ self.levels, cells @ self.levels**2)


def _cells(scores: FloatArray, labels: IntArray) -> _Cells | None:
    """Return the cells, or None where there are too many for them to save anything."""
    levels, level = np.unique(scores, return_inverse=True)
    k = int(labels.max()) + 1
    counts = np.bincount(labels * len(levels) + level, minlength=k * len(levels))
    if len(levels) > 2 and 4 * np.count_nonzero(counts) > len(scores):
        return None
    return _Cells(levels, counts.reshape(k, len(levels)))


def removed_anywhere(
    scores: FloatArray,
    labels: IntArray,
    kept: Sequence[int],
    draws: int,
    rng: np.random.Generator,
) -> list[Sums]:
    """Draw subsets of all items.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores and subdomains 0..k-1.
    kept : sequence of int, length P
        Sizes of the subsets.
    draws : int
        Subsets of each size.
    rng : Generator
        Source of randomness.

    Returns
    -------
    list of Sums, length P
        Of the kept items, shapes (draws, k); a subdomain may be empty in a draw.
    """
    cells = _cells(scores, labels)
    if cells is None and not labels.any():
        return _ordered_sums(scores, labels, [np.array([m]) for m in kept], draws, rng)
    if cells is None:
        return _masked_sums(scores, labels, kept, draws, rng)
    flat = cells.counts.ravel()
    occupied = np.flatnonzero(flat)
    out = []
    for m in kept:
        drawn = np.zeros((draws, len(flat)), dtype=np.int64)
        drawn[:, occupied] = rng.multivariate_hypergeometric(
            flat[occupied], m, size=draws, method="marginals"
        )
        out.append(cells.sums(drawn.reshape(draws, *cells.counts.shape)))
    return out


def removed_within(
    scores: FloatArray,
    labels: IntArray,
    kept: Sequence[IntArray],
    draws: int,
    rng: np.random.Generator,
) -> list[Sums]:
    """Draw subsets with given sizes (k,) in every subdomain; else as :func:`removed_anywhere`."""
    cells = _cells(scores, labels)
    if cells is None:
        return _ordered_sums(scores, labels, kept, draws, rng)
    return [cells.sums(_drawn_within(cells.counts, sizes, draws, rng)) for sizes in kept]


def _drawn_within(
    counts: IntArray, sizes: IntArray, draws: int, rng: np.random.Generator
) -> IntArray:
    """Deal the places of every subdomain out to its scores, one score after another."""
    k, n_levels = counts.shape
    left = np.tile(sizes, (draws, 1))
    drawn = np.zeros((draws, k, n_levels), dtype=np.int64)
    later = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    for i in range(n_levels - 1):
        drawn[:, :, i] = rng.hypergeometric(counts[:, i], later[:, i + 1], left)
        left = left - drawn[:, :, i]
    drawn[:, :, -1] = left
    return drawn


def _ordered_sums(
    scores: FloatArray,
    labels: IntArray,
    kept: Sequence[IntArray],
    draws: int,
    rng: np.random.Generator,
) -> list[Sums]:
    """Put the items of every subdomain in random order, and sum the first so many of each.

    One order serves every size, so the draws of different sizes are nested.
    """
    order = np.argsort(labels, kind="stable")
    strata, values = labels[order].astype(np.float64), scores[order]
    start = np.cumsum(np.bincount(labels)) - np.bincount(labels)
    parts: list[list[tuple[FloatArray, FloatArray]]] = [[] for _ in kept]
    step = max(1, _CHUNK // len(scores))
    for first in range(0, draws, step):
        noise = rng.random((min(step, draws - first), len(scores)))
        drawn = values[np.argsort(strata + noise, axis=1)]
        upto = np.zeros((2, len(drawn), len(scores) + 1))
        np.cumsum(drawn, axis=1, out=upto[0, :, 1:])
        np.cumsum(drawn**2, axis=1, out=upto[1, :, 1:])
        for part, sizes in zip(parts, kept, strict=True):
            picked = upto[:, :, start + sizes] - upto[:, :, start]
            part.append((picked[0], picked[1]))
    return [
        Sums(sizes.astype(np.float64), *(np.concatenate(c) for c in zip(*part, strict=True)))
        for part, sizes in zip(parts, kept, strict=True)
    ]


def _masked_sums(
    scores: FloatArray, labels: IntArray, kept: Sequence[int], draws: int, rng: np.random.Generator
) -> list[Sums]:
    """Sum random subsets by subdomain, where scores and subdomains are both many."""
    member = np.eye(int(labels.max()) + 1)[labels]
    weighted = np.hstack([member * scores[:, None] ** power for power in (0, 1, 2)])
    return [
        Sums(*np.split(np.concatenate([m @ weighted for m in masks]), 3, axis=1))
        for masks in (subset_masks(len(scores), m, draws, rng) for m in kept)
    ]


def subset_masks(n: int, kept: int, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield random subsets of ``kept`` of n items as rows of ones and zeros, many at a time."""
    step = max(1, _CHUNK // n)
    for first in range(0, draws, step):
        noise = rng.random((min(step, draws - first), n))
        mask = np.zeros(noise.shape)
        if kept == n:
            mask[:] = 1.0
        elif kept:
            np.put_along_axis(mask, np.argpartition(noise, kept, axis=1)[:, :kept], 1.0, axis=1)
        yield mask


def is_binary(scores: FloatArray) -> bool:
    """Whether every score is 0 or 1, so that p-values are exact."""
    return bool(((scores == 0) | (scores == 1)).all())


def exact_p_anywhere(scores: FloatArray, kept: BoolArray) -> float:
    """Return the two-sided p-value of the kept right answers among subsets of that size.

    Fisher's exact test of right/wrong against kept/dropped: the probability of all counts that
    are no more probable than the one seen.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        0 or 1.
    kept : ndarray of bool, shape (n,)
    """
    pmf, low = _hypergeometric(scores, kept)
    return _two_sided(pmf, int(scores[kept].sum()) - low)


def exact_p_within(scores: FloatArray, labels: IntArray, kept: BoolArray) -> float:
    """Return the same among subsets with the same number from every subdomain.

    The law of the count is the convolution of one hypergeometric law per subdomain.
    """
    pmf, low = np.ones(1), 0
    for g in np.unique(labels):
        inside = labels == g
        part, start = _hypergeometric(scores[inside], kept[inside])
        pmf, low = np.convolve(pmf, part), low + start
    return _two_sided(pmf, int(scores[kept].sum()) - low)


def drawn_p(drawn: FloatArray, observed: float, expected: float) -> float:
    """Return the two-sided permutation p-value ``(1 + #{as far from expected}) / (1 + draws)``."""
    far = np.abs(drawn - expected) >= abs(observed - expected) - 1e-9
    return float((1 + np.count_nonzero(far)) / (1 + len(drawn)))


def removal_sd(scores: FloatArray, kept: int) -> float:
    """Return the standard deviation of the mean of ``kept`` items drawn without replacement."""
    n = len(scores)
    if n < 2 or kept in (0, n):
        return 0.0
    return float(np.sqrt(scores.var(ddof=1) * (1 / kept - 1 / n)))


def _hypergeometric(scores: FloatArray, kept: BoolArray) -> tuple[FloatArray, int]:
    """Return the law of the kept right answers: probabilities, and the count that they begin at.

    From the ratios of neighbouring probabilities, which is many times faster than log-gammas.
    """
    n, right, m = len(scores), int(scores.sum()), int(kept.sum())
    low, high = max(0, m - (n - right)), min(right, m)
    x = np.arange(low, high, dtype=np.float64)
    ratios = np.log((right - x) * (m - x)) - np.log((x + 1) * (n - right - m + x + 1))
    logs = np.r_[0.0, np.cumsum(ratios)]
    p = np.exp(logs - logs.max())
    return p / p.sum(), low


def _two_sided(pmf: FloatArray, place: int) -> float:
    limit = pmf[place] * (1 + _EQUAL)
    return float(min(1.0, pmf[pmf <= limit].sum()))
