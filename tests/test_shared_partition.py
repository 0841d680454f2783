"""One partition for several models: mean similarity, agreement, H on the shared and on the own."""

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation, partition
from benchharmony.landscape import landscape
from benchharmony.report import Settings
from benchharmony.shared import shared_partition
from benchharmony.splits import split_all
from planted import planted

FAST = {"bootstrap": 60, "repeats": 2}


def model(name, seed, *, noise=0.4, truth_seed=0, n=(60, 50, 40)):
    """Return a model that sees the planted groups through noise of its own."""
    base, truth = planted(n, seed=truth_seed)
    rng = np.random.default_rng([seed, 99])
    p = np.exp(base.predictive["item"].logprobs + rng.normal(0, noise, (len(truth), 40)))
    return Evaluation.from_arrays(
        benchmark="planted",
        model=name,
        scores=base.scores,
        predictive=p / p.sum(1, keepdims=True),
    ), truth


def agree(a, b):
    from sklearn.metrics import adjusted_rand_score

    return adjusted_rand_score(a, b)


def test_models_that_see_the_same_groups_share_them_and_agree():
    made = [model(f"m{i}", i) for i in range(4)]
    found = shared_partition([e for e, _ in made], Settings())
    assert agree(found.partitions[0].labels, made[0][1]) > 0.95
    assert found.agreement.min() > 0.9
    assert np.allclose(np.diag(found.agreement), 1)
    assert len({p.labels.tobytes() for p in found.partitions}) == 1


def test_the_mean_finds_what_no_single_noisy_model_finds_as_well():
    made = [model(f"m{i}", i, noise=3.0) for i in range(12)]
    truth = made[0][1]
    found = shared_partition([e for e, _ in made], Settings(k=3))
    alone = [agree(p.labels, truth) for p in found.own]
    assert agree(found.partitions[0].labels, truth) > np.mean(alone) + 0.1


def test_a_model_that_splits_the_items_otherwise_stands_out_in_the_matrix():
    made = [model(f"m{i}", i)[0] for i in range(3)]
    rng = np.random.default_rng(5)
    p = np.exp(rng.normal(0, 2, (3, 40))[rng.integers(0, 3, 150)] + rng.normal(0, 0.3, (150, 40)))
    other = Evaluation.from_arrays(
        benchmark="planted", model="other", scores=made[0].scores,
        predictive=p / p.sum(1, keepdims=True),
    )  # fmt: skip
    found = shared_partition([*made, other], Settings(k=3))
    assert found.agreement[:3, :3].min() > 0.8
    assert abs(found.agreement[3, :3]).max() < 0.2


def test_one_model_shares_with_itself():
    e, truth = model("m", 0)
    found = shared_partition([e], Settings(k=3))
    own = partition(e, "predictive", k=3)
    assert agree(found.partitions[0].labels, own.labels) == 1
    assert found.to_dict()["agreement"] == [[1.0]]
    assert agree(own.labels, truth) > 0.9


def test_item_order_and_model_order_change_nothing():
    made = [model(f"m{i}", i)[0] for i in range(3)]
    rng = np.random.default_rng(0)
    shuffled = [e.take(rng.permutation(len(e))) for e in made]
    first = split_all(made, Settings(partition="shared")).splits
    second = split_all(shuffled[::-1], Settings(partition="shared")).splits[::-1]
    for a, b in zip(first, second, strict=True):
        assert a.evaluation.item_ids == b.evaluation.item_ids
        assert agree(a.partition.labels, b.partition.labels) == 1


def test_only_common_items_are_shared_and_the_rest_is_told():
    a, b = model("a", 0)[0], model("b", 1)[0].take(range(10, 150))
    made = split_all([a, b], Settings(partition="shared"))
    assert [len(s.evaluation) for s in made.splits] == [140, 140]
    assert "140 items are common" in made.found["planted"]["note"]
    assert all("140 items are common" in s.evaluation.notes[-1] for s in made.splits)
    apart = split_all([a.take(range(10)), b], Settings(partition="shared"))
    assert all("no item is common" in s.error for s in apart.splits)


def test_options_stand_in_only_when_every_model_lacks_distributions():
    with_view = model("a", 0)[0]
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 150))
    only = Evaluation.from_arrays(
        benchmark="planted", model="b", scores=with_view.scores, option_logprobs=logs
    )
    with pytest.raises(BenchharmonyError, match="have neither, the first is a"):
        shared_partition([with_view, only], Settings())
    found = shared_partition([only, only], Settings(k=3))
    assert found.partitions[0].settings["similarity"] == "option log-likelihoods"
    assert any("not the paper's similarity" in n for n in found.partitions[0].notes)


def test_models_without_a_key_have_an_agreement_matrix_and_no_h():
    made = [model(f"m{i}", i)[0] for i in range(3)]
    keyless = [
        Evaluation.from_arrays(
            benchmark="planted", model=e.model, scores=None, predictive=e.predictive
        )
        for e in made
    ]
    found = shared_partition(keyless, Settings())
    assert np.isfinite(found.agreement).all()
    assert [r["shared"] for r in found.rows] == [None] * 3


def test_the_landscape_carries_the_matrix_and_both_h():
    made = landscape([model(f"m{i}", i)[0] for i in range(5)], partition="shared", **FAST)
    found = made.record["partitions"]["planted"]
    assert len(found["agreement"]) == 5
    assert all(r["own"] is not None and r["shared"] is not None for r in found["harmony"])
    assert "agree with each other" in made.render("text")
    assert {e["k"] for e in made.record["evaluations"]} == {found["k"]}


def test_a_single_evaluation_cannot_take_a_partition_of_many():
    with pytest.raises(BenchharmonyError, match="several models"):
        partition(model("m", 0)[0], "shared")
