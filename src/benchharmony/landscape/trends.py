"""How a number changes with model size or training, per family: slope, rank correlation, tests.

One straight line per family on log10 of the size. The scatter of models about their lines comes
from the models of all fitted families together (three sizes cannot show it alone), their item
noise from joint resamples of the items (:mod:`benchharmony.landscape.draws`):

    Var(slopes) = s^2 diag(1 / Sxx) + A C A'

with A the rows of slope weights, C the covariance of the item noise and s^2 the residual variance
beyond that noise (method of moments, not below 0). Intervals and tests use t and F with the
residual degrees of freedom, as in an analysis of covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f, rankdata, t

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A family is fitted from this many different sizes on.
FEWEST_SIZES = 3
#: Up to this many models the rank test goes through every order.
_EXACT = 8
_SHUFFLES = 20_000


@dataclass(frozen=True)
class Lines:
    """Straight lines of several families and what is uncertain about them.

    Attributes
    ----------
    families : tuple of str
        Those fitted.
    slopes, intercepts : ndarray, shape (F,)
        Per unit of x; at x = 0.
    covariance : ndarray, shape (F, F)
        Of the slopes.
    free : int
        Residual degrees of freedom.
    scatter : float
        s^2: variance of models about their lines beyond item noise.
    """

    families: tuple[str, ...]
    slopes: FloatArray
    intercepts: FloatArray
    covariance: FloatArray
    free: int
    scatter: float


def fit(
    members: Mapping[str, IntArray], x: FloatArray, values: FloatArray, noise: FloatArray
) -> Lines | None:
    """Fit a line per family; None where no family has enough sizes.

    Parameters
    ----------
    members : mapping of str to ndarray of int
        Rows of each family.
    x, values : ndarray, shape (M,)
        log10 of the size; the number.
    noise : ndarray, shape (M, M)
        Covariance of the numbers' item noise.
    """
    fitted = {n: rows for n, rows in members.items() if len(np.unique(x[rows])) >= FEWEST_SIZES}
    free = sum(len(rows) - 2 for rows in fitted.values())
    if free < 1:
        return None
    weights = np.zeros((len(fitted), len(x)))
    unexplained = expected = 0.0
    sxx, intercepts = [], []
    for i, rows in enumerate(fitted.values()):
        design = np.column_stack([np.ones(len(rows)), x[rows]])
        solver = np.linalg.pinv(design)
        leave = np.eye(len(rows)) - design @ solver
        weights[i, rows] = solver[1]
        intercepts.append(float(solver[0] @ values[rows]))
        sxx.append(float(((x[rows] - x[rows].mean()) ** 2).sum()))
        unexplained += float(((leave @ values[rows]) ** 2).sum())
        expected += float(np.trace(leave @ noise[np.ix_(rows, rows)]))
    scatter = max((unexplained - expected) / free, 0.0)
    return Lines(
        families=tuple(fitted),
        slopes=weights @ values,
        intercepts=np.array(intercepts),
        covariance=scatter * np.diag(1 / np.array(sxx)) + weights @ noise @ weights.T,
        free=free,
        scatter=scatter,
    )


def trend(
    members: Mapping[str, IntArray],
    x: FloatArray,
    values: FloatArray,
    drawn: FloatArray,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Return slopes, rank correlations, the common slope and the test of a difference.

    Parameters
    ----------
    members : mapping of str to ndarray of int
        Rows of each family (or checkpoint series).
    x : ndarray, shape (M,)
        log10 of the size or of the tokens.
    values : ndarray, shape (M,)
        H, or the score.
    drawn : ndarray, shape (M, B)
        The same under resamples of the items.
    level : float
        Coverage of the intervals.
    seed : int
        Of the rank test's shuffles.
    """
    noise = np.atleast_2d(np.cov(drawn))
    lines = fit(members, x, values, noise)
    rng = np.random.default_rng([seed, 6])
    families = []
    for name, rows in members.items():
        entry: dict[str, Any] = {
            "family": name,
            "models": len(rows),
            "sizes": len(np.unique(x[rows])),
            "slope": None,
            "ci": None,
            "intercept": None,
            "spearman": None,
        }
        if lines is not None and name in lines.families:
            i = lines.families.index(name)
            slope = float(lines.slopes[i])
            entry["slope"] = slope
            entry["intercept"] = float(lines.intercepts[i])
            entry["ci"] = _interval(slope, lines.covariance[i, i], lines.free, level)
            entry["spearman"] = rank_test(x[rows], values[rows], drawn[rows], level, rng)
        families.append(entry)
    return {
        "families": families,
        "common": None if lines is None else _common(lines, level),
        "difference": None if lines is None else _difference(lines),
        "scatter_sd": None if lines is None else float(np.sqrt(lines.scatter)),
        "free": None if lines is None else lines.free,
    }


def _interval(slope: float, variance: float, free: int, level: float) -> list[float]:
    half = float(t.ppf(0.5 + level / 2, free)) * float(np.sqrt(variance))
    return [slope - half, slope + half]


def _precision(lines: Lines) -> FloatArray:
    # Lines without any noise and scatter have no variance: a little keeps the inverse finite.
    size = len(lines.slopes)
    steady = lines.covariance + 1e-15 * np.eye(size)
    return np.asarray(np.linalg.pinv(steady, hermitian=True), dtype=np.float64)


def _common(lines: Lines, level: float) -> dict[str, Any]:
    """Return the slope that the families share, weighted by what each knows."""
    precision = _precision(lines)
    total = float(precision.sum())
    slope = float((precision @ lines.slopes).sum() / total)
    statistic = abs(slope) * np.sqrt(total)
    return {
        "slope": slope,
        "ci": _interval(slope, 1 / total, lines.free, level),
        "p_value": float(2 * t.sf(statistic, lines.free)),
        "families": len(lines.slopes),
    }


def _difference(lines: Lines) -> dict[str, Any] | None:
    """Test whether the families' slopes are equal; None for fewer than two."""
    size = len(lines.slopes)
    if size < 2:
        return None
    contrast = np.eye(size)[1:] - np.eye(size)[0]
    gap = contrast @ lines.slopes
    spread = contrast @ lines.covariance @ contrast.T + 1e-15 * np.eye(size - 1)
    statistic = float(gap @ np.linalg.solve(spread, gap)) / (size - 1)
    return {
        "f": statistic,
        "df": [size - 1, lines.free],
        "p_value": float(f.sf(statistic, size - 1, lines.free)),
    }


def rank_test(
    x: FloatArray, values: FloatArray, drawn: FloatArray, level: float, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Return Spearman's correlation, its two-sided permutation p-value, and its item noise.

    ``items`` is the range that resampling items alone gives it (these models, other items): with
    a handful of models, resampling models gives a rank correlation no interval worth the name.
    None where all values are equal.
    """
    a: FloatArray = np.asarray(rankdata(x), dtype=np.float64)
    b: FloatArray = np.asarray(rankdata(np.round(values, 12)), dtype=np.float64)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    rho = _correlations(a, b[None])[0]
    if len(a) <= _EXACT:
        orders: FloatArray = np.array(list(permutations(b)), dtype=np.float64)
    else:
        orders = rng.permuted(np.tile(b, (_SHUFFLES, 1)), axis=1)
        orders = np.vstack([b, orders])
    shuffled = np.abs(_correlations(a, orders))
    items = _correlations(a, np.asarray(rankdata(drawn.T, axis=1), dtype=np.float64))
    tails = [(1 - level) / 2, (1 + level) / 2]
    return {
        "rho": float(rho),
        "p_value": float(np.mean(shuffled >= abs(rho) - 1e-9)),
        "items": [float(q) for q in np.quantile(items, tails)],
    }


def _correlations(a: FloatArray, rows: FloatArray) -> FloatArray:
    x = a - a.mean()
    y = rows - rows.mean(axis=1, keepdims=True)
    size = np.sqrt((x**2).sum() * (y**2).sum(axis=1))
    value: FloatArray = np.divide(y @ x, size, out=np.zeros(len(rows)), where=size > 0)
    return value


def series(names: Sequence[str | None], x: Sequence[float | None]) -> dict[str, IntArray]:
    """Return the rows of each family whose size is known, families in order of smallest size."""
    rows: dict[str, list[int]] = {}
    for i, (name, value) in enumerate(zip(names, x, strict=True)):
        if name is not None and value is not None:
            rows.setdefault(name, []).append(i)
    ordered = {
        name: np.array(sorted(found, key=lambda i: x[i] or 0.0)) for name, found in rows.items()
    }
    return dict(sorted(ordered.items(), key=lambda item: (x[item[1][0]] or 0.0, item[0])))
