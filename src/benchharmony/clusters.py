"""Tasks on a Ray or Dask cluster that is there already, or on a local one started for them.

Both are driven directly: joblib's Ray backend hands back results at the end only, and then nothing
could be kept of a run that is killed. A task travels as one pickle; distributions that were left in
their file are read here first, since a cluster's machines need not see our files. Only a few tasks
are under way at a time, so that no more than those are in memory.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.parallel import Arrivals, bounded
from benchharmony.stored_views import by_value

#: Seconds to wait for a cluster's first answer.
_PATIENCE = 10
#: Tasks sent for each that can be computed at once: none waits for its arguments.
_AHEAD = 2


def call(packed: bytes) -> bytes:
    """Run one packed task in a worker, on one thread, and pack its value."""
    function, number, task = pickle.loads(packed)
    return pickle.dumps(bounded(1, function, number, task), protocol=5)


def _packed(function: Callable[..., Any], number: int, task: tuple[Any, ...]) -> bytes:
    with by_value():
        return pickle.dumps((function, number, task), protocol=5)


def on_ray(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int | None
) -> Arrivals:
    """Yield each task's number and value as a Ray cluster finishes them."""
    try:
        import ray
    except ImportError:
        raise _not_installed("ray") from None
    with _ray(ray, jobs):
        at_once = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        remote = ray.remote(call)
        waiting: list[Any] = []
        try:
            for i, task in enumerate(tasks):
                waiting.append(remote.remote(_packed(function, i, task)))
                if len(waiting) >= _AHEAD * at_once:
                    ready, waiting = ray.wait(waiting)
                    yield pickle.loads(ray.get(ready[0]))
            while waiting:
                ready, waiting = ray.wait(waiting)
                yield pickle.loads(ray.get(ready[0]))
        except ray.exceptions.RayError as error:
            raise _lost("Ray", error) from None


@contextmanager
def _ray(ray: Any, jobs: int | None) -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    address = os.environ.get("RAY_ADDRESS")
    try:
        _answers(address)
        ray.init(
            address=address or "local",
            num_cpus=None if address else jobs,
            log_to_driver=False,
            include_dashboard=None if address else False,
            logging_level="ERROR",
        )
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        raise BenchharmonyError(
            f"no Ray cluster at {address or 'this machine'}: {_line(error)}; RAY_ADDRESS names it"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _answers(address: str | None) -> None:
    """Raise OSError where nothing listens at an address: Ray itself tries for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def on_dask(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int | None
) -> Arrivals:
    """Yield each task's number and value as a Dask cluster finishes them."""
    try:
        import distributed
    except ImportError:
        raise _not_installed("dask") from None
    with _dask(distributed, jobs) as client:
        at_once = jobs or max(1, sum(client.nthreads().values()))
        arriving = distributed.as_completed()

        def next_value() -> Any:
            future = next(arriving)
            try:
                return pickle.loads(future.result())
            except (distributed.KilledWorker, OSError, RuntimeError) as error:
                raise _lost("Dask", error) from None

        for i, task in enumerate(tasks):
            # Scattered: what is large goes to a worker, not through the scheduler.
            packed = client.scatter(_packed(function, i, task), hash=False)
            arriving.add(client.submit(call, packed, pure=False))
            if arriving.count() >= _AHEAD * at_once:
                yield next_value()
        while arriving.count():
            yield next_value()


@contextmanager
def _dask(distributed: Any, jobs: int | None) -> Iterator[Any]:
    try:
        client = distributed.default_client()
    except ValueError:  # none is in use
        client = None
    if client is not None:
        yield client
        return
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    try:
        if address:
            client = distributed.Client(address)
        else:
            client = distributed.Client(
                n_workers=jobs, threads_per_worker=1, dashboard_address=None
            )
    except (OSError, TimeoutError, ValueError) as error:
        raise BenchharmonyError(
            f"no Dask scheduler at {address or 'this machine'}: {_line(error)}; "
            "DASK_SCHEDULER_ADDRESS names it"
        ) from None
    try:
        yield client
    finally:
        client.close() if address else client.shutdown()


def _not_installed(backend: str) -> BenchharmonyError:
    return BenchharmonyError(
        f"the {backend} backend needs {backend}: pip install 'benchharmony[{backend}]'"
    )


def _lost(name: str, error: Exception) -> BenchharmonyError:
    return BenchharmonyError(
        f"the {name} cluster lost a task ({_line(error)}); its workers need benchharmony "
        "installed and memory for a task (with --cache, what is done is not computed again)"
    )


def _line(error: Exception) -> str:
    """Return the last line that says something: clusters put their trace before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
