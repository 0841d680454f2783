"""Planted grids: many models on one benchmark, each with a known true H."""

import numpy as np

from benchharmony import Evaluation
from benchharmony.metric import harmony_values

#: Deviations of the subdomains from the mean, in units of a model's spread; weighted mean 0.
_PATTERN = np.array([-1.6, -0.9, -0.4, 0.0, 0.3, 0.7, 1.0, 1.5])


def performances(targets, weights, *, mean=0.55) -> np.ndarray:
    """Return performances (M, k) whose H is the target of each model, by bisection of the spread.

    Targets must lie between about 0.5 and the size evenness.
    """
    pattern = _PATTERN[: len(weights)] - np.average(_PATTERN[: len(weights)], weights=weights)
    spreads = np.linspace(0, 0.22, 500)
    reached = harmony_values(weights, mean + spreads[:, None] * pattern)
    falling = np.minimum.accumulate(reached)
    spread = np.interp(-np.asarray(targets), -falling, spreads)
    return mean + spread[:, None] * pattern


def planted_grid(
    targets, *, items=600, k=6, seed=0, names=None, difficulty=0.1, benchmark="planted"
) -> list[Evaluation]:
    """Return an evaluation per target H: the same items, scores right or wrong.

    ``difficulty`` shifts an item's chance for every model alike (up or down), so that models'
    errors are correlated; the mean chance of a subdomain stays the planted one.
    """
    rng = np.random.default_rng(seed)
    labels = np.sort(np.arange(items) % k)
    weights = np.bincount(labels) / items
    chance = performances(targets, weights)[:, labels]
    easier = rng.choice([-1.0, 1.0], items)
    chance = np.clip(chance + difficulty * easier, 0, 1)
    return [
        Evaluation.from_arrays(
            benchmark=benchmark,
            model=f"model-{i}" if names is None else names[i],
            scores=(rng.random(items) < row).astype(float),
            groups={"subject": [f"topic {t}" for t in labels]},
        )
        for i, row in enumerate(chance)
    ]
