"""Partition: labels that split the items of an evaluation into subdomains, and their making."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Floats, Labels
from benchharmony.notebook.of_parts import PartitionInNotebook

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Partition(PartitionInNotebook):
    """Labels of n items in k subdomains.

    Attributes
    ----------
    kind : str
        "predictive", "shared", "responses", "text", "options", "declared:COLUMN" (or several,
        "declared:A+B"), or "none" where there is nothing to choose from or items are too few.
    labels : ndarray of int64, shape (n,)
        0..k-1, largest subdomain first.
    names : tuple of str, length k
        Declared labels, or "S1", "S2", ...
    positions : str or None
        Which predictive distributions were compared.
    tau : float or None
        The value used, per nat.
    silhouette_by_k : dict of int to float
        Mean silhouette on 1 - S for every k tried.
    labels_by_k : dict of int to ndarray
        The partition for every k tried.
    unguarded_k : int or None
        What the rule would choose without the guard on small subdomains.
    centrality : ndarray, shape (n,), or None
        Mean similarity of each item to its own subdomain.
    embedding : ndarray, shape (n, m), or None
        Spectral coordinates of the items.
    engine : str or None
        How the similarity was reached: "dense", "matrix-free" or "low-rank".
    engine_error : float or None
        Estimated root mean square error of S over pairs; None where S is exact to rounding.
    undefined : str or None
        Why there is no partition (then every label is 0).
    settings : mapping
        Every parameter that made it.
    notes : tuple of str
        Warnings in words.
    """

    kind: str
    labels: Labels
    names: tuple[str, ...]
    positions: str | None = None
    tau: float | None = None
    silhouette_by_k: Mapping[int, float] = field(default_factory=dict)
    labels_by_k: Mapping[int, Labels] = field(default_factory=dict)
    unguarded_k: int | None = None
    centrality: FloatArray | None = None
    embedding: Floats | None = None
    engine: str | None = None
    engine_error: float | None = None
    undefined: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"<Partition {self.kind}: {len(self)} items, k = {self.k}>"

    @property
    def k(self) -> int:
        """Number of subdomains (1 where the partition is undefined)."""
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Items in each subdomain, shape (k,)."""
        return np.bincount(self.labels, minlength=self.k)

    @property
    def is_induced(self) -> bool:
        """Whether the labels come from the model's behaviour and not from a column."""
        return not self.kind.startswith("declared:")

    @property
    def silhouette(self) -> float | None:
        """Mean silhouette of the chosen k."""
        return self.silhouette_by_k.get(self.k)
