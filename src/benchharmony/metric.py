"""HARMONY and its companions: weights and performances in, numbers out.

Every function takes subdomains on the last axis, so that thousands of bootstrap or null draws are
one call. A subdomain of weight 0 (empty in a draw) does not count: k is the realised number of
subdomains. Formulas: "The Flaw of Averages" (arXiv 2509.25671) for the masses and H; agreement,
size evenness and the noise adjustment are ours (docs/method.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]

#: Default bandwidth b of the masses, in units of score (docs/method.md says why it is fixed).
BANDWIDTH = 0.1
#: Default eps inside the logarithm of the entropy.
EPSILON = 1e-12


@dataclass(frozen=True)
class Subdomains:
    """Sizes and mean scores of the subdomains of one evaluation.

    Attributes
    ----------
    sizes : ndarray of int64, shape (k,)
        Items in each subdomain.
    weights : ndarray, shape (k,)
        Shares of the items, sum 1.
    performance : ndarray, shape (k,)
        Mean score of each subdomain, in [0, 1].
    variances : ndarray, shape (k,)
        Sampling variance of each mean: the pooled within-subdomain score variance over the size.
    """

    sizes: NDArray[np.int64]
    weights: FloatArray
    performance: FloatArray
    variances: FloatArray


def summarise(scores: ArrayLike, labels: ArrayLike) -> Subdomains:
    """Return sizes, weights, mean scores and their sampling variances per subdomain.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Item scores in [0, 1].
    labels : array_like of int, shape (n,)
        Subdomain of each item, 0..k-1, each at least once.
    """
    score = np.asarray(scores, dtype=np.float64)
    label = np.asarray(labels, dtype=np.int64)
    sizes = np.bincount(label)
    if len(sizes) == 0 or not sizes.all():
        raise BenchharmonyError("labels: every subdomain 0..k-1 needs at least one item")
    performance = np.bincount(label, score) / sizes
    within = float(((score - performance[label]) ** 2).sum()) / max(len(score) - len(sizes), 1)
    return Subdomains(sizes, sizes / len(score), performance, within / sizes)


def performance_masses(
    weights: ArrayLike, performance: ArrayLike, *, bandwidth: float = BANDWIDTH
) -> tuple[Any, FloatArray]:
    """Return the weighted mean and the masses of the subdomains.

    ``mu = sum w_i Psi_i`` and ``p_i ~ w_i exp(-((Psi_i - mu) / b)^2)``, normalised.

    Parameters
    ----------
    weights : array_like, shape (..., k)
        Non-negative; normalised to sum 1.
    performance : array_like, shape (..., k)
        Mean score of each subdomain, in [0, 1]; ignored where the weight is 0.
    bandwidth : float
        b, positive, in units of score.

    Returns
    -------
    mu : float, or ndarray of shape (...)
    masses : ndarray, shape (..., k)
        Sum to 1.
    """
    w, psi = _checked(weights, performance, bandwidth)
    mu = (w * psi).sum(axis=-1)
    with np.errstate(divide="ignore"):
        logs = np.log(w) - ((psi - mu[..., None]) / bandwidth) ** 2
    # In log space, so that a small bandwidth cannot turn every mass into 0 / 0.
    masses = np.exp(logs - logs.max(axis=-1, keepdims=True))
    masses /= masses.sum(axis=-1, keepdims=True)
    return (float(mu) if mu.ndim == 0 else mu), masses


def harmony_values(
    weights: ArrayLike,
    performance: ArrayLike,
    *,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
) -> FloatArray:
    """Return H for many weight and performance vectors, shape (...); see :func:`harmony_score`."""
    _, masses = performance_masses(weights, performance, bandwidth=bandwidth)
    return _evenness(masses, np.asarray(weights, dtype=np.float64) > 0, epsilon)


def harmony_score(
    weights: ArrayLike,
    performance: ArrayLike,
    *,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
) -> float:
    """Return HARMONY: ``H = -1/log(k) sum p_i log(p_i + eps)``, in [0, 1].

    Parameters
    ----------
    weights, performance : array_like, shape (k,)
        Share and mean score of each subdomain.
    bandwidth : float
        b of the masses, positive.
    epsilon : float
        Non-negative, inside the logarithm.

    Returns
    -------
    float
        NaN for fewer than 2 subdomains of positive weight.

    References
    ----------
    Uzunoglu, Li, Khashabi: "The Flaw of Averages" (arXiv 2509.25671).
    """
    value = harmony_values(weights, performance, bandwidth=bandwidth, epsilon=epsilon)
    if value.ndim:
        raise BenchharmonyError(
            "harmony_score takes one vector of weights and one of performances; harmony_values "
            "takes many"
        )
    return float(value)


def size_evenness(weights: ArrayLike) -> FloatArray:
    """Return ``-1/log(k) sum w_i log w_i``: H if every subdomain performed alike; shape (...)."""
    w, _ = _checked(weights, np.zeros_like(np.asarray(weights, dtype=np.float64)), 1.0)
    return _evenness(w, w > 0, 0.0)


def agreement(
    weights: ArrayLike, performance: ArrayLike, *, bandwidth: float = BANDWIDTH
) -> FloatArray:
    """Return ``sum w_i exp(-((Psi_i - mu)/b)^2)``, in (0, 1]; shape (...).

    1 when every subdomain performs at the mean. It sees what H cannot: the size of deviations
    that are equal in all subdomains.
    """
    w, psi = _checked(weights, performance, bandwidth)
    mu = (w * psi).sum(axis=-1, keepdims=True)
    value: FloatArray = (w * np.exp(-(((psi - mu) / bandwidth) ** 2))).sum(axis=-1)
    return value


def weighted_sd(weights: ArrayLike, performance: ArrayLike) -> FloatArray:
    """Return the weighted standard deviation of the performances, in score units; shape (...)."""
    w, psi = _checked(weights, performance, 1.0)
    mu = (w * psi).sum(axis=-1, keepdims=True)
    value: FloatArray = np.sqrt((w * (psi - mu) ** 2).sum(axis=-1))
    return value


def shrunken_performance(
    weights: ArrayLike, performance: ArrayLike, variances: ArrayLike
) -> FloatArray:
    """Return performances shrunk towards their mean so that noise no longer spreads them.

    Between-subdomain variance t2 by the method of moments (DerSimonian and Laird 1986), each
    deviation times ``sqrt(t2 / (t2 + v_i))`` (constrained empirical Bayes, Louis 1984: the
    shrunken values keep variance t2), then moved so that the weighted mean stays ``mu``.

    Parameters
    ----------
    weights, performance, variances : array_like, shape (..., k)
        Shares, mean scores and the sampling variances of those means.
    """
    w, psi = _checked(weights, performance, 1.0)
    v = np.asarray(variances, dtype=np.float64)
    mu = (w * psi).sum(axis=-1, keepdims=True)
    t2 = between_variance(w, psi, v)[..., None]
    total = t2 + v
    factor = np.sqrt(np.divide(t2, total, out=np.zeros(np.broadcast(t2, v).shape), where=total > 0))
    shrunk = mu + factor * (psi - mu)
    moved: FloatArray = shrunk - (w * shrunk).sum(axis=-1, keepdims=True) + mu
    return moved


def between_variance(
    weights: ArrayLike, performance: ArrayLike, variances: ArrayLike
) -> FloatArray:
    """Return the DerSimonian-Laird between-subdomain variance, at least 0; shape (...)."""
    w, psi = _checked(weights, performance, 1.0)
    v = np.asarray(variances, dtype=np.float64)
    # No noise at all (every score equal): the precision is the same everywhere.
    precision = np.where(w > 0, 1.0 / np.where(v > 0, v, 1.0), 0.0)
    noisy = v > 0
    s1 = precision.sum(axis=-1)
    s2 = (precision**2).sum(axis=-1)
    centre = (precision * psi).sum(axis=-1) / s1
    q = (precision * (psi - centre[..., None]) ** 2).sum(axis=-1)
    k = (w > 0).sum(axis=-1)
    scale = s1 - s2 / s1
    expected = np.where(noisy.any(axis=-1), k - 1, 0)
    t2: FloatArray = np.divide(q - expected, scale, out=np.zeros_like(q), where=scale > 0)
    return np.maximum(t2, 0.0)


def _evenness(p: FloatArray, real: NDArray[np.bool_], epsilon: float) -> FloatArray:
    """Return the Shannon entropy of p over log k, k the number of real subdomains."""
    if epsilon < 0:
        raise BenchharmonyError(f"epsilon must not be negative, got {epsilon}")
    k = np.broadcast_to(real, p.shape).sum(axis=-1)
    logs = np.log(p + epsilon, out=np.zeros_like(p), where=p + epsilon > 0)
    entropy = -(p * logs).sum(axis=-1)
    value = np.full(np.shape(entropy), np.nan)
    np.divide(entropy, np.log(np.maximum(k, 2)), out=value, where=k >= 2)
    # eps and rounding can leave the range by about 1e-12; the quantity itself cannot.
    return np.clip(value, 0.0, 1.0)


def _checked(
    weights: ArrayLike, performance: ArrayLike, bandwidth: float
) -> tuple[FloatArray, FloatArray]:
    w = np.asarray(weights, dtype=np.float64)
    psi = np.asarray(performance, dtype=np.float64)
    if w.ndim == 0 or psi.ndim == 0 or w.shape[-1] != psi.shape[-1] or w.shape[-1] == 0:
        raise BenchharmonyError(f"weights {w.shape} and performance {psi.shape} do not fit")
    if not bandwidth > 0:
        raise BenchharmonyError(f"bandwidth must be positive, got {bandwidth}")
    total = w.sum(axis=-1, keepdims=True)
    if not np.isfinite(w).all() or (w < 0).any() or (total == 0).any():
        raise BenchharmonyError("weights must be finite, not negative, and not all zero")
    psi = np.where(w > 0, psi, 0.0)
    if not np.isfinite(psi).all():
        raise BenchharmonyError("performance must be finite where the weight is positive")
    return w / total, psi
