"""Would a partition that means nothing look as uneven as this one.

Three nulls, each answering "less even than chance?" for another notion of chance:

* *same-size*: a random partition with these sizes;
* *difficulty-matched*: random within strata of the model's confidence. A partition induced from a
  model's behaviour is related to its correctness by construction; what confidence explains is
  not evidence of unevenness;
* *cross-fitted*: the partition comes from elsewhere (another model, say), so it cannot be related
  to these scores by construction, and the same-size law applies.

The statistic is not H: H ignores deviations that are all alike (two halves at 1 and 0) and mixes
in sizes, which no null changes. It is the excess spread ``T = sum w_i (Psi_i - E_i)^2``, where
``E_i`` is subdomain i's expected score under the null (the mean, for same-size).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from benchharmony.errors import BenchharmonyError
from benchharmony.metric import BANDWIDTH, EPSILON, harmony_score, harmony_values
from benchharmony.resampling import checked, partition_sums, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Items a stratum of confidence holds at the least, and the most strata there are.
STRATUM_ITEMS = 20
MAX_STRATA = 50


@dataclass(frozen=True)
class Null:
    """The outcome of one null.

    Attributes
    ----------
    name : str
        ``same_size``, ``difficulty_matched`` or ``cross_fitted``.
    harmony : float
        Observed raw H (of the partition that was tested; NaN for k < 2).
    mean, sd : float
        Of raw H over the null draws: what H such a partition has by chance.
    spread, null_spread : float
        Square root of T observed, and of its mean over the null draws, in score units.
    p_value : float
        Chance of a T at least as large, ``(1 + count) / (1 + draws)``.
    draws, seed, strata : int
        What made it; 1 stratum for same-size.
    """

    name: str
    harmony: float
    mean: float
    sd: float
    spread: float
    null_spread: float
    p_value: float
    draws: int
    seed: int
    strata: int


def same_size_null(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    draws: int = 2000,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    name: str = "same_size",
) -> Null:
    """Compare with random partitions of the same sizes (hypergeometric: exact in law).

    Parameters
    ----------
    scores : array_like, shape (n,)
        Item scores in [0, 1].
    labels : array_like of int, shape (n,)
        Subdomains 0..k-1.
    draws, seed : int
        Number of random partitions, and what fixes them.
    bandwidth, epsilon : float
        Of H.
    name : str
        Name recorded in the result.
    """
    score, label, _ = checked(scores, labels)
    strata = np.zeros(len(score), dtype=np.int64)
    return _null(score, label, strata, name, draws, seed, bandwidth, epsilon)


def difficulty_matched_null(
    scores: ArrayLike,
    labels: ArrayLike,
    confidence: ArrayLike,
    *,
    draws: int = 2000,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    strata: int | None = None,
) -> Null:
    """Compare with partitions that are random within strata of the model's confidence.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        Any number that orders the items by the model's confidence; items with equal values share
        a stratum.
    strata : int, optional
        Quantile strata; by default one per 20 items, at most 50: enough that confidence hardly
        differs within one.
    scores, labels, draws, seed, bandwidth, epsilon
        See :func:`same_size_null`.

    Notes
    -----
    Where the partition is a function of confidence alone nothing is left to permute: the p-value
    is then near 1 on average whatever the scores, not evidence of evenness.
    """
    score, label, _ = checked(scores, labels)
    order = np.asarray(confidence, dtype=np.float64)
    if order.shape != score.shape or not np.isfinite(order).all():
        raise BenchharmonyError("confidence: one finite number per item is needed")
    wanted = strata or int(np.clip(len(score) // STRATUM_ITEMS, 1, MAX_STRATA))
    stratum = confidence_strata(order, wanted)
    return _null(score, label, stratum, "difficulty_matched", draws, seed, bandwidth, epsilon)


def cross_fitted_null(
    scores: ArrayLike,
    labels_from_elsewhere: Sequence[ArrayLike],
    *,
    draws: int = 2000,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
) -> Null:
    """Test partitions of the same items that were made without these scores' model.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Item scores of the model in question.
    labels_from_elsewhere : sequence of array_like of int, shape (n,)
        Labels from one or more other models; with several, T is averaged, and the joint law
        under permuted scores is kept.

    Notes
    -----
    Models agree on what is hard, so another model's partition is not independent of difficulty;
    it is only free of this model's own noise.
    """
    donors = [checked(scores, labels) for labels in labels_from_elsewhere]
    if not donors:
        raise BenchharmonyError("cross-fitted null: no partition from elsewhere was given")
    if len(donors) == 1:
        return same_size_null(
            scores,
            donors[0][1],
            draws=draws,
            seed=seed,
            bandwidth=bandwidth,
            epsilon=epsilon,
            name="cross_fitted",
        )
    score = donors[0][0]
    # One cell per combination of labels: permuting scores over cells keeps the donors' joint law.
    joint, cell = np.unique([d[1] for d in donors], axis=1, return_inverse=True)
    rng = stream(seed, "cross_fitted")
    everywhere = np.zeros(len(score), dtype=np.int64)
    cells = partition_sums(score, cell.ravel(), everywhere, draws, rng)
    observed, drawn, harmony, null = 0.0, np.zeros(draws), 0.0, np.zeros(draws)
    for row, (_, label, k) in zip(joint, donors, strict=True):
        sizes = np.bincount(label)
        belongs = (row[:, None] == np.arange(k)).astype(np.float64)
        means = np.bincount(label, score) / sizes
        random = cells @ belongs / sizes
        weights = sizes / len(score)
        observed += float((weights * (means - score.mean()) ** 2).sum()) / len(donors)
        drawn += ((random - score.mean()) ** 2 @ weights) / len(donors)
        harmony += harmony_score(weights, means, bandwidth=bandwidth, epsilon=epsilon) / len(donors)
        null += harmony_values(weights, random, bandwidth=bandwidth, epsilon=epsilon) / len(donors)
    return _result("cross_fitted", harmony, null, observed, drawn, seed, 1)


def q_values(p_values: ArrayLike) -> FloatArray:
    """Return Benjamini-Hochberg q-values; NaN p-values stay NaN and do not count."""
    p = np.asarray(p_values, dtype=np.float64)
    q = np.full(p.shape, np.nan)
    known = np.isfinite(p)
    if known.any():
        q[known] = false_discovery_control(p[known], method="bh")
    return q


def confidence_strata(confidence: FloatArray, strata: int) -> IntArray:
    """Cut items into about equal strata by confidence; equal values stay together."""
    _, group, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2)[group] / len(confidence)
    return np.minimum((middle * strata).astype(np.int64), strata - 1)


def _null(
    score: FloatArray,
    label: IntArray,
    strata: IntArray,
    name: str,
    draws: int,
    seed: int,
    bandwidth: float,
    epsilon: float,
) -> Null:
    sizes = np.bincount(label)
    weights = sizes / len(score)
    totals = partition_sums(score, label, strata, draws, stream(seed, name))
    stratum = np.unique(strata, return_inverse=True)[1]
    level = np.bincount(stratum, score) / np.bincount(stratum)
    expected = np.bincount(label, level[stratum]) / sizes
    means, random = np.bincount(label, score) / sizes, totals / sizes
    observed = float((weights * (means - expected) ** 2).sum())
    drawn = (random - expected) ** 2 @ weights
    harmony = harmony_score(weights, means, bandwidth=bandwidth, epsilon=epsilon)
    null = harmony_values(weights, random, bandwidth=bandwidth, epsilon=epsilon)
    return _result(name, harmony, null, observed, drawn, seed, int(stratum.max()) + 1)


def _result(
    name: str,
    harmony: float,
    null: FloatArray,
    observed: float,
    drawn: FloatArray,
    seed: int,
    strata: int,
) -> Null:
    draws = len(drawn)
    # Equal up to rounding counts as equal: scores are discrete and ties are common.
    beaten = int((drawn >= observed - 1e-12).sum())
    return Null(
        name=name,
        harmony=harmony,
        mean=float(null.mean()),
        sd=float(null.std()),
        spread=float(np.sqrt(observed)),
        null_spread=float(np.sqrt(drawn.mean())),
        p_value=(1 + beaten) / (1 + draws),
        draws=draws,
        seed=seed,
        strata=strata,
    )
