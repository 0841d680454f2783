"""``--plots DIR``: pictures for papers, from every command that has some."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError

Save = Callable[[Callable[[str], None]], list[Path]]


def add_plots(group: Any) -> None:
    """Add the option."""
    group.add_argument(
        "--plots", metavar="DIR",
        help="write pictures for papers there: SVG, PDF and PNG, one and two columns wide "
        "(extra plots)",
    )  # fmt: skip


def check_plots(args: argparse.Namespace) -> None:
    """Say before any work that pictures cannot be drawn.

    Where they go is checked with the other outputs.

    Raises
    ------
    BenchharmonyError
        When pictures are asked for and the extra for plots is not installed.
    """
    if args.plots and find_spec("vl_convert") is None:
        from benchharmony.plots.files import EXTRA

        raise BenchharmonyError(f"--plots: {EXTRA}")


def write_plots(args: argparse.Namespace, save: Save, expected: int | None = None) -> None:
    """Write the pictures, where they are asked for, and say how many.

    Parameters
    ----------
    args : Namespace
        With ``plots`` and ``quiet``.
    save : callable
        Draws and returns the files; is given what to call before each step.
    expected : int, optional
        Steps, where known.
    """
    if not args.plots:
        return
    from benchharmony.terminal import Progress, say

    with Progress(args.quiet) as progress:
        progress.expect(expected, "drawing")
        written = save(progress.step)
    if not args.quiet:
        say(f"written: {len(written)} files in {args.plots}")
