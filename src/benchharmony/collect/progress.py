"""How far a long run is: a line on stderr that is renewed, or one now and then in a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

#: Seconds between lines where stderr is no terminal.
_LOG_EVERY = 30.0
_RENEW_EVERY = 0.5


class Progress:
    """Counts items and tokens; the time left follows from tokens, since items differ in length.

    Parameters
    ----------
    label : str
        What is running.
    items, tokens : int
        What is to be done in all.
    quiet : bool
        Whether to say nothing.
    stream : file
        Where to say it, by default stderr.
    """

    def __init__(
        self, label: str, items: int, tokens: int, *, quiet: bool, stream: TextIO | None = None
    ) -> None:
        self._label = label
        self._items, self._tokens = items, tokens
        self._done_items = self._done_tokens = 0
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._terminal = self._stream.isatty()
        self._start = self._shown = time.monotonic()

    def advance(self, items: int, tokens: int) -> None:
        """Count work as done and show where the run is, if it is time."""
        self._done_items += items
        self._done_tokens += tokens
        now = time.monotonic()
        every = _RENEW_EVERY if self._terminal else _LOG_EVERY
        if not self._quiet and (now - self._shown >= every or self._done_items >= self._items):
            self._shown = now
            end = "" if self._terminal else "\n"
            self._stream.write(("\r\x1b[K" if self._terminal else "") + self.line(now) + end)
            self._stream.flush()

    def line(self, now: float) -> str:
        """Return the line shown at a time of the monotonic clock."""
        spent = max(now - self._start, 1e-9)
        left = (self._tokens - self._done_tokens) / max(self._done_tokens / spent, 1e-9)
        return (
            f"{self._label}: {self._done_items}/{self._items} items, "
            f"{self._done_items / spent:.1f} items/s, {self._done_tokens / spent:,.0f} tokens/s, "
            f"{duration(left)} left"
        )

    def note(self, text: str) -> None:
        """Say something in between."""
        if not self._quiet:
            self._stream.write(("\r\x1b[K" if self._terminal else "") + f"{self._label}: {text}\n")
            self._stream.flush()

    def close(self) -> None:
        """End the line."""
        if not self._quiet and self._terminal:
            self._stream.write("\n")


def duration(seconds: float) -> str:
    """Return "45s", "3m20s" or "2h05m"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
