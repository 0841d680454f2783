"""Spectral clustering of a similarity for every k at once: one eigen-solve, nested columns.

The embedding of k clusters is the first k eigenvectors of the normalised affinity, scaled by the
inverse square roots of the degrees, so one solve for the largest k serves every smaller one (Ng,
Jordan, Weiss 2001; Shi, Malik 2000; the scaling is that of scikit-learn's ``spectral_embedding``).

Everything works on distinct items with the number of times that each occurs; the engines
(:mod:`benchharmony.engines`) provide the products with S.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.agreement import rand_index
from benchharmony.engines.dense import Dense
from benchharmony.engines.kernel import Floats, Kernel, Labels, product
from benchharmony.engines.kmeans import kmeans_by_k
from benchharmony.engines.silhouettes import mean_silhouettes
from benchharmony.engines.workers import Workers
from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]
Counts = NDArray[np.int64]

_SUBSAMPLE = 0.8
#: An eigenvalue this near to 1 stands for one more unconnected part, where S is not held whole.
_PARTED = 1e-6
#: Where S is approximated, an item with less than this share of the largest degree is like none.
_ALONE = 1e-9


@dataclass(frozen=True, eq=False)
class Sweep:
    """Clusterings of one similarity for a range of k.

    Attributes
    ----------
    labels : dict of int to ndarray of int64, shape (n,)
        Clusters 0..k'-1 for each k asked for, largest first; k' < k where clusters stayed empty.
        int16 above a million rows.
    silhouette : dict of int to float
        Mean silhouette on 1 - S for each k, in [-1, 1].
    eigenvalues : ndarray, shape (m,)
        Largest eigenvalues of the normalised affinity, descending; m = max k + 1 where n allows.
    embedding : ndarray, shape (n, m)
        Their eigenvectors over the square roots of the degrees.
    components : int
        Connected parts of the similarity graph.
    """

    labels: dict[int, Labels]
    silhouette: dict[int, float]
    eigenvalues: FloatArray
    embedding: Floats
    components: int


def spectral_sweep(similarity: FloatArray, ks: Sequence[int], *, seed: int = 0) -> Sweep:
    """Cluster a similarity matrix for every k of a list.

    Parameters
    ----------
    similarity : ndarray, shape (n, n)
        Symmetric, in [0, 1], ones on the diagonal. It need not be positive definite.
    ks : sequence of int
        Numbers of clusters, each at least 2 and at most n.
    seed : int
        Of the k-means starts.

    Raises
    ------
    BenchharmonyError
        For a k out of range or no k at all.
    """
    with kernel_of(similarity) as kernel:
        return sweep(kernel, np.ones(len(similarity), dtype=np.int64), ks, seed=seed)


def sweep(kernel: Kernel, counts: Counts, ks: Sequence[int], *, seed: int = 0) -> Sweep:
    """Cluster distinct items, each of which stands for ``counts`` items, for every k of a list.

    Raises
    ------
    BenchharmonyError
        For a k out of range or no k at all.
    """
    n = len(kernel)
    if not ks or min(ks) < 2 or max(ks) > n:
        raise BenchharmonyError(f"k must lie in 2..{n} for {n} distinct items, got {list(ks)}")
    values, vectors = _embed(kernel, counts, min(max(ks) + 1, n), seed)
    raw = kmeans_by_k(vectors, counts, ks, seed, kernel.workers)
    labels = {k: ordered_labels(raw[k], counts) for k in ks}
    return Sweep(
        labels=labels,
        silhouette=mean_silhouettes(kernel, counts, labels),
        eigenvalues=values,
        embedding=vectors,
        components=_components(kernel, values),
    )


def silhouette_by_k(similarity: FloatArray, labels: Mapping[int, Labels]) -> dict[int, float]:
    """Return the mean silhouette on the distance 1 - S of several clusterings.

    Equal to scikit-learn's ``silhouette_score(1 - S, labels, metric="precomputed")``; NaN for a
    clustering of fewer than 2 clusters.
    """
    with kernel_of(similarity) as kernel:
        return mean_silhouettes(kernel, np.ones(len(similarity), dtype=np.int64), labels)


def eigengap_by_k(eigenvalues: FloatArray, ks: Sequence[int]) -> dict[int, float]:
    """Return the gap between the k-th and the next eigenvalue for each k that has a next one."""
    return {k: float(eigenvalues[k - 1] - eigenvalues[k]) for k in ks if k < len(eigenvalues)}


def stability_by_k(
    similarity: FloatArray | Kernel,
    ks: Sequence[int],
    *,
    counts: Counts | None = None,
    pairs: int = 5,
    seed: int = 0,
) -> dict[int, float]:
    """Return how well the clusterings of two random 80 % subsamples agree, for each k.

    Mean adjusted Rand index over the items that both subsamples hold, over ``pairs`` pairs of
    subsamples (Ben-Hur, Elisseeff, Guyon 2002). ``counts`` are the items of each row; one by
    default.
    """
    if isinstance(similarity, np.ndarray):
        with kernel_of(similarity) as kernel:
            return stability_by_k(kernel, ks, counts=counts, pairs=pairs, seed=seed)
    items = (
        np.arange(len(similarity)) if counts is None else np.repeat(np.arange(len(counts)), counts)
    )
    size = int(_SUBSAMPLE * len(items))
    rng = np.random.default_rng(seed)
    scores: dict[int, list[float]] = {}
    for _ in range(pairs):
        drawn = [
            np.bincount(
                items[rng.choice(len(items), size, replace=False)], minlength=len(similarity)
            )
            for _ in range(2)
        ]
        halves = [_clustered(similarity, number, ks, seed) for number in drawn]
        both = np.minimum(*drawn)
        for k in halves[0].keys() & halves[1].keys():
            a, b = halves[0][k], halves[1][k]
            scores.setdefault(k, []).append(rand_index(a, b, both))
    return {k: float(np.mean(scores[k])) for k in ks if k in scores}


def _clustered(kernel: Kernel, counts: Counts, ks: Sequence[int], seed: int) -> dict[int, Labels]:
    """Return labels of every row, 0 for rows that the subsample lacks."""
    rows = np.flatnonzero(counts)
    usable = [k for k in ks if k <= len(rows)]
    if not usable:
        return {}
    some = kernel.subset(rows)
    _, vectors = _embed(some, counts[rows], max(usable), seed)
    whole = {k: np.zeros(len(kernel), dtype=np.int64) for k in usable}
    for k, labels in kmeans_by_k(vectors, counts[rows], usable, seed, kernel.workers).items():
        whole[k][rows] = labels
    return whole


def _embed(kernel: Kernel, counts: Counts, m: int, seed: int) -> tuple[FloatArray, Floats]:
    """Return the m largest eigenvalues of the normalised affinity and the scaled vectors.

    Duplicates are equal in every eigenvector whose eigenvalue is not negative, so the affinity of
    the items is that of distinct rows scaled by the roots of their counts, with the likeness
    among a row's own duplicates on the diagonal.
    """
    weights = counts.astype(np.float64)
    degree = product(kernel, weights[:, None].astype(kernel.dtype))[:, 0] + (weights - 1)
    # Approximated similarities to nothing are not quite 0.
    least = np.finfo(kernel.dtype).tiny if kernel.error is None else _ALONE * degree.max()
    alone = degree <= least
    scale = np.where(alone, 1.0, 1.0 / np.sqrt(np.where(alone, 1.0, degree)))
    shift = np.where(alone, 1.0, (weights - 1) * scale**2)
    values, vectors = kernel.eigenpairs(scale * np.sqrt(weights), shift, m, seed)
    vectors *= (scale / np.sqrt(weights)).astype(vectors.dtype)[:, None]
    return values, _signed(vectors)


def _signed(vectors: Floats) -> Floats:
    """Fix the sign of each vector: its entry of largest size is positive."""
    positive = vectors.max(axis=0) >= -vectors.min(axis=0)
    vectors *= np.where(positive, 1, -1).astype(vectors.dtype)
    return vectors


def ordered_labels(labels: Labels, counts: Counts | None = None) -> Labels:
    """Return clusters renumbered by number of items, largest first; ties by their first item."""
    size = np.bincount(labels, counts)
    there = np.flatnonzero(np.bincount(labels))
    first = [int((labels == c).argmax()) for c in there]
    rank = np.zeros(len(size), dtype=labels.dtype)
    rank[there[np.lexsort((np.array(first), -size[there]))]] = np.arange(len(there))
    return rank[labels]


def _components(kernel: Kernel, eigenvalues: FloatArray) -> int:
    """Return the number of connected parts: counted where S is held whole, else by eigenvalues."""
    if not isinstance(kernel, Dense):
        return max(1, int((eigenvalues > 1 - _PARTED).sum()))
    unseen = np.ones(len(kernel), dtype=bool)
    parts = 0
    while unseen.any():
        parts += 1
        frontier = [int(unseen.argmax())]
        unseen[frontier] = False
        while frontier and unseen.any():  # one row usually reaches all that can be reached
            near = (kernel.matrix[frontier.pop()] > 0) & unseen
            unseen[near] = False
            frontier.extend(np.flatnonzero(near))
    return parts


@contextmanager
def kernel_of(similarity: FloatArray) -> Iterator[Kernel]:
    """Hold a similarity matrix, shape (n, n), as the dense engine does."""
    matrix = np.array(similarity)
    np.fill_diagonal(matrix, 0)
    with Workers() as workers:
        yield Dense(matrix, workers)
