"""The rules for k on planted partitions, where the number of subdomains is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchharmony.validation.case import case_of
from benchharmony.validation.k_rules import Chosen, compare_rules
from benchharmony.validation.planted import planted_performance, planted_sizes
from benchharmony.validation.planted_partitions import plant_partition

#: Planted numbers of subdomains and overlaps: clear, and so mixed that finding them is hard.
SUBDOMAINS, OVERLAPS = (4, 8, 15), (0.2, 0.5, 0.6)


@dataclass(frozen=True)
class RuleScore:
    """One rule over all planted partitions.

    Attributes
    ----------
    rule : str
        Its name.
    exact : float
        Share of partitions where it chose the true k.
    k_error : float
        Mean of ``|k - true k|``.
    ami, h_error : float
        Mean adjusted mutual information with the truth; mean absolute error of H.
    undefined : int
        Partitions where no k was admissible.
    """

    rule: str
    exact: float
    k_error: float
    ami: float
    h_error: float
    undefined: int


def planted_rules(
    k_range: tuple[int, int] = (2, 20),
    *,
    n: int = 300,
    vocab_size: int = 200,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> list[RuleScore]:
    """Return how every rule does over planted partitions of n items, sizes random."""
    chosen: dict[str, list[tuple[int, Chosen]]] = {}
    for k, overlap in product(SUBDOMAINS, OVERLAPS):
        progress(f"rules for k: planted k {k}, overlap {overlap:g}")
        rng = np.random.default_rng([seed, k, int(100 * overlap)])
        made, _ = plant_partition(
            planted_sizes(n, k, "random", rng), planted_performance(0.15, k, rng),
            overlap=overlap, vocab_size=vocab_size, seed=int(rng.integers(2**31)),
        )  # fmt: skip
        for one in compare_rules(case_of(made), k_range, seed=seed):
            chosen.setdefault(one.rule, []).append((k, one))
    return [_score(rule, pairs) for rule, pairs in chosen.items()]


def _score(rule: str, pairs: Sequence[tuple[int, Chosen]]) -> RuleScore:
    there = [(k, c) for k, c in pairs if c.k is not None]
    if not there:
        nan = float("nan")
        return RuleScore(rule, 0.0, nan, nan, nan, len(pairs))
    return RuleScore(
        rule,
        float(np.mean([c.k == k for k, c in pairs])),
        float(np.mean([abs((c.k or 0) - k) for k, c in there])),
        float(np.mean([c.ami for _, c in there])),
        float(np.mean([c.h_error for _, c in there])),
        len(pairs) - len(there),
    )
