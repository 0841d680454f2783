"""Scores, options and right options of a table's rows, read or computed from one another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchharmony.errors import InputError
from benchharmony.readers.cells import (
    Labels,
    has_percent_signs,
    index_number,
    is_number_type,
    labels_of,
    letter_index,
    lists_of,
    numbers_of,
    option_matrix_of,
    texts_of,
    usable_options,
)
from benchharmony.readers.columns import Roles, Table, listed_columns

#: Graded scores a rounding error outside [0, 1] are taken as 0 or 1.
_ROUNDING = 1e-9

Choices = list[tuple[str, ...] | None]


@dataclass(frozen=True)
class Answers:
    """What the rows of a table say about performance.

    Attributes
    ----------
    scores : ndarray of float64, shape (n,), or None
        In [0, 1]; NaN where a row has no usable score. None when the table has no answer key.
    score_name : str
        Name of the score column, or "acc" when computed.
    column : str or None
        The score column; None when the scores are computed.
    options : ndarray of float64, shape (n, m), or None
        Log-likelihoods of the options; a row of NaN where they cannot be used.
    gold : ndarray of int64, shape (n,), or None
        Index of the right option, -1 where unknown.
    choices : list of (tuple of str or None) or None
        Texts of the options.
    used : frozenset of str
        Columns that went into these.
    notes : tuple of str
        What is worth telling.
    """

    scores: NDArray[np.float64] | None
    score_name: str
    column: str | None
    options: NDArray[np.float64] | None
    gold: NDArray[np.int64] | None
    choices: Choices | None
    used: frozenset[str]
    notes: tuple[str, ...]


def answers_of(table: Table, roles: Roles) -> Answers:
    """Read or compute the scores of a table's rows.

    A score column goes first. Without one, ``acc`` is computed from the options' log-likelihoods
    and the right option (the highest is right, ties to the lowest index).

    Raises
    ------
    InputError
        When neither is there, or the only score columns hold values outside [0, 1].
    """
    options = _options(table, roles)
    choices = _choices(table, roles)
    name, scores, complaints = _score_column(table, roles)
    gold, gold_notes = _gold(table, roles, options, choices, name)
    computed = None if options is None or gold is None else accuracy(options, gold)
    used = {*roles.choices, *roles.option_logprobs, name, None if gold is None else roles.gold}
    notes = [*gold_notes]
    if scores is None and computed is None and (options is None or complaints):
        raise InputError(table.path, complaints[0] if complaints else _no_score(table))
    if scores is None:
        notes += complaints
        if computed is None:
            notes.append("no score and no right options: usable for partitions only")
    else:
        notes += [f"{c}; column {name!r} is used" for c in complaints]
        if computed is not None:
            notes += _compare(scores, computed, str(name))
    return Answers(
        scores=computed if scores is None else scores,
        score_name="acc" if scores is None else str(name),
        column=name,
        options=options,
        gold=gold,
        choices=choices,
        used=frozenset(n for n in used if n is not None),
        notes=tuple(notes),
    )


def accuracy(options: NDArray[np.float64], gold: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 where the highest option is the right one, else 0; NaN where that is unknown.

    Parameters
    ----------
    options : ndarray, shape (n, m)
        Log-likelihoods; NaN past an item's own options.
    gold : ndarray of int, shape (n,)
        Index of the right option; -1 where unknown.
    """
    known = (gold >= 0) & ~np.isnan(options).all(axis=1)
    best = np.argmax(np.where(np.isnan(options), -math.inf, options), axis=1)
    return np.where(known, (best == gold).astype(np.float64), math.nan)


def _no_score(table: Table) -> str:
    return (
        "no column is named like a score, and there are no option log-likelihoods with right "
        f"options; {listed_columns(list(table.columns))}; name the score with --column score=NAME"
    )


def _score_column(
    table: Table, roles: Roles
) -> tuple[str | None, NDArray[np.float64] | None, list[str]]:
    """Return the first column that can be the score, its values, and what was wrong before it."""
    complaints: list[str] = []
    for name in roles.scores:
        column = table.columns[name]
        values = numbers_of(column, decimal_comma=table.decimal_comma)
        complaint = _complaint(table, name, values)
        if complaint is None:
            scores = np.where(np.isfinite(values), np.clip(values, 0, 1), math.nan)
            return name, scores, complaints
        if roles.score_told:
            raise InputError(table.path, complaint)
        if complaint:
            complaints.append(complaint)
    return None, None, complaints


def _complaint(table: Table, name: str, values: NDArray[np.float64]) -> str | None:
    """Return why a column cannot be the score: None when it can."""
    column = table.columns[name]
    advice = "divide percentages by 100, or name another column with --column score=NAME"
    if has_percent_signs(column):
        return f"score column {name!r} holds percentages; scores must lie in [0, 1]: {advice}"
    finite = np.isfinite(values)
    if not finite.any():
        return f"score column {name!r} holds no number and no true/false"
    outside = finite & ((values < -_ROUNDING) | (values > 1 + _ROUNDING))
    if outside.any():
        row = int(np.argmax(outside))
        return (
            f"score column {name!r} holds {values[row]:g} in line {table.lines[row]}; scores must "
            f"lie in [0, 1]: {advice}"
        )
    return None


def _compare(scores: NDArray[np.float64], computed: NDArray[np.float64], name: str) -> list[str]:
    both = np.isfinite(scores) & np.isfinite(computed)
    differ = int((scores[both] != computed[both]).sum())
    if not differ or not np.isin(scores[both], (0, 1)).all():
        return []
    return [
        f"column {name!r} differs from the accuracy of the option log-likelihoods on {differ} of "
        f"{int(both.sum())} items; the column is used"
    ]


def _options(table: Table, roles: Roles) -> NDArray[np.float64] | None:
    if not roles.option_logprobs:
        return None
    columns = [table.columns[name] for name in roles.option_logprobs]
    if len(columns) == 1:
        matrix = option_matrix_of(columns[0])
    else:
        comma = table.decimal_comma
        matrix = usable_options(
            np.stack([numbers_of(c, decimal_comma=comma) for c in columns], axis=1)
        )
    return None if np.isnan(matrix).all() else matrix


def _choices(table: Table, roles: Roles) -> Choices | None:
    columns = [table.columns[name] for name in roles.choices]
    if not columns:
        return None
    if len(columns) == 1:
        choices = [texts_of(cells) for cells in lists_of(columns[0])]
    else:
        rows = zip(*(labels_of(c, strip=False).to_list() for c in columns), strict=True)
        choices = [_without_empty_end(row) for row in rows]
    return choices if any(choices) else None


def _without_empty_end(row: tuple[str | None, ...]) -> tuple[str, ...] | None:
    texts = [text or "" for text in row]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts) or None


def _gold(
    table: Table,
    roles: Roles,
    options: NDArray[np.float64] | None,
    choices: Choices | None,
    score: str | None,
) -> tuple[NDArray[np.int64] | None, list[str]]:
    """Return the index of each row's right option: given as index, as letter or as text.

    The reading that fits most rows is taken for the whole column (index, then letter, then text
    when they tie). Without options there is nothing to be the index of.
    """
    if roles.gold is None or roles.gold == score or (options is None and choices is None):
        return None, []
    column = table.columns[roles.gold]
    labels = labels_of(column)
    count = _option_counts(options, choices)
    readings = [_positions(labels, index_number)]
    if not is_number_type(column.type) or pa.types.is_boolean(column.type):
        readings.append(_positions(labels, letter_index))
        if choices is not None:
            readings.append(_text_positions(labels, choices))
    from_one = readings[0] - 1
    best = max(readings, key=lambda r: int(_inside(r, count).sum()))
    notes = []
    known = labels.codes >= 0
    if not _inside(readings[0], count)[known].all() and _inside(from_one, count)[known].all():
        best = from_one
        notes.append(f"column {roles.gold!r} counts the options from 1")
    inside = _inside(best, count)
    if not inside.any():
        return None, []
    lost = int((~inside & known).sum())
    if lost:
        notes.append(f"column {roles.gold!r} names no option on {lost} of {len(table)} rows")
    return np.where(inside, best, -1).astype(np.int64), notes


def _option_counts(
    options: NDArray[np.float64] | None, choices: Choices | None
) -> NDArray[np.int64]:
    if options is not None:
        counts: NDArray[np.int64] = np.count_nonzero(~np.isnan(options), axis=1)
        return counts
    return np.array([len(c or ()) for c in choices or ()], dtype=np.int64)


def _positions(labels: Labels, read: Any) -> NDArray[np.float64]:
    values = [read(text) for text in labels.values]
    array = np.array([math.nan if v is None else float(v) for v in values] + [math.nan])
    return array[labels.codes]


def _text_positions(labels: Labels, choices: Choices) -> NDArray[np.float64]:
    positions = []
    for text, row in zip(labels.to_list(), choices, strict=True):
        stripped = [c.strip() for c in row or ()]
        positions.append(stripped.index(text) if text in stripped else math.nan)
    return np.array(positions, dtype=np.float64)


def _inside(positions: NDArray[np.float64], count: NDArray[np.int64]) -> NDArray[np.bool_]:
    whole = np.floor(positions) == positions  # NaN fails
    inside: NDArray[np.bool_] = np.asarray(whole & (positions >= 0) & (positions < count))
    return inside
