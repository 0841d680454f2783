"""``benchharmony grid``: a whole study from one YAML file."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from benchharmony.commands.work import add_work, jobs, work_of
from benchharmony.report.shown import shown
from benchharmony.terminal import Progress, say


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("study", metavar="STUDY", help="YAML file: models, benchmarks, settings")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="results (default: beside the file, by its name)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, with sizes and times"
    )
    parser.add_argument(
        "--jobs", type=jobs, metavar="N", help="processes for report and landscape (default 1)"
    )
    add_work(parser, kept="'cache' in the results")
    parser.add_argument(
        "--collect-jobs", type=jobs, default=1, metavar="N",
        help="cells collected at once; each loads its model (default 1)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(args: argparse.Namespace) -> int:
    """Run the study, or say what it would do; 2 where a cell failed."""
    from benchharmony.grid import describe_study, read_study, run_study
    from benchharmony.grid.run import CACHE

    study = read_study(args.study)
    path = Path(args.study)
    out = Path(args.output) if args.output else path.with_name(f"{path.stem}-results")
    if args.dry_run:
        print(describe_study(study, out))
        return 0
    # A scheduler's SIGTERM ends the cells that run as well, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Progress(args.quiet) as progress:
        work = work_of(args, out / CACHE)
        made = run_study(
            study, out, collect_jobs=args.collect_jobs, progress=progress.step,
            stage=progress.expect, **{**work, "cache": work["cache"] or False},
        )  # fmt: skip
    print(
        f"{made.collected} cells collected, {made.done_before} done before, "
        f"{len(made.failed)} failed"
    )
    for name, why in made.failed.items():
        say(f"failed: {shown(name, 100)}: {shown(why, 400)}")
    if made.unchanged:
        print("report and landscape are there already, for these evaluations and settings")
    for file in made.files:
        print(file)
    return 2 if made.failed else 0
