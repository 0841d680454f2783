"""What every command that reads takes, and how it reads."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchharmony.commands.outputs import check_inputs_stay, check_outputs
from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import Progress, say

if TYPE_CHECKING:
    from benchharmony.readers import ReadResult


def add_sources(parser: argparse.ArgumentParser, number: str = "+") -> None:
    """Add the sources and what can be said about reading them."""
    parser.add_argument(
        "sources", nargs=number, metavar="SOURCE", help="file, directory (searched), glob or URL"
    )
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--score", metavar="METRIC", help="metric of the log to use (acc_norm, exact_match, ...)"
    )
    group.add_argument(
        "--items", metavar="FILE",
        help="JSON Lines benchmark whose questions, options and labels are joined by item id",
    )  # fmt: skip
    group.add_argument(
        "--groups", metavar="FILE",
        help="table (CSV, TSV, Parquet, JSON Lines) whose columns become declared columns",
    )  # fmt: skip
    group.add_argument(
        "--on", metavar="COLUMN",
        help="column of --groups that says which items a row is about: their ids (the default is "
        "a column named as one), a declared column of the log, or their questions",
    )  # fmt: skip
    group.add_argument(
        "--column", action="append", default=[], metavar="ROLE=NAME",
        help="column of a table for a role, e.g. score=right, item_id=qid (repeatable)",
    )  # fmt: skip
    group.add_argument(
        "--merge", action="append", default=[], metavar="NAME=PATTERN",
        help="make one benchmark of those whose names match (mmlu=mmlu_*), column task; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--format-in", metavar="NAME",
        help="read every file as this format (`benchharmony formats` lists them), whatever it "
        "looks like",
    )  # fmt: skip
    group.add_argument(
        "--allow-pickle", action="store_true",
        help="read Python pickles too, as plain data: nothing in them is run",
    )  # fmt: skip
    group.add_argument(
        "--rename", action="append", default=[], metavar="NAME=PATTERN",
        help="call benchmarks whose names match by one name, as those of two harnesses; repeatable",
    )  # fmt: skip
    group.add_argument("--benchmark", metavar="NAME", help="benchmark name where a log has none")
    group.add_argument("--model-name", metavar="NAME", help="model name where a log has none")
    parser.add_argument("--quiet", action="store_true", help="no progress, no warnings on stderr")


def read(args: argparse.Namespace, *, quiet: bool = False) -> ReadResult:
    """Read the sources; say on stderr what could not be used."""
    from benchharmony.readers import ReadOptions, read_sources
    from benchharmony.report.checked import unused_lines

    check_outputs(args)
    options = ReadOptions(
        columns_of(args.column),
        args.benchmark,
        args.model_name,
        format=args.format_in,
        allow_pickle=args.allow_pickle,
    )
    with Progress(args.quiet) as progress:
        progress.expect(None, "reading")
        result = read_sources(args.sources, options, score=args.score, progress=progress.step)
    if result.evaluations and not (quiet or args.quiet):
        for line in unused_lines(result.unused):
            say(line if line.startswith(" ") else f"not used: {line}")
        for note in result.notes:
            say(note)
    if not result.evaluations:
        for line in unused_lines(result.unused)[1:]:
            say(line if line.startswith(" ") else f"not used: {line}")
        none = "no file that may be a log (.md, .py, .txt and the like are passed over)"
        first = result.unused[0] if result.unused else none
        more = f" (and {len(result.unused) - 1} more files)" if len(result.unused) > 1 else ""
        raise BenchharmonyError(f"nothing usable in the sources: {first}{more}")
    files = [f for e in result.evaluations for f in e.source.files]
    check_inputs_stay(args, [*files, *_other_inputs(args)])
    return _joined(args, result)


def _other_inputs(args: argparse.Namespace) -> list[str]:
    """Return the files that are read beside the sources."""
    named = [args.items, args.groups]
    if args.command == "landscape":
        named.append(args.models)
    if getattr(args, "annotate", None):
        named.append(args.annotate[0])
    return [name for name in named if name]


def _joined(args: argparse.Namespace, result: ReadResult) -> ReadResult:
    """Rename and merge benchmarks, then join items and groups; say what did not fit."""
    from benchharmony.merge import merge, rename
    from benchharmony.report.runs import note_of_runs

    evaluations = result.evaluations
    notes: list[str] = []
    for flag, pairs, change in (("--rename", args.rename, rename), ("--merge", args.merge, merge)):
        for pair in pairs:
            evaluations = tuple(change(evaluations, *_named(flag, pair)))
    if args.items:
        from benchharmony.join import join_all, read_items

        evaluations, more = join_all(evaluations, read_items(args.items))
        notes += more
    if args.groups:
        from benchharmony.group_table import join_groups, read_groups

        evaluations, more = join_groups(evaluations, read_groups(args.groups, args.on))
        notes += more
    elif args.on:
        raise BenchharmonyError("--on names a column of --groups FILE, which is not given")
    notes += note_of_runs(evaluations)  # by the names that --rename and --merge gave
    if not args.quiet:
        for note in notes:
            say(note)
    return replace(result, evaluations=evaluations, notes=(*result.notes, *notes))


def _named(flag: str, text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise BenchharmonyError(f"{flag} takes NAME=PATTERN (mmlu=mmlu_*), got {text!r}")
    return name, pattern


def columns_of(pairs: Sequence[str]) -> dict[str, str]:
    """Return the table columns that ``--column ROLE=NAME`` names, by role."""
    out = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (role and equals and name):
            raise BenchharmonyError(f"--column takes ROLE=NAME (score=right), got {pair!r}")
        out[role] = name
    return out
