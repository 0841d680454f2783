"""Text from logs made safe to show, and numbers made short: what every view shares."""

from __future__ import annotations

import html
import unicodedata
from typing import Any

#: Characters that move the cursor, hide or reorder what follows, or cannot be encoded.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def shown(text: object, limit: int = 200) -> str:
    """Return text on one line, control and direction characters replaced, cut at a length."""
    raw = str(text)
    value = " ".join(raw[: 4 * limit].split())
    value = "".join("\ufffd" if unicodedata.category(c) in _UNSAFE else c for c in value)
    return value if len(value) <= limit else value[: limit - 1] + "\u2026"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with fixed digits; "-" where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def interval(bounds: list[float] | None, digits: int = 3) -> str:
    """Return "[low, high]", or an empty text where there is none."""
    return "" if not bounds else f"[{bounds[0]:.{digits}f}, {bounds[1]:.{digits}f}]"


def verdict_lines(given: dict[str, Any] | None) -> list[str]:
    """Return a verdict of a record in words, not yet safe to show: why first, then the notes."""
    return [] if given is None else [f"{given['label']}. {given['sentence']}", *given["notes"]]


def safe_cell(value: Any) -> Any:
    """Return a value for a CSV cell; text that a spreadsheet would run is quoted with ``'``."""
    if isinstance(value, str):
        text = shown(value, limit=2000)
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
    return value


def safe_code(text: object, limit: int = 2000) -> str:
    """Return text for a Markdown code span: one line that cannot end the span nor open a tag."""
    return shown(text, limit).replace("`", "'").replace("<", "\u2039")


def safe_markdown(text: object, limit: int = 200) -> str:
    """Return text for a Markdown table cell: one line, no markup of its own."""
    value = html.escape(shown(text, limit), quote=False)
    for mark in "\\|`*_[]":
        value = value.replace(mark, f"\\{mark}")
    return value
