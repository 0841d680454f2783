"""Tables with one row per option, turned into tables with one row per item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.readers.cells import Labels, index_number, labels_of, numbers_of, whole_numbers_of
from benchharmony.readers.columns import Roles, Table

#: Columns made here; the control character keeps them apart from any column of the source.
_OPTIONS, _CHOICES, _GOLD = "\x1foptions", "\x1fchoices", "\x1fgold"


@dataclass(frozen=True)
class _Layout:
    """Rows sorted by item and option.

    Attributes
    ----------
    order : ndarray of int64, shape (r,)
        Rows of the source, items by first appearance, options in their order.
    item : ndarray of int64, shape (r,)
        Item of each sorted row, 0, 0, 0, 1, ...
    first : ndarray of int64, shape (n,)
        The row of the source where each item first appears.
    starts : ndarray of int64, shape (n + 1,)
        Where each item's sorted rows begin.
    """

    order: NDArray[np.int64]
    item: NDArray[np.int64]
    first: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def rank(self) -> NDArray[np.int64]:
        """0-based place of each sorted row within its item."""
        place: NDArray[np.int64] = np.arange(len(self.item)) - self.starts[self.item]
        return place


def one_row_per_item(table: Table, roles: Roles) -> tuple[Table, Roles]:
    """Return a table with one row per item, and what its columns mean.

    A table is taken as one row per option when it has an option and a log-likelihood column and
    item ids repeat; any other table is returned as it is. Items with a missing, repeated or
    unusable option become problems.

    Raises
    ------
    InputError
        When no item has all its options, or the score column that the caller named differs
        between the options of an item.
    """
    if roles.option is None or roles.option_logprob is None or roles.item_id is None:
        return table, replace(roles, option=None, option_logprob=None, option_text=None)
    key = _item_keys(table, roles)
    known = key[key >= 0]
    if roles.option_logprobs or len(np.unique(known)) == len(known):
        return table, replace(roles, option=None, option_logprob=None, option_text=None)
    options = labels_of(table.columns[roles.option])
    logprobs = numbers_of(table.columns[roles.option_logprob], decimal_comma=table.decimal_comma)
    positions = whole_numbers_of(options)
    layout = _layout(key, positions)
    reasons = _reasons(layout, positions, options, logprobs)
    return _collapsed(table, roles, layout, options, logprobs, reasons)


def _item_keys(table: Table, roles: Roles) -> NDArray[np.int64]:
    """Return a number for each (benchmark, model, id); -1 where the id is empty."""
    ids = labels_of(table.columns[roles.item_id or ""]).codes
    key = ids.copy()
    for name in (roles.model, roles.benchmark):
        if name is not None:
            labels = labels_of(table.columns[name])
            key = key * (len(labels.values) + 1) + labels.codes + 1
    return np.where(ids < 0, -1, key)


def _layout(key: NDArray[np.int64], positions: NDArray[np.float64]) -> _Layout:
    rows = np.flatnonzero(key >= 0)
    _, first, inverse = np.unique(key[rows], return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))
    item = by_appearance[inverse.ravel()]
    # Options that are texts keep the order in which they appear.
    place = positions[rows] if np.isfinite(positions[rows]).all() else np.zeros(len(rows))
    order = np.lexsort((np.arange(len(rows)), place, item))
    starts = np.concatenate([[0], np.cumsum(np.bincount(item))])
    return _Layout(rows[order], item[order], rows[np.sort(first)], starts)


def _reasons(
    layout: _Layout,
    positions: NDArray[np.float64],
    options: Labels,
    logprobs: NDArray[np.float64],
) -> dict[int, str]:
    """Return why an item cannot be used, by item; the first reason found."""
    rows = layout.order
    reasons: dict[int, str] = {}

    def blame(bad: NDArray[np.bool_], reason: str) -> None:
        for sorted_row in np.flatnonzero(bad).tolist():
            code = int(options.codes[rows[sorted_row]])
            name = "(empty)" if code < 0 else options.values[code]
            reasons.setdefault(int(layout.item[sorted_row]), reason.format(name))

    place = positions[rows]
    if np.isfinite(place).all():
        numbers = all(index_number(v) is not None for v in options.values)  # not letters
        base = 1.0 if numbers and place.min(initial=np.inf) == 1 else 0.0
        same = (layout.rank > 0) & (place == np.roll(place, 1))
        blame(same, "option {} occurs more than once")
        blame(place - base != layout.rank, "an option is missing before option {}")
    else:
        codes = options.codes[rows]
        pair = layout.item * (len(options.values) + 1) + codes + 1
        repeated = np.ones(len(pair), dtype=bool)
        repeated[np.unique(pair, return_index=True)[1]] = False
        blame(codes < 0, "a row without an option")
        blame(repeated, "option {} occurs more than once")
    values = logprobs[rows]
    blame(np.isnan(values) | (values == np.inf), "option {} has no usable log-likelihood")
    return reasons


def _collapsed(
    table: Table,
    roles: Roles,
    layout: _Layout,
    options: Labels,
    logprobs: NDArray[np.float64],
    reasons: dict[int, str],
) -> tuple[Table, Roles]:
    columns, varied = _constant_columns(table, roles, layout)
    gold, notes = _gold_of_items(table, roles, layout, options, varied)
    texts = _option_texts(table, roles, layout, options, varied)
    offsets: Any = pa.array(layout.starts, pa.int32())
    columns[_OPTIONS] = pa.ListArray.from_arrays(offsets, pa.array(logprobs[layout.order]))
    if texts is not None:
        columns[_CHOICES] = pa.ListArray.from_arrays(offsets, pa.array(texts, pa.string()))
    if gold is not None:
        columns[_GOLD] = pa.array(gold, mask=gold < 0)
    kept = np.array([i for i in range(len(layout.first)) if i not in reasons], dtype=np.int64)
    problems = table.problems + _problems(table, roles, layout, reasons)
    if not len(kept):
        raise InputError(
            table.path, f"no item has all its options; the first: {problems[0].reason}"
        )
    collapsed = Table(
        path=table.path,
        columns={
            k: pa.chunked_array([c]).take(pa.array(kept, pa.int64())) for k, c in columns.items()
        },
        lines=table.lines[layout.first][kept],
        decimal_comma=table.decimal_comma,
        opened=table.opened,
        problems=problems,
        notes=table.notes + notes,
    )
    return collapsed, replace(
        roles,
        scores=tuple(s for s in roles.scores if s not in varied),
        gold=None if gold is None else _GOLD,
        choices=(_CHOICES,) if texts is not None else _kept(roles.choices, columns),
        option_logprobs=(_OPTIONS,),
        option=None,
        option_logprob=None,
        option_text=None,
        text=roles.text if roles.text in columns else None,
        groups=_kept(roles.groups, columns),
    )


def _kept(names: tuple[str, ...], columns: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in names if name in columns)


def _constant_columns(
    table: Table, roles: Roles, layout: _Layout
) -> tuple[dict[str, Any], set[str]]:
    """Return the columns that say one thing per item, one row per item, and the others' names."""
    constant: dict[str, Any] = {}
    varied: set[str] = set()
    for name, column in table.columns.items():
        if name in (roles.option, roles.option_logprob):
            varied.add(name)
            continue
        codes = labels_of(column).codes[layout.order]
        if (codes == codes[layout.starts[layout.item]]).all():
            constant[name] = column.take(pa.array(layout.first)).combine_chunks()
        else:
            varied.add(name)
    told = roles.scores[0] if roles.score_told else None
    if told in varied and _flagged(table, told, layout) is None:
        raise InputError(table.path, f"column {told!r} differs between the options of an item")
    return constant, varied


def _flagged(table: Table, name: str | None, layout: _Layout) -> NDArray[np.int64] | None:
    """Return the option that a 0/1 column marks in each item (-1 for none or several)."""
    if name is None:
        return None
    values = numbers_of(table.columns[name])[layout.order]
    if not np.isin(values, (0, 1)).all():
        return None
    marked = values == 1
    count = np.bincount(layout.item, marked)
    place = np.bincount(layout.item, marked * layout.rank).astype(np.int64)
    return np.where(count == 1, place, -1)


def _gold_of_items(
    table: Table, roles: Roles, layout: _Layout, options: Labels, varied: set[str]
) -> tuple[NDArray[np.int64] | None, list[str]]:
    """Return the position of the right option of each item, and what was made of which column.

    A column that differs between the options marks the right one with 1; one that does not
    names it, as the option column does.
    """
    if roles.gold is not None and roles.gold not in varied:
        named = labels_of(table.columns[roles.gold]).to_list()
        labels = options.to_list()
        match = [named[row] is not None and named[row] == labels[row] for row in layout.order]
        count = np.bincount(layout.item, match)
        place = np.bincount(layout.item, np.array(match) * layout.rank).astype(np.int64)
        if (count == 1).any():
            return np.where(count == 1, place, -1), []
    for name in (roles.gold, *roles.scores):
        if name in varied:
            flags = _flagged(table, name, layout)
            if flags is not None:
                return flags, [f"column {name!r} is taken as the mark of the right option"]
    return None, []


def _option_texts(
    table: Table, roles: Roles, layout: _Layout, options: Labels, varied: set[str]
) -> list[str] | None:
    """Return the text of each option in order, where a column holds it."""
    column = options
    if roles.option_text is not None and roles.option_text in varied - {roles.option}:
        column = labels_of(table.columns[roles.option_text], strip=False)
    if column is options and np.isfinite(whole_numbers_of(options)[layout.order]).all():
        return None  # letters or numbers, not texts
    labels = column.to_list()
    return [labels[row] or "" for row in layout.order]


def _problems(
    table: Table, roles: Roles, layout: _Layout, reasons: dict[int, str]
) -> list[Problem]:
    ids = labels_of(table.columns[roles.item_id or ""])
    problems = [
        Problem(table.path, "no item id in this row", int(table.lines[row]))
        for row in np.flatnonzero(ids.codes < 0)
    ]
    for item, reason in sorted(reasons.items()):
        row = layout.first[item]
        name = ids.values[ids.codes[row]]
        problems.append(Problem(table.path, reason, int(table.lines[row]), name))
    return problems
