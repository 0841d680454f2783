"""The generator that the statistics are checked against must itself be what it says."""

import numpy as np
import pytest

from benchharmony.errors import BenchharmonyError
from benchharmony.validation import calibration as c
from benchharmony.validation.planted import (
    plant,
    plant_confounded,
    planted_performance,
    planted_sizes,
)


@pytest.mark.parametrize("kind", ["equal", "random", "skewed"])
@pytest.mark.parametrize(("n", "k"), [(300, 20), (301, 7), (60, 20)])
def test_sizes_add_up_and_leave_nobody_empty(kind, n, k):
    sizes = planted_sizes(n, k, kind, np.random.default_rng(0))
    assert sizes.sum() == n
    assert len(sizes) == k
    assert sizes.min() >= 3


def test_skewed_sizes_are_uneven_and_equal_ones_are_not():
    rng = np.random.default_rng(0)
    assert np.ptp(planted_sizes(300, 20, "equal", rng)) == 0
    skewed = planted_sizes(3000, 20, "skewed", rng)
    assert skewed[0] / 3000 == pytest.approx(0.19, abs=0.02)


def test_performance_has_the_spread_asked_for():
    rng = np.random.default_rng(0)
    assert planted_performance(0.1, 5000, rng).std() == pytest.approx(0.1, rel=0.05)
    assert (planted_performance(0.0, 9, rng) == 0.65).all()
    assert set(planted_performance("halves", 4, rng)) == {0.9, 0.4}
    with pytest.raises(BenchharmonyError, match="unknown shape"):
        planted_performance("bent", 4, rng)


@pytest.mark.parametrize("scores", ["binary", "graded"])
def test_scores_average_to_the_planted_performance(scores):
    sizes, truth = np.array([20_000, 20_000]), np.array([0.3, 0.8])
    planted = plant(sizes, truth, np.random.default_rng(0), scores=scores)
    means = np.bincount(planted.labels, planted.scores) / sizes
    assert means == pytest.approx(truth, abs=0.01)


def test_clustered_scores_are_correlated_within_clusters():
    planted = plant(np.array([40_000]), np.array([0.6]), np.random.default_rng(0), cluster_size=2)
    assert planted.clusters is not None
    pairs = planted.scores.reshape(-1, 2)
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(0.25, abs=0.03)


def test_sampled_sizes_vary_around_the_plan_and_the_truth_stays_planned():
    rng = np.random.default_rng(0)
    sizes = np.array([60, 30, 10])
    found = [plant(sizes, np.full(3, 0.5), rng, sampled=True) for _ in range(400)]
    counts = np.array([np.bincount(p.labels) for p in found])
    assert counts.mean(axis=0) == pytest.approx(sizes, rel=0.08)
    assert counts[:, 0].std() > 3
    assert found[0].weights == pytest.approx(sizes / 100)


def test_confidence_explains_everything_in_a_confounded_evaluation():
    scores, labels, confidence = plant_confounded(20_000, 4, np.random.default_rng(0))
    assert np.bincount(labels).tolist() == [5000] * 4
    means = np.bincount(labels, scores) / 5000
    assert np.ptp(means) > 0.3
    band = (confidence > 0.5) & (confidence < 0.52)
    inside = np.bincount(labels[band], scores[band]) / np.bincount(labels[band])
    assert np.ptp(inside[1:3]) < 0.15


def test_too_few_items_are_refused():
    with pytest.raises(BenchharmonyError, match="do not fill"):
        planted_sizes(10, 5, "equal", np.random.default_rng(0))


def test_calibration_counts_what_it_says():
    found = c.coverage(c.planted_stream(300, 3, (0.1,), 10), draws=100, sizes="fixed")
    assert found.evaluations == 10
    assert found.harmony + found.below + found.above == pytest.approx(1.0)
    table = c.verdict_table(c.planted_stream(300, 3, (0.0,), 6), draws=100)
    assert table["even (>= 0.9)"].total() == 6


def test_percentiles_of_raw_h_miss_the_truth_where_subdomains_are_small():
    stream = list(c.planted_stream(300, 20, (0.05,), 20))
    assert c.percentile_coverage(stream, draws=200) < 0.5
    assert c.coverage(stream, draws=200, sizes="sampled").harmony > 0.8


def test_tables_are_markdown():
    from benchharmony.validation.calibration_tables import TABLES

    for name in ("indices", "power"):
        rows = list(TABLES[name](1))
        assert rows[1].startswith("| ---")
        assert len({row.count("|") for row in rows}) == 1
