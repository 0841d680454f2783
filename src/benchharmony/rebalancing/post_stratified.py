"""What weights of the subdomains do to a score: equal ones ("weights"), or those of a pruning.

A subdomain in which every item is right shows no variance, and still the next item may be wrong.
Taking its variance as 0 makes chance look certain; neither test nor interval here does.

*Test.* Scores are shuffled over the items, and the shift is compared with those of the shuffled
scores: exact where performance is equal, whatever it is. Where performances differ and their
effects on the shift cancel, the test is approximate.

*Interval.* For 0/1 scores Wilson's intervals of the subdomains are put together (MOVER: Donner
and Zou 2012), as Newcombe's does for two. For graded scores it is the normal one.

*Standard error.* The variance within a subdomain is drawn towards that of all scores, as though
the subdomain held :data:`BORROWED` more items of that variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchharmony.rebalancing.random_removal import is_binary
from benchharmony.resampling import Sums, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Items' worth of the variance of all scores in the variance of a subdomain. Four, as Agresti
#: and Coull (1998) add to a proportion.
BORROWED = 4.0
#: Shuffles behind a p-value.
_SHUFFLES = 10_000
#: Scores shuffled at once: 64 MB.
_CHUNK = 8_000_000


@dataclass(frozen=True)
class PostStratified:
    """A score in which every subdomain has the same weight, and its distance from the mean.

    Attributes
    ----------
    score, standard_error : float
        ``sum Psi_g / k`` and ``sqrt(sum v_g / n_g) / k``; v_g as the module says.
    ci : (float, float)
        Interval of the score.
    shift, shift_error : float
        Score minus the mean over items, and the standard error of that difference.
    shift_ci : (float, float)
        Interval of the shift.
    p_value : float
        Two-sided permutation test of "no shift".
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
        Its interval.
    p_value : float
        Two-sided permutation test of "no shift"; at least ``1 / (1 + shuffles)``.
    """

    shift: float
    error: float
    ci: tuple[float, float]
    p_value: float


def size_shift(scores: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    """Return ``sum (w'_g - w_g) Psi_g`` for weights (k,) in place of the subdomains' shares."""
    seen = _sums(scores, labels, len(weights))
    return float((weights - seen.sizes / len(scores)) @ seen.performance[0])


def shuffled(
    scores: FloatArray, labels: IntArray, shuffles: int = _SHUFFLES, seed: int = 0
) -> FloatArray:
    """Return the subdomains' mean scores when scores are dealt to the items at random.

    They serve every set of weights.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores and subdomains.
    shuffles, seed : int
        Number of draws, and their seed.

    Returns
    -------
    ndarray, shape (shuffles, k)
        0 for a subdomain without items.
    """
    rng = stream(seed, "shuffled scores")
    sizes = np.bincount(labels)
    if is_binary(scores):
        # How many right answers fall to each subdomain: no item needs to be drawn.
        right = rng.multivariate_hypergeometric(
            sizes, round(float(scores.sum())), size=shuffles, method="marginals"
        )
        return right / np.maximum(sizes, 1)
    occupied = np.flatnonzero(sizes)
    start = (np.cumsum(sizes) - sizes)[occupied]
    totals = np.zeros((shuffles, len(sizes)))
    step = max(1, _CHUNK // len(scores))
    for first in range(0, shuffles, step):
        rows = slice(first, min(first + step, shuffles))
        dealt = np.tile(scores, (rows.stop - first, 1))
        rng.permuted(dealt, axis=1, out=dealt)
        totals[rows, occupied] = np.add.reduceat(dealt, start, axis=1)
    return totals / np.maximum(sizes, 1)


def reweighted(
    scores: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    level: float = 0.95,
    *,
    dealt: FloatArray | None = None,
) -> Reweighted:
    """Return the shift when subdomains get other weights than their shares.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores in [0, 1] and subdomains.
    weights : ndarray, shape (k,)
        They sum to 1; 0 for a subdomain without items.
    level : float
        Of the interval.
    dealt : ndarray, shape (shuffles, k), optional
        What :func:`shuffled` gives for these scores, where it has been drawn already.
    """
    seen = _sums(scores, labels, len(weights))
    tilt = weights - seen.sizes / len(scores)
    error = _error(tilt, scores, seen)
    shift = float(tilt @ seen.performance[0])
    p_value = 1.0
    # Even sizes or constant scores leave rounding, which is no shift.
    if abs(shift) > 1e-12:
        dealt = shuffled(scores, labels) if dealt is None else dealt
        far = np.count_nonzero(np.abs(dealt @ tilt) >= abs(shift) - 1e-9)
        p_value = float((1 + far) / (1 + len(dealt)))
    return Reweighted(shift, error, _interval(tilt, scores, seen, error, level), p_value)


def post_stratified(
    scores: FloatArray, labels: IntArray, level: float = 0.95, *, dealt: FloatArray | None = None
) -> PostStratified:
    """Return the post-stratified score of one model.

    Parameters
    ----------
    scores, labels : ndarray, shape (n,)
        Item scores in [0, 1] and subdomains 0..k-1, each at least once.
    level : float
        Of the intervals.
    dealt : ndarray, shape (shuffles, k), optional
        As for :func:`reweighted`.
    """
    k = int(labels.max()) + 1
    seen = _sums(scores, labels, k)
    equal = np.full(k, 1 / k)
    error = _error(equal, scores, seen)
    moved = reweighted(scores, labels, equal, level, dealt=dealt)
    return PostStratified(
        float(seen.performance.mean()), error, _interval(equal, scores, seen, error, level),
        moved.shift, moved.error, moved.ci, moved.p_value, float(k**2 / (1 / seen.sizes).sum()),
    )  # fmt: skip


def _sums(scores: FloatArray, labels: IntArray, k: int) -> Sums:
    """Return sums of the scores as they are, shape (1, k)."""
    sizes = np.bincount(labels, minlength=k)
    totals, squares = (np.bincount(labels, x, minlength=k)[None] for x in (scores, scores**2))
    return Sums(sizes.astype(np.float64), totals.astype(np.float64), squares.astype(np.float64))


def _error(factors: FloatArray, scores: FloatArray, seen: Sums) -> float:
    """Return the standard error of ``factors @ Psi``."""
    if is_binary(scores):
        # One more right and one more wrong answer: where all are right, it still does not vanish.
        rate = (float(scores.sum()) + 1) / (len(scores) + 2)
        pooled = rate * (1 - rate)
    else:
        pooled = float(scores.var())
    sizes = np.maximum(seen.sizes, 1)
    # Rounding can leave a little less than nothing.
    squares = np.maximum(seen.squares[0] - seen.totals[0] ** 2 / sizes, 0.0)
    variances = (squares + BORROWED * pooled) / (sizes - 1 + BORROWED)
    return float(np.sqrt(variances @ (factors**2 / sizes)))


def _interval(
    factors: FloatArray, scores: FloatArray, seen: Sums, error: float, level: float
) -> tuple[float, float]:
    """Return the interval of ``factors @ Psi``."""
    psi = seen.performance[0]
    middle = float(factors @ psi)
    if not is_binary(scores):
        half = float(ndtri((1 + level) / 2)) * error
        return middle - half, middle + half
    from benchharmony.counts import wilson  # loads scipy.stats, too slow for `import benchharmony`

    low, high = wilson(psi, np.maximum(seen.sizes, 1), level).T
    down = np.where(factors > 0, psi - low, high - psi)
    up = np.where(factors > 0, high - psi, psi - low)
    return (
        middle - float(np.linalg.norm(factors * down)),
        middle + float(np.linalg.norm(factors * up)),
    )
