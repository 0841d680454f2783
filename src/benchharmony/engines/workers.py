"""Bounded threads over blocks of rows, with the same result for any number of them.

Blocks are fixed, each is computed by one thread with a single-threaded BLAS, and results come
back in order: neither the number of threads nor of processes can change a bit of the outcome.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
U = TypeVar("U")

#: More threads than this gain nothing: the work is bound by memory.
_MOST = 16


class Workers:
    """A pool of threads; inside ``with`` BLAS and OpenMP are held to one thread each.

    Parameters
    ----------
    count : int, optional
        Threads; as many as BLAS may use by default, which OMP_NUM_THREADS and the like set and
        joblib, Ray and Dask lower in their workers, and no more than the processors of this
        process.
    """

    def __init__(self, count: int | None = None) -> None:
        self._asked = count
        self._pool: ThreadPoolExecutor | None = None
        self._limit: Any = None

    def __enter__(self) -> Self:
        controller = ThreadpoolController()
        count = self._asked or _allowed(controller)
        self._limit = controller.limit(limits=1)
        self._limit.__enter__()
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self._count = count
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        self._limit.__exit__(None, None, None)

    def each(self, function: Callable[[T], U], parts: Iterable[T]) -> Iterator[U]:
        """Yield the function's value of each part, in order, with few results in waiting."""
        if self._pool is None:
            yield from map(function, parts)
            return
        waiting: deque[Future[U]] = deque()
        for part in parts:
            waiting.append(self._pool.submit(function, part))
            if len(waiting) > 2 * self._count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def run(self, function: Callable[[T], U], parts: Iterable[T]) -> list[U]:
        """Return the function's value of each part, in order."""
        return list(self.each(function, parts))


def _allowed(controller: ThreadpoolController) -> int:
    blas = max((int(lib["num_threads"]) for lib in controller.info()), default=1)
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(blas, cores, _MOST))


def blocks(n: int, size: int) -> list[slice]:
    """Return slices that cover 0..n-1, each of ``size`` rows but the last."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
