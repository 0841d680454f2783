"""What the pictures of single items show: a sampled similarity matrix, and a map of the items.

Both are made from an evaluation and its partition, never from n x n numbers: pictures hold a few
hundred rows, whatever the size of the benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.partition import DECLARED_NAMES, option_view, predictive_view
from benchharmony.plots.places import (
    LAID_OUT,
    item_places,
    places_by_similarity,
    sample_by_subdomain,
)
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys, median_tau, similarity_of
from benchharmony.subdomains import Partition

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Items whose similarity is computed, and cells of the picture: each is the mean of a block.
SAMPLED, CELLS = 480, 120


@dataclass(frozen=True, eq=False)
class SimilarityCells:
    """A similarity matrix small enough to draw.

    Attributes
    ----------
    matrix : ndarray, shape (c, c)
        Similarity of items, or its mean over blocks of neighbouring items; an item's likeness to
        itself does not count.
    bounds : list of int, length k
        First row of each subdomain.
    labels : list of str, length k
        Names of the subdomains.
    sampled, n_items : int
        Items that were compared, and all.
    made_from : str
        What was compared, in words.
    """

    matrix: FloatArray
    bounds: list[int]
    labels: list[str]
    sampled: int
    n_items: int
    made_from: str


def similarity_cells(
    evaluation: Evaluation, partition: Partition, *, cells: int = CELLS
) -> SimilarityCells | None:
    """Return the similarity of a sample of the items, those of a subdomain side by side.

    Items are drawn from every subdomain by its share, at least one each, and stand by their
    closeness to its centre. The predictive distributions of the model are compared where they are
    recorded, else what the partition was made from (texts, options).

    Parameters
    ----------
    evaluation : Evaluation
        Of n items.
    partition : Partition
        Of the same items.
    cells : int
        Rows of the result, about.

    Returns
    -------
    SimilarityCells or None
        None where there are fewer than 2 subdomains or nothing that could be compared.
    """
    if partition.k < 2:
        return None
    rows = sample_by_subdomain(partition, SAMPLED)
    found = _similarity(evaluation, partition, rows)
    if found is None:
        return None
    matrix, made_from = found
    pooled, bounds = _pooled(matrix, partition.labels[rows], cells / len(rows))
    return SimilarityCells(
        pooled, bounds, list(partition.names), len(rows), len(evaluation), made_from
    )


def map_points(evaluation: Evaluation, partition: Partition) -> list[dict[str, Any]] | None:
    """Return a map of the items: places from the spectral embedding (:func:`item_places`).

    A declared partition has none; its items are placed by the model's predictive distributions
    where those are recorded. Of many items a sample by subdomain is drawn.

    Returns
    -------
    list of dict or None
        ``{x, y, subdomain, correct, declared, id, row}`` for :func:`item_map_spec`; ``row`` is
        the item's place in the evaluation. None where nothing places the items.
    """
    rows = np.sort(sample_by_subdomain(partition, LAID_OUT))
    placed = item_places(partition)
    places = None if placed is None else placed[rows]
    if partition.embedding is None:
        found = _similarity(evaluation, partition, rows)
        places = None if found is None else places_by_similarity(found[0], partition.k)
    if places is None:
        return None
    declared = _declared(evaluation, partition)
    scores = evaluation.scores
    return [
        {
            "x": round(float(places[i, 0]), 4),
            "y": round(float(places[i, 1]), 4),
            "subdomain": partition.names[int(partition.labels[row])],
            "correct": None if scores is None else float(scores[row]),
            "declared": None if declared is None else declared[row],
            "id": evaluation.item_ids[row],
            "row": int(row),
        }
        for i, row in enumerate(rows)
    ]


def _declared(evaluation: Evaluation, partition: Partition) -> tuple[str | None, ...] | None:
    """Return the labels of the column that most likely names topics, if there is one."""
    named = [c for c in DECLARED_NAMES if c in evaluation.groups]
    if not named and len(evaluation.groups) == 1:
        named = list(evaluation.groups)
    return evaluation.groups[named[0]] if named else None


def _similarity(
    evaluation: Evaluation, partition: Partition, rows: Rows
) -> tuple[FloatArray, str] | None:
    """Return the similarity of some items, and what was compared."""
    view, made_from = _view(evaluation, partition)
    if view is not None:
        j = jeffreys(view.take(rows))
        tau = partition.tau if partition.kind in ("predictive", "options") else None
        return similarity_of(j, tau or median_tau(j).value), made_from
    if partition.kind == "text":
        from benchharmony.text_partition import similarity_of_vectors, tfidf, words_of

        vectors = tfidf(words_of(evaluation), evaluation.name)[rows]
        tau = partition.settings.get("tau_used", "median")
        return similarity_of_vectors(vectors, tau)[0], "words of the items"
    return None


def _view(evaluation: Evaluation, partition: Partition) -> tuple[Predictive | None, str]:
    if partition.kind == "options":
        try:
            return option_view(evaluation)[0], "option log-likelihoods"
        except BenchharmonyError:
            return None, ""
    if partition.kind.startswith("text") or not evaluation.predictive:
        return None, ""
    asked = partition.positions if partition.positions in evaluation.predictive else None
    name, view, _ = predictive_view(evaluation, asked)
    return view, f"predictive distributions ({name})"


def _pooled(
    matrix: FloatArray, labels: NDArray[np.signedinteger[Any]], share: float
) -> tuple[FloatArray, list[int]]:
    """Return means over blocks of neighbouring items of a subdomain, and its first rows."""
    cell = np.empty(len(labels), dtype=np.int64)
    bounds, start = [], 0
    for i in np.unique(labels):
        rows = np.flatnonzero(labels == i)
        parts = max(round(len(rows) * min(share, 1.0)), 1)
        cell[rows] = start + np.arange(len(rows)) * parts // len(rows)
        bounds.append(start)
        start += parts
    own = np.eye(len(matrix), dtype=bool)
    members = np.zeros((start, len(labels)))
    members[cell, np.arange(len(labels))] = 1.0
    total = members @ np.where(own, 0.0, matrix) @ members.T
    pairs = members @ (~own).astype(np.float64) @ members.T
    # A cell of one item has no pair with itself: its likeness to itself, 1, stands in.
    return np.where(pairs > 0, total / np.maximum(pairs, 1.0), 1.0), bounds
