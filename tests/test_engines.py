"""Engines agree, refuse what they cannot do, and do not depend on threads or the order of rows."""

from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchharmony import BenchharmonyError, Evaluation, Predictive, partition, predictive_similarity
from benchharmony.choice import Choice
from benchharmony.engines import choose, workers
from benchharmony.induced import Induced, induce
from benchharmony.report.settings import Settings
from benchharmony.spectral import silhouette_by_k, spectral_sweep

TORCH = pytest.param(
    "torch:cpu", marks=pytest.mark.skipif(find_spec("torch") is None, reason="torch is missing")
)
ENGINES = ("dense", "matrix-free", "low-rank", TORCH)
GROUPS = 5


@cache
def planted(n: int, outcomes: int = 4, seed: int = 4, noise: float = 0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, GROUPS, n)
    logits = rng.normal(0, 2, (GROUPS, outcomes))[truth] + rng.normal(0, noise, (n, outcomes))
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True), truth


@cache
def found(engine: str, n: int = 2500) -> Induced:
    return induce(Predictive.dense(planted(n)[0]), 1.0, Choice(k_range=(2, 12)), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_says_its_name_and_its_error(engine):
    made = found(engine)
    assert made.engine == engine
    if engine == "low-rank":
        assert 0 < made.engine_error < 1e-3
    else:
        assert made.engine_error is None


@pytest.mark.parametrize("engine", ENGINES)
def test_planted_groups_are_found_by_each_engine(engine):
    assert adjusted_rand_score(planted(2500)[1], found(engine).labels_by_k[GROUPS]) >= 0.95


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_engines_agree_with_the_dense_one(engine):
    exact, other = found("dense"), found(engine)
    assert exact.labels.max() == other.labels.max()
    for k in range(2, GROUPS + 1):
        assert adjusted_rand_score(exact.labels_by_k[k], other.labels_by_k[k]) >= 0.99
        assert other.silhouette_by_k[k] == pytest.approx(exact.silhouette_by_k[k], abs=1e-3)
    np.testing.assert_allclose(other.centrality, exact.centrality, atol=0.02)


def test_low_rank_is_exact_at_every_k_up_to_a_size(monkeypatch):
    p = planted(3000, noise=0.8)[0]
    monkeypatch.setattr(choose, "dtype_for", lambda *_: np.dtype(np.float64))
    exact = induce(Predictive.dense(p), 1.0, Choice(), "dense")
    monkeypatch.undo()
    other = induce(Predictive.dense(p), 1.0, Choice(), "low-rank")
    for k, labels in exact.labels_by_k.items():
        assert adjusted_rand_score(labels, other.labels_by_k[k]) >= 0.99
        assert other.silhouette_by_k[k] == pytest.approx(exact.silhouette_by_k[k], abs=1e-3)


def test_low_rank_eigenvectors_are_those_of_the_exact_similarity():
    p = planted(2500, noise=0.8)[0]
    s = predictive_similarity(p, tau=1.0)
    np.fill_diagonal(s, 0)
    root = 1 / np.sqrt(s.sum(axis=1))
    with workers.Workers(1) as threads:
        kernel = choose.reach(
            Predictive.dense(p), np.ones(len(p), dtype=np.int64), 1.0, "low-rank", threads
        ).kernel
        values, vectors = kernel.eigenpairs(root, np.zeros(len(p)), 20, 0)
    residual = root[:, None] * (s @ (root[:, None] * vectors)) - vectors * values
    assert np.linalg.norm(residual, axis=0).max() <= 1e-5
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-5)


@pytest.mark.parametrize("tau", [0.01, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_an_item_like_no_other_does_not_spoil_the_others(tau, seed):
    p, _ = planted(2000, seed=seed)
    with_one_more = np.zeros((2001, 5))
    with_one_more[:2000, :4], with_one_more[2000, 4] = p, 1
    view = Predictive.dense(with_one_more)
    exact, other = (
        induce(view, tau, Choice(k_range=(2, 8)), engine) for engine in ("dense", "low-rank")
    )
    assert other.notes == exact.notes
    assert any("2 unconnected parts" in note for note in other.notes)
    assert other.embedding.shape == exact.embedding.shape
    for k in range(2, 6):  # beyond them eigenvalues are rounding where tau is small
        assert other.silhouette_by_k[k] == pytest.approx(exact.silhouette_by_k[k], abs=5e-3)


@pytest.mark.parametrize(
    ("outcomes", "tau", "error"), [(4, 1.0, 1e-6), (12, 1.0, 5e-4), (20, 1.0, 1.5e-3)]
)
def test_small_eigenvalues_of_the_landmarks_count_only_where_they_help(outcomes, tau, error):
    view = Predictive.dense(planted(2500, outcomes, noise=0.8)[0])
    assert induce(view, tau, Choice(k_range=(2, 3)), "low-rank").engine_error <= error


@pytest.mark.parametrize("tau", [1e-6, 0.01])
@pytest.mark.parametrize("seed", range(4))
def test_groups_of_items_that_all_but_coincide_have_silhouettes_in_their_range(seed, tau):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 40, (4, 4))[rng.integers(0, 4, 1500)] + rng.normal(0, 0.2, (1500, 4))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    made = induce(Predictive.dense(p / p.sum(axis=1, keepdims=True)), tau, Choice(), "low-rank")
    assert max(map(abs, made.silhouette_by_k.values())) <= 1


def test_similarities_close_to_one_stay_in_float64_at_any_size(monkeypatch):
    view = Predictive.dense(planted(2500)[0])
    monkeypatch.setattr(choose, "PRECISE_ITEMS", 2000)
    rough = induce(view, 1e-4, Choice(k_range=(2, 4)), "low-rank")
    exact = induce(view, 1e-4, Choice(k_range=(2, 4)), "dense")
    assert rough.silhouette_by_k == pytest.approx(exact.silhouette_by_k, abs=1e-3)


def test_many_items_take_fewer_factors_in_single_precision(monkeypatch):
    monkeypatch.setattr(choose, "PRECISE_ITEMS", 2000)
    view = Predictive.dense(planted(2500)[0])
    rough = induce(view, 1.0, Choice(k_range=(2, 12)), "low-rank")
    assert found("low-rank").engine_error < rough.engine_error < 1e-3
    for k in range(2, GROUPS + 1):
        assert rough.silhouette_by_k[k] == pytest.approx(
            found("low-rank").silhouette_by_k[k], abs=1e-3
        )


def test_matrix_free_is_the_dense_engine_without_its_matrix():
    exact, other = found("dense"), found("matrix-free")
    for k, labels in exact.labels_by_k.items():
        assert adjusted_rand_score(labels, other.labels_by_k[k]) >= 0.99
        assert other.silhouette_by_k[k] == pytest.approx(exact.silhouette_by_k[k], abs=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_silhouettes_are_those_of_the_labels(engine):
    p, _ = planted(2500)
    made = found(engine)
    distance = np.clip(1 - predictive_similarity(p, tau=1.0), 0, None)
    np.fill_diagonal(distance, 0)
    for k in (2, 7, 12):
        expected = silhouette_score(distance, made.labels_by_k[k], metric="precomputed")
        assert made.silhouette_by_k[k] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tau", [1.0, "median"])
def test_the_number_of_threads_changes_not_a_bit(monkeypatch, engine, tau):
    view = Predictive.dense(planted(1300)[0])
    made = []
    for count in (1, 3):
        monkeypatch.setattr(workers, "_allowed", lambda _, count=count: count)
        made.append(induce(view, tau, Choice(k_range=(2, 6)), engine))
    one, three = made
    assert one.tau == three.tau
    assert one.silhouette_by_k == three.silhouette_by_k
    np.testing.assert_array_equal(one.embedding, three.embedding)
    np.testing.assert_array_equal(one.centrality, three.centrality)
    for k, labels in one.labels_by_k.items():
        np.testing.assert_array_equal(labels, three.labels_by_k[k])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_rows_changes_nothing(engine):
    p, _ = planted(1300)
    order = np.random.default_rng(1).permutation(len(p))
    here = induce(Predictive.dense(p), "median", Choice(k_range=(2, 6)), engine)
    there = induce(Predictive.dense(p[order]), "median", Choice(k_range=(2, 6)), engine)
    assert here.tau == there.tau
    assert here.silhouette_by_k == there.silhouette_by_k
    for k, labels in here.labels_by_k.items():
        np.testing.assert_array_equal(labels[order], there.labels_by_k[k])


@pytest.mark.parametrize("engine", ENGINES)
def test_duplicates_count_as_often_as_they_occur(engine):
    p, _ = planted(400)
    rows = np.concatenate([np.arange(400), np.random.default_rng(2).integers(0, 60, 500)])
    made = induce(Predictive.dense(p[rows]), 1.0, Choice(k_range=(2, 6)), engine)
    similarity = predictive_similarity(p[rows], tau=1.0)
    whole = spectral_sweep(similarity, range(2, 7))
    silhouettes = silhouette_by_k(similarity, made.labels_by_k)
    for k in range(2, GROUPS + 1):
        assert adjusted_rand_score(whole.labels[k], made.labels_by_k[k]) >= 0.99
        assert made.silhouette_by_k[k] == pytest.approx(silhouettes[k], abs=1e-5)
    np.testing.assert_allclose(induce_eigenvalues(p[rows], engine), whole.eigenvalues, atol=1e-4)


def induce_eigenvalues(p, engine):
    from benchharmony.engines.canonical import canonical
    from benchharmony.spectral import sweep

    view = Predictive.dense(p)
    items = canonical(view)
    with workers.Workers() as threads:
        reached = choose.reach(view.take(items.first), items.counts, 1.0, engine, threads)
        return sweep(reached.kernel, items.counts, range(2, 7)).eigenvalues


def test_low_rank_does_not_miss_a_rare_subdomain():
    rng = np.random.default_rng(5)
    group = rng.permutation(np.r_[np.full(12, 4), rng.integers(0, 4, 11_988)])
    centres = rng.normal(0, 1.5, (5, 6))
    centres[4] = [-6, 8, -6, -6, -6, -6]
    p = np.exp(centres[group] + rng.normal(0, 0.4, (12_000, 6)))
    view = Predictive.dense(p / p.sum(axis=1, keepdims=True))
    made = induce(view, 1.0, Choice(k_range=(5, 5), min_share=0))
    assert made.engine == "low-rank"
    assert adjusted_rand_score(group, made.labels) >= 0.99
    rare = made.labels[group == 4]
    assert len(np.unique(rare)) == 1
    assert (made.labels == rare[0]).sum() == 12


def test_what_is_not_low_rank_is_refused_with_what_to_do():
    view = Predictive.dense(planted(1500)[0])
    with pytest.raises(BenchharmonyError, match=r"low-rank engine cannot .* --engine"):
        induce(view, 300.0, Choice(), "low-rank")


def test_auto_falls_back_and_says_why(monkeypatch):
    monkeypatch.setattr(choose, "DENSE_ITEMS", 1000)
    view = Predictive.dense(planted(1500)[0])
    made = induce(view, 300.0, Choice(k_range=(2, 3)))
    assert made.engine == "dense"
    assert any("low-rank engine was not used" in note for note in made.notes)
    monkeypatch.setattr(choose, "available", lambda: 10_000_000)
    assert induce(view, 300.0, Choice(k_range=(2, 3))).engine == "matrix-free"
    assert induce(view, 1.0, Choice(k_range=(2, 3))).engine == "low-rank"
    monkeypatch.setattr(choose, "MATRIX_FREE_ITEMS", 1200)
    with pytest.raises(BenchharmonyError, match="too many for an exact similarity"):
        induce(view, 300.0, Choice(k_range=(2, 3)))


def test_dense_without_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(choose, "available", lambda: 1_000_000)
    with pytest.raises(BenchharmonyError, match=r"need .* GiB"):
        induce(Predictive.dense(planted(1300)[0]), 1.0, Choice(), "dense")


def test_a_partition_records_its_engine_and_refuses_an_unknown_one():
    p, _ = planted(300)
    made = Evaluation.from_arrays(benchmark="b", model="m", scores=np.zeros(300), predictive=p)
    split = partition(made, engine="matrix-free")
    assert split.engine == "matrix-free"
    assert split.settings["engine"] == "matrix-free"
    assert partition(made).engine == "dense"
    with pytest.raises(BenchharmonyError, match="unknown engine 'gpu'; choose auto, dense"):
        partition(made, engine="gpu")


def test_memory_mapped_input_gives_the_same(tmp_path):
    p, _ = planted(1300)
    np.save(tmp_path / "logs.npy", Predictive.dense(p).logprobs)
    logs = np.load(tmp_path / "logs.npy", mmap_mode="r")
    mapped = Predictive(logs, None, np.zeros(len(logs)), logs.shape[1])
    here = induce(Predictive.dense(p), 1.0, Choice(k_range=(2, 4)), "low-rank")
    there = induce(mapped, 1.0, Choice(k_range=(2, 4)), "low-rank")
    assert here.silhouette_by_k == there.silhouette_by_k
    np.testing.assert_array_equal(here.labels, there.labels)


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_top_k_input(engine):
    p, truth = planted(1200, outcomes=150, noise=0.3)
    ids = np.argsort(-p, axis=1)[:, :60]
    logs = np.log(np.take_along_axis(p, ids, 1))
    view = Predictive.top_k(ids, logs, 1 - np.exp(logs).sum(1), 150)
    made = induce(view, "median", Choice(k=GROUPS, k_range=(2, 6)), engine)
    assert adjusted_rand_score(truth, made.labels) >= 0.99


@pytest.mark.parametrize("engine", ENGINES)
def test_stability_works_with_every_engine(engine):
    view = Predictive.dense(planted(1300, noise=0.3)[0])
    made = induce(view, 1.0, Choice(k_range=(2, 6), k_rule="stability"), engine)
    assert made.labels.max() + 1 >= GROUPS


def test_an_accelerator_takes_many_outcomes_and_weak_partitions_too():
    pytest.importorskip("torch")
    view = Predictive.dense(planted(1500, outcomes=90, noise=1.6)[0])
    choice = Choice(k_range=(2, 6), k_rule="stability")
    here, there = (induce(view, 0.5, choice, engine) for engine in ("dense", "torch"))
    np.testing.assert_array_equal(here.labels, there.labels)
    for k, value in here.silhouette_by_k.items():
        assert there.silhouette_by_k[k] == pytest.approx(value, abs=1e-5)


def test_a_device_that_is_not_there_is_said():
    pytest.importorskip("torch")
    view = Predictive.dense(planted(1200)[0])
    with pytest.raises(BenchharmonyError, match=r"--engine torch:nowhere: .* use --engine auto"):
        induce(view, 1.0, Choice(), "torch:nowhere")


def test_an_engine_that_nobody_knows_is_refused_before_anything_is_read():
    with pytest.raises(BenchharmonyError, match=r"unknown engine 'quantum'; choose auto"):
        Settings(engine="quantum")
