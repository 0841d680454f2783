"""Evaluations from a table: one for each model and benchmark that its rows name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.answers import Answers, answers_of
from benchharmony.readers.cells import Labels, labels_of
from benchharmony.readers.columns import Roles, Table, assign_roles
from benchharmony.readers.harness_runs import model_of_directory
from benchharmony.readers.long_form import one_row_per_item
from benchharmony.readers.side_columns import SideColumns, side_columns_of
from benchharmony.readers.source import ReadOptions

#: How much of a cell a message quotes.
_QUOTED_CHARS = 60


@dataclass(frozen=True)
class _Rows:
    """A table with its columns understood.

    ``ids`` is None when no column holds ids; ``benchmarks`` and ``models`` hold one label for
    every row when no column names them. ``evaluation`` numbers the (benchmark, model) of each row
    by first appearance, -1 where one of them is empty.
    """

    table: Table
    answers: Answers
    ids: Labels | None
    benchmarks: Labels
    models: Labels
    texts: Labels | None
    side: SideColumns
    evaluation: NDArray[np.int64]


def evaluations_of(
    table: Table, options: ReadOptions, *, benchmark: str, format_name: str, files: tuple[str, ...]
) -> list[Evaluation]:
    """Return the evaluations of a table, in the order in which their rows appear.

    Parameters
    ----------
    table : Table
        Columns and line numbers.
    options : ReadOptions
        Columns that the caller named, and names to use where the table gives none.
    benchmark : str
        Name of the benchmark where neither the table nor the options give one.
    format_name : str
        Name of the format, and ``files`` its files, for ``Evaluation.source``.
    files : tuple of str
        Files behind the table.

    Raises
    ------
    InputError
        When no column can be the score, scores leave [0, 1], or no row is usable.
    """
    if not len(table):
        raise InputError(table.path, "no rows")
    roles = assign_roles(table, options.columns)
    table, roles = one_row_per_item(table, roles)
    model = options.model or _model_of_folder(files) or "unknown"
    rows = _understand(table, roles, options.benchmark or benchmark, model)
    kept, problems = _usable(rows)
    # What belongs to no evaluation is told with the first one.
    general = table.problems + [p for k, own in problems.items() if not len(kept[k]) for p in own]
    found: list[Evaluation] = []
    for k, mine in kept.items():
        if len(mine):
            own = tuple(([] if found else general) + problems[k])
            source = Source(format_name, files, len(mine) + len(own), own)
            found.append(_evaluation(rows, mine, source))
    if not found:
        first = general[0]
        reason = f"no usable row of {len(general)}; the first: {first.reason}"
        raise InputError(table.path, reason, first.line)
    return found


def _model_of_folder(files: tuple[str, ...]) -> str | None:
    return model_of_directory(Path(files[0]).absolute().parent.name) if files else None


def _understand(table: Table, roles: Roles, benchmark: str, model: str) -> _Rows:
    answers = answers_of(table, roles)
    ids = None if roles.item_id is None else labels_of(table.columns[roles.item_id])
    benchmarks = _names(table, roles.benchmark, benchmark)
    models = _names(table, roles.model, model)
    evaluation = _numbered(benchmarks.codes, models.codes)
    if ids is None:
        n_items = int(np.bincount(evaluation + 1, minlength=2)[1:].max())
    else:
        n_items = len(np.unique(benchmarks.codes * (len(ids.values) + 1) + ids.codes))
    side = side_columns_of(
        table, answers.used | roles.used, roles.scores, roles.groups, evaluation, n_items
    )
    texts = None
    if roles.text is not None:
        labels = labels_of(table.columns[roles.text], strip=False)
        texts = labels if labels.values else None
    return _Rows(table, answers, ids, benchmarks, models, texts, side, evaluation)


def _names(table: Table, column: str | None, default: str) -> Labels:
    if column is not None:
        labels = labels_of(table.columns[column])
        if labels.values:
            return labels
    return Labels(np.zeros(len(table), dtype=np.int64), [default])


def _numbered(benchmarks: NDArray[np.int64], models: NDArray[np.int64]) -> NDArray[np.int64]:
    pair = benchmarks * (int(models.max()) + 2) + models
    pair[(benchmarks < 0) | (models < 0)] = -1
    values, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    first = np.where(values < 0, -1, first)
    by_appearance = np.argsort(np.argsort(first))
    number: NDArray[np.int64] = by_appearance[inverse.ravel()] - int((values < 0).any())
    return number


def _usable(rows: _Rows) -> tuple[dict[int, NDArray[np.int64]], dict[int, list[Problem]]]:
    """Return, for each evaluation, its usable rows and a problem for every other row."""
    reasons: dict[int, str] = {}
    for bad, words in _complaints(rows):
        for row in np.flatnonzero(bad).tolist():
            reasons.setdefault(row, words(row))
    numbers = sorted(set(rows.evaluation.tolist()))
    kept: dict[int, list[int]] = {k: [] for k in numbers}
    problems: dict[int, list[Problem]] = {k: [] for k in numbers}
    first: dict[tuple[int, int], int] = {}
    for row, evaluation in enumerate(rows.evaluation.tolist()):
        reason = reasons.get(row) or _repeat(rows, row, evaluation, first)
        if reason is None:
            kept[evaluation].append(row)
        else:
            problems[evaluation].append(_problem(rows, row, reason))
    return {k: np.array(v, dtype=np.int64) for k, v in kept.items()}, problems


def _repeat(
    rows: _Rows, row: int, evaluation: int, first: dict[tuple[int, int], int]
) -> str | None:
    """Return why a row repeats an earlier one, and remember it in ``first`` when it does not."""
    if rows.ids is None:
        return None
    earlier = first.setdefault((evaluation, int(rows.ids.codes[row])), row)
    if earlier == row:
        return None
    return "the item id of an earlier row, which is kept"


def _complaints(rows: _Rows) -> Iterator[tuple[Any, Callable[[int], str]]]:
    if rows.ids is not None:
        yield rows.ids.codes < 0, lambda row: "no item id in this row"
    yield rows.models.codes < 0, lambda row: "no model name in this row"
    yield rows.benchmarks.codes < 0, lambda row: "no benchmark name in this row"
    answers = rows.answers
    if answers.column is not None and answers.scores is not None:
        cells = labels_of(rows.table.columns[answers.column])
        yield (
            np.isnan(answers.scores),
            lambda row: _score_reason(str(answers.column), cells.to_list(np.array([row]))[0]),
        )
        return
    if answers.options is not None:
        no_options = np.isnan(answers.options).all(axis=1)
        yield no_options, lambda row: "no usable option log-likelihoods in this row"
    if answers.scores is not None:
        yield np.isnan(answers.scores), lambda row: "no right option in this row"


def _score_reason(column: str, cell: str | None) -> str:
    if cell is None:
        return f"score column {column!r} is empty"
    shown = cell if len(cell) <= _QUOTED_CHARS else cell[:_QUOTED_CHARS] + "..."
    return f"score column {column!r} holds {shown!r}, which is no score"


def _problem(rows: _Rows, row: int, reason: str) -> Problem:
    item = None
    if rows.ids is not None and rows.ids.codes[row] >= 0:
        item = rows.ids.values[rows.ids.codes[row]]
    return Problem(rows.table.path, reason, int(rows.table.lines[row]), item)


def _evaluation(rows: _Rows, kept: NDArray[np.int64], source: Source) -> Evaluation:
    answers = rows.answers
    notes = [*rows.table.notes, *answers.notes]
    if rows.ids is None:
        notes.append("no item id column: items are numbered by their place in the table")
        # Places within the evaluation, so that models listed one after another line up.
        mine = rows.evaluation == rows.evaluation[kept[0]]
        ids: list[Any] = (np.cumsum(mine) - 1)[kept].tolist()
    else:
        ids = [rows.ids.values[code] for code in rows.ids.codes[kept].tolist()]
    options, option_notes = _options(rows, kept)
    choices = None
    if answers.choices is not None:
        choices = [answers.choices[row] or () for row in kept.tolist()]
    metrics = {name: values[kept] for name, values in rows.side.metrics.items()}
    code = kept[0]
    return Evaluation.from_arrays(
        benchmark=rows.benchmarks.values[rows.benchmarks.codes[code]],
        model=rows.models.values[rows.models.codes[code]],
        item_ids=ids,
        scores=None if answers.scores is None else answers.scores[kept],
        score_name=answers.score_name,
        metrics={name: v for name, v in metrics.items() if not np.isnan(v).all()},
        option_logprobs=options,
        gold=_gold(answers, kept, options, choices),
        groups={name: labels.to_list(kept) for name, labels in rows.side.groups.items()},
        texts=None if rows.texts is None else [t or "" for t in rows.texts.to_list(kept)],
        choices=choices,
        metadata=_facts(rows, code),
        notes=[*notes, *option_notes],
        source=source,
    )


def _gold(
    answers: Answers,
    kept: NDArray[np.int64],
    options: NDArray[np.float64] | None,
    choices: list[tuple[str, ...]] | None,
) -> NDArray[np.int64] | None:
    if answers.gold is None:
        return None
    gold = answers.gold[kept]
    if options is None and choices is not None:
        # The index was checked against options that are not used.
        gold = np.where(gold < [len(c) for c in choices], gold, -1)
    return None if (gold < 0).all() else gold


def _options(rows: _Rows, kept: NDArray[np.int64]) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return the options of the items, or none at all when some items lack theirs."""
    if rows.answers.options is None:
        return None, []
    options = rows.answers.options[kept]
    lacking = np.isnan(options).all(axis=1)
    if lacking.any():
        line = rows.table.lines[kept[int(np.argmax(lacking))]]
        return None, [
            f"option log-likelihoods are not used: {int(lacking.sum())} of {len(kept)} items have "
            f"none that are usable, the first in line {line}"
        ]
    return options[:, ~np.isnan(options).all(axis=0)], []


def _facts(rows: _Rows, row: int) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, labels in rows.side.facts.items():
        if labels.codes[row] >= 0:
            facts[name] = _fact(labels.values[labels.codes[row]])
    return facts


def _fact(text: str) -> str | int | float:
    """Return a number where nothing is lost by it ("007" stays text)."""
    kinds: tuple[type[int] | type[float], ...] = (int, float)
    for kind in kinds:
        try:
            value = kind(text)
        except ValueError:
            continue
        if str(value) == text and np.isfinite(value):
            return value
    return text
