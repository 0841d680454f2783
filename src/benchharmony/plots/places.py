"""Places of items in two dimensions, from the spectral embedding of a partition.

The first two eigenvectors alone crowd most items of a benchmark with many subdomains into one
spot. So the directions of as many eigenvectors as there are subdomains (rows set to length 1, as
Ng, Jordan and Weiss 2001 cluster them) are laid out by t-SNE (van der Maaten, Hinton 2008): near
items are near in the embedding; distances between far groups mean little.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from benchharmony.subdomains import Partition

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Items that t-SNE lays out (three seconds); others stand among their nearest ones.
LAID_OUT = 1500
#: Eigenvectors at least, nearest items that place another one, and rows compared at once.
_FEWEST, _NEAREST, _AT_ONCE = 4, 3, 1024
#: Eigenvectors at most for partitions that were not made from them; items at least.
_MOST, _FEWEST_ITEMS = 20, 5
_PERPLEXITY, _STEPS = 30.0, 500


def sample_by_subdomain(partition: Partition, most: int) -> Rows:
    """Return rows of a sample, from each subdomain by its share and at least one, by subdomain.

    Those of a subdomain come nearest to its centre first, where closeness is known.
    """
    rng = np.random.default_rng(0)
    share = min(most / max(len(partition), 1), 1.0)
    out = []
    for i in range(partition.k):
        rows = np.flatnonzero(partition.labels == i)
        take = min(max(round(share * len(rows)), 1), len(rows))
        if take < len(rows):
            rows = np.sort(rng.choice(rows, take, replace=False))
        if partition.centrality is not None:
            rows = rows[np.argsort(-partition.centrality[rows], kind="stable")]
        out.append(rows)
    return np.concatenate(out)


#: Places of partitions that are still there: a page and its pictures ask for the same ones.
_PLACED: WeakKeyDictionary[Partition, FloatArray] = WeakKeyDictionary()


def item_places(partition: Partition) -> FloatArray | None:
    """Return a place in the unit square for each item.

    Parameters
    ----------
    partition : Partition
        Of n items.

    Returns
    -------
    ndarray, shape (n, 2), or None
        None for partitions without an embedding (declared ones) or of fewer than 5 items.
    """
    embedding = partition.embedding
    if embedding is None or embedding.shape[1] < 3 or len(partition) < _FEWEST_ITEMS:
        return None
    if partition in _PLACED:
        return _PLACED[partition]
    directions = _directions(embedding, partition.k)
    laid = np.sort(sample_by_subdomain(partition, LAID_OUT))
    placed = _laid_out(directions(laid))
    out = np.empty((len(partition), 2))
    out[laid] = placed
    others = np.setdiff1d(np.arange(len(partition)), laid)
    if len(others):
        out[others] = _among(directions(others), directions(laid), placed)
    _PLACED[partition] = out
    return out


def places_by_similarity(similarity: FloatArray, k: int) -> FloatArray | None:
    """Return a place in the unit square for each item, from a similarity of few items.

    For partitions that were not made from it, such as declared ones of k subdomains.
    """
    from benchharmony.spectral import spectral_sweep

    n = len(similarity)
    if n < _FEWEST_ITEMS:
        return None
    used = min(max(k, _FEWEST), _MOST, n - 1)
    embedding = spectral_sweep(similarity, [used]).embedding
    return _laid_out(_directions(embedding, used)(np.arange(n)))


def _directions(embedding: NDArray[np.floating[Any]], k: int) -> Any:
    """Return the function from rows to the coordinates that are laid out."""
    used = min(max(k, _FEWEST), embedding.shape[1])

    def directions(rows: Rows) -> FloatArray:
        whole = np.asarray(embedding[rows, :used], dtype=np.float64)
        length = np.linalg.norm(whole, axis=1, keepdims=True)
        # The first eigenvector is the same for every item of a connected graph.
        out: FloatArray = whole[:, 1:] / np.where(length > 0, length, 1.0)
        return out

    return directions


def _laid_out(points: FloatArray) -> FloatArray:
    from sklearn.manifold import TSNE

    if np.ptp(points, axis=0).max() == 0:
        return np.full((len(points), 2), 0.5)
    layout = TSNE(
        perplexity=min(_PERPLEXITY, (len(points) - 1) / 3), init="pca", max_iter=_STEPS,
        random_state=0,
    )  # fmt: skip
    placed = np.asarray(layout.fit_transform(points), dtype=np.float64)
    low, high = placed.min(axis=0), placed.max(axis=0)
    out: FloatArray = (placed - low) / np.where(high > low, high - low, 1.0)
    return out


def _among(points: FloatArray, known: FloatArray, placed: FloatArray) -> FloatArray:
    """Return the mean place of the nearest known points."""
    out = np.empty((len(points), 2))
    own = (known**2).sum(axis=1)
    nearest = min(_NEAREST, len(known))
    for start in range(0, len(points), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        squared = own - 2 * (points[part] @ known.T)
        index = np.argpartition(squared, nearest - 1, axis=1)[:, :nearest]
        out[part] = placed[index].mean(axis=1)
    return out
