"""Where the time of a sweep goes, stage by stage, beside what the machine's rates allow.

python benchmarks/sweep_profile.py [N] [ENGINE]
"""

import sys

import numpy as np
from direct import planted
from machine import rates, timed

from benchharmony import Predictive
from benchharmony.choice import Choice
from benchharmony.engines import silhouettes
from benchharmony.engines.canonical import canonical
from benchharmony.engines.choose import reach
from benchharmony.engines.kmeans import kmeans_by_k
from benchharmony.engines.workers import Workers
from benchharmony.induced import induce
from benchharmony.spectral import _embed, ordered_labels


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    engine = sys.argv[2] if len(sys.argv) > 2 else "auto"
    view = Predictive.dense(planted(n)[0])
    induce(Predictive.dense(planted(500)[0]), 1.0, Choice())  # imports and first use
    ks = range(2, 21)
    spent = {}
    items, _, spent["order and duplicates"] = timed(lambda: canonical(view))
    with Workers(1) as workers:
        ordered = view.take(items.first)
        found, _, spent["similarity (or factors)"] = timed(
            lambda: reach(ordered, items.counts, 1.0, engine, workers)
        )
        kernel = found.kernel
        (_, vectors), _, spent["eigenvectors"] = timed(lambda: _embed(kernel, items.counts, 21, 0))
        raw, _, spent["k-means, 19 values of k"] = timed(
            lambda: kmeans_by_k(vectors, items.counts, ks, 0, workers)
        )
        labels = {k: ordered_labels(lab) for k, lab in raw.items()}
        _, _, spent["silhouettes, 19 values of k"] = timed(
            lambda: silhouettes.mean_silhouettes(kernel, items.counts, labels)
        )
    total, rate = sum(spent.values()), rates()
    least = {}
    if kernel.engine == "dense":
        least["similarity (or factors)"] = n * n / 2 / rate["exp float32"] / 1e9
        products = 7 if n < 2048 else 3  # more items begin at landmarks
        least["eigenvectors"] = products * 28 * n * n / rate["product float32, 28 columns"] / 1e9
        least["silhouettes, 19 values of k"] = 209 * n * n / rate["product float32"] / 1e9
    elif kernel.engine == "low-rank":
        r = kernel.factors.shape[1]
        least["similarity (or factors)"] = 832 * n / rate["exp float32"] / 1e9 + (
            512 * r * n / rate["product float32"] / 1e9
        )
        least["eigenvectors"] = (2 * r * r + 2 * 21 * r) * n / rate["product float32"] / 1e9
        least["silhouettes, 19 values of k"] = 2 * 209 * r * n / rate["product float32"] / 1e9
    print(f"n = {n:,}, engine {kernel.engine}, one thread, processor seconds")
    print("| stage | seconds | share | least that its products and exponentials take |")
    print("|---|---|---|---|")
    for name, seconds in spent.items():
        bound = f"{least[name]:.3f}" if name in least else "-"
        print(f"| {name} | {seconds:.3f} | {seconds / total:.0%} | {bound} |")
    print(f"| all | {np.round(total, 3)} | | |")


if __name__ == "__main__":
    main()
