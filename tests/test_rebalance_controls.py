"""What pruning at random does: laws, exact p-values, corrections, intervals, rank changes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchharmony.rebalancing.random_removal import (
    drawn_p,
    exact_p_anywhere,
    exact_p_within,
    removal_sd,
    removed_anywhere,
    removed_within,
)
from benchharmony.rebalancing.removal_tests import (
    benjamini_hochberg,
    corrected,
    effect,
    holm,
    rank_changes,
    shift_interval,
)


def first(n, m):
    """Return a mask that keeps the first m of n."""
    return np.arange(n) < m


@pytest.mark.parametrize(
    ("n", "right", "m", "seen"),
    [(30, 12, 10, 7), (40, 39, 5, 4), (9, 0, 3, 0), (2000, 900, 700, 250)],
)
def test_the_exact_p_value_is_fishers(n, right, m, seen):
    scores = np.zeros(n)
    scores[:seen] = 1
    scores[m : m + right - seen] = 1
    table = [[seen, m - seen], [right - seen, n - m - right + seen]]
    expected = stats.fisher_exact(table).pvalue
    assert exact_p_anywhere(scores, first(n, m)) == pytest.approx(expected, rel=1e-6)


def test_the_p_value_within_subdomains_is_that_of_every_such_subset():
    """Against all subsets with the same number from each subdomain, counted one by one."""
    scores = np.array([1, 0, 0, 1, 0, 1, 1, 1, 0.0])
    labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    kept = np.array([1, 0, 0, 1, 0, 1, 1, 0, 0], dtype=bool)
    totals = []
    for mask in product([False, True], repeat=9):
        mask = np.array(mask)
        if mask[labels == 0].sum() == 2 and mask[labels == 1].sum() == 2:
            totals.append(scores[mask].sum())
    totals = np.array(totals)
    chance = {t: np.mean(totals == t) for t in set(totals)}
    seen = chance[scores[kept].sum()]
    expected = sum(c for c in chance.values() if c <= seen * (1 + 1e-9))
    assert exact_p_within(scores, labels, kept) == pytest.approx(expected)


def test_one_subdomain_makes_both_p_values_the_same():
    rng = np.random.default_rng(0)
    scores = (rng.random(80) < 0.4).astype(float)
    kept = rng.random(80) < 0.5
    one = np.zeros(80, dtype=int)
    assert exact_p_within(scores, one, kept) == pytest.approx(exact_p_anywhere(scores, kept))


@pytest.mark.parametrize("levels", [2, 4, None])
def test_draws_have_the_law_of_random_subsets(levels):
    """Mean and variance of the kept sums, by cells of few scores and by items of many."""
    rng = np.random.default_rng(1)
    n, m, draws = 60, 25, 20_000
    labels = np.repeat([0, 1, 2], [30, 20, 10])
    scores = rng.random(n) if levels is None else rng.integers(levels, size=n) / (levels - 1)
    (sums,) = removed_anywhere(scores, labels, [m], draws, rng)
    assert (sums.sizes.sum(axis=1) == m).all()
    total = sums.totals.sum(axis=1)
    sd = removal_sd(scores, m) * m
    assert total.mean() == pytest.approx(scores.mean() * m, abs=5 * sd / np.sqrt(draws))
    assert total.std() == pytest.approx(sd, rel=0.03)
    assert sums.sizes.mean(axis=0) == pytest.approx([12.5, 25 / 3, 25 / 6], rel=0.02)
    sizes = np.array([20, 3, 2])
    (inside,) = removed_within(scores, labels, [sizes], draws, rng)
    assert (inside.sizes == sizes).all()
    for g in range(3):
        mine = scores[labels == g]
        assert inside.totals[:, g].mean() == pytest.approx(mine.mean() * sizes[g], rel=0.02)
        expected = removal_sd(mine, sizes[g]) * sizes[g]
        assert inside.totals[:, g].std() == pytest.approx(expected, rel=0.04)
    assert (inside.squares <= inside.totals + 1e-9).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(deadline=None)
def test_corrections(p):
    by_hand = np.sort(p)
    stepped = [
        min(1.0, max((len(p) - i) * by_hand[i] for i in range(j + 1))) for j in range(len(p))
    ]
    assert np.sort(holm(p)) == pytest.approx(stepped)
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    assert (holm(p) >= benjamini_hochberg(p) - 1e-12).all()


def test_the_interval_of_the_shift_is_newcombes_times_the_dropped_share():
    # Newcombe (1998), table II, method 10, 56/70 against 48/80: [0.0524, 0.3339].
    scores = np.r_[np.ones(56), np.zeros(14), np.ones(48), np.zeros(32)]
    low, high = shift_interval(scores, first(150, 70))
    assert (low, high) == pytest.approx((0.0524 * 80 / 150, 0.3339 * 80 / 150), abs=3e-5)


def test_graded_scores_use_welch():
    rng = np.random.default_rng(3)
    scores = rng.random(50)
    kept = first(50, 20)
    interval = stats.ttest_ind(scores[kept], scores[~kept], equal_var=False)
    low, high = interval.confidence_interval(0.95)
    assert shift_interval(scores, kept) == pytest.approx((0.6 * low, 0.6 * high))


def test_nothing_removed_is_no_effect():
    scores = np.r_[np.ones(5), np.zeros(5)]
    seen = effect(scores, np.zeros(10, dtype=int), np.ones(10, dtype=bool))
    assert (seen.shift, seen.ci, seen.z, seen.p_random, seen.p_within) == (0, (0, 0), None, 1, 1)


def test_permutation_and_exact_p_values_agree():
    """The same scores twice: as 0/1, and as graded ones (halved, so that 0/1 is not noticed)."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [120, 60])
    scores = (rng.random(180) < np.where(labels == 0, 0.7, 0.4)).astype(float)
    kept = (labels == 1) | (rng.random(180) < 0.5)
    exact = effect(scores, labels, kept)
    drawn = effect(scores / 2, labels, kept, permutations=40_000)
    assert exact.exact
    assert not drawn.exact
    assert drawn.p_within == pytest.approx(exact.p_within, abs=0.03)
    assert drawn.p_random == pytest.approx(exact.p_random, abs=0.01)
    assert drawn.z == pytest.approx(exact.z)


def test_permutation_p_values_are_never_zero():
    assert drawn_p(np.zeros(99), 5.0, 0.0) == pytest.approx(0.01)


def test_corrected_effects_keep_their_order():
    rng = np.random.default_rng(6)
    scores = (rng.random((3, 90)) < 0.5).astype(float)
    family = [effect(s, np.zeros(90, dtype=int), first(90, 30)) for s in scores]
    done = corrected(family)
    assert [d.p_holm for d in done] == pytest.approx(list(holm([f.p_random for f in family])))
    assert all(d.p_random <= d.q_value <= d.p_holm for d in done)
    assert corrected([]) == []


def test_rank_changes_that_pruning_causes_are_told_from_noise():
    """Model a lives off the dominant half; b and c differ by a hair everywhere."""
    rng = np.random.default_rng(7)
    big = first(600, 400)
    a = np.where(big, rng.random(600) < 0.9, rng.random(600) < 0.2)
    b = rng.random(600) < 0.6
    c = b.copy()
    c[[0, 1]] = True
    b[[0, 1]] = False
    b[550], c[550] = True, False
    kept = ~first(600, 300)
    changes = rank_changes(["a", "b", "c"], np.array([a, b, c], dtype=float), kept)
    seen = {(x.behind, x.ahead): x for x in changes}
    assert set(seen) == {("b", "a"), ("c", "a"), ("b", "c")}
    assert seen["b", "a"].beyond_noise
    assert seen["b", "a"].p_shift < 0.001
    assert seen["b", "a"].gap_before > 0 > seen["b", "a"].gap_after
    hair = seen["b", "c"]
    assert not hair.beyond_noise
    assert hair.p_before == pytest.approx(1.0)
    assert hair.p_shift <= hair.p_holm


def test_the_order_of_two_models_is_judged_by_mcnemars_exact_test():
    x = np.array([1] * 9 + [0] * 4 + [1] * 20, dtype=float)
    y = np.array([0] * 9 + [1] * 4 + [1] * 20, dtype=float)
    kept = np.r_[np.zeros(8, dtype=bool), np.ones(25, dtype=bool)]
    (change,) = rank_changes(["x", "y"], np.array([x, y]), kept)
    assert change.p_before == pytest.approx(stats.binomtest(9, 13).pvalue)
    assert change.p_after == pytest.approx(stats.binomtest(1, 5).pvalue)
