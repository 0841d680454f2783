"""What unevenness could these items show at all: power of the same-size null.

The test of "all subdomains perform alike" has a statistic X that is chi-square with k - 1 degrees
of freedom if they do. If true performances are normal around the mean with SD ``spread``, X is a
weighted sum of chi-squares, whose tail is found by matching four moments (Liu, Tang and Zhang
2009; exact for equal sizes). No simulation, so the answer is immediate.
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]

#: Most items that :func:`items_needed` looks for.
_MOST_ITEMS = 100_000_000


def power_to_detect(
    spread: float,
    sizes: ArrayLike,
    score_mean: float,
    *,
    alpha: float = 0.05,
    dispersion: float = 1.0,
) -> float:
    """Return the chance that the same-size null is rejected.

    Parameters
    ----------
    spread : float
        SD of the true performances over subdomains, in score units.
    sizes : array_like, shape (k,)
        Items of each subdomain, positive; k at least 2.
    score_mean : float
        Mean score, in (0, 1).
    alpha : float
        Level of the test.
    dispersion : float
        Items per effective item (:class:`benchharmony.counts.Counts`): under 1 for graded scores,
        over 1 for clustered ones.

    References
    ----------
    Liu, Tang, Zhang: "A new chi-square approximation to the distribution of non-negative
    definite quadratic forms in non-central normal variables" (2009).
    """
    n = _checked_sizes(sizes, score_mean, alpha) / dispersion
    noise = score_mean * (1.0 - score_mean)
    # X = z' A z / noise with A the centring by size, z_i ~ N(0, spread^2 + noise / n_i).
    root = np.sqrt(spread**2 + noise / n)
    centring = np.diag(n) - np.outer(n, n) / n.sum()
    quadratic = root[:, None] * centring * root / noise
    critical = float(chi2.isf(alpha, len(n) - 1))
    return _tail(np.linalg.eigvalsh(quadratic), critical)


def detectable_spread(
    sizes: ArrayLike,
    score_mean: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    dispersion: float = 1.0,
) -> float:
    """Return the smallest SD of true performance that is detected with this power.

    Returns
    -------
    float
        In score units; infinite where even the largest possible SD,
        ``sqrt(score_mean (1 - score_mean))``, goes undetected too often. The other parameters
        are those of :func:`power_to_detect`.
    """
    _checked_power(power, alpha)
    n = _checked_sizes(sizes, score_mean, alpha)

    def shortfall(spread: float) -> float:
        found = power_to_detect(spread, n, score_mean, alpha=alpha, dispersion=dispersion)
        return found - power

    most = math.sqrt(score_mean * (1.0 - score_mean))
    if shortfall(most) < 0:
        return math.inf
    return float(brentq(shortfall, 0.0, most, xtol=1e-6))


def items_needed(
    spread: float,
    shares: ArrayLike,
    score_mean: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    dispersion: float = 1.0,
) -> int | None:
    """Return how many items, split in these shares, detect this SD with this power.

    Parameters
    ----------
    spread : float
        SD of the true performances, positive.
    shares : array_like, shape (k,)
        Relative sizes; normalised.
    score_mean, alpha, power, dispersion
        See :func:`power_to_detect`.

    Returns
    -------
    int or None
        None where no number of items does: few subdomains may be alike by chance.
    """
    _checked_power(power, alpha)
    if not spread > 0:
        raise BenchharmonyError(f"spread must be positive, got {spread}")
    share = _checked_sizes(shares, score_mean, alpha)
    share = share / share.sum()

    def shortfall(log_items: float) -> float:
        sizes = share * math.exp(log_items)
        found = power_to_detect(spread, sizes, score_mean, alpha=alpha, dispersion=dispersion)
        return found - power

    low, high = math.log(len(share)), math.log(_MOST_ITEMS)
    if shortfall(high) < 0:
        return None
    if shortfall(low) >= 0:
        return len(share)
    return math.ceil(math.exp(float(brentq(shortfall, low, high, xtol=1e-6))))


def unseen_sentence(
    sizes: ArrayLike,
    score_mean: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    dispersion: float = 1.0,
) -> str:
    """Return the report's line on what these sizes could not show."""
    if not 0.0 < score_mean < 1.0:
        return "All scores are alike, so no spread could show."
    spread = detectable_spread(sizes, score_mean, alpha=alpha, power=power, dispersion=dispersion)
    if math.isinf(spread):
        return "With these sizes, no spread between subdomains could be told from chance reliably."
    return (
        f"With these sizes, spreads (SD of true subdomain scores) under {spread:.2g} would go "
        f"unseen more than {1 - power:.0%} of the time."
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``benchharmony power``."""
    parser.add_argument("--items", type=int, help="items of the benchmark, split evenly")
    parser.add_argument("--k", type=int, default=20, help="subdomains (default 20)")
    parser.add_argument("--sizes", help="sizes of the subdomains instead: 120,80,40")
    parser.add_argument("--mean", type=float, default=0.6, help="mean score (default 0.6)")
    parser.add_argument("--spread", type=float, help="SD of true subdomain scores to detect")
    parser.add_argument("--power", type=float, default=0.8, help="chance wanted (default 0.8)")
    parser.add_argument("--alpha", type=float, default=0.05, help="level of the test")
    parser.add_argument("--format", choices=["text", "json"], default="text")


def run(args: argparse.Namespace) -> int:
    """Print what ``benchharmony power`` was asked for; return the exit code."""
    print(answer(args))
    return 0


def answer(args: argparse.Namespace) -> str:
    """Return the text or JSON that answers ``benchharmony power``."""
    if args.items is None and args.sizes is None and args.spread is None:
        raise BenchharmonyError("power: give --items or --sizes, or the --spread to detect")
    settings = {"alpha": args.alpha, "power": args.power}
    found: dict[str, object] = {**settings, "score_mean": args.mean}
    lines = []
    sizes = _asked_sizes(args)
    shares = np.ones(args.k) if sizes is None else sizes
    if sizes is not None:
        spread = detectable_spread(sizes, args.mean, **settings)
        found |= {"sizes": sizes.tolist(), "detectable_spread": None}
        if math.isfinite(spread):
            found["detectable_spread"] = spread
        lines.append(unseen_sentence(sizes, args.mean, **settings))
    if args.spread is not None:
        items = items_needed(args.spread, shares, args.mean, **settings)
        found |= {"spread": args.spread, "items_needed": items}
        lines.append(_items_sentence(args.spread, len(shares), items, args.power))
        if sizes is not None:
            chance = power_to_detect(args.spread, sizes, args.mean, alpha=args.alpha)
            found["power_at_sizes"] = chance
            lines.append(f"With the sizes given, it is detected {chance:.0%} of the time.")
    return json.dumps(found) if args.format == "json" else "\n".join(lines)


def _items_sentence(spread: float, k: int, items: int | None, power: float) -> str:
    if items is None:
        return f"No number of items detects a spread of {spread} over {k} subdomains that often."
    return (
        f"Detecting a spread of {spread} over {k} subdomains {power:.0%} of the time takes "
        f"{items} items."
    )


def _asked_sizes(args: argparse.Namespace) -> FloatArray | None:
    if args.sizes is not None:
        try:
            return np.array([int(x) for x in args.sizes.split(",")], dtype=np.float64)
        except ValueError:
            raise BenchharmonyError(
                f"--sizes: {args.sizes!r} is not a list of whole numbers like 120,80,40"
            ) from None
    if args.items is None:
        return None
    if args.k < 2 or args.items < args.k:
        raise BenchharmonyError(f"power: {args.items} items do not fill {args.k} subdomains")
    each, over = divmod(args.items, args.k)
    sizes: FloatArray = np.full(args.k, each) + (np.arange(args.k) < over).astype(np.float64)
    return sizes


def _tail(eigenvalues: FloatArray, x: float) -> float:
    """Return ``P(sum lambda_j chi2_1 > x)`` by four moments."""
    values = eigenvalues[eigenvalues > eigenvalues.max() * 1e-12]
    c1, c2, c3, c4 = (float((values**power).sum()) for power in (1, 2, 3, 4))
    s1, s2 = c3 / c2**1.5, c4 / c2**2
    if s1**2 > s2:
        a = 1.0 / (s1 - math.sqrt(s1**2 - s2))
        delta = s1 * a**3 - a**2
        freedom = a**2 - 2 * delta
    else:
        a, delta, freedom = 1.0 / s1, 0.0, 1.0 / s1**2
    standard = (x - c1) / math.sqrt(2 * c2)
    point = standard * math.sqrt(2.0) * a + freedom + delta
    if delta > 1e-12:
        return float(ncx2.sf(point, freedom, delta))
    return float(chi2.sf(point, freedom))


def _checked_sizes(sizes: ArrayLike, score_mean: float, alpha: float) -> FloatArray:
    n = np.asarray(sizes, dtype=np.float64)
    if n.ndim != 1 or len(n) < 2 or not (np.isfinite(n).all() and (n > 0).all()):
        raise BenchharmonyError("power: at least two subdomains with positive sizes are needed")
    if not 0.0 < score_mean < 1.0:
        raise BenchharmonyError(f"power: the mean score must be between 0 and 1, got {score_mean}")
    if not 0.0 < alpha < 1.0:
        raise BenchharmonyError(f"power: alpha must be between 0 and 1, got {alpha}")
    return n


def _checked_power(power: float, alpha: float) -> None:
    if not alpha < power < 1.0:
        raise BenchharmonyError(f"power must lie between alpha ({alpha}) and 1, got {power}")
