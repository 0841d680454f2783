"""How wide a text will be drawn, near enough to leave room for it.

Without the font at hand, letters are put into a few classes by their width in the usual sans-serif
faces (Helvetica, Liberation and DejaVu Sans; the widest of them counts).
"""

from __future__ import annotations

import unicodedata

_NARROW = frozenset("iljtfrI.,:;'|!()[]{} /\\`-")
_WIDE = frozenset("mwMWGOQ@%&ABCDHKNRUVXY\u2026")


def text_width(text: str, font: float) -> float:
    """Return the width of a line in px at a font size in px, rather too much than too little."""
    return font * sum(map(_em, text))


def _em(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in "mwMW@%\u2026":
        return 0.95
    if letter in _WIDE:
        return 0.74
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return 1.05
    return 0.61
