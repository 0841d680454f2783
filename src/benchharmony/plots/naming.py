"""What plots call the subdomains: their labels, with keywords where a label is only a number."""

from __future__ import annotations

import re
from typing import Any

from benchharmony.plots.measure import text_width
from benchharmony.plots.style import Size
from benchharmony.report.names import cut
from benchharmony.report.shown import shown

#: Labels of induced subdomains, which say nothing by themselves.
_NUMBER = re.compile(r"S\d+")
#: Keywords behind such a label.
_WORDS = 3
#: Width of bold letters against plain ones.
_BOLD = 1.08


def subdomain_names(entry: dict[str, Any]) -> list[str]:
    """Return a name for each subdomain of an evaluation, in the record's order."""
    return [_name(s) for s in entry["subdomains"]]


def title_of(entry: dict[str, Any], what: str, size: Size) -> str:
    """Return a title that fits: the evaluation, where it is named, and what is shown of it."""
    if entry.get("benchmark") is None:
        return what

    def measure(text: str) -> float:
        return text_width(text, size.font + 2) * _BOLD

    room = (size.width - measure(f" / : {what}")) / 2
    names = [cut(shown(entry[key]), room, measure=measure) for key in ("benchmark", "model")]
    return f"{' / '.join(names)}: {what}"


def _name(subdomain: dict[str, Any]) -> str:
    label, words = str(subdomain["label"]), subdomain["keywords"]
    if words and _NUMBER.fullmatch(label):
        return f"{label} {', '.join(words[:_WORDS])}"
    return label
