"""Keys of items from what they ask: equal for one question however a harness stored it.

The key is a hash of the normalised question and options. Ids are the harness's own and differ
between harnesses; the text of a question does not, save for how it is set out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

from benchharmony.evaluation import Evaluation

#: Bytes of a key: two of a million items collide with a chance of about 1e-27.
_SIZE = 16
#: Marks that one text sets straight and another curly.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u00b4\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
#: Labels that harnesses put before options: "A. ", "(A) ", "A) ", "A: ", and digits likewise.
_LABELS = ("{}. ", "({}) ", "{}) ", "{}: ")
_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "123456789"
#: Labels that prompts put at the start of a line: before the question, or before a passage.
_BEFORE = re.compile(r"^[ \t]*(?:question|q|problem|passage|context)[ \t]*:", re.I | re.M)
_AFTER = re.compile(r" ?(?:(?:answer )?choices|options) ?:$| ?\b(?:answer|a) ?:$")


def normalised(text: str) -> str:
    """Return a text without what harnesses set differently.

    Unicode NFKC, no case, straight quotes and dashes, white space as single spaces. Punctuation
    stays: "2 + 3" is not "2 - 3".
    """
    plain = unicodedata.normalize("NFKC", text.translate(_PLAIN)).casefold().translate(_PLAIN)
    return " ".join(plain.split())


def item_key(text: str, choices: Sequence[str] | None = None) -> bytes | None:
    """Return the key of an item, 16 bytes; None where there is no question.

    Parameters
    ----------
    text : str
        The question, or the prompt that holds it: "Question:" before it, labelled options and
        instructions after it are taken off.
    choices : sequence of str, optional
        The options, in any order: a harness that shuffles them asks the same question.
    """
    options = [normalised(c) for c in choices] if choices else []
    question = _question(text, options)
    if not question:
        return None
    parts = [question, *sorted(options)]
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    whole = "".join(f"{len(p)}:{p}" for p in parts)
    return blake2b(whole.encode("utf-8", "replace"), digest_size=_SIZE).digest()


def item_keys(evaluation: Evaluation, *, options: bool = True) -> list[bytes | None]:
    """Return the key of every item; ``options=False`` leaves the options out of it.

    The options are still used to tell where a prompt's question ends.
    """
    texts = evaluation.texts or ("",) * len(evaluation)
    if evaluation.choices is None:
        return [item_key(t) for t in texts]
    if options:
        return [item_key(t, c) for t, c in zip(texts, evaluation.choices, strict=True)]
    return [
        item_key(_question(t, [normalised(o) for o in c]))
        for t, c in zip(texts, evaluation.choices, strict=True)
    ]


def _question(text: str, options: Sequence[str]) -> str:
    """Return what is asked, normalised, of a text that may hold its options and instructions."""
    whole = normalised(_BEFORE.sub(" ", text)) or normalised(text)
    if len(options) > 1:
        places = [whole.find(listed) for listed in _listings(options)]
        whole = min((whole[:place] for place in places if place > 0), key=len, default=whole)
    return _AFTER.sub("", whole.strip()).strip() or whole.strip()


def _listings(options: Sequence[str]) -> list[str]:
    """Return the options as prompts list them, each with its label."""
    out = []
    for names in (_LETTERS, _DIGITS):
        if len(options) <= len(names):
            for label in _LABELS:
                pairs = zip(names, options, strict=False)
                out.append(" ".join(f"{label.format(n)}{o}" for n, o in pairs))
    return out
