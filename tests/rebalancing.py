"""Planted benchmarks for the tests of rebalancing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import benchharmony as bh
from benchharmony import Evaluation, Partition


def benchmark(
    sizes: Sequence[int],
    performance: Sequence[float] | Sequence[Sequence[float]],
    *,
    seed: int = 0,
    outcomes: int = 12,
    graded: int | None = None,
    positions: Sequence[str] = ("item", "answer"),
    shuffled: bool = False,
) -> tuple[list[Evaluation], Partition]:
    """Return models on the same items, whose similarity has nothing to do with their scores.

    ``performance`` holds one value a subdomain, or one such list a model; ``graded`` makes scores
    of so many levels.
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    if shuffled:
        truth = rng.permutation(truth)
    n = len(truth)
    rows = np.atleast_2d(np.asarray(performance, dtype=float))
    evaluations = []
    for m, psi in enumerate(rows):
        if graded is None:
            scores = (rng.random(n) < psi[truth]).astype(float)
        else:
            scores = rng.binomial(graded - 1, psi[truth]) / (graded - 1)
        views = {p: _distributions(rng, truth, len(sizes), outcomes) for p in positions}
        evaluations.append(
            Evaluation.from_arrays(
                benchmark="planted",
                model=f"model {m}",
                scores=scores,
                item_ids=[f"q{i:04d}" for i in range(n)],
                predictive=views or None,
                groups={"subject": [f"topic {t}" for t in truth]},
            )
        )
    return evaluations, bh.partition(evaluations[0], "declared:subject")


def _distributions(rng, truth, k, outcomes):
    logits = rng.normal(0, 2, (k, outcomes))[truth] + rng.normal(0, 0.7, (len(truth), outcomes))
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True)
