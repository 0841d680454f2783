"""Partitions from many models' responses: found groups, no difficulty, cross-fitting."""

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation
from benchharmony.landscape import landscape
from benchharmony.report import Settings
from benchharmony.responses import profiles, response_partitions
from benchharmony.splits import split_all


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def crowd(models=16, n=300, groups=2, *, strength=2.0, seed=0, names=None):
    """Models that are each better at some groups of items than at others."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, groups, n)
    skill = rng.normal(0, strength, (models, groups))
    chance = sigmoid(skill[:, truth] + rng.normal(0, 1, n) + rng.normal(0, 0.3, (models, n)))
    return [
        Evaluation.from_arrays(
            benchmark="crowd", model=names[i] if names else f"m{i}", scores=chance[i]
        )
        for i in range(models)
    ], truth


def agree(a, b):
    from sklearn.metrics import adjusted_rand_score

    return adjusted_rand_score(a, b)


def test_groups_that_models_differ_on_are_found():
    evaluations, truth = crowd()
    made, found = response_partitions(evaluations, Settings(k=2))
    assert min(agree(p.labels, truth) for p in made) > 0.8
    assert found["artefacts"]["difficulty"] < 0.1


def test_difficulty_alone_makes_no_groups():
    """All models find the same items hard: nothing is left once difficulty is taken out."""
    rng = np.random.default_rng(1)
    ease = rng.normal(0, 2, 300)
    scores = sigmoid(ease + rng.normal(0, 0.7, (12, 300)))
    evaluations = [
        Evaluation.from_arrays(benchmark="b", model=f"m{i}", scores=s) for i, s in enumerate(scores)
    ]
    made, found = response_partitions(evaluations, Settings(k=4))
    assert found["artefacts"]["difficulty"] < 0.1
    hard = np.searchsorted(np.quantile(ease, (0.25, 0.5, 0.75)), ease)
    assert abs(agree(made[0].labels, hard)) < 0.1


def test_a_familys_own_answers_never_touch_its_partition():
    names = [f"A-{s}B" for s in (1, 3, 7)] + [f"m{i}" for i in range(9)]
    evaluations, _ = crowd(12, names=names)
    first, _ = response_partitions(evaluations, Settings(k=3))
    flipped = [
        Evaluation.from_arrays(
            benchmark="crowd", model=e.model,
            scores=1 - e.scores if e.model.startswith("A-") else e.scores,
        )
        for e in evaluations
    ]  # fmt: skip
    second, _ = response_partitions(flipped, Settings(k=3))
    for i, name in enumerate(names):
        same = (first[i].labels == second[i].labels).all()
        assert same == name.startswith("A-"), name


def test_profiles_do_not_change_with_a_models_level_or_the_order_of_items():
    rng = np.random.default_rng(0)
    values = rng.random((9, 80))
    assert profiles(values + rng.normal(size=(9, 1))) == pytest.approx(profiles(values))
    order = rng.permutation(80)
    assert profiles(values[:, order]) == pytest.approx(profiles(values)[order])
    assert np.linalg.norm(profiles(values), axis=1) == pytest.approx(np.ones(80))


def test_weak_and_strong_models_parting_at_hard_items_make_no_groups():
    """Models of one skill at many levels: their item curves differ, their groups do not."""
    rng = np.random.default_rng(3)
    ease, ability = rng.normal(0, 2, 400), np.linspace(-2, 3, 14)
    scores = (rng.random((14, 400)) < sigmoid(ability[:, None] + ease)).astype(float)
    evaluations = [
        Evaluation.from_arrays(benchmark="b", model=f"m{i}", scores=s) for i, s in enumerate(scores)
    ]
    _, found = response_partitions(evaluations, Settings(k=4))
    assert found["artefacts"]["difficulty"] < 0.2


def test_items_that_all_models_treat_alike_have_no_profile():
    values = np.full((9, 5), 0.5)
    values[:, 0] = 1.0
    assert not profiles(values).any()


def test_option_probabilities_serve_where_there_is_no_key():
    rng = np.random.default_rng(2)
    logs = np.log(rng.dirichlet(np.ones(4), (9, 120)))
    evaluations = [
        Evaluation.from_arrays(benchmark="b", model=f"m{i}", scores=None, option_logprobs=x)
        for i, x in enumerate(logs)
    ]
    _, found = response_partitions(evaluations, Settings(k=3))
    assert found["source"] == "option probabilities (no key)"


def test_too_few_models_are_refused():
    with pytest.raises(BenchharmonyError, match="needs 8 models, there are 7"):
        response_partitions(crowd(7)[0], Settings())
    names = [f"A-{i}B" for i in range(1, 7)] + ["x", "y", "z"]
    with pytest.raises(BenchharmonyError, match="only 3 models are outside the family A"):
        response_partitions(crowd(9, names=names)[0], Settings())


def test_the_landscape_says_what_it_is():
    evaluations, _ = crowd(10, 200)
    text = landscape(evaluations, partition="responses", bootstrap=60, repeats=2).render("text")
    assert "group items that the same models find hard" in " ".join(text.split())


def test_a_benchmark_that_cannot_is_left_out_with_the_reason():
    made = split_all(crowd(3)[0], Settings(partition="responses"))
    assert all("needs 8 models" in s.error for s in made.splits)
