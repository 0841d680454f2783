"""Mean silhouettes on 1 - S of many clusterings, from one pass of products.

The mean distance of an item to a cluster is linear in S, so sums of S over clusters are all it
takes, and one product with stacked one-hot labels gives those for every k (Rousseeuw 1987 for the
silhouette). Rows stand for ``counts`` items each.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Floats, Kernel, Labels, Members

FloatArray = NDArray[np.float64]


def mean_silhouettes(
    kernel: Kernel, counts: NDArray[np.int64], labels: Mapping[int, Labels]
) -> dict[int, float]:
    """Return the mean silhouette of several clusterings; NaN for fewer than 2 clusters."""
    if not labels:
        return {}
    stack = list(labels.values())
    sizes = [_weighted_sizes(lab, counts) for lab in stack]
    members = Members(stack, [len(size) for size in sizes], counts, kernel.dtype)
    least = kernel.error or 0.0

    def totals(rows: slice, sums: Floats) -> FloatArray:
        out, start = np.empty(len(stack)), 0
        turned = np.ascontiguousarray(sums.T)  # a maximum over rows of k is quicker than of columns
        for i, (lab, size) in enumerate(zip(stack, sizes, strict=True)):
            stop = start + len(size)
            out[i] = _total(turned[start:stop], lab[rows], size, counts[rows], least)
            start = stop
        return out

    total = np.sum(kernel.apply(members, totals), axis=0) / counts.sum()
    return dict(zip(labels, (float(x) for x in total), strict=True))


def mean_similarity_to_own(kernel: Kernel, counts: NDArray[np.int64], labels: Labels) -> FloatArray:
    """Return each row's mean similarity to the items of its own cluster, itself included."""
    size = _weighted_sizes(labels, counts)
    out = np.empty(len(kernel))

    def own(rows: slice, sums: Floats) -> None:
        here = labels[rows]
        out[rows] = (sums[np.arange(len(here)), here] + counts[rows]) / size[here]

    kernel.apply(Members([labels], [len(size)], counts, kernel.dtype), own)
    return out


def _weighted_sizes(labels: Labels, counts: NDArray[np.int64]) -> FloatArray:
    return np.bincount(labels, counts.astype(np.float64)).astype(np.float64)


def _total(
    sums: Floats, lab: Labels, size: FloatArray, counts: NDArray[np.int64], least: float
) -> float:
    """Return the sum of silhouettes of some items.

    ``sums``, shape (k, rows), leave out an item's likeness to itself. Its duplicates, at
    similarity 1, count. Distances up to ``least`` are the error of S: none is there.
    """
    if len(size) < 2:
        return float("nan")
    rows = np.arange(len(lab))
    own = ((sums[lab, rows] + counts - 1.0) / np.maximum(size[lab] - 1, 1)).clip(0, 1)
    mean = sums * (1.0 / size).astype(sums.dtype)[:, None]
    mean[lab, rows] = -np.inf
    other = mean.max(axis=0).astype(np.float64).clip(0, 1)
    # In distances: (b - a) / max(a, b) with a = 1 - own and b = 1 - other.
    widest = 1.0 - np.minimum(own, other)
    value = np.divide(own - other, widest, out=np.zeros_like(widest), where=widest > least)
    value[size[lab] == 1] = 0.0
    return float(value @ counts)
