"""Which option of each item is right: logs say it in many ways, and only some are certain."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.readers.harness_rows import HarnessItem

_LETTER = re.compile(r"\(?([A-Za-z])\)?[.):]?")


@dataclass(frozen=True, eq=False)
class Gold:
    """The answer key of a log, as far as it could be read.

    Attributes
    ----------
    index : ndarray of int64, shape (n,)
        Index of the right option, -1 where unknown.
    field, reading : str
        Which field of the log was used and how; empty when none fits.
    rival : str
        Another reading of the same field that fits equally well and says something else; empty
        when there is none.
    """

    index: NDArray[np.int64]
    field: str = ""
    reading: str = ""
    rival: str = ""


def resolve_gold(
    items: Sequence[HarnessItem],
    n_options: NDArray[np.int64],
    predicted: NDArray[np.int64],
    logged: NDArray[np.float64],
) -> Gold:
    """Read the answer key of a log.

    Every field that may hold it (``target``, then fields of the item's record) is read in every
    way it could be meant: index from 0, label of an option, text of an option, letter, index
    from 1. The reading that agrees with the logged accuracy on most items wins, then the one that
    covers most items, then the first in that order. Items it leaves open are filled by the next
    best reading that never contradicts the logged accuracy.

    Parameters
    ----------
    items : sequence of HarnessItem, length n
    n_options : ndarray of int64, shape (n,)
        Number of options; indices beyond it are no reading.
    predicted : ndarray of int64, shape (n,)
        Index of the likeliest option, -1 where there are no log-likelihoods.
    logged : ndarray of float64, shape (n,)
        Logged accuracy, NaN where there is none.

    Returns
    -------
    Gold
    """
    judged = (predicted >= 0) & np.isin(logged, (0.0, 1.0))
    found = []
    for name in dict.fromkeys(f for item in items for f in item.gold_fields):
        for reading, read in _READINGS.items():
            index = np.array(
                [
                    _within(read(i.gold_fields.get(name), i), m)
                    for i, m in zip(items, n_options, strict=True)
                ],
                dtype=np.int64,
            )
            known = index >= 0
            agrees = int((judged & known & ((index == predicted) == (logged == 1))).sum())
            if known.any():
                found.append((agrees, int(known.sum()), name, reading, index))
    if not found:
        return Gold(np.full(len(items), -1, dtype=np.int64))
    ranked = sorted(found, key=lambda f: (-f[0], -f[1]))  # stable: earlier readings win ties
    agrees, covers, name, reading, index = ranked[0]
    rival = next(
        (
            r
            for a, c, other, r, values in ranked[1:]
            if other == name and (a, c) == (agrees, covers) and (values != index).any()
        ),
        "",
    )
    return Gold(_filled(index, ranked[1:], judged), name, reading, rival)


def _filled(
    index: NDArray[np.int64],
    others: Sequence[tuple[int, int, str, str, NDArray[np.int64]]],
    judged: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Fill what the best reading leaves open from readings that never contradict the log."""
    for agrees, _, _, _, values in others:
        known = values >= 0
        if agrees and agrees == int((judged & known).sum()):
            index = np.where(index < 0, values, index)
    return index


def _within(index: int | None, n_options: int) -> int:
    return index if index is not None and 0 <= index < n_options else -1


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        text = value.strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,6}", text) else None
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return None


def _as_index(value: Any, item: HarnessItem) -> int | None:
    if isinstance(value, list):
        return next((i for i, v in enumerate(value) if v == 1), None)  # one-hot
    return _integer(value)


def _as_index_from_one(value: Any, item: HarnessItem) -> int | None:
    number = None if isinstance(value, bool) else _integer(value)
    return None if number is None else number - 1


def _as_label(value: Any, item: HarnessItem) -> int | None:
    return _position(value, item.choice_labels)


def _as_text(value: Any, item: HarnessItem) -> int | None:
    for texts in (item.continuations, item.choices or ()):
        found = _position(value, texts)
        if found is not None:
            return found
    return None


def _position(value: Any, texts: Sequence[str]) -> int | None:
    """Return where a text stands, the first where it stands twice; not where all are the same."""
    if not isinstance(value, (str, int, float)) or not texts:
        return None
    wanted = str(value).strip().casefold()
    plain = [t.strip().casefold() for t in texts]
    if wanted not in plain or (len(plain) > 1 and len(set(plain)) == 1):
        return None
    return plain.index(wanted)


def _as_letter(value: Any, item: HarnessItem) -> int | None:
    match = _LETTER.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else ord(match.group(1).upper()) - ord("A")


_READINGS: dict[str, Callable[[Any, HarnessItem], int | None]] = {
    "index from 0": _as_index,
    "label": _as_label,
    "text": _as_text,
    "letter": _as_letter,
    "index from 1": _as_index_from_one,
}
