"""Which items go, in which order: evenness, determinism, whole subdomains, reasons."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import benchharmony as bh
from benchharmony import BenchharmonyError, Evaluation
from benchharmony.metric import size_evenness
from benchharmony.rebalance import on_shared_items, rebalance
from benchharmony.rebalancing.pruning import greedy_removal
from rebalancing import benchmark

FAST = {"draws": 20, "permutations": 20}


def similarity(evaluation, positions="answer"):
    """Return J of every pair: similarities fall as it rises."""
    return bh.jeffreys(evaluation.predictive[positions])


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 25), min_size=2, max_size=6),
    strategy=st.sampled_from(["redundancy", "balance"]),
)
def test_size_evenness_never_falls_and_no_subdomain_vanishes(sizes, strategy):
    (evaluation,), split = benchmark(sizes, [0.5] * len(sizes))
    result = rebalance(evaluation, split, strategy=strategy, fraction=0.9, **FAST)
    curve = result.models[0].curve
    evenness = [p.values["size_evenness"] for p in curve]
    assert all(b >= a - 1e-12 for a, b in pairwise(evenness))
    assert all(p.values["k"] == len(sizes) for p in curve)
    assert all(s.after >= 1 for s in result.sizes)


def test_evenness_rises_at_every_stop_and_not_only_on_the_curve():
    (evaluation,), split = benchmark([60, 41, 40, 7, 3], [0.5] * 5)
    by_cap = [
        np.array([s.after for s in rebalance(evaluation, split, cap=cap, **FAST).sizes])
        for cap in range(60, 0, -1)
    ]
    evenness = [float(size_evenness(sizes)) for sizes in by_cap]
    assert np.all(np.diff(evenness) >= -1e-12)
    assert evenness[-1] == pytest.approx(1)
    assert all(sizes.max() == cap for sizes, cap in zip(by_cap, range(60, 0, -1), strict=True))


def test_one_item_at_a_time_would_not_be_monotone():
    """Why pruning ends at whole levels only: the counterexample of the module's docstring."""
    before = [10] * 100 + [8]
    after = [9] + [10] * 99 + [8]
    assert size_evenness(after) < size_evenness(before)


@pytest.mark.parametrize("strategy", ["redundancy", "threshold", "balance"])
@pytest.mark.parametrize("keep", ["central", "random"])
def test_the_order_of_the_rows_changes_nothing(strategy, keep):
    (evaluation,), split = benchmark([50, 30, 20], [0.8, 0.5, 0.2], shuffled=True)
    options = {"strategy": strategy, "keep": keep, "seed": 3, "fraction": 0.3, **FAST}
    rows = np.random.default_rng(1).permutation(100)
    turned = evaluation.take(rows)
    a = rebalance(evaluation, split, **options)
    b = rebalance(turned, bh.partition(turned, "declared:subject"), **options)
    assert a.dropped == b.dropped
    assert set(a.kept) == set(b.kept)
    assert a.models == b.models
    assert b.kept == tuple(i for i in turned.item_ids if i in set(a.kept))


def test_the_draw_of_balance_follows_its_seed():
    (evaluation,), split = benchmark([50, 10], [0.5, 0.5])
    drawn = [
        rebalance(evaluation, split, strategy="balance", keep="random", seed=s, **FAST).kept
        for s in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_redundancy_drops_the_closest_pairs_first():
    """The removal sequence against a brute-force one that looks at every pair at every step."""
    (evaluation,), _ = benchmark([40], [0.5])
    s = np.exp(-similarity(evaluation))
    rows, heights = greedy_removal(s.astype(np.float32))
    alive = list(range(40))
    central = s.astype(np.float32).mean(axis=1, dtype=float)
    for row, height in zip(rows, heights, strict=True):
        pairs = [(s[i, j], i, j) for i in alive for j in alive if i < j]
        best, i, j = max(pairs)
        assert height == pytest.approx(best, rel=1e-6)
        assert row == max((i, j), key=lambda x: central[x])
        alive.remove(row)
    assert np.all(np.diff(heights) <= 0)


def test_exact_duplicates_go_first():
    (evaluation,), split = benchmark([40, 20], [0.5, 0.5], positions=["answer"])
    p = np.exp(evaluation.predictive["answer"].logprobs.astype(float))
    p[5] = p[17] = p[30]
    evaluation = dataclasses.replace(
        evaluation, predictive={"answer": bh.Predictive.dense(p / p.sum(axis=1, keepdims=True))}
    )
    result = rebalance(evaluation, split, fraction=2 / 60, **FAST)
    assert {d.item_id for d in result.dropped} < {"q0005", "q0017", "q0030"}
    assert [d.similarity for d in result.dropped] == pytest.approx([1, 1])


@pytest.mark.parametrize("strategy", ["redundancy", "threshold", "balance"])
def test_reasons_name_the_nearest_item_that_is_kept(strategy):
    (evaluation,), split = benchmark([40, 20], [0.5, 0.5])
    result = rebalance(evaluation, split, strategy=strategy, fraction=0.4, **FAST)
    j = similarity(evaluation)
    place = {item: i for i, item in enumerate(evaluation.item_ids)}
    kept = {split.names[g]: [] for g in range(2)}
    for item, name in zip(result.kept, result.kept_subdomains, strict=True):
        kept[name].append(place[item])
    assert len(result.dropped) == 24
    for d in result.dropped:
        rivals = kept[d.subdomain]
        nearest = min(rivals, key=lambda i, d=d: j[place[d.item_id], i])
        assert d.nearest_kept == evaluation.item_ids[nearest]
        assert d.nearest_kept in d.reason
        assert f"{d.similarity:.3f}" in d.reason
        tau = result.settings["tau"][0]
        assert d.similarity == pytest.approx(np.exp(-tau / 2 * j[place[d.item_id], nearest]), 1e-5)
    assert [d.place for d in result.dropped] == list(range(1, 25))


def test_a_threshold_leaves_no_closer_pair_and_drops_no_more_than_that_takes():
    (evaluation,), split = benchmark([60, 40], [0.5, 0.5])
    bar = 0.7
    result = rebalance(evaluation, split, strategy="threshold", threshold=bar, **FAST)
    assert 0 < len(result.dropped) < 100
    place = {item: i for i, item in enumerate(evaluation.item_ids)}
    s = np.exp(-result.settings["tau"][0] / 2 * similarity(evaluation))
    kept = np.array([place[i] for i in result.kept])
    close = s[np.ix_(kept, kept)] >= bar
    same = split.labels[kept][:, None] == split.labels[kept]
    assert not (close & same & ~np.eye(len(kept), dtype=bool)).any()
    dropped = [place[d.item_id] for d in result.dropped]
    inside = split.labels[dropped][:, None] == split.labels[None, :]
    neighbours = (s[dropped] >= bar) & inside
    assert (neighbours.sum(axis=1) >= 2).all()  # itself and at least one other


def test_balance_keeps_the_most_central():
    (evaluation,), split = benchmark([30, 10], [0.5, 0.5])
    result = rebalance(evaluation, split, strategy="balance", cap=10, **FAST)
    s = np.exp(-result.settings["tau"][0] / 2 * similarity(evaluation))
    big = np.flatnonzero(split.labels == 0)
    central = s[np.ix_(big, big)].mean(axis=1)
    best = {evaluation.item_ids[i] for i in big[np.argsort(-central)[:10]]}
    assert best == {i for i, g in zip(result.kept, result.kept_subdomains, strict=True)
                    if g == "topic 0"}  # fmt: skip


def test_a_whole_subdomain_goes_only_when_asked():
    (evaluation,), split = benchmark([30, 20, 10], [0.5] * 3)
    result = rebalance(evaluation, split, drop_subdomains=["topic 1"], cap=15, **FAST)
    assert [(s.label, s.after) for s in result.sizes] == [
        ("topic 0", 15), ("topic 1", 0), ("topic 2", 10),
    ]  # fmt: skip
    asked = [d for d in result.dropped if d.subdomain == "topic 1"]
    assert len(asked) == 20
    assert all("asked" in d.reason and d.nearest_kept is None for d in asked)
    with pytest.raises(BenchharmonyError, match="no subdomain 'topic 9'"):
        rebalance(evaluation, split, drop_subdomains=["topic 9"])
    with pytest.raises(BenchharmonyError, match="at least two"):
        rebalance(evaluation, split, drop_subdomains=["topic 0", "topic 1"])


def test_ends():
    (evaluation,), split = benchmark([60, 20, 10], [0.9, 0.5, 0.5])
    even = rebalance(evaluation, split, **FAST)
    assert len(even.dropped) == 44  # half, at a whole level; even sizes would take 60
    assert "even sizes would leave 10 items each" in even.stopped
    assert [s.after for s in rebalance(evaluation, split, cap=10, **FAST).sizes] == [10, 10, 10]
    some = rebalance(evaluation, split, fraction=0.2, **FAST)
    assert len(some.dropped) == 18
    h = rebalance(evaluation, split, target_h=0.5, **FAST)
    assert h.models[0].after["harmony"] >= 0.5
    with pytest.raises(BenchharmonyError, match="the highest is"):
        rebalance(evaluation, split, target_h=1.1, **FAST)
    with pytest.raises(BenchharmonyError, match="only one of fraction, cap"):
        rebalance(evaluation, split, fraction=0.1, cap=3, **FAST)


def test_a_fraction_between_two_levels_stops_before_it_and_says_so():
    (evaluation,), split = benchmark([10] * 10, [0.5] * 10)
    result = rebalance(evaluation, split, fraction=0.05, **FAST)
    assert len(result.dropped) == 0
    assert any("next whole level" in note for note in result.notes)


def test_answer_distributions_are_preferred_and_texts_will_do():
    (evaluation,), split = benchmark([30, 10], [0.5, 0.5])
    assert rebalance(evaluation, split, **FAST).settings["similarity"] == "answer"
    item = rebalance(evaluation, split, similarity="item", **FAST)
    assert item.settings["similarity"] == "item"
    words = ["red fox", "blue whale", "red fox runs", "grey stone"] * 10
    spoken = Evaluation.from_arrays(
        benchmark="b", model="m", scores=[1.0, 0.0] * 20, texts=words,
        groups={"subject": ["a"] * 30 + ["b"] * 10},
    )  # fmt: skip
    by_text = rebalance(spoken, bh.partition(spoken, "declared:subject"), **FAST)
    assert by_text.settings["similarity"] == "text"
    assert by_text.dropped[0].similarity == pytest.approx(1, abs=1e-6)
    assert any("little of meaning" in note for note in by_text.notes)


def test_without_anything_to_compare_a_random_balance_still_works():
    bare = Evaluation.from_arrays(
        benchmark="b", model="m", scores=[1.0, 0.0] * 20,
        groups={"subject": ["a"] * 30 + ["b"] * 10},
    )  # fmt: skip
    split = bh.partition(bare, "declared:subject")
    with pytest.raises(BenchharmonyError, match="benchharmony collect"):
        rebalance(bare, split)
    result = rebalance(bare, split, strategy="balance", keep="random", **FAST)
    assert [s.after for s in result.sizes] == [10, 10]
    assert {d.nearest_kept for d in result.dropped} == {None}


def test_several_models_are_pruned_alike_on_the_items_they_share():
    models, _ = benchmark([40, 20], [[0.9, 0.2], [0.2, 0.9]])
    fewer = models[1].take(np.random.default_rng(0).permutation(60)[:50])
    with pytest.raises(BenchharmonyError, match="on_shared_items"):
        rebalance([models[0], fewer], bh.partition(models[0], "declared:subject"), **FAST)
    shared = on_shared_items([models[0], fewer])
    assert shared[0].item_ids == shared[1].item_ids
    result = rebalance(shared, bh.partition(shared[0], "declared:subject"), **FAST)
    assert result.n_items == 50
    assert result.settings["similarity_models"] == ["model 0", "model 1"]
    assert result.models[0].effect.removed == result.models[1].effect.removed
    stranger = dataclasses.replace(fewer, item_ids=tuple(f"x{i}" for i in range(50)))
    with pytest.raises(BenchharmonyError, match="no item is common"):
        on_shared_items([models[0], stranger])


def test_inputs_that_cannot_be_rebalanced_are_refused_in_words():
    (evaluation,), split = benchmark([30, 10], [0.5, 0.5])
    keyless = dataclasses.replace(evaluation, scores=None)
    with pytest.raises(BenchharmonyError, match="no scores"):
        rebalance(keyless, split)
    with pytest.raises(BenchharmonyError, match="40 items, the evaluation of 39"):
        rebalance(evaluation.take(range(39)), split)
    with pytest.raises(BenchharmonyError, match="no partition to rebalance by"):
        rebalance(evaluation, dataclasses.replace(split, undefined="too few items"))
    with pytest.raises(BenchharmonyError, match="no 'next'"):
        rebalance(evaluation, split, similarity="next")
    with pytest.raises(BenchharmonyError, match="unknown strategy"):
        rebalance(evaluation, split, strategy="magic")
    with pytest.raises(BenchharmonyError, match="no evaluation"):
        rebalance([], split)
