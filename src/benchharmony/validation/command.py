"""The command ``benchharmony validate``: from recorded results, or a model, to the record."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from benchharmony.commands.outputs import Writing
from benchharmony.commands.plotting import add_plots, write_plots
from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    from benchharmony.evaluation import Evaluation
    from benchharmony.validation.case import Case


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of validation to a parser that has those of reading."""
    from benchharmony.validation import SECTIONS

    group = parser.add_argument_group("validation")
    add = group.add_argument
    add(
        "--model", metavar="M", action="append", default=[],
        help="run this model over RedundantQA first (repeatable; needs the collect extra)",
    )  # fmt: skip
    add("--collected", default="collected", metavar="DIR", help="where --model's results go")
    add(
        "--sections", default=",".join(SECTIONS), metavar="S,S",
        help=f"of {', '.join(SECTIONS)} (default: all)",
    )  # fmt: skip
    add("--declared", metavar="COLUMN", help="declared subdomains to compare with")
    add("--embeddings", metavar="M", help="sentence encoder to compare with: directory or hub id")
    add("--sub-benchmarks", type=int, default=200, metavar="N", help="of each kind (default 200)")
    add("--k-min", type=int, default=2, help="smallest k tried (default 2)")
    add("--k-max", type=int, default=20, help="largest k tried (default 20)")
    add("--bandwidth", type=float, default=0.1, metavar="B", help="b of the masses (default 0.1)")
    add("--epsilon", type=float, default=1e-12, help="inside the logarithm (default 1e-12)")
    add("--level", type=float, default=0.95, help="of the intervals (default 0.95)")
    add("--seed", type=int, default=0)
    out = parser.add_argument_group("output")
    out.add_argument("--format", default="text", choices=("text", "json", "md"))
    out.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    out.add_argument("--html", metavar="FILE", help="write a page to send on: one HTML file")
    out.add_argument("--record", metavar="FILE", help="write the whole record there too, as JSON")
    add_plots(out)


def collected(args: argparse.Namespace) -> list[str]:
    """Run the models asked for over RedundantQA; return the files written or already there."""
    if not args.model:
        return []
    from benchharmony.collect.command import add_arguments, collect

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    made = []
    with as_file(files("benchharmony.validation") / "data" / "redundantqa.jsonl") as items:
        for model in args.model:
            wanted = [
                "--model", model, "--items", str(items), "--output", args.collected, "--resume",
                "--positions", "item,answer,question,next", *(["--quiet"] if args.quiet else []),
            ]  # fmt: skip
            made.append(str(collect(parser.parse_args(wanted))))
    return made


def run(args: argparse.Namespace, evaluations: Sequence[Evaluation]) -> int:
    """Validate on what was read, and show or write the record."""
    from benchharmony.terminal import Progress
    from benchharmony.validation import SECTIONS
    from benchharmony.validation.record import ValidationSettings, validate

    sections = tuple(s.strip() for s in args.sections.split(",") if s.strip())
    unknown = [s for s in sections if s not in SECTIONS]
    if unknown or not sections:
        raise BenchharmonyError(f"--sections takes some of {', '.join(SECTIONS)}")
    if not 2 <= args.k_min <= args.k_max:
        raise BenchharmonyError("--k-min must be at least 2 and at most --k-max")
    settings = ValidationSettings(
        sections, args.k_min, args.k_max, args.bandwidth, args.epsilon, args.sub_benchmarks,
        args.embeddings, args.level, args.seed,
    )  # fmt: skip
    cases = _cases(args, evaluations)
    if not cases and "planted" not in sections:
        raise BenchharmonyError(
            "nothing to validate on: give recorded results, or --model to run one over RedundantQA"
        )
    with Progress(args.quiet) as progress:
        progress.expect(None, "validating")
        record = validate(cases, settings, progress.step)
    _show(args, record)
    return 0


def _cases(args: argparse.Namespace, evaluations: Sequence[Evaluation]) -> list[Case]:
    from benchharmony.terminal import say
    from benchharmony.validation.case import case_of, joined_views

    cases, errors = [], []
    for evaluation in joined_views(evaluations):
        try:
            cases.append(case_of(evaluation, args.declared))
        except BenchharmonyError as error:
            errors.append(str(error))
    if errors and not cases:
        raise BenchharmonyError(errors[0])
    for line in errors:
        say(f"left out: {line}")
    return cases


def _show(args: argparse.Namespace, record: dict[str, Any]) -> None:
    from benchharmony.terminal import stdout_console
    from benchharmony.validation.views import print_validation, render
    from benchharmony.writing import write_whole

    writing = Writing(args.quiet)
    if args.record:
        writing(lambda: write_whole(args.record, render(record, "json")), args.record)
    if args.plots:
        from benchharmony.validation.plots import save_plots

        writing(lambda: write_plots(args, lambda told: save_plots(record, args.plots, told)))
    if args.html:
        from benchharmony.page import save_page, validation_page

        writing(lambda: save_page(args, lambda command: validation_page(record, command=command)))
    if args.output:
        writing(lambda: write_whole(args.output, render(record, args.format)), args.output)
    elif args.format == "text":
        writing.show(lambda: print_validation(record, stdout_console()))
    else:
        writing.show(lambda: sys.stdout.write(render(record, args.format)))
    writing.finish()
