"""The parts of the engines, each against a plain computation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchharmony import (
    BenchharmonyError,
    Evaluation,
    Predictive,
    jeffreys,
    partition,
    predictive_similarity,
)
from benchharmony.choice import Choice
from benchharmony.engines import canonical as canonical_module
from benchharmony.engines import eigen
from benchharmony.engines.agreement import rand_index
from benchharmony.engines.canonical import canonical
from benchharmony.engines.choose import reach
from benchharmony.engines.dense import filled
from benchharmony.engines.eigen import largest
from benchharmony.engines.kernel import product
from benchharmony.engines.kmeans import TRY_ROWS, kmeans_by_k
from benchharmony.engines.landmarks import landmarks
from benchharmony.engines.median import tau_of_matrix, tau_of_sample
from benchharmony.engines.tiles import dtype_for, tiles_of
from benchharmony.engines.workers import Workers
from benchharmony.induced import induce

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def random_view(n, outcomes=4, seed=0, spread=2.0):
    z = np.random.default_rng(seed).normal(0, spread, (n, outcomes))
    p = np.exp(z)
    return Predictive.dense(p / p.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("outcomes", [2, 4, 30, 200])
@pytest.mark.parametrize("spread", [0.1, 2.0, 20.0])
def test_single_precision_tiles_are_near_the_exact_similarity(outcomes, spread):
    view = random_view(300, outcomes, spread=spread)
    with Workers(1) as workers:
        s = filled(tiles_of(view, SINGLE), 1.0, SINGLE, workers)
    exact = predictive_similarity(view, tau=1.0)
    np.fill_diagonal(exact, 0)
    assert s.dtype == SINGLE
    np.testing.assert_allclose(s, exact, atol=2e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.floats(-3, 1.5), st.floats(-1, 3), st.integers(0, 100))
def test_single_precision_is_as_near_as_is_said(outcomes, log_spread, log_tau, seed):
    view = random_view(1100, outcomes, seed, spread=10**log_spread)
    tau = 10**log_tau
    if dtype_for(view, tau) == SINGLE:
        with Workers(1) as workers:
            s = filled(tiles_of(view, SINGLE), tau, SINGLE, workers)
        exact = predictive_similarity(view, tau=tau)
        np.fill_diagonal(exact, 0)
        assert np.abs(s - exact).max() <= 1e-4


def test_single_precision_is_not_used_where_tau_would_magnify_it():
    assert dtype_for(random_view(2000), None) == SINGLE
    assert dtype_for(random_view(2000), 1.0) == SINGLE
    assert dtype_for(random_view(2000), 1e4) == DOUBLE
    assert dtype_for(random_view(500), 1.0) == DOUBLE


def nearly_the_same(n, far):
    """Return rows that hardly differ, and some others that do."""
    rng = np.random.default_rng(0)
    z = np.array([1.0, 0, 0.5, -1]) + rng.normal(0, 1e-4, (n, 4))
    z[:far] = rng.normal(0, 3, (far, 4))
    p = np.exp(z)
    return Predictive.dense(p / p.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("engine", ["dense", "matrix-free", "low-rank"])
@pytest.mark.parametrize(("far", "precision"), [(0, SINGLE), (150, DOUBLE)])
def test_items_that_hardly_differ_are_compared_by_what_differs(engine, far, precision):
    view = nearly_the_same(1500, far)
    ordered = view.take(canonical(view).first)
    counts = np.ones(1500, dtype=np.int64)
    with Workers(1) as workers:
        found = reach(ordered, counts, "median", engine, workers)
        s = product(found.kernel, np.eye(1500, dtype=found.kernel.dtype))
    if engine != "low-rank":
        assert found.kernel.dtype == precision
    exact = predictive_similarity(ordered, tau=found.tau)
    np.fill_diagonal(exact, 0)
    np.testing.assert_allclose(s, exact, atol=5e-3 if engine == "low-rank" else 2e-4)
    assert np.median(exact[np.triu_indices(1500, 1)]) == pytest.approx(np.exp(-1), abs=0.01)


@pytest.mark.parametrize("n", [1024, 1025, 8193])
def test_items_that_hardly_differ_are_told_apart_at_every_size(n):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 8193)
    z = rng.normal(size=4) + 1e-3 * (2 * rng.normal(size=(3, 4))[truth])
    z += 1e-4 * rng.normal(size=z.shape)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    made = induce(Predictive.dense(p[:n]), 1.0, Choice(k_range=(2, 4)))
    assert adjusted_rand_score(truth[:n], made.labels_by_k[3]) > 0.95
    assert made.silhouette_by_k[3] > 0.8


@pytest.mark.parametrize("engine", ["dense", "matrix-free"])
@pytest.mark.parametrize("tau", ["median", 1e6])
@pytest.mark.parametrize("n", [60, 1100])
def test_silhouettes_stay_in_their_range_where_divergences_are_rounding(engine, tau, n):
    view = random_view(n, outcomes=4, spread=60.0)
    made = induce(view, tau, Choice(k_range=(2, 8)), engine)
    assert all(-1 <= s <= 1 + 1e-9 for s in made.silhouette_by_k.values())
    assert (made.centrality <= 1 + 1e-9).all()
    assert made.tau <= 2e13


@pytest.mark.parametrize("tau", [0.0, -1.0, np.nan, np.inf, 1e-13, 1e20])
def test_a_tau_that_no_arithmetic_bears_is_refused(tau):
    with pytest.raises(BenchharmonyError, match="tau must lie between 1e-12 and 1e12"):
        induce(random_view(100), tau, Choice())


@pytest.mark.parametrize("engine", ["auto", "dense", "matrix-free"])
@pytest.mark.parametrize("tau", [1e-12, 1e12])
def test_any_other_tau_is_computed_without_a_warning(engine, tau):
    p = np.exp(random_view(1100).logprobs)
    p[::3, 0] = 0
    view = Predictive.dense(p / p.sum(axis=1, keepdims=True))
    made = induce(view, tau, Choice(k_range=(2, 4)), engine)
    assert all(-1 <= s <= 1 + 1e-9 for s in made.silhouette_by_k.values())


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_impossible_outcomes_are_at_similarity_zero(dtype):
    p = np.array([[0.5, 0.5, 0], [0.4, 0.6, 0], [0, 0.5, 0.5], [0.2, 0.3, 0.5]])
    with Workers(1) as workers:
        s = filled(tiles_of(Predictive.dense(p), dtype), 0.01, dtype, workers)
    exact = predictive_similarity(p, tau=0.01)
    np.fill_diagonal(exact, 0)
    np.testing.assert_allclose(s, exact, atol=1e-6)
    assert s[0, 2] == s[0, 3] == 0


@pytest.mark.parametrize("n", [40, 1200])
@pytest.mark.parametrize("repeated", [False, True])
def test_the_median_over_all_pairs_is_exact(n, repeated):
    view = random_view(n)
    counts = np.ones(n, dtype=np.int64)
    if repeated:
        counts[: n // 4] = 3
    j = jeffreys(view)
    rows = np.repeat(np.arange(n), counts)
    every = j[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]
    with Workers(1) as workers:
        rule = tau_of_matrix(j, counts, workers)
    assert rule.note is None
    assert rule.value == pytest.approx(2 / np.median(every), rel=1e-12)


def test_the_median_of_a_sample_of_pairs_is_near():
    view = random_view(5000)
    counts = np.ones(5000, dtype=np.int64)
    with Workers(1) as workers:
        rule = tau_of_sample(tiles_of(view, SINGLE), counts, workers)
    j = jeffreys(view)
    assert rule.value == pytest.approx(2 / np.median(j[np.triu_indices(5000, 1)]), rel=0.01)


def test_mostly_duplicates_are_noted_by_the_median_rule():
    counts = np.array([500, 1, 1], dtype=np.int64)
    j = jeffreys(random_view(3))
    with Workers(1) as workers:
        rule = tau_of_matrix(j, counts, workers)
        assert "zero" in rule.note
        apart = tau_of_matrix(np.full((3, 3), 1e30), counts * 0 + 1, workers)
    assert "infinite" in apart.note


@given(st.integers(0, 10_000), st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_distinct_rows_and_counts_do_not_depend_on_the_order(seed, n):
    rng = np.random.default_rng(seed)
    view = Predictive.dense(rng.dirichlet(np.ones(3), 12)[rng.integers(0, 12, n)])
    order = rng.permutation(n)
    here, there = canonical(view), canonical(view.take(order))
    np.testing.assert_array_equal(here.counts, there.counts)
    np.testing.assert_array_equal(here.content[order], there.content)
    np.testing.assert_array_equal(view.logprobs[here.first], view.take(order).logprobs[there.first])
    np.testing.assert_array_equal(view.logprobs[here.first][here.content], view.logprobs)
    assert len(np.unique(view.logprobs, axis=0)) == len(here.first)


def test_rows_of_one_hash_are_told_apart(monkeypatch):
    view = random_view(30).take(np.r_[np.arange(30), 4, 4])
    monkeypatch.setattr(
        canonical_module, "_hash_rows", lambda _, rows: np.zeros(rows.stop, dtype=np.uint64)
    )
    items = canonical(view)
    assert len(items.first) == 30
    assert sorted(items.counts)[-1] == 3
    assert items.content[4] == items.content[30] == items.content[31]


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_eigenpairs_equal_a_full_solver_also_where_values_coincide(dtype):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(600, 600)))[0]
    values = np.r_[[1.0] * 4, 0.9 * 0.8 ** np.arange(596)]
    matrix = ((turn * values) @ turn.T).astype(dtype)
    found, vectors = largest(lambda x: matrix @ x, 600, 8, 0, dtype)
    tolerance = 1e-8 if dtype == DOUBLE else 1e-4
    np.testing.assert_allclose(found, values[:8], atol=tolerance)
    np.testing.assert_allclose(matrix @ vectors, vectors * found, atol=tolerance)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=tolerance)


def test_a_solver_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr(eigen, "_ROUNDS", 1)
    monkeypatch.setattr(eigen, "_WHOLE", 0)
    matrix = np.diag(np.linspace(0.9, 1, 900))
    with pytest.raises(BenchharmonyError, match="did not converge"):
        largest(lambda x: matrix @ x, 900, 5, 0, DOUBLE)


def test_crowded_eigenvalues_are_solved_whole(monkeypatch):
    monkeypatch.setattr(eigen, "_ROUNDS", 1)
    matrix = np.diag(np.linspace(0.9, 1, 900))
    values, vectors = largest(lambda x: matrix @ x, 900, 5, 0, DOUBLE)
    np.testing.assert_allclose(values, np.linspace(0.9, 1, 900)[:-6:-1], rtol=1e-12)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)


def test_two_outcomes_can_be_clustered_at_every_k():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 600)
    made = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=rng.integers(0, 2, 600),
        predictive=np.column_stack([p, 1 - p]),
    )
    assert set(partition(made).labels_by_k) == set(range(2, 21))


def cost(points, labels):
    return sum(
        ((points[labels == c] - points[labels == c].mean(0)) ** 2).sum() for c in set(labels)
    )


def test_kmeans_is_as_good_as_ten_starts_of_scikit_learn():
    rng = np.random.default_rng(0)
    points = rng.normal(0, 1, (9, 6))[rng.integers(0, 9, 3000)] + rng.normal(0, 0.3, (3000, 6))
    with Workers(1) as workers:
        found = kmeans_by_k(points, np.ones(3000, dtype=np.int64), [3, 6], 0, workers)
    for k, labels in found.items():
        peer = KMeans(k, n_init=10, random_state=0).fit(points[:, :k])
        assert cost(points[:, :k], labels) <= 1.01 * peer.inertia_


def test_kmeans_counts_rows_as_often_as_they_occur():
    rng = np.random.default_rng(1)
    points, counts = rng.normal(0, 1, (200, 3)), rng.integers(1, 5, 200)
    with Workers(1) as workers:
        few = kmeans_by_k(points, counts, [3], 0, workers)[3]
    every = np.repeat(points, counts, axis=0)
    peer = KMeans(3, n_init=10, random_state=0).fit(every)
    assert cost(every, np.repeat(few, counts)) <= 1.01 * peer.inertia_


def test_kmeans_finds_a_handful_of_far_rows_among_many():
    rng = np.random.default_rng(2)
    points = rng.normal(0, 0.1, (30 * TRY_ROWS, 2))
    points[:5] += 60.0
    with Workers(1) as workers:
        labels = kmeans_by_k(points, np.ones(len(points), dtype=np.int64), [2], 0, workers)[2]
    assert np.flatnonzero(labels == labels[0]).tolist() == [0, 1, 2, 3, 4]


def test_fewer_distinct_points_than_clusters_leave_clusters_empty():
    points = np.repeat(np.eye(3), 10, axis=0)
    with Workers(1) as workers:
        labels = kmeans_by_k(points, np.ones(30, dtype=np.int64), [3, 5], 0, workers)
    for found in labels.values():
        assert adjusted_rand_score(np.repeat([0, 1, 2], 10), found) == 1


def test_landmarks_cover_a_group_that_even_ones_miss():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 0.5, (20_000, 4))
    logits[777] = [9, -9, 9, -9]
    p = np.exp(logits)
    view = Predictive.dense(p / p.sum(axis=1, keepdims=True))
    with Workers(1) as workers:
        assert 777 in landmarks(tiles_of(view, SINGLE), 1.0, 0, workers)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_the_rand_index_equals_scikit_learns(seed, k, m):
    rng = np.random.default_rng(seed)
    a, b, counts = rng.integers(0, k, 30), rng.integers(0, m, 30), rng.integers(0, 3, 30)
    counts[0] = 2
    expected = adjusted_rand_score(np.repeat(a, counts), np.repeat(b, counts))
    assert rand_index(a, b, counts) == pytest.approx(expected, abs=1e-12)


def test_results_come_in_order_from_any_number_of_threads():
    for count in (1, 2, 5):
        with Workers(count) as workers:
            assert workers.run(lambda i: i * i, range(50)) == [i * i for i in range(50)]
