"""Two models on the same items: who is better, and whose score is spread more evenly.

The same items and the same partition serve both models, so differences are paired: what makes an
item hard for both cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, norm

from benchharmony.metric import BANDWIDTH, EPSILON, harmony_values, shrunken_performance
from benchharmony.nulls import q_values
from benchharmony.resampling import Sums, bootstrap_sums, checked, stream
from benchharmony.uncertainty import Intervals, Sizes, intervals

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Pair = tuple[float, float]

#: Draws for the correlation of the two models' H, which needs no more.
_CORRELATION_DRAWS = 500
#: Score levels up to which both models' scores are resampled by cell.
_FEW_LEVELS = 20
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Comparison:
    """Model A less model B, on the same items and subdomains.

    Attributes
    ----------
    score_difference, score_interval, score_p
        Mean score: difference, paired interval, two-sided p-value.
    harmony_difference, adjusted_difference : float
        Raw H and noise-adjusted H; NaN for k < 2.
    harmony_interval : (float, float)
        Paired interval of the difference of true H.
    correlation : float
        Correlation of the two models' adjusted H over paired resamples; it is what pairing gains.
    subdomain_differences : ndarray, shape (k,)
        Differences of mean score.
    subdomain_p, subdomain_q : ndarray, shape (k,)
        Two-sided paired p-values and Benjamini-Hochberg q-values over the subdomains.
    items, level, draws, seed
        What made it.
    """

    score_difference: float
    score_interval: Pair
    score_p: float
    harmony_difference: float
    adjusted_difference: float
    harmony_interval: Pair
    correlation: float
    subdomain_differences: FloatArray
    subdomain_p: FloatArray
    subdomain_q: FloatArray
    items: int
    level: float
    draws: int
    seed: int


def compare(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    labels: ArrayLike,
    *,
    draws: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    sizes: Sizes = "sampled",
) -> Comparison:
    """Compare two models item by item.

    Parameters
    ----------
    scores_a, scores_b : array_like, shape (n,)
        Both models' scores of the same items, in the same order, in [0, 1].
    labels : array_like of int, shape (n,)
        One partition for both, 0..k-1.
    draws, level, seed, bandwidth, epsilon, sizes
        See :func:`benchharmony.uncertainty.intervals`.

    Notes
    -----
    The interval of the score difference is Agresti and Min's (half an item added to each of the
    four outcomes of a pair), that of H is built from the two models' own intervals (MOVER), with
    their correlation over paired resamples. Subdomains are tested by McNemar's exact test
    (mid-p), or by random sign flips where scores are graded.

    References
    ----------
    Agresti, Min: "Simple improved confidence intervals for comparing matched proportions" (2005).
    Zou, Donner: "Construction of confidence limits about effect measures: a general approach"
    (2008).
    """
    a, label, k = checked(scores_a, labels)
    b, _, _ = checked(scores_b, labels)
    options = {"draws": draws, "level": level, "seed": seed}
    shape = {"bandwidth": bandwidth, "epsilon": epsilon}
    of_a = intervals(a, label, sizes=sizes, **options, **shape)  # type: ignore[arg-type]
    of_b = intervals(b, label, sizes=sizes, **options, **shape)  # type: ignore[arg-type]
    correlation = _correlation(a, b, label, seed, bandwidth, epsilon)
    counts = np.bincount(label)
    raw_a, adjusted_a = _harmony(a, label, bandwidth, epsilon)
    raw_b, adjusted_b = _harmony(b, label, bandwidth, epsilon)
    p_values = _subdomain_p(a - b, label, k, draws, seed)
    interval, p_value = _paired_mean(a - b, level)
    return Comparison(
        score_difference=float((a - b).mean()),
        score_interval=interval,
        score_p=p_value,
        harmony_difference=raw_a - raw_b,
        adjusted_difference=adjusted_a - adjusted_b,
        harmony_interval=_mover(of_a, of_b, correlation),
        correlation=correlation,
        subdomain_differences=np.bincount(label, a - b) / counts,
        subdomain_p=p_values,
        subdomain_q=q_values(p_values),
        items=len(a),
        level=level,
        draws=draws,
        seed=seed,
    )


def _paired_mean(difference: FloatArray, level: float) -> tuple[Pair, float]:
    """Return Agresti and Min's interval of the mean difference, and its p-value."""
    n = len(difference) + 2
    mean = float(difference.sum()) / n
    variance = max((float((difference**2).sum()) + 1.0) / n - mean**2, 0.0)
    error = float(np.sqrt(variance / n))
    half = float(norm.ppf(0.5 + level / 2)) * error
    return (
        (max(mean - half, -1.0), min(mean + half, 1.0)),
        float(2 * norm.sf(abs(mean) / error)),
    )


def _harmony(
    scores: FloatArray, labels: IntArray, bandwidth: float, epsilon: float
) -> tuple[float, float]:
    sizes = np.bincount(labels).astype(np.float64)
    sums = Sums(
        sizes[None],
        np.bincount(labels, scores)[None].astype(np.float64),
        np.bincount(labels, scores**2)[None].astype(np.float64),
    )
    raw, adjusted = _harmonies(sums, bandwidth, epsilon)
    return float(raw[0]), float(adjusted[0])


def _harmonies(sums: Sums, bandwidth: float, epsilon: float) -> tuple[FloatArray, FloatArray]:
    shrunk = shrunken_performance(sums.sizes, sums.performance, sums.variances)
    raw = harmony_values(sums.sizes, sums.performance, bandwidth=bandwidth, epsilon=epsilon)
    return raw, harmony_values(sums.sizes, shrunk, bandwidth=bandwidth, epsilon=epsilon)


def _correlation(
    a: FloatArray,
    b: FloatArray,
    labels: IntArray,
    seed: int,
    bandwidth: float,
    epsilon: float,
) -> float:
    """Return the correlation of adjusted H over resamples that both models share."""
    of_a, of_b = _paired_sums(a, b, labels, seed)
    drawn_a = _harmonies(of_a, bandwidth, epsilon)[1]
    drawn_b = _harmonies(of_b, bandwidth, epsilon)[1]
    defined = np.isfinite(drawn_a) & np.isfinite(drawn_b)
    drawn_a, drawn_b = drawn_a[defined], drawn_b[defined]
    if len(drawn_a) < 2 or drawn_a.std() < 1e-12 or drawn_b.std() < 1e-12:
        return 0.0
    return float(np.corrcoef(drawn_a, drawn_b)[0, 1])


def _paired_sums(a: FloatArray, b: FloatArray, labels: IntArray, seed: int) -> tuple[Sums, Sums]:
    draws = _CORRELATION_DRAWS
    values, level = np.unique(b, return_inverse=True)
    if len(values) > _FEW_LEVELS or len(np.unique(a)) > _FEW_LEVELS:
        # The same stream draws the same items for both.
        each = np.arange(len(a))
        return (
            bootstrap_sums(a, labels, draws, stream(seed, "pair"), each),
            bootstrap_sums(b, labels, draws, stream(seed, "pair"), each),
        )
    # A subdomain's items with one score of B are a subdomain of their own while A is resampled.
    fine = bootstrap_sums(a, labels * len(values) + level, draws, stream(seed, "pair"))
    k = int(labels.max()) + 1
    missing = k * len(values) - fine.sizes.shape[1]

    def split(x: FloatArray) -> FloatArray:
        return np.pad(x, ((0, 0), (0, missing))).reshape(draws, k, len(values))

    sizes = split(fine.sizes)
    return (
        Sums(sizes.sum(axis=2), split(fine.totals).sum(axis=2), split(fine.squares).sum(axis=2)),
        Sums(sizes.sum(axis=2), sizes @ values, sizes @ values**2),
    )


def _mover(a: Intervals, b: Intervals, correlation: float) -> Pair:
    """Return Zou and Donner's interval of the difference, from the two intervals."""
    low_a, high_a = a.harmony_median - a.harmony[0], a.harmony[1] - a.harmony_median
    low_b, high_b = b.harmony_median - b.harmony[0], b.harmony[1] - b.harmony_median
    difference = a.harmony_median - b.harmony_median

    def reach(x: float, y: float) -> float:
        return float(np.sqrt(max(x**2 + y**2 - 2 * correlation * x * y, 0.0)))

    return difference - reach(low_a, high_b), difference + reach(high_a, low_b)


def _subdomain_p(
    difference: FloatArray, labels: IntArray, k: int, draws: int, seed: int
) -> FloatArray:
    """Return two-sided p-values of no difference in each subdomain; 1 where all pairs tie."""
    if np.isin(difference, (-1.0, 0.0, 1.0)).all():
        won = np.bincount(labels[difference > 0], minlength=k)
        lost = np.bincount(labels[difference < 0], minlength=k)
        return _mcnemar_mid_p(won, lost)
    rng = stream(seed, "signs")
    p_values = np.ones(k)
    for i in range(k):
        own = difference[(labels == i) & (difference != 0)]
        if len(own):
            p_values[i] = _sign_flip_p(own, draws, rng)
    return p_values


def _mcnemar_mid_p(won: IntArray, lost: IntArray) -> FloatArray:
    """Return McNemar's exact p-value less half the chance of the outcome itself (mid-p)."""
    total, fewer = won + lost, np.minimum(won, lost)
    p = 2 * binom.cdf(fewer, total, 0.5) - binom.pmf(fewer, total, 0.5)
    # Level scores: the two tails meet in the middle.
    return np.asarray(np.where(won == lost, 1.0, np.minimum(p, 1.0)), dtype=np.float64)


def _sign_flip_p(own: FloatArray, draws: int, rng: np.random.Generator) -> float:
    observed, beaten = abs(own.sum()), 0
    step = max(1, _CHUNK // len(own))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        signs = rng.integers(0, 2, size=(rows, len(own)), dtype=np.int8) * 2 - 1
        beaten += int((np.abs(signs @ own) >= observed - 1e-12).sum())
    return (1 + beaten) / (1 + draws)
