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


def post_stratified(scores: FloatArray, labels: IntArray, level: float = 0.95) -> PostStratified:
    """Return the post-stratified score of one model.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores in [0, 1] and subdomains 0..k-1, each at least once.
    level : float
        Of the intervals.

    Notes
    -----
    Subdomains of one item have no variance of their own; the one pooled over all subdomains
    stands in. Standard errors are those of stratified means (Cochran 1977, chapter 5).
    """
    sizes = np.bincount(labels)
    k, n = len(sizes), len(scores)
    psi = np.bincount(labels, scores) / sizes
    squares = np.bincount(labels, (scores - psi[labels]) ** 2)
    pooled = float(squares.sum()) / max(n - k, 1)
    variance = np.where(sizes > 1, squares / np.maximum(sizes - 1, 1), pooled)
    score, shift = float(psi.mean()), float(psi.mean() - scores.mean())
    error = float(np.sqrt((variance / sizes).sum())) / k
    tilt = 1 / k - sizes / n
    shift_error = float(np.sqrt((tilt**2 * variance / sizes).sum()))
    z = float(ndtri((1 + level) / 2))
    if shift_error > 0:
        p_value = float(2 * ndtr(-abs(shift) / shift_error))
    else:
        p_value = 1.0 if abs(shift) < 1e-12 else 0.0
    return PostStratified(
        score, error, (score - z * error, score + z * error),
        shift, shift_error, (shift - z * shift_error, shift + z * shift_error),
        p_value, float(k**2 / (1 / sizes).sum()),
    )  # fmt: skip
