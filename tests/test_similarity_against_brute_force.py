"""J and S against a second computation, item pair by item pair, over the whole vocabulary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchharmony.errors import BenchharmonyError
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys, median_tau, predictive_similarity, similarity_of


def whole(predictive: Predictive) -> np.ndarray:
    """Return log-probabilities over the whole vocabulary."""
    if predictive.token_ids is None:
        return predictive.logprobs.astype(np.float64)
    out = np.empty((len(predictive), predictive.vocab_size))
    for i, (ids, logs) in enumerate(
        zip(predictive.token_ids, predictive.logprobs.astype(np.float64), strict=True)
    ):
        listed = ids >= 0
        with np.errstate(divide="ignore"):
            out[i] = np.log(predictive.rest[i]) - np.log(max(predictive.n_unlisted[i], 1))
        out[i, ids[listed]] = logs[listed]
    return out


def brute_force(logs: np.ndarray) -> np.ndarray:
    p = np.exp(logs)
    n = len(p)
    j = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            possible = (p[a] > 0) | (p[b] > 0)
            p_gap, log_gap = (x[a, possible] - x[b, possible] for x in (p, logs))
            j[a, b] = (p_gap * log_gap).sum()
    return j


def check(predictive: Predictive) -> None:
    j = jeffreys(predictive)
    expected = brute_force(whole(predictive))
    np.testing.assert_allclose(j, expected, rtol=1e-6, atol=1e-300)
    np.testing.assert_array_equal(j, j.T)
    np.testing.assert_array_equal(np.diag(j), 0)
    np.testing.assert_allclose(similarity_of(j, 0.7), np.exp(-0.35 * expected), rtol=1e-6)


def softmax(logits: np.ndarray) -> np.ndarray:
    z = np.exp(logits - logits.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def random_top_k(seed, n=40, k=12, vocab=300, pad=False, spread=2.0) -> Predictive:
    rng = np.random.default_rng(seed)
    common = rng.choice(vocab, 30, replace=False)
    pool = np.concatenate([np.repeat(common, 20), np.arange(vocab)])
    ids = np.array([rng.permutation(np.unique(rng.choice(pool, 6 * k)))[:k] for _ in range(n)])
    rest = rng.uniform(0.01, 0.5, n)
    p = softmax(rng.normal(0, spread, (n, k))) * (1 - rest)[:, None]
    if pad:
        for i in range(0, n, 3):
            ids[i, -3:] = -1
            rest[i] += p[i, -3:].sum()
    return Predictive.top_k(ids, np.log(p), rest, vocab)


def test_closed_form():
    p = [[0.9, 0.1], [0.1, 0.9]]
    assert jeffreys(p)[0, 1] == pytest.approx(1.6 * np.log(9), abs=1e-9)
    assert jeffreys(p)[0, 1] == pytest.approx(3.5156, abs=5e-5)
    assert predictive_similarity(p, tau=1.0)[0, 1] == pytest.approx(0.172427, abs=5e-7)
    assert predictive_similarity(p, tau=1.0)[0, 1] == pytest.approx(np.exp(-0.8 * np.log(9)))


@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.1, 30))
@settings(max_examples=30, deadline=None)
def test_few_outcomes_from_flat_to_near_one_hot(seed, v, spread):
    logits = np.random.default_rng(seed).normal(0, spread, (15, v))
    check(Predictive.dense(softmax(logits)))


@pytest.mark.parametrize("spread", [0.5, 3.0, 12.0])
def test_many_outcomes(spread):
    logits = np.random.default_rng(1).normal(0, spread, (30, 400))
    check(Predictive.dense(softmax(logits)))


@pytest.mark.parametrize("step", [1e-3, 1e-5, 1e-7])
def test_near_duplicates_keep_their_digits(step):
    rng = np.random.default_rng(2)
    base = rng.normal(0, 2, (1, 300))
    logits = np.repeat(base, 8, axis=0) + rng.normal(0, step, (8, 300))
    check(Predictive.dense(softmax(logits)))


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.3, 2.0, 15.0]))
@settings(max_examples=25, deadline=None)
def test_top_k_and_rest(seed, pad, spread):
    check(random_top_k(seed, pad=pad, spread=spread))


def test_top_k_near_duplicates():
    rng = np.random.default_rng(3)
    base = random_top_k(4, n=1)
    logs = np.repeat(base.logprobs, 6, axis=0) + rng.normal(0, 1e-6, (6, 12))
    rest = 1 - np.exp(logs).sum(axis=1)
    check(Predictive.top_k(np.repeat(base.token_ids, 6, axis=0), logs, rest, 300))


def test_top_k_that_lists_everything_equals_dense():
    p = softmax(np.random.default_rng(5).normal(0, 2, (20, 90)))
    ids = np.argsort(-p, axis=1)
    listed = Predictive.top_k(ids, np.log(np.take_along_axis(p, ids, 1)), np.zeros(20), 90)
    np.testing.assert_allclose(jeffreys(listed), jeffreys(p), rtol=1e-9, atol=1e-12)


def test_some_rows_list_everything():
    p = softmax(np.random.default_rng(6).normal(0, 1, (6, 10)))
    ids = np.argsort(-p, axis=1)
    logs = np.log(np.take_along_axis(p, ids, 1))
    rest = np.zeros(6)
    for i in (1, 4):
        rest[i] = p[i, ids[i, -4:]].sum()
        ids[i, -4:] = -1
    check(Predictive.top_k(ids, logs, rest, 10))


def test_exact_duplicates_are_at_zero():
    duplicated = random_top_k(7, n=5).take([0, 1, 0, 2, 0])
    j = jeffreys(duplicated)
    assert j[0, 2] == j[2, 4] == 0
    check(duplicated)


@pytest.mark.parametrize("width", [4, 100])
def test_impossible_outcomes_are_infinitely_far(width):
    p = np.zeros((4, width))
    p[0, :2] = [0.5, 0.5]
    p[1, :2] = [0.9, 0.1]
    p[2, 2:4] = [0.5, 0.5]
    p[3] = 1 / width
    j = jeffreys(p)
    assert j[0, 1] == pytest.approx(0.4 * np.log(9))
    assert np.isinf(j[0, 2])
    assert np.isinf(j[0, 3])
    assert predictive_similarity(p, tau=1.0)[0, 2] == 0
    check(Predictive.dense(p))


def test_top_k_with_no_rest_is_infinitely_far_from_others():
    ids = np.array([[0, 1], [1, 0], [2, 3], [0, 1]])
    logs = np.log([[0.5, 0.5], [0.8, 0.2], [0.5, 0.5], [0.4, 0.4]])
    predictive = Predictive.top_k(ids, logs, [0, 0, 0, 0.2], 50)
    j = jeffreys(predictive)
    assert j[0, 1] == pytest.approx(0.3 * np.log(0.8 / 0.5) + 0.3 * np.log(0.5 / 0.2))
    assert np.isinf(j[0, 2])
    assert np.isinf(j[0, 3])
    check(predictive)


def test_more_items_than_one_tile():
    p = softmax(np.random.default_rng(8).normal(0, 1, (1100, 3)))
    j = jeffreys(p)
    for a, b in ((0, 1099), (511, 512), (700, 30)):
        assert j[a, b] == pytest.approx(brute_force(np.log(p[[a, b]]))[0, 1], rel=1e-9)
    wide = softmax(np.random.default_rng(8).normal(0, 1, (1100, 70)))
    j = jeffreys(wide)
    for a, b in ((0, 1099), (511, 512), (700, 30)):
        assert j[a, b] == pytest.approx(brute_force(np.log(wide[[a, b]]))[0, 1], rel=1e-9)


def test_the_median_rule_puts_the_median_similarity_at_one_over_e():
    p = softmax(np.random.default_rng(9).normal(0, 2, (60, 5)))
    tau = median_tau(jeffreys(p))
    assert tau.note is None
    s = predictive_similarity(p, tau=tau.value)
    assert np.median(s[np.triu_indices(60, 1)]) == pytest.approx(np.exp(-1))


def test_the_median_rule_says_when_it_cannot_be_followed():
    mostly_equal = np.repeat([[0.5, 0.5]], 9, axis=0)
    mostly_equal[0] = [0.9, 0.1]
    tau = median_tau(jeffreys(mostly_equal))
    assert "duplicates" in tau.note
    assert tau.value == pytest.approx(2 / (0.4 * np.log(9)))
    apart = median_tau(jeffreys(np.eye(4)))
    assert "infinite" in apart.note
    assert apart.value == 1


@pytest.mark.parametrize("tau", [0.0, -1.0, np.inf, np.nan])
def test_a_bad_tau_is_worded(tau):
    with pytest.raises(BenchharmonyError, match="tau"):
        predictive_similarity([[0.5, 0.5], [0.4, 0.6]], tau=tau)
