"""Planted evaluations: made-up items whose true subdomains and performances are known.

They are what coverage, error rates and verdicts are checked against. A plan says how large the
subdomains are and how well the model truly performs in each; items are drawn from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.metric import agreement, harmony_score

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SizeKind = Literal["equal", "random", "skewed"]

#: Shapes of true performance besides ``even`` and a spread in score units.
SHAPES = ("halves", "one weak", "one easy", "uniform")


@dataclass(frozen=True)
class Planted:
    """One planted evaluation.

    Attributes
    ----------
    scores : ndarray, shape (n,)
        Drawn item scores in [0, 1].
    labels : ndarray of int64, shape (n,)
        True subdomains 0..k-1.
    weights, performance : ndarray, shape (k,)
        True shares and performances.
    clusters : ndarray of int64, shape (n,), or None
        Items that were drawn together.
    """

    scores: FloatArray
    labels: IntArray
    weights: FloatArray
    performance: FloatArray
    clusters: IntArray | None = None

    @property
    def harmony(self) -> float:
        """True H, at the default bandwidth."""
        return harmony_score(self.weights, self.performance)

    @property
    def agreement(self) -> float:
        """True agreement, at the default bandwidth."""
        return float(agreement(self.weights, self.performance))


def planted_sizes(n: int, k: int, kind: SizeKind, rng: np.random.Generator) -> IntArray:
    """Return k subdomain sizes that sum to n, each at least 3.

    ``equal``; ``random`` (Dirichlet(2) shares, at least 2 %); ``skewed`` (shares fall as
    ``rank^-0.8``: over 20 subdomains the first has 19 %, the last 2 %).
    """
    if n < 3 * k:
        raise BenchharmonyError(f"{n} items do not fill {k} subdomains of at least 3")
    if kind == "equal":
        shares = np.full(k, 1.0 / k)
    elif kind == "random":
        shares = np.maximum(rng.dirichlet(np.full(k, 2.0)), 0.02)
    else:
        shares = np.arange(1, k + 1) ** -0.8
    # 3 for each, the rest by share, what rounding leaves over to the largest remainders.
    wanted = shares / shares.sum() * (n - 3 * k)
    sizes: IntArray = 3 + np.floor(wanted + 1e-9).astype(np.int64)
    remainders = np.argsort(np.floor(wanted + 1e-9) - wanted, kind="stable")
    sizes[remainders[: n - int(sizes.sum())]] += 1
    return sizes


def planted_performance(
    shape: str | float, k: int, rng: np.random.Generator, mean: float = 0.65
) -> FloatArray:
    """Return true performances, shape (k,).

    Parameters
    ----------
    shape : str or float
        A number: normal around ``mean`` with this SD, kept in [0.02, 0.98] (0: all alike).
        ``halves``: every other subdomain at 0.9, the rest at 0.4 (H's blind spot);
        ``one weak``: 0.3 among 0.7s; ``one easy``: the first at 0.9, the rest at 0.45;
        ``uniform``: uniform on 0.3 to 0.95.
    k : int
        Number of subdomains.
    rng : Generator
        Source of randomness.
    mean : float
        Centre of the normal shape.
    """
    if not isinstance(shape, str):
        return np.clip(mean + float(shape) * rng.standard_normal(k), 0.02, 0.98)
    if shape == "halves":
        return np.where(np.arange(k) % 2 == 0, 0.9, 0.4)
    if shape == "one weak":
        return np.where(np.arange(k) == k - 1, 0.3, 0.7)
    if shape == "one easy":
        return np.where(np.arange(k) == 0, 0.9, 0.45)
    if shape == "uniform":
        return rng.uniform(0.3, 0.95, k)
    raise BenchharmonyError(f"unknown shape of performance {shape!r}; known: {', '.join(SHAPES)}")


def plant(
    sizes: IntArray,
    performance: FloatArray,
    rng: np.random.Generator,
    *,
    scores: Literal["binary", "graded"] = "binary",
    cluster_size: int = 1,
    sampled: bool = False,
) -> Planted:
    """Draw one evaluation.

    Parameters
    ----------
    sizes : ndarray of int, shape (k,)
        True sizes.
    performance : ndarray, shape (k,)
        True performances in (0, 1).
    rng : Generator
        Source of randomness.
    scores : {"binary", "graded"}
        Right or wrong, or Beta around the performance with a quarter of the binary variance.
    cluster_size : int
        Items of a subdomain drawn together: they share a Beta-distributed chance.
    sampled : bool
        Whether the items' subdomains are drawn too, with ``sizes`` as expected numbers (a
        subdomain never stays empty).
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    weights = sizes / sizes.sum()
    if sampled:
        extra = rng.multinomial(sizes.sum() - len(sizes), weights)
        sizes = extra + 1
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chance = performance[labels]
    clusters = None
    if cluster_size > 1:
        clusters, chance = _clustered(sizes, performance, cluster_size, rng)
    if scores == "binary":
        drawn = (rng.random(len(labels)) < chance).astype(np.float64)
    else:
        drawn = rng.beta(3 * chance, 3 * (1 - chance))
    return Planted(drawn, labels, weights, performance, clusters)


def plant_confounded(
    n: int, k: int, rng: np.random.Generator, *, slope: float = 4.0
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return scores, labels and confidence where confidence alone drives both, each (n,).

    Correctness rises with confidence (logistic, ``slope`` over its range of 1) and the
    partition cuts a noisy copy of it into k equal parts; given confidence they are independent.
    """
    confidence = rng.random(n)
    chance = 1.0 / (1.0 + np.exp(-slope * (confidence - 0.4)))
    scores = (rng.random(n) < chance).astype(np.float64)
    noisy = confidence + 0.25 * rng.standard_normal(n)
    rank = np.argsort(np.argsort(noisy))
    labels = (rank * k // n).astype(np.int64)
    return scores, labels, confidence


def _clustered(
    sizes: IntArray, performance: FloatArray, cluster_size: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    clusters, chances, first = [], [], 0
    for size, rate in zip(sizes, performance, strict=True):
        own = np.arange(size) // cluster_size
        # Intraclass correlation 1 / (1 + 3) = 0.25.
        shared = rng.beta(3 * rate, 3 * (1 - rate), size=int(own[-1]) + 1)
        clusters.append(first + own)
        chances.append(shared[own])
        first += int(own[-1]) + 1
    return np.concatenate(clusters), np.concatenate(chances)
