"""The subdomains that the models of a benchmark share, and how the models score on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchharmony.landscape.draws import Measured


def shared_subdomains(group: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return a row per subdomain with its score over models, in the order of the partition.

    Empty where the models do not split the items alike: an "S1" of one model is not that of
    another.

    Parameters
    ----------
    group : sequence of Measured
        The models of a benchmark.

    Returns
    -------
    list of dict
        "label", "size", "weight" (means over models, who may have answered different items),
        "score" with "mean", "min", "max" over models, and "below": the share of models that score
        lower here than on average.
    """
    names = group[0].split.names
    if any(m.split.names != names or not _comparable(m, group[0]) for m in group):
        return []
    weights = np.array([m.result.subdomains.weights for m in group])
    scores = np.array([m.result.subdomains.performance for m in group])
    sizes = np.array([m.result.subdomains.sizes for m in group])
    means = np.array([m.result.mean for m in group])
    return [
        {
            "label": name,
            "size": round(float(sizes[:, i].mean())),
            "weight": float(weights[:, i].mean()),
            "score": {
                "mean": float(scores[:, i].mean()),
                "min": float(scores[:, i].min()),
                "max": float(scores[:, i].max()),
            },
            "below": float((scores[:, i] < means).mean()),
        }
        for i, name in enumerate(names)
    ]


def _comparable(a: Measured, b: Measured) -> bool:
    """Return whether equal names are equal subdomains."""
    if a.split.kind.startswith("declared:"):
        return a.split.kind == b.split.kind
    return a.evaluation.item_ids == b.evaluation.item_ids and np.array_equal(
        a.split.labels, b.split.labels
    )
