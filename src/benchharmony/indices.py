"""Other indices of evenness beside H, and the parts that H is made of.

Each index sees something that another misses; docs/uncertainty.md compares them on planted data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.metric import (
    BANDWIDTH,
    EPSILON,
    agreement,
    harmony_score,
    performance_masses,
    size_evenness,
    weighted_sd,
)

FloatArray = NDArray[np.float64]

#: Points of the Gauss-Legendre rule for the contributions, on the square root of the path.
_NODES = 200


@dataclass(frozen=True)
class Indices:
    """The panel of indices of one evaluation.

    Attributes
    ----------
    weighted_sd : float
        Weighted SD of the performances, in score units.
    coefficient_of_variation : float
        That over the mean; NaN where the mean is 0.
    gini : float
        Weighted Gini coefficient of the performances, in [0, 1); 0 is even; NaN for mean 0.
    renyi2_evenness : float
        ``-log(sum p_i^2) / log k`` of the masses: like H, but large masses count more.
    hill_evenness : float
        ``(exp(entropy of p) - 1) / (k - 1)``: H on the scale of effective subdomains.
    min_max_ratio : float
        Lowest over highest performance, in [0, 1]; NaN where the highest is 0.
    worst_subdomain, best_subdomain : float
        Lowest and highest performance.
    agreement : float
        ``sum w_i exp(-((Psi_i - mu)/b)^2)``.

    Notes
    -----
    All are of the observed performances: sampling noise makes every one look less even.
    The evenness indices are NaN for fewer than two subdomains.
    """

    weighted_sd: float
    coefficient_of_variation: float
    gini: float
    renyi2_evenness: float
    hill_evenness: float
    min_max_ratio: float
    worst_subdomain: float
    best_subdomain: float
    agreement: float


def indices(weights: ArrayLike, performance: ArrayLike, *, bandwidth: float = BANDWIDTH) -> Indices:
    """Return the panel of indices.

    Parameters
    ----------
    weights, performance : array_like, shape (k,)
        Share, positive, and mean score of each subdomain.
    bandwidth : float
        b of the masses and of agreement.
    """
    w = np.asarray(weights, dtype=np.float64)
    psi = np.asarray(performance, dtype=np.float64)
    mean, masses = performance_masses(w, psi, bandwidth=bandwidth)
    w = w / w.sum()
    k = len(w)
    entropy = -float(np.sum(masses * np.log(np.maximum(masses, 1e-300))))
    sd = float(weighted_sd(w, psi))
    top = float(psi.max())
    nan = float("nan")
    return Indices(
        weighted_sd=sd,
        coefficient_of_variation=sd / mean if mean > 0 else nan,
        gini=_gini(w, psi, mean) if mean > 0 else nan,
        renyi2_evenness=-float(np.log((masses**2).sum())) / np.log(k) if k > 1 else nan,
        hill_evenness=float(np.expm1(entropy)) / (k - 1) if k > 1 else nan,
        min_max_ratio=float(psi.min()) / top if top > 0 else nan,
        worst_subdomain=float(psi.min()),
        best_subdomain=top,
        agreement=float(agreement(w, psi, bandwidth=bandwidth)),
    )


@dataclass(frozen=True)
class Decomposition:
    """Where ``1 - H`` comes from.

    Attributes
    ----------
    total : float
        ``1 - H``; NaN, as are the others, for fewer than two subdomains.
    sizes : float
        ``1 - E``, E the size evenness: what is lost if every subdomain performed alike.
    performance : float
        ``E - H``; negative where small subdomains perform nearer the mean than large ones, so
        that performance evens the masses out.
    size_parts, performance_parts : ndarray, shape (k,)
        Each subdomain's part of ``sizes`` and of ``performance``; they add up to them.
    """

    total: float
    sizes: float
    performance: float
    size_parts: FloatArray
    performance_parts: FloatArray


def decompose(
    weights: ArrayLike,
    performance: ArrayLike,
    *,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
) -> Decomposition:
    """Split ``1 - H`` into uneven sizes and uneven performance, and by subdomain.

    Parameters
    ----------
    weights, performance : array_like, shape (k,)
        Share, positive, and mean score of each subdomain.
    bandwidth, epsilon : float
        Of H.

    Notes
    -----
    A subdomain's size part is its term of the Kullback-Leibler divergence from equal sizes,
    ``w_i log(k w_i) / log k``. Its performance part is the Aumann-Shapley share of ``E - H``:
    all squared deviations grow from 0 to their values together, and each is charged for the H
    that its own growth costs on the way.

    References
    ----------
    Aumann and Shapley: "Values of Non-Atomic Games" (1974).
    """
    w = np.asarray(weights, dtype=np.float64)
    psi = np.asarray(performance, dtype=np.float64)
    w = w / w.sum()
    k = len(w)
    harmony = harmony_score(w, psi, bandwidth=bandwidth, epsilon=epsilon)
    if k < 2:
        nan = float("nan")
        return Decomposition(nan, nan, nan, np.full(k, nan), np.full(k, nan))
    even = float(size_evenness(w))
    size_parts = w * np.log(k * w) / np.log(k)
    parts = _performance_parts(w, ((psi - (w * psi).sum()) / bandwidth) ** 2)
    # The rule's own error, about 1e-11, is spread so that the parts add up exactly.
    parts += (even - harmony - parts.sum()) * w
    return Decomposition(1.0 - harmony, 1.0 - even, even - harmony, size_parts, parts)


def _performance_parts(w: FloatArray, squared: FloatArray) -> FloatArray:
    """Integrate dH along masses ``w exp(-t u)``, t from 0 to 1, by subdomain; u is squared."""
    nodes, rule = np.polynomial.legendre.leggauss(_NODES)
    # Steep where t is small and u large, so the nodes crowd there: t = s^3.
    s = (nodes + 1) / 2
    t, dt = s**3, rule / 2 * 3 * s**2
    logs = np.log(w) - t[:, None] * squared
    logs -= logs.max(axis=1, keepdims=True)
    log_p = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    surplus = p * (log_p - (p * log_p).sum(axis=1, keepdims=True))
    # dH/du_i = p_i (log p_i - sum p log p) / log k, and the loss is its negative.
    parts: FloatArray = -(dt @ surplus) * squared / np.log(len(w))
    return parts


def _gini(w: FloatArray, psi: FloatArray, mean: float) -> float:
    """Return half the mean absolute difference over the mean."""
    gaps = np.abs(psi[:, None] - psi)
    return float(w @ gaps @ w / (2 * mean))
