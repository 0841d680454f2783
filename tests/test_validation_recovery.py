"""Declared subdomains and their H are found where they are there, and not where they are not."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchharmony import partition
from benchharmony.choice import WEAK
from benchharmony.errors import BenchharmonyError
from benchharmony.similarity import jeffreys
from benchharmony.validation.case import case_of, declared_codes, joined_views
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import admissible, best_k, clustered, found, modularity
from benchharmony.validation.k_rules import SUPPORTED, choices, compare_rules, harmony_of
from benchharmony.validation.planted_partitions import plant_partition, recovery_table
from benchharmony.validation.recovery import fit_of, recover, sub_benchmarks
from benchharmony.validation.sensitivity import sensitivity
from benchharmony.validation.stability import agreement_matrix, between_models, stability

SIZES, RATES = (60, 50, 40, 30), (0.9, 0.7, 0.5, 0.3)


def _case(overlap: float = 0.2, **extra):
    made, truth = plant_partition(SIZES, RATES, overlap=overlap, vocab_size=80, **extra)
    return case_of(made), truth


def test_random_membership_agrees_with_nothing():
    labels = np.repeat(np.arange(4), 50)
    same = found(labels, [f"d{label}" for label in labels])
    assert (same.ari, same.ami) == (1, pytest.approx(1))
    assert abs(same.random_ari) < 0.02
    assert abs(same.random_ami) < 0.02


def test_the_clustering_is_that_of_the_partition():
    case, truth = _case()
    sweep = clustered(similarity_from(case.divergence["item"]), (2, 8))
    made = partition(case.evaluation, k_range=(2, 8))
    assert best_k(sweep.silhouette, sweep, (2, 8)) == made.k == 4
    assert found(sweep.labels[4], made.labels.tolist()).ari == 1
    assert found(sweep.labels[4], truth.tolist()).ari == 1


def test_small_clusters_are_not_admissible():
    similarity = np.full((60, 60), 0.1)
    similarity[:2, :2] = similarity[2:, 2:] = 0.9
    np.fill_diagonal(similarity, 1)
    sweep = clustered(similarity, (2, 2))
    assert admissible(sweep, (2, 2)) == []
    assert admissible(sweep, (2, 2), min_share=0) == [2]


def test_modularity_is_that_of_two_cliques():
    similarity = np.kron(np.eye(2), np.ones((3, 3)))
    assert modularity(similarity, np.repeat([0, 1], 3)) == pytest.approx(0.5)
    assert modularity(similarity, np.zeros(6, dtype=int)) == pytest.approx(0)


def test_every_rule_finds_clear_subdomains():
    case, _ = _case(0.1)
    divergence = case.divergence["item"]
    similarity = similarity_from(divergence)
    sweep = clustered(similarity, (2, 8))
    chosen = choices(divergence, similarity, sweep, (2, 8))
    finest = {rule: k for rule, k in chosen.items() if not rule.startswith("stability")}
    assert set(finest.values()) == {4}
    assert all(k >= 4 for k in chosen.values())


def test_rules_are_judged_by_agreement_and_by_h():
    case, _ = _case(0.1)
    by_rule = {r.rule: r for r in compare_rules(case, (2, 6))}
    assert by_rule["declared"].ami == pytest.approx(1)
    assert by_rule["declared"].h_error == pytest.approx(0)
    assert by_rule["declared"].h_error_recorded == pytest.approx(0)
    assert by_rule["declared"].random_h_error > 0.05


def test_h_of_many_score_vectors_is_that_of_each():
    from benchharmony.metric import harmony_score, summarise

    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 50), rng.random((4, 50))
    singly = []
    for row in scores:
        s = summarise(row, labels)
        singly.append(harmony_score(s.weights, s.performance))
    np.testing.assert_allclose(harmony_of(scores, labels), singly)


def test_sub_benchmarks_have_the_sizes_and_performances_asked_for():
    declared = np.repeat(np.arange(5), 60)
    recorded = np.tile([1.0, 0.0], 150)
    ranges = []
    for scores in (None, recorded):
        subs = list(sub_benchmarks(declared, 60, scores, seed=1))
        assert len(subs) == 60
        for sub in subs:
            assert len(set(sub.rows)) == len(sub.rows)
            sizes = np.bincount(sub.labels)
            assert 3 <= len(sizes) <= 5
            assert sizes.min() >= 10
            assert len(set(zip(declared[sub.rows], sub.labels, strict=True))) == len(sizes)
        ranges.append([harmony_of(s.scores[None], s.labels)[0] for s in subs])
        if scores is not None:
            assert all((s.scores == recorded[s.rows]).all() for s in subs)
    for h in ranges:
        assert min(h) < 0.4
        assert max(h) > 0.9


def test_too_few_subdomains_are_refused():
    with pytest.raises(BenchharmonyError, match="3 declared subdomains"):
        next(sub_benchmarks(np.repeat([0, 1], 30), 1))


def test_h_is_recovered_where_subdomains_are_clear_and_not_where_they_are_not():
    r = {}
    for overlap in (0.1, 0.95):
        case, _ = _case(overlap)
        subs = list(sub_benchmarks(declared_codes(case), 40))
        made = recover(case.divergence["item"], subs, positions="item", scores="planted",
                       k_range=(2, 6))  # fmt: skip
        r[overlap] = made[0]
        assert made[0].rule == "declared"
        assert len(made[0].points) + made[0].undefined == 40
    assert r[0.1].fit.r > 0.99
    assert r[0.1].fit.error < 0.02
    assert r[0.1].ari > 0.99
    assert r[0.1].shuffled.r < 0.8
    assert r[0.95].fit.r < 0.8
    assert r[0.95].ari < 0.2


def test_mistakes_cost_agreement_and_recovery():
    from benchharmony.validation.mistakes import recovery_with_mistakes

    made = recovery_with_mistakes(60)
    at_random = made[:-1]
    assert all(a.ari > b.ari for a, b in pairwise(at_random))
    assert at_random[0].fit.r > 0.9
    assert at_random[0].fit.r > at_random[-1].fit.r
    assert made[-1].mistakes == "two whole subdomains mixed"


def test_fit_of_a_line():
    x = np.linspace(0, 1, 30)
    fit = fit_of(x, 0.5 * x + 0.1)
    assert fit.r == pytest.approx(1)
    assert fit.slope == pytest.approx(0.5)
    assert fit.bias == pytest.approx(0.1 - 0.25)
    assert np.isnan(fit_of([0.1], [0.2]).r)


def test_planted_partitions_of_top_tokens_stand_for_the_whole():
    whole, truth = plant_partition((30, 30), (0.5, 0.5), vocab_size=400, seed=3)
    top, same = plant_partition((30, 30), (0.5, 0.5), vocab_size=400, top_k=200, seed=3)
    np.testing.assert_array_equal(truth, same)
    j, cut = jeffreys(whole.predictive["item"]), jeffreys(top.predictive["item"])
    assert np.corrcoef(j.ravel(), cut.ravel())[0, 1] > 0.97
    with pytest.raises(BenchharmonyError, match="overlap"):
        plant_partition((3, 3), (0.5, 0.5), overlap=1.5)


def test_recovery_falls_with_overlap():
    clear, mixed = recovery_table((0.0, 0.9), (120,), (4,), repeats=1, vocab_size=60)
    assert clear.ari == pytest.approx(1)
    assert clear.h_error == pytest.approx(0, abs=1e-9)
    assert mixed.ari < 0.3


def test_sensitivity_names_what_moves_h():
    case, _ = _case(0.1)
    made = sensitivity(case, (2, 6))
    rows = {(r.setting, r.value): r for r in made["one_at_a_time"]}
    assert rows[("k", "4")].ami == pytest.approx(1)
    assert rows[("declared", "domain")].h == pytest.approx(rows[("k", "4")].h)
    assert rows[("bandwidth", "0.05")].h < rows[("bandwidth", "0.2")].h
    assert made["words"][0].startswith("H moves with")
    assert np.shape(made["heat_map"]["h"]) == (5, len(made["heat_map"]["ks"]))


def test_partitions_of_clear_subdomains_are_stable():
    case, _ = _case(0.1)
    (row,) = stability(case)
    assert row["seeds"]["lowest"] == 1
    assert row["subsamples"]["mean"] > 0.95
    assert abs(row["random"]) < 0.05


def test_models_are_compared_on_the_items_they_share():
    one, _ = _case(0.1)
    other = case_of(one.evaluation.take(np.arange(len(one))[::-1][20:]))
    (row,) = between_models([one, other])
    assert row["n_items"] == len(one) - 20
    assert row["names"][-1] == "(declared)"
    np.testing.assert_allclose(row["ari"], 1)
    assert between_models([one]) == []


def test_agreement_leaves_out_items_that_one_lacks():
    a, b = np.array([0, 0, 1, 1, -1]), np.array([1, 1, 0, -1, 0])
    assert agreement_matrix([a, b])[0, 1] == 1


def test_views_of_the_same_items_are_joined_in_the_order_of_the_first():
    made, _ = plant_partition((20, 20), (0.5, 0.5), vocab_size=20)
    answer = replace(made, predictive={"answer": made.predictive["item"]})
    (joined,) = joined_views([made, answer.take(np.arange(40)[::-1])])
    np.testing.assert_array_equal(
        joined.predictive["answer"].logprobs, joined.predictive["item"].logprobs
    )


def test_what_was_averaged_or_asked_otherwise_stays_apart_and_is_named():
    made, _ = plant_partition((20, 20), (0.5, 0.5), vocab_size=20)
    geometric, chat = (
        replace(made, metadata={"settings": settings})
        for settings in ({"mean": "geometric"}, {"mean": "arithmetic", "chat_template": True})
    )
    apart = joined_views([made, geometric, chat])
    named = [list(case_of(e).views) for e in apart]
    assert named == [["item"], ["item, geometric"], ["item, chat template"]]


def test_a_case_needs_distributions_and_labels():
    made, _ = plant_partition((20, 20), (0.5, 0.5), vocab_size=20)
    with pytest.raises(BenchharmonyError, match="no predictive distributions"):
        case_of(replace(made, predictive={}))
    with pytest.raises(BenchharmonyError, match="--declared"):
        case_of(replace(made, groups={}))


@pytest.mark.parametrize(("overlap", "weak"), [(0.1, False), (0.6, True)])
def test_the_default_rule_is_the_one_that_the_comparison_judges(overlap, weak):
    made, _ = plant_partition((40,) * 8, (0.5,) * 8, overlap=overlap, vocab_size=200, seed=1)
    divergence = case_of(made).divergence["item"]
    similarity = similarity_from(divergence)
    sweep = clustered(similarity, (2, 12))
    assert (max(sweep.silhouette.values()) < WEAK) == weak
    compared = choices(divergence, similarity, sweep, (2, 12))[SUPPORTED]
    assert partition(made, k_range=(2, 12)).k == compared == 8
