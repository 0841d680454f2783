"""Statistical promises, held on planted evaluations: coverage, levels, bias, verdicts.

Every bound is that of the issue or of docs/uncertainty.md; seeds are fixed, so a failure means that
the method changed, not that luck did.
"""

import numpy as np
import pytest

from benchharmony.comparison import compare
from benchharmony.metric import harmony_score
from benchharmony.validation import calibration as c
from benchharmony.validation.planted import planted_performance, planted_sizes
from benchharmony.verdict import EXCEPTIONS, REPRESENTATIVE, UNEVEN

pytestmark = pytest.mark.slow

CELLS = [(n, k) for n in (300, 1000, 5000) for k in (3, 10, 20)]


@pytest.mark.parametrize(("n", "k"), CELLS)
def test_intervals_cover_93_to_97_percent(n, k):
    found = c.coverage(c.planted_stream(n, k, c.VARIED, 1000, sampled=True), sizes="sampled")
    assert 0.93 <= found.harmony <= 0.97
    assert 0.92 <= found.agreement <= 0.99
    assert 0.93 <= found.score <= 0.97
    assert 0.93 <= found.subdomains <= 0.97


@pytest.mark.parametrize(("n", "k"), [(300, 20), (1000, 10), (5000, 3)])
def test_fixed_sizes_cover_too(n, k):
    found = c.coverage(c.planted_stream(n, k, c.VARIED, 500), sizes="fixed")
    assert 0.92 <= found.harmony <= 0.98


@pytest.mark.parametrize(("n", "k"), CELLS)
def test_at_the_boundary_intervals_cover_at_least_95_percent(n, k):
    found = c.coverage(c.planted_stream(n, k, (0.0,), 200, sampled=True), sizes="sampled")
    assert found.harmony >= 0.93
    # Where sizes differ the edge is not sharp, so a few intervals lie above the truth.
    assert found.below <= 0.02


@pytest.mark.parametrize("shape", ["halves", "one weak", "one easy"])
def test_exact_ties_are_covered_with_fifty_items_a_subdomain(shape):
    found = c.coverage(c.planted_stream(1000, 20, (shape,), 150), sizes="fixed")
    assert found.harmony >= 0.9


def test_graded_scores_and_clusters_are_covered():
    graded = c.planted_stream(1000, 10, c.VARIED, 120, sampled=True, graded=True)
    assert 0.91 <= c.coverage(graded, sizes="sampled", draws=200).harmony <= 0.99
    clustered = c.planted_stream(1000, 10, c.VARIED, 500, cluster_size=4)
    found = c.coverage(clustered, sizes="fixed")
    assert 0.92 <= found.harmony <= 0.98
    assert 0.92 <= found.score <= 0.98


@pytest.mark.parametrize(("n", "k"), [(300, 3), (300, 20), (1000, 10)])
def test_same_size_null_rejects_5_percent_of_even_evaluations(n, k):
    assert 0.04 <= c.type_one_error(n, k, 3000, draws=200) <= 0.06


@pytest.mark.parametrize(("n", "k"), [(300, 3), (1000, 10)])
def test_matched_null_keeps_its_level_where_same_size_does_not(n, k):
    same, matched = c.confounded_error(n, k, 1500, draws=200)
    assert same > 0.9
    assert 0.04 <= matched <= 0.06


@pytest.mark.parametrize("kind", ["equal", "random", "skewed"])
@pytest.mark.parametrize("shape", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_adjusted_harmony_is_nearly_unbiased(shape, kind):
    stream = c.planted_stream(300, 20, (shape,), 1000, kinds=(kind,))
    error = c.harmony_error(stream)
    assert abs(error.adjusted_bias) <= 0.02
    if shape <= 0.05:
        assert error.adjusted_rmse <= error.raw_rmse / 2


def test_verdicts_err_rarely():
    shapes = (0.0, 0.02, 0.04, 0.12, 0.2, "halves", "one easy")
    table = c.verdict_table(c.planted_stream(1000, 10, shapes, 700, sampled=True))
    even, uneven = table["even (>= 0.9)"], table[c.UNEVEN_BAND]
    good = even[REPRESENTATIVE] + even[EXCEPTIONS]
    assert good / even.total() > 0.75
    assert even[UNEVEN] / even.total() < 0.05
    assert uneven[UNEVEN] / uneven.total() > 0.9
    assert (uneven[REPRESENTATIVE] + uneven[EXCEPTIONS]) / uneven.total() < 0.02


def test_paired_intervals_cover_the_difference_of_true_h():
    rng = np.random.default_rng(0)
    held = []
    for seed in range(300):
        sizes = planted_sizes(1000, 10, "random", rng)
        labels = np.repeat(np.arange(10), sizes)
        luck = rng.random(1000)
        first = planted_performance(0.1, 10, rng)
        second = np.clip(first + 0.1 * rng.standard_normal(10), 0.02, 0.98)
        a = (luck < first[labels]).astype(float)
        own = np.where(rng.random(1000) < 0.7, luck, rng.random(1000))
        b = (own < second[labels]).astype(float)
        weights = sizes / 1000
        truth = harmony_score(weights, first) - harmony_score(weights, second)
        mean = weights @ (first - second)
        made = compare(a, b, labels, draws=300, seed=seed, sizes="fixed")
        held.append(
            (
                made.harmony_interval[0] <= truth <= made.harmony_interval[1],
                made.score_interval[0] <= mean <= made.score_interval[1],
            )
        )
    harmony, score = np.mean(held, axis=0)
    assert 0.92 <= harmony <= 0.98
    assert 0.92 <= score <= 0.98
