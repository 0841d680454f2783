"""Splitting subdomains again, as long as the scores support the split.

Every subdomain is handed back to the partition; its split is kept when the same-size null is
rejected and every child is large enough. Deeper tests have fewer items and are more numerous, so a
node's p-value is multiplied by ``n / n_node`` (Meinshausen 2008): the chance that the tree holds
any false split stays at ``alpha``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.nulls import same_size_null
from benchharmony.resampling import checked

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
#: Rows of a subdomain to labels 0..k-1 of those rows; None where it has no partition to offer.
Splitter = Callable[[IntArray], "ArrayLike | None"]


@dataclass(frozen=True)
class Limits:
    """When a node is not split.

    Attributes
    ----------
    alpha : float
        Chance of any false split in the tree.
    child_items : int
        Fewest items a child may have.
    depth : int
        Most levels below the root.
    draws : int
        Null draws per test.
    """

    alpha: float = 0.05
    child_items: int = 20
    depth: int = 3
    draws: int = 2000


@dataclass(frozen=True, eq=False)
class Node:
    """A subdomain of the tree.

    Attributes
    ----------
    path : tuple of int
        Child numbers from the root, () for the root.
    rows : ndarray of int64
        Its items.
    score : float
        Its mean score.
    p_value : float or None
        Adjusted p-value of its split; None where none was tested.
    children : tuple of Node
        Empty for a leaf.
    reason : str
        Why it was split, or why not.
    """

    path: tuple[int, ...]
    rows: IntArray
    score: float
    p_value: float | None
    children: tuple[Node, ...]
    reason: str

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.rows)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaf_labels(self, n: int) -> IntArray:
        """Return labels (n,) of the finest supported partition, leaves in order."""
        labels = np.full(n, -1, dtype=np.int64)
        leaves = [node for node in self.walk() if not node.children]
        for number, leaf in enumerate(leaves):
            labels[leaf.rows] = number
        return labels

    def to_dict(self) -> dict[str, object]:
        """Return the tree as plain values, for a report."""
        return {
            "path": list(self.path),
            "size": self.size,
            "score": self.score,
            "p_value": self.p_value,
            "reason": self.reason,
            "children": [child.to_dict() for child in self.children],
        }


def split_again(
    scores: ArrayLike,
    partition: Splitter,
    *,
    labels: ArrayLike | None = None,
    limits: Limits | None = None,
    seed: int = 0,
) -> Node:
    """Return the tree of supported splits.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Item scores in [0, 1].
    partition : callable
        Takes the rows of a node (ascending), returns labels 0..k-1 for them, or None. It must
        not look at the scores.
    labels : array_like of int, shape (n,), optional
        The split of the root; taken as given, tested all the same.
    limits : Limits, optional
        When to stop.
    seed : int
        Fixes the null draws; each node has its own.
    """
    n = np.shape(scores)[0] if np.ndim(scores) else 0
    score, _, _ = checked(scores, np.zeros(n, dtype=np.int64))
    first = None if labels is None else checked(scores, labels)[1]
    rows = np.arange(n)
    return _node((), rows, score, partition, first, limits or Limits(), seed)


def _node(
    path: tuple[int, ...],
    rows: IntArray,
    scores: FloatArray,
    partition: Splitter,
    given: IntArray | None,
    limits: Limits,
    seed: int,
) -> Node:
    def leaf(reason: str, p_value: float | None = None) -> Node:
        return Node(path, rows, float(scores[rows].mean()), p_value, (), reason)

    if len(path) >= limits.depth:
        return leaf(f"depth limit of {limits.depth}")
    if len(rows) < 2 * limits.child_items:
        return leaf(f"too few items to split: {len(rows)} < 2 x {limits.child_items}")
    labels = _labels(partition, rows) if given is None else given
    if labels is None or labels.max() < 1:
        return leaf("the partition offers no split")
    smallest = int(np.bincount(labels).min())
    if smallest < limits.child_items:
        return leaf(f"a child would have {smallest} items, fewer than {limits.child_items}")
    name = "split " + ".".join(map(str, path))
    null = same_size_null(scores[rows], labels, draws=limits.draws, seed=seed, name=name)
    p_value = min(1.0, null.p_value * len(scores) / len(rows))
    if p_value > limits.alpha:
        return leaf(f"not supported by the scores (adjusted p = {p_value:.2g})", p_value)
    children = tuple(
        _node((*path, i), rows[labels == i], scores, partition, None, limits, seed)
        for i in range(int(labels.max()) + 1)
    )
    reason = f"split in {len(children)} (adjusted p = {p_value:.2g})"
    return Node(path, rows, float(scores[rows].mean()), p_value, children, reason)


def _labels(partition: Splitter, rows: IntArray) -> IntArray | None:
    answer = partition(rows)
    if answer is None:
        return None
    labels = np.asarray(answer, dtype=np.int64)
    if labels.shape != rows.shape or labels.min() < 0 or not np.bincount(labels).all():
        raise BenchharmonyError("hierarchy: the partition must label its rows 0..k-1 without gaps")
    return labels
