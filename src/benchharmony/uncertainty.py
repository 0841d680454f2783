"""How sure are we of the score, H, agreement and each subdomain's score.

Two different questions, answered apart:

* *Where is the truth?* The intervals: Wilson for proportions; for H, agreement and spread the
  posterior of :mod:`benchharmony.posterior`. Raw H and noise-adjusted H estimate the same true H,
  so they share one interval; raw H, which noise pulls down, can lie below it.
* *How much would the number on the page move with other items?* The item noise: standard
  deviations over bootstrap resamples with the partition fixed.

docs/uncertainty.md has the method, the coverage on planted evaluations and where it fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi2

from benchharmony.counts import Counts, design_effect, effective_counts, homogeneity_p, wilson
from benchharmony.errors import BenchharmonyError
from benchharmony.metric import (
    BANDWIDTH,
    EPSILON,
    agreement,
    harmony_values,
    shrunken_performance,
    size_evenness,
    weighted_sd,
)
from benchharmony.posterior import Prior, performance_draws
from benchharmony.resampling import Sums, bootstrap_sums, checked, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Pair = tuple[float, float]
Sizes = Literal["fixed", "sampled"]

_NAN: Pair = (float("nan"), float("nan"))


@dataclass(frozen=True)
class ItemNoise:
    """Standard deviations over item (or cluster) bootstrap resamples, the partition fixed.

    Attributes
    ----------
    score, harmony, adjusted, agreement : float
        In units of the quantity; ``harmony`` is that of raw H.
    draws : int
        Resamples.
    """

    score: float
    harmony: float
    adjusted: float
    agreement: float
    draws: int


@dataclass(frozen=True)
class Intervals:
    """Intervals for the truth behind one evaluation's numbers.

    Attributes
    ----------
    score : (float, float)
        For the mean score.
    harmony : (float, float)
        For the true H: the one that raw and noise-adjusted H both estimate. NaN for k < 2.
    agreement, spread : (float, float)
        For the true agreement and the true weighted SD of the performances.
    subdomains : ndarray, shape (k, 2)
        For each subdomain's true mean score, each on its own.
    harmony_median, agreement_median : float
        Posterior medians of the true H and the true agreement.
    homogeneity_p : float
        p-value of "all subdomains perform alike" (chi-square). Above ``1 - level`` the intervals
        reach the values of equal performance.
    noise : ItemNoise
        How far the reported numbers move when items are drawn again.
    level, draws, seed, sizes, clustered
        What was asked for.
    """

    score: Pair
    harmony: Pair
    agreement: Pair
    spread: Pair
    subdomains: FloatArray
    harmony_median: float
    agreement_median: float
    homogeneity_p: float
    noise: ItemNoise
    level: float
    draws: int
    seed: int
    sizes: Sizes
    clustered: bool

    @property
    def adjusted(self) -> Pair:
        """The interval of noise-adjusted H: that of the true H."""
        return self.harmony


def intervals(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    draws: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    clusters: ArrayLike | None = None,
    sizes: Sizes = "sampled",
    prior: Prior | None = None,
) -> Intervals:
    """Return intervals for score, H, agreement, spread and every subdomain's score.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Item scores in [0, 1].
    labels : array_like of int, shape (n,)
        Subdomains 0..k-1.
    draws : int
        Bootstrap resamples, and posterior draws.
    level : float
        Wanted coverage, in (0, 1).
    seed : int
        Fixes every draw.
    bandwidth, epsilon : float
        Of H.
    clusters : array_like, shape (n,), optional
        Items that share a passage or group share a value; they count as less than independent.
    sizes : {"fixed", "sampled"}
        ``fixed``: the subdomains' shares are the benchmark's own. ``sampled``: they are a
        multinomial draw from the shares of a larger collection, and uncertain too.
    prior : Prior, optional
        Settings of the model of true performances.

    Raises
    ------
    BenchharmonyError
        Scores outside [0, 1], labels with gaps, or a level or number of draws that makes no sense.
    """
    score, label, k = checked(scores, labels)
    if not 0.0 < level < 1.0 or draws < 1:
        raise BenchharmonyError(f"level must be in (0, 1) and draws positive: {level}, {draws}")
    group = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    counts = effective_counts(score, label, group)
    noise = item_noise(
        score, label, draws=draws, seed=seed, bandwidth=bandwidth, epsilon=epsilon, clusters=group
    )
    p_value = homogeneity_p(counts)
    truth, medians = _truth_intervals(
        np.bincount(label), counts, p_value, draws, level, seed, bandwidth, epsilon, sizes, prior
    )
    rates = counts.successes / counts.sizes
    return Intervals(
        score=_mean_interval(score, group, level),
        harmony=truth["harmony"] if k > 1 else _NAN,
        agreement=truth["agreement"],
        spread=truth["spread"],
        subdomains=wilson(rates, counts.sizes, level),
        harmony_median=medians["harmony"] if k > 1 else float("nan"),
        agreement_median=medians["agreement"],
        homogeneity_p=p_value,
        noise=noise,
        level=level,
        draws=draws,
        seed=seed,
        sizes=sizes,
        clustered=group is not None,
    )


def item_noise(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    draws: int = 2000,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    clusters: ArrayLike | None = None,
) -> ItemNoise:
    """Return how far the reported numbers move over bootstrap resamples of the items."""
    score, label, _ = checked(scores, labels)
    group = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = bootstrap_sums(score, label, draws, stream(seed, "bootstrap"), group)
    return ItemNoise(*_standard_deviations(sums, bandwidth, epsilon), draws=draws)


def _standard_deviations(
    sums: Sums, bandwidth: float, epsilon: float
) -> tuple[float, float, float, float]:
    sizes, performance = sums.sizes, sums.performance
    total = sizes.sum(axis=-1)
    shrunk = shrunken_performance(sizes, performance, sums.variances)
    raw = harmony_values(sizes, performance, bandwidth=bandwidth, epsilon=epsilon)
    adjusted = harmony_values(sizes, shrunk, bandwidth=bandwidth, epsilon=epsilon)
    agree = agreement(sizes, performance, bandwidth=bandwidth)
    mean = sums.totals.sum(axis=-1) / total
    # A resample that leaves fewer than two subdomains has no H.
    defined = np.isfinite(raw)
    if not defined.any():
        return float(mean.std()), float("nan"), float("nan"), float(agree.std())
    return (
        float(mean.std()),
        float(raw[defined].std()),
        float(adjusted[defined].std()),
        float(agree.std()),
    )


def _truth_intervals(
    sizes: IntArray,
    counts: Counts,
    p_value: float,
    draws: int,
    level: float,
    seed: int,
    bandwidth: float,
    epsilon: float,
    kind: Sizes,
    prior: Prior | None,
) -> tuple[dict[str, Pair], dict[str, float]]:
    """Return posterior intervals and medians; see :func:`intervals` for the parameters.

    The intervals reach the values of equal performance where that is not rejected.
    """
    rng = stream(seed, "posterior")
    truth = performance_draws(counts.successes, counts.failures, draws, rng, prior)
    weights: FloatArray = sizes / sizes.sum()
    even = float(size_evenness(weights))
    if kind == "sampled":
        even = _sampled_evenness(sizes / counts.design, even, level)
        weights = _share_draws(sizes / counts.design, draws, rng)
    harmony = harmony_values(weights, truth, bandwidth=bandwidth, epsilon=epsilon)
    values = {
        "harmony": (harmony, even),
        "agreement": (np.minimum(agreement(weights, truth, bandwidth=bandwidth), 1.0), 1.0),
        "spread": (weighted_sd(weights, truth), 0.0),
    }
    tails = [(1 - level) / 2, (1 + level) / 2]
    result: dict[str, Pair] = {}
    for name, (drawn, alike) in values.items():
        low, high = (float(x) for x in np.quantile(drawn, tails))
        if p_value > 1 - level:
            low, high = min(low, alike), max(high, alike)
        result[name] = (low, high)
    return result, {name: float(np.median(drawn)) for name, (drawn, _) in values.items()}


def _share_draws(sizes: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw true shares (draws, k) from a symmetric Dirichlet's posterior.

    How even the shares are is learnt from them, so that sampling alone does not count as
    unevenness: they are equal with prior probability 1/2, or the Dirichlet's concentration is
    log-uniform.
    """
    k, total = len(sizes), sizes.sum()
    each = np.geomspace(0.1, 10.0 * total, 60)
    logs = gammaln(k * each) - gammaln(k * each + total)
    logs += (gammaln(each[:, None] + sizes) - gammaln(each[:, None])).sum(axis=1)
    logs = np.append(logs - np.log(len(each)), -total * np.log(k))
    chance = np.exp(logs - logs.max())
    chosen = rng.choice(len(logs), size=draws, p=chance / chance.sum())
    equal = chosen == len(each)
    gammas = rng.standard_gamma(np.append(each, 1.0)[chosen][:, None] + sizes)
    gammas[equal] = 1.0
    shares: FloatArray = gammas / gammas.sum(axis=1, keepdims=True)
    return shares


def _sampled_evenness(sizes: FloatArray, observed: float, level: float) -> float:
    """Return H of equal performance where the shares are sampled: 1 if they may all be equal.

    Otherwise Miller and Madow's correction: sampled shares look less even than those behind them.
    """
    k, total = len(sizes), sizes.sum()
    if k < 2 or chi2.sf(((sizes - total / k) ** 2).sum() / (total / k), k - 1) > 1 - level:
        return 1.0
    return float(min(1.0, observed + (k - 1) / (2 * total * np.log(k))))


def _mean_interval(scores: FloatArray, clusters: IntArray | None, level: float) -> Pair:
    """Return Wilson's interval for the mean score, with as many items as its variance is worth."""
    n, mean = len(scores), float(scores.mean())
    residual = scores - mean
    binary = n * mean * (1 - mean)
    ratio = float((residual**2).sum()) / binary if binary > 0 else 1.0
    if clusters is not None:
        ratio *= design_effect(residual, clusters, 1)
    low, high = wilson(mean, n / max(ratio, 1e-3), level)
    return float(low), float(high)
