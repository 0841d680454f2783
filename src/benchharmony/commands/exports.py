"""What ``benchharmony report`` writes for other tools, as flags."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import say

if TYPE_CHECKING:
    from benchharmony.commands.outputs import Writing
    from benchharmony.evaluation import Evaluation
    from benchharmony.report import Report


def add_exports(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each names what it writes and may be given beside any ``--format``."""
    group = parser.add_argument_group("exports")
    add = group.add_argument
    add(
        "--per-item", metavar="FILE",
        help="item id, subdomain and score of every item, as .csv or .parquet",
    )  # fmt: skip
    add(
        "--model-card", metavar="FILE",
        help="model-index of a Hugging Face model card, as YAML; a folder for several models",
    )  # fmt: skip
    add(
        "--annotate", nargs=2, metavar=("RESULTS", "NEW"),
        help="copy a results file of lm-eval to a new file with H under each task; an existing "
        "file is replaced only with --overwrite",
    )  # fmt: skip
    add("--junit", metavar="FILE", help="--fail-under as JUnit XML, a test per evaluation")
    add(
        "--step-summary", action="store_true",
        help="add a summary to the step of GitHub Actions that this runs in",
    )  # fmt: skip


def check_exports(args: argparse.Namespace) -> None:
    """Refuse what could not be written, before anything is read or computed.

    Raises
    ------
    BenchharmonyError
        For a file of items of unknown kind, a card that would be replaced, a copy that would
        replace a file, a JUnit file without a bar, or a step summary that GitHub has no place for.
    """
    if args.per_item:
        from benchharmony.exports.tables import check_ending

        check_ending(args.per_item)
    if args.model_card:
        from benchharmony.exports.model_card import check_card

        check_card(args.model_card)
    if args.annotate:
        from benchharmony.exports.lm_eval_results import check_new

        check_new(*args.annotate, overwrite=args.overwrite)
    if args.junit and args.fail_under is None:
        raise BenchharmonyError("--junit turns --fail-under H into tests; give that bar as well")
    if args.step_summary:
        from benchharmony.exports.step_summary import check_summary

        check_summary()


def check_exports_of(args: argparse.Namespace, evaluations: Sequence[Evaluation]) -> None:
    """Refuse what does not fit what was read, before anything is computed.

    Raises
    ------
    BenchharmonyError
        For a card of several models or of none, or a results file of other tasks.
    """
    if args.model_card:
        from benchharmony.exports.model_card import check_models

        check_models(args.model_card, [e.model for e in evaluations if e.scores is not None])
    if args.annotate:
        from benchharmony.exports.lm_eval_results import check_tasks

        check_tasks(args.annotate[0], evaluations)


def write_exports(made: Report, args: argparse.Namespace, writing: Writing) -> None:
    """Write what was asked for."""
    if args.per_item:
        from benchharmony.exports.tables import write_items

        writing(lambda: write_items(made, args.per_item), args.per_item)
    if args.model_card:
        writing(lambda: _cards(made, args))
    if args.annotate:
        writing(lambda: _annotate(made, args), args.annotate[1])
    if args.junit:
        from benchharmony.exports.junit import junit
        from benchharmony.writing import write_whole

        writing(lambda: write_whole(args.junit, junit(made.record, args.fail_under)), args.junit)
    if args.step_summary:
        from benchharmony.exports.step_summary import write_step_summary

        writing(lambda: write_step_summary(made.record, args.fail_under))


def _cards(made: Report, args: argparse.Namespace) -> None:
    from benchharmony.exports.model_card import write_model_cards

    for path in write_model_cards(made.record, args.model_card):
        if not args.quiet:
            say(f"written: {path}")


def _annotate(made: Report, args: argparse.Namespace) -> None:
    from benchharmony.exports.lm_eval_results import write_annotated

    results, new = args.annotate
    done = write_annotated(made.record, results, new, overwrite=args.overwrite)
    if not args.quiet:
        for note in done.notes:
            say(note)
