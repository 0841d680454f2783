"""Tables and small pictures as HTML for a notebook: text of logs is text, pictures are images."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.report.shown import shown

#: Rows shown; frames have all.
MOST_ROWS = 40


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], left: Sequence[int] = ()) -> str:
    """Return an HTML table; cells are escaped, columns of ``left`` are words."""

    def cell(tag: str, column: int, value: object) -> str:
        side = "left" if column in left else "right"
        return f'<{tag} style="text-align:{side}">{html.escape(shown(value))}</{tag}>'

    head = "".join(cell("th", i, h) for i, h in enumerate(heads))
    body = "".join(
        f"<tr>{''.join(cell('td', i, c) for i, c in enumerate(row))}</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = len(rows) - MOST_ROWS
    rest = f"<p>and {more} more rows; <code>.to_frame()</code> has all</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{html.escape(shown(text, 600))}</p>"


def picture(spec: dict[str, Any] | None, words: str) -> str:
    """Return a plot as an image; nothing where there is none or the extra for plots is missing."""
    if spec is None:
        return ""
    from benchharmony.plots.files import svg_of

    try:
        data = base64.b64encode(svg_of(spec).encode()).decode()
    except BenchharmonyError:
        return ""
    alt = html.escape(shown(words, 300))
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}" style="max-width:100%">'
