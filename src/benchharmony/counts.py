"""How much the scores of each subdomain tell: effective counts, and tests made from them.

Binary scores are binomial. Graded scores vary less and clustered ones more; dividing the counts by
the dispersion (quasi-binomial; McCullagh and Nelder 1989) lets one method serve all three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, norm

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Counts:
    """Effective counts: the right and wrong answers that would tell as much as these scores.

    Attributes
    ----------
    successes, failures : ndarray, shape (k,)
        For 0/1 scores without clusters exactly the counts.
    dispersion : float
        Items per effective item: within-subdomain variance over that of 0/1 scores, times the
        design effect of the clusters.
    design : float
        That design effect: at least 1, and 1 without clusters.
    """

    successes: FloatArray
    failures: FloatArray
    dispersion: float
    design: float = 1.0

    @property
    def sizes(self) -> FloatArray:
        """Effective items, shape (k,)."""
        return self.successes + self.failures


def wilson(rates: ArrayLike, counts: ArrayLike, level: float = 0.95) -> FloatArray:
    """Return Wilson's score interval for proportions, shape (..., 2).

    Parameters
    ----------
    rates : array_like, shape (...)
        Observed proportions.
    counts : array_like, shape (...)
        (Effective) items behind each, positive.
    level : float
        Coverage wanted.

    References
    ----------
    Wilson: "Probable inference, the law of succession, and statistical inference" (1927).
    """
    rate = np.asarray(rates, dtype=np.float64)
    count = np.asarray(counts, dtype=np.float64)
    z = float(norm.ppf(0.5 + level / 2))
    centre = (rate + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(rate * (1 - rate) / count + z**2 / (4 * count**2))
    # Exact at the ends, where rounding would leave the proportion itself outside.
    low: FloatArray = np.where(rate <= 0, 0.0, centre - half)
    high = np.where(rate >= 1, 1.0, centre + half)
    interval: FloatArray = np.clip(np.stack([low, high], axis=-1), 0.0, 1.0)
    return interval


def effective_counts(
    scores: FloatArray, labels: IntArray, clusters: IntArray | None = None
) -> Counts:
    """Return effective counts per subdomain (quasi-binomial; see :class:`Counts`)."""
    sizes = np.bincount(labels).astype(np.float64)
    rates = np.bincount(labels, scores) / sizes
    residual = scores - rates[labels]
    binary = float((sizes * rates * (1 - rates)).sum())
    ratio = float((residual**2).sum()) / binary if binary > 0 else 1.0
    design = 1.0
    if clusters is not None:
        design = design_effect(residual, clusters * len(sizes) + labels, len(sizes))
        ratio *= design
    # Scores that never vary within a subdomain carry no noise; a thousandth keeps that finite.
    ratio = max(ratio, 1e-3)
    return Counts(sizes * rates / ratio, sizes * (1 - rates) / ratio, ratio, design)


def homogeneity_p(counts: Counts) -> float:
    """Return the chi-square p-value of equal true performance in all subdomains; 1 for k < 2."""
    sizes = counts.sizes
    rate = counts.successes.sum() / sizes.sum()
    if len(sizes) < 2 or not 0.0 < rate < 1.0:
        return 1.0
    statistic = (sizes * (counts.successes / sizes - rate) ** 2).sum() / (rate * (1 - rate))
    return float(chi2.sf(statistic, len(sizes) - 1))


def design_effect(residual: FloatArray, cells: IntArray, fitted: int) -> float:
    """Return the variance of a mean of clustered residuals over that of independent ones.

    Parameters
    ----------
    residual : ndarray, shape (n,)
        Scores less the means fitted to them.
    cells : ndarray of int, shape (n,)
        Items drawn together share a value.
    fitted : int
        Number of means fitted.

    Returns
    -------
    float
        At least 1: few clusters can look better than independent by luck.
    """
    total = float((residual**2).sum())
    groups = np.unique(cells, return_inverse=True)[1]
    sums = np.bincount(groups, residual)
    n, count = len(residual), len(sums)
    if total <= 0 or count <= fitted or n <= fitted:
        return 1.0
    clustered = float((sums**2).sum()) / (count - fitted) * count
    independent = total / (n - fitted) * n
    return max(1.0, clustered / independent)
