"""``benchharmony power``."""

from benchharmony.power import add_arguments as add_options
from benchharmony.power import run

__all__ = ["add_options", "run"]
