"""Is the shift of a score under pruning more than noise: effects, corrections, rank changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, stdtrit

from benchharmony.rebalancing.post_stratified import reweighted, shuffled
from benchharmony.rebalancing.random_removal import (
    drawn_p,
    exact_p_anywhere,
    exact_p_within,
    is_binary,
    removal_sd,
    removed_anywhere,
    removed_within,
    subset_masks,
)
from benchharmony.resampling import stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Effect:
    """What dropping some items did to one model's score. Undefined numbers are None.

    Attributes
    ----------
    removed : int
        Items dropped.
    before, after : float
        Mean score of all and of the kept items, in [0, 1].
    shift : float
        ``after - before``; the sum of ``by_sizes`` and ``by_choice``.
    by_sizes : float
        What the new sizes alone do: ``sum (w'_g - w_g) Psi_g``, the mean shift of random removal
        with the same number from every subdomain.
    by_sizes_ci : (float, float)
        Its interval for other items, the sizes given.
    p_sizes : float
        Two-sided permutation test of "the sizes alone do nothing"
        (:mod:`benchharmony.rebalancing.post_stratified`).
    by_choice : float
        The rest: which items of their subdomains went.
    ci : (float, float)
        Interval of the shift for other items of the same kind: kept and dropped items are two
        samples (Newcombe 1998, method 10, for 0/1 scores; Welch otherwise), and the shift is the
        dropped share times their difference.
    z : float or None
        Shift over its standard deviation under random removal of as many items.
    p_random, p_within : float
        Two-sided p-values against random subsets of the same size, and with the same number from
        every subdomain; exact for 0/1 scores, by permutation otherwise.
    exact : bool
        Which of the two it was.
    p_holm, q_value : float or None
        ``p_random`` after Holm's and Benjamini and Hochberg's corrections over the family that
        :func:`corrected` was given.
    """

    removed: int
    before: float
    after: float
    shift: float
    by_sizes: float
    by_sizes_ci: tuple[float, float]
    p_sizes: float
    by_choice: float
    ci: tuple[float, float]
    z: float | None
    p_random: float
    p_within: float
    exact: bool
    p_holm: float | None = None
    q_value: float | None = None


@dataclass(frozen=True)
class Drawn:
    """Score sums (draws,) of random subsets: of the same size, and with the same numbers within."""

    anywhere: FloatArray
    within: FloatArray


def effect(
    scores: FloatArray,
    labels: IntArray,
    kept: BoolArray,
    *,
    permutations: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    drawn: Drawn | None = None,
    dealt: FloatArray | None = None,
) -> Effect:
    """Return the effect of keeping some items on one model's score.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1].
    labels : ndarray of int, shape (n,)
        Subdomains.
    kept : ndarray of bool, shape (n,)
        At least one.
    permutations : int
        Random subsets for graded scores, and shuffles of the scores for the sizes alone.
    level : float
        Of the interval.
    seed : int
        Of the permutations.
    drawn : Drawn, optional
        The random subsets, where they have been drawn already.
    dealt : ndarray, shape (shuffles, k), optional
        What :func:`~benchharmony.rebalancing.post_stratified.shuffled` gives, likewise.
    """
    before, after = float(scores.mean()), float(scores[kept].mean())
    sd = removal_sd(scores, int(kept.sum()))
    shares = np.bincount(labels[kept], minlength=int(labels.max()) + 1) / kept.sum()
    if dealt is None:
        dealt = shuffled(scores, labels, permutations, seed)
    sizes = reweighted(scores, labels, shares, level, dealt=dealt)
    exact = is_binary(scores)
    if exact:
        p_random, p_within = exact_p_anywhere(scores, kept), exact_p_within(scores, labels, kept)
    else:
        if drawn is None:
            (drawn,) = draw_totals(scores, labels, [kept], permutations, seed)
        total, m = float(scores[kept].sum()), int(kept.sum())
        p_random = drawn_p(drawn.anywhere, total, before * m)
        p_within = drawn_p(drawn.within, total, (before + sizes.shift) * m)
    return Effect(
        removed=int((~kept).sum()),
        before=before,
        after=after,
        shift=after - before,
        by_sizes=sizes.shift,
        by_sizes_ci=sizes.ci,
        p_sizes=sizes.p_value,
        by_choice=after - before - sizes.shift,
        ci=shift_interval(scores, kept, level),
        z=(after - before) / sd if sd > 0 else None,
        p_random=p_random,
        p_within=p_within,
        exact=exact,
    )


def draw_totals(
    scores: FloatArray, labels: IntArray, kept: Sequence[BoolArray], draws: int, seed: int = 0
) -> list[Drawn]:
    """Return the permutations for several kept sets of the same graded scores, all at once."""
    rng = stream(seed, "removal tests")
    k = int(labels.max()) + 1
    sizes = [np.bincount(labels[mask], minlength=k) for mask in kept]
    one = np.zeros(len(scores), dtype=np.int64)
    anywhere = removed_anywhere(scores, one, [int(s.sum()) for s in sizes], draws, rng)
    within = removed_within(scores, labels, sizes, draws, rng)
    return [
        Drawn(a.totals[:, 0], w.totals.sum(axis=1)) for a, w in zip(anywhere, within, strict=True)
    ]


def shift_interval(scores: FloatArray, kept: BoolArray, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the shift in score units; see :class:`Effect`."""
    if kept.all():
        return 0.0, 0.0
    share = float((~kept).mean())
    a, b = scores[kept], scores[~kept]
    low, high = _newcombe(a, b, level) if is_binary(scores) else _welch(a, b, level)
    return share * low, share * high


def _newcombe(a: FloatArray, b: FloatArray, level: float) -> tuple[float, float]:
    from benchharmony.counts import wilson  # loads scipy.stats, too slow for `import benchharmony`

    p, q = float(a.mean()), float(b.mean())
    (p_low, p_high), (q_low, q_high) = wilson([p, q], [len(a), len(b)], level)
    down = np.hypot(p - p_low, q_high - q)
    up = np.hypot(p_high - p, q - q_low)
    return float(p - q - down), float(p - q + up)


def _welch(a: FloatArray, b: FloatArray, level: float) -> tuple[float, float]:
    # One item alone has no variance of its own: the other side's stands in.
    pooled = float(np.r_[a - a.mean(), b - b.mean()].var())
    parts = [(x.var(ddof=1) if len(x) > 1 else pooled) / len(x) for x in (a, b)]
    variance = float(sum(parts))
    difference = float(a.mean() - b.mean())
    if variance == 0:
        return difference, difference
    free = variance**2 / sum(v * v / max(len(x) - 1, 1) for v, x in zip(parts, (a, b), strict=True))
    half = float(stdtrit(free, (1 + level) / 2)) * np.sqrt(variance)
    return difference - half, difference + half


def holm(p_values: ArrayLike) -> FloatArray:
    """Return Holm's step-down adjusted p-values, shape of the input (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Return step-up adjusted p-values that control the false discovery rate (1995)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)[::-1]
    stepped = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def corrected(effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects of one family with Holm's and Benjamini and Hochberg's corrections."""
    if not effects:
        return []
    p = np.array([e.p_random for e in effects])
    return [
        replace(e, p_holm=float(h), q_value=float(q))
        for e, h, q in zip(effects, holm(p), benjamini_hochberg(p), strict=True)
    ]


@dataclass(frozen=True)
class RankChange:
    """Two models whose order pruning turned around.

    Attributes
    ----------
    ahead, behind : str
        The model ahead on all items, and the one that was behind and is ahead after pruning.
    gap_before, gap_after : float
        Score of ``ahead`` minus score of ``behind``, on all items and on the kept ones.
    p_shift : float
        Is the change of the gap more than random removal of as many items makes it: permutation
        of the paired differences of the items.
    p_holm : float
        ``p_shift`` after Holm's correction over the pairs that turned around.
    p_before, p_after : float
        Is the order itself more than noise, on all items and on the kept ones: exact sign test of
        the items on which the two differ (McNemar's test for 0/1 scores).
    beyond_noise : bool
        ``p_holm`` is under 1 - level.
    """

    ahead: str
    behind: str
    gap_before: float
    gap_after: float
    p_shift: float
    p_holm: float
    p_before: float
    p_after: float
    beyond_noise: bool


def rank_changes(
    models: Sequence[str],
    scores: FloatArray,
    kept: BoolArray,
    *,
    permutations: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[RankChange, ...]:
    """Return the pairs of models that change places, paired by item.

    Parameters
    ----------
    models : sequence of str, length M
    scores : ndarray, shape (M, n)
        Of the same items.
    kept : ndarray of bool, shape (n,)
    permutations, seed : int
        Random subsets a pair, and their seed.
    level : float
        A change counts as more than noise under a Holm-corrected p-value of ``1 - level``.
    """
    before, after = scores.mean(axis=1), scores[:, kept].mean(axis=1)
    found = []
    for i, j in combinations(range(len(models)), 2):
        if (before[i] - before[j]) * (after[i] - after[j]) < 0:
            a, b = (i, j) if before[i] > before[j] else (j, i)
            found.append((models[a], models[b], scores[a] - scores[b]))
    shifts = _shift_ps([d for _, _, d in found], kept, permutations, seed)
    return tuple(
        RankChange(
            ahead, behind, float(d.mean()), float(d[kept].mean()), p, float(h),
            _sign_test(d), _sign_test(d[kept]), bool(h < 1 - level),
        )
        for (ahead, behind, d), p, h in zip(found, shifts, holm(shifts), strict=True)
    )  # fmt: skip


def _shift_ps(
    differences: Sequence[FloatArray], kept: BoolArray, draws: int, seed: int
) -> list[float]:
    """Return the permutation p-value of each pair's change; the same subsets serve all pairs."""
    if not differences:
        return []
    d = np.array(differences)
    m = int(kept.sum())
    masks = subset_masks(len(kept), m, draws, stream(seed, "rank changes"))
    totals = np.concatenate([mask @ d.T for mask in masks])
    return [
        drawn_p(totals[:, i], float(row[kept].sum()), float(row.mean()) * m)
        for i, row in enumerate(d)
    ]


def _sign_test(d: FloatArray) -> float:
    up, down = int((d > 0).sum()), int((d < 0).sum())
    # At 1/2 the law is symmetric: twice the smaller tail is the exact two-sided p-value.
    return float(min(1.0, 2 * bdtr(min(up, down), up + down, 0.5))) if up + down else 1.0
