"""How much of H's noise comes from the partition itself.

The partition is made again on subsamples (m of n items without replacement: items drawn twice
would be at distance zero of themselves and form subdomains of their own). On each subsample H is
taken twice, with the refitted labels and with the labels of the full partition; the first moves
with items and partition, the second with items alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.metric import (
    BANDWIDTH,
    EPSILON,
    harmony_score,
    shrunken_performance,
    summarise,
)
from benchharmony.resampling import checked, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class RefitNoise:
    """Item noise and partition noise of H, apart.

    Attributes
    ----------
    item_sd : float
        SD of noise-adjusted H over subsamples with the labels fixed, scaled to n items.
    partition_sd : float
        SD of what refitting adds to it (H refitted less H with fixed labels), on m items: an
        upper bound for n, where partitions are steadier.
    shift : float
        Mean of that addition: whether smaller partitions read H lower or higher.
    agreement : float
        Mean adjusted Rand index of refitted and full labels.
    k_range : (int, int)
        Fewest and most subdomains of a refit.
    draws, items, seed
        What made it; items is m.
    failed : int
        Draws without a partition of at least two subdomains, left out.
    """

    item_sd: float
    partition_sd: float
    shift: float
    agreement: float
    k_range: tuple[int, int]
    draws: int
    items: int
    seed: int
    failed: int


def refit_noise(
    scores: ArrayLike,
    labels: ArrayLike,
    partition: Callable[[IntArray], ArrayLike | None],
    *,
    draws: int = 20,
    share: float = 0.7,
    seed: int = 0,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
) -> RefitNoise:
    """Make the partition again on subsamples and report both kinds of noise.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Item scores in [0, 1].
    labels : array_like of int, shape (n,)
        The full partition.
    partition : callable
        Takes ascending rows, returns labels 0..k-1 for them, or None where it finds none.
    draws : int
        Subsamples.
    share : float
        ``m / n``, in (0, 1).
    seed : int
        Each subsample has its own stream: the result does not depend on the order they run in.
    bandwidth, epsilon : float
        Of H.
    """
    score, label, k = checked(scores, labels)
    if not 0.0 < share < 1.0 or draws < 2:
        raise BenchharmonyError(f"refit: share must be in (0, 1), draws at least 2: {share, draws}")
    items = max(2, round(share * len(score)))
    found = []
    for draw in range(draws):
        rng = stream(seed, f"refit {draw}")
        rows = np.sort(rng.choice(len(score), size=items, replace=False))
        refitted = partition(rows)
        if refitted is not None and np.max(refitted) > 0 and k > 1:
            found.append(_one(score[rows], label[rows], refitted, bandwidth, epsilon))
    if len(found) < 2:
        nan = float("nan")
        return RefitNoise(nan, nan, nan, nan, (0, 0), draws, items, seed, draws - len(found))
    fixed, moved, agree, sizes = (np.array(column) for column in zip(*found, strict=True))
    # The variance of m of n without replacement is (1 - m/n) s^2 / m; that of n anew is s^2 / n.
    scale = np.sqrt(items / (len(score) - items)) if items < len(score) else np.nan
    return RefitNoise(
        item_sd=float(fixed.std(ddof=1) * scale),
        partition_sd=float((moved - fixed).std(ddof=1)),
        shift=float((moved - fixed).mean()),
        agreement=float(agree.mean()),
        k_range=(int(sizes.min()), int(sizes.max())),
        draws=draws,
        items=items,
        seed=seed,
        failed=draws - len(found),
    )


def _one(
    score: FloatArray, label: IntArray, refitted: ArrayLike, bandwidth: float, epsilon: float
) -> tuple[float, float, float, int]:
    # A subsample can leave a small subdomain empty; the rest are numbered anew.
    from sklearn.metrics import adjusted_rand_score

    kept = np.unique(label, return_inverse=True)[1]
    fresh = np.asarray(refitted, dtype=np.int64)
    fixed = _adjusted(score, kept, bandwidth, epsilon)
    moved = _adjusted(score, fresh, bandwidth, epsilon)
    return fixed, moved, float(adjusted_rand_score(kept, fresh)), int(fresh.max()) + 1


def _adjusted(score: FloatArray, label: IntArray, bandwidth: float, epsilon: float) -> float:
    s = summarise(score, label)
    shrunk = shrunken_performance(s.weights, s.performance, s.variances)
    return harmony_score(s.weights, shrunk, bandwidth=bandwidth, epsilon=epsilon)
