"""One function over many tasks: in this process, in local processes, or on a Ray or Dask cluster.

Results come back in the order of the tasks, and each task is computed alone, so the outcome is
the same wherever it runs. Large arrays are memory-mapped to local processes, not pickled (joblib).
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeVar, get_args

from benchharmony.errors import BenchharmonyError

T = TypeVar("T")
#: Results as they come: the number of the task, and its value or why it has none.
Arrivals = Generator[tuple[int, Any]]

Backend = Literal["local", "ray", "dask"]


def run(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    *,
    jobs: int | None = None,
    backend: Backend = "local",
    done: Callable[[int, T], None] | None = None,
) -> list[T]:
    """Return the function's value for each tuple of arguments, in order.

    Parameters
    ----------
    function : callable
        At the top level of a module, so that other processes can find it.
    tasks : sequence of tuple
        Its arguments.
    jobs : int, optional
        Tasks at a time; by default one in this process, and on a cluster as many as it has
        processors.
    backend : {"local", "ray", "dask"}
        "ray" uses the cluster that RAY_ADDRESS names and "dask" the client in use or the scheduler
        that DASK_SCHEDULER_ADDRESS names; without one, each starts a local cluster of ``jobs``
        processes.
    done : callable, optional
        Called here with the number of a task and its value as soon as the value is there, in
        whatever order that happens: what it keeps is not lost when the run is killed later.

    Raises
    ------
    BenchharmonyError
        For an unknown backend or one that is not installed or not there, for a process that ended
        early, and for what a task itself raised.
    """
    if backend not in get_args(Backend):
        raise BenchharmonyError(
            f"unknown backend {backend!r}; choose {', '.join(get_args(Backend))}"
        )
    if jobs is not None and jobs < 1:
        raise BenchharmonyError(f"jobs must be a whole number from 1, got {jobs}")
    if not tasks:
        return []
    values: dict[int, T] = {}
    with closing(_arrivals(function, tasks, jobs, backend)) as arrivals:
        for i, value in arrivals:
            if isinstance(value, Failure):
                raise BenchharmonyError(value.reason)
            values[i] = value
            if done is not None:
                done(i, value)
    return [values[i] for i in range(len(tasks))]


def _arrivals(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    jobs: int | None,
    backend: Backend,
) -> Arrivals:
    if backend == "local":
        if (jobs or 1) == 1 or len(tasks) == 1:
            return ((i, function(*task)) for i, task in enumerate(tasks))
        return _in_processes(function, tasks, min(jobs or 1, len(tasks)))
    from benchharmony import clusters

    on = clusters.on_ray if backend == "ray" else clusters.on_dask
    return on(function, tasks, jobs)


def _in_processes(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Arrivals:
    from joblib import Parallel, cpu_count, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # The processors are shared out: processes times threads stay within them.
    threads = max(1, cpu_count() // jobs)
    # Mapped files on disk: joblib's own choice, /dev/shm, would hold all of them in memory.
    folder = os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", temp_folder=folder)
    arriving = pool(delayed(bounded)(threads, function, i, t) for i, t in enumerate(tasks))
    try:
        for arrival in arriving:  # noqa: UP028 - "yield from" would close it before "finally"
            yield arrival
    except TerminatedWorkerError:
        raise BenchharmonyError(
            "a worker process was ended from outside, most likely because memory ran out; use "
            "fewer --jobs (with --cache, what is done is not computed again)"
        ) from None
    finally:
        with warnings.catch_warnings():  # after an error, that tasks under way are cancelled
            warnings.simplefilter("ignore", UserWarning)
            arriving.close()


class Failure:
    """What a task raised, in words: some exceptions do not survive the way between processes."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def bounded(
    threads: int, function: Callable[..., T], number: int, task: tuple[Any, ...]
) -> tuple[int, T | Failure]:
    """Call a function in a worker, on at most so many threads; never on more than it had."""
    with at_most(threads):
        try:
            return number, function(*task)
        except BenchharmonyError as error:
            return number, Failure(str(error))


_BEFORE: ContextVar[int | None] = ContextVar("threads before", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Hold BLAS and OpenMP to some threads; with 1, results are the same for any number of them.

    A product that many threads share is summed in another order than on one, so its last bits
    depend on how many there are.
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()
    now = max((int(library["num_threads"]) for library in controller.info()), default=1)
    token = _BEFORE.set(now)
    try:
        with controller.limit(limits=min(threads, now)):
            yield
    finally:
        _BEFORE.reset(token)


@contextmanager
def as_before() -> Iterator[None]:
    """Lift the innermost :func:`at_most`, for work whose result no number of threads changes."""
    from threadpoolctl import ThreadpoolController

    with ThreadpoolController().limit(limits=_BEFORE.get()):
        yield
