"""Planted evaluations: known subdomains with known performance."""

import numpy as np

from benchharmony import Evaluation


def planted(
    sizes=(120, 90, 60),
    performance=(0.9, 0.6, 0.3),
    *,
    seed=0,
    outcomes=40,
    noise=0.4,
    **extra,
) -> tuple[Evaluation, np.ndarray]:
    """Return an evaluation whose distributions form one group per subdomain, and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    n = len(truth)
    centres = rng.normal(0, 2, (len(sizes), outcomes))
    logits = centres[truth] + rng.normal(0, noise, (n, outcomes))
    p = np.exp(logits)
    scores = (rng.random(n) < np.asarray(performance)[truth]).astype(float)
    evaluation = Evaluation.from_arrays(
        benchmark="planted",
        model="model",
        scores=scores,
        predictive=p / p.sum(1, keepdims=True),
        groups={"subject": [f"topic {t}" for t in truth]},
        **extra,
    )
    return evaluation, truth
