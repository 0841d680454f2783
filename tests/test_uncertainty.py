"""Intervals, item noise and effective counts."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from benchharmony.counts import effective_counts, homogeneity_p, wilson
from benchharmony.errors import BenchharmonyError
from benchharmony.resampling import bootstrap_sums, checked, stream
from benchharmony.uncertainty import intervals
from benchharmony.validation.planted import plant


def evaluation(sizes, performance, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    return plant(np.asarray(sizes), np.asarray(performance, dtype=float), rng, **kwargs)


def test_wilson_is_scipys():
    for won, n in [(0, 10), (3, 10), (10, 10), (57, 200)]:
        theirs = binomtest(won, n).proportion_ci(method="wilson")
        assert wilson(won / n, n) == pytest.approx([theirs.low, theirs.high], abs=1e-12)


def test_the_score_of_binary_items_gets_wilsons_interval():
    planted = evaluation([40, 60], [0.5, 0.8])
    mean = planted.scores.mean()
    assert intervals(planted.scores, planted.labels, draws=50).score == pytest.approx(
        tuple(wilson(mean, 100))
    )


def test_effective_counts_of_binary_scores_are_the_counts():
    scores, labels = np.array([1.0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 1])
    counts = effective_counts(scores, labels)
    assert counts.successes == pytest.approx([1, 2])
    assert counts.failures == pytest.approx([1, 1])
    assert counts.dispersion == 1.0


def test_graded_scores_count_as_more_items_than_binary_ones():
    planted = evaluation([400, 400], [0.4, 0.7], scores="graded")
    counts = effective_counts(planted.scores, planted.labels)
    # Beta(3p, 3(1-p)) has a quarter of the binary variance.
    assert counts.dispersion == pytest.approx(0.25, abs=0.03)
    assert counts.sizes == pytest.approx([1600, 1600], rel=0.12)


def test_clusters_of_equal_answers_count_once():
    labels = np.repeat([0, 1], 300)
    clusters = np.arange(600) // 3
    answers = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    scores = np.repeat(answers, 3)
    counts = effective_counts(scores, labels, clusters)
    assert counts.design == pytest.approx(3.0, rel=0.02)
    plain = intervals(scores, labels, draws=200)
    clustered = intervals(scores, labels, draws=200, clusters=clusters)
    assert clustered.noise.score == pytest.approx(plain.noise.score * 3**0.5, rel=0.15)
    assert np.ptp(clustered.score) == pytest.approx(np.ptp(plain.score) * 3**0.5, rel=0.05)


def test_clusters_of_one_item_change_no_interval():
    planted = evaluation([50, 50, 50], [0.5, 0.6, 0.7])
    plain = intervals(planted.scores, planted.labels, draws=100)
    single = intervals(planted.scores, planted.labels, draws=100, clusters=np.arange(150))
    assert single.score == pytest.approx(plain.score)
    assert single.harmony == pytest.approx(plain.harmony)


def test_equal_performance_is_inside_the_interval_although_raw_h_is_far_below():
    planted = evaluation([15] * 20, [0.65] * 20)
    result = intervals(planted.scores, planted.labels)
    assert result.harmony[1] >= 1.0 - 1e-9
    assert result.harmony_median > 0.95
    assert result.homogeneity_p > 0.05


def test_one_weak_subdomain_does_not_spread_the_others():
    # A single bell curve over all ten performances would give the others 0.7 +- 0.02 each its
    # own truth and miss H (0.94 here) by far.
    planted = evaluation([500] * 10, [0.7] * 9 + [0.3])
    result = intervals(planted.scores, planted.labels)
    assert result.harmony[0] <= planted.harmony <= result.harmony[1]
    assert np.ptp(result.harmony) < 0.02


def test_two_halves_keep_harmony_high_and_agreement_low():
    planted = evaluation([500, 500], [0.95, 0.35])
    result = intervals(planted.scores, planted.labels)
    assert result.harmony[1] == pytest.approx(1.0, abs=1e-3)
    assert result.agreement[1] < 0.01
    assert result.spread[0] > 0.2


def test_more_items_narrow_every_interval():
    small = evaluation([30] * 5, [0.4, 0.5, 0.6, 0.7, 0.8])
    large = evaluation([3000] * 5, [0.4, 0.5, 0.6, 0.7, 0.8])
    few = intervals(small.scores, small.labels)
    many = intervals(large.scores, large.labels)
    for name in ("score", "harmony", "agreement", "spread"):
        assert np.ptp(getattr(many, name)) < np.ptp(getattr(few, name)) / 3
    assert (np.ptp(many.subdomains, axis=1) < np.ptp(few.subdomains, axis=1) / 5).all()


def test_sampled_sizes_add_width():
    planted = evaluation([80, 20, 10], [0.6, 0.6, 0.6])
    fixed = intervals(planted.scores, planted.labels, sizes="fixed")
    sampled = intervals(planted.scores, planted.labels, sizes="sampled")
    assert np.ptp(sampled.harmony) > np.ptp(fixed.harmony)


def test_one_subdomain_has_no_harmony_but_a_score():
    result = intervals([1, 0, 1, 1], [0, 0, 0, 0], draws=50)
    assert np.isnan(result.harmony).all()
    assert np.isnan(result.harmony_median)
    assert result.score[0] < 0.75 < result.score[1]


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_scores_that_never_vary(value):
    result = intervals(np.full(60, value), np.arange(60) % 3, draws=100)
    assert result.score[0] <= value <= result.score[1]
    assert result.harmony[1] == pytest.approx(1.0)
    assert result.noise.score == 0.0


def test_same_seed_same_numbers_other_seed_others():
    planted = evaluation([20] * 5, [0.4, 0.5, 0.6, 0.7, 0.8])
    run = lambda seed: dataclasses.asdict(  # noqa: E731
        intervals(planted.scores, planted.labels, draws=200, seed=seed)
    )
    first, again, other = run(1), run(1), run(2)
    assert first["harmony"] == again["harmony"]
    assert first["noise"] == again["noise"]
    assert first["harmony"] != other["harmony"]


def test_homogeneity_is_the_chi_square_test():
    scores = np.array([1.0] * 30 + [0.0] * 10 + [1.0] * 20 + [0.0] * 20)
    labels = np.repeat([0, 1], 40)
    # 2 x 2 table (30, 10; 20, 20): chi-square 80 * (600 - 200)^2 / (40 * 40 * 50 * 30) = 5.333.
    assert homogeneity_p(effective_counts(scores, labels)) == pytest.approx(0.020921, abs=1e-5)


def test_bootstrap_moments_are_those_of_resampling():
    planted = evaluation([60, 40], [0.5, 0.8])
    score, label, _ = checked(planted.scores, planted.labels)
    sums = bootstrap_sums(score, label, 20_000, stream(0, "test"))
    total = sums.totals.sum(axis=1)
    assert (sums.sizes.sum(axis=1) == 100).all()
    assert total.mean() == pytest.approx(score.sum(), abs=0.15)
    assert total.var() == pytest.approx(100 * score.var(), rel=0.05)
    assert sums.sizes[:, 0].var() == pytest.approx(100 * 0.6 * 0.4, rel=0.05)


def test_graded_scores_are_resampled_alike_by_cell_and_by_item():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 5, 400) / 4
    labels = np.arange(400) % 4
    blurred = np.clip(few + rng.uniform(-1e-9, 1e-9, 400), 0, 1)
    cells = bootstrap_sums(few, labels, 4000, stream(0, "a"))
    items = bootstrap_sums(blurred, labels, 4000, stream(0, "b"))
    assert cells.totals.var(axis=0) == pytest.approx(items.totals.var(axis=0), rel=0.15)
    assert cells.variances.mean() == pytest.approx(items.variances.mean(), rel=0.02)


@pytest.mark.parametrize(
    ("scores", "labels", "options"),
    [
        ([1.0, 2.0], [0, 1], {}),
        ([1.0, np.nan], [0, 1], {}),
        ([1.0, 0.0], [0, 2], {}),
        ([1.0, 0.0], [0], {}),
        ([], [], {}),
        ([1.0, 0.0], [0, 1], {"level": 1.0}),
        ([1.0, 0.0], [0, 1], {"draws": 0}),
        ([1.0, 0.0], [0, 1], {"clusters": ["a", "a"]}),
    ],
)
def test_input_that_cannot_be_used_is_refused_in_one_line(scores, labels, options):
    with pytest.raises(BenchharmonyError) as caught:
        intervals(scores, labels, **options)
    assert "\n" not in str(caught.value)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_intervals_are_ordered_and_in_range(data):
    k = data.draw(st.integers(1, 6))
    extra = data.draw(st.lists(st.integers(0, k - 1), max_size=60))
    labels = np.array([*range(k), *extra])
    scores = np.array(
        data.draw(
            st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=len(labels), max_size=len(labels))
        )
    )
    result = intervals(scores, labels, draws=60)
    for low, high in [result.score, result.agreement, result.harmony if k > 1 else (0, 1)]:
        assert 0.0 <= low <= high <= 1.0
    assert result.score[0] <= scores.mean() + 1e-12
    assert scores.mean() <= result.score[1] + 1e-12
    assert result.subdomains.shape == (k, 2)
