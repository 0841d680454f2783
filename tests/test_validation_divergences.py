"""Divergences agree with brute force over the whole vocabulary."""

import numpy as np
import pytest

from benchharmony import Predictive, jeffreys
from benchharmony.errors import BenchharmonyError
from benchharmony.similarity import median_tau, predictive_similarity
from benchharmony.validation.divergences import (
    forward_kl,
    hellinger,
    jensen_shannon,
    similarity_from,
    truncated,
)


@pytest.fixture
def top_and_whole() -> tuple[Predictive, np.ndarray]:
    """Top tokens of 7 items, one row padded, and the whole distributions that they stand for."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(40, 0.3), 7)
    ids = np.argsort(-p, axis=1)[:, :9]
    logs = np.log(np.take_along_axis(p, ids, axis=1))
    ids[0, -2:], logs[0, -2:] = -1, -np.inf
    rest = 1 - np.exp(logs).sum(axis=1)
    whole = np.repeat((rest / (40 - (ids >= 0).sum(axis=1)))[:, None], 40, axis=1)
    for row in range(7):
        real = ids[row] >= 0
        whole[row, ids[row][real]] = np.exp(logs[row][real])
    return Predictive.top_k(ids, logs, rest, 40), whole / whole.sum(axis=1, keepdims=True)


def _entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(p)).sum(axis=-1)


def test_forward_kl_is_the_sum_over_the_vocabulary(top_and_whole):
    top, p = top_and_whole
    brute = (p[:, None] * np.log(p[:, None] / p[None])).sum(axis=-1)
    np.testing.assert_allclose(forward_kl(top), brute, atol=1e-12)
    np.testing.assert_allclose(forward_kl(Predictive.dense(p)), brute, atol=1e-12)


def test_both_ways_of_kl_make_jeffreys(top_and_whole):
    top, _ = top_and_whole
    one_way = forward_kl(top)
    np.testing.assert_allclose(one_way + one_way.T, jeffreys(top), atol=1e-10)


def test_hellinger_is_the_sum_over_the_vocabulary(top_and_whole):
    top, p = top_and_whole
    brute = 1 - np.sqrt(p[:, None] * p[None]).sum(axis=-1)
    np.testing.assert_allclose(hellinger(top), brute, atol=1e-12)
    np.testing.assert_allclose(hellinger(Predictive.dense(p)), brute, atol=1e-12)


def test_jensen_shannon_is_the_entropy_of_the_mixture_less_the_mean_entropy(top_and_whole):
    top, p = top_and_whole
    brute = _entropy((p[:, None] + p[None]) / 2) - (_entropy(p)[:, None] + _entropy(p)) / 2
    np.testing.assert_allclose(jensen_shannon(top), brute, atol=1e-12)
    np.testing.assert_allclose(jensen_shannon(Predictive.dense(p)), brute, atol=1e-12)


def test_closed_forms_of_two_outcomes():
    view = Predictive.dense([[0.9, 0.1], [0.1, 0.9]])
    assert forward_kl(view)[0, 1] == pytest.approx(0.8 * np.log(9))
    assert hellinger(view)[0, 1] == pytest.approx(1 - 2 * np.sqrt(0.09))
    half = _entropy(np.array([0.5, 0.5])) - _entropy(np.array([0.9, 0.1]))
    assert jensen_shannon(view)[0, 1] == pytest.approx(half)


def test_disjoint_distributions_are_as_far_apart_as_can_be():
    view = Predictive.dense([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert forward_kl(view)[0, 1] == np.inf
    assert hellinger(view)[0, 1] == pytest.approx(1.0)
    assert jensen_shannon(view)[0, 1] == pytest.approx(np.log(2))


def test_cutting_keeps_the_mass_and_the_likeliest_tokens(top_and_whole):
    _, p = top_and_whole
    cut = truncated(Predictive.dense(p), 5)
    assert cut.logprobs.shape == (7, 5)
    np.testing.assert_allclose(np.exp(cut.logprobs).sum(axis=1) + cut.rest, 1, atol=1e-9)
    np.testing.assert_allclose(np.sort(np.exp(cut.logprobs)), np.sort(p)[:, -5:], atol=1e-9)
    assert truncated(cut, 5) is cut


def test_the_median_rule_is_that_of_predictive_similarity(top_and_whole):
    top, _ = top_and_whole
    j = jeffreys(top)
    expected = predictive_similarity(top, tau=median_tau(j).value)
    np.testing.assert_allclose(similarity_from(j), expected, atol=1e-12)
    with pytest.raises(BenchharmonyError, match="no two items differ"):
        similarity_from(np.zeros((3, 3)))
