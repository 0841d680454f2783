"""What benchharmony itself wrote about results: a search of their directory finds that too.

A report read as results would count every evaluation of it as an item, and the items of
``--per-item`` are those of a log that lies beside them.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers.delimited import header_of
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

#: Columns of ``--per-item``.
ITEMS = ("benchmark", "model", "item_id", "subdomain", "score", "item_key")
#: Columns of a report and of a landscape that no other table has.
_MARKS = (
    {"harmony", "harmony_adjusted", "size_evenness"},
    {"raw_mean", "adjusted_mean", "leave_one_model_out_low"},
)
_JSON = re.compile(rb'\s*\{\s*"schema"\s*:\s*"benchharmony/[a-z]+/\d')


def has_items(file: SourceFile) -> bool:
    """Whether a file is a table of ``--per-item``: results, when nothing else holds them."""
    return _columns(file) == ITEMS


def _sniff(file: SourceFile) -> bool:
    columns = set(_columns(file))
    return _JSON.match(file.head) is not None or any(marks <= columns for marks in _MARKS)


def _columns(file: SourceFile) -> tuple[str, ...]:
    """Return the columns of a table that may be ours; nothing for any other file."""
    if file.head.startswith(b"PAR1") and file.compression is None:
        try:
            return tuple(pq.read_schema(str(file)).names)
        except (pa.ArrowException, OSError, ValueError):  # ValueError: names that are not UTF-8
            return ()
    if not file.head.lstrip(b'"').startswith(b"benchmark"):
        return ()
    table = header_of(file)
    return tuple(table[1]) if table else ()


def _refuse(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    raise InputError(str(file), "written by benchharmony about results; give the results")


READERS: tuple[Reader, ...] = (
    Reader(
        name="benchharmony report",
        description="a report, landscape or the like of benchharmony itself: refused, it is made "
        "from results",
        sniff=_sniff,
        read=_refuse,
        example='{"schema": "benchharmony/report/1", ...}',
    ),
)
