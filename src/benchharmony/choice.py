"""How the number of subdomains k is chosen from the clusterings of a sweep."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.kernel import Kernel
from benchharmony.errors import BenchharmonyError
from benchharmony.spectral import Sweep, eigengap_by_k, stability_by_k

KRule = Literal["silhouette", "eigengap", "stability"]

#: The guard against subdomains of a few odd items, when k is chosen.
MIN_SHARE, MIN_SUBDOMAIN = 0.02, 5
#: "The finest k whose subsamples still agree": the adjusted Rand index that counts as agreeing.
STABLE = 0.7


@dataclass(frozen=True)
class Choice:
    """How k is chosen; the fields are parameters of :func:`benchharmony.partition`."""

    k: int | None = None
    k_range: tuple[int, int] = (2, 20)
    k_rule: KRule = "silhouette"
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
        if seed < 0:
            raise BenchharmonyError(f"seed must be a whole number from 0, got {self.seed}")
        if not guarded:
            raise BenchharmonyError(f"min_share must lie in [0, 0.5), got {self.min_share}")

    def smallest(self, n: int) -> int:
        """Return the fewest items a subdomain may have; 1 where the guard is off."""
        return max(MIN_SUBDOMAIN, math.ceil(self.min_share * n)) if self.min_share > 0 else 1


def choose_k(
    sweep: Sweep, kernel: Kernel, counts: NDArray[np.int64], choice: Choice
) -> tuple[int | None, int | None, str | None]:
    """Return the k chosen, the k without the guard, and why there is none.

    ``counts`` are the items that each row of the sweep stands for.
    """
    if choice.k is not None:
        return choice.k, choice.k, None
    in_range = [k for k in sweep.labels if choice.k_range[0] <= k <= choice.k_range[1]]
    realised = [k for k in in_range if int(sweep.labels[k].max()) + 1 == k]
    smallest = choice.smallest(int(counts.sum()))
    admissible = [k for k in realised if np.bincount(sweep.labels[k], counts).min() >= smallest]
    merits = _merits(sweep, kernel, counts, realised, choice)
    unguarded = _best(merits, realised, choice.k_rule)
    chosen = _best(merits, admissible, choice.k_rule)
    if chosen is None:
        low, high = choice.k_range
        return None, unguarded, (
            f"no k of {low}..{high} splits the items into subdomains of at least {smallest} items"
        )  # fmt: skip
    return chosen, unguarded, None


def _merits(
    sweep: Sweep, kernel: Kernel, counts: NDArray[np.int64], ks: list[int], choice: Choice
) -> Mapping[int, float]:
    if choice.k_rule == "silhouette":
        return sweep.silhouette
    if choice.k_rule == "eigengap":
        return eigengap_by_k(sweep.eigenvalues, ks)
    if choice.k_rule == "stability":
        return stability_by_k(kernel, ks, counts=counts, seed=choice.seed)
    raise BenchharmonyError(
        f"unknown k rule {choice.k_rule!r}; choose silhouette, eigengap or stability"
    )


def _best(merits: Mapping[int, float], ks: list[int], rule: KRule) -> int | None:
    rated = [k for k in ks if k in merits]
    if not rated:
        return None
    if rule == "stability":
        stable = [k for k in rated if merits[k] > STABLE]
        if stable:
            return max(stable)
    return max(rated, key=lambda k: (merits[k], -k))
