"""Eigenpairs begun at landmarks: fewer products, and the same pairs as a full solver gives."""

import numpy as np
import pytest
from scipy import linalg

from benchharmony import predictive_similarity
from benchharmony.engines import iterative
from benchharmony.engines.dense import Dense
from benchharmony.engines.kernel import product
from benchharmony.engines.workers import Workers
from benchharmony.spectral import sweep

N = 2200


class Counting:
    """A dense engine that counts its products."""

    def __init__(self, matrix, workers):
        self._dense, self.workers, self.dtype, self.columns = (
            Dense(matrix, workers), workers, matrix.dtype, [],
        )  # fmt: skip

    def __len__(self):
        return len(self._dense)

    def apply(self, right, use):
        self.columns.append(right.shape[1])
        return self._dense.apply(right, use)


def similarity(tau, outcomes=4, n=N):
    z = np.random.default_rng(0).normal(0, 2, (n, outcomes))
    p = np.exp(z)
    s = predictive_similarity(p / p.sum(axis=1, keepdims=True), tau=tau)
    np.fill_diagonal(s, 0)
    return s


def scaled(s):
    """Return the inverse roots of the degrees, and the normalised affinity."""
    scale = 1 / np.sqrt(s.sum(axis=1))
    return scale, scale[:, None] * s * scale


def solved(s, m, dtype=np.float32):
    """Return what the engine finds, and the columns of its products."""
    with Workers(1) as workers:
        kernel = Counting(s.astype(dtype), workers)
        pairs = iterative.iterated(
            kernel, scaled(s)[0], np.zeros(len(s)), m, 0, lambda rows: s[rows].astype(dtype)
        )
    return *pairs, kernel.columns


def test_landmarks_save_most_products_and_the_pairs_are_those_of_a_full_solver(monkeypatch):
    s = similarity(tau=1.0)
    values, vectors, columns = solved(s, 12)
    matrix = scaled(s)[1]
    expected = linalg.eigh(matrix, eigvals_only=True, subset_by_index=[N - 12, N - 1])[::-1]
    np.testing.assert_allclose(values, expected, atol=1e-5)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-4)
    monkeypatch.setattr(iterative, "_MANY", N + 1)
    assert len(columns) > 1
    assert sum(columns) <= 0.6 * sum(solved(s, 12)[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_low_rank_is_solved_as_well(dtype):
    s = similarity(tau=40.0, outcomes=12)
    values, vectors, _ = solved(s, 6, dtype)
    matrix = scaled(s)[1]
    expected = linalg.eigh(matrix, eigvals_only=True, subset_by_index=[N - 6, N - 1])[::-1]
    np.testing.assert_allclose(values, expected, atol=2e-5)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=2e-5)


def test_a_group_that_no_landmark_knows_is_found():
    s = similarity(tau=1.0)
    places = np.arange(256) * N // 256
    rare = np.setdiff1d(np.arange(N), places)[100:106]
    s[rare] = s[:, rare] = 0
    s[np.ix_(rare, rare)] = 0.9 - 0.9 * np.eye(len(rare))
    with Workers(1) as workers:
        kernel = Dense(s.astype(np.float32), workers)
        found = sweep(kernel, np.ones(N, dtype=np.int64), [2, 5])
        assert product(kernel, np.ones((N, 1), dtype=np.float32)).min() > 0
    assert found.components == 2
    assert found.eigenvalues[:2] == pytest.approx([1, 1], abs=1e-5)
    for labels in found.labels.values():
        assert len(set(labels[rare])) == 1
        assert (labels == labels[rare[0]]).sum() == len(rare)
