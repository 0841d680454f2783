"""Python pickles of results, read as plain data and only when the caller allows it.

A pickle is a program. The ones that hold results (a list of records, a dict of records by id, a
dict of columns, or a matrix of models and items) are read without running any of it, see
:mod:`benchharmony.readers.pickle_data`, and then taken as a table or a matrix. That is still
behind a flag, so that nobody opens a stranger's pickle without a thought.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.matrix import Matrix, evaluations_of_matrix
from benchharmony.readers.matrix_files import matrix_of_array, matrix_of_lists
from benchharmony.readers.pickle_data import MAX_BYTES, PickleFault, array_in, load_plain
from benchharmony.readers.source import Reader, ReadOptions, SourceFile
from benchharmony.readers.tables import evaluations_of_records

_NAME = "pickle"
#: Protocol 2 and later state themselves; 0 and 1 begin with what their first instructions are.
_LATER = re.compile(rb"\x80[\x02-\x05]")
_EARLIER = re.compile(rb"\([ld]p\d+\n|[\]}]q.|c[\w.]+\n\w+\n(p\d+\n|q.|\()", re.DOTALL)
_TORCH = re.compile(rb"PK\x03\x04.{26}[^\x00-\x1f]{1,200}?/data\.pkl", re.DOTALL)

_CONVERT = (
    "convert it once, where you trust it, with pickle.load and json.dump (or numpy.savez, or "
    "DataFrame.to_parquet)"
)
_HOW = (
    "a Python pickle, which can run code when it is loaded; --allow-pickle reads its plain values "
    f"and NumPy arrays without running anything, or {_CONVERT}"
)
#: Files of LLM-Uncertainty-Bench: model (1_8B is 1.8B), task, prompt and demonstrations.
_NAMED = re.compile(
    r"(?P<model>(?:[^_]|(?<=\d)_(?=\d))+)_(?P<benchmark>.+)_(?:base|shared|task)(?:_instruct)?_icl\d(?:_cot)?"
)

#: Cells that are walked over: a small pickle may hold one value a million times.
_MOST_CELLS = 5_000_000
#: A list in a record that is longer is no list of options.
_LONGEST_LIST = 4096


def sniff(file: SourceFile) -> bool:
    """Whether the file begins like a pickle."""
    head = file.head
    return any(pattern.match(head) for pattern in (_LATER, _EARLIER, _TORCH))


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return the evaluations of the records, columns or matrix that a pickle holds.

    Raises
    ------
    InputError
        When pickles are not allowed, the file holds more than plain data, or it holds no results.
    """
    if _TORCH.match(file.head):
        raise InputError(
            str(file),
            "a PyTorch file, which is a pickle and more; load it with torch.load(..., "
            "weights_only=True) and save what it holds with numpy.savez",
        )
    if not options.allow_pickle:
        raise InputError(str(file), _HOW)
    with file.open() as stream:
        data = stream.read(MAX_BYTES + 1)
    try:
        value = load_plain(data)
    except PickleFault as error:
        raise InputError(str(file), f"not readable as plain data: {error}; {_CONVERT}") from None
    names = _NAMED.fullmatch(Path(file.name).stem)
    if names is not None:
        options = replace(
            options,
            model=options.model or names["model"].replace("_", "."),
            benchmark=options.benchmark or names["benchmark"],
        )
    return _evaluations(file, array_in(value), options)


def _evaluations(file: SourceFile, value: Any, options: ReadOptions) -> list[Evaluation]:
    matrix = _matrix(str(file), value)
    if matrix is not None:
        name = options.benchmark or Path(file.name).stem
        return evaluations_of_matrix(matrix, name, _NAME, (str(file),))
    problems: list[Problem] = []
    cells = _Cells(str(file))
    if isinstance(value, (list, tuple)) and any(isinstance(v, Mapping) for v in value):
        records = list(_records(file, value, cells, problems))
    elif isinstance(value, Mapping) and value and all(isinstance(v, dict) for v in value.values()):
        rows = ({"id": key, **row} for key, row in value.items())
        records = list(_records(file, rows, cells, problems))
    elif isinstance(value, Mapping):
        records = list(enumerate(_rows_of_columns(value, cells), start=1))
    else:
        raise InputError(
            str(file),
            f"its plain data is a {_kind(value)}; expected a list of records, records by id, or "
            "columns of equal length",
        )
    return evaluations_of_records(file, records, problems, options, format_name=_NAME)


def _matrix(path: str, value: Any) -> Matrix | None:
    """Return an array or a list of lists as a matrix of responses."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf":
        return matrix_of_array(path, value)
    if isinstance(value, list) and value and isinstance(value[0], (list, tuple)):
        if len(value) * len(value[0]) > _MOST_CELLS:
            raise InputError(path, f"a pickle of more than {_MOST_CELLS} cells")
        return matrix_of_lists(path, value)
    return None


class _Cells:
    """Counts what is walked over."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._left = _MOST_CELLS

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise InputError(self._path, f"a pickle of more than {_MOST_CELLS} cells")

    def record(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a record with text keys and plain cells; what is deeper is left out."""
        self.spend(len(row) + 1)
        found = {}
        for key, raw in row.items():
            value = array_in(raw)
            if isinstance(value, (list, tuple, np.ndarray)):
                value = self._listed(value)
            if _is_plain(value) or isinstance(value, list):
                found[_text(key)] = _plain(value)
        return found

    def _listed(self, value: Any) -> list[Any] | None:
        if isinstance(value, np.ndarray) and value.ndim != 1:
            return None
        if len(value) > _LONGEST_LIST:
            return None
        self.spend(len(value))
        cells = value.tolist() if isinstance(value, np.ndarray) else list(value)
        return [_plain(c) for c in cells] if all(map(_is_plain, cells)) else None


def _records(
    file: SourceFile, rows: Any, cells: _Cells, problems: list[Problem]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Mapping):
            yield number, cells.record(row)
        else:
            reason = f"expected a record (a dict), found a {_kind(row)}"
            problems.append(Problem(str(file), reason, number))


def _rows_of_columns(value: Mapping[Any, Any], cells: _Cells) -> list[dict[str, Any]]:
    """Return the rows of columns of one length; a dict of anything else has none."""
    columns = {_text(k): array_in(v) for k, v in value.items()}
    sized = {k: v for k, v in columns.items() if _is_column(v)}
    lengths = {len(v) for v in sized.values()}
    if len(lengths) != 1:
        return []
    (length,) = lengths
    cells.spend(length * len(sized))
    return [cells.record({k: v[i] for k, v in sized.items()}) for i in range(length)]


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, bool, int, float, np.generic))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _text(key: Any) -> str:
    return str(_plain(key))


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"NumPy array of shape {value.shape}"
    return type(value).__name__.lstrip("_")


READERS: tuple[Reader, ...] = (
    Reader(
        name=_NAME,
        description="Python pickle of records, columns or a matrix; only with --allow-pickle, "
        "and nothing in it is run",
        sniff=sniff,
        read=read,
        example="<model>_<task>_base_icl1.pkl",
    ),
)
