"""The page to send on: one self-contained HTML file with tables, pictures and items.

One shell (:mod:`benchharmony.page.shell`), one module per kind of content. The modules turn records
into plain values for the templates under ``assets``; nothing here computes results.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from benchharmony.landscape import Landscape
    from benchharmony.report import Report

__all__ = [
    "landscape_page", "rebalance_page", "report_page", "save_page", "validation_page",
    "write_page",
]  # fmt: skip


def report_page(report: Report, *, command: str | None = None) -> str:
    """Return the page of a report; ``command`` is what made it."""
    from benchharmony.page.report import page

    return page(report.record, report.splits, command)


def landscape_page(landscape: Landscape, *, command: str | None = None) -> str:
    """Return the page of a landscape."""
    from benchharmony.page.landscape import page

    return page(landscape.record, command)


def rebalance_page(document: dict[str, Any], *, command: str | None = None) -> str:
    """Return the page of a document ``benchharmony/rebalance/1``."""
    from benchharmony.page.rebalance import page

    return page(document, command)


def validation_page(record: dict[str, Any], *, command: str | None = None) -> str:
    """Return the page of a record ``benchharmony/validation/1``."""
    from benchharmony.page.validation import page

    return page(record, command)


def save_page(args: argparse.Namespace, made: Callable[[str], str]) -> None:
    """Write the page that ``--html`` asks for; ``made`` takes the command line."""
    from benchharmony.page.settings import command_line
    from benchharmony.terminal import Progress, say

    with Progress(args.quiet) as progress:
        progress.expect(None, "drawing the page")
        page = made(command_line(args.given))
    write_page(page, args.html)
    if not args.quiet:
        say(f"written: {args.html}")


def write_page(page: str, path: str | Path | None) -> str | None:
    """Write a page whole or not at all; without a path, return it.

    Raises
    ------
    BenchharmonyError
        When the file cannot be written.
    """
    if path is None:
        return page
    from benchharmony.writing import write_whole

    write_whole(path, page)
    return None
