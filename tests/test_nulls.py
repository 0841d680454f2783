"""The nulls against brute-force permutation, and what each of them holds fixed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from benchharmony.errors import BenchharmonyError
from benchharmony.metric import harmony_score
from benchharmony.nulls import (
    confidence_strata,
    cross_fitted_null,
    difficulty_matched_null,
    q_values,
    same_size_null,
)
from benchharmony.resampling import partition_sums
from benchharmony.validation.planted import plant_confounded


def permuted_sums(scores, labels, strata, draws, rng):
    """Return subdomain sums after shuffling the scores within strata, one shuffle at a time."""
    sums = []
    for _ in range(draws):
        mixed = scores.copy()
        for stratum in np.unique(strata):
            inside = np.flatnonzero(strata == stratum)
            mixed[inside] = rng.permutation(scores[inside])
        sums.append(np.bincount(labels, mixed))
    return np.array(sums)


@pytest.mark.parametrize("levels", [[0.0, 1.0], [0.0, 0.5, 1.0], None])
@pytest.mark.parametrize("strata", [1, 3])
def test_dealt_sums_follow_the_law_of_permuted_scores(levels, strata):
    rng = np.random.default_rng(0)
    scores = rng.random(90) if levels is None else rng.choice(levels, 90)
    labels = np.repeat([0, 1, 2], [10, 30, 50])
    stratum = rng.integers(strata, size=90)
    dealt = partition_sums(scores, labels, stratum, 4000, np.random.default_rng(1))
    shuffled = permuted_sums(scores, labels, stratum, 4000, np.random.default_rng(2))
    assert dealt.sum(axis=1) == pytest.approx(np.full(4000, scores.sum()))
    assert dealt.mean(axis=0) == pytest.approx(shuffled.mean(axis=0), abs=0.15)
    assert np.cov(dealt.T) == pytest.approx(np.cov(shuffled.T), abs=0.5)


def test_same_size_p_value_is_that_of_the_chi_square_test():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(5), 200)
    scores = (rng.random(1000) < np.repeat([0.55, 0.6, 0.6, 0.62, 0.68], 200)).astype(float)
    table = [np.bincount(labels, scores), np.bincount(labels, 1 - scores)]
    expected = chi2_contingency(table, correction=False).pvalue
    assert same_size_null(scores, labels, draws=5000).p_value == pytest.approx(expected, abs=0.02)


def test_two_halves_are_uneven_although_their_h_is_1():
    scores = np.repeat([1.0, 0.0], 50)
    labels = np.repeat([0, 1], 50)
    null = same_size_null(scores, labels, draws=500)
    assert null.harmony == pytest.approx(1.0)
    assert null.p_value == pytest.approx(1 / 501)
    assert null.spread == pytest.approx(0.5)
    assert null.null_spread < 0.1


def test_null_mean_is_raw_h_under_sampling_noise_alone():
    rng = np.random.default_rng(4)
    scores = (rng.random(300) < 0.65).astype(float)
    labels = np.repeat(np.arange(20), 15)
    brute = []
    for _ in range(400):
        means = np.bincount(labels, rng.permutation(scores)) / 15
        brute.append(harmony_score(np.full(20, 0.05), means))
    null = same_size_null(scores, labels)
    assert null.mean == pytest.approx(np.mean(brute), abs=0.01)
    assert null.sd == pytest.approx(np.std(brute), rel=0.15)


def test_confidence_that_drives_both_deceives_same_size_but_not_the_matched_null():
    scores, labels, confidence = plant_confounded(2000, 8, np.random.default_rng(5))
    assert same_size_null(scores, labels, draws=500).p_value == pytest.approx(1 / 501)
    assert difficulty_matched_null(scores, labels, confidence, draws=500).p_value > 0.05


def test_the_matched_null_still_sees_what_confidence_does_not_explain():
    rng = np.random.default_rng(6)
    scores, labels, confidence = plant_confounded(2000, 8, rng)
    scores[labels == 3] = (rng.random((labels == 3).sum()) < 0.2).astype(float)
    assert difficulty_matched_null(scores, labels, confidence, draws=500).p_value < 0.01


def test_constant_confidence_is_the_same_size_null():
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 2, 200).astype(float)
    labels = np.arange(200) % 4
    matched = difficulty_matched_null(scores, labels, np.ones(200), draws=3000)
    same = same_size_null(scores, labels, draws=3000)
    assert matched.strata == 1
    assert matched.p_value == pytest.approx(same.p_value, abs=0.03)


def test_cross_fitted_with_one_donor_is_same_size_under_another_name():
    scores = np.random.default_rng(8).integers(0, 2, 200).astype(float)
    labels = np.arange(200) % 4
    cross = cross_fitted_null(scores, [labels], draws=3000)
    assert cross.name == "cross_fitted"
    assert cross.p_value == pytest.approx(same_size_null(scores, labels).p_value, abs=0.03)


def test_cross_fitted_with_twice_the_same_donor_changes_nothing():
    scores = np.random.default_rng(9).integers(0, 2, 200).astype(float)
    labels = np.arange(200) % 4
    once = cross_fitted_null(scores, [labels], draws=5000)
    twice = cross_fitted_null(scores, [labels, labels], draws=5000)
    assert twice.p_value == pytest.approx(once.p_value, abs=0.03)
    assert twice.mean == pytest.approx(once.mean, abs=0.01)
    assert twice.harmony == pytest.approx(once.harmony)


def test_strata_are_even_and_keep_equal_values_together():
    confidence = np.array([0.1] * 50 + list(np.linspace(0.2, 1, 50)))
    strata = confidence_strata(confidence, 10)
    assert len(set(strata[:50])) == 1
    assert (np.diff(strata) >= 0).all()
    assert max(np.bincount(strata)[6:]) <= 11


def test_q_values_by_hand_and_with_gaps():
    # Benjamini-Hochberg: 0.01 * 3 / 1, min(0.02 * 3 / 2, 0.2) = 0.03; NaN is left out.
    assert q_values([0.01, 0.02, np.nan, 0.2]) == pytest.approx(
        [0.03, 0.03, np.nan, 0.2], nan_ok=True
    )
    assert np.isnan(q_values([np.nan])).all()


def test_confidence_must_fit_the_items():
    with pytest.raises(BenchharmonyError, match="confidence"):
        difficulty_matched_null([0, 1], [0, 1], [0.5])
    with pytest.raises(BenchharmonyError, match="elsewhere"):
        cross_fitted_null([0, 1], [])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_relabelling_subdomains_changes_no_observed_number(data):
    k = data.draw(st.integers(2, 5))
    labels = np.array([*range(k), *data.draw(st.lists(st.integers(0, k - 1), max_size=40))])
    scores = np.array(
        data.draw(
            st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(labels), max_size=len(labels))
        )
    )
    swap = np.array(data.draw(st.permutations(range(k))))
    first = same_size_null(scores, labels, draws=50)
    second = same_size_null(scores, swap[labels], draws=50)
    assert first.harmony == pytest.approx(second.harmony)
    assert first.spread == pytest.approx(second.spread)
    assert 1 / 51 <= first.p_value <= 1.0
