"""What the sizes alone do: their test and their interval, also where a subdomain is all right."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from benchharmony.counts import wilson
from benchharmony.rebalancing.post_stratified import (
    post_stratified,
    reweighted,
    shuffled,
    size_shift,
)
from benchharmony.rebalancing.removal_tests import effect

EVEN = np.full(3, 1 / 3)


def answers(right, sizes):
    """Return 0/1 scores and labels with so many right answers in each subdomain."""
    scores = np.concatenate([np.arange(n) < r for r, n in zip(right, sizes, strict=True)])
    return scores.astype(float), np.repeat(np.arange(len(sizes)), sizes)


def exact_p(right, sizes, weights):
    """Return the p-value over all ways in which the right answers could fall to subdomains."""
    law = stats.multivariate_hypergeom(m=sizes, n=sum(right))
    tilt = np.asarray(weights) - np.array(sizes) / sum(sizes)
    seen = abs(tilt @ (np.array(right) / sizes))
    ways = np.array([w for w in product(*(range(n + 1) for n in sizes)) if sum(w) == sum(right)])
    return law.pmf(ways)[np.abs((ways / sizes) @ tilt) >= seen - 1e-12].sum()


@pytest.mark.parametrize(
    ("right", "sizes", "weights"),
    [
        ((31, 31, 16), (42, 35, 16), EVEN),
        ((5, 9, 10), (10, 10, 10), [0.2, 0.3, 0.5]),
        ((7, 4, 0), (20, 12, 5), EVEN),
        ((20, 12, 4), (20, 12, 5), EVEN),
    ],
)
def test_the_p_value_is_that_of_every_deal_of_the_right_answers(right, sizes, weights):
    """A subdomain all right or all wrong shows no variance; that is no proof."""
    scores, labels = answers(right, sizes)
    seen = reweighted(scores, labels, np.array(weights))
    expected = exact_p(right, sizes, weights)
    assert expected > 0.005
    assert seen.p_value == pytest.approx(expected, abs=4 * np.sqrt(expected / 10_000))
    # Halved scores are no longer 0/1: items are dealt then, not counts.
    graded = reweighted(scores / 2, labels, np.array(weights))
    assert graded.p_value == pytest.approx(expected, abs=4 * np.sqrt(expected / 10_000))
    assert graded.shift == pytest.approx(seen.shift / 2)


def test_the_interval_puts_wilsons_together():
    right, sizes = np.array([31, 31, 16]), np.array([42, 35, 16])
    scores, labels = answers(right, sizes)
    seen = reweighted(scores, labels, EVEN)
    (l1, u1), (l2, u2), (l3, _) = wilson(right / sizes, sizes)
    tilt = EVEN - sizes / 93
    p = right / sizes
    low = np.sqrt((tilt[0] * (u1 - p[0])) ** 2 + (tilt[1] * (u2 - p[1])) ** 2
                  + (tilt[2] * (1 - l3)) ** 2)  # fmt: skip
    high = np.sqrt((tilt[0] * (p[0] - l1)) ** 2 + (tilt[1] * (p[1] - l2)) ** 2)
    assert seen.ci == pytest.approx((seen.shift - low, seen.shift + high))
    assert seen.shift == pytest.approx(size_shift(scores, labels, EVEN))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_scores_that_are_all_right_or_all_wrong_leave_doubt(value):
    labels = np.repeat([0, 1, 2], [42, 35, 16])
    scores = np.full(93, value)
    seen, equal = reweighted(scores, labels, EVEN), post_stratified(scores, labels)
    assert (seen.shift, seen.p_value) == (pytest.approx(0), 1)
    assert seen.ci[0] < -0.01 < 0.01 < seen.ci[1]
    assert equal.ci[1] - equal.ci[0] > 0.02
    assert min(seen.error, equal.standard_error) > 0


def test_graded_scores_of_a_subdomain_without_variance_leave_doubt():
    rng = np.random.default_rng(0)
    scores = np.r_[rng.integers(5, size=77) / 4, np.ones(16)]
    seen = reweighted(scores, np.repeat([0, 1, 2], [42, 35, 16]), np.array([0.0, 0.0, 1.0]))
    alone = np.sqrt((77 / 93) ** 2 * 4 * scores.var() / 19 / 16)
    assert seen.error > alone > 0.01
    assert seen.ci[1] - seen.ci[0] == pytest.approx(2 * 1.959964 * seen.error)


def test_constant_graded_scores_are_no_shift():
    labels = np.repeat([0, 1, 2], [42, 35, 16])
    seen = reweighted(np.full(93, 0.1), labels, EVEN)
    assert (seen.shift, seen.p_value) == (pytest.approx(0), 1)


@pytest.mark.parametrize("graded", [False, True])
def test_shuffled_means_have_the_law_of_random_deals(graded):
    rng = np.random.default_rng(1)
    sizes = np.array([30, 0, 20, 10])
    labels = rng.permutation(np.repeat(np.arange(4), sizes))
    scores = rng.integers(4, size=60) / 3 if graded else (rng.random(60) < 0.7).astype(float)
    means = shuffled(scores, labels, 20_000, seed=3)
    assert (means[:, 1] == 0).all()
    assert means @ sizes == pytest.approx(np.full(20_000, scores.sum()))
    some = sizes > 0
    expected = np.sqrt(scores.var(ddof=1) * (1 / sizes[some] - 1 / 60))
    assert means[:, some].std(axis=0) == pytest.approx(expected, rel=0.03)


def test_the_same_deals_serve_every_pruning():
    scores, labels = answers((31, 31, 16), (42, 35, 16))
    kept = np.concatenate([np.arange(n) < 16 for n in (42, 35, 16)])
    dealt = shuffled(scores, labels, 500, seed=7)
    alone = effect(scores, labels, kept, permutations=500, seed=7)
    assert effect(scores, labels, kept, dealt=dealt) == alone
    assert alone.p_sizes == reweighted(scores, labels, EVEN, dealt=dealt).p_value > 0.01


def rejections(sizes, weights, performance, graded, benchmarks=1000):
    """Return the share of benchmarks of these performances in which the sizes seem to matter."""
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.broadcast_to(performance, len(sizes))[labels]
    p = []
    for seed in range(benchmarks):
        scores = rng.binomial(graded, chance) / graded
        dealt = shuffled(scores, labels, 400, seed)
        p.append(reweighted(scores, labels, np.array(weights), dealt=dealt).p_value)
    return np.mean(np.array(p) <= 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("performance", [0.6, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(
    ("sizes", "weights"),
    [((42, 35, 16), EVEN), ((10, 10, 10), [0.5, 0.25, 0.25]), ((200, 100, 50), EVEN)],
)
@pytest.mark.parametrize("graded", [1, 4])
def test_sizes_matter_in_a_twentieth_of_even_benchmarks_at_most(
    sizes, weights, performance, graded
):
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert rejections(sizes, weights, performance, graded) < limit


@pytest.mark.slow
def test_sizes_that_matter_are_found():
    assert rejections((200, 100, 50), EVEN, (0.9, 0.8, 0.7), 1, 300) > 0.85
    assert rejections((42, 35, 16), EVEN, (0.9, 0.6, 0.4), 1, 300) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("performance", [0.6, 0.9, 0.95, (0.95, 0.7, 0.4), (0.7, 0.85, 1.0)])
@pytest.mark.parametrize("sizes", [(42, 35, 16), (200, 100, 50)])
def test_the_interval_of_the_sizes_covers_the_truth(sizes, performance):
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], sizes)
    psi = np.broadcast_to(performance, 3)
    truth = (EVEN - np.array(sizes) / sum(sizes)) @ psi
    none = np.ones((1, 3))
    inside = 0
    for _ in range(1000):
        scores = (rng.random(len(labels)) < psi[labels]).astype(float)
        low, high = reweighted(scores, labels, EVEN, dealt=none).ci
        inside += low <= truth <= high
    assert inside / 1000 > 0.93
