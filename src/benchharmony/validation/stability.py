"""Do partitions come out the same again: over seeds, over subsamples, and between models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.validation.case import Case
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import clustered

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Repetitions, and the share of the items in a subsample.
_SEEDS, _SUBSAMPLES, _SHARE = 8, 8, 0.8


def stability(case: Case, *, seed: int = 0) -> list[dict[str, Any]]:
    """Return the agreement over seeds and over subsamples at the declared k, by positions.

    Parameters
    ----------
    case : Case
        With distributions.
    seed : int
        First of the seeds, and of the subsamples.

    Returns
    -------
    list of dict
        Keys ``positions``, ``k``, ``seeds``, ``subsamples`` (each with the matrix of adjusted
        Rand indices ``ari``, the ``mean`` and the ``lowest`` of its pairs) and ``random``, the
        mean with shuffled membership.
    """
    k = case.n_declared
    out = []
    for positions, divergence in case.divergence.items():
        whole = similarity_from(divergence)
        over_seeds = [clustered(whole, (k, k), seed=seed + i).labels[k] for i in range(_SEEDS)]
        rng = np.random.default_rng(seed)
        parts = []
        for _ in range(_SUBSAMPLES):
            rows = np.sort(rng.choice(len(case), int(_SHARE * len(case)), replace=False))
            labels = np.full(len(case), -1)
            similarity = similarity_from(divergence[np.ix_(rows, rows)])
            labels[rows] = clustered(similarity, (k, k), seed=seed).labels[k]
            parts.append(labels)
        mixed = [rng.permutation(labels) for labels in over_seeds]
        out.append({
            "positions": positions,
            "k": k,
            "seeds": _summary(agreement_matrix(over_seeds)),
            "subsamples": _summary(agreement_matrix(parts)),
            "random": _summary(agreement_matrix(mixed))["mean"],
        })  # fmt: skip
    return out


def between_models(cases: Sequence[Case], *, seed: int = 0) -> list[dict[str, Any]]:
    """Return the adjusted Rand indices between models on the items that all of them share.

    Parameters
    ----------
    cases : sequence of Case
        Those of one benchmark are compared; benchmarks with one model are passed over.
    seed : int
        Of k-means and the shuffles.

    Returns
    -------
    list of dict
        Keys ``benchmark``, ``positions``, ``k`` (the declared number), ``n_items``, ``names``,
        ``ari`` (m, m), the last row and column being the declared subdomains, and ``random``.
    """
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.evaluation.benchmark, []).append(case)
    out = []
    for benchmark, members in groups.items():
        shared = set.intersection(*(set(c.evaluation.item_ids) for c in members))
        common = [p for p in members[0].views if all(p in c.views for c in members)]
        if len(members) < 2 or len(shared) < 20:
            continue
        out += [_between(benchmark, p, members, shared, seed) for p in common]
    return out


def _between(
    benchmark: str, positions: str, members: Sequence[Case], shared: set[str], seed: int
) -> dict[str, Any]:
    from benchharmony.validation.domains import codes

    order = [name for name in members[0].evaluation.item_ids if name in shared]
    labels, declared = [], []
    for case in members:
        row = {name: i for i, name in enumerate(case.evaluation.item_ids)}
        rows = np.array([row[name] for name in order])
        declared = [case.declared[i] for i in rows]
        k = len(set(declared))
        similarity = similarity_from(case.divergence[positions][np.ix_(rows, rows)])
        labels.append(clustered(similarity, (k, k), seed=seed).labels[k])
    rng = np.random.default_rng(seed)
    return {
        "benchmark": benchmark,
        "positions": positions,
        "k": len(set(declared)),
        "n_items": len(order),
        "names": [*(c.evaluation.model for c in members), "(declared)"],
        "ari": agreement_matrix([*labels, codes(declared)]),
        "random": _summary(agreement_matrix([labels[0], *map(rng.permutation, labels)]))["mean"],
    }


def agreement_matrix(partitions: Sequence[Labels]) -> FloatArray:
    """Return the adjusted Rand index of every pair, over the items that both hold (not -1)."""
    from sklearn.metrics import adjusted_rand_score

    out = np.eye(len(partitions))
    for i, a in enumerate(partitions):
        for j in range(i):
            both = (a >= 0) & (partitions[j] >= 0)
            out[i, j] = out[j, i] = adjusted_rand_score(a[both], partitions[j][both])
    return out


def _summary(matrix: FloatArray) -> dict[str, Any]:
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    return {"ari": matrix, "mean": float(pairs.mean()), "lowest": float(pairs.min())}
