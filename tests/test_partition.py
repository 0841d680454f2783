"""Partitions find planted subdomains, do not depend on row order, and say when there is none."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from benchharmony import BenchharmonyError, Evaluation, Predictive, partition
from benchharmony.validation.planted_partitions import plant_partition
from planted import planted


def evaluation(p, **extra):
    n = len(next(iter(p.values())) if isinstance(p, dict) else p)
    scores = np.arange(n) % 2
    return Evaluation.from_arrays(benchmark="b", model="m", scores=scores, predictive=p, **extra)


def test_planted_subdomains_are_found_and_k_chosen():
    made, truth = planted()
    split = partition(made)
    assert split.kind == "predictive"
    assert split.positions == "item"
    assert split.k == 3
    assert adjusted_rand_score(truth, split.labels) == 1
    np.testing.assert_array_equal(split.sizes, [120, 90, 60])
    assert split.names == ("S1", "S2", "S3")
    assert set(split.silhouette_by_k) == set(range(2, 21))
    assert max(split.silhouette_by_k, key=split.silhouette_by_k.get) == 3


def test_the_median_rule_is_recorded():
    made, _ = planted()
    split = partition(made)
    assert split.tau > 0
    assert split.settings["tau"] == "median"
    assert partition(made, tau=0.5).tau == 0.5


def test_row_order_changes_nothing_but_the_order_of_labels():
    made, _ = planted(noise=1.5, seed=4)
    order = np.random.default_rng(1).permutation(len(made))
    here, there = partition(made, k=7), partition(made.take(order), k=7)
    for k, labels in here.labels_by_k.items():
        np.testing.assert_array_equal(labels[order], there.labels_by_k[k])
    np.testing.assert_array_equal(here.labels[order], there.labels)
    assert here.silhouette_by_k == there.silhouette_by_k
    assert here.tau == there.tau


@pytest.mark.parametrize("rule", ["auto", "silhouette", "eigengap", "stability"])
def test_every_rule_finds_well_separated_groups(rule):
    made, truth = planted(sizes=(80, 70, 60, 50), performance=(0.5,) * 4, seed=2)
    split = partition(made, k_rule=rule, k_range=(2, 8))
    assert split.k >= 4
    assert adjusted_rand_score(truth, split.labels_by_k[4]) == 1


def test_auto_goes_by_the_silhouette_where_it_says_something_and_by_stability_elsewhere():
    clear, _ = planted(sizes=(80, 70, 60, 50), performance=(0.5,) * 4, seed=2)
    by_rule = {rule: partition(clear, k_rule=rule) for rule in ("auto", "silhouette", "stability")}
    assert by_rule["auto"].silhouette >= 0.25
    assert by_rule["auto"].k == by_rule["silhouette"].k
    assert not any("silhouette" in note for note in by_rule["auto"].notes)

    blurred, _ = plant_partition((40,) * 8, (0.5,) * 8, overlap=0.6, vocab_size=200, seed=1)
    by_rule = {rule: partition(blurred, k_rule=rule) for rule in by_rule}
    assert max(by_rule["silhouette"].silhouette_by_k.values()) < 0.25
    assert by_rule["auto"].k == by_rule["stability"].k == 8  # as planted
    assert by_rule["silhouette"].k == 4
    assert any("--k-rule silhouette gives the paper" in note for note in by_rule["auto"].notes)
    assert not any("--k-rule silhouette" in note for note in by_rule["stability"].notes)

    nothing, _ = planted(sizes=(100,), performance=(0.5,), outcomes=1000, noise=1, seed=3)
    assert any("no k is stable" in note for note in partition(nothing).notes)


def test_a_fixed_k_is_kept_and_its_tiny_subdomains_told():
    made, _ = planted(sizes=(150, 3), performance=(0.5, 0.5))
    split = partition(made, k=2)
    assert list(split.sizes) == [150, 3]
    assert any("guard of 5" in note for note in split.notes)


def test_the_guard_refuses_a_few_odd_items_and_the_unguarded_choice_is_kept():
    made, _ = planted(sizes=(150, 2), performance=(0.5, 0.5), noise=0.1)
    guarded, free = partition(made), partition(made, min_share=0)
    assert free.k == 2
    assert sorted(free.sizes) == [2, 150]
    assert guarded.unguarded_k == 2
    assert guarded.k == 1 or guarded.sizes.min() >= 5


def test_no_admissible_k_is_said():
    made, _ = planted(sizes=(30, 1), performance=(0.5, 0.5), noise=0.05)
    split = partition(made, k_range=(2, 2))
    assert split.k == 1
    assert "no k of 2..2" in split.undefined


def test_too_few_items_are_not_split():
    made, _ = planted(sizes=(10, 9), performance=(0.5, 0.5))
    split = partition(made)
    assert split.k == 1
    assert split.undefined == "fewer than 20 items"


def test_duplicates_stay_together():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(6, 0.5), 12)
    rows = rng.integers(0, 12, 120)
    split = partition(evaluation(p[rows]), k_range=(2, 12), min_share=0)
    for labels in split.labels_by_k.values():
        for row in range(12):
            assert len(np.unique(labels[rows == row])) <= 1
    assert any("repeat the distribution" in note for note in split.notes)


def test_all_items_alike_is_undefined():
    split = partition(evaluation(np.full((50, 4), 0.25)))
    assert split.k == 1
    assert "1 distinct" in split.undefined


def test_a_graph_in_parts_is_reported_and_split():
    p = np.zeros((60, 6))
    rng = np.random.default_rng(1)
    p[:30, :3] = rng.dirichlet(np.ones(3), 30)
    p[30:, 3:] = rng.dirichlet(np.ones(3), 30)
    split = partition(evaluation(p), k=2)
    assert any("2 unconnected parts" in note for note in split.notes)
    assert adjusted_rand_score(np.repeat([0, 1], 30), split.labels) == 1


def test_top_k_input():
    made, truth = planted(outcomes=200, sizes=(60, 50), performance=(0.5, 0.5))
    whole = made.predictive["item"]
    ids = np.argsort(-whole.logprobs, axis=1)[:, :30]
    logs = np.take_along_axis(whole.logprobs, ids, 1)
    cut = Predictive.top_k(ids, logs, 1 - np.exp(logs).sum(1), 200)
    split = partition(evaluation({"answer": cut}), k=2)
    assert split.positions == "answer"
    assert any("'answer' were compared" in note for note in split.notes)
    assert adjusted_rand_score(truth, split.labels) == 1


def test_declared_columns():
    made, truth = planted()
    split = partition(made, "declared:subject")
    assert split.names == ("topic 0", "topic 1", "topic 2")
    np.testing.assert_array_equal(split.labels, truth)
    assert not split.is_induced


def test_declared_items_without_a_label_are_a_subdomain_of_their_own():
    made = evaluation(np.full((6, 2), 0.5), groups={"t": ["a", "a", None, "b", "a", float("nan")]})
    split = partition(made, "declared:t")
    assert split.names == ("a", "(no label)", "b")
    assert any("2 items have no 't' label" in note for note in split.notes)


def test_auto_prefers_distributions_then_declared_then_options():
    scores = [0.0, 1.0] * 20
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 40))
    groups = {"split": ["x", "y"] * 20, "subject": ["s", "t"] * 20}

    def made(**kw):
        return Evaluation.from_arrays(benchmark="b", model="m", scores=scores, **kw)

    p = np.full((40, 2), 0.5)
    assert partition(made(predictive=p, groups=groups)).kind == "predictive"
    only_next = made(predictive={"next": p}, groups=groups)
    assert partition(only_next).kind == "declared:subject"
    assert partition(made(predictive={"next": p}, option_logprobs=logs)).kind == "predictive"
    assert partition(made(option_logprobs=logs, groups=groups)).kind == "declared:subject"
    alone = partition(made(groups={"fold": ["x", "y"] * 20}))
    assert alone.kind == "declared:fold"
    assert any("for you to judge" in note for note in alone.notes)
    by_options = partition(made(option_logprobs=logs))
    assert by_options.kind == "options"
    assert any("not the paper's" in note for note in by_options.notes)
    assert "nothing to make subdomains from" in partition(made()).undefined
    several = partition(made(groups={"a1": ["x", "y"] * 20, "a2": ["x", "y"] * 20}))
    assert "several declared columns" in several.undefined
    with pytest.raises(BenchharmonyError, match="takes an Evaluation"):
        partition(p)


def test_options_group_by_predicted_letter_and_take_mixed_counts():
    rng = np.random.default_rng(3)
    letter = rng.integers(0, 4, 200)
    logs = np.log(0.02 + 0.9 * np.eye(4)[letter] + rng.uniform(0, 0.05, (200, 4)))
    logs[:40, 3] = np.where(letter[:40] == 3, logs[:40, 3], np.nan)
    made = Evaluation.from_arrays(
        benchmark="b", model="m", scores=rng.integers(0, 2, 200), option_logprobs=logs
    )
    split = partition(made, "options")
    assert any("different numbers of options" in note for note in split.notes)
    assert adjusted_mutual_info_score(made.predicted_option, split.labels_by_k[4]) > 0.7


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("declared:nothing", {}, "no declared column 'nothing'; columns there: 'subject'"),
        ("topic", {}, "unknown partition"),
        ("options", {}, "no option log-likelihoods"),
        ("predictive", {"positions": "answer"}, "recorded: item"),
        ("predictive", {"k": 1}, "at least 2"),
        ("predictive", {"k_range": (5, 3)}, "k range"),
        ("predictive", {"tau": -1.0}, "tau"),
        ("predictive", {"min_share": 0.7}, "min_share"),
        ("predictive", {"k_rule": "elbow"}, "unknown k rule"),
    ],
)
def test_bad_requests_are_worded(kind, options, message):
    made, _ = planted(sizes=(20, 20), performance=(0.5, 0.5))
    with pytest.raises(BenchharmonyError, match=message):
        partition(made, kind, **options)


@pytest.mark.real_data
@pytest.mark.parametrize("model", ["smollm2-135m-instruct", "gemma-3-270m"])
def test_fifteen_ways_of_real_items_agree_with_their_subjects(shared_data, model):
    with np.load(shared_data / "distributions" / f"{model}__mmlu15__item.npz") as z:
        view = Predictive.top_k(
            z["predictive_ids"], z["predictive_logprobs"], z["predictive_rest"], z["vocab_size"]
        )
        subject, scores = z["subject"], z["scores"]
    made = Evaluation.from_arrays(benchmark="b", model=model, scores=scores, predictive=view)
    split = partition(made, k=15)
    assert adjusted_mutual_info_score(subject, split.labels) >= 0.50
