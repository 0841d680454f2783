"""Which engine reaches the similarity of a set of items, and the tau that it uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.accelerated import LIBRARIES, accelerated
from benchharmony.engines.dense import Dense, filled, to_similarity
from benchharmony.engines.kernel import Floats, Kernel
from benchharmony.engines.low_rank import MOST_RANK, PRECISE_ITEMS, NotLowRankError, low_rank
from benchharmony.engines.matrix_free import MatrixFree
from benchharmony.engines.median import tau_of_matrix, tau_of_sample
from benchharmony.engines.memory import available
from benchharmony.engines.tiles import EXACT_ITEMS, Tiles, dtype_for, has_few_outcomes, tiles_of
from benchharmony.engines.workers import Workers
from benchharmony.errors import BenchharmonyError
from benchharmony.predictive import Predictive
from benchharmony.similarity import MedianTau, jeffreys

Tau = float | Literal["median"]
#: One of ENGINES, or a library that holds S on a device: "torch", "torch:cuda", "cupy".
Engine = str
Counts = NDArray[np.int64]

ENGINES = ("auto", "dense", "matrix-free", "low-rank")
#: Up to this many distinct items "auto" holds S whole: exact, in 256 MiB at most.
DENSE_ITEMS = 8192
#: Up to this many "auto" computes S again for every product: hours of work.
MATRIX_FREE_ITEMS = 200_000
#: Share of the free memory that S or its factors may take.
_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class Reached:
    """A similarity within reach: its engine, the tau used, and notes in words."""

    kernel: Kernel
    tau: float
    notes: tuple[str, ...] = ()


def reach(
    view: Predictive, counts: Counts, tau: Tau, engine: Engine, workers: Workers, seed: int = 0
) -> Reached:
    """Return the similarity of distinct items through an engine.

    Parameters
    ----------
    view : Predictive
        Of n distinct items, in canonical order.
    counts : ndarray of int64, shape (n,)
        Items that each stands for.
    tau : float or "median"
        Per nat; the median rule is exact with the dense engine and for few items, otherwise from
        a sample of pairs.
    engine : {"auto", "dense", "matrix-free", "low-rank", "torch", "torch:DEVICE", "cupy"}
        "auto" is dense for up to 8,192 items, then low-rank where its error allows, then dense or
        matrix-free by memory. The last three are the dense engine on a device.
    workers : Workers
        Threads.
    seed : int
        Of the landmarks.

    Raises
    ------
    BenchharmonyError
        When the engine asked for cannot do it, with what can.
    """
    check_engine(engine)
    fixed = None if tau == "median" else _checked(float(tau))
    if engine == "dense" or (engine == "auto" and len(view) <= DENSE_ITEMS):
        return _dense(view, counts, fixed, workers)
    tiles = tiles_of(view, dtype_for(view, fixed))
    rule = MedianTau(fixed, None) if fixed else tau_of_sample(tiles, counts, workers)
    if dtype_for(view, rule.value) != tiles.dtype:
        tiles = tiles_of(view, np.dtype(np.float64))
        rule = tau_of_sample(tiles, counts, workers)
    notes = (rule.note,) if rule.note else ()
    if engine == "matrix-free":
        return _matrix_free(tiles, view, rule.value, workers, notes)
    if engine not in ENGINES:
        return Reached(accelerated(tiles, rule.value, engine, workers), rule.value, notes)
    try:
        room = int(_SHARE * available() / (len(view) * tiles.dtype.itemsize))
        most = min(MOST_RANK, max(32, room))
        precise = partial(tiles_of, view, np.dtype(np.float64))
        kernel = low_rank(
            tiles, rule.value, seed=seed, workers=workers, most_rank=most,
            # Of many outcomes float64 tiles take seconds, mostly to be refused.
            precise=precise if len(view) <= PRECISE_ITEMS and has_few_outcomes(view) else None,
        )  # fmt: skip
        return Reached(kernel, rule.value, notes)
    except NotLowRankError as error:
        if engine == "low-rank":
            raise BenchharmonyError(
                f"the low-rank engine cannot be used here: {error}; "
                "use --engine auto, dense or matrix-free, or another --tau"
            ) from None
        notes = (*notes, f"the low-rank engine was not used: {error}")
    return _exact(tiles, view, counts, fixed, rule.value, workers, notes)


def check_engine(name: str) -> str:
    """Return the name of an engine.

    Raises
    ------
    BenchharmonyError
        For an unknown one.
    """
    if name not in ENGINES and name.partition(":")[0] not in LIBRARIES:
        raise BenchharmonyError(
            f"unknown engine {name!r}; choose {', '.join(ENGINES)}, torch[:DEVICE] or cupy"
        )
    return name


def _exact(
    tiles: Tiles,
    view: Predictive,
    counts: Counts,
    fixed: float | None,
    tau: float,
    workers: Workers,
    notes: tuple[str, ...],
) -> Reached:
    """Return S held whole where memory allows, else computed when needed."""
    n = len(view)
    if n * n * dtype_for(view, fixed).itemsize <= _SHARE * available():
        found = _dense(view, counts, fixed, workers)
        return replace(found, notes=(*found.notes, *notes))
    if n > MATRIX_FREE_ITEMS:
        raise BenchharmonyError(
            f"{n:,} distinct items are too many for an exact similarity, and {notes[-1]}; use "
            "another --tau, a sample of the items, or --engine matrix-free and much time"
        )
    return _matrix_free(tiles, view, tau, workers, notes)


def _matrix_free(
    tiles: Tiles, view: Predictive, tau: float, workers: Workers, notes: tuple[str, ...]
) -> Reached:
    return Reached(MatrixFree(tiles, tau, dtype_for(view, tau), workers), tau, notes)


def _checked(tau: float) -> float:
    if not 1e-12 <= tau <= 1e12:
        raise BenchharmonyError(f"tau must lie between 1e-12 and 1e12, got {tau}")
    return tau


def _dense(
    view: Predictive,
    counts: Counts,
    tau: float | None,
    workers: Workers,
    dtype: np.dtype[Any] | None = None,
) -> Reached:
    dtype = dtype or dtype_for(view, tau)
    need, there = len(view) ** 2 * dtype.itemsize, available()
    if need > there:
        raise BenchharmonyError(
            f"{len(view):,} distinct items need {need / 2**30:.1f} GiB with the dense engine and "
            f"{there / 2**30:.1f} GiB are free; use --engine auto"
        )
    if len(view) <= EXACT_ITEMS:
        j: Floats = jeffreys(view)
    else:
        tiles = tiles_of(view, dtype)
        if tau is not None:
            return Reached(Dense(filled(tiles, tau, dtype, workers), workers), tau)
        j = filled(tiles, None, dtype, workers)
    rule = MedianTau(tau, None) if tau is not None else tau_of_matrix(j, counts, workers)
    if j.dtype == np.float32 and dtype_for(view, rule.value) != j.dtype:
        # The rule's tau would magnify the rounding, of which that tau itself may be made.
        del j
        return _dense(view, counts, tau, workers, np.dtype(np.float64))
    kernel = Dense(to_similarity(j, rule.value, workers), workers)
    return Reached(kernel, rule.value, (rule.note,) if rule.note else ())
