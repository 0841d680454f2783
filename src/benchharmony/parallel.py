"""One function over many tasks: in this process, in local processes, or on a Ray or Dask cluster.

Results come back in the order of the tasks, and each task is computed alone, so the outcome is
the same wherever it runs. Large arrays are memory-mapped to local processes, not pickled (joblib).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, get_args

from benchharmony.errors import BenchharmonyError

T = TypeVar("T")

Backend = Literal["local", "ray", "dask"]


def run(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    *,
    jobs: int = 1,
    backend: Backend = "local",
) -> list[T]:
    """Return the function's value for each tuple of arguments, in order.

    Parameters
    ----------
    function : callable
        At the top level of a module, so that other processes can find it.
    tasks : sequence of tuple
        Its arguments.
    jobs : int
        Tasks at a time.
    backend : {"local", "ray", "dask"}
        "ray" uses the cluster that RAY_ADDRESS names and "dask" the client in use or the scheduler
        that DASK_SCHEDULER_ADDRESS names; without one, each starts a local cluster of ``jobs``
        processes.

    Raises
    ------
    BenchharmonyError
        For an unknown backend or one that is not installed, with how to install it.
    """
    if backend not in get_args(Backend):
        raise BenchharmonyError(
            f"unknown backend {backend!r}; choose {', '.join(get_args(Backend))}"
        )
    if len(tasks) < 2 or (jobs == 1 and backend == "local"):
        return [function(*task) for task in tasks]
    from joblib import Parallel, delayed

    with _ready(backend, jobs):
        return list(Parallel(n_jobs=jobs)(delayed(function)(*task) for task in tasks))


@contextmanager
def _ready(backend: Backend, jobs: int) -> Iterator[None]:
    """Make joblib use a backend."""
    if backend == "local":
        yield
        return
    try:
        start = _ray if backend == "ray" else _dask
        with start(jobs):
            yield
    except ImportError:
        raise BenchharmonyError(
            f"the {backend} backend needs {backend}: pip install 'benchharmony[{backend}]'"
        ) from None


@contextmanager
def _ray(jobs: int) -> Iterator[None]:
    import os

    import ray
    from joblib import parallel_config
    from ray.util.joblib import register_ray

    ours = not ray.is_initialized()
    if ours:
        local = "RAY_ADDRESS" not in os.environ
        ray.init(num_cpus=jobs if local else None, log_to_driver=False, include_dashboard=False)
    try:
        register_ray()
        with parallel_config("ray"):
            yield
    finally:
        if ours:
            ray.shutdown()


@contextmanager
def _dask(jobs: int) -> Iterator[None]:
    import os

    from dask.distributed import Client, default_client
    from joblib import parallel_config

    try:
        client, ours = default_client(), False
    except ValueError:
        address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        ours = True
        client = (
            Client(address)
            if address
            else Client(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        )
    try:
        with parallel_config("dask"):
            yield
    finally:
        if ours:
            client.shutdown() if "DASK_SCHEDULER_ADDRESS" not in os.environ else client.close()
