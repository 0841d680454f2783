"""Columns of a table without a role: declared groups, further metrics, facts about the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchharmony.readers.cells import Labels, labels_of, numbers_of, whole_numbers_of
from benchharmony.readers.columns import Table, is_named_like, plain

#: Labels of a group are at most this long and shared, on average, by at least two items;
#: numbers other than 0 and 1 make a group only when there are at most this many.
_LABEL_CHARS = 200
_NUMBER_LABELS = 20

#: Columns about what the model answered are no subdomains: beginnings of names, and whole names.
_ANSWER_BEGINS = ("pred", "response", "output", "generat", "completion", "modelanswer", "guess")
_ANSWER_NAMES = {"answer", "choice", "option", "letter", "selected", "verdict", "result"}


@dataclass(frozen=True)
class SideColumns:
    """Columns by what they are taken for.

    Attributes
    ----------
    groups : dict of str to Labels
        Repeated short labels, or columns that the caller declared.
    metrics : dict of str to ndarray, shape (n,)
        Numbers.
    facts : dict of str to Labels
        Columns that say the same on every row of an evaluation.
    """

    groups: dict[str, Labels]
    metrics: dict[str, NDArray[np.float64]]
    facts: dict[str, Labels]


def side_columns_of(
    table: Table,
    used: frozenset[str] | set[str],
    scores: tuple[str, ...],
    declared: tuple[str, ...],
    evaluation: NDArray[np.int64],
    n_items: int,
) -> SideColumns:
    """Sort out the columns that have no role.

    Parameters
    ----------
    table : Table
        Columns.
    used : set of str
        Columns that have a role.
    scores : tuple of str
        Columns named like a score, which are metrics whatever they hold.
    declared : tuple of str
        Columns that are groups because the caller says so.
    evaluation : ndarray of int, shape (n,)
        Which evaluation each row belongs to.
    n_items : int
        Number of distinct items.
    """
    found = SideColumns({}, {}, {})
    for name, column in table.columns.items():
        if name in declared:
            found.groups[name] = labels_of(column)
        elif name not in used | table.opened and not pa.types.is_nested(column.type):
            _place(found, table, name, name in scores, evaluation, n_items)
    return found


def _place(
    found: SideColumns,
    table: Table,
    name: str,
    is_score: bool,
    evaluation: NDArray[np.int64],
    n_items: int,
) -> None:
    column: Any = table.columns[name]
    labels = labels_of(column)
    if not labels.values or _is_right_option(name, labels):
        return
    numbers = numbers_of(column, decimal_comma=table.decimal_comma)
    numeric = bool((np.isnan(numbers) == (labels.codes < 0)).all())
    shared = 2 <= len(labels.values) <= n_items / 2
    short = max(map(len, labels.values)) <= _LABEL_CHARS
    if is_score:
        if numeric:
            found.metrics[name] = numbers
    elif _is_constant(labels.codes, evaluation):
        if short:
            found.facts[name] = labels
    elif numeric:
        few = shared and len(labels.values) <= _NUMBER_LABELS and not _is_about_answers(name)
        values = numbers[~np.isnan(numbers)]
        if few and (values == np.floor(values)).all() and not np.isin(values, (0, 1)).all():
            found.groups[name] = labels
        else:
            found.metrics[name] = numbers
    elif shared and short and not _is_about_answers(name):
        found.groups[name] = labels


def _is_right_option(name: str, labels: Labels) -> bool:
    """Whether a column holds positions of right options ("C"), which are no subdomains either."""
    if is_named_like(name, "score") or not is_named_like(name, "gold"):
        return False
    return bool(np.isfinite(whole_numbers_of(labels)[labels.codes >= 0]).all())


def _is_about_answers(name: str) -> bool:
    return plain(name) in _ANSWER_NAMES or plain(name).startswith(_ANSWER_BEGINS)


def _is_constant(codes: NDArray[np.int64], evaluation: NDArray[np.int64]) -> bool:
    _, first, inverse = np.unique(evaluation, return_index=True, return_inverse=True)
    return bool((codes == codes[first][inverse.ravel()]).all())
