"""Seconds and memory for the whole rebalancing curve of a benchmark the size of MMLU.

Made-up distributions of 14,042 items (the top 1,024 tokens of a vocabulary of 50,000) in 57 or in
2 subdomains: few large subdomains are the hard case, for similarities are computed within them.

    python benchmarks/rebalance_speed.py --subdomains 57 2
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from benchharmony import Evaluation, Predictive, partition, rebalance

ITEMS, VOCABULARY, TOP = 14_042, 50_000, 1_024


def made_up(k: int, seed: int = 0) -> Evaluation:
    """Return an evaluation with k subdomains of uneven sizes that share tokens within."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, ITEMS, p=rng.dirichlet(np.full(k, 2.0)))
    pools = [rng.choice(VOCABULARY, 4 * TOP, replace=False) for _ in range(k)]
    tokens = np.array([rng.choice(pools[t], TOP, replace=False) for t in truth])
    logs = np.log(rng.dirichlet(np.full(TOP, 0.35), size=ITEMS) * 0.9 + 1e-9)
    view = Predictive.top_k(tokens, logs, 1 - np.exp(logs).sum(axis=1), VOCABULARY)
    scores = rng.random(ITEMS) < rng.uniform(0.3, 0.9, k)[truth]
    return Evaluation.from_arrays(
        benchmark="made up",
        model="model",
        scores=scores.astype(float),
        predictive={"answer": view},
        groups={"subject": [f"s{t}" for t in truth]},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--subdomains", type=int, nargs="+", default=[57, 2])
    for k in parser.parse_args().subdomains:
        evaluation = made_up(k)
        split = partition(evaluation, "declared:subject")
        start, busy = time.perf_counter(), time.process_time()
        result = rebalance(evaluation, split)
        wall, busy = time.perf_counter() - start, time.process_time() - busy
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        points = len(result.models[0].curve)
        print(
            f"{ITEMS} items, k = {k}, largest {split.sizes.max()}: {points} points, "
            f"{wall:.1f} s ({busy:.1f} s of CPU), peak {peak:.1f} GB"
        )


if __name__ == "__main__":
    main()
