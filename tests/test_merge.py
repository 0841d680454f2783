"""Subtasks of one benchmark become one evaluation, and H is that of the whole."""

import numpy as np
import pytest

import benchharmony as bh
from benchharmony import BenchharmonyError, Evaluation, Predictive
from benchharmony.merge import merge


def part(task, n, rate, model="m", **extra):
    scores = (np.arange(n) < rate * n).astype(float)
    return Evaluation.from_arrays(benchmark=task, model=model, scores=scores, **extra)


def test_parts_become_subdomains():
    parts = [part("mmlu_a", 30, 0.8), part("other", 9, 1), part("mmlu_b", 60, 0.5)]
    whole, other = merge(parts, "mmlu", "mmlu_*")
    assert other is parts[1]
    assert whole.name == "mmlu / m"
    assert whole.item_ids[0] == "mmlu_a/0"
    assert whole.item_ids[-1] == "mmlu_b/59"
    split = bh.partition(whole, "declared:task")
    assert bh.harmony(whole, split).value == pytest.approx(bh.harmony_score([60, 30], [0.5, 0.8]))


def test_each_model_is_merged_on_its_own():
    parts = [part(t, 20, 0.5, model=m) for m in "xy" for t in ("t_1", "t_2")]
    merged = merge(parts, "t", "t_*")
    assert [(e.model, len(e)) for e in merged] == [("x", 40), ("y", 40)]


def test_options_are_padded_and_distributions_joined():
    rng = np.random.default_rng(0)
    ids = [np.array([rng.permutation(50)[:k] for _ in range(20)]) for k in (3, 5)]
    views = [
        Predictive.top_k(i, np.full(i.shape, np.log(0.1)), np.full(20, 1 - 0.1 * i.shape[1]), 50)
        for i in ids
    ]
    logs = [np.log(rng.dirichlet(np.ones(m), 20)) for m in (2, 4)]
    parts = [part(f"t_{i}", 20, 0.5, predictive=views[i], option_logprobs=logs[i]) for i in (0, 1)]
    (whole,) = merge(parts, "t", "t_*")
    np.testing.assert_array_equal(whole.n_options, [2] * 20 + [4] * 20)
    j = bh.jeffreys(whole.predictive["item"])
    np.testing.assert_allclose(j[:20, :20], bh.jeffreys(views[0]), atol=1e-12)
    np.testing.assert_allclose(j[20:, 20:], bh.jeffreys(views[1]), atol=1e-12)


def test_what_not_every_part_has_is_left_out_with_a_note():
    parts = [
        part("t_1", 20, 0.5, texts=["q"] * 20, metrics={"f1": np.ones(20)}),
        part("t_2", 20, 0.5),
    ]
    (whole,) = merge(parts, "t", "t_*")
    assert whole.texts is None
    assert any("f1, texts" in note for note in whole.notes)


@pytest.mark.parametrize(
    ("parts", "pattern", "message"),
    [
        ([part("a", 5, 1)], "b_*", "no benchmark matches; there: a"),
        ([part("t_1", 5, 1), part("t_1", 5, 0)], "t_*", "several logs of 't_1'"),
        ([part("t_1", 5, 1), part("t_2", 5, 1, score_name="f1")], "t_*", "different scores"),
    ],
)
def test_what_cannot_be_merged_is_worded(parts, pattern, message):
    with pytest.raises(BenchharmonyError, match=message):
        merge(parts, "t", pattern)
