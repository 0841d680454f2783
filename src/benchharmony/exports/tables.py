"""A report as tables: one row per evaluation, or one row per item."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony.errors import BenchharmonyError
from benchharmony.item_keys import item_keys
from benchharmony.writing import write_whole

if TYPE_CHECKING:
    from benchharmony.report import Report
    from benchharmony.splits import Split

ENDINGS = (".csv", ".parquet")
_TEXT, _NUMBER, _COUNT = pa.string(), pa.float64(), pa.int64()
#: Types of the columns that are no numbers; a column may be empty, so none is guessed.
_TYPES = {
    **dict.fromkeys(
        ("benchmark", "model", "score_name", "verdict", "partition", "positions", "format", "file"),
        _TEXT,
    ),
    **dict.fromkeys(("n_items", "k", "items_left_out"), _COUNT),
    "warnings": _TEXT,
}


def parquet_of_report(record: dict[str, Any]) -> bytes:
    """Return one row per evaluation as Parquet: the columns of the CSV, text as it is."""
    from benchharmony.report.views import rows

    table = rows(record)
    columns = {
        name: pa.array([row[name] for row in table], _TYPES.get(name, _NUMBER)) for name in table[0]
    }
    return _parquet(pa.table(columns), record)


def table_of_items(report: Report) -> pa.Table:
    """Return one row per item of every evaluation, in the order of the report.

    Columns: ``benchmark``, ``model``, ``item_id``, ``subdomain`` (null where there is no
    partition), ``score`` (null where there is none) and ``item_key``, the hash of question and
    options by which items line up across harnesses (null where the log has no texts).

    Raises
    ------
    BenchharmonyError
        When the report was made without its evaluations (from a record alone).
    """
    if not report.splits:
        raise BenchharmonyError("this report holds no items: it was made from a record alone")
    return pa.concat_tables([_items(split) for split in report.splits])


def write_items(report: Report, path: str | Path) -> None:
    """Write :func:`table_of_items` as CSV (text made safe for spreadsheets) or Parquet (exact).

    Raises
    ------
    BenchharmonyError
        When the name ends otherwise, or the file cannot be written.
    """
    ending = check_ending(path)
    table = table_of_items(report)
    whole = _parquet(table, report.record) if ending == ".parquet" else _csv(table)
    write_whole(path, whole)


def check_ending(path: str | Path) -> str:
    """Return the ending of a file of items.

    Raises
    ------
    BenchharmonyError
        When it is neither .csv nor .parquet.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise BenchharmonyError(f"{path}: the items go to a .csv or a .parquet file")
    return ending


def _items(split: Split) -> pa.Table:
    e, partition = split.evaluation, split.partition
    n = len(e)
    repeated = pa.dictionary(pa.int32(), _TEXT)

    def coded(codes: Any, values: Sequence[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, _TEXT))

    zeros = np.zeros(n, np.int32)
    if partition is None or partition.undefined is not None:
        subdomains = pa.nulls(n, repeated)
    else:
        subdomains = coded(partition.labels.astype(np.int32), partition.names)
    keys = [None if k is None else k.hex() for k in item_keys(e)]
    return pa.table(
        {
            "benchmark": coded(zeros, [e.benchmark]),
            "model": coded(zeros, [e.model]),
            "item_id": pa.array(e.item_ids, _TEXT),
            "subdomain": subdomains,
            "score": pa.nulls(n, _NUMBER) if e.scores is None else pa.array(e.scores),
            "item_key": pa.array(keys, _TEXT),
        }
    )


def _csv(table: pa.Table) -> bytes:
    from pyarrow import csv

    from benchharmony.report.shown import safe_cell

    # Numbers need no care: only text can be run by a spreadsheet.
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.type == _NUMBER:
            columns[name] = column
        else:
            plain = column.cast(_TEXT) if column.type != _TEXT else column
            columns[name] = pa.array([safe_cell(v) for v in plain.to_pylist()], _TEXT)
    out = io.BytesIO()
    csv.write_csv(pa.table(columns), out, csv.WriteOptions(quoting_style="needed"))
    return out.getvalue()


def _parquet(table: pa.Table, record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    note = {"made_by": f"benchharmony {record['version']}", "record": record["schema"]}
    pq.write_table(table.replace_schema_metadata(note), out, compression="zstd")
    return out.getvalue()
