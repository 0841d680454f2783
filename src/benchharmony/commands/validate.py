"""``benchharmony validate``."""

from __future__ import annotations

import argparse

from benchharmony.commands.outputs import check_outputs
from benchharmony.commands.plotting import check_plots
from benchharmony.commands.sources import add_sources, read
from benchharmony.validation import command


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_sources(parser, number="*")
    command.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read, or run models first, then validate."""
    check_plots(args)
    check_outputs(args)  # models may be run before anything is read
    args.sources = [*args.sources, *command.collected(args)]
    return command.run(args, read(args).evaluations if args.sources else [])
