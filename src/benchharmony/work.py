"""Where evaluations are computed and where their results are kept: one place decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from benchharmony.parallel import Backend, run

if TYPE_CHECKING:
    from benchharmony.cache import Cache
    from benchharmony.kept import Packing

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """One call.

    Attributes
    ----------
    name : str
        For progress.
    arguments : tuple
        Of the function.
    key : callable or None
        Gives what the result depends on, as plain values, arrays or digests; not asked for where
        nothing is kept. None: the result is never kept.
    size : int
        Items, say: where several run at once, large ones go first, so that none is left alone at
        the end.
    """

    name: str
    arguments: tuple[Any, ...]
    key: Callable[[], tuple[Any, ...]] | None = None
    size: int = 1


@dataclass(frozen=True)
class Work:
    """How a report or a landscape gets its results.

    Attributes
    ----------
    jobs : int or None
        Tasks at a time: one by default, all processors of a cluster.
    backend : {"local", "ray", "dask"}
        See :func:`benchharmony.parallel.run`.
    cache : Cache or None
        Where results are looked up, and kept as soon as they are there.
    progress : callable or None
        Called with the name of each task that is done.
    """

    jobs: int | None = None
    backend: Backend = "local"
    cache: Cache | None = None
    progress: Callable[[str], None] | None = None

    def each(
        self, function: Callable[..., T], tasks: Sequence[Task], packing: Packing[T]
    ) -> list[T]:
        """Return the function's value for each task, in order: kept from before, or computed."""
        keys = self._keys(function, tasks)
        values: dict[int, T] = {}
        for i, key in enumerate(keys):
            found = self._kept(key, packing)
            if found is not None:
                values[i] = found
                self._tell(tasks[i])
            if self.cache is not None and key is not None:
                self.cache.found += found is not None
                self.cache.made += found is None
        todo = [i for i in range(len(tasks)) if i not in values]
        todo.sort(key=lambda i: -tasks[i].size)

        def done(number: int, value: T) -> None:
            i = todo[number]
            self._keep(keys[i], value, packing)
            values[i] = value
            self._tell(tasks[i])

        run(
            function,
            [tasks[i].arguments for i in todo],
            jobs=self.jobs,
            backend=self.backend,
            done=done,
        )
        return [values[i] for i in range(len(tasks))]

    def _keys(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[str | None]:
        """Return the key of each task; threads read and hash what is large."""
        if self.cache is None:
            return [None] * len(tasks)
        from benchharmony.cache import made_by
        from benchharmony.digest import digest_of

        about = (function.__module__, function.__qualname__, made_by())

        def key_of(task: Task) -> str | None:
            return None if task.key is None else digest_of(about, *task.key())

        with ThreadPoolExecutor(self.jobs or 1) as pool:
            return list(pool.map(key_of, tasks))

    def _kept(self, key: str | None, packing: Packing[T]) -> T | None:
        if self.cache is None or key is None:
            return None
        body = self.cache.get(key)
        if body is None:
            return None
        try:
            return packing.unpack(body)
        except Exception:  # whatever it is, it is not ours: computed again and written anew
            return None

    def _keep(self, key: str | None, value: T, packing: Packing[T]) -> None:
        if self.cache is None or key is None:
            return
        body = packing.pack(value)
        if body is not None:
            self.cache.put(key, body)

    def _tell(self, task: Task) -> None:
        if self.progress is not None:
            self.progress(task.name)
