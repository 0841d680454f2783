"""``benchharmony check``."""

from __future__ import annotations

import argparse

from benchharmony.commands.sources import add_sources, read
from benchharmony.terminal import stdout_console


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_sources(parser)


def run(args: argparse.Namespace) -> int:
    """Print what would be read."""
    from benchharmony.report.checked import print_check

    print_check(read(args, quiet=True), stdout_console())
    return 0
