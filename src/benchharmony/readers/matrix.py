"""Response matrices: models on one side, items on the other, a score in every cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source, clean_text
from benchharmony.readers.cells import is_number_type, labels_of, numbers_of
from benchharmony.readers.columns import Roles, Table, assign_roles, plain
from benchharmony.readers.source import ReadOptions

#: Columns of numbers in [0, 1] that are metrics of one model and no models.
_METRICS = re.compile(
    r"(acc|f1|bleu|rouge|meteor|chrf|bertscore|exactmatch|em|precision|recall|prob|conf|loss|"
    r"perplexity|logprob|logit|difficulty|discrimination|guess|weight|rate|similarity|entropy)",
    re.IGNORECASE,
)
#: Columns of 0 and 1 that say something about an item, and are no models either.
_FLAGS = re.compile(r"(is|has|was|contains)[_ ]", re.IGNORECASE)
#: Names of a column of labels that pandas writes for an index.
_INDEX = re.compile(r"(\(unnamed\)|unnamed_?0|__index_level_0__|index|idx)", re.IGNORECASE)
_LABEL_CHARS = 200
#: Whole numbers are labels of items (a grade, a level) when there are at most this many.
_MOST_LEVELS = 20
#: A column holds scores when at least this share of its filled cells are numbers or true/false.
_FEWEST_NUMBERS = 0.75
#: Words for an empty cell.
_MISSING = {"nan", "na", "n/a", "none", "null", "-", "."}


@dataclass(frozen=True)
class Matrix:
    """A matrix of responses.

    Attributes
    ----------
    path : str
        The file, for messages.
    values : ndarray of float64, shape (models, items)
        Scores; NaN where a model has none for an item.
    models, items : list of str
        Names of the rows and of the columns.
    groups : dict of str to list
        Declared label of every item, by column.
    texts : list of str or None
        The questions.
    facts : dict of str to list
        What is known of every model, by column.
    strange : list of (model, item, cell)
        Cells that hold something, but no score: rows and columns of ``values``, and the text.
    notes : list of str
        What is worth telling.
    problems : list of Problem
        Rows that were lost.
    """

    path: str
    values: NDArray[np.float64]
    models: Sequence[str]
    items: Sequence[str]
    groups: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    texts: Sequence[str] | None = None
    facts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    strange: Sequence[tuple[int, int, str]] = ()
    notes: Sequence[str] = ()
    problems: Sequence[Problem] = ()


def evaluations_of_matrix(
    matrix: Matrix, benchmark: str, format_name: str, files: tuple[str, ...]
) -> list[Evaluation]:
    """Return one evaluation for each model; one without any score is told in a note.

    Items whose name repeats an earlier one are left out, named with the first evaluation.

    Raises
    ------
    InputError
        When a score leaves [0, 1], names of models repeat, or no model has a score.
    """
    _check(matrix)
    matrix = _without_repeats(matrix)
    found: list[Evaluation] = []
    silent = [m for m, row in zip(matrix.models, matrix.values, strict=True) if _empty(row)]
    notes = [*matrix.notes]
    if silent:
        notes.append(f"{len(silent)} models have no score at all, the first is {silent[0]!r}")
    strange: dict[int, list[Problem]] = {}
    for model, item, cell in matrix.strange:
        reason = f"its cell holds {cell!r}, which is no score"
        problem = Problem(matrix.path, reason, None, matrix.items[item])
        strange.setdefault(model, []).append(problem)
    for row, scores in enumerate(matrix.values):
        if not _empty(scores):
            general = [] if found else [*matrix.problems]
            own = [*general, *strange.get(row, [])]
            empty = int(np.isnan(scores).sum()) - len(strange.get(row, []))
            of_row = f"{empty} of {len(scores)} items have an empty cell for this model"
            source = Source(format_name, files, len(scores) - empty + len(general), tuple(own))
            told = [*notes, of_row] if empty else notes
            found.append(_evaluation(matrix, row, benchmark, told, source))
    if not found:
        raise InputError(matrix.path, "a matrix without a score")
    return found


def _empty(row: NDArray[np.float64]) -> bool:
    return bool(np.isnan(row).all())


def _check(matrix: Matrix) -> None:
    bad = (matrix.values < 0) | (matrix.values > 1)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            matrix.path,
            f"model {matrix.models[row]!r} has {matrix.values[row, column]:g} on item "
            f"{matrix.items[column]!r}; scores must lie in [0, 1]: divide percentages by 100",
        )
    repeated = [name for name, count in Counter(matrix.models).items() if count > 1]
    if repeated:
        reason = f"{len(repeated)} names of models repeat, the first is {repeated[0]!r}"
        raise InputError(matrix.path, reason)


def _without_repeats(matrix: Matrix) -> Matrix:
    """Return the matrix with the first of the items that share a name."""
    first: dict[str, int] = {}
    for column, name in enumerate(matrix.items):
        first.setdefault(name, column)
    if len(first) == len(matrix.items):
        return matrix
    kept = list(first.values())
    place = {column: i for i, column in enumerate(kept)}
    reason = "the item id of an earlier one, which is kept"
    problems = [
        Problem(matrix.path, reason, None, name)
        for column, name in enumerate(matrix.items)
        if column not in place
    ]
    return replace(
        matrix,
        values=matrix.values[:, kept],
        items=[matrix.items[c] for c in kept],
        groups={name: [labels[c] for c in kept] for name, labels in matrix.groups.items()},
        texts=None if matrix.texts is None else [matrix.texts[c] for c in kept],
        strange=[(model, place[c], cell) for model, c, cell in matrix.strange if c in place],
        problems=[*matrix.problems, *problems],
    )


def _evaluation(
    matrix: Matrix, row: int, benchmark: str, notes: list[str], source: Source
) -> Evaluation:
    scores = matrix.values[row]
    kept = np.flatnonzero(~np.isnan(scores)).tolist()
    facts = {name: values[row] for name, values in matrix.facts.items() if values[row] is not None}
    groups = {name: [labels[i] for i in kept] for name, labels in matrix.groups.items()}
    return Evaluation.from_arrays(
        benchmark=benchmark,
        model=matrix.models[row],
        item_ids=[matrix.items[i] for i in kept],
        scores=scores[kept],
        score_name="score",
        groups={n: v for n, v in groups.items() if any(label is not None for label in v)},
        texts=None if matrix.texts is None else [matrix.texts[i] for i in kept],
        metadata=facts,
        notes=notes,
        source=source,
    )


def matrix_of(table: Table, options: ReadOptions, *, forced: bool = False) -> Matrix | None:
    """Return a table as a matrix of responses; None where it is none.

    A table with a score or with option log-likelihoods is none. One side has a column of labels;
    all columns of numbers hold 0 and 1, or (where a column of item ids says that the rows are
    items) scores in [0, 1]. Without names that tell, the longer side holds the items.

    Parameters
    ----------
    table : Table
        Columns.
    options : ReadOptions
        Roles that the caller told: ``item_id``, ``model``, ``text`` and ``groups`` count here,
        any other says that this is no matrix.
    forced : bool
        Whether the caller says that it is a matrix: scores between 0 and 1 are then taken on
        either side.
    """
    told = options.columns
    if not len(table) or set(told) - {"item_id", "model", "text", "groups"}:
        return None
    roles = assign_roles(table, told)
    if roles.scores or roles.option_logprobs or roles.option_logprob or table.opened:
        return None
    sides = _sides(table, roles)
    if sides is None:
        return None
    values = np.stack(sides.values)
    binary = bool(np.isin(values[~np.isnan(values)], (0, 1)).all())
    models_in_rows = _models_in_rows(roles, sides.label, values.shape)
    if not forced and (any(map(_FLAGS.match, sides.cells)) or not any(map(_varies, sides.values))):
        return None  # flags, or settings that are the same in every row
    if not forced and not binary:
        by_item = roles.item_id is not None and sides.label == roles.item_id
        if models_in_rows or not by_item or any(_METRICS.match(plain(n)) for n in sides.cells):
            return None
    return _by_model(table, roles, models_in_rows, sides, values)


@dataclass
class _Sides:
    """Which columns are what."""

    label: str | None = None
    cells: list[str] = field(default_factory=list)
    values: list[NDArray[np.float64]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def _sides(table: Table, roles: Roles) -> _Sides | None:
    """Sort the columns; None when they are not those of a matrix."""
    if roles.benchmark is not None and roles.item_id is None:
        return None  # a table of benchmarks and averages
    sides = _Sides()
    spoken = {roles.item_id, roles.model, roles.text, roles.gold, *roles.groups}
    for name, column in table.columns.items():
        if name in spoken or _INDEX.fullmatch(name):
            continue
        numbers = numbers_of(column, decimal_comma=table.decimal_comma)
        known = numbers[~np.isnan(numbers)]
        if not len(known) or len(known) < _FEWEST_NUMBERS * _filled(column, numbers):
            sides.others.append(name)
        elif ((known >= 0) & (known <= 1)).all():
            sides.cells.append(name)
            sides.values.append(numbers)
        elif roles.item_id is not None and _is_level(known):
            sides.others.append(name)
        else:
            return None
    sides.label = _label(table, roles, sides.others)
    sides.others = [n for n in sides.others if n not in (sides.label, roles.text)]
    return sides if len(sides.cells) > 1 else None


def _varies(column: NDArray[np.float64]) -> bool:
    known = column[~np.isnan(column)]
    return len(known) > 0 and bool(known.min() < known.max())


def _filled(column: Any, numbers: NDArray[np.float64]) -> int:
    """Return how many cells hold anything."""
    if is_number_type(column.type) or not np.isnan(numbers).any():
        return len(numbers)
    labels = labels_of(column)
    filled = np.array([v.lower() not in _MISSING for v in labels.values] + [False])
    return int(filled[labels.codes].sum())


def _is_level(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all()) and len(np.unique(numbers)) <= _MOST_LEVELS


def _label(table: Table, roles: Roles, others: list[str]) -> str | None:
    """Return the column that names the rows: told by its name, an index, or the first of texts."""
    named = roles.model or roles.item_id
    if named is not None:
        return named
    first = next(iter(table.columns), "")
    index = next((n for n in table.columns if _INDEX.fullmatch(n)), None)
    return index or (first if first in others else None)


def _models_in_rows(roles: Roles, label: str | None, shape: tuple[int, ...]) -> bool:
    if label is not None and label == roles.model:
        return True
    if label is not None and label == roles.item_id and not _INDEX.fullmatch(label):
        return False
    return shape[0] > shape[1]  # values are (columns, rows); the longer side holds the items


def _by_model(
    table: Table, roles: Roles, models_in_rows: bool, sides: _Sides, values: NDArray[np.float64]
) -> Matrix:
    """Turn columns into the rows of models, whichever side they were on."""
    n = len(table)
    rows = [f"row {i}" for i in range(1, n + 1)] if models_in_rows else [str(i) for i in range(n)]
    if sides.label is not None:
        names = labels_of(table.columns[sides.label]).to_list()
        rows = [name or row for name, row in zip(names, rows, strict=True)]
    side = {n: labels_of(table.columns[n]).to_list() for n in (*sides.others, *roles.groups)}
    strange = [
        (column, row, cell)
        for column, name in enumerate(sides.cells)
        for row, cell in _strange(table.columns[name], values[column])
    ]
    what = f"{values.shape[1]} rows and {values.shape[0]} columns"
    if models_in_rows:
        return Matrix(
            path=table.path,
            values=values.T,
            models=rows,
            items=sides.cells,
            facts={n: [_short(v) for v in labels] for n, labels in side.items()},
            strange=[(row, column, cell) for column, row, cell in strange],
            notes=[*table.notes, f"a response matrix of {what}: the rows are models"],
            problems=table.problems,
        )
    groups = {n: v for n, v in side.items() if _is_group(v) or n in roles.groups}
    texts = None
    if roles.text is not None:
        texts = [t or "" for t in labels_of(table.columns[roles.text], strip=False).to_list()]
    return Matrix(
        path=table.path,
        values=values,
        models=sides.cells,
        items=rows,
        groups=groups,
        texts=texts,
        strange=strange,
        notes=[
            *table.notes,
            f"a response matrix of {what}: the columns are models; if one of them is the score, "
            "say --column score=NAME",
        ],
        problems=table.problems,
    )


def _strange(column: Any, numbers: NDArray[np.float64]) -> list[tuple[int, str]]:
    """Return the cells that hold text which is no number."""
    if is_number_type(column.type) or not np.isnan(numbers).any():
        return []
    cells = labels_of(column).to_list()
    found = ((i, cells[i]) for i in np.flatnonzero(np.isnan(numbers)).tolist())
    return [(i, clean_text(c)[:40]) for i, c in found if c and c.lower() not in _MISSING]


def _short(label: str | None) -> str | None:
    return label if label is not None and len(label) <= _LABEL_CHARS else None


def _is_group(labels: Sequence[str | None]) -> bool:
    different = {label for label in labels if label is not None}
    return 2 <= len(different) <= len(labels) / 2 and max(map(len, different)) <= _LABEL_CHARS
