"""Candidates for one similarity: what is taken out is out, and nobody wins by avoiding words."""

from dataclasses import replace

import numpy as np
import pytest

from benchharmony import Predictive
from benchharmony.validation.case import case_of
from benchharmony.validation.combined import (
    attempts,
    candidates,
    centred_logs,
    rare_tokens,
    residual,
)
from benchharmony.validation.planted_partitions import plant_partition
from benchharmony.validation.ranking import ranking
from benchharmony.validation.redundantqa import load_redundantqa
from benchharmony.validation.words import ngram_overlap, tfidf_cosine

ITEMS = load_redundantqa()[:150]


def test_what_all_items_share_falls_out_of_centred_logs():
    rng = np.random.default_rng(0)
    own, shared = rng.normal(0, 1, (20, 30)), rng.normal(0, 3, 30)
    p = np.exp(own + shared)
    logs = centred_logs(Predictive.dense(p / p.sum(axis=1, keepdims=True)))
    plain = own - own.mean(axis=0)
    # Only the normalising constant of each row is left besides.
    np.testing.assert_allclose(
        logs - logs.mean(axis=1, keepdims=True),
        plain - plain.mean(axis=1, keepdims=True),
        atol=1e-9,
    )


def test_a_rare_token_counts_more_than_a_common_one_of_the_same_change():
    p = np.full((10, 3), [0.01, 0.59, 0.4])
    p[0] = [0.05, 0.59, 0.36]
    features = rare_tokens(Predictive.dense(p))
    assert abs(features[0, 0]) > 3 * abs(features[0, 2])


def test_a_similarity_of_words_alone_is_chance_once_overlap_is_regressed_out():
    texts = [item.text for item in ITEMS]
    surface = np.exp(-3 * tfidf_cosine(texts))
    noise = np.random.default_rng(0).normal(0, 0.05, surface.shape)
    surface = surface * np.exp((noise + noise.T) / 2)
    np.fill_diagonal(surface, 0)
    before = ranking(ITEMS, -surface, draws=10)
    after = ranking(ITEMS, residual(surface, tfidf_cosine(texts)), draws=10)
    assert before.all.auc < 0.1
    assert after.all.auc == pytest.approx(0.5, abs=0.12)
    assert after.others == pytest.approx(0.5, abs=0.12)
    assert np.isfinite(residual(surface, ngram_overlap(texts))).all()


def test_both_tests_are_run_for_a_model_with_both_benchmarks():
    rng = np.random.default_rng(1)
    topics, _ = plant_partition((30, 30, 30), (0.5, 0.5, 0.5), overlap=0.1, vocab_size=40)
    p = rng.dirichlet(np.ones(40), len(ITEMS))
    meaning = replace(
        topics, benchmark="redundantqa", item_ids=tuple(item.id for item in ITEMS), groups={},
        scores=None, metrics={}, predictive={"item": Predictive.dense(p)},
    )  # fmt: skip
    economics = load_redundantqa()[300:310]
    more = replace(meaning, item_ids=(*meaning.item_ids[:140], *(item.id for item in economics)))
    cases = [case_of(more), case_of(topics)]
    made = attempts(cases, lambda _: None)
    by_name = {a.name: a for a in made["attempts"]}
    assert by_name["item"].ami_topics > 0.95
    assert by_name["item"].auc == pytest.approx(0.5, abs=0.15)
    assert not by_name["item"].passes
    assert made["words"][0].startswith("No candidate meets both bars")
    assert attempts(cases[:1], lambda _: None) is None
    # Texts are known for RedundantQA alone here, so nothing that needs them is judged.
    assert any("regressed" in name for name, _ in candidates(cases[0]))
    assert not any("regressed" in name for name in by_name)
