"""Each rule of the verdict, and the order of the rules."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony import verdict as v
from benchharmony.nulls import difficulty_matched_null, same_size_null
from benchharmony.uncertainty import intervals
from benchharmony.validation.planted import plant

CLEAR = v.Evidence(
    items=1000,
    k=4,
    score=0.6,
    sizes=(250, 250, 250, 250),
    harmony=0.97,
    adjusted=0.99,
    evenness=1.0,
    agreement=0.95,
    agreement_interval=(0.85, 1.0),
    p_value=0.4,
)


def label(**changes):
    return v.verdict(replace(CLEAR, **changes)).label


def judged(sizes, performance, seed=0, **extra):
    rng = np.random.default_rng(seed)
    planted = plant(np.asarray(sizes), np.asarray(performance, dtype=float), rng)
    evidence = v.gather(
        planted.scores,
        planted.labels,
        intervals(planted.scores, planted.labels, draws=500),
        same_size_null(planted.scores, planted.labels, draws=500),
        **extra,
    )
    return v.verdict(evidence)


def test_even_and_sure_is_representative():
    assert label() == v.REPRESENTATIVE


def test_single_subdomains_apart_are_exceptions():
    result = v.verdict(replace(CLEAR, exceptions=("law", "history")))
    assert result.label == v.EXCEPTIONS
    assert "law and history clearly differ." in result.sentence


def test_low_agreement_with_the_null_rejected_is_uneven():
    assert label(agreement=0.5, agreement_interval=(0.4, 0.6), p_value=0.001) == v.UNEVEN


def test_low_agreement_without_rejection_cannot_tell():
    assert label(agreement=0.7, agreement_interval=(0.4, 1.0), p_value=0.2) == v.TOO_FEW


def test_low_agreement_that_may_be_high_cannot_tell():
    assert label(agreement=0.7, agreement_interval=(0.4, 0.95), p_value=0.001) == v.TOO_FEW


def test_an_interval_that_reaches_low_cannot_tell():
    assert label(agreement=0.85, agreement_interval=(0.5, 1.0)) == v.TOO_FEW


def test_artefacts_come_before_everything_but_undefined():
    assert label(artefacts=("predicted option",), items=10) == v.ARTEFACT
    assert label(artefacts=("predicted option",), k=1) == v.UNDEFINED


def test_few_items_and_tiny_subdomains_cannot_tell():
    assert label(items=20, sizes=(5, 5, 5, 5)) == v.TOO_FEW
    assert label(items=40, sizes=(28, 4, 4, 4)) == v.TOO_FEW
    assert label(items=100, sizes=(92, 4, 4)) == v.REPRESENTATIVE


def notes(**changes):
    return " ".join(v.verdict(replace(CLEAR, **changes)).notes)


def test_a_large_subdomain_is_told_unless_equal_ones_are_as_large():
    assert "mostly its score" not in notes(k=2, sizes=(500, 500))
    assert "mostly its score" not in notes(k=2, sizes=(700, 300))
    assert "80% of the items" in notes(k=2, sizes=(800, 200))
    assert "50% of the items" in notes(k=3, sizes=(500, 250, 250))


def test_a_score_that_leaves_no_room_is_told_where_it_is_called_even():
    assert "0.008, close to 0" in notes(score=0.008)
    assert "0.990, close to 1" in notes(score=0.99)
    assert "room" not in notes(score=0.9)
    assert "room" not in notes(score=0.99, agreement=0.5, agreement_interval=(0.4, 0.6), p_value=0)


def test_what_noise_takes_off_is_told_as_that():
    assert "about 0.20 off raw H (0.30); adjusted for it, H is 0.50" in notes(
        harmony=0.3, adjusted=0.5
    )


def test_thresholds_are_adjustable():
    strict = v.Thresholds(agreement=0.96)
    assert v.verdict(CLEAR, strict).label == v.TOO_FEW


def test_high_h_with_low_agreement_is_explained():
    result = judged([500, 500], [0.95, 0.35])
    assert result.label == v.UNEVEN
    assert any("which H cannot see" in note for note in result.notes)


def test_uneven_sizes_with_even_performance_are_representative_with_a_note():
    result = judged([1800, 200], [0.7, 0.7])
    assert result.label == v.REPRESENTATIVE
    assert any("sizes alone" in note for note in result.notes)
    assert any("90%" in note for note in result.notes)


def test_one_weak_subdomain_of_twenty_is_an_exception_by_name():
    names = [f"topic {i}" for i in range(20)]
    result = judged([200] * 20, [0.7] * 19 + [0.3], names=names)
    assert result.label == v.EXCEPTIONS
    assert "topic 19 clearly differs" in result.sentence


def test_fifteen_items_a_subdomain_cannot_tell_small_spreads():
    result = judged([5] * 20, [0.65] * 20)
    assert result.label == v.TOO_FEW


def test_differences_that_confidence_explains_are_noted():
    rng = np.random.default_rng(0)
    confidence = rng.random(4000)
    labels = np.minimum((confidence + 0.1 * rng.standard_normal(4000)) * 4, 3).clip(0).astype(int)
    scores = (rng.random(4000) < confidence).astype(float)
    evidence = v.gather(
        scores,
        labels,
        intervals(scores, labels, draws=300),
        same_size_null(scores, labels, draws=300),
        matched=difficulty_matched_null(scores, labels, confidence, draws=300),
    )
    result = v.verdict(evidence)
    assert result.label == v.UNEVEN
    assert any("confidence accounts" in note for note in result.notes)


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 30),
    st.lists(st.text(max_size=5), max_size=6),
)
def test_every_evidence_gets_a_known_label_and_one_sentence(agree, low, p, harmony, k, names):
    evidence = replace(
        CLEAR,
        k=k,
        harmony=harmony,
        agreement=agree,
        agreement_interval=(min(low, agree), 1.0),
        p_value=p,
        exceptions=tuple(names),
    )
    result = v.verdict(evidence)
    assert result.label in v.LABELS
    assert result.sentence.endswith(".")


def test_names_are_listed_up_to_three():
    result = v.verdict(replace(CLEAR, exceptions=("a", "b", "c", "d", "e")))
    assert "a, b, c and 2 more" in result.sentence


@pytest.mark.parametrize("apart", [0.05, 0.3])
def test_how_far_an_exception_lies_is_a_threshold(apart):
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], [800, 200, 100, 100])
    labels = np.repeat([0, 0, 1, 1], [800, 200, 100, 100])
    found = v.standing_apart(scores, labels, v.Thresholds(stands_apart=apart))
    assert found == ([1] if apart == 0.05 else [])
