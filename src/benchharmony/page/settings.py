"""Settings as rows of a table, and the command of a page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from benchharmony.page.safe import line


def settings_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return every setting as text; what was not set says so."""
    return [(name.replace("_", " "), _words(value)) for name, value in settings.items()]


def _words(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_words, value)) or "none"
    return line(f"{value:g}" if isinstance(value, float) else value, 300)


def command_line(given: Sequence[str]) -> str:
    """Return the command as a shell takes it."""
    return shlex.join(["benchharmony", *given])
