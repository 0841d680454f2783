"""How far engines agree, beside how far the dense engine agrees with itself under another seed.

    python benchmarks/engine_agreement.py [N]

Six planted groups over four outcomes, tau = 1, k = 2..20, each against the dense engine, seed 0.
"""

import sys

from direct import planted
from sklearn.metrics import adjusted_rand_score

from benchharmony import Predictive
from benchharmony.choice import Choice
from benchharmony.induced import induce

GROUPS = 6


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 14_042
    view = Predictive.dense(planted(n, groups=GROUPS)[0])
    dense = induce(view, 1.0, Choice(), "dense")
    print(f"n = {n:,}\n| against | k | smallest ARI | largest difference of a silhouette |")
    print("|---|---|---|---|")
    for engine, seed in (("dense", 1), ("low-rank", 0), ("matrix-free", 0)):
        other = induce(view, 1.0, Choice(seed=seed), engine)
        for ks in (range(2, GROUPS + 1), range(GROUPS + 1, 21)):
            far = max(abs(dense.silhouette_by_k[k] - other.silhouette_by_k[k]) for k in ks)
            same = min(adjusted_rand_score(dense.labels_by_k[k], other.labels_by_k[k]) for k in ks)
            name = f"{engine}, seed {seed}"
            print(f"| {name} | {ks[0]} to {ks[-1]} | {same:.3f} | {far:.0e} |", flush=True)


if __name__ == "__main__":
    main()
