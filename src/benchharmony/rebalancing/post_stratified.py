"""The strategy "weights": nothing is removed, every subdomain counts equally."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class PostStratified:
    """A score in which every subdomain has the same weight, and its distance from the mean.

    Attributes
    ----------
    score, standard_error : float
        ``sum Psi_g / k`` and ``sqrt(sum s_g^2 / n_g) / k``.
    ci : (float, float)
        Normal interval of the score.
    shift, shift_error : float
        Score minus the mean over items, and the standard error of that difference.
    shift_ci : (float, float)
        Its normal interval.
    p_value : float
        Two-sided normal test of "no shift".
    effective_items : float
        Items that an evenly sized benchmark would need for the same standard error, were all
        scores equally variable (Kish 1965): ``k^2 / sum(1 / n_g)``.
    """

    score: float
    standard_error: float
    ci: tuple[float, float]
    shift: float
    shift_error: float
    shift_ci: tuple[float, float]
    p_value: float
    effective_items: float


@dataclass(frozen=True)
class Reweighted:
    """What other weights of the subdomains do to a mean score, the scores being the same.

    Attributes
    ----------
    shift, error : float
        ``sum (w'_g - w_g) Psi_g`` and its standard error.
    ci : (float, float)
        Normal interval.
    p_value : float
        Two-sided normal test of "no shift".
    """

    shift: float
    error: float
    ci: tuple[float, float]
    p_value: float


def reweighted(
    scores: FloatArray, labels: IntArray, weights: FloatArray, level: float = 0.95
) -> Reweighted:
    """Return the shift when subdomains get other weights (k,) than their shares.

    Notes
    -----
    The standard error is that of stratified means (Cochran 1977, chapter 5).
    """
    sizes = np.bincount(labels, minlength=len(weights))
    psi, variance = _means(scores, labels, sizes)
    tilt = weights - sizes / len(scores)
    shift = float(tilt @ psi)
    error = float(np.sqrt((tilt**2 * variance / np.maximum(sizes, 1)).sum()))
    half = float(ndtri((1 + level) / 2)) * error
    if error > 0:
        p_value = float(2 * ndtr(-abs(shift) / error))
    else:
        p_value = 1.0 if abs(shift) < 1e-12 else 0.0
    return Reweighted(shift, error, (shift - half, shift + half), p_value)


def post_stratified(scores: FloatArray, labels: IntArray, level: float = 0.95) -> PostStratified:
    """Return the post-stratified score of one model.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores in [0, 1] and subdomains 0..k-1, each at least once.
    level : float
        Of the intervals.
    """
    sizes = np.bincount(labels)
    k = len(sizes)
    psi, variance = _means(scores, labels, sizes)
    score = float(psi.mean())
    error = float(np.sqrt((variance / sizes).sum())) / k
    half = float(ndtri((1 + level) / 2)) * error
    moved = reweighted(scores, labels, np.full(k, 1 / k), level)
    return PostStratified(
        score, error, (score - half, score + half), moved.shift, moved.error, moved.ci,
        moved.p_value, float(k**2 / (1 / sizes).sum()),
    )  # fmt: skip


def _means(scores: FloatArray, labels: IntArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the score variance of every subdomain.

    Subdomains of one item have no variance of their own; the pooled one stands in.
    """
    psi = np.bincount(labels, scores, minlength=len(sizes)) / np.maximum(sizes, 1)
    squares = np.bincount(labels, (scores - psi[labels]) ** 2, minlength=len(sizes))
    free = len(scores) - int(np.count_nonzero(sizes))
    pooled = float(squares.sum()) / max(free, 1)
    return psi, np.where(sizes > 1, squares / np.maximum(sizes - 1, 1), pooled)
