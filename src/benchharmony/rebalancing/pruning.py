"""The order in which items are dropped, and where dropping stops.

An order is computed once, as a whole removal sequence; every pruned benchmark is a prefix of it.

*Levels.* ``redundancy`` and ``balance`` lower a cap on the sizes of the subdomains one item at a
time; a prune ends only where a cap has been applied to all. Size evenness then never falls:
with sizes ``min(a_i, c)``, lowering c takes items from the largest subdomains, whose log-size is at
least the mean log-size, so the entropy of the shares grows until all sizes are equal. (Between
two caps it can dip: of 100 subdomains of 10 and one of 8, taking one item from one 10 is less
even.)

*Redundancy* within a subdomain: the closest pair of kept items loses one of the two, the more
central one (which has more kept items near it), again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.rebalancing.closeness import Block, Closeness
from benchharmony.resampling import stream

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Keep = Literal["central", "random"]

#: Similarities looked at in one go when nearest items are searched anew: 64 MB.
_CHUNK = 16_000_000


@dataclass(frozen=True)
class Order:
    """Items in the order in which they are dropped.

    Attributes
    ----------
    rows : ndarray of int64, shape (r,)
        Row numbers; items that are never dropped do not occur.
    stops : ndarray of int64
        Prefix lengths at which a prune may end, ascending, from the first admissible one.
    similarity : ndarray, shape (r,)
        Similarity to the nearest item kept at that moment; NaN where none was looked for.
    asked : int
        The first so many rows are whole subdomains whose removal was asked for.
    """

    rows: IntArray
    stops: IntArray
    similarity: FloatArray
    asked: int = 0

    def kept(self, n: int, removed: int) -> BoolArray:
        """Return which of n items are kept when the first ``removed`` are dropped, shape (n,)."""
        mask = np.ones(n, dtype=bool)
        mask[self.rows[:removed]] = False
        return mask

    def stop_at_most(self, removed: float) -> int:
        """Return the last admissible stop with at most so many items removed."""
        place = int(np.searchsorted(self.stops, removed, side="right"))
        return int(self.stops[max(place - 1, 0)])


def redundancy_order(labels: IntArray, closeness: Closeness, whole: BoolArray) -> Order:
    """Drop the most redundant items of the largest subdomains first, level by level.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        Subdomains.
    closeness : Closeness
        Of the n items.
    whole : ndarray of bool, shape (n,)
        Items of subdomains to remove whole, before all others.
    """
    rows, position, similarity = _greedy_everywhere(labels, closeness, whole)
    return _by_level(labels, rows, position, similarity, whole)


def threshold_order(labels: IntArray, closeness: Closeness, whole: BoolArray) -> Order:
    """Drop one of the closest pair within a subdomain, whatever the sizes: most similar first.

    Parameters are those of :func:`redundancy_order`. Similarities fall along the order, and once
    they are under a threshold no two kept items of a subdomain are that similar.
    """
    rows, _, similarity = _greedy_everywhere(labels, closeness, whole)
    order = np.lexsort((rows, -similarity))
    asked = np.flatnonzero(whole)
    stops = len(asked) + np.arange(len(rows) + 1)
    return Order(
        np.r_[asked, rows[order]], stops, np.r_[_nothing(len(asked)), similarity[order]], len(asked)
    )


def balance_order(
    labels: IntArray,
    whole: BoolArray,
    *,
    centrality: FloatArray | None,
    seed: int = 0,
) -> Order:
    """Cap the subdomains level by level; least central items go first, or random ones.

    Parameters
    ----------
    labels, whole : ndarray, shape (n,)
        As in :func:`redundancy_order`.
    centrality : ndarray, shape (n,), or None
        Mean similarity to the own subdomain; None draws at random.
    seed : int
        Of the draw.
    """
    key = stream(seed, "balance").random(len(labels)) if centrality is None else centrality
    rows_parts, place_parts = [], []
    for g in np.unique(labels[~whole]):
        members = np.flatnonzero(labels == g)
        ordered = members[np.argsort(key[members], kind="stable")][:-1]
        rows_parts.append(ordered)
        place_parts.append(np.arange(len(ordered)))
    rows, position = _joined(rows_parts), _joined(place_parts)
    return _by_level(labels, rows, position, _nothing(len(rows)), whole)


def centrality_within(labels: IntArray, closeness: Closeness) -> FloatArray:
    """Return each item's mean similarity to its subdomain, itself included, shape (n,)."""
    out = np.empty(len(labels))
    for g in np.unique(labels):
        members = np.flatnonzero(labels == g)
        out[members] = closeness.block(members).mean(axis=1, dtype=np.float64)
    return out


def nearest_kept(
    labels: IntArray, kept: BoolArray, rows: IntArray, closeness: Closeness
) -> tuple[IntArray, FloatArray]:
    """Return each row's most similar kept item of its subdomain, and that similarity.

    -1 and NaN where the subdomain keeps none.
    """
    nearest = np.full(len(rows), -1, dtype=np.int64)
    similarity = _nothing(len(rows))
    wanted = labels[rows]
    for g in np.unique(wanted):
        members = np.flatnonzero(labels == g)
        stay = kept[members]
        if not stay.any():
            continue
        places = np.flatnonzero(wanted == g)
        inside = np.searchsorted(members, rows[places])
        towards = closeness.block(members)[np.ix_(inside, stay)]
        best = towards.argmax(axis=1)
        nearest[places] = members[stay][best]
        similarity[places] = towards[np.arange(len(best)), best]
    return nearest, similarity


def greedy_removal(s: Block) -> tuple[IntArray, FloatArray]:
    """Return the removal sequence of a block: all items but one, and their similarities.

    Parameters
    ----------
    s : ndarray of float32, shape (m, m)
        Symmetric, ones on the diagonal.

    Returns
    -------
    rows : ndarray of int64, shape (m - 1,)
        At each step one of the two closest kept items goes: the one with the higher mean
        similarity to the block, the later one on a tie.
    similarity : ndarray, shape (m - 1,)
        Of that pair; never rises along the sequence.
    """
    m = len(s)
    central = s.mean(axis=1, dtype=np.float64)
    np.fill_diagonal(s, -1.0)  # no item is its own neighbour; put back below
    alive = np.ones(m, dtype=bool)
    nearest = s.argmax(axis=1)
    height = s[np.arange(m), nearest].copy()
    rows = np.empty(max(m - 1, 0), dtype=np.int64)
    similarity = np.empty(len(rows))
    for step in range(len(rows)):
        a = int(height.argmax())
        b = int(nearest[a])
        gone = max((a, b), key=lambda i: (central[i], i))
        rows[step], similarity[step] = gone, height[a]
        alive[gone] = False
        height[gone] = -2.0
        _search_again(s, alive, gone, nearest, height)
    np.fill_diagonal(s, 1.0)
    return rows, similarity


def _search_again(s: Block, alive: BoolArray, gone: int, nearest: IntArray, height: Block) -> None:
    """Find new nearest items for those whose nearest has just gone."""
    left = np.flatnonzero(alive & (nearest == gone))
    step = max(1, _CHUNK // len(s))
    for start in range(0, len(left), step):
        part = left[start : start + step]
        near = np.where(alive, s[part], np.float32(-1.0))
        nearest[part] = near.argmax(axis=1)
        height[part] = near[np.arange(len(part)), nearest[part]]


def _greedy_everywhere(
    labels: IntArray, closeness: Closeness, whole: BoolArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows, their position within their subdomain's sequence, and similarities."""
    rows_parts, place_parts, similarity_parts = [], [], []
    for g in np.unique(labels[~whole]):
        members = np.flatnonzero(labels == g)
        inside, similarity = greedy_removal(closeness.block(members))
        rows_parts.append(members[inside])
        place_parts.append(np.arange(len(inside)))
        similarity_parts.append(similarity)
    return _joined(rows_parts), _joined(place_parts), np.concatenate(similarity_parts)


def _by_level(
    labels: IntArray,
    rows: IntArray,
    position: IntArray,
    similarity: FloatArray,
    whole: BoolArray,
) -> Order:
    size = np.bincount(labels)
    # The size of its subdomain when an item goes: the cap that it exceeds.
    cap = size[labels[rows]] - position
    order = np.lexsort((rows, -np.nan_to_num(similarity), -cap))
    ends = np.flatnonzero(np.diff(cap[order], append=-1)) + 1
    asked = np.flatnonzero(whole)
    return Order(
        np.r_[asked, rows[order]],
        len(asked) + np.r_[0, ends],
        np.r_[_nothing(len(asked)), similarity[order]],
        len(asked),
    )


def rows_of(labels: IntArray, names: tuple[str, ...], asked: tuple[str, ...]) -> BoolArray:
    """Return which items lie in the subdomains named, shape (n,).

    Raises
    ------
    BenchharmonyError
        For a name that is no subdomain, or when fewer than two subdomains would be left.
    """
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise BenchharmonyError(
            f"no subdomain {unknown[0]!r} to remove; there are: {', '.join(map(repr, names[:20]))}"
        )
    chosen = [i for i, name in enumerate(names) if name in set(asked)]
    if len(names) - len(chosen) < 2 and chosen:
        raise BenchharmonyError("at least two subdomains must be left; remove fewer")
    return np.isin(labels, chosen)


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _nothing(n: int) -> FloatArray:
    return np.full(n, np.nan)
