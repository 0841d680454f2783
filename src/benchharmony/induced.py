"""Partitions induced from predictive distributions: similarity, spectral sweep, chosen k.

Distinct rows are put into an order that depends on their content alone before anything is
computed, so that the order of a log changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from benchharmony.choice import WEAK, Choice, Chosen, choose_k
from benchharmony.engines.canonical import Canonical, canonical
from benchharmony.engines.choose import Engine, Tau, reach
from benchharmony.engines.kernel import Floats, Labels
from benchharmony.engines.silhouettes import mean_similarity_to_own
from benchharmony.engines.workers import Workers
from benchharmony.predictive import Predictive
from benchharmony.spectral import Sweep, sweep

FloatArray = NDArray[np.float64]

#: Fewer items than this are not split: shares and silhouettes of so few say nothing.
MIN_ITEMS = 20
#: A k = 2 that the silhouette chose is hardly supported where it is weak, or with the curve at some
#: k of 4 or more this close to it.
FLAT = 0.05


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
    engine_error : float or None
        Estimated root mean square error of S; None where S is exact to rounding.
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
    embedding: Floats | None = None
    engine: str | None = None
    engine_error: float | None = None
    undefined: str | None = None
    notes: tuple[str, ...] = ()


def induce(view: Predictive, tau: Tau, choice: Choice, engine: Engine = "auto") -> Induced:
    """Cluster items by predictive similarity and choose k.

    Parameters
    ----------
    view : Predictive
        Distributions of n items.
    tau : float or "median"
        Scale of the similarity, per nat.
    choice : Choice
        How k is chosen.
    engine : str
        How similarity is reached (:func:`benchharmony.engines.choose.reach`).
    """
    n = len(view)
    nothing = np.zeros(n, dtype=np.int64)
    if n < MIN_ITEMS:
        return Induced(nothing, undefined=f"fewer than {MIN_ITEMS} items")
    items = canonical(view)
    distinct = len(items.first)
    low, high = choice.k_range
    ks = sorted({*range(low, min(high, distinct) + 1)} | ({choice.k} if choice.k else set()))
    if distinct < 2 or not ks or max(ks) > distinct:
        asked = f"k = {choice.k} was asked for, with " if choice.k and choice.k > distinct else ""
        why = f"{asked}only {distinct} distinct predictive distributions among {n} items"
        return Induced(nothing, undefined=why)
    found = _clustered(view, items, ks, tau, choice, engine)
    return replace(
        found,
        labels=found.labels[items.content],
        labels_by_k={
            k: lab[items.content].astype(np.int64) for k, lab in found.labels_by_k.items()
        },
        centrality=None if found.centrality is None else found.centrality[items.content],
        embedding=None if found.embedding is None else found.embedding[items.content],
    )


def _clustered(
    view: Predictive, items: Canonical, ks: list[int], tau: Tau, choice: Choice, engine: Engine
) -> Induced:
    """Return what clustering found, for the distinct items."""
    with Workers() as workers:
        found = reach(view.take(items.first), items.counts, tau, engine, workers, choice.seed)
        made = sweep(found.kernel, items.counts, ks, seed=choice.seed)
        chosen = choose_k(made, found.kernel, items.counts, choice)
        labels = np.zeros(len(items.first), dtype=np.int64)
        if chosen.k is not None:
            labels += made.labels[chosen.k]
        centrality = mean_similarity_to_own(found.kernel, items.counts, labels)
    return Induced(
        labels=labels,
        tau=found.tau,
        silhouette_by_k=made.silhouette,
        labels_by_k=made.labels,
        unguarded_k=chosen.unguarded,
        centrality=centrality,
        embedding=made.embedding,
        engine=found.kernel.engine,
        engine_error=found.kernel.error,
        undefined=chosen.undefined,
        notes=(*found.notes, *_warnings(made, chosen, choice, items.counts)),
    )


def _warnings(sweep: Sweep, found: Chosen, choice: Choice, counts: NDArray[np.int64]) -> list[str]:
    chosen = found.k
    notes, distinct, n = [], len(counts), int(counts.sum())
    if distinct < n:
        notes.append(f"{n - distinct} of {n} items repeat the distribution of another item")
    if sweep.components > 1:
        least = "at least " if sweep.components == len(sweep.eigenvalues) else ""
        notes.append(
            f"the similarity graph falls apart into {least}{sweep.components} unconnected parts; "
            "a smaller --tau joins them"
        )
    if found.note:
        notes.append(found.note)
    # What the guard refuses was no rival of 2.
    fits = choice.smallest(n)
    curve = [
        s
        for k, s in sweep.silhouette.items()
        if k >= 4 and np.bincount(sweep.labels[k], counts).min() >= fits
    ]
    if chosen == 2 and choice.k is None and found.note is None and curve:
        height = sweep.silhouette[2]
        if height < WEAK or height - max(curve) < FLAT:
            notes.append(
                f"k = 2 was chosen on a weak or flat silhouette curve ({height:.2f} at 2, at most "
                f"{max(curve):.2f} at 4 and more): it hardly tells k; read H for every k"
            )
    if chosen is not None and choice.k is not None:
        smallest = int(np.bincount(sweep.labels[chosen], counts).min())
        if smallest < choice.smallest(n):
            notes.append(
                f"with k fixed at {chosen} the smallest subdomain has {smallest} items, under "
                f"the guard of {choice.smallest(n)}"
            )
    return notes
