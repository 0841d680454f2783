"""``benchharmony formats``."""

from __future__ import annotations

import argparse

from benchharmony.terminal import stdout_console


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command: there are none."""


def run(_: argparse.Namespace) -> int:
    """List the formats."""
    from benchharmony.report.checked import print_formats

    print_formats(stdout_console())
    return 0
