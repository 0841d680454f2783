"""Ten million items from a memory-mapped file, beside the dense engine on the first ten thousand.

python benchmarks/mapped_millions.py [N]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from machine import peak_mib, timed, words

from benchharmony import Predictive
from benchharmony.choice import Choice
from benchharmony.engines.agreement import rand_index
from benchharmony.induced import induce


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(words())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs.npy"
        out = np.lib.format.open_memmap(path, "w+", np.float32, (n, 4))
        truth = np.empty(n, dtype=np.int8)
        centres = np.random.default_rng(0).normal(0, 2, (6, 4))
        for start in range(0, n, 500_000):
            rows = slice(start, min(start + 500_000, n))
            rng = np.random.default_rng([1, start])
            truth[rows] = rng.integers(0, 6, rows.stop - start)
            z = centres[truth[rows]] + rng.normal(0, 0.5, (rows.stop - start, 4))
            out[rows] = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        out.flush()
        del out
        logs = np.load(path, mmap_mode="r")
        ten = induce(Predictive.dense(logs[:10_000], log=True), 1.0, Choice(), "dense")
        exact = rand_index(ten.labels_by_k[6], truth[:10_000], np.ones(10_000))
        view = Predictive(logs, None, np.zeros(n), 4)
        found, wall, cpu = timed(lambda: induce(view, 1.0, Choice()))
        here = rand_index(found.labels_by_k[6], truth, np.ones(n))
        print(f"n = {n:,}, {found.engine}, error {found.engine_error:.1e}: {wall:.0f} s wall, "
              f"{cpu:.0f} s processor, peak {peak_mib() / 2**10:.1f} GiB")  # fmt: skip
        print(f"adjusted Rand index with the planted groups, k = 6: {here:.4f}; "
              f"dense at 10,000: {exact:.4f}; k {found.labels.max() + 1} and "
              f"{ten.labels.max() + 1}")  # fmt: skip


if __name__ == "__main__":
    main()
