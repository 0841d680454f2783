"""How far each engine is from the exact partition, beside how far another seed is.

    python benchmarks/engine_agreement.py [N]

Six planted groups over four outcomes, four data sets, tau = 1 and by the median rule, k = 2..20.
Each engine is held against the dense one in float64, whose eigenvectors have residuals of 1e-10:
that of these k the labels of so many agree (adjusted Rand index of 0.99 or more), and that the
silhouettes of so many differ by at most 1e-3.
"""

import sys
from unittest.mock import patch

import numpy as np
from direct import planted
from sklearn.metrics import adjusted_rand_score

from benchharmony import Predictive
from benchharmony.choice import Choice
from benchharmony.engines import choose
from benchharmony.induced import Induced, induce

GROUPS, SEEDS = 6, range(4)
BELOW, ABOVE = range(2, GROUPS + 1), range(GROUPS + 1, 21)
RUNS = {
    "dense": ("dense", 0),
    "dense, another seed": ("dense", 1),
    "matrix-free": ("matrix-free", 0),
    "low-rank": ("low-rank", 0),
}


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 14_042
    agree: dict[str, list] = {name: [] for name in RUNS}
    for seed in SEEDS:
        view = Predictive.dense(planted(n, groups=GROUPS, seed=seed)[0])
        for tau in (1.0, induce(view, "median", Choice(), "low-rank").tau):
            with patch.object(choose, "dtype_for", lambda *_: np.dtype(np.float64)):
                exact = induce(view, tau, Choice(), "dense")
            for name, (engine, other) in RUNS.items():
                made = induce(view, tau, Choice(seed=other), engine)
                agree[name].append(labels_and_silhouettes(exact, made))
    print(f"n = {n:,}, {2 * len(SEEDS)} cases")
    print("| engine | k | same labels | same silhouette |\n|---|---|---|---|")
    for name, cases in agree.items():
        for ks in (BELOW, ABOVE):
            found = np.array([[case[k] for k in ks] for case in cases], dtype=bool)
            labels, silhouettes = found.reshape(-1, 2).sum(axis=0)
            print(f"| {name} | {ks[0]} to {ks[-1]} | {labels} | {silhouettes} of "
                  f"{len(ks) * len(cases)} |", flush=True)  # fmt: skip


def labels_and_silhouettes(exact: Induced, made: Induced) -> list[tuple[bool, bool]]:
    """Return, by k (nothing for 0 and 1), whether labels and silhouette are the exact ones."""
    return [(False, False)] * 2 + [
        (
            adjusted_rand_score(labels, made.labels_by_k[k]) >= 0.99,
            abs(exact.silhouette_by_k[k] - made.silhouette_by_k[k]) <= 1e-3,
        )
        for k, labels in sorted(exact.labels_by_k.items())
    ]


if __name__ == "__main__":
    main()
