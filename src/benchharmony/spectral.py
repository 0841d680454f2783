"""Spectral clustering of a similarity matrix for every k at once: one eigen-solve, nested columns.

The embedding of k clusters is the first k eigenvectors of the normalised affinity, scaled by the
inverse square roots of the degrees, so one solve for the largest k serves every smaller one (Ng,
Jordan, Weiss 2001; Shi, Malik 2000; the scaling is that of scikit-learn's ``spectral_embedding``).
The mean silhouette on 1 - S needs only sums of S over clusters, and one product with stacked
one-hot labels gives those for every k (Rousseeuw 1987 for the silhouette).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Up to this many items a full solver is quicker than an iterative one.
_SMALL = 400
_RESTARTS = 10  # k-means starts, as scikit-learn's SpectralClustering
_SUBSAMPLE = 0.8


@dataclass(frozen=True, eq=False)
class Sweep:
    """Clusterings of one similarity matrix for a range of k.

    Attributes
    ----------
    labels : dict of int to ndarray of int64, shape (n,)
        Clusters 0..k'-1 for each k asked for, largest first; k' < k where clusters stayed empty.
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
    embedding: FloatArray
    components: int


def spectral_sweep(
    similarity: FloatArray,
    ks: Sequence[int],
    *,
    seed: int = 0,
    content: NDArray[np.int64] | None = None,
) -> Sweep:
    """Cluster a similarity matrix for every k of a list.

    Parameters
    ----------
    similarity : ndarray, shape (n, n)
        Symmetric, in [0, 1], ones on the diagonal. It need not be positive definite.
    ks : sequence of int
        Numbers of clusters, each at least 2 and at most n.
    seed : int
        Of the k-means starts.
    content : ndarray of int64, shape (n,), optional
        Numbers 0..m-1, equal for exact duplicates: these always share a cluster.

    Raises
    ------
    BenchharmonyError
        For a k out of range or no k at all.
    """
    n = len(similarity)
    if not ks or min(ks) < 2 or max(ks) > n:
        raise BenchharmonyError(f"k must lie in 2..{n} for {n} distinct items, got {list(ks)}")
    values, vectors = _embed(similarity, min(max(ks) + 1, n), seed)
    if content is not None and content.max() < n - 1:
        vectors = _averaged(vectors, content)
    labels = {k: _kmeans(vectors[:, :k], k, seed) for k in ks}
    return Sweep(
        labels=labels,
        silhouette=silhouette_by_k(similarity, labels),
        eigenvalues=values,
        embedding=vectors,
        components=_components(similarity),
    )


def silhouette_by_k(similarity: FloatArray, labels: Mapping[int, Labels]) -> dict[int, float]:
    """Return the mean silhouette on the distance 1 - S of several clusterings.

    Equal to scikit-learn's ``silhouette_score(1 - S, labels, metric="precomputed")``; NaN for a
    clustering of fewer than 2 clusters.
    """
    if not labels:
        return {}
    counts = {k: np.bincount(lab) for k, lab in labels.items()}
    sums = similarity @ np.hstack([np.eye(len(counts[k]))[lab] for k, lab in labels.items()])
    own_similarity = np.diag(similarity)
    out, start = {}, 0
    for k, lab in labels.items():
        stop = start + len(counts[k])
        out[k] = _silhouette(sums[:, start:stop], own_similarity, lab, counts[k])
        start = stop
    return out


def _silhouette(
    sums: FloatArray, own_similarity: FloatArray, lab: Labels, counts: NDArray[np.int64]
) -> float:
    if len(counts) < 2:
        return float("nan")
    rows = np.arange(len(lab))
    mean_distance = 1.0 - sums / counts
    others = np.maximum(counts[lab] - 1, 1)
    within = 1.0 - (sums[rows, lab] - own_similarity) / others
    mean_distance[rows, lab] = np.inf
    between = mean_distance.min(axis=1)
    widest = np.maximum(within, between)
    value = np.divide(between - within, widest, out=np.zeros_like(widest), where=widest > 0)
    value[counts[lab] == 1] = 0.0
    return float(value.mean())


def eigengap_by_k(eigenvalues: FloatArray, ks: Sequence[int]) -> dict[int, float]:
    """Return the gap between the k-th and the next eigenvalue for each k that has a next one."""
    return {k: float(eigenvalues[k - 1] - eigenvalues[k]) for k in ks if k < len(eigenvalues)}


def stability_by_k(
    similarity: FloatArray, ks: Sequence[int], *, pairs: int = 5, seed: int = 0
) -> dict[int, float]:
    """Return how well the clusterings of two random 80 % subsamples agree, for each k.

    Mean adjusted Rand index over the items that both subsamples hold, over ``pairs`` pairs of
    subsamples (Ben-Hur, Elisseeff, Guyon 2002).
    """
    from sklearn.metrics import adjusted_rand_score

    n = len(similarity)
    size = int(_SUBSAMPLE * n)
    usable = [k for k in ks if k <= size]
    rng = np.random.default_rng(seed)
    scores: dict[int, list[float]] = {k: [] for k in usable}
    for _ in range(pairs if usable else 0):
        halves = []
        for _ in range(2):
            rows = np.sort(rng.choice(n, size, replace=False))
            _, vectors = _embed(similarity[np.ix_(rows, rows)], max(usable), seed)
            whole = {}
            for k in usable:
                whole[k] = np.full(n, -1)
                whole[k][rows] = _kmeans(vectors[:, :k], k, seed)
            halves.append(whole)
        for k in usable:
            a, b = halves[0][k], halves[1][k]
            both = (a >= 0) & (b >= 0)
            scores[k].append(float(adjusted_rand_score(a[both], b[both])))
    return {k: float(np.mean(s)) for k, s in scores.items()}


def _embed(similarity: FloatArray, m: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the m largest eigenvalues of the normalised affinity and the scaled vectors."""
    n = len(similarity)
    own = np.diag(similarity)
    degree = similarity.sum(axis=1) - own  # an item's likeness to itself says nothing
    alone = degree <= 0
    scale = np.where(alone, 1.0, 1.0 / np.sqrt(np.where(alone, 1.0, degree)))
    diagonal = np.where(alone, 1.0, 0.0)
    if n <= _SMALL or m >= n - 1:
        affinity = similarity * scale[:, None] * scale
        np.fill_diagonal(affinity, diagonal)
        values, vectors = linalg.eigh(affinity, subset_by_index=[n - m, n - 1])
    else:
        shift = scale * scale * own - diagonal
        values, vectors = _iterate(similarity, scale, shift, m, seed)
    values, vectors = values[::-1], vectors[:, ::-1] * scale[:, None]
    return values, _signed(vectors)


def _iterate(
    similarity: FloatArray, scale: FloatArray, shift: FloatArray, m: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    n = len(similarity)

    def product(x: FloatArray) -> FloatArray:
        x = x.ravel()
        out: FloatArray = scale * (similarity @ (scale * x)) - shift * x
        return out

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(seed).uniform(0.5, 1.5, n)
    try:
        values, vectors = eigsh(operator, k=m, which="LA", v0=start, maxiter=100 * n)
    except ArpackNoConvergence:
        raise BenchharmonyError(
            "the eigenvectors of the similarity did not converge; try a smaller --k-max or --tau"
        ) from None
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _averaged(vectors: FloatArray, content: NDArray[np.int64]) -> FloatArray:
    """Return the vectors with duplicates at their mean.

    Duplicates differ in eigenvectors of negative eigenvalues only (the diagonal of the affinity
    is 0), which come into play when k is near the number of distinct items.
    """
    sums = np.zeros((int(content.max()) + 1, vectors.shape[1]))
    np.add.at(sums, content, vectors)
    mean: FloatArray = (sums / np.bincount(content)[:, None])[content]
    return mean


def _signed(vectors: FloatArray) -> FloatArray:
    """Fix the sign of each vector: its entry of largest size is positive."""
    top = np.abs(vectors).argmax(axis=0)
    sign = np.sign(vectors[top, np.arange(vectors.shape[1])])
    return vectors * np.where(sign == 0, 1.0, sign)


def _kmeans(points: FloatArray, k: int, seed: int) -> Labels:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    # Small problems: threads cost far more in start-up than they save. Fewer distinct points than
    # clusters is no fault here: the clusters stay empty and the caller sees fewer.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        raw = KMeans(k, n_init=_RESTARTS, random_state=seed).fit(points).labels_
    return ordered_labels(raw.astype(np.int64))


def ordered_labels(labels: Labels) -> Labels:
    """Return clusters renumbered by size, largest first; ties by their first item."""
    _, first, compact, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return rank[compact]


def _components(similarity: FloatArray) -> int:
    """Return the number of connected parts; a full row of the matrix settles the usual case."""
    if (similarity[0] > 0).all():
        return 1
    count, _ = connected_components(csr_matrix((similarity > 0).astype(np.float64)), directed=False)
    return int(count)
