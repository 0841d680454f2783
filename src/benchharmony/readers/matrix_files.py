"""Response matrices without a table around them: bare numbers, NumPy arrays, lists, IRT lines.

========================  =========================================================================
bare numbers              CSV, TSV or numbers between spaces, with or without a row and a column of
                          numbers that count
NumPy                     ``.npy``, or ``.npz`` with a matrix called ``responses`` and the like and
                          perhaps the names of models and items
JSON                      a list of lists of numbers
py-irt                    JSON Lines of ``subject_id`` and ``responses`` by item
========================  =========================================================================

The longer side holds the items, where names do not tell; a square matrix has models in its rows.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, clean_text
from benchharmony.readers.archive import ZIP_MAGIC
from benchharmony.readers.matrix import Matrix, evaluations_of_matrix, matrix_of
from benchharmony.readers.npz import DAMAGE, damaged, load_arrays
from benchharmony.readers.source import HEAD_BYTES, Reader, ReadOptions, SourceFile, to_float
from benchharmony.readers.tables import table_loader

_NAME = "response matrix"
_NPY_MAGIC = b"\x93NUMPY"
_SEPARATORS = ("\t", ",", ";", None)
#: What an array of responses is called, compared without case and punctuation.
_ARRAYS = (
    *("responses", "responsematrix", "response", "matrix", "correctness", "correct", "results"),
    *("y", "data", "x", "arr0"),
)
_MODELS = ("models", "modelnames", "modelids", "model", "subjects", "subjectids", "names", "rows")
_ITEMS = ("items", "itemids", "questionids", "questions", "ids", "itemnames", "columns")
_LONGEST_LINE = 16 << 20
_BARE = re.compile(rb"[\s\d.,;+\-eENnaA]*")


def sniff(file: SourceFile) -> bool:
    """Whether the file is one of the matrices above."""
    return any(take(file) for take, _ in _KINDS)


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return an evaluation for each model of the matrix.

    Raises
    ------
    InputError
        When the file holds no matrix of scores in [0, 1].
    """
    load = next((load for take, load in _KINDS if take(file)), _from_table)
    stem = Path(file.name).stem
    return evaluations_of_matrix(
        load(file, options), options.benchmark or stem, _NAME, (str(file),)
    )


def _from_table(file: SourceFile, options: ReadOptions) -> Matrix:
    """Return a table as a matrix, where the caller says that it is one."""
    load = table_loader(file)
    matrix = None if load is None else matrix_of(load(file), options, forced=True)
    if matrix is None:
        raise InputError(
            str(file),
            "no matrix of responses: expected models on one side, items on the other, and at least "
            "two columns of scores in [0, 1]",
        )
    return matrix


# Bare numbers


def _sniff_bare(file: SourceFile) -> bool:
    if not _BARE.fullmatch(file.head.removeprefix(codecs.BOM_UTF8)):
        return False
    line = _first_line(file)
    cells = _cells(line, _separator(line))
    numbers = [to_float(c) for c in cells if c]
    return len(cells) > 1 and len(numbers) > 1 and not any(np.isnan(numbers))


def _first_line(file: SourceFile) -> str:
    with file.open() as stream:
        for _ in range(100):  # empty lines before it
            line = stream.readline(_LONGEST_LINE)
            if line.strip() or not line:
                break
    return line.decode("utf-8-sig", "replace").strip("\r\n")


def _separator(line: str) -> str | None:
    return next((s for s in _SEPARATORS if s is not None and s in line), None)


def _cells(line: str, separator: str | None) -> list[str]:
    return [c.strip() for c in line.split(separator)]


def _load_bare(file: SourceFile, options: ReadOptions) -> Matrix:
    separator = _separator(_first_line(file))
    rows: list[NDArray[np.float64]] = []
    problems: list[Problem] = []
    width = None
    for number, raw in file.lines():
        cells = _cells(raw.decode("utf-8-sig", "replace").strip("\r\n"), separator)
        width = width or len(cells)
        if len(cells) == width:
            rows.append(np.array([to_float(c) for c in cells]))
        else:
            reason = f"{len(cells)} cells where the first row has {width}"
            problems.append(Problem(str(file), reason, number))
    values = np.array(rows)
    items_in_rows, columns, values = _without_counts(values)
    return _oriented(str(file), values, items_in_rows, columns, problems)


def _without_counts(
    values: NDArray[np.float64],
) -> tuple[list[str] | None, list[str] | None, NDArray[np.float64]]:
    """Take off a first row and a first column that only count, and return them as names."""
    rows = columns = None
    corner = len(values) > 1 and values.shape[1] > 1 and np.isnan(values[0, 0])
    if len(values) > 1 and _counts(values[0, 1:] if corner else values[0]):
        columns = [f"{v:g}" for v in (values[0, 1:] if corner else values[0])]
        values = values[1:]
    if values.shape[1] > 1 and (corner or _counts(values[:, 0])):
        rows = [f"{v:g}" for v in values[:, 0]]
        values = values[:, 1:]
        if columns is not None and len(columns) > values.shape[1]:
            columns = columns[1:]
    return rows, columns, values


def _counts(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are 0, 1, 2, ... or 1, 2, 3, ...: two of them could as well be scores."""
    places = np.arange(len(numbers))
    return len(numbers) > 2 and any(np.array_equal(numbers, places + k) for k in (0, 1))


def _oriented(
    path: str,
    values: NDArray[np.float64],
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    problems: Sequence[Problem] = (),
) -> Matrix:
    """Return a matrix with models in its rows: the shorter side, or the rows of a square."""
    if values.ndim != 2 or not values.size:
        raise InputError(path, f"no matrix: an array of shape {values.shape}")
    what = f"{values.shape[0]} rows and {values.shape[1]} columns without names that tell"
    models_in_rows = values.shape[0] <= values.shape[1]
    if not models_in_rows:
        values, rows, columns = values.T, columns, rows
    side = "rows" if models_in_rows else "columns"
    return Matrix(
        path=path,
        values=values,
        models=[f"model {r}" for r in rows or range(1, len(values) + 1)],
        items=list(columns or map(str, range(values.shape[1]))),
        notes=[f"a response matrix of {what}: the {side}, the shorter side, are taken as models"],
        problems=problems,
    )


# NumPy


def _sniff_npy(file: SourceFile) -> bool:
    return file.head.startswith(_NPY_MAGIC)


def _load_npy(file: SourceFile, options: ReadOptions) -> Matrix:
    try:
        found = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
    except DAMAGE as error:
        raise damaged(file, error) from None
    return matrix_of_array(str(file), found)


def matrix_of_array(path: str, found: NDArray[Any]) -> Matrix:
    """Return an array of numbers with two sides as a matrix.

    Raises
    ------
    InputError
        When it is none.
    """
    return _oriented(path, _numbers(path, found), None, None)


def _numbers(path: str, found: NDArray[Any]) -> NDArray[np.float64]:
    if found.dtype.kind not in "biuf":
        raise InputError(path, f"an array of {found.dtype} where a matrix of scores is expected")
    return found.astype(np.float64)


def _sniff_npz(file: SourceFile) -> bool:
    """Whether an archive has an array called like responses and none of our own."""
    if not file.head.startswith(ZIP_MAGIC) or b".npy" not in file.head[:1024]:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
            names = {n.removesuffix(".npy") for n in archive.namelist()}
    except DAMAGE:
        return False
    ours = any(n.endswith("_rest") or n in ("option_logprobs", "scores") for n in names)
    return not ours and any(_plain(n) in _ARRAYS for n in names)


def _load_npz(file: SourceFile, options: ReadOptions) -> Matrix:
    arrays = {_plain(name): array for name, array in load_arrays(file).items()}
    name = next(n for n in _ARRAYS if n in arrays)
    values = _numbers(str(file), arrays[name])
    if values.ndim != 2:
        raise InputError(str(file), f"its array {name!r} has shape {values.shape}, not two sides")
    models = _names(arrays, _MODELS, values.shape)
    items = _names(arrays, _ITEMS, values.shape)
    if models is None and items is None:
        return _oriented(str(file), values, None, None)
    if (items is not None and len(items) != values.shape[1]) or (
        models is not None and len(models) != values.shape[0]
    ):
        values = values.T
    return Matrix(
        path=str(file),
        values=values,
        models=models or [f"model {i}" for i in range(1, len(values) + 1)],
        items=items or [str(i) for i in range(values.shape[1])],
        groups=_labels(arrays, values.shape[1]),
    )


def _names(
    arrays: Mapping[str, NDArray[Any]], wanted: Sequence[str], shape: tuple[int, ...]
) -> list[str] | None:
    for name in wanted:
        array = arrays.get(name)
        if array is not None and array.ndim == 1 and len(array) in shape:
            return [clean_text(_decoded(v)) for v in array.tolist()]
    return None


def _labels(arrays: Mapping[str, NDArray[Any]], n_items: int) -> dict[str, list[str | None]]:
    """Return arrays of texts, one for each item, that are no names."""
    return {
        name: [clean_text(_decoded(v)) or None for v in array.tolist()]
        for name, array in arrays.items()
        if array.ndim == 1
        and len(array) == n_items
        and array.dtype.kind in "US"
        and name not in (*_MODELS, *_ITEMS)
    }


def _decoded(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


# JSON


_LIST_OF_LISTS = re.compile(rb"\s*\[\s*\[\s*(-?\d|true|false|null|NaN)")


def _sniff_lists(file: SourceFile) -> bool:
    return _LIST_OF_LISTS.match(file.head.removeprefix(codecs.BOM_UTF8)) is not None


def _load_lists(file: SourceFile, options: ReadOptions) -> Matrix:
    return matrix_of_lists(str(file), file.read_json())


def matrix_of_lists(path: str, found: Any) -> Matrix:
    """Return a list of lists of numbers as a matrix.

    Raises
    ------
    InputError
        When the lists are not of one length or hold other than numbers and nulls.
    """
    rows = found if isinstance(found, (list, tuple)) else []
    width = len(rows[0]) if rows and isinstance(rows[0], (list, tuple)) else 0
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, (list, tuple)) or len(row) != width:
            raise InputError(path, f"row {number} of the matrix is no list of {width} numbers")
        bad = next((v for v in row if v is not None and np.isnan(_number(v))), None)
        if bad is not None:
            raise InputError(path, f"row {number} of the matrix holds {str(bad)[:40]!r}")
    values = np.array([[_number(v) for v in row] for row in rows], dtype=np.float64)
    return _oriented(path, values, None, None)


def _number(value: Any) -> float:
    return to_float(value) if isinstance(value, (int, float)) else np.nan


#: A line of many responses is longer than the head.
_IRT = re.compile(rb'\s*\{\s*"subject_id"\s*:\s*"[^"]*"\s*,\s*"responses"\s*:\s*\{')


def _sniff_irt(file: SourceFile) -> bool:
    record = file.first_record
    if record is None and len(file.head) == HEAD_BYTES:
        return _IRT.match(file.head) is not None
    return (
        isinstance(record, dict)
        and isinstance(record.get("responses"), dict)
        and ("subject_id" in record)
    )


def _load_irt(file: SourceFile, options: ReadOptions) -> Matrix:
    problems: list[Problem] = []
    lines: list[tuple[str, dict[str, Any]]] = []
    for number, record in file.records(problems):
        answers, model = record.get("responses"), record.get("subject_id")
        if isinstance(answers, dict) and isinstance(model, (str, int)):
            lines.append((str(model), answers))
        else:
            problems.append(Problem(str(file), "no subject_id with responses by item", number))
    if not lines:
        raise InputError(str(file), f"no usable line; the first: {problems[0].reason}")
    items = list(dict.fromkeys(item for _, answers in lines for item in answers))
    place = {item: i for i, item in enumerate(items)}
    values = np.full((len(lines), len(items)), np.nan)
    strange = []
    for row, (_, answers) in enumerate(lines):
        for item, cell in answers.items():
            values[row, place[item]] = to_float(cell)
            if cell is not None and np.isnan(values[row, place[item]]):
                strange.append((row, place[item], clean_text(cell)[:40]))
    return Matrix(
        path=str(file),
        values=values,
        models=[model for model, _ in lines],
        items=items,
        strange=strange,
        problems=problems,
    )


_KINDS: tuple[
    tuple[Callable[[SourceFile], bool], Callable[[SourceFile, ReadOptions], Matrix]], ...
] = (
    (_sniff_bare, _load_bare),
    (_sniff_npy, _load_npy),
    (_sniff_npz, _load_npz),
    (_sniff_lists, _load_lists),
    (_sniff_irt, _load_irt),
)

READERS: tuple[Reader, ...] = (
    Reader(
        name=_NAME,
        description="scores of models by items: bare numbers, .npy, .npz, lists of lists, py-irt "
        "lines; tables of that shape are known by their columns",
        sniff=sniff,
        read=read,
        example="1.0,0.0,1.0,... (a row a model)",
    ),
)
