"""Our own files: an evaluation as a Parquet table, one row per item, and back without a loss.

Columns are ``item_id``, ``score``, ``gold`` (null where unknown), ``option_logprobs`` (list of
double), ``text``, ``choices`` (list of string), ``metric.<name>``, ``group.<name>`` and, for each
positions, ``predictive.<positions>.logprobs``, ``.token_ids`` and ``.rest``. Everything that is
not per item is one JSON text under the key ``benchharmony`` of the schema metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchharmony._version import __version__
from benchharmony.errors import BenchharmonyError, InputError
from benchharmony.evaluation import Evaluation, clean_text
from benchharmony.predictive import Predictive
from benchharmony.stored_columns import evaluation_of, predictive_of
from benchharmony.stored_views import StoredViews

T = TypeVar("T")

#: Name and number of the layout; the number rises when older versions could misread a file.
SCHEMA_NAME = "benchharmony/evaluation"
SCHEMA_NUMBER = 1

#: Key of the schema metadata that marks a Parquet file as ours.
METADATA_KEY = b"benchharmony"

#: How the columns of distributions begin.
_VIEW = "predictive."

#: Row groups hold about this many bytes of distributions, so that a writer or a reader that
#: streams never needs more than one of them in memory.
_ROW_GROUP_BYTES = 64 << 20
_ROW_GROUP_ROWS = 1 << 16


def save(evaluation: Evaluation, path: str | Path) -> None:
    """Write an evaluation as Parquet; an existing file is replaced only by a whole new one.

    Parameters
    ----------
    evaluation : Evaluation
        What to write. Every field survives :func:`load` exactly.
    path : str or Path
        The file; its folder must exist.

    Raises
    ------
    BenchharmonyError
        When the file cannot be written, or ``metadata`` holds what JSON cannot.
    """
    target = Path(path)
    table = to_table(evaluation)
    # In the same folder, so that the rename cannot cross file systems; hidden, so that a search
    # of the folder does not meet it half written.
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        try:
            with temporary.open("xb") as stream:
                _write(table, stream, evaluation)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BenchharmonyError(f"{target}: cannot be written: {reason}") from error


def load(path: str | Path, *, lazily: bool = False) -> Evaluation:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : str or Path
        A Parquet file of schema ``benchharmony/evaluation/1``.
    lazily : bool
        Leave the distributions in the file until they are asked for, each time anew; the file must
        stay. Many evaluations then fit into memory, and processes read their own.

    Raises
    ------
    InputError
        When there is no such file, it is not ours, it is damaged or its schema is newer.
    """
    if not Path(path).is_file():
        raise InputError(str(path), "no such file")
    if not lazily:
        return load_from(str(path), str(path))
    table = _columns_of(str(path), str(path), lambda column: not column.startswith(_VIEW))
    about = _described(table.schema, str(path))

    def made() -> Evaluation:
        there = [str(view["positions"]) for view in about["predictive"]]
        return evaluation_of(table, about, StoredViews(Path(path), there, read_view))

    return _consistent(str(path), made)


def read_view(path: Path, positions: str) -> Predictive:
    """Read the distributions of some positions from the file of an evaluation.

    Raises
    ------
    InputError
        When the file is damaged.
    """
    mine = f"{_VIEW}{clean_text(positions)}."
    table = _columns_of(str(path), str(path), lambda column: column.startswith(mine))
    about = _described(table.schema, str(path))
    view = next(v for v in about["predictive"] if v["positions"] == positions)
    return _consistent(str(path), lambda: predictive_of(table, view))


def load_from(source: str | pa.Buffer, name: str) -> Evaluation:
    """Read an evaluation from a path or from bytes in memory; ``name`` is used in messages."""
    opened = pa.BufferReader(source) if isinstance(source, pa.Buffer) else source
    return from_table(_columns_of(opened, name), name)


def _columns_of(
    source: Any, name: str, wanted: Callable[[str], bool] = lambda column: True
) -> pa.Table:
    file = _opened(source, name)
    try:
        return file.read(columns=[c for c in file.schema_arrow.names if wanted(c)])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _not_whole(name, error) from None


def _opened(source: Any, name: str) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(source, memory_map=True, page_checksum_verification=True)
        _described(file.schema_arrow, name)  # whose file it is comes before whether it is whole
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _not_whole(name, error) from None
    return file


def _not_whole(name: str, error: Exception) -> InputError:
    reason = str(error).split("\n")[0]
    return InputError(name, f"not a whole Parquet file ({reason}); is it cut off?")


def is_evaluation(schema: pa.Schema) -> bool:
    """Whether an Arrow schema is that of an evaluation (of any schema number)."""
    return METADATA_KEY in (schema.metadata or {})


def to_table(evaluation: Evaluation) -> pa.Table:
    """Return an evaluation as an Arrow table with its description in the schema metadata."""
    columns = dict(_item_columns(evaluation))
    for name, metric in evaluation.metrics.items():
        columns[f"metric.{clean_text(name)}"] = pa.array(metric)
    for name, labels in evaluation.groups.items():
        columns[f"group.{clean_text(name)}"] = pa.array(labels, pa.string())
    for positions, predictive in evaluation.predictive.items():
        columns.update(_predictive_columns(f"{_VIEW}{clean_text(positions)}", predictive))
    description = _json(_description(evaluation), evaluation.name)
    schema = pa.schema(
        [pa.field(name, column.type) for name, column in columns.items()],
        metadata={METADATA_KEY: description},
    )
    return pa.Table.from_arrays(list(columns.values()), schema=schema)


def from_table(table: pa.Table, name: str) -> Evaluation:
    """Return the evaluation that :func:`to_table` described, checked like any other.

    Raises
    ------
    InputError
        Named ``name``, when the table is not ours, of a newer schema or not consistent.
    """
    about = _described(table.schema, name)
    return _consistent(name, lambda: evaluation_of(table, about))


def _consistent(name: str, read: Callable[[], T]) -> T:
    """Return what reading gives, or say that the file contradicts itself."""
    try:
        return read()
    except BenchharmonyError as error:
        raise InputError(name, str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        reason = str(error).split("\n")[0]
        raise InputError(name, f"damaged: not the columns it describes ({reason})") from None


# --- writing ---------------------------------------------------------------------------------


def _write(table: pa.Table, stream: BinaryIO, evaluation: Evaluation) -> None:
    names = table.schema.names
    labels: Any = [n for n in names if n.startswith("group.")]
    # Splitting floats into their bytes compresses log-probabilities by a further 15 %.
    split: Any = [f"{n}.list.element" for n in names if n.endswith(".logprobs")]
    width = sum(p.logprobs.shape[1] * 8 for p in evaluation.predictive.values())
    rows = _ROW_GROUP_ROWS if not width else _ROW_GROUP_BYTES // width
    pq.write_table(
        table,
        stream,
        compression="zstd",
        compression_level=1,
        row_group_size=max(1, min(rows, _ROW_GROUP_ROWS)),
        use_dictionary=labels,
        use_byte_stream_split=split,
        write_statistics=False,
        write_page_checksum=True,
    )


def _item_columns(evaluation: Evaluation) -> Iterator[tuple[str, Any]]:
    yield "item_id", pa.array(evaluation.item_ids, pa.string())
    if evaluation.scores is not None:
        yield "score", pa.array(evaluation.scores)
    if evaluation.gold is not None:
        yield "gold", pa.array(evaluation.gold, mask=evaluation.gold < 0)
    options = evaluation.option_logprobs
    if options is not None:
        given = ~np.isnan(options)
        yield "option_logprobs", _ragged(pa.array(options[given]), given.sum(axis=1))
    if evaluation.texts is not None:
        yield "text", pa.array(evaluation.texts, pa.string())
    if evaluation.choices is not None:
        flat = pa.array([c for row in evaluation.choices for c in row], pa.string())
        yield "choices", _ragged(flat, np.array([len(row) for row in evaluation.choices]))


def _ragged(flat: Any, lengths: NDArray[Any]) -> Any:
    offsets: Any = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, flat)


def _predictive_columns(prefix: str, predictive: Predictive) -> Iterator[tuple[str, Any]]:
    yield f"{prefix}.logprobs", _matrix_column(predictive.logprobs)
    if predictive.token_ids is not None:
        dtype = np.int32 if predictive.vocab_size < 1 << 31 else np.int64
        yield f"{prefix}.token_ids", _matrix_column(predictive.token_ids.astype(dtype))
        yield f"{prefix}.rest", pa.array(predictive.rest)


def _matrix_column(values: NDArray[Any]) -> Any:
    """Return a matrix as a list column, in chunks whose offsets fit into 31 bits."""
    n, width = values.shape
    step = max(1, ((1 << 31) - 1) // width)
    chunks = [
        pa.FixedSizeListArray.from_arrays(pa.array(values[i : i + step].ravel()), width)
        for i in range(0, n, step)
    ]
    return pa.chunked_array(chunks)


def _description(evaluation: Evaluation) -> dict[str, Any]:
    options = evaluation.option_logprobs
    return {
        "schema": f"{SCHEMA_NAME}/{SCHEMA_NUMBER}",
        "version": __version__,
        "benchmark": evaluation.benchmark,
        "model": evaluation.model,
        "score_name": evaluation.score_name,
        "metrics": list(evaluation.metrics),
        "groups": list(evaluation.groups),
        "option_width": None if options is None else options.shape[1],
        "predictive": [
            {
                "positions": name,
                "kind": "dense" if view.is_dense else "top_k",
                "vocab_size": view.vocab_size,
            }
            for name, view in evaluation.predictive.items()
        ],
        "metadata": dict(evaluation.metadata),
        "notes": list(evaluation.notes),
        "source": asdict(evaluation.source),
    }


def _json(description: dict[str, Any], name: str) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, Path):
            return str(value)
        raise TypeError(f"a {type(value).__name__}")

    try:
        return json.dumps(description, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise BenchharmonyError(
            f"{name}: metadata cannot be saved, it must hold plain JSON values ({error})"
        ) from None


# --- reading ---------------------------------------------------------------------------------


def _described(schema: pa.Schema, name: str) -> dict[str, Any]:
    """Return the description in a schema, or say why the file cannot be read as ours."""
    if not is_evaluation(schema):
        raise InputError(name, "a Parquet file, but not one that benchharmony wrote")
    try:
        about = json.loads(schema.metadata[METADATA_KEY])
        kind, number = str(about["schema"]).rsplit("/", 1)
        version = int(number)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(name, "damaged: its benchharmony metadata cannot be read") from None
    if kind != SCHEMA_NAME:
        raise InputError(name, f"holds {clean_text(kind)!r}, not an evaluation")
    if version > SCHEMA_NUMBER:
        raise InputError(
            name,
            f"written in schema {SCHEMA_NAME}/{version}; benchharmony {__version__} reads up to "
            f"{SCHEMA_NAME}/{SCHEMA_NUMBER}: upgrade to benchharmony "
            f"{clean_text(about.get('version', 'of a later version'))} or later",
        )
    return dict(about)
