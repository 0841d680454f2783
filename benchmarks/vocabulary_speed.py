"""Vocabulary-level input: top-1,024 tokens and the rest, against the whole float64 product.

python benchmarks/vocabulary_speed.py [--items 5000] [--vocab 49152] [--no-direct]
"""

import argparse

import numpy as np
from machine import forget_peak, peak_mib, timed, words

from benchharmony import Predictive
from benchharmony.choice import Choice
from benchharmony.engines.dense import filled
from benchharmony.engines.tiles import tiles_of
from benchharmony.engines.workers import Workers
from benchharmony.induced import induce

TOP, TOPICS = 1024, 15


def distributions(n: int, vocab: int, seed: int = 0):
    """Yield rows over a Zipf vocabulary in which topics and items differ, a block at a time."""
    rng = np.random.default_rng(seed)
    base = -1.1 * np.log(np.arange(1, vocab + 1, dtype=np.float32))
    topics = rng.normal(0, 1.0, (TOPICS, vocab)).astype(np.float32)
    for start in range(0, n, 250):
        size = min(250, n - start)
        noise = rng.standard_normal((size, vocab), dtype=np.float32)
        z = base + topics[rng.integers(0, TOPICS, size)] + noise
        yield z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--items", type=int, default=5000)
    args.add_argument("--vocab", type=int, default=49_152)
    args.add_argument("--no-direct", action="store_true")
    given = args.parse_args()
    ids, logs = [], []
    for block in distributions(given.items, given.vocab):
        top = np.argpartition(-block, TOP, axis=1)[:, :TOP]
        ids.append(top)
        logs.append(np.take_along_axis(block, top, 1))
    ids, logs = np.concatenate(ids), np.concatenate(logs)
    view = Predictive.top_k(ids, logs, 1 - np.exp(logs.astype(float)).sum(axis=1), given.vocab)
    del ids, logs
    print(words())
    forget_peak()
    single = np.dtype(np.float32)
    with Workers() as workers:
        wall, cpu = timed(lambda: filled(tiles_of(view, single), 1.0, single, workers))[1:]
    print(
        f"{given.items:,} items x top-{TOP:,} of {given.vocab:,}: S in {wall:.1f} s ({cpu:.1f} cpu)"
    )
    found, whole, whole_cpu = timed(lambda: induce(view, "median", Choice()))
    peak = peak_mib() / 2**10
    print(
        f"whole sweep, engine {found.engine}: {whole:.1f} s ({whole_cpu:.1f} cpu), {peak:.2f} GiB"
    )
    if not given.no_direct:
        log_p = np.concatenate(list(distributions(given.items, given.vocab))).astype(np.float64)
        p = np.exp(log_p)
        _, dense, dense_cpu = timed(lambda: p @ log_p.T)
        print(f"float64 product over the vocabulary: {dense:.1f} s ({dense_cpu:.1f} cpu)")
        print(f"ratio to S: {dense / wall:.1f} wall, {dense_cpu / cpu:.1f} processor")


if __name__ == "__main__":
    main()
