"""``benchharmony compare``: two models on one benchmark, item by item."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchharmony.commands.settings import add_settings, settings_of
from benchharmony.commands.sources import add_sources, read
from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import say, stdout_console

if TYPE_CHECKING:
    from benchharmony.evaluation import Evaluation


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_sources(parser)
    add_settings(parser)
    group = parser.add_argument_group("comparison")
    group.add_argument("-a", metavar="MODEL", help="the first model, where there are more than two")
    group.add_argument("-b", metavar="MODEL", help="the second model")
    out = parser.add_argument_group("output")
    out.add_argument("--format", default="text", choices=("text", "json", "latex"))
    out.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")


def run(args: argparse.Namespace) -> int:
    """Read, pair the items of two models and compare."""
    from benchharmony.report.compared import compared, print_compared, render
    from benchharmony.writing import write_whole

    settings = settings_of(args)
    first, second = _pair(read(args).evaluations, args.a, args.b)
    record = compared(first, second, settings)
    if args.output:
        write_whole(args.output, render(record, args.format))
        say(f"written: {args.output}")
    elif args.format == "text":
        print_compared(record, stdout_console())
    else:
        sys.stdout.write(render(record, args.format))
    return 0


def _pair(
    evaluations: Sequence[Evaluation], a: str | None, b: str | None
) -> tuple[Evaluation, Evaluation]:
    """Return the evaluations of the two models."""
    there = "; ".join(dict.fromkeys(e.name for e in evaluations))
    if a is None and b is None and len(evaluations) == 2:
        chosen = list(evaluations)
    else:
        chosen = [e for name in (a, b) for e in evaluations if e.model == name]
    if len(chosen) != 2:
        raise BenchharmonyError(
            f"compare: the sources must hold one log of each of two models; name them with -a and "
            f"-b. There: {there}"
        )
    return chosen[0], chosen[1]
