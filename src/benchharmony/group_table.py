"""Declared groups from a second table: ``--groups subjects.csv --on id``.

The table has one row per key. A key is an item id, a question, or a label that the items already
have (subject -> field), and every other column becomes a declared column of the evaluations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import Evaluation, clean_text
from benchharmony.item_keys import item_key, item_keys
from benchharmony.readers.cells import array_of, labels_of
from benchharmony.readers.columns import NAMES, Table, plain
from benchharmony.readers.delimited import header_of, read_delimited
from benchharmony.readers.source import SourceFile
from benchharmony.readers.tables import table_of

_PARQUET = b"PAR1"
_TEXT_NAMES = frozenset(map(plain, NAMES["text"]))
_BENCHMARK_NAMES = frozenset(("benchmark", "benchmarkname"))
#: Keys that a message names.
_NAMED = 3

#: A benchmark, or None for any, and a value of the key column.
_Key = tuple[str | None, str]


@dataclass(frozen=True)
class GroupTable:
    """Labels by key.

    Attributes
    ----------
    path : str
        The file.
    on : str
        The key column, as the table names it.
    columns : mapping of str to (mapping of key to str or None)
        The other columns. A key is (benchmark or None, value); the benchmark is there where the
        table has a column of that name.
    keys : tuple of key
        In the order of the rows.
    notes : tuple of str
        Rows without a key and columns that are no groups.
    """

    path: str
    on: str
    columns: Mapping[str, Mapping[_Key, str | None]]
    keys: tuple[_Key, ...]
    notes: tuple[str, ...]


def read_groups(path: str | Path, on: str | None = None) -> GroupTable:
    """Read a table of labels: CSV, TSV, Parquet, JSON Lines or a JSON list of objects.

    Parameters
    ----------
    path : path
        The file; gzip and zstd are read through.
    on : str, optional
        The column that holds the keys; by default the first that is named as an item id.

    Raises
    ------
    InputError
        When the file is missing or no table, has no such column, a key twice, or no other column
        that could hold groups.
    """
    file = SourceFile(path)
    if not file.path.is_file():
        raise InputError(str(file), "no such file; --groups takes a table with a row per item")
    table = _table(file)
    name = _key_column(table, on)
    benchmarks = [c for c in table.columns if plain(c) in _BENCHMARK_NAMES and c != name]
    values = labels_of(table.columns[name]).to_list()
    of = labels_of(table.columns[benchmarks[0]]).to_list() if benchmarks else [None] * len(values)
    keys = [None if v is None else (b, v) for b, v in zip(of, values, strict=True)]
    _refuse_repeats(table, name, keys)
    columns, dropped = _label_columns(table, {name, *benchmarks[:1]}, keys)
    if not columns:
        raise InputError(
            str(file),
            f"no column of groups beside {name!r}: every other column is empty or has another "
            "value in each row",
        )
    notes = [*dropped, *map(str, table.problems)]
    if keyless := sum(k is None for k in keys):
        notes.append(f"{file}: {keyless} rows have no {name!r} and are left out")
    return GroupTable(
        str(file), name, columns, tuple(k for k in keys if k is not None), tuple(notes)
    )


def join_groups(
    evaluations: Sequence[Evaluation], table: GroupTable
) -> tuple[tuple[Evaluation, ...], tuple[str, ...]]:
    """Return the evaluations with the table's columns as declared columns, and what to tell.

    Keys are looked up among the items' labels where an evaluation has a declared column named as
    the key, else among questions where the key column is named as one, else among item ids. A
    column that the log has as well is replaced. Items that are not in the table have no label.

    Raises
    ------
    BenchharmonyError
        When the table holds no item of any evaluation.
    """
    used: set[_Key] = set()
    out, notes = [], [*table.notes]
    for evaluation in evaluations:
        found, kind = _keys_of(evaluation, table)
        here = [k for k in found if k is not None]
        if not here:
            notes.append(_stranger(evaluation, table, kind))
            out.append(evaluation)
            continue
        used.update(here)
        more = _missing_note(evaluation, table, found)
        replaced = [c for c in table.columns if c in evaluation.groups]
        if replaced:
            more += (
                f"{table.path} replaces the log's own labels of {', '.join(map(repr, replaced))}",
            )
        joined = {
            column: tuple(None if k is None else labels.get(k) for k in found)
            for column, labels in table.columns.items()
        }
        out.append(
            replace(
                evaluation,
                groups={**evaluation.groups, **joined},
                notes=(*evaluation.notes, *more),
            )
        )
    if not used:
        raise BenchharmonyError(next(n for n in notes if n not in table.notes))
    unused = [k for k in table.keys if k not in used]
    if unused:
        notes.append(
            f"{table.path}: {len(unused)} of {len(table.keys)} rows match no item "
            f"({_some([v for _, v in unused])})"
        )
    return tuple(out), tuple(notes)


def _table(file: SourceFile) -> Table:
    """Return the columns of a file, known by its content."""
    start = file.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if file.head.startswith(_PARQUET):
        source = file.path if file.compression is None else pa.BufferReader(file.read_bytes())
        try:
            return table_of(str(file), pq.ParquetFile(source).read())
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(str(file), f"not a whole Parquet file ({reason})") from None
    if start == b"{":
        problems: list[Problem] = []
        rows = list(file.records(problems))
        return _of_records(file, rows, problems)
    if start == b"[":
        listed = list(enumerate(file.read_json(), start=1))
        return _of_records(file, [(n, v) for n, v in listed if isinstance(v, dict)], [])
    if header_of(file) is None:
        raise InputError(
            str(file), "no table: --groups takes CSV, TSV, Parquet, JSON Lines or a JSON list"
        )
    return read_delimited(file)


def _of_records(
    file: SourceFile, rows: Sequence[tuple[int, Mapping[str, object]]], problems: list[Problem]
) -> Table:
    if not rows:
        raise InputError(str(file), str(problems[0].reason) if problems else "no row in this file")
    names = dict.fromkeys(name for _, row in rows for name in row)
    return Table(
        path=str(file),
        columns={clean_text(n): array_of([row.get(n) for _, row in rows]) for n in names},
        lines=np.array([line for line, _ in rows], dtype=np.int64),
        problems=problems,
    )


def _key_column(table: Table, on: str | None) -> str:
    there = ", ".join(map(repr, table.columns))
    if on is None:
        known = {plain(n): n for n in reversed(list(table.columns))}
        name = next((known[plain(n)] for n in NAMES["item_id"] if plain(n) in known), None)
        if name is None:
            raise InputError(
                table.path, f"no column is named as an item id; say which with --on ({there})"
            )
        return name
    if on not in table.columns:
        raise InputError(table.path, f"no column {on!r} to join on; columns there: {there}")
    return on


def _refuse_repeats(table: Table, name: str, keys: Sequence[_Key | None]) -> None:
    first: dict[_Key, int] = {}
    again: dict[_Key, int] = {}
    for row, key in enumerate(keys):
        if key is not None and first.setdefault(key, row) != row:
            again.setdefault(key, row)
    if not again:
        return
    key, row = next(iter(again.items()))
    raise InputError(
        table.path,
        f"{len(again)} values of {name!r} occur more than once, the first is {key[1]!r} (also in "
        f"line {table.lines[first[key]]}); a key needs one row. Ids of several benchmarks are told "
        "apart by a column 'benchmark'",
        int(table.lines[row]),
    )


def _label_columns(
    table: Table, taken: set[str], keys: Sequence[_Key | None]
) -> tuple[dict[str, dict[_Key, str | None]], list[str]]:
    """Return the columns that can hold groups, and notes on those that cannot."""
    columns, dropped = {}, []
    for name, column in table.columns.items():
        if name in taken:
            continue
        labels = labels_of(column).to_list()
        given = {k: v for k, v in zip(keys, labels, strict=True) if k is not None}
        values = [v for v in given.values() if v is not None]
        if values and (len(set(values)) < len(values) or len(values) == 1):
            columns[name] = given
        else:
            why = "has another value in each row" if values else "is empty"
            dropped.append(f"{table.path}: column {name!r} {why} and is no column of groups")
    return columns, dropped


def _keys_of(evaluation: Evaluation, table: GroupTable) -> tuple[list[_Key | None], str]:
    """Return the key of every item that the table holds, None for the others, and their kind."""
    known = set(table.keys)
    if table.on in evaluation.groups:
        values: list[str | None] = list(evaluation.groups[table.on])
        kind = f"labels of {table.on!r}"
    elif plain(table.on) in _TEXT_NAMES and evaluation.texts is not None:
        hashes = {item_key(v): (b, v) for b, v in table.keys}
        named = [hashes.get(k) for k in item_keys(evaluation, options=False)]
        wanted = (None, evaluation.benchmark)
        return [k if k and k[0] in wanted else None for k in named], "questions"
    else:
        values, kind = list(evaluation.item_ids), "item ids"
    out: list[_Key | None] = []
    for value in values:
        tried = [] if value is None else [(evaluation.benchmark, value), (None, value)]
        out.append(next((k for k in tried if k in known), None))
    return out, kind


def _missing_note(
    evaluation: Evaluation, table: GroupTable, found: Sequence[_Key | None]
) -> tuple[str, ...]:
    rows = [i for i, k in enumerate(found) if k is None]
    if not rows:
        return ()
    by_label = evaluation.groups.get(table.on)
    named = dict.fromkeys(str((by_label or evaluation.item_ids)[i]) for i in rows)
    return (
        f"groups from {table.path}: {len(rows)} of {len(found)} items are not in it "
        f"({_some(list(named))})",
    )


def _stranger(evaluation: Evaluation, table: GroupTable, kind: str) -> str:
    if kind == "questions" and evaluation.texts:
        here = evaluation.texts[0]
    elif kind == "item ids":
        here = evaluation.item_ids[0]
    else:
        here = next((v for v in evaluation.groups[table.on] if v is not None), "")
    there = table.keys[0][1] if table.keys else ""
    return (
        f"{evaluation.name}: none of its {kind} occurs in column {table.on!r} of {table.path} "
        f"(first here: {here[:60]!r}; there: {there[:60]!r})"
    )


def _some(values: Sequence[str]) -> str:
    return ", ".join(values[:_NAMED]) + (", ..." if len(values) > _NAMED else "")
