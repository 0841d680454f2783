"""What the commands print on: stdout for results, stderr for progress and warnings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def stdout_console() -> Console:
    """Return a console on stdout: as wide as the terminal, 80 columns where there is none."""
    from rich.console import Console

    from benchharmony.report.text import WIDTH

    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


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
