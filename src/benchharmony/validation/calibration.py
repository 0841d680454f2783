"""Do the statistics keep their promises where the truth is known.

``python -m benchharmony.validation.calibration`` prints the tables of docs/uncertainty.md;
the slow tests hold their bounds.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.metric import harmony_score, shrunken_performance, summarise
from benchharmony.nulls import difficulty_matched_null, same_size_null
from benchharmony.uncertainty import Sizes, intervals
from benchharmony.validation.planted import (
    Planted,
    SizeKind,
    plant,
    plant_confounded,
    planted_performance,
    planted_sizes,
)
from benchharmony.verdict import gather, verdict

FloatArray = NDArray[np.float64]
Shape = str | float

SIZE_KINDS: tuple[SizeKind, ...] = ("equal", "random", "skewed")
#: True performances that differ between all subdomains: what the coverage bound is held on.
VARIED: tuple[Shape, ...] = (0.02, 0.05, 0.1, 0.2, "uniform")
#: True performances with exact ties, where H is at the edge of what it can be.
TIED: tuple[Shape, ...] = (0.0, "halves", "one weak", "one easy")


@dataclass(frozen=True)
class Coverage:
    """How often intervals hold the truth.

    Attributes
    ----------
    harmony, agreement, score, subdomains : float
        Shares of intervals that do.
    below, above : float
        Shares of evaluations whose true H is below or above its interval.
    width : float
        Mean width of the interval of H.
    evaluations : int
        How many were planted.
    """

    harmony: float
    below: float
    above: float
    agreement: float
    score: float
    subdomains: float
    width: float
    evaluations: int


_COVERED = ("harmony", "below", "above", "agreement", "score", "subdomains", "width")


def planted_stream(
    n: int,
    k: int,
    shapes: Sequence[Shape],
    evaluations: int,
    *,
    seed: int = 0,
    kinds: Sequence[SizeKind] = SIZE_KINDS,
    sampled: bool = False,
    mean: float = 0.65,
    cluster_size: int = 1,
    graded: bool = False,
) -> Iterator[Planted]:
    """Yield planted evaluations that go round through shapes and kinds of sizes."""
    rng = np.random.default_rng([seed, n, k])
    for i in range(evaluations):
        sizes = planted_sizes(n, k, kinds[(i // len(shapes)) % len(kinds)], rng)
        performance = planted_performance(shapes[i % len(shapes)], k, rng, mean)
        yield plant(
            sizes,
            performance,
            rng,
            scores="graded" if graded else "binary",
            cluster_size=cluster_size,
            sampled=sampled,
        )


def coverage(evaluations: Iterable[Planted], *, draws: int = 400, sizes: Sizes) -> Coverage:
    """Return how often the intervals of these evaluations hold the truth."""
    rows = []
    for seed, planted in enumerate(evaluations):
        made = intervals(
            planted.scores,
            planted.labels,
            draws=draws,
            seed=seed,
            sizes=sizes,
            clusters=planted.clusters,
        )
        truth, mean = planted.performance, float(planted.weights @ planted.performance)
        low, high = made.harmony
        # H's clip at 1 and rounding differ by about 1e-9 between equal truths.
        below, above = planted.harmony < low - 1e-9, planted.harmony > high + 1e-9
        held = made.subdomains[:, 0] <= truth, truth <= made.subdomains[:, 1]
        rows.append(
            (
                not (below or above),
                below,
                above,
                made.agreement[0] - 1e-9 <= planted.agreement <= made.agreement[1] + 1e-9,
                made.score[0] <= mean <= made.score[1],
                (held[0] & held[1]).mean(),
                high - low,
            )
        )
    means = dict(zip(_COVERED, np.mean(rows, axis=0).tolist(), strict=True))
    return Coverage(**means, evaluations=len(rows))


def percentile_coverage(evaluations: Iterable[Planted], *, draws: int = 400) -> float:
    """Return the coverage of plain bootstrap percentiles of raw H, which the intervals replace."""
    from benchharmony.metric import harmony_values
    from benchharmony.resampling import bootstrap_sums, stream

    held = []
    for seed, planted in enumerate(evaluations):
        sums = bootstrap_sums(planted.scores, planted.labels, draws, stream(seed, "bootstrap"))
        drawn = harmony_values(sums.sizes, sums.performance)
        low, high = np.quantile(drawn, [0.025, 0.975])
        held.append(low - 1e-9 <= planted.harmony <= high + 1e-9)
    return float(np.mean(held))


def type_one_error(
    n: int, k: int, evaluations: int, *, draws: int = 400, seed: int = 0, graded: bool = False
) -> float:
    """Return how often the same-size null is rejected at 5 % where performance is even."""
    stream = planted_stream(n, k, (0.0,), evaluations, seed=seed, graded=graded)
    rejected = [
        same_size_null(p.scores, p.labels, draws=draws, seed=i).p_value <= 0.05
        for i, p in enumerate(stream)
    ]
    return float(np.mean(rejected))


def confounded_error(
    n: int, k: int, evaluations: int, *, draws: int = 400, seed: int = 0
) -> tuple[float, float]:
    """Return rejection rates of same-size and difficulty-matched null, confidence driving both."""
    rng = np.random.default_rng([seed, n, k])
    rejected = []
    for i in range(evaluations):
        scores, labels, confidence = plant_confounded(n, k, rng)
        same = same_size_null(scores, labels, draws=draws, seed=i)
        matched = difficulty_matched_null(scores, labels, confidence, draws=draws, seed=i)
        rejected.append((same.p_value <= 0.05, matched.p_value <= 0.05))
    same_rate, matched_rate = np.mean(rejected, axis=0)
    return float(same_rate), float(matched_rate)


@dataclass(frozen=True)
class Error:
    """Bias and root mean squared error of raw and noise-adjusted H."""

    raw_bias: float
    adjusted_bias: float
    raw_rmse: float
    adjusted_rmse: float


def harmony_error(evaluations: Iterable[Planted]) -> Error:
    """Return bias and error of raw and noise-adjusted H over planted evaluations."""
    rows = []
    for planted in evaluations:
        s = summarise(planted.scores, planted.labels)
        shrunk = shrunken_performance(s.weights, s.performance, s.variances)
        raw = harmony_score(s.weights, s.performance) - planted.harmony
        rows.append((raw, harmony_score(s.weights, shrunk) - planted.harmony))
    errors = np.array(rows)
    bias, rmse = errors.mean(axis=0), np.sqrt((errors**2).mean(axis=0))
    return Error(float(bias[0]), float(bias[1]), float(rmse[0]), float(rmse[1]))


#: Bands of true agreement, from even to uneven, that verdicts are tabulated by.
BANDS = ((0.9, "even (>= 0.9)"), (0.78, "nearly (0.78-0.9)"), (0.6, "rather not (0.6-0.78)"))
UNEVEN_BAND = "uneven (< 0.6)"


def band(agreement: float) -> str:
    """Return the band of a true agreement."""
    return next((name for least, name in BANDS if agreement >= least), UNEVEN_BAND)


def verdict_table(evaluations: Iterable[Planted], *, draws: int = 400) -> dict[str, Counter[str]]:
    """Return how often each band of true agreement gets each verdict."""
    table: dict[str, Counter[str]] = {}
    for seed, planted in enumerate(evaluations):
        made = intervals(planted.scores, planted.labels, draws=draws, seed=seed)
        null = same_size_null(planted.scores, planted.labels, draws=draws, seed=seed)
        ruling = verdict(gather(planted.scores, planted.labels, made, null))
        table.setdefault(band(planted.agreement), Counter())[ruling.label] += 1
    return table


def main(argv: Sequence[str] | None = None) -> None:
    """Print one of the tables."""
    from benchharmony.validation import calibration_tables as tables

    parser = argparse.ArgumentParser(prog="python -m benchharmony.validation.calibration")
    parser.add_argument("table", choices=sorted(tables.TABLES))
    parser.add_argument("--evaluations", type=int, default=1000, help="per cell (default 1000)")
    args = parser.parse_args(argv)
    for line in tables.TABLES[args.table](args.evaluations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
