"""H estimated against H true over many sub-benchmarks with controlled sizes and performance.

H true is H under the declared subdomains, H estimated under the induced partition of the same
items with the same scores. A partition of the same sizes with shuffled membership stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.metric import BANDWIDTH, EPSILON, harmony_score, summarise
from benchharmony.spectral import Sweep
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import best_k, clustered, default_k, modularity

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]
Scores = Literal["planted", "recorded"]
Interval = tuple[float, float]

#: Standard deviations of subdomain performance that sub-benchmarks go through, even to uneven.
SPREADS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3)
#: Fewest items of a subdomain, and fewest sub-benchmarks that a correlation is given for.
_FEWEST, _FEW = 12, 10
_MOST_DOMAINS = 8
#: How k is chosen: as declared, by the default rule, by the silhouette (the paper's), by
#: modularity.
RULES = ("declared", "auto", "silhouette", "modularity")


@dataclass(frozen=True, eq=False)
class SubBenchmark:
    """Items, their declared subdomains and scores.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Items of the case.
    labels : ndarray of int64, shape (m,)
        Declared subdomains 0..k-1.
    scores : ndarray, shape (m,)
        In [0, 1].
    """

    rows: Labels
    labels: Labels
    scores: FloatArray


@dataclass(frozen=True)
class Point:
    """H of one sub-benchmark: true, estimated, with shuffled membership; and agreement."""

    true: float
    estimated: float
    shuffled: float
    ari: float
    k: int
    items: int


@dataclass(frozen=True)
class Fit:
    """How estimates follow the truth over sub-benchmarks.

    Attributes
    ----------
    r, slope : float
        Pearson correlation; slope of the estimate on the truth.
    r_interval, slope_interval : (float, float)
        Percentiles of a bootstrap over sub-benchmarks.
    bias, error : float
        Mean and mean absolute difference, estimate less truth.
    error_interval : (float, float)
        Of the mean absolute difference.
    """

    r: float
    r_interval: Interval
    slope: float
    slope_interval: Interval
    bias: float
    error: float
    error_interval: Interval


@dataclass(frozen=True)
class Recovery:
    """One way of choosing k: its points, their fit, and the fit of shuffled partitions.

    Attributes
    ----------
    positions, scores, rule : str
        Distributions compared, kind of scores, how k was chosen (RULES).
    points : tuple of Point
        One per sub-benchmark for which H is defined.
    undefined : int
        Sub-benchmarks without an admissible k.
    fit, shuffled : Fit
        Of the estimates; of shuffled membership.
    ari : float
        Mean adjusted Rand index of the induced partitions with the declared.
    """

    positions: str
    scores: str
    rule: str
    points: tuple[Point, ...]
    undefined: int
    fit: Fit
    shuffled: Fit
    ari: float


def sub_benchmarks(
    declared: Labels,
    number: int,
    scores: FloatArray | None = None,
    *,
    seed: int = 0,
    most_domains: int = _MOST_DOMAINS,
) -> Iterator[SubBenchmark]:
    """Draw sub-benchmarks with random domains and sizes and performances from even to uneven.

    Parameters
    ----------
    declared : ndarray of int64, shape (n,)
        Subdomains of all items.
    number : int
        How many.
    scores : ndarray, shape (n,), optional
        Recorded scores: items are then picked, right and wrong, so that each subdomain comes
        near its intended performance. Without them scores are drawn: right with the
        subdomain's chance.
    seed : int
        Of everything drawn.
    most_domains : int
        Domains of a sub-benchmark are at least 3, at most this many.

    Raises
    ------
    BenchharmonyError
        With fewer than 3 declared subdomains of at least 12 items.
    """
    rng = np.random.default_rng(seed)
    pools = [np.flatnonzero(declared == d) for d in range(int(declared.max()) + 1)]
    pools = [p for p in pools if len(p) >= _FEWEST]
    if len(pools) < 3:
        raise BenchharmonyError("sub-benchmarks need 3 declared subdomains of at least 12 items")
    for i in range(number):
        k = int(rng.integers(3, min(most_domains, len(pools)) + 1))
        chosen = [pools[d] for d in rng.choice(len(pools), k, replace=False)]
        target = _performances(SPREADS[i % len(SPREADS)], k, rng)
        sizes = _sizes(np.array([len(p) for p in chosen]), rng)
        rows, labels, drawn = [], [], []
        for d, (pool, size, goal) in enumerate(zip(chosen, sizes, target, strict=True)):
            if scores is None:
                some = rng.choice(pool, size, replace=False)
                drawn.append((rng.random(size) < goal).astype(np.float64))
            else:
                some = _picked(pool, scores, int(size), float(goal), rng)
                drawn.append(scores[some])
            rows.append(some)
            labels.append(np.full(len(some), d))
        yield SubBenchmark(np.concatenate(rows), np.concatenate(labels), np.concatenate(drawn))


def _performances(spread: float, k: int, rng: np.random.Generator) -> FloatArray:
    return np.clip(rng.uniform(0.4, 0.75) + spread * rng.standard_normal(k), 0.03, 0.97)


def _sizes(available: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return sizes between 12 and what is there: shares from nearly equal to very uneven."""
    shares = rng.dirichlet(np.full(len(available), rng.choice([1.0, 3.0, 30.0])))
    whole = available / shares.max()
    sizes: NDArray[np.int64] = np.clip((whole * shares).astype(np.int64), _FEWEST, available)
    return sizes


def _picked(
    pool: Labels, scores: FloatArray, size: int, goal: float, rng: np.random.Generator
) -> Labels:
    """Return items of a pool whose mean score comes near a goal, fewer where it has too few."""
    order = rng.permutation(pool)
    right, wrong = order[scores[order] >= 0.5], order[scores[order] < 0.5]
    # As many items as both kinds allow at this share of right ones, at least the fewest.
    most = min(
        size,
        int(len(right) / goal) if goal > 0 else size,
        int(len(wrong) / (1 - goal)) if goal < 1 else size,
    )
    size = max(most, _FEWEST)
    n_right = min(round(goal * size), len(right))
    n_wrong = min(size - n_right, len(wrong))
    return np.concatenate([right[:n_right], wrong[:n_wrong]])


def recover(
    divergence: FloatArray,
    subs: Sequence[SubBenchmark],
    *,
    positions: str,
    scores: Scores,
    k_range: tuple[int, int] = (2, 20),
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    seed: int = 0,
) -> list[Recovery]:
    """Estimate H of every sub-benchmark under the induced partition, with k declared and chosen.

    Parameters
    ----------
    divergence : ndarray, shape (n, n)
        Jeffreys divergence of all items; each sub-benchmark has a tau of its own.
    subs : sequence of SubBenchmark
        Over those items.
    positions, scores : str
        Named in the result.
    k_range : (int, int)
        For the chosen k.
    bandwidth, epsilon : float
        Of H.
    seed : int
        Of k-means, the shuffles and the bootstrap.
    """
    rng = np.random.default_rng(seed)
    points: dict[str, list[Point]] = {rule: [] for rule in RULES}
    for sub in subs:
        k_true = int(sub.labels.max()) + 1
        similarity = similarity_from(divergence[np.ix_(sub.rows, sub.rows)])
        made = clustered(similarity, k_range, (k_true,), seed=seed)
        for rule, k in _ks(k_true, similarity, made, k_range, seed).items():
            if k is not None:
                points[rule].append(_point(sub, made.labels[k], rng, bandwidth, epsilon))
    return [
        Recovery(
            positions, scores, rule, tuple(ps), len(subs) - len(ps),
            fit_of([p.true for p in ps], [p.estimated for p in ps], seed=seed),
            fit_of([p.true for p in ps], [p.shuffled for p in ps], seed=seed),
            float(np.mean([p.ari for p in ps])) if ps else float("nan"),
        )
        for rule, ps in points.items()
    ]  # fmt: skip


def _ks(
    declared: int, similarity: FloatArray, made: Sweep, k_range: tuple[int, int], seed: int
) -> dict[str, int | None]:
    modularities = {k: modularity(similarity, labels) for k, labels in made.labels.items()}
    return {
        "declared": declared,
        "auto": default_k(similarity, made, k_range, seed=seed),
        "silhouette": best_k(made.silhouette, made, k_range),
        "modularity": best_k(modularities, made, k_range),
    }


def _point(
    sub: SubBenchmark, labels: Labels, rng: np.random.Generator, bandwidth: float, epsilon: float
) -> Point:
    from sklearn.metrics import adjusted_rand_score

    def h(some: Labels) -> float:
        s = summarise(sub.scores, some)
        return harmony_score(s.weights, s.performance, bandwidth=bandwidth, epsilon=epsilon)

    return Point(
        h(sub.labels), h(labels), h(rng.permutation(labels)),
        float(adjusted_rand_score(sub.labels, labels)), int(labels.max()) + 1, len(labels),
    )  # fmt: skip


def fit_of(
    true: Sequence[float],
    estimated: Sequence[float],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Fit:
    """Return how estimates follow the truth; NaN throughout for fewer than 10 points.

    Intervals are percentiles of a bootstrap over points. Sub-benchmarks that share items are not
    independent, so they are somewhat too narrow.
    """
    x, y = np.asarray(true, dtype=np.float64), np.asarray(estimated, dtype=np.float64)
    if len(x) < _FEW:
        nan, none = float("nan"), (float("nan"), float("nan"))
        return Fit(nan, none, nan, none, nan, nan, none)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(x), (draws, len(x)))
    r, slope = _line(x[drawn], y[drawn])
    error = np.abs(y - x)[drawn].mean(axis=1)
    tail = (1 - level) / 2
    low, high = np.nanquantile([r, slope, error], [tail, 1 - tail], axis=1)
    whole_r, whole_slope = _line(x, y)
    return Fit(
        float(whole_r), (float(low[0]), float(high[0])),
        float(whole_slope), (float(low[1]), float(high[1])),
        float((y - x).mean()), float(np.abs(y - x).mean()), (float(low[2]), float(high[2])),
    )  # fmt: skip


def _line(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    dx, dy = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    xx, yy, xy = (dx * dx).sum(-1), (dy * dy).sum(-1), (dx * dy).sum(-1)
    nan = np.full(np.shape(xy), np.nan)
    r = np.divide(xy, np.sqrt(xx * yy), out=nan.copy(), where=(xx > 0) & (yy > 0))
    return r, np.divide(xy, xx, out=nan, where=xx > 0)
