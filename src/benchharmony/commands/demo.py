"""``benchharmony demo``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchharmony.terminal import Progress, stdout_console


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("-o", "--output", default="benchharmony-demo", metavar="DIR")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(args: argparse.Namespace) -> int:
    """Report on the embedded figures and say where the files are."""
    from benchharmony.demo import run_demo

    with Progress(args.quiet) as progress:
        written = run_demo(Path(args.output), stdout_console(), progress)
    print("\nWritten:")
    for path in written:
        print(f"  {path}")
    return 0
