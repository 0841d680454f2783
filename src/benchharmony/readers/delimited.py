"""Text tables: comma, semicolon or tab separated values as columns of text with line numbers."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.readers.cells import Column, count_newlines
from benchharmony.readers.columns import Table, is_known_name, unique_names
from benchharmony.readers.source import HEAD_BYTES, SourceFile

_DELIMITERS = (",", "\t", ";")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: Records of the head that are looked at to tell the delimiter.
_LOOKED_AT = 20
#: A header of column names may be this long; a longer line is no header.
_LONGEST_HEADER = 16 << 20
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, (1 << 31) - 1


@dataclass(frozen=True)
class _Ragged:
    """A record with another number of cells than the header; ``number`` counts from 1."""

    number: int
    cells: int
    newlines: int


def header_of(file: SourceFile) -> tuple[str, list[str]] | None:
    """Return the delimiter and the header of a text table; None when the file is none."""
    head = _text(_head(file))
    if head is None or "\0" in head or head.lstrip()[:1] in ("{", "[", "<", ""):
        return None
    candidates = [(d, _records(head, d)) for d in _DELIMITERS]
    delimiter, records = max(candidates, key=lambda c: _plausibility(c[1]))
    header = [name.strip() for name in records[0]] if records else []
    if len(header) > 1 or (header and is_known_name(header[0])):
        return delimiter, header
    return None


def _head(file: SourceFile) -> bytes:
    """Return the head of a file, all of its first line included (a wide table has a long one)."""
    if b"\n" in file.head or len(file.head) < HEAD_BYTES:
        return file.head
    with file.open() as stream:
        return stream.readline(_LONGEST_HEADER)


def _text(head: bytes) -> str | None:
    """Return the text of UTF-8 or marked UTF-16 bytes, which may end inside a character."""
    name = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    try:
        return codecs.getincrementaldecoder(name)("replace").decode(head)
    except UnicodeError:
        return None


def _records(head: str, delimiter: str) -> list[list[str]]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) == _LOOKED_AT:
                break
    except csv.Error:  # what came before is enough
        pass
    return records


def _plausibility(records: list[list[str]]) -> tuple[int, int, int]:
    """How well a delimiter explains the head: known names, then even rows, then columns."""
    width = len(records[0]) if records else 0
    if width < 2:
        return (0, 0, width)
    known = sum(map(is_known_name, records[0]))
    return known, sum(len(r) == width for r in records), width


def read_delimited(file: SourceFile) -> Table:
    """Read a text table; cells stay text, records of another length become problems.

    Raises
    ------
    InputError
        When the first line holds numbers, there is a header but no row, or nothing can be parsed.
    """
    found = header_of(file)
    if found is None:
        raise InputError(str(file), "not a table with a header line")
    delimiter, header = found
    if all(_is_number(name) for name in header if name):
        raise InputError(
            str(file), "its first line holds numbers: a table needs a line of column names first"
        )
    data, notes = _utf8(file.read_bytes())
    columns, ragged = _parse(file, data, delimiter, len(header))
    lines, ragged_lines = _line_numbers(columns, ragged)
    problems = [
        Problem(str(file), _ragged_reason(r, len(header)), line)
        for r, line in zip(ragged, ragged_lines, strict=True)
    ]
    filled = np.flatnonzero(_filled(columns)[1:]) + 1  # the header is row 0
    if not len(filled):
        reason = f"no usable row: {problems[0].reason}" if problems else "a header but no rows"
        raise InputError(str(file), reason)
    rows: Any = pa.array(filled)
    return Table(
        path=str(file),
        columns={
            name: column.take(rows)
            for name, column in zip(unique_names(header), columns, strict=True)
        },
        lines=lines[filled],
        decimal_comma=delimiter != ",",
        problems=problems,
        notes=notes,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _utf8(data: bytes) -> tuple[bytes, list[str]]:
    """Return UTF-8 lines that end with a line feed, without a byte order mark, and notes."""
    notes = []
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        count = text.count("\ufffd")
        notes.append(f"not all of it is {encoding.upper()} text: {count} characters were replaced")
    if notes or encoding == "utf-16":
        data = text.encode()
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if data.count(b'"') % 2:
        notes.append("an odd number of quote marks; is a quote opened and never closed?")
    return (data if data.endswith(b"\n") else data + b"\n"), notes


def _parse(
    file: SourceFile, data: bytes, delimiter: str, width: int
) -> tuple[list[Column], list[_Ragged]]:
    """Return every record, the header included, as columns of text, and the ragged ones."""
    ragged: list[_Ragged] = []

    def note(row: Any) -> Literal["skip"]:
        ragged.append(_Ragged(row.number, row.actual_columns, row.text.count("\n")))
        return "skip"

    source: Any = pa.BufferReader(data)
    block = min(max(len(data) + 1, _SMALLEST_BLOCK), _LARGEST_BLOCK)
    try:
        table = pa_csv.read_csv(
            source,
            # One thread, so that records are numbered; text, so that nothing is guessed.
            pa_csv.ReadOptions(use_threads=False, autogenerate_column_names=True, block_size=block),
            pa_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=note,
            ),
            pa_csv.ConvertOptions(
                column_types={f"f{i}": pa.string() for i in range(width)}, null_values=[]
            ),
        )
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(str(file), f"cannot be read as a table ({reason})") from None
    if table.num_columns != width or not table.num_rows:
        raise InputError(str(file), "its first line cannot be read as column names")
    columns: list[Column] = table.columns
    return columns, ragged


def _line_numbers(
    columns: list[Column], ragged: list[_Ragged]
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the 1-based line that each kept and each ragged record starts at."""
    total = len(columns[0]) + len(ragged)
    is_ragged = np.zeros(total, dtype=bool)
    is_ragged[[r.number - 1 for r in ragged]] = True
    height = np.ones(total, dtype=np.int64)
    height[~is_ragged] += sum(count_newlines(c) for c in columns)
    height[is_ragged] += np.array([r.newlines for r in ragged], dtype=np.int64)
    starts = np.cumsum(height) - height + 1
    return starts[~is_ragged], starts[is_ragged].tolist()


def _ragged_reason(row: _Ragged, width: int) -> str:
    spans = f" over {row.newlines + 1} lines" if row.newlines else ""
    hint = "; is a quote opened and never closed?" if row.newlines else ""
    return f"{row.cells} cells{spans} where the header has {width}{hint}"


def _filled(columns: list[Column]) -> NDArray[np.bool_]:
    """Whether a record holds anything: an empty line is a record of empty cells."""
    filled = np.zeros(len(columns[0]), dtype=bool)
    for column in columns:
        lengths: Any = pc.binary_length(column)
        filled |= lengths.to_numpy() > 0
    return filled
