"""How the number of subdomains k is chosen from the clusterings of a sweep.

The paper takes the k of the highest mean silhouette. Where that is low it says nothing about k (on
texts it chooses 2 whatever is there), so the default goes by stability there; the evidence is in
docs/validation.md.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Kernel
from benchharmony.errors import BenchharmonyError
from benchharmony.spectral import Sweep, eigengap_by_k, stability_by_k

KRule = Literal["auto", "silhouette", "eigengap", "stability"]

#: The guard against subdomains of a few odd items, when k is chosen.
MIN_SHARE, MIN_SUBDOMAIN = 0.02, 5
#: "The finest k whose subsamples still agree": the adjusted Rand index that counts as agreeing.
STABLE = 0.7
#: "No substantial structure" lies under this silhouette (Kaufman and Rousseeuw 1990).
WEAK = 0.25


@dataclass(frozen=True)
class Choice:
    """How k is chosen; the fields are parameters of :func:`benchharmony.partition`."""

    k: int | None = None
    k_range: tuple[int, int] = (2, 20)
    k_rule: KRule = "auto"
    min_share: float = MIN_SHARE
    seed: int = 0

    def __post_init__(self) -> None:
        try:
            low, high = map(operator.index, self.k_range)
            k = None if self.k is None else operator.index(self.k)
            seed = operator.index(self.seed)
            guarded = 0 <= self.min_share < 0.5
        except (TypeError, ValueError) as error:
            raise BenchharmonyError(
                f"k and seed take whole numbers, k_range two of them, min_share a number ({error})"
            ) from None
        if not 2 <= low <= high:
            raise BenchharmonyError(f"k range must satisfy 2 <= min <= max, got {low}..{high}")
        if k is not None and k < 2:
            raise BenchharmonyError(f"k must be at least 2, got {self.k}")
        if self.k_rule not in get_args(KRule):
            raise BenchharmonyError(
                f"unknown k rule {self.k_rule!r}; choose {', '.join(get_args(KRule))}"
            )
        if seed < 0:
            raise BenchharmonyError(f"seed must be a whole number from 0, got {self.seed}")
        if not guarded:
            raise BenchharmonyError(f"min_share must lie in [0, 0.5), got {self.min_share}")

    def smallest(self, n: int) -> int:
        """Return the fewest items a subdomain may have; 1 where the guard is off."""
        return max(MIN_SUBDOMAIN, math.ceil(self.min_share * n)) if self.min_share > 0 else 1


@dataclass(frozen=True)
class Chosen:
    """The k chosen.

    Attributes
    ----------
    k : int or None
        None where no k is admissible.
    unguarded : int or None
        What the rule would choose without the guard on small subdomains.
    undefined : str or None
        Why there is no k.
    note : str or None
        Why "auto" did not go by the silhouette.
    """

    k: int | None
    unguarded: int | None
    undefined: str | None = None
    note: str | None = None


def choose_k(sweep: Sweep, kernel: Kernel, counts: NDArray[np.int64], choice: Choice) -> Chosen:
    """Return the k that a rule chooses.

    ``counts`` are the items that each row of the sweep stands for.
    """
    if choice.k is not None:
        return Chosen(choice.k, choice.k)
    in_range = [k for k in sweep.labels if choice.k_range[0] <= k <= choice.k_range[1]]
    realised = [k for k in in_range if int(sweep.labels[k].max()) + 1 == k]
    smallest = choice.smallest(int(counts.sum()))
    admissible = [k for k in realised if np.bincount(sweep.labels[k], counts).min() >= smallest]
    if not admissible:
        low, high = choice.k_range
        why = f"no k of {low}..{high} splits the items into subdomains of at least {smallest} items"
        unguarded = _highest(sweep.silhouette, realised)
        return Chosen(None, unguarded, why)
    top = _highest(sweep.silhouette, admissible)
    if choice.k_rule == "silhouette" or (
        choice.k_rule == "auto" and top is not None and sweep.silhouette[top] >= WEAK
    ):
        return Chosen(top, _highest(sweep.silhouette, realised))
    if choice.k_rule == "eigengap":
        gaps = eigengap_by_k(sweep.eigenvalues, realised)
        return Chosen(_highest(gaps, admissible), _highest(gaps, realised))
    stable = stability_by_k(kernel, realised, counts=counts, seed=choice.seed)
    k = _finest(stable, admissible)
    note = _why(sweep, top, stable.get(k or 0, 0.0)) if choice.k_rule == "auto" else None
    return Chosen(k, _finest(stable, realised), note=note)


def _why(sweep: Sweep, top: int | None, agreed: float) -> str:
    height = (
        ""
        if top is None
        else (
            f" (at most {sweep.silhouette[top]:.2f}, at k = {top}, where no subdomain is too small)"
        )
    )
    how = (
        f"k is the finest whose subsamples agree ({agreed:.2f})"
        if agreed > STABLE
        else f"k is the most stable one, and no k is stable (subsamples agree at {agreed:.2f}): "
        "read H for every k"
    )
    return (
        f"the silhouette tells nothing about k here{height}, so {how}; --k-rule silhouette gives "
        "the paper's choice"
    )


def _highest(merits: Mapping[int, float], ks: list[int]) -> int | None:
    rated = [k for k in ks if not math.isnan(merits.get(k, math.nan))]
    return max(rated, key=lambda k: (merits[k], -k)) if rated else None


def _finest(stability: Mapping[int, float], ks: list[int]) -> int | None:
    stable = [k for k in ks if stability.get(k, -1.0) > STABLE]
    return max(stable) if stable else _highest(stability, ks)
