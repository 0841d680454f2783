"""The command ``benchharmony rebalance``: from evaluations read to results shown and written."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchharmony.commands.outputs import Writing
from benchharmony.commands.plotting import add_plots, write_plots
from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    from benchharmony.evaluation import Evaluation
    from benchharmony.partition import Partition
    from benchharmony.rebalancing.result import Rebalance
    from benchharmony.report import Settings

#: At least so many for graded scores: the correction over a curve of many models needs them.
PERMUTATIONS = 10_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of rebalancing to a parser that has those of reading and analysis."""
    group = parser.add_argument_group("pruning")
    add = group.add_argument
    add(
        "--strategy", default="redundancy",
        choices=("redundancy", "threshold", "balance", "weights"),
        help="drop the most similar items of the largest subdomains; every near-duplicate; cap "
        "the subdomains; or remove nothing and weight subdomains equally",
    )  # fmt: skip
    end = group.add_mutually_exclusive_group()
    end.add_argument("--fraction", type=float, metavar="F", help="remove this share of the items")
    end.add_argument("--target-h", type=float, metavar="H", help="stop where H reaches this")
    end.add_argument("--cap", type=int, metavar="N", help="at most N items a subdomain")
    end.add_argument(
        "--threshold", type=float, metavar="S",
        help="similarity of near-duplicates, with --strategy threshold (0.9)",
    )  # fmt: skip
    add(
        "--similarity", metavar="NAME",
        help="distributions that compare items (answer, item, ...) or text; default: answer "
        "where recorded",
    )  # fmt: skip
    add("--keep", default="central", choices=("central", "random"), help="what balance keeps")
    add(
        "--drop-subdomain", action="append", default=[], metavar="NAME",
        help="remove this subdomain whole (repeatable); no other one is ever removed whole",
    )  # fmt: skip
    out = parser.add_argument_group("output")
    out.add_argument("--format", default="text", choices=("text", "json"))
    out.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    out.add_argument("--html", metavar="FILE", help="write a page to send on: one HTML file")
    out.add_argument(
        "--export", metavar="DIR",
        help="write keep and drop lists, a pruned copy of --items and a list for lm-eval --samples",
    )  # fmt: skip
    out.add_argument(
        "--plot",
        metavar="FILE",
        help="all curves as one .svg, .png or .pdf (extra plots) or Vega-Lite .json",
    )
    add_plots(out)
    out.add_argument("--task", metavar="NAME", help="lm-eval task of the sample list")


def run(args: argparse.Namespace, evaluations: Sequence[Evaluation], settings: Settings) -> int:
    """Rebalance every benchmark that was read, show the results and write the exports."""
    from benchharmony.terminal import Progress, say

    groups: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(evaluation.benchmark, []).append(evaluation)
    _check_export(args, list(groups))
    results, errors = [], []
    with Progress(args.quiet) as progress:
        progress.expect(len(groups), "rebalancing")
        for name, models in groups.items():
            progress.step(name)
            try:
                results.append(_one(args, models, settings))
            except BenchharmonyError as error:
                errors.append(str(error))
    if not results:
        more = f" (and {len(errors) - 1} more benchmarks)" if len(errors) > 1 else ""
        raise BenchharmonyError(f"{errors[0]}{more}")
    for line in errors:
        say(f"left out: {line}")
    writing = Writing(args.quiet)
    if args.export:
        _export(args, results, writing)
    _show(args, results, writing)
    writing.finish()
    return 0


def _one(args: argparse.Namespace, models: Sequence[Evaluation], settings: Settings) -> Rebalance:
    from dataclasses import replace

    from benchharmony.alignment import line_up
    from benchharmony.rebalance import rebalance

    lined = line_up(models, order="first")
    shared, split, notes = partition_for(lined.evaluations, settings)
    made = rebalance(
        shared, split, strategy=args.strategy, fraction=args.fraction, target_h=args.target_h,
        cap=args.cap, threshold=args.threshold, similarity=args.similarity, keep=args.keep,
        drop_subdomains=args.drop_subdomain, bandwidth=settings.bandwidth,
        epsilon=settings.epsilon, draws=settings.bootstrap or 1000,
        permutations=max(settings.permutations, PERMUTATIONS), level=settings.level,
        seed=settings.seed,
    )  # fmt: skip
    return replace(made, notes=(*made.notes, *notes, *lined.notes))


def partition_for(
    models: Sequence[Evaluation], settings: Settings
) -> tuple[list[Evaluation], Partition, list[str]]:
    """Return the models of a benchmark, one partition for all of them, and notes on it.

    Several models with predictive distributions share one, so that none of them is pruned by
    another's idea of the subdomains; text and declared ones are the same for all.
    """
    from dataclasses import replace

    from benchharmony.splits import MANY_MODEL_KINDS, split_all, split_one

    several = sum(bool(e.predictive) for e in models) > 1
    if several and settings.partition in ("auto", "predictive"):
        settings = replace(settings, partition="shared")
    if settings.partition in MANY_MODEL_KINDS:
        made = split_all(models, settings).splits
        if made[0].partition is None:
            raise BenchharmonyError(made[0].error or f"{models[0].benchmark}: no partition")
        return [s.evaluation for s in made], made[0].partition, []
    split = split_one(models[0], settings)
    if len(models) > 1 and split.kind in ("predictive", "options"):
        note = f"the partition is that of {models[0].model}, for all {len(models)} models"
        return list(models), split, [note]
    return list(models), split, []


def _show(args: argparse.Namespace, results: list[Rebalance], writing: Writing) -> None:
    from benchharmony.rebalancing.result import document
    from benchharmony.rebalancing.text import print_rebalance, to_text
    from benchharmony.terminal import stdout_console
    from benchharmony.writing import write_whole

    made = document(results)
    if args.html:
        from benchharmony.page import rebalance_page, save_page

        writing(lambda: save_page(args, lambda command: rebalance_page(made, command=command)))
    if args.plot:
        from benchharmony.rebalancing.plot import write_plot

        writing(lambda: write_plot(made, args.plot), args.plot)
    if args.plots:
        from benchharmony.plots import save_for_print
        from benchharmony.rebalancing.plot import curve_specs

        def draw(told: Callable[[str], None]) -> list[Path]:
            return save_for_print(lambda size: curve_specs(made, size), args.plots, told)

        writing(lambda: write_plots(args, draw))
    as_json = json.dumps(made, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if args.output:
        whole = as_json if args.format == "json" else to_text(made)
        writing(lambda: write_whole(args.output, whole), args.output)
    elif args.format == "json":
        writing.show(lambda: sys.stdout.write(as_json))
    else:
        writing.show(lambda: print_rebalance(made, stdout_console()))


def _check_export(args: argparse.Namespace, benchmarks: Sequence[str]) -> None:
    """Refuse before any work what could not be written for these benchmarks."""
    from benchharmony.rebalancing.export import file_name

    if not args.export:
        return
    if len({file_name(name) for name in benchmarks}) < len(benchmarks):
        raise BenchharmonyError("--export: benchmarks whose names give the same file name")
    if args.task and len(benchmarks) > 1:
        raise BenchharmonyError("--task names one task, but several benchmarks were read")


def check_curves(args: argparse.Namespace) -> None:
    """Refuse before any work a picture of curves that cannot be drawn.

    Raises
    ------
    BenchharmonyError
        For another ending, a strategy without a curve, or without the extra for plots.
    """
    from benchharmony.rebalancing.plot import check_ending

    if args.plot and check_ending(args.plot) != ".json" and find_spec("vl_convert") is None:
        from benchharmony.plots.files import EXTRA

        raise BenchharmonyError(f"--plot: {EXTRA}")
    if (args.plot or args.plots) and args.strategy == "weights":
        raise BenchharmonyError(
            "--strategy weights removes nothing, so there is no curve for --plot or --plots"
        )


def _export(args: argparse.Namespace, results: list[Rebalance], writing: Writing) -> None:
    for result in results:
        writing(partial(_export_one, args, result))


def _export_one(args: argparse.Namespace, result: Rebalance) -> None:
    from benchharmony.rebalancing.export import export
    from benchharmony.terminal import say

    written, notes = export(result, args.export, items=args.items, task=args.task)
    for line in [] if args.quiet else [*notes, *(f"written: {path}" for path in written)]:
        say(line)
