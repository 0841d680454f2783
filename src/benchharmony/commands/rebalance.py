"""``benchharmony rebalance``."""

from __future__ import annotations

import argparse

from benchharmony.commands.plotting import check_plots
from benchharmony.commands.settings import add_settings, settings_of
from benchharmony.commands.sources import add_sources, read
from benchharmony.rebalancing import command


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_sources(parser)
    add_settings(parser)
    command.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read, then prune and test."""
    check_plots(args)
    command.check_curves(args)
    settings = settings_of(args)
    return command.run(args, read(args).evaluations, settings)
