"""Whether the landscape shows sizes: H against n and k, and every benchmark cut to one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchharmony.landscape.draws import Measured, item_ids, subsampled

FloatArray = NDArray[np.float64]

#: A rank correlation of fewer benchmarks than this is not shown.
_FEWEST = 4


def correlations(groups: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """Return Spearman correlations of H with the number of items and of subdomains.

    Between benchmarks: of their means over models, for 4 and more benchmarks. Within benchmarks:
    of k and H over evaluations, both less their benchmark's mean, where models differ in k.
    """
    n = [float(np.mean([len(m.evaluation) for m in g])) for g in groups.values()]
    k = [float(np.mean([m.split.k for m in g])) for g in groups.values()]
    out: dict[str, Any] = {"benchmarks": len(groups)}
    for name in ("raw", "adjusted"):
        mean = [float(np.mean(_of(g, name))) for g in groups.values()]
        inner_k = np.concatenate([_centred([m.split.k for m in g]) for g in groups.values()])
        inner_h = np.concatenate([_centred(_of(g, name)) for g in groups.values()])
        out[name] = {
            "with_items": _spearman(n, mean),
            "with_k": _spearman(k, mean),
            "with_k_within_benchmarks": _spearman(inner_k, inner_h),
        }
    return out


def _of(group: Sequence[Measured], name: str) -> list[float]:
    if name == "raw":
        return [m.result.value or 0.0 for m in group]
    return [m.result.adjusted or 0.0 for m in group]


def _centred(values: Sequence[float]) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    centred: FloatArray = array - array.mean()
    return centred


def _spearman(x: Sequence[float] | FloatArray, y: Sequence[float] | FloatArray) -> Any:
    a, b = np.round(np.asarray(x), 12), np.round(np.asarray(y), 12)
    if len(a) < _FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    found = spearmanr(a, b)
    return {"rho": float(found.statistic), "p_value": float(found.pvalue), "n": len(a)}


def common_size(groups: Mapping[str, Sequence[Measured]]) -> int:
    """Return the number of items of the smallest benchmark."""
    return min(len(item_ids(g)) for g in groups.values())


def matched(
    group: Sequence[Measured],
    size: int,
    repeats: int,
    rng: np.random.Generator,
    *,
    bandwidth: float,
    epsilon: float,
) -> dict[str, Any]:
    """Return mean and variance over models of H on random subsets of ``size`` items.

    Averages over the subsets, with the standard deviation of one subset's mean. The variance is
    of the numbers as they are, noise included: at one size it is alike for every benchmark.
    """
    found = subsampled(group, size, repeats, rng, bandwidth=bandwidth, epsilon=epsilon)
    out: dict[str, Any] = {"items": min(size, len(item_ids(group))), "repeats": repeats}
    for name in ("raw", "adjusted"):
        values: FloatArray = getattr(found, name)
        means = values.mean(axis=0)
        out[name] = {
            "mean": float(means.mean()),
            "mean_sd": float(means.std()),
            "variance": float(values.var(axis=0, ddof=1).mean()) if len(values) > 1 else None,
        }
    return out
