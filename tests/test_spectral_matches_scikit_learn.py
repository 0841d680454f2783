"""The sweep against scikit-learn on the same matrix, and its behaviour on odd matrices."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchharmony.errors import BenchharmonyError
from benchharmony.similarity import predictive_similarity
from benchharmony.spectral import (
    eigengap_by_k,
    ordered_labels,
    silhouette_by_k,
    spectral_sweep,
    stability_by_k,
)


def planted(n, groups, seed=0, outcomes=6, noise=0.5):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, groups, n)
    logits = rng.normal(0, 2, (groups, outcomes))[truth] + rng.normal(0, noise, (n, outcomes))
    p = np.exp(logits)
    return predictive_similarity(p / p.sum(1, keepdims=True), tau=1.0), truth


@pytest.fixture(scope="module", params=[(300, 5), (700, 6)], ids=["full solver", "iterative"])
def case(request):
    n, groups = request.param
    s, truth = planted(n, groups)
    return s, truth, groups, spectral_sweep(s, range(2, 21))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_labels_match_spectral_clustering_up_to_the_planted_number(case):
    s, _, groups, sweep = case
    for k in range(2, groups + 1):
        peer = SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(s)
        assert adjusted_rand_score(peer, sweep.labels[k]) >= 0.99


def test_planted_groups_are_found(case):
    _, truth, groups, sweep = case
    assert adjusted_rand_score(truth, sweep.labels[groups]) >= 0.95


def test_silhouettes_equal_scikit_learns(case):
    s, _, _, sweep = case
    distance = np.clip(1 - s, 0, None)
    np.fill_diagonal(distance, 0)
    for k, labels in sweep.labels.items():
        expected = silhouette_score(distance, labels, metric="precomputed")
        assert sweep.silhouette[k] == pytest.approx(expected, abs=1e-6)


def test_silhouette_with_singletons_and_coinciding_items():
    s = np.array([[1, 1, 0.2, 0.1], [1, 1, 0.2, 0.1], [0.2, 0.2, 1, 0.4], [0.1, 0.1, 0.4, 1]])
    for labels in ([0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 2], [0, 0, 1, 2]):
        lab = np.array(labels)
        expected = silhouette_score(1 - s, lab, metric="precomputed")
        assert silhouette_by_k(s, {2: lab})[2] == pytest.approx(expected, abs=1e-12)


def test_eigenpairs_solve_the_normalised_affinity(case):
    s, _, _, sweep = case
    w = s - np.diag(np.diag(s))
    root = np.sqrt(w.sum(1))
    affinity = w / root[:, None] / root
    vectors = sweep.embedding * root[:, None]
    np.testing.assert_allclose(affinity @ vectors, vectors * sweep.eigenvalues, atol=1e-8)
    np.testing.assert_allclose(sweep.eigenvalues[0], 1, atol=1e-10)


def test_the_same_seed_gives_the_same_labels():
    s, _ = planted(200, 4, seed=3)
    first, second = spectral_sweep(s, [2, 5, 9]), spectral_sweep(s, [2, 5, 9])
    for k in first.labels:
        np.testing.assert_array_equal(first.labels[k], second.labels[k])


def test_a_graph_in_parts_is_counted_and_split_along_them():
    s = np.zeros((12, 12))
    for start in (0, 5, 9):
        stop = {0: 5, 5: 9, 9: 12}[start]
        s[start:stop, start:stop] = 0.6
    np.fill_diagonal(s, 1)
    sweep = spectral_sweep(s, [3])
    assert sweep.components == 3
    np.testing.assert_array_equal(sweep.labels[3], [0] * 5 + [1] * 4 + [2] * 3)


def test_an_item_unlike_all_others_does_not_break_the_solve():
    s, _ = planted(500, 3, seed=4)
    s[7, :] = s[:, 7] = 0
    s[7, 7] = 1
    sweep = spectral_sweep(s, [2, 3, 4])
    assert sweep.components == 2
    assert np.isfinite(sweep.embedding).all()


def test_clusters_are_numbered_by_size_then_first_item():
    np.testing.assert_array_equal(ordered_labels(np.array([7, 3, 3, 9, 9, 3])), [2, 0, 0, 1, 1, 0])
    np.testing.assert_array_equal(ordered_labels(np.array([4, 1, 1, 4])), [0, 1, 1, 0])


def test_eigengap_is_widest_at_the_planted_number():
    s, _ = planted(300, 4, seed=5, noise=0.2)
    gaps = eigengap_by_k(spectral_sweep(s, range(2, 11)).eigenvalues, range(2, 11))
    assert max(gaps, key=gaps.get) == 4


def test_subsamples_agree_up_to_the_planted_number_and_not_far_beyond():
    s, _ = planted(300, 4, seed=5, noise=0.2)
    stability = stability_by_k(s, [2, 4, 12], seed=1)
    assert stability[4] > 0.95
    assert stability[12] < 0.9


@pytest.mark.parametrize("ks", [[], [1], [2, 11]])
def test_k_out_of_range_is_worded(ks):
    with pytest.raises(BenchharmonyError, match="k must lie in"):
        spectral_sweep(np.eye(10), ks)
