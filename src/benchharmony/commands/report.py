"""``benchharmony report``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from benchharmony.collect.command import add_run_arguments
from benchharmony.commands.exports import (
    add_exports,
    check_exports,
    check_exports_of,
    write_exports,
)
from benchharmony.commands.outputs import Writing, check_outputs
from benchharmony.commands.plotting import add_plots, check_plots, write_plots
from benchharmony.commands.settings import add_settings, settings_of
from benchharmony.commands.sources import add_sources, read
from benchharmony.commands.work import add_work, tell_kept, work_of
from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import Progress, say, stdout_console

if TYPE_CHECKING:
    from benchharmony.report import Report

_FORMATS = ("text", "json", "csv", "parquet", "md", "latex")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_sources(parser, number="*")
    add_settings(parser)
    add_work(parser)
    _add_output(parser)
    add_exports(parser)
    parser.add_argument(
        "--fail-under", type=_bar, metavar="H",
        help="exit with 1 when any evaluation's HARMONY is under H or undefined",
    )  # fmt: skip
    add_run_arguments(parser, shared=False)
    parser.add_argument(
        "--collected", default="collected", metavar="DIR", help="where --model's results go"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--format", default="text", choices=_FORMATS)
    group.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    group.add_argument("--html", metavar="FILE", help="write a page to send on: one HTML file")
    add_plots(group)
    group.add_argument(
        "--details", action="store_true", help="subdomains and warnings of every evaluation"
    )


def run(args: argparse.Namespace) -> int:
    """Read, or run a model first, then analyse and write."""
    from benchharmony.report import report

    settings, work = settings_of(args), work_of(args)
    check_exports(args)
    check_plots(args)
    check_outputs(args)  # a model may be run before anything is read
    _check_format(args)
    if args.model or args.gguf:
        _collect(args)
    elif not args.sources:
        raise BenchharmonyError("report: give a SOURCE to read, or a --model to run")
    result = read(args)
    check_exports_of(args, result.evaluations)
    with Progress(args.quiet) as progress:
        progress.expect(2 * len(result.evaluations), "analysing")  # partition, then record
        made = report(result.evaluations, settings=settings, progress=progress.step, **work)
    tell_kept(work["cache"], args.quiet)
    # Files first: whoever reads the output may go early (`| head`), and files and bar still count.
    writing = Writing(args.quiet)
    if args.html:
        from benchharmony.page import report_page, save_page

        writing(lambda: save_page(args, lambda command: report_page(made, command=command)))
    writing(lambda: _draw(made, args))
    write_exports(made, args, writing)
    _write(made, args, writing)
    code = _judge(made, args.fail_under)
    writing.finish()
    return code


def _draw(made: Report, args: argparse.Namespace) -> None:
    from benchharmony.plots.evaluation import save_report

    record = made.record
    write_plots(
        args,
        lambda told: save_report(record, made.splits, args.plots, told),
        expected=len(record["evaluations"]) + 1,
    )


def _check_format(args: argparse.Namespace) -> None:
    if args.format == "parquet" and not args.output and sys.stdout.isatty():
        raise BenchharmonyError("--format parquet is no text for a terminal; name a file with -o")


def _collect(args: argparse.Namespace) -> None:
    from benchharmony.collect.command import collect_for_report

    args.sources = [*args.sources, str(collect_for_report(args, args.collected))]
    args.items = None  # the model has read them; there is nothing left to join


def _write(made: Report, args: argparse.Namespace, writing: Writing) -> None:
    from benchharmony.report.text import print_report, to_text
    from benchharmony.writing import write_whole

    if args.output:
        text = args.format == "text"
        whole = to_text(made.record, details=True) if text else _rendered(made, args.format)
        writing(lambda: write_whole(args.output, whole), args.output)
    elif args.format == "text":
        details = args.details or None
        writing.show(lambda: print_report(made.record, stdout_console(), details=details))
    else:
        writing.show(lambda: _print(_rendered(made, args.format)))


def _print(whole: str | bytes) -> None:
    if isinstance(whole, bytes):
        sys.stdout.buffer.write(whole)
    else:
        sys.stdout.write(whole)


def _rendered(made: Report, form: str) -> str | bytes:
    if form == "parquet":
        from benchharmony.exports.tables import parquet_of_report

        return parquet_of_report(made.record)
    return made.render(form)  # type: ignore[arg-type]


def _bar(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:  # nothing is under NaN: such a gate would always be open
        raise argparse.ArgumentTypeError(f"a number from 0 to 1, not {text!r}")
    return value


def _judge(made: Report, bar: float | None) -> int:
    if bar is None:
        return 0
    from benchharmony.report.gate import gates

    short = [gate for gate in gates(made.record, bar) if not gate.met]
    for gate in short:
        entry = gate.entry
        say(f"--fail-under {bar:g}: {entry['benchmark']} / {entry['model']}: {gate.words}")
    return 1 if short else 0
