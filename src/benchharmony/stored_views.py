"""Predictive distributions that stay in their Parquet file until they are asked for.

Distributions are all but the whole of an evaluation: at 1,024 tokens an item 12 KB, where ids,
scores and texts are under 1. A study of hundreds of evaluations fits into memory only if they are
read when their turn comes, by the process whose turn it is, and let go of afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import InputError
from benchharmony.predictive import Predictive

_BY_VALUE: ContextVar[bool] = ContextVar("by_value", default=False)


@contextmanager
def by_value() -> Iterator[None]:
    """Pickle what is stored with its numbers, for a machine that may not see the file."""
    token = _BY_VALUE.set(True)
    try:
        yield
    finally:
        _BY_VALUE.reset(token)


def taken(views: Mapping[str, Predictive], rows: NDArray[np.int64]) -> Mapping[str, Predictive]:
    """Return the distributions of some items; those that are in a file stay there."""
    if isinstance(views, StoredViews):
        return views.take(rows)
    return {name: view.take(rows) for name, view in views.items()}


class StoredViews(Mapping[str, Predictive]):
    """A mapping from positions to distributions that reads each when it is asked for.

    What was read is kept only while somebody uses it. A pickle holds the place, not the numbers
    (:func:`by_value` changes that).

    Parameters
    ----------
    path : Path
        Of an evaluation's file. It must stay as it is: a change is an error that says so.
    positions : sequence of str
        What the file holds.
    read : callable
        ``read(path, name) -> Predictive``, at the top level of a module.
    rows : ndarray of int64, optional
        Items to take, in this order; all otherwise.
    stamp : (int, int), optional
        Size and time of change of the file; taken now otherwise.
    """

    def __init__(
        self,
        path: Path,
        positions: Sequence[str],
        read: Callable[[Path, str], Predictive],
        rows: NDArray[np.int64] | None = None,
        stamp: tuple[int, int] | None = None,
    ) -> None:
        # The path must still lead there from a worker, or after a change of directory.
        self._path = Path(path).absolute()
        self._positions = tuple(positions)
        self._read = read
        self._rows = rows
        self._stamp = self._stamp_now() if stamp is None else stamp
        self._live: WeakValueDictionary[str, Predictive] = WeakValueDictionary()

    def __getitem__(self, name: str) -> Predictive:
        if name not in self._positions:
            raise KeyError(name)
        found = self._live.get(name)
        if found is None:
            if self._stamp_now() != self._stamp:
                raise InputError(str(self._path), "it was changed while it was in use; run again")
            found = self._read(self._path, name)
            if self._rows is not None:
                found = found.take(self._rows)
            self._live[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __repr__(self) -> str:
        return f"<StoredViews {', '.join(self._positions)} in {self._path.name}>"

    def take(self, rows: ArrayLike) -> StoredViews:
        """Return the distributions of some items, still in the file."""
        index = np.asarray(rows, dtype=np.int64)
        if self._rows is not None:
            index = self._rows[index]
        return StoredViews(self._path, self._positions, self._read, index, self._stamp)

    def __reduce__(self) -> tuple[Any, ...]:
        if _BY_VALUE.get():
            return dict, (dict(self),)
        return StoredViews, (self._path, self._positions, self._read, self._rows, self._stamp)

    def _stamp_now(self) -> tuple[int, int]:
        try:
            stat = self._path.stat()
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                str(self._path), f"it was there and cannot be read any more: {reason}"
            ) from None
        return stat.st_size, stat.st_mtime_ns
