"""``benchharmony landscape``: its options and what it does with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchharmony.commands.outputs import Writing
from benchharmony.commands.plotting import add_plots, write_plots
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation

if TYPE_CHECKING:
    from benchharmony.landscape import Landscape
    from benchharmony.report import Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what only ``landscape`` takes."""
    group = parser.add_argument_group("landscape")
    add = group.add_argument
    add(
        "--models", metavar="CSV",
        help="facts about the models: columns model, family, parameters, tokens, checkpoint",
    )  # fmt: skip
    add(
        "--keep", default="common", choices=("common", "all"),
        help="models that count: those on every benchmark (default), or all",
    )  # fmt: skip
    add(
        "--exclude", action="append", default=[], metavar="GLOB",
        help="leave out models whose name matches, e.g. '*Baseline' (repeatable)",
    )  # fmt: skip
    add(
        "--match-items", type=int, metavar="N",
        help="items every benchmark is cut to in the size-matched table (default: the smallest)",
    )  # fmt: skip
    add_plots(group)
    out = parser.add_argument_group("output")
    out.add_argument("--format", default="text", choices=("text", "json", "csv", "md", "latex"))
    out.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    out.add_argument("--html", metavar="FILE", help="write a page to send on: one HTML file")


def run(args: argparse.Namespace, evaluations: Sequence[Evaluation], settings: Settings) -> int:
    """Compute and write the landscape; return the exit code."""
    from benchharmony.commands.work import tell_kept, work_of
    from benchharmony.landscape import landscape
    from benchharmony.terminal import Progress

    work = work_of(args)
    kept = _without(evaluations, args.exclude)
    with Progress(args.quiet) as progress:
        progress.expect(len(kept), "analysing")
        made = landscape(
            kept,
            settings=settings,
            models=args.models,
            keep=args.keep,
            matched_items=args.match_items,
            progress=progress.step,
            **work,
        )
    tell_kept(work["cache"], args.quiet)
    writing = Writing(args.quiet)
    if args.html:
        from benchharmony.page import landscape_page, save_page

        writing(lambda: save_page(args, lambda command: landscape_page(made, command=command)))
    from benchharmony.plots import save_landscape

    writing(lambda: write_plots(args, lambda told: save_landscape(made.record, args.plots, told)))
    _write(made, args, writing)
    writing.finish()
    return 0


def _without(evaluations: Sequence[Evaluation], patterns: Sequence[str]) -> list[Evaluation]:
    from fnmatch import fnmatchcase

    for pattern in patterns:
        if not any(fnmatchcase(e.model, pattern) for e in evaluations):
            raise BenchharmonyError(f"--exclude {pattern}: no model has such a name")
    return [e for e in evaluations if not any(fnmatchcase(e.model, p) for p in patterns)]


def _write(made: Landscape, args: argparse.Namespace, writing: Writing) -> None:
    from benchharmony.landscape.text import print_landscape
    from benchharmony.terminal import stdout_console
    from benchharmony.writing import write_whole

    if args.output:
        writing(lambda: write_whole(args.output, made.render(args.format)), args.output)
    elif args.format == "text":
        writing.show(lambda: print_landscape(made.record, stdout_console()))
    else:
        writing.show(lambda: sys.stdout.write(made.render(args.format)))
