"""Readers of tables: CSV, TSV, JSON Lines, JSON lists, Parquet and Arrow files.

One row per item, or one row per item and option; what each column means is guessed from its name
(:mod:`benchharmony.readers.columns`) or told by ``ReadOptions.columns``. Recognised by content.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.assemble import evaluations_of
from benchharmony.readers.cells import array_of
from benchharmony.readers.columns import Table, plain, unique_names
from benchharmony.readers.delimited import header_of, read_delimited
from benchharmony.readers.matrix import evaluations_of_matrix, matrix_of
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, decode

_PARQUET_MAGIC = b"PAR1"
_ARROW_MAGIC = b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"

#: The first record of a JSON file may be longer than the head; this much is looked at.
_LONGEST_FIRST_LINE = 16 << 20

#: Structs are opened this deep: ``metric.acc`` can be named as a column.
_STRUCT_DEPTH = 2

#: More keys than this are no columns.
_MOST_COLUMNS = 1000

#: Where a value of a JSON record is, and the value.
_Cell = tuple[tuple[str, ...], Any]

#: Columns (without case and punctuation) that mark formats with readers of their own: reading
#: those as tables would lose or mistake what they mean.
_FOREIGN_RECORDS = (
    {"docid", "target", "arguments"},
    {"docid", "resps"},
    {"prompt0", "logit0"},
    {"itemid", "logits"},
)


def _sniff_parquet(file: SourceFile) -> bool:
    return file.head.startswith(_PARQUET_MAGIC)


def is_arrow(file: SourceFile) -> bool:
    """Whether a file is an Arrow file or stream."""
    if file.head.startswith(_ARROW_MAGIC):
        return True
    if not file.head.startswith(_STREAM_MAGIC):
        return False
    try:
        with file.open() as stream:
            pa.ipc.open_stream(cast(io.IOBase, stream))
        return True
    except (pa.ArrowException, OSError, EOFError, ValueError):
        return False


def _sniff_json_list(file: SourceFile) -> bool:
    head = file.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"["):
        return False
    start = head[1:].lstrip()
    return start.startswith(b"]") or (start.startswith(b"{") and not _begins_foreign(start))


def _sniff_json_lines(file: SourceFile) -> bool:
    head = file.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return False
    first, alone = _first_line(file)
    if not isinstance(first, dict) or _is_foreign(first):
        return False
    # One object alone, with objects inside, is a document and not a table of one row.
    return not (alone and any(_holds_objects(v) for v in first.values()))


def _holds_objects(value: Any) -> bool:
    inside = value if isinstance(value, list) else ()
    return isinstance(value, dict) or any(isinstance(v, (dict, list)) for v in inside)


def _first_line(file: SourceFile) -> tuple[Any, bool]:
    """Return the value of the first line that is not blank, and whether it is the only one."""
    with file.open() as stream:
        line = b"\n"
        while line and not line.strip():
            line = stream.readline(_LONGEST_FIRST_LINE)
        rest = stream.read(1024)
    try:
        return decode(line), not rest.strip()
    except ValueError:
        return None, not rest.strip()


def _begins_foreign(text: bytes) -> bool:
    """Whether the object that the text starts with is of a foreign format, as far as it goes."""
    try:
        first, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and _is_foreign(first)


def _is_foreign(record: dict[str, Any]) -> bool:
    names = {plain(name) for name in record}
    return any(foreign <= names for foreign in _FOREIGN_RECORDS)


def _sniff_delimited(file: SourceFile) -> bool:
    found = header_of(file)
    if found is None:
        return False
    header = found[1]
    is_mmlu = header[-1] == "correct" and all(name.isdigit() for name in header[:-1])
    losses = {"loss", "logodds_difference", "total_logprob"}
    is_inverse_scaling = header[0] == "index" and not losses.isdisjoint(header)
    return not (is_mmlu or is_inverse_scaling)


def _read_parquet(file: SourceFile) -> Table:
    source: Any = file.path if file.compression is None else pa.BufferReader(file.read_bytes())
    try:
        return table_of(str(file), pq.ParquetFile(source).read())
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(file, "Parquet", error) from None


def _read_arrow(file: SourceFile) -> Table:
    try:
        return table_of(str(file), arrow_of(file))
    except pa.ArrowException as error:
        raise _damaged(file, "Arrow", error) from None


def arrow_of(file: SourceFile) -> pa.Table:
    """Return an Arrow file or stream as an Arrow table.

    Raises
    ------
    InputError
        When it is damaged.
    """
    try:
        data = pa.py_buffer(file.read_bytes())
        is_file = file.head.startswith(_ARROW_MAGIC)
        reader = pa.ipc.open_file(data) if is_file else pa.ipc.open_stream(data)
        return reader.read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(file, "Arrow", error) from None


def _damaged(file: SourceFile, kind: str, error: Exception) -> InputError:
    reason = str(error).split("\n")[0]
    return InputError(str(file), f"not a whole {kind} file ({reason}); is it cut off?")


def table_of(path: str, found: pa.Table) -> Table:
    """Return an Arrow table as a :class:`Table`, structs opened into ``outer.inner`` columns.

    Raises
    ------
    pyarrow.ArrowInvalid
        When the data are damaged.
    """
    # Arrow data are used as they lie in a file: an offset that points outside would crash us.
    found.validate(full=True)
    whole = set(found.column_names)
    for _ in range(_STRUCT_DEPTH):
        if any(pa.types.is_struct(kind) for kind in found.schema.types):
            found = found.flatten()
    names = unique_names(found.column_names)
    return Table(
        path=path,
        columns=dict(zip(names, found.columns, strict=True)),
        lines=np.arange(1, found.num_rows + 1, dtype=np.int64),
        opened=frozenset(names) - whole if whole != set(found.column_names) else frozenset(),
    )


def _read_json_lines(file: SourceFile) -> Table:
    problems: list[Problem] = []
    records = list(file.records(problems))
    return _table_of_records(file, records, problems)


def _read_json_list(file: SourceFile) -> Table:
    problems: list[Problem] = []
    records = []
    for number, value in enumerate(file.read_json(), start=1):
        if isinstance(value, dict):
            records.append((number, value))
        else:
            reason = f"expected a JSON object, found {type(value).__name__}"
            problems.append(Problem(str(file), reason, number))
    return _table_of_records(file, records, problems)


def _table_of_records(
    file: SourceFile, records: Sequence[tuple[int, Mapping[str, Any]]], problems: list[Problem]
) -> Table:
    if not records:
        raise InputError(
            str(file), f"no usable row: {problems[0].reason}" if problems else "an empty list"
        )
    rows = [dict(_cells(record)) for _, record in records]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if len(keys) > _MOST_COLUMNS:  # objects used as lists: only the plain columns are kept
        keys = [key for key in keys if len(key) == 1]
    if len(keys) > _MOST_COLUMNS:
        raise InputError(str(file), f"{len(keys)} different keys; a table has the same in each row")
    names = unique_names(".".join(key) for key in keys)
    return Table(
        path=str(file),
        columns={
            name: array_of([row.get(key) for row in rows])
            for name, key in zip(names, keys, strict=True)
        },
        lines=np.array([line for line, _ in records], dtype=np.int64),
        opened=frozenset(n for n, key in zip(names, keys, strict=True) if len(key) > 1),
        problems=problems,
    )


def evaluations_of_table(
    table: Table,
    options: ReadOptions,
    *,
    benchmark: str,
    format_name: str,
    files: tuple[str, ...],
) -> list[Evaluation]:
    """Return the evaluations of a table: rows of items, or a matrix of models and items.

    Parameters
    ----------
    table : Table
        Columns and line numbers.
    options : ReadOptions
        What the caller says about them.
    benchmark : str
        Name where neither the table nor the options give one.
    format_name : str
        Name of the format, and ``files`` its files, for ``Evaluation.source``.
    files : tuple of str
        Files behind the table.

    Raises
    ------
    InputError
        When the table has no usable row.
    """
    matrix = matrix_of(table, options)
    if matrix is not None:
        name = options.benchmark or benchmark
        return evaluations_of_matrix(matrix, name, format_name, files)
    return evaluations_of(table, options, benchmark=benchmark, format_name=format_name, files=files)


def evaluations_of_records(
    file: SourceFile,
    records: Sequence[tuple[int, Mapping[str, Any]]],
    problems: list[Problem],
    options: ReadOptions,
    *,
    format_name: str,
) -> list[Evaluation]:
    """Return the evaluations of numbered records, by the rules of tables.

    Raises
    ------
    InputError
        When there is no record or the table has no usable row.
    """
    table = _table_of_records(file, records, problems)
    stem = Path(file.name).stem
    return evaluations_of_table(
        table, options, benchmark=stem, format_name=format_name, files=(str(file),)
    )


def _cells(record: Mapping[str, Any], outer: tuple[str, ...] = ()) -> Iterator[_Cell]:
    """Yield the cells of a record; objects are opened, and what lies deeper is left out."""
    for name, value in record.items():
        if isinstance(value, dict):
            if len(outer) < _STRUCT_DEPTH:
                yield from _cells(value, (*outer, name))
        elif not isinstance(value, list) or not _holds_objects(value):
            yield (*outer, name), value


_LOADERS: tuple[
    tuple[str, str, str, Callable[[SourceFile], bool], Callable[[SourceFile], Table]], ...
] = (
    (
        *("Parquet table", "Parquet with one row per item or option", "results.parquet"),
        *(_sniff_parquet, _read_parquet),
    ),
    (
        *("Arrow table", "Arrow file or stream, rows as above", "results.arrow"),
        *(is_arrow, _read_arrow),
    ),
    (
        *(
            "JSON table",
            "a JSON list of objects, rows as above",
            '[{"id": 1, "correct": true}, ...]',
        ),
        *(_sniff_json_list, _read_json_list),
    ),
    (
        *("JSONL table", "JSON Lines, rows as above", '{"id": 1, "correct": true}'),
        *(_sniff_json_lines, _read_json_lines),
    ),
    (
        *("CSV table", "CSV or TSV, rows as above", "id,correct,subject"),
        *(_sniff_delimited, read_delimited),
    ),
)


def table_loader(file: SourceFile) -> Callable[[SourceFile], Table] | None:
    """Return what reads a file as a table; None where it is none."""
    return next((load for *_, sniff, load in _LOADERS if sniff(file)), None)


def _reader(
    name: str,
    description: str,
    example: str,
    sniff: Callable[[SourceFile], bool],
    load: Callable[[SourceFile], Table],
) -> Reader:
    def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
        stem = Path(file.name).stem
        return evaluations_of_table(
            load(file), options, benchmark=stem, format_name=name, files=(str(file),)
        )

    return Reader(name, description, sniff, read, example)


READERS: tuple[Reader, ...] = tuple(_reader(*parts) for parts in _LOADERS)
