"""Where evaluations are computed and what is kept, as flags."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from benchharmony.terminal import say

if TYPE_CHECKING:
    from benchharmony.cache import Cache

#: Turns the cache on where no flag says anything.
VARIABLE = "BENCHHARMONY_CACHE"


def add_work(parser: argparse.ArgumentParser, *, kept: str = "nothing is kept") -> None:
    """Add the flags of computing elsewhere and of keeping results; ``--jobs`` is there already."""
    group = parser.add_argument_group("computing")
    group.add_argument(
        "--backend", default="local", choices=("local", "ray", "dask"),
        help="local processes, or the cluster that RAY_ADDRESS or DASK_SCHEDULER_ADDRESS names "
        "(extras ray, dask)",
    )  # fmt: skip
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--cache", metavar="DIR",
        help="keep the results of evaluations there and compute only what is missing; 'user' is "
        f"the user's cache directory (default: {VARIABLE}; where that is not set, {kept})",
    )  # fmt: skip
    either.add_argument("--no-cache", action="store_true", help="look nothing up and keep nothing")


def jobs(text: str) -> int:
    """Return a number of jobs, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1, not {text!r}")
    return value


def work_of(args: argparse.Namespace, default: Any = None) -> dict[str, Any]:
    """Return what was asked for, as keywords of ``report``, ``landscape`` and ``run_study``."""
    from benchharmony.cache import cache_of

    given = None if args.no_cache else args.cache or os.environ.get(VARIABLE) or default
    return {"jobs": args.jobs, "backend": args.backend, "cache": cache_of(given)}


def tell_kept(cache: Cache | None, quiet: bool) -> None:
    """Say on stderr how much was kept from before."""
    if cache is not None and cache.found and not quiet:
        say(f"{cache.found} of {cache.found + cache.made} results were kept in {cache.folder}")
