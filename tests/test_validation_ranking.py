"""A ranking sees meaning against surface, and chance is a half."""

import numpy as np
import pytest

from benchharmony.errors import BenchharmonyError
from benchharmony.validation.ranking import ranking
from benchharmony.validation.redundantqa import load_redundantqa, overlap_gap, word_overlap
from benchharmony.validation.words import ngram_overlap, tfidf_cosine

ITEMS = load_redundantqa()
SOME = ITEMS[:100]


def _planted(of_role: dict[str, float]) -> np.ndarray:
    """Similarity to items of the own group by role; 0.1 to all others."""
    out = np.full((len(SOME), len(SOME)), 0.1)
    for i, a in enumerate(SOME):
        for j, b in enumerate(SOME):
            if a.group == b.group:
                out[i, j] = of_role[b.role]
    return out


def test_paraphrases_always_nearer_is_one_and_look_alikes_nearer_is_zero():
    meaning = ranking(SOME, _planted({"reference": 1, "paraphrase": 0.8, "distractor": 0.4}))
    assert (meaning.all.auc, meaning.all.within, meaning.others) == (1, 1, 1)
    assert meaning.all.interval == (1, 1)
    surface = ranking(SOME, _planted({"reference": 1, "paraphrase": 0.4, "distractor": 0.8}))
    assert (surface.all.auc, surface.par1.auc, surface.par2.auc) == (0, 0, 0)
    assert surface.others == 1


def test_avoiding_shared_words_ranks_no_paraphrase_above_unrelated_items():
    made = ranking(ITEMS, -tfidf_cosine([item.text for item in ITEMS]), draws=10)
    assert made.all.auc > 0.95
    assert made.others < 0.2


def test_noise_is_a_half_with_an_interval_that_holds_it():
    noise = np.random.default_rng(0).random((len(ITEMS), len(ITEMS)))
    made = ranking(ITEMS, noise)
    low, high = made.all.interval
    assert low < 0.5 < high
    assert made.random == pytest.approx(0.5, abs=0.03)
    assert made.others == pytest.approx(0.5, abs=0.05)


def test_auc_and_bootstrap_agree_with_the_checks_of_the_data():
    overlap = word_overlap(ITEMS, "jaccard_gold")
    made, gap = ranking(ITEMS, overlap), overlap_gap(ITEMS, overlap)
    assert made.all.auc == pytest.approx(gap.auc)
    assert made.all.within == pytest.approx(gap.auc_within)
    assert made.all.interval[0] < gap.auc < made.all.interval[1]
    assert made.par1.auc == 1
    assert made.par2.auc < 0.7


def test_groups_with_a_member_missing_are_left_out():
    made = ranking(SOME[1:], np.random.default_rng(0).random((99, 99)))
    assert made.groups == 19
    with pytest.raises(BenchharmonyError, match="no group"):
        ranking(SOME[:4], np.eye(4))


def test_words_are_counted_as_the_checks_of_the_data_count_them():
    texts = [item.text for item in SOME]
    np.testing.assert_allclose(ngram_overlap(texts), word_overlap(SOME, "jaccard"))
    np.testing.assert_allclose(tfidf_cosine(texts), word_overlap(SOME, "tfidf"), atol=1e-12)


def test_word_pairs_and_texts_without_words():
    overlap = ngram_overlap(["a b c", "a b d", "c"], 2)
    assert overlap[0, 1] == pytest.approx(1 / 3)
    assert overlap[0, 2] == 0
    np.testing.assert_array_equal(ngram_overlap(["?", "!"]), np.eye(2))
    np.testing.assert_array_equal(tfidf_cosine(["?", "!"]), np.eye(2))
