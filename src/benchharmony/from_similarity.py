"""From any similarity of items to a partition: sweep over k, choice of k, names.

For partitions that are not made from one model's predictive distributions: shared by several
models, from responses, from text. Those from distributions take
:func:`benchharmony.induced.induce`, which never needs the whole matrix.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.choice import Choice, choose_k
from benchharmony.engines.dense import Dense
from benchharmony.engines.workers import Workers
from benchharmony.induced import MIN_ITEMS
from benchharmony.spectral import sweep
from benchharmony.subdomains import Partition

Floats = NDArray[np.floating[Any]]


def partition_of(
    similarity: Floats,
    keys: Sequence[Hashable],
    choice: Choice,
    *,
    kind: str,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Partition:
    """Cluster items by a similarity matrix.

    Parameters
    ----------
    similarity : ndarray, shape (n, n)
        Symmetric, in [0, 1].
    keys : sequence, length n
        Content of each item, sortable: items with equal keys are one item to the clustering and
        share a subdomain, and the order of the rows changes nothing.
    choice : Choice
        How k is chosen.
    kind : str
        Name of the partition's kind.
    settings : mapping, optional
        More parameters to record.
    notes : sequence of str
        What to say about this kind.
    """
    n = len(keys)
    nothing = np.zeros(n, dtype=np.int64)
    recorded = {
        **(settings or {}), "k": choice.k, "k_range": list(choice.k_range),
        "k_rule": choice.k_rule, "min_share": choice.min_share, "seed": choice.seed,
    }  # fmt: skip

    def undefined(why: str) -> Partition:
        return Partition(
            kind, nothing, ("S1",), undefined=why, settings=recorded, notes=tuple(notes)
        )

    if n < MIN_ITEMS:
        return undefined(f"fewer than {MIN_ITEMS} items")
    first, content, counts = _distinct(keys)
    low, high = choice.k_range
    top = min(high, len(first))
    ks = sorted({*range(low, top + 1)} | ({choice.k} if choice.k else set()))
    if len(first) < 2 or not ks or max(ks) > len(first):
        return undefined(f"only {len(first)} distinct items among {n}")
    matrix = np.array(similarity[np.ix_(first, first)])
    np.fill_diagonal(matrix, 0.0)
    with Workers() as workers:
        kernel = Dense(matrix, workers)
        made = sweep(kernel, counts, ks, seed=choice.seed)
        chosen = choose_k(made, kernel, counts, choice)
    if chosen.k is None:
        return undefined(chosen.undefined or "no k was chosen")
    labels = made.labels[chosen.k][content].astype(np.int64)
    return Partition(
        kind=kind,
        labels=labels,
        names=tuple(f"S{i + 1}" for i in range(int(labels.max()) + 1)),
        silhouette_by_k=made.silhouette,
        labels_by_k={k: found[content].astype(np.int64) for k, found in made.labels.items()},
        unguarded_k=chosen.unguarded,
        centrality=_centrality(similarity, labels),
        embedding=made.embedding[content],
        engine="dense",
        settings=recorded,
        notes=(*notes, chosen.note) if chosen.note else tuple(notes),
    )


def _distinct(
    keys: Sequence[Hashable],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return a row of each distinct item in sorted order, the item of each row, and the counts."""
    rows: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        rows.setdefault(key, []).append(i)
    content = np.empty(len(keys), dtype=np.int64)
    groups = [rows[key] for key in sorted(rows)]
    for place, group in enumerate(groups):
        content[group] = place
    first = np.array([group[0] for group in groups], dtype=np.int64)
    return first, content, np.array([len(group) for group in groups], dtype=np.int64)


def _centrality(similarity: Floats, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    members = np.eye(int(labels.max()) + 1, dtype=similarity.dtype)[labels]
    sums = similarity @ members
    own: NDArray[np.float64] = sums[np.arange(len(labels)), labels] / members.sum(axis=0)[labels]
    return own
