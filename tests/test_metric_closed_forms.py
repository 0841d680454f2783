"""Closed forms, invariants and a second computation of HARMONY and its companions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import entr

from benchharmony.errors import BenchharmonyError
from benchharmony.metric import (
    agreement,
    between_variance,
    harmony_score,
    harmony_values,
    performance_masses,
    shrunken_performance,
    size_evenness,
    summarise,
    weighted_sd,
)

unit = st.floats(0, 1)
THIRDS = (1 / 3, 1 / 3, 1 / 3)


def cases(k_max: int = 8):
    return st.integers(2, k_max).flatmap(
        lambda k: st.tuples(
            hnp.arrays(np.float64, k, elements=st.floats(0.01, 1)),
            hnp.arrays(np.float64, k, elements=unit),
        )
    )


def harmony_by_hand(weights, performance, b, eps):
    total = sum(weights)
    w = [x / total for x in weights]
    mu = math.fsum(wi * pi for wi, pi in zip(w, performance, strict=True))
    raw = [wi * math.exp(-(((pi - mu) / b) ** 2)) for wi, pi in zip(w, performance, strict=True)]
    p = [x / math.fsum(raw) for x in raw]
    return -math.fsum(x * math.log(x + eps) for x in p) / math.log(len(p))


def test_equal_subdomains_give_one():
    assert harmony_score([0.25] * 4, [0.6] * 4) == pytest.approx(1, abs=1e-9)


def test_sizes_alone():
    assert harmony_score([0.9, 0.1], [0.5, 0.5]) == pytest.approx(0.4689955935892812, abs=1e-9)
    assert size_evenness([0.9, 0.1]) == pytest.approx(0.4689955935892812, abs=1e-12)


def test_three_thirds():
    mu, masses = performance_masses(THIRDS, (0.8, 0.8, 0.5))
    light = math.exp(-4)
    heavy = math.exp(-1)
    expected = np.array([heavy, heavy, light]) / (2 * heavy + light)
    assert mu == pytest.approx(0.7, abs=1e-12)
    np.testing.assert_allclose(masses, expected, atol=1e-12)
    np.testing.assert_allclose(masses, [0.4879, 0.4879, 0.0243], atol=5e-5)
    h = harmony_score(THIRDS, (0.8, 0.8, 0.5))
    assert h == pytest.approx(entr(expected).sum() / math.log(3), abs=1e-9)
    assert h == pytest.approx(0.7196, abs=5e-5)


def test_two_halves_are_the_blind_spot():
    assert harmony_score([0.5, 0.5], [1.0, 0.0]) == pytest.approx(1, abs=1e-9)
    assert agreement([0.5, 0.5], [1.0, 0.0]) == pytest.approx(math.exp(-25), rel=1e-12)
    assert weighted_sd([0.5, 0.5], [1.0, 0.0]) == pytest.approx(0.5)


def test_fewer_than_two_subdomains_are_undefined():
    assert math.isnan(harmony_score([1.0], [0.5]))
    assert math.isnan(harmony_score([1.0, 0.0], [0.5, 0.9]))


@given(cases(), st.floats(0.05, 1))
def test_agrees_with_a_plain_python_computation(case, b):
    w, psi = case
    assert harmony_score(w, psi, bandwidth=b) == pytest.approx(
        harmony_by_hand(w.tolist(), psi.tolist(), b, 1e-12), abs=1e-9
    )


@given(cases(), st.randoms(use_true_random=False))
def test_order_of_subdomains_does_not_matter(case, random):
    w, psi = case
    order = list(range(len(w)))
    random.shuffle(order)
    assert harmony_score(w[order], psi[order]) == pytest.approx(harmony_score(w, psi), abs=1e-12)


@given(cases(), st.floats(-0.3, 0.3))
def test_a_shift_of_all_performances_does_not_matter(case, shift):
    w, psi = case
    assert harmony_score(w, psi + shift) == pytest.approx(harmony_score(w, psi), abs=1e-6)


@given(cases())
def test_ranges(case):
    w, psi = case
    assert 0 <= harmony_score(w, psi) <= 1
    assert 0 < agreement(w, psi) <= 1 + 1e-12
    assert 0 <= size_evenness(w) <= 1


@given(cases())
def test_a_wide_bandwidth_leaves_the_sizes(case):
    w, psi = case
    assert harmony_score(w, psi, bandwidth=1e4) == pytest.approx(size_evenness(w), abs=1e-6)


def test_a_tiny_bandwidth_does_not_divide_by_zero():
    assert 0 <= harmony_score([0.5, 0.3, 0.2], [0.9, 0.4, 0.1], bandwidth=1e-6) <= 1


def test_many_vectors_at_once_equal_one_by_one():
    rng = np.random.default_rng(0)
    w = rng.dirichlet(np.ones(5), 50)
    psi = rng.random((50, 5))
    one_by_one = [harmony_score(a, b) for a, b in zip(w, psi, strict=True)]
    np.testing.assert_allclose(harmony_values(w, psi), one_by_one, rtol=1e-12)


def test_an_empty_subdomain_is_not_counted():
    full = harmony_score([0.6, 0.4], [0.7, 0.5])
    assert harmony_score([0.6, 0.0, 0.4], [0.7, np.nan, 0.5]) == pytest.approx(full, abs=1e-12)


def test_summary_of_scores():
    s = summarise([1, 0, 1, 1, 0.5], [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(s.sizes, [2, 3])
    np.testing.assert_allclose(s.performance, [0.5, 2.5 / 3])
    within = (0.25 + 0.25 + 2 * (1 / 6) ** 2 + (1 / 3) ** 2) / 3
    np.testing.assert_allclose(s.variances, [within / 2, within / 3])


def test_shrinking_keeps_the_mean_and_stops_at_no_spread():
    w = np.array([0.5, 0.3, 0.2])
    psi = np.array([0.6, 0.62, 0.58])
    assert between_variance(w, psi, np.full(3, 0.01)) == 0
    np.testing.assert_allclose(shrunken_performance(w, psi, np.full(3, 0.01)), (w * psi).sum())
    wide = np.array([0.9, 0.5, 0.1])
    out = shrunken_performance(w, wide, np.array([0.001, 0.002, 0.003]))
    assert (w * out).sum() == pytest.approx((w * wide).sum())
    assert out.std() < wide.std()


def test_no_noise_means_no_shrinking():
    w, psi = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    np.testing.assert_allclose(shrunken_performance(w, psi, np.zeros(2)), psi)


def test_between_variance_is_unbiased_on_planted_noise():
    rng = np.random.default_rng(1)
    v = np.full(20, 0.004)
    psi = 0.6 + rng.normal(0, 0.1, (4000, 20)) + rng.normal(0, np.sqrt(v), (4000, 20))
    t2 = between_variance(np.full((4000, 20), 0.05), psi, v)
    assert t2.mean() == pytest.approx(0.01, rel=0.03)


@pytest.mark.parametrize(
    ("weights", "performance", "bandwidth", "message"),
    [
        ([0.5, 0.5], [0.1, 0.2, 0.3], 0.1, "do not fit"),
        ([0.5, -0.5], [0.1, 0.2], 0.1, "not negative"),
        ([0.0, 0.0], [0.1, 0.2], 0.1, "not all zero"),
        ([0.5, 0.5], [0.1, np.nan], 0.1, "finite"),
        ([0.5, 0.5], [0.1, 0.2], 0.0, "bandwidth"),
        ([[0.5, 0.5]], [[0.1, 0.2]], 0.1, "one vector"),
    ],
)
def test_bad_input_is_worded(weights, performance, bandwidth, message):
    with pytest.raises(BenchharmonyError, match=message):
        harmony_score(weights, performance, bandwidth=bandwidth)
