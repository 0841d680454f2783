"""Partitions induced from predictive distributions: similarity, spectral sweep, chosen k.

Rows are put into an order that depends on their content alone before anything is computed, so
that the order of a log changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.choice import Choice, choose_k
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys, median_tau, similarity_of
from benchharmony.spectral import Labels, Sweep, spectral_sweep

FloatArray = NDArray[np.float64]
Tau = float | Literal["median"]

#: Fewer items than this are not split: shares and silhouettes of so few say nothing.
MIN_ITEMS = 20
#: A chosen k = 2 is hardly supported under this silhouette ("no substantial structure", Kaufman
#: and Rousseeuw 1990), or with the curve at some k of 4 or more this close to it.
WEAK, FLAT = 0.25, 0.05


@dataclass(frozen=True, eq=False)
class Induced:
    """What clustering found.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        Largest subdomain first; all 0 where ``undefined``.
    tau : float or None
        The value used, per nat; None where nothing was computed.
    silhouette_by_k, labels_by_k : mapping
        For every k tried.
    unguarded_k : int or None
        What the rule would choose without the guard on small subdomains.
    centrality : ndarray, shape (n,), or None
        Mean similarity of each item to its own subdomain.
    embedding : ndarray, shape (n, m), or None
        Spectral coordinates.
    engine : str or None
        How the sweep was computed.
    undefined : str or None
        Why there is no partition.
    notes : tuple of str
        Warnings in words.
    """

    labels: Labels
    tau: float | None = None
    silhouette_by_k: Mapping[int, float] = field(default_factory=dict)
    labels_by_k: Mapping[int, Labels] = field(default_factory=dict)
    unguarded_k: int | None = None
    centrality: FloatArray | None = None
    embedding: FloatArray | None = None
    engine: str | None = None
    undefined: str | None = None
    notes: tuple[str, ...] = ()


def induce(view: Predictive, tau: Tau, choice: Choice) -> Induced:
    """Cluster items by predictive similarity and choose k.

    Parameters
    ----------
    view : Predictive
        Distributions of n items.
    tau : float or "median"
        Scale of the similarity, per nat.
    choice : Choice
        How k is chosen.
    """
    n = len(view)
    nothing = np.zeros(n, dtype=np.int64)
    if n < MIN_ITEMS:
        return Induced(nothing, undefined=f"fewer than {MIN_ITEMS} items")
    order, content = _canonical(view)
    distinct = int(content[-1]) + 1
    low, high = choice.k_range
    ks = sorted({*range(low, min(high, distinct) + 1)} | ({choice.k} if choice.k else set()))
    if distinct < 2 or not ks or max(ks) > distinct:
        why = f"only {distinct} distinct predictive distributions among {n} items"
        return Induced(nothing, undefined=why)
    j = jeffreys(view.take(order))
    rule = median_tau(j) if tau == "median" else None
    value = rule.value if rule else float(tau)
    similarity = similarity_of(j, value)
    sweep = spectral_sweep(similarity, ks, seed=choice.seed, content=content)
    chosen, unguarded, undefined = choose_k(sweep, similarity, choice)
    home = np.empty(n, dtype=np.int64)
    home[order] = np.arange(n)
    labels = nothing if chosen is None else sweep.labels[chosen]
    found = (rule.note if rule else None, *_warnings(sweep, chosen, choice, distinct, n))
    return Induced(
        labels=labels[home],
        tau=value,
        silhouette_by_k=sweep.silhouette,
        labels_by_k={k: lab[home] for k, lab in sweep.labels.items()},
        unguarded_k=unguarded,
        centrality=_centrality(similarity, labels)[home],
        embedding=sweep.embedding[home],
        engine="dense",
        undefined=undefined,
        notes=tuple(note for note in found if note),
    )


def _canonical(view: Predictive) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of the rows that depends on their content only, and, in that order, numbers.

    The numbers count the distinct rows: duplicates share one.
    """
    parts = [view.logprobs] if view.token_ids is None else [view.logprobs, view.token_ids]
    keys = [
        hashlib.blake2b(b"".join(part[i].tobytes() for part in parts), digest_size=16).digest()
        for i in range(len(view))
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    new = [keys[a] != keys[b] for a, b in zip(order[1:], order, strict=False)]
    return np.array(order, dtype=np.int64), np.cumsum([False, *new])


def _centrality(similarity: FloatArray, labels: Labels) -> FloatArray:
    members = np.eye(int(labels.max()) + 1)[labels]
    sums = similarity @ members
    own: FloatArray = sums[np.arange(len(labels)), labels] / members.sum(axis=0)[labels]
    return own


def _warnings(sweep: Sweep, chosen: int | None, choice: Choice, distinct: int, n: int) -> list[str]:
    notes = []
    if distinct < n:
        notes.append(f"{n - distinct} of {n} items repeat the distribution of another item")
    if sweep.components > 1:
        notes.append(
            f"the similarity graph falls apart into {sweep.components} unconnected parts; "
            "a smaller --tau joins them"
        )
    curve = [s for k, s in sweep.silhouette.items() if k >= 4]
    if chosen == 2 and choice.k is None and curve:
        height = sweep.silhouette[2]
        if height < WEAK or height - max(curve) < FLAT:
            notes.append(
                f"k = 2 was chosen on a weak or flat silhouette curve ({height:.2f} at 2, at most "
                f"{max(curve):.2f} at 4 and more): it hardly tells k; read H for every k"
            )
    if chosen is not None and choice.k is not None:
        smallest = int(np.bincount(sweep.labels[chosen]).min())
        if smallest < choice.smallest(n):
            notes.append(
                f"with k fixed at {chosen} the smallest subdomain has {smallest} items, under "
                f"the guard of {choice.smallest(n)}"
            )
    return notes
