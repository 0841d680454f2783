"""Paired comparison of two models."""

import numpy as np
import pytest
from scipy.stats import binomtest

from benchharmony.comparison import compare
from benchharmony.errors import BenchharmonyError
from benchharmony.uncertainty import intervals


def two_models(sizes, rates_a, rates_b, seed=0, common=0.8):
    """Return scores of two models that share luck: the same uniform number for most items."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    shared, own = rng.random(len(labels)), rng.random(len(labels))
    luck = np.where(rng.random(len(labels)) < common, shared, own)
    a = (shared < np.asarray(rates_a)[labels]).astype(float)
    b = (luck < np.asarray(rates_b)[labels]).astype(float)
    return a, b, labels


def test_a_model_does_not_differ_from_itself():
    a, _, labels = two_models([50] * 4, [0.5, 0.6, 0.7, 0.8], [0.5] * 4)
    result = compare(a, a, labels, draws=300)
    assert result.score_difference == 0.0
    assert result.score_interval[0] < 0 < result.score_interval[1]
    assert result.score_interval[1] < 0.02
    assert result.harmony_difference == 0.0
    assert result.correlation == pytest.approx(1.0)
    assert np.ptp(result.harmony_interval) < np.ptp(intervals(a, labels, draws=300).harmony)
    assert (result.subdomain_p == 1.0).all()


def test_swapping_the_models_turns_every_sign():
    a, b, labels = two_models([200] * 4, [0.6, 0.6, 0.6, 0.6], [0.4, 0.5, 0.8, 0.9])
    one, two = compare(a, b, labels, draws=400), compare(b, a, labels, draws=400)
    assert one.score_difference == pytest.approx(-two.score_difference)
    assert one.score_interval == pytest.approx((-two.score_interval[1], -two.score_interval[0]))
    assert one.adjusted_difference == pytest.approx(-two.adjusted_difference)
    assert one.harmony_interval == pytest.approx(
        (-two.harmony_interval[1], -two.harmony_interval[0]), abs=0.02
    )
    assert one.subdomain_p == pytest.approx(two.subdomain_p)


def test_the_more_even_model_is_found():
    a, b, labels = two_models([300] * 5, [0.6] * 5, [0.3, 0.45, 0.6, 0.75, 0.9])
    result = compare(a, b, labels)
    assert result.harmony_interval[0] > 0.1
    assert result.harmony_difference > 0.2


def test_pairing_narrows_the_interval_of_the_score():
    a, b, labels = two_models([500] * 2, [0.6, 0.6], [0.6, 0.6], common=0.95)
    paired = np.ptp(compare(a, b, labels, draws=100).score_interval)
    unpaired = 2 * 1.96 * np.sqrt(2 * 0.24 / 1000)
    assert paired < unpaired / 2


def test_subdomains_are_tested_by_mcnemar_with_mid_p():
    labels = np.repeat([0, 1], 20)
    a, b = np.zeros(40), np.zeros(40)
    a[:9] = 1.0  # 9 items that A alone solves, 1 that B alone solves
    b[9] = 1.0
    result = compare(a, b, labels, draws=100)
    exact = binomtest(1, 10, 0.5).pvalue
    assert result.subdomain_p[0] == pytest.approx(exact - 10 / 2**10)
    assert result.subdomain_p[1] == 1.0
    assert result.subdomain_q[0] == pytest.approx(2 * result.subdomain_p[0])


def test_graded_scores_are_tested_by_sign_flips():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 60)
    a = rng.random(120) * 0.5
    b = np.where(labels == 0, a + 0.1 * rng.random(120), a + rng.normal(0, 0.02, 120)).clip(0, 1)
    result = compare(a, b, labels, draws=2000)
    assert result.subdomain_p[0] == pytest.approx(1 / 2001)
    assert result.subdomain_p[1] > 0.01


def test_same_seed_same_result():
    a, b, labels = two_models([40] * 3, [0.5, 0.6, 0.7], [0.7, 0.6, 0.5])
    one, two = compare(a, b, labels, seed=3), compare(a, b, labels, seed=3)
    assert one.harmony_interval == two.harmony_interval
    assert one.correlation == two.correlation


def test_scores_of_different_length_are_refused():
    with pytest.raises(BenchharmonyError, match="do not fit"):
        compare([1.0, 0.0], [1.0], [0, 1])
