"""Which engine reaches the similarity of a set of items, and the tau that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.dense import Dense, filled, to_similarity
from benchharmony.engines.kernel import Floats, Kernel
from benchharmony.engines.median import tau_of_matrix
from benchharmony.engines.tiles import EXACT_ITEMS, dtype_for, tiles_of
from benchharmony.engines.workers import Workers
from benchharmony.errors import BenchharmonyError
from benchharmony.predictive import Predictive
from benchharmony.similarity import MedianTau, jeffreys

Tau = float | Literal["median"]
Engine = Literal["auto", "dense", "matrix-free", "low-rank"]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reached:
    """A similarity within reach: its engine, the tau used, and notes in words."""

    kernel: Kernel
    tau: float
    notes: tuple[str, ...] = ()


def reach(view: Predictive, counts: Counts, tau: Tau, engine: Engine, workers: Workers) -> Reached:
    """Return the similarity of distinct items through an engine."""
    fixed = None if tau == "median" else _checked(float(tau))
    return _dense(view, counts, fixed, workers)


def _checked(tau: float) -> float:
    if not (tau > 0 and np.isfinite(tau)):
        raise BenchharmonyError(f"tau must be positive and finite, got {tau}")
    return tau


def _dense(view: Predictive, counts: Counts, tau: float | None, workers: Workers) -> Reached:
    dtype = dtype_for(view, tau)
    if len(view) <= EXACT_ITEMS:
        j: Floats = jeffreys(view)
    else:
        tiles = tiles_of(view, dtype)
        if tau is not None:
            return Reached(Dense(filled(tiles, tau, dtype, workers), workers), tau)
        j = filled(tiles, None, dtype, workers)
    rule = MedianTau(tau, None) if tau is not None else tau_of_matrix(j, counts, workers)
    kernel = Dense(to_similarity(j, rule.value, workers), workers)
    return Reached(kernel, rule.value, (rule.note,) if rule.note else ())
