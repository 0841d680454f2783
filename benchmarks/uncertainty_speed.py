"""Time the statistics of one evaluation: python benchmarks/uncertainty_speed.py.

Times are the best of seven runs, in CPU time of one thread, so that a busy machine does not count;
on an idle machine they are wall times.
"""

from time import process_time

import numpy as np

from benchharmony.nulls import difficulty_matched_null, same_size_null
from benchharmony.resampling import bootstrap_sums, checked, stream
from benchharmony.uncertainty import intervals, item_noise


def best(run, times: int = 7) -> float:
    """Return the best of several CPU times, in seconds."""
    spent = []
    for _ in range(times):
        start = process_time()
        run()
        spent.append(process_time() - start)
    return min(spent)


def main() -> None:
    rng = np.random.default_rng(0)
    n, k, draws = 14_042, 20, 2000
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    binary = (rng.random(n) < rng.uniform(0.4, 0.8, k)[labels]).astype(float)
    fifths = rng.binomial(5, 0.6, n) / 5
    confidence = rng.random(n)
    score, label, _ = checked(binary, labels)
    bare = best(lambda: bootstrap_sums(score, label, draws, stream(0, "bootstrap")))
    noise = best(lambda: item_noise(binary, labels, draws=draws))
    null = best(lambda: same_size_null(binary, labels, draws=draws))
    print(f"n = {n}, k = {k}, {draws} draws of each kind, 0/1 scores")
    print(f"  bootstrap sums alone            {bare * 1e3:7.1f} ms")
    print(f"  bootstrap (score, H, adj., agr.){noise * 1e3:7.1f} ms")
    print(f"  same-size null                  {null * 1e3:7.1f} ms")
    print(f"  bootstrap + same-size null      {(noise + null) * 1e3:7.1f} ms  (bound: 100 ms)")
    whole = best(lambda: intervals(binary, labels, draws=draws))
    matched = best(lambda: difficulty_matched_null(binary, labels, confidence, draws=draws))
    print(f"  all intervals, with the above   {whole * 1e3:7.1f} ms")
    print(f"  difficulty-matched null         {matched * 1e3:7.1f} ms")
    graded = best(lambda: item_noise(fifths, labels, draws=draws))
    graded_null = best(lambda: same_size_null(fifths, labels, draws=draws))
    print(f"graded in fifths: bootstrap {graded * 1e3:.1f} ms, null {graded_null * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
