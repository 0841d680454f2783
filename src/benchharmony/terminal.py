"""What the commands print on: stdout for results, stderr for progress and warnings."""

from __future__ import annotations

import io
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of text results where no terminal says how wide it is.
WIDTH = 80


def prepare_streams(*, machine_readable: bool) -> None:
    """Make stdout and stderr take any text, whatever the locale, and be there at all.

    Machine-readable results are UTF-8 everywhere, as files are; text shows "?" for what the
    locale cannot hold. A stream that the caller has closed is a file that nobody reads.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        if machine_readable:
            sys.stdout.reconfigure(encoding="utf-8")
        else:
            sys.stdout.reconfigure(errors="replace")


def discard_stdout() -> None:
    """Send the rest of stdout nowhere, so that the exit does not fail on a closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stdout_console() -> Console:
    """Return a console on stdout: as wide as the terminal, 80 columns where there is none.

    A narrower terminal wraps the lines itself: tables would lose columns without a sign.
    """
    console = _piped_console()(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    console.width = max(console.width, WIDTH)
    return console


#: Every sign beyond ASCII that the views draw with.
_SIGNS = "\u2588\u00b7\u2500\u2026"


def can_draw(console: Console) -> bool:
    """Return whether a console's stream can hold bars and lines; else views use ASCII."""
    try:
        _SIGNS.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(value: float, width: int, *, unicode: bool) -> str:
    """Return a bar for a number in [0, 1], ``width`` columns wide."""
    full = round(min(max(value, 0.0), 1.0) * width)
    whole, rest = ("\u2588", "\u00b7") if unicode else ("#", ".")
    return whole * full + rest * (width - full)


def page_console(out: TextIO) -> Console:
    """Return a console that writes plain text: no colour, and never into a notebook's cell."""
    from rich.console import Console

    return Console(file=out, width=WIDTH, no_color=True, force_terminal=False, force_jupyter=False)


@cache
def _piped_console() -> type[Console]:
    from rich.console import Console

    class Piped(Console):
        """A console that leaves a closed pipe to :func:`benchharmony.cli.main`."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # Rich itself would exit with 1

    return Piped


def say(text: str) -> None:
    """Print one line on stderr, made safe to show; an indent is kept."""
    from benchharmony.report.shown import shown

    indent = " " * (len(text) - len(text.lstrip(" ")))
    print(f"{indent}{shown(text, 1000)}", file=sys.stderr)


class Progress:
    """Progress on stderr while long work runs; silent where stderr is no terminal."""

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[name]}", markup=False),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
        )

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def expect(self, total: int | None, what: str) -> None:
        """Begin a stretch of work of ``total`` steps (None where unknown)."""
        self._task = self._bar.add_task(what, total=total, name="")

    def step(self, name: str) -> None:
        """Count one step and show what it works on."""
        from benchharmony.report.shown import shown

        self._bar.update(self._task, advance=1, name=shown(name, 40))
