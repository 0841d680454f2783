"""Cells of a table column as numbers, labels, lists or option indices, whatever their type."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchharmony.evaluation import clean_text
from benchharmony.readers.source import to_float

#: A pyarrow.ChunkedArray, which only its type stubs know as generic.
Column: TypeAlias = Any

#: Words that mean 1 and 0 in a column of scores, beside numbers and true/false.
_WORDS = {
    **dict.fromkeys(("yes", "y", "t", "correct", "right", "pass", "passed"), 1.0),
    **dict.fromkeys(("no", "n", "f", "incorrect", "wrong", "fail", "failed"), 0.0),
}

#: Inspect's letters (correct, incorrect, partial, no answer); only where a column holds nothing
#: else and an "I", because "C" alone may be the letter of an option.
_INSPECT = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_LETTER = re.compile(r"\(?([A-Z])[.):]?")

#: A list written as text is not parsed when it is longer than this (hostile or not a list).
_MAX_LIST_TEXT = 1 << 20


#: Items with more options than this are taken for something else (token log-probabilities).
_MAX_OPTIONS = 256


@dataclass(frozen=True)
class Labels:
    """A column as labels.

    Attributes
    ----------
    codes : ndarray of int64, shape (n,)
        Index into ``values``; -1 where the cell is empty.
    values : list of str
        The distinct labels in order of first appearance, stripped, none empty.
    """

    codes: NDArray[np.int64]
    values: list[str]

    def to_list(self, rows: NDArray[np.int64] | None = None) -> list[str | None]:
        """Return the label of each row (or of some), None where there is none."""
        labels: list[str | None] = [*self.values, None]
        codes = self.codes if rows is None else self.codes[rows]
        return [labels[code] for code in codes.tolist()]


def array_of(values: list[Any]) -> Column:
    """Return Python values as an Arrow column; values of mixed types become text."""
    try:
        return pa.chunked_array([pa.array(values)])
    except (pa.ArrowException, ValueError, TypeError, OverflowError, RecursionError):
        return pa.chunked_array([pa.array([_as_text(v) for v in values], pa.large_string())])


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, (dict, list)):
        try:
            return clean_text(json.dumps(value))
        except (ValueError, TypeError, RecursionError):
            return None
    return clean_text(value)


def labels_of(column: Column, *, strip: bool = True) -> Labels:
    """Return a column as labels: whole floats as integers, empty cells and NaN as none."""
    encoded: Any = _encodable(column).dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # no chunk, or more text than one chunk can hold
        encoded = encoded.unify_dictionaries()
        chunks = encoded.chunks
    else:
        chunks = [encoded]
    raw = chunks[0].dictionary.to_pylist() if chunks else []
    parts = [np.asarray(c.indices.fill_null(-1), dtype=np.int64) for c in chunks]
    codes = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return _merged(codes, [_label(v, strip) for v in raw])


def _merged(codes: NDArray[np.int64], names: list[str | None]) -> Labels:
    """Give equal names ("1" and " 1") one code, and empty ones none."""
    seen: dict[str, int] = {}
    renumbered = [-1 if name is None else seen.setdefault(name, len(seen)) for name in names]
    return Labels(np.array([*renumbered, -1], dtype=np.int64)[codes], list(seen))


def _encodable(column: Column) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = kind.value_type
    if pa.types.is_string_view(kind) or pa.types.is_string(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _decoded(column)
    if pa.types.is_nested(kind):
        texts = [_as_text(v) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])
    if pa.types.is_null(kind):
        return column.cast(pa.large_string())
    return column


def _decoded(column: Column) -> Column:
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        cells = [v if v is None else v.decode("utf-8", "replace") for v in column.to_pylist()]
        return pa.chunked_array([pa.array(cells, pa.large_string())])


def _label(value: Any, strip: bool) -> str | None:
    if value is None:
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        value = int(value) if value.is_integer() else value
    text = clean_text(value)
    return (text.strip() if strip else text) if text.strip() else None


def is_number_type(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers or booleans."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )


def numbers_of(column: Column, *, decimal_comma: bool = False) -> NDArray[np.float64]:
    """Return a column as numbers, shape (n,); NaN where a cell is none.

    Text is read as a number, as true/false, yes/no and the like, or (a whole column of them) as
    Inspect's C, I, P, N. ``decimal_comma`` also reads "0,5" as a half.
    """
    if is_number_type(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy())
    if pa.types.is_nested(column.type):
        return np.full(len(column), math.nan)
    labels = labels_of(column)
    if "I" in labels.values and set(labels.values) <= set(_INSPECT):
        values = [_INSPECT[v] for v in labels.values]
    else:
        values = [_number(v, decimal_comma) for v in labels.values]
    return np.array([*values, math.nan])[labels.codes]


def _number(text: str, decimal_comma: bool) -> float:
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    # Python reads "1_000" as a number; in a log it is a name.
    value = math.nan if "_" in text else to_float(text)
    return _WORDS.get(text.lower(), value) if math.isnan(value) else value


def has_percent_signs(column: Column) -> bool:
    """Whether any cell is a number with a percent sign."""
    if is_number_type(column.type) or pa.types.is_nested(column.type):
        return False
    found = (v for v in labels_of(column).values if v.endswith("%"))
    return any(not math.isnan(to_float(v[:-1])) for v in found)


def lists_of(column: Column) -> list[list[Any] | None]:
    """Return a column of lists, or of lists written as text; None where a cell is none."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return list(column.to_pylist())
    if is_number_type(kind) or pa.types.is_nested(kind):
        return [None] * len(column)
    labels = labels_of(column)
    parsed = [_parse_list(v) for v in labels.values] + [None]
    return [parsed[code] for code in labels.codes.tolist()]


def _parse_list(text: str) -> list[Any] | None:
    if not text.startswith("[") or not text.endswith("]") or len(text) > _MAX_LIST_TEXT:
        return None
    parsers: tuple[Callable[[str], Any], ...] = (json.loads, ast.literal_eval)
    for parse in parsers:
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return value if isinstance(value, list) else None
    return None


def texts_of(cells: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Return a list cell as option texts; None when an entry is not a scalar."""
    if not cells or any(isinstance(c, (dict, list)) or c is None for c in cells):
        return None
    return tuple(clean_text(c) for c in cells)


def option_matrix_of(column: Column) -> NDArray[np.float64]:
    """Return a column of lists of log-likelihoods, shape (n, m), NaN past a list's end.

    A cell that is no such list, or longer than 256, is a row of NaN.
    """
    rows = [_numbers_in(cells) for cells in lists_of(column)]
    matrix = np.full((len(rows), max(map(len, rows), default=0)), math.nan)
    for row, values in zip(matrix, rows, strict=True):
        row[: len(values)] = values
    return usable_options(matrix)


def _numbers_in(cells: Sequence[Any] | None) -> list[float]:
    if cells is None or len(cells) > _MAX_OPTIONS:
        return []
    return [math.nan if c is None else to_float(c) for c in cells]


def usable_options(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make NaN of rows with a gap before their last option or an infinite log-likelihood."""
    given = ~np.isnan(matrix)
    gap = given.sum(axis=1) != given.cumprod(axis=1).sum(axis=1)
    unusable = gap | (matrix == math.inf).any(axis=1)
    return np.where(unusable[:, None], math.nan, matrix)


def letter_index(text: str) -> int | None:
    """Return 0 for "A", "(A)", "A." or "A)", 1 for "B", ...; None for anything else."""
    match = _LETTER.fullmatch(text.upper())
    return None if match is None else ord(match[1]) - ord("A")


def index_number(text: str) -> float | None:
    """Return a number written in digits; None for words ("true" is no index)."""
    value = to_float(text)
    return None if math.isnan(value) or text[-1:].isalpha() else value


def whole_numbers_of(labels: Labels) -> NDArray[np.float64]:
    """Return labels that are whole numbers or letters as 0-based positions; NaN for others."""
    positions = []
    for text in labels.values:
        position = index_number(text)
        position = letter_index(text) if position is None else position
        whole = position is not None and float(position).is_integer()
        positions.append(float(position) if whole and position is not None else math.nan)
    return np.array([*positions, math.nan])[labels.codes]


def count_newlines(column: Column) -> NDArray[np.int64]:
    """Return the number of line feeds in each cell of a column of text, shape (n,)."""
    counts: Any = pc.count_substring(column, "\n")
    return np.asarray(counts.fill_null(0).to_numpy(), dtype=np.int64)
