"""How well a clustering finds declared subdomains, with shuffled membership beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.choice import MIN_SHARE, Choice, choose_k
from benchharmony.spectral import Sweep, kernel_of, spectral_sweep

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

_SHUFFLES = 20


@dataclass(frozen=True)
class Found:
    """Agreement of one clustering with the declared subdomains.

    Attributes
    ----------
    k : int
        Clusters.
    ari, ami : float
        Adjusted Rand index (Hubert, Arabie 1985) and adjusted mutual information (arithmetic;
        Vinh, Epps, Bailey 2010): 1 the same, 0 by chance.
    random_ari, random_ami : float
        Mean over shuffles of the membership: same sizes, no structure.
    random_ami_high : float
        The highest AMI of those shuffles.
    """

    k: int
    ari: float
    ami: float
    random_ari: float
    random_ami: float
    random_ami_high: float


def found(
    labels: Labels, declared: Sequence[Any], *, shuffles: int = _SHUFFLES, seed: int = 0
) -> Found:
    """Compare a clustering and shuffles of it with declared subdomains.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
        Clusters.
    declared : sequence, length n
        Declared labels.
    shuffles : int
        Random partitions of the same sizes, at least 1.
    seed : int
        Of the shuffles.
    """
    # Imported here: scikit-learn is slow to load.
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    truth = codes(declared)
    rng = np.random.default_rng(seed)
    mixed = [rng.permutation(labels) for _ in range(shuffles)]
    amis = [float(adjusted_mutual_info_score(truth, m)) for m in mixed]
    return Found(
        k=len(np.unique(labels)),
        ari=float(adjusted_rand_score(truth, labels)),
        ami=float(adjusted_mutual_info_score(truth, labels)),
        random_ari=float(np.mean([adjusted_rand_score(truth, m) for m in mixed])),
        random_ami=float(np.mean(amis)),
        random_ami_high=max(amis),
    )


def codes(declared: Sequence[Any]) -> Labels:
    """Return declared labels as numbers 0..k-1 in order of appearance."""
    place: dict[Any, int] = {}
    return np.array([place.setdefault(label, len(place)) for label in declared], dtype=np.int64)


def clustered(
    similarity: FloatArray, k_range: tuple[int, int], extra: Sequence[int] = (), *, seed: int = 0
) -> Sweep:
    """Cluster a similarity, symmetrised, for every k of a range and some more.

    Parameters
    ----------
    similarity : ndarray, shape (n, n)
        Not negative, ones on the diagonal; its two triangles are averaged.
    k_range : (int, int)
        Smallest and largest k.
    extra : sequence of int
        Further k, such as the declared number of subdomains.
    seed : int
        Of k-means.
    """
    n = len(similarity)
    ks = sorted({k for k in (*range(k_range[0], k_range[1] + 1), *extra) if 2 <= k <= n})
    return spectral_sweep((similarity + similarity.T) / 2, ks, seed=seed)


def best_k(
    merits: dict[int, float], sweep: Sweep, k_range: tuple[int, int], min_share: float = MIN_SHARE
) -> int | None:
    """Return the admissible k of the highest merit, the smallest of several; None without any.

    Admissible as for :func:`benchharmony.partition`: all k clusters there, none under the guard.
    """
    ks = [k for k in admissible(sweep, k_range, min_share) if np.isfinite(merits.get(k, np.nan))]
    return max(ks, key=lambda k: (merits[k], -k)) if ks else None


def default_k(
    similarity: FloatArray, sweep: Sweep, k_range: tuple[int, int], *, seed: int = 0
) -> int | None:
    """Return the k that :func:`benchharmony.partition` chooses by default; None without any."""
    items = np.ones(len(similarity), dtype=np.int64)
    with kernel_of((similarity + similarity.T) / 2) as kernel:
        return choose_k(sweep, kernel, items, Choice(k_range=k_range, seed=seed)).k


def admissible(sweep: Sweep, k_range: tuple[int, int], min_share: float = MIN_SHARE) -> list[int]:
    """Return the k of the range with k clusters, none of them under the guard."""
    out = []
    for k, labels in sweep.labels.items():
        sizes = np.bincount(labels)
        smallest = Choice(min_share=min_share).smallest(len(labels))
        if k_range[0] <= k <= k_range[1] and len(sizes) == k and sizes.min() >= smallest:
            out.append(k)
    return sorted(out)


def modularity(similarity: FloatArray, labels: Labels) -> float:
    """Return the weighted modularity of a clustering (Newman 2004), self-likeness left out."""
    weights = similarity - np.diag(np.diag(similarity))
    member = np.eye(int(labels.max()) + 1)[labels]
    inside = np.diag(member.T @ weights @ member)
    degree = member.T @ weights.sum(axis=1)
    total = weights.sum()
    return float((inside / total - (degree / total) ** 2).sum())
