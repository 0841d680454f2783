"""Mean and variance over models, with intervals that hold for as few as five models.

*Mean*: a t interval with ``SE^2 = s^2 / M + c``. ``s^2`` is the variance of the M models' numbers
and already holds each model's own item noise; ``c`` is the mean covariance of two models' noise
under shared resamples of the items (:mod:`benchharmony.landscape.draws`), which no number of
models averages away. Resampling models as well as items and reading off percentiles would count
the noise twice and the few models too little.

*Variance*: the variance of the models' true numbers is ``s^2`` less the noise that models do not
share (method of moments, not below 0). Its interval is the chi-square interval of ``s^2`` with
degrees of freedom for heavy tails, ``2M / (g - (M-3)/(M-1))`` with kurtosis g (Shoemaker 2003),
at least 4 because few models cannot show that H is not skewed against its bound of 1, less the
noise. ``s^2`` counts as no smaller than the noise at the upper end: less than it is luck.

docs/landscape.md has the coverage on planted grids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm, t

FloatArray = NDArray[np.float64]
Pair = tuple[float, float]

#: Least kurtosis of numbers over models that the variance interval assumes.
_KURTOSIS = 4.0


@dataclass(frozen=True)
class Moments:
    """Mean and variance of a number over models.

    Attributes
    ----------
    mean : float
    mean_ci : (float, float) or None
        For the mean over the models that these stand for; None for one model.
    items_ci : (float, float)
        For the mean over just these models, on items like these.
    variance : float or None
        Over models, without the noise of finitely many items where ``noise`` is given.
    variance_ci : (float, float) or None
    noise : float
        Item noise taken out of the variance; 0 where it was left in.
    """

    mean: float
    mean_ci: Pair | None
    items_ci: Pair
    variance: float | None
    variance_ci: Pair | None
    noise: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; the standard deviation beside the variance."""
        return {
            "mean": self.mean,
            "ci": None if self.mean_ci is None else list(self.mean_ci),
            "items_ci": list(self.items_ci),
            "variance": self.variance,
            "variance_ci": None if self.variance_ci is None else list(self.variance_ci),
            "sd": None if self.variance is None else float(np.sqrt(self.variance)),
            "noise_variance": self.noise,
        }


def moments(
    values: FloatArray,
    covariance: FloatArray,
    *,
    level: float = 0.95,
    adjust: bool = True,
    bounds: Pair = (0.0, 1.0),
) -> Moments:
    """Return mean and variance of numbers over models.

    Parameters
    ----------
    values : ndarray, shape (M,)
        One number for each model.
    covariance : ndarray, shape (M, M)
        Of their item noise.
    level : float
        Coverage wanted, in (0, 1).
    adjust : bool
        Take the item noise out of the variance.
    bounds : (float, float)
        Range of the number.
    """
    m = len(values)
    mean = float(values.mean())
    only = float(norm.ppf(0.5 + level / 2)) * float(np.sqrt(max(covariance.sum(), 0.0))) / m

    def inside(half: float) -> Pair:
        return max(mean - half, bounds[0]), min(mean + half, bounds[1])

    if m < 2:
        return Moments(mean, None, inside(only), None, None)
    own = float(np.trace(covariance)) / m
    shared = max((float(covariance.sum()) - m * own) / (m * (m - 1)), 0.0)
    spread = float(values.var(ddof=1))
    half = float(t.ppf(0.5 + level / 2, m - 1)) * float(np.sqrt(spread / m + shared))
    noise = max(own - shared, 0.0) if adjust else 0.0
    return Moments(
        mean=mean,
        mean_ci=inside(half),
        items_ci=inside(only),
        variance=max(spread - noise, 0.0),
        variance_ci=_variance_interval(values, spread, noise, level),
        noise=noise,
    )


def _variance_interval(values: FloatArray, spread: float, noise: float, level: float) -> Pair:
    m = len(values)
    fourth = float(((values - values.mean()) ** 4).mean())
    plain = float(values.var())
    kurtosis = max(fourth / plain**2 if plain > 1e-18 else 0.0, _KURTOSIS)
    free = min(2 * m / (kurtosis - (m - 3) / (m - 1)), m - 1.0)
    low = free * spread / float(chi2.ppf(0.5 + level / 2, free)) - noise
    high = free * max(spread, noise) / float(chi2.ppf(0.5 - level / 2, free)) - noise
    # A number in [0, 1] has variance at most 1/4.
    return max(low, 0.0), min(max(high, 0.0), 0.25)


def leave_out(
    values: FloatArray, covariance: FloatArray, labels: list[str | None], *, adjust: bool = True
) -> dict[str, Any] | None:
    """Return the bands of mean and variance when models (or families) are left out in turn.

    Parameters
    ----------
    values, covariance, adjust
        As in :func:`moments`.
    labels : list of (str or None), length M
        Models that share a label are left out together; None is never left out.

    Returns
    -------
    dict or None
        ``mean`` and ``variance`` as [low, high], and ``most``: the label whose absence moves the
        mean most. None where leaving one out would leave fewer than two models.
    """
    found = {}
    for label in dict.fromkeys(name for name in labels if name is not None):
        kept = np.array([name != label for name in labels])
        if kept.sum() >= 2:
            found[label] = moments(values[kept], covariance[np.ix_(kept, kept)], adjust=adjust)
    if not found:
        return None
    means = {name: m.mean for name, m in found.items()}
    variances = [m.variance or 0.0 for m in found.values()]
    whole = float(values.mean())
    return {
        "mean": [min(means.values()), max(means.values())],
        "variance": [min(variances), max(variances)],
        "most": max(means, key=lambda name: abs(means[name] - whole)),
    }
