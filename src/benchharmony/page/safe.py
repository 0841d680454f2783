"""Text of others made safe to read on a page, and data made safe to stand inside one.

Markup is the templates' business (they escape everything); this is about what escaping leaves:
characters that reorder, hide or break what is around them, endless texts, and JSON in a script.
"""

from __future__ import annotations

import json
import re
from typing import Any

#: Control, format, surrogate and separator characters, but for line feed, tab and the joiners that
#: scripts and emoji need (tests hold this against the Unicode database).
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000110bd"
    "\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f]"
)
#: Inside a script element nothing may look like markup, nor end a line for old parsers.
_IN_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def line(text: object, limit: int = 160) -> str:
    """Return text as one line of at most ``limit`` characters, odd characters made visible."""
    raw = str(text)
    value = _visible(" ".join(raw[: 4 * limit].split()))
    return value if len(value) <= limit else f"{value[: limit - 1]}\u2026"


def block(text: object, limit: int = 2000) -> str:
    """Return text with its line breaks; what is cut off is said at its end."""
    raw = str(text)
    value = _visible(raw[:limit].replace("\r\n", "\n").strip())
    if len(raw) <= limit:
        return value
    return f"{value}\u2026 [cut: {len(raw):,} characters in all]"


def _visible(text: str) -> str:
    """Return text in which an odd character stands as its number, lone surrogates as U+FFFD."""
    return _ODD.sub(_named, text)


def _named(match: re.Match[str]) -> str:
    code = ord(match.group())
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"[U+{code:04X}]"


def embedded(data: Any) -> str:
    """Return JSON that may stand inside a script element whatever the texts in it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)
