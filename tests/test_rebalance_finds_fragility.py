"""Planted benchmarks: shifts found where they are, not found where they are not."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from benchharmony import Predictive
from benchharmony.rebalance import rebalance
from benchharmony.rebalancing.fragility import at_removal
from benchharmony.rebalancing.post_stratified import post_stratified
from benchharmony.rebalancing.pruning import Order, balance_order
from benchharmony.rebalancing.removal_tests import effect
from rebalancing import benchmark

FAST = {"draws": 100, "permutations": 500}
#: One dominant subdomain of three.
SIZES = (300, 60, 40)


def fragile(**options):
    return benchmark(SIZES, [0.9, 0.4, 0.4], **options)


@pytest.mark.parametrize("strategy", ["redundancy", "balance"])
@pytest.mark.parametrize("graded", [None, 5])
def test_a_dominant_easy_subdomain_is_found(strategy, graded):
    (evaluation,), split = fragile(graded=graded)
    result = rebalance(evaluation, split, strategy=strategy, **FAST)
    shift = result.models[0].effect
    assert shift.shift < -0.05
    assert shift.p_random < 0.01
    assert shift.exact == (graded is None)
    assert shift.ci[1] < 0
    assert result.models[0].after["harmony"] is not None
    even = next(p for p in result.models[0].curve if p.fraction > 0.65)
    assert even.effect.p_holm < 0.05
    assert even.values["score"] < even.random["score"].low


def test_the_shift_comes_from_the_sizes_and_the_control_says_so():
    (evaluation,), split = fragile()
    result = rebalance(evaluation, split, **FAST)
    middle = result.models[0].effect
    assert middle.p_random < 1e-4
    assert middle.p_within > 0.05
    before, after = (np.array([getattr(s, when) for s in result.sizes], dtype=float)
                     for when in ("before", "after"))  # fmt: skip
    psi = np.bincount(split.labels, evaluation.scores) / before
    expected = (after / after.sum() - before / before.sum()) @ psi
    assert middle.by_sizes == pytest.approx(expected)
    assert middle.by_sizes_ci[0] < middle.by_sizes < middle.by_sizes_ci[1] < 0
    assert middle.p_sizes == pytest.approx(1 / 501)  # none of 500 shuffles
    assert result.fragility["removal"].by_sizes == pytest.approx(-expected)
    assert middle.by_sizes + middle.by_choice == pytest.approx(middle.shift)
    assert abs(middle.by_choice) < 0.5 * abs(middle.by_sizes)
    assert not any("mattered which items" in note for note in result.notes)


def test_pruning_that_picks_wrong_answers_is_seen_within_subdomains():
    """Duplicates that are all wrong go first: the sizes hardly change, the score does."""
    (evaluation,), split = benchmark([200, 200], [0.5, 0.5])
    scores = evaluation.scores
    bad = np.flatnonzero(scores == 0)[:60]
    kept = np.ones(400, dtype=bool)
    kept[bad] = False
    seen = effect(scores, split.labels, kept)
    assert seen.p_within < 1e-6
    assert seen.p_random < 1e-6


def test_a_similarity_that_goes_along_with_being_right_is_told():
    """All wrong answers of the big subdomain look alike, so redundancy drops them first."""
    (evaluation,), split = benchmark([200, 60], [0.5, 0.5], positions=["answer"])
    p = np.exp(evaluation.predictive["answer"].logprobs.astype(float))
    wrong = (evaluation.scores == 0) & (split.labels == 0)
    p[wrong] = p[0] * 0.9 + p[wrong] * 0.1
    view = Predictive.dense(p / p.sum(axis=1, keepdims=True))
    evaluation = dataclasses.replace(evaluation, predictive={"answer": view})
    result = rebalance(evaluation, split, fraction=0.3, **FAST)
    seen = result.models[0].effect
    assert seen.p_within < 1e-6
    assert seen.by_choice > 0.1 > abs(seen.by_sizes)
    assert any("mattered which items" in note for note in result.notes)


def test_a_shift_grows_with_what_is_removed_and_so_does_the_band():
    (evaluation,), split = benchmark(SIZES, [0.6, 0.6, 0.6], seed=4)
    curve = rebalance(evaluation, split, draws=400).models[0].curve
    widths = [p.random["score"].high - p.random["score"].low for p in curve]
    assert widths[0] == 0
    assert np.corrcoef(widths, [p.fraction for p in curve])[0, 1] > 0.9
    assert all(p.random["score"].mean == pytest.approx(curve[0].values["score"], abs=0.02)
               for p in curve)  # fmt: skip


def test_bands_within_have_the_sizes_of_the_pruned_benchmark():
    (evaluation,), split = fragile()
    for p in rebalance(evaluation, split, **FAST).models[0].curve:
        for name in ("size_evenness", "k"):
            band = p.within[name]
            assert (band.low, band.high) == pytest.approx((p.values[name],) * 2)
        assert p.random["size_evenness"].low <= p.random["size_evenness"].high


def test_curve_values_are_those_of_the_kept_items():
    (evaluation,), split = fragile()
    half = rebalance(evaluation, split, fraction=0.5, **FAST)
    kept = np.isin(evaluation.item_ids, half.kept)
    point = next(p for p in half.models[0].curve if p.removed == len(half.dropped))
    assert point.values == half.models[0].after
    assert point.values["score"] == pytest.approx(evaluation.scores[kept].mean())
    assert point.values["k"] == 3


def test_the_index_of_a_fragile_benchmark_is_the_planted_one():
    """0.9 in 300 of 400 items, 0.4 elsewhere; half of the items removed leaves 100 + 60 + 40."""
    (evaluation,), split = fragile(seed=2)
    index = rebalance(evaluation, split, **FAST).fragility["removal"]
    truth = abs((100 * 0.9 + 100 * 0.4) / 200 - (300 * 0.9 + 100 * 0.4) / 400)
    assert index.ci[0] <= truth <= index.ci[1]
    assert index.value > 4 * index.by_chance
    assert index.excess == pytest.approx(index.value - index.by_chance)
    assert index.removed == pytest.approx(0.5)


def test_a_robust_benchmark_has_an_index_of_chance_size():
    (evaluation,), split = benchmark(SIZES, [0.6, 0.6, 0.6], seed=1)
    index = rebalance(evaluation, split, **FAST).fragility["removal"]
    assert index.ci[0] == 0
    assert index.value < 3 * index.by_chance


def test_the_index_does_not_depend_on_how_the_benchmark_was_cut():
    (evaluation,), split = fragile()
    a = rebalance(evaluation, split, fraction=0.1, **FAST)
    b = rebalance(evaluation, split, cap=41, **FAST)
    assert a.fragility == b.fragility


def test_a_gain_that_is_never_reached_has_no_index():
    (evaluation,), split = benchmark([50, 50, 50], [0.6, 0.6, 0.6])
    result = rebalance(evaluation, split, fragility_gain=0.9, **FAST)
    assert result.fragility["gain"] is None
    assert result.models[0].fragility["gain"] is None


def test_the_index_of_several_models_is_their_mean():
    models, split = benchmark(SIZES, [[0.9, 0.4, 0.4], [0.6, 0.6, 0.6]])
    result = rebalance(models, split, **FAST)
    each = [m.fragility["removal"] for m in result.models]
    assert result.fragility["removal"].value == pytest.approx(np.mean([f.value for f in each]))
    assert result.fragility["removal"].models == 2


def test_equal_weights_against_the_formula():
    scores = np.array([1, 1, 0, 1, 0, 0, 1, 0.0])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 2])
    seen = post_stratified(scores, labels)
    assert seen.score == pytest.approx((3 / 4 + 1 / 3 + 0) / 3)
    # Four more items with the variance of all scores, half of which are right.
    pooled = 1 / 4
    parts = [(3 / 4 + 4 * pooled) / 7 / 4, (2 / 3 + 4 * pooled) / 6 / 3, pooled]
    assert seen.standard_error == pytest.approx(np.sqrt(sum(parts)) / 3)
    assert seen.shift == pytest.approx(seen.score - 0.5)
    assert seen.effective_items == pytest.approx(9 / (1 / 4 + 1 / 3 + 1))


def test_weights_remove_nothing():
    (evaluation,), split = fragile()
    result = rebalance(evaluation, split, strategy="weights")
    assert result.dropped == ()
    assert len(result.kept) == 400
    assert result.models[0].post_stratified.p_value == pytest.approx(1 / 10_001)
    assert result.models[0].post_stratified.shift < -0.1


def test_equal_weights_of_even_sizes_are_no_shift():
    scores = np.tile([1.0, 0.0], 30)
    seen = post_stratified(scores, np.repeat([0, 1, 2], 20))
    assert (seen.shift, seen.shift_error, seen.p_value) == (pytest.approx(0), 0, 1)


@pytest.mark.slow
def test_pruning_at_random_gives_uniform_p_values():
    """Random kept sets of one benchmark: mid-sized counts make the exact p-values near uniform."""
    rng = np.random.default_rng(10)
    n = 6000
    labels = np.repeat([0, 1, 2], [4000, 1500, 500])
    scores = (rng.random(n) < np.array([0.8, 0.5, 0.3])[labels]).astype(float)
    both = []
    for _ in range(1500):
        kept = np.zeros(n, dtype=bool)
        kept[rng.permutation(n)[:2500]] = True
        seen = effect(scores, labels, kept)
        both.append((seen.p_random, seen.p_within))
    for p in np.transpose(both):
        # Exact p-values of counts: uniform but for steps of about 1/40.
        assert stats.kstest(p, "uniform").statistic < 0.05
        assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["redundancy", "balance"])
def test_false_positives_stay_nominal_where_performance_is_even(strategy):
    """One family of models and levels: at least one Holm rejection in at most 5 % of benchmarks."""
    headline, by_sizes, families = [], [], []
    for seed in range(300):
        models, split = benchmark((150, 50, 40), [[0.6] * 3, [0.3] * 3], seed=seed)
        result = rebalance(models, split, strategy=strategy, draws=2)
        headline += [m.effect.p_random for m in result.models]
        by_sizes += [m.effect.p_sizes for m in result.models]
        families.append(min(p.effect.p_holm for m in result.models for p in m.curve[1:]))
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)
    assert np.mean(np.array(headline) < 0.05) < limit
    assert np.mean(np.array(by_sizes) < 0.05) < limit
    assert np.mean(np.array(families) < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("performance", [(0.9, 0.5, 0.5), (0.6, 0.6, 0.6)])
def test_the_interval_of_the_index_covers_the_truth(performance):
    """The truth: the shift of the expected score, for the weights that this pruning leaves."""
    rng = np.random.default_rng(20)
    sizes = np.array([300, 100, 80])
    labels = np.repeat([0, 1, 2], sizes)
    psi = np.array(performance)
    inside = 0
    for seed in range(400):
        order: Order = balance_order(labels, np.zeros(480, dtype=bool), centrality=None, seed=seed)
        scores = (rng.random(480) < psi[labels]).astype(float)
        index = at_removal(scores, labels, order)
        kept = order.kept(480, round(index.removed * 480))
        truth = abs(psi[labels[kept]].mean() - psi[labels].mean())
        inside += index.ci[0] <= truth <= index.ci[1]
    assert inside / 400 > 0.93
