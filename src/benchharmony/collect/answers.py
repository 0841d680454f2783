"""Whether an open-ended answer is right: normalised exact match, numbers as numbers."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "\u2018\u2019\u201c\u201d\u00b4")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+")
_AROUND_NUMBER = re.compile(r"^[\s$€£¥]+|[\s%.]+$")


def normalise(text: str) -> str:
    """Return text in lower case without articles, punctuation and extra space (as SQuAD does)."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", folded).split())


def as_number(text: str) -> Decimal | None:
    """Return the number that the whole text is ("$1,200.0" is 1200), or None."""
    bare = _AROUND_NUMBER.sub("", unicodedata.normalize("NFKC", text))
    return _decimal(bare) if _NUMBER.fullmatch(bare) else None


def last_number(text: str) -> Decimal | None:
    """Return the last number named in a text, or None."""
    found = _NUMBER.findall(unicodedata.normalize("NFKC", text))
    return _decimal(found[-1]) if found else None


def _decimal(digits: str) -> Decimal | None:
    try:
        return Decimal(digits.replace(",", ""))
    except InvalidOperation:
        return None


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1.0 where the answer equals one of the accepted ones, else 0.0.

    Texts are compared after :func:`normalise`. An accepted answer that is a number is met by an
    equal number: the answer itself, or the last number in it (where a worked solution ends).
    """
    given, number = normalise(answer), as_number(answer)
    for wanted in accepted:
        value = as_number(wanted)
        if value is None:
            if given and given == normalise(wanted):
                return 1.0
        elif value == (number if number is not None else last_number(answer)):
            return 1.0
    return 0.0


def token_f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the best overlap of words with an accepted answer, in [0, 1] (F1, as SQuAD)."""
    given = normalise(answer).split()
    best = 0.0
    for wanted in accepted:
        words = normalise(wanted).split()
        shared = sum((Counter(given) & Counter(words)).values())
        if shared:
            best = max(best, 2 * shared / (len(given) + len(words)))
    return best
