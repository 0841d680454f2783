"""``benchharmony collect``."""

from benchharmony.collect.command import add_arguments as add_options
from benchharmony.collect.command import run

__all__ = ["add_options", "run"]
