"""Errors and warnings that reach a user, and the record of what could not be used."""

from __future__ import annotations

from dataclasses import dataclass


class BenchharmonyError(ValueError):
    """What a user can mend: one line that says what is wrong and what to do (exit code 2)."""


class BenchharmonyWarning(UserWarning):
    """Something a user should know about a result that was given all the same."""


@dataclass(frozen=True)
class Problem:
    """One thing in a source that could not be used, and why.

    Parameters
    ----------
    path : str
        The file, as the user would name it.
    reason : str
        What is wrong, in words, with what to do where that is known.
    line : int or None
        1-based line (or record) number, where there is one.
    item : str or None
        Id of the item that was left out, where the problem is about one item.
    """

    path: str
    reason: str
    line: int | None = None
    item: str | None = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        about = "" if self.item is None else f" (item {self.item})"
        return f"{where}: {self.reason}{about}"


class InputError(BenchharmonyError):
    """A source that cannot be used: carries the :class:`Problem` so that callers can list it."""

    def __init__(self, path: str, reason: str, line: int | None = None) -> None:
        self.problem = Problem(path, reason, line)
        super().__init__(str(self.problem))
