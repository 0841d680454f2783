"""The validation record on a terminal, as Markdown and as JSON."""

from __future__ import annotations

import io
from typing import Any

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from benchharmony.report.shown import safe_markdown
from benchharmony.report.views import to_json
from benchharmony.terminal import can_draw, page_console
from benchharmony.validation.tables import Table, tables_of


def render(record: dict[str, Any], format: str) -> str:  # noqa: A002 - the option's name
    """Return the record as "text", "md" or "json"."""
    if format == "json":
        return to_json(record)
    if format == "md":
        return "\n".join(_markdown(table) for table in tables_of(record))
    out = io.StringIO()
    print_validation(record, page_console(out))
    return out.getvalue()


def print_validation(record: dict[str, Any], console: Console) -> None:
    """Print every table of the record."""
    unicode = can_draw(console)
    for table in tables_of(record):
        console.print(Text(f"\n{table.title}", style="bold"))
        grid = RichTable(box=SIMPLE_HEAD if unicode else ASCII2, padding=(0, 1, 0, 0),
                         pad_edge=False)  # fmt: skip
        for i, column in enumerate(table.columns):
            grid.add_column(column, justify="left" if i == 0 else "right",
                            overflow="fold")  # fmt: skip
        for row in table.rows:
            grid.add_row(*map(Text, row))
        console.print(grid)
        for note in table.notes:
            console.print(Text(note, style="dim"))
    for case in record["cases"]:
        for note in case["notes"]:
            console.print(Text(f"! {case['benchmark']} / {case['model']}: {note}", style="yellow"))


def _markdown(table: Table) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(safe_markdown(c) for c in cells) + " |"

    head = [f"**{safe_markdown(table.title)}**", "", line(table.columns),
            "|" + "|".join("---" for _ in table.columns) + "|"]  # fmt: skip
    notes = ["", *(safe_markdown(n, 600) for n in table.notes)] if table.notes else []
    return "\n".join([*head, *map(line, table.rows), *notes, ""])
