"""The posterior of true performances against closed forms and brute force."""

import numpy as np
import pytest
from scipy.stats import beta

from benchharmony.posterior import Prior, performance_draws


def draws(won, lost, prior=None, number=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return performance_draws(
        np.asarray(won, dtype=float), np.asarray(lost, dtype=float), number, rng, prior
    )


def test_one_subdomain_is_a_uniform_prior_updated():
    # Mean uniform, and the spread of a single subdomain only blurs it a little.
    found = draws([30], [10], Prior(alike=1 - 1e-12))
    exact = beta(31, 11)
    assert found.mean() == pytest.approx(exact.mean(), abs=0.003)
    assert found.std() == pytest.approx(exact.std(), rel=0.05)
    assert np.quantile(found, [0.05, 0.95]) == pytest.approx(exact.ppf([0.05, 0.95]), abs=0.005)


def test_alike_for_sure_pools_the_counts():
    found = draws([30, 10, 5], [10, 10, 5], Prior(alike=1 - 1e-12, max_groups=1))
    exact = beta(46, 26)
    assert np.ptp(found, axis=1).max() == pytest.approx(0.0, abs=1e-12)
    assert found.mean() == pytest.approx(exact.mean(), abs=0.003)
    assert found.std() == pytest.approx(exact.std(), rel=0.05)


def test_the_sampler_follows_importance_sampling_of_the_same_model():
    won, lost = np.array([9.0, 7.0, 12.0]), np.array([3.0, 9.0, 2.0])
    prior = Prior(alike=1e-9, max_groups=1, spreads=60)
    found = draws(won, lost, prior)
    # The model said the other way round: draw mean, spread and truths, weigh by the likelihood.
    rng = np.random.default_rng(1)
    mean, spread = rng.random(400_000), 0.98 * rng.random(400_000)
    precision = 1 / spread**2 - 1
    a = (mean * precision)[:, None]
    b = ((1 - mean) * precision)[:, None]
    truth = rng.beta(np.maximum(a, 1e-3), np.maximum(b, 1e-3), size=(400_000, 3))
    truth = truth.clip(1e-9, 1 - 1e-9)
    logs = (won * np.log(truth) + lost * np.log1p(-truth)).sum(axis=1)
    weight = np.exp(logs - logs.max())
    expected = (weight[:, None] * truth).sum(axis=0) / weight.sum()
    assert found.mean(axis=0) == pytest.approx(expected, abs=0.01)
    gap = truth.max(axis=1) - truth.min(axis=1)
    assert np.ptp(found, axis=1).mean() == pytest.approx(
        (weight * gap).sum() / weight.sum(), abs=0.015
    )


def test_noise_is_shrunk_and_signal_is_kept():
    rng = np.random.default_rng(2)
    noise = rng.binomial(15, 0.65, 20)
    found = draws(noise, 15 - noise)
    assert found.mean(axis=0).std() < (noise / 15).std() / 3
    signal = np.array([400, 500, 600, 700])
    found = draws(signal, 1000 - signal)
    assert found.mean(axis=0) == pytest.approx(signal / 1000, abs=0.01)


def test_groups_keep_an_outlier_from_spreading_the_rest():
    won = np.array([700.0] * 9 + [300.0])
    lost = 1000 - won
    grouped = draws(won, lost, number=4000)
    single = draws(won, lost, Prior(max_groups=1), number=4000)
    assert grouped[:, :9].std(axis=1).mean() < single[:, :9].std(axis=1).mean() / 3
    assert grouped[:, 9].mean() == pytest.approx(0.3, abs=0.01)


def test_order_of_subdomains_is_kept():
    won, lost = np.array([90.0, 10.0, 50.0]), np.array([10.0, 90.0, 50.0])
    assert draws(won, lost).mean(axis=0) == pytest.approx([0.9, 0.1, 0.5], abs=0.03)


def test_many_subdomains_and_extreme_counts_stay_in_range():
    won = np.concatenate([np.zeros(40), np.full(40, 5.0)])
    found = draws(won, 5.0 - won, number=300)
    assert found.shape == (300, 80)
    assert ((found >= 0) & (found <= 1)).all()
    assert found[:, :40].mean() < 0.1 < 0.9 < found[:, 40:].mean()
