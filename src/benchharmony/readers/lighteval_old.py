"""LightEval details before 0.10, those of the first Open LLM Leaderboard among them.

``details_<task>_<time>.parquet`` has a row for each item with ``example`` (the question),
``full_prompt``, ``choices``, ``gold_index``, ``gold`` (accepted answers of generation tasks),
``predictions`` (a number, or a number and a flag, for each choice; else texts), ``metrics`` and
``specifics``. Rows have no id: items are numbered by their place, which is that of the benchmark.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers.declared import label_columns
from benchharmony.readers.harness_evaluation import Log, build_evaluation
from benchharmony.readers.harness_rows import HarnessItem, row_metrics
from benchharmony.readers.lighteval import parquet_of, run_of_details, without_cues
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_PARQUET_MAGIC = b"PAR1"
_NEEDED = ("full_prompt", "predictions", "metrics")
_READ = ("example", "choices", "gold_index", "gold", "predictions", "metrics", "specifics")
_NAME = re.compile(r"details_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d:.\-]+(?:\.parquet)?")
_LONGEST_TEXT = 100


def _sniff(file: SourceFile) -> bool:
    if not file.head.startswith(_PARQUET_MAGIC):
        return False
    try:
        schema = parquet_of(file).schema_arrow
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return False
    has_all = set(_NEEDED) <= set(schema.names)
    return has_all and pa.types.is_struct(schema.field("metrics").type)


def _read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    try:
        parquet = parquet_of(file)
        found = parquet.read(columns=[c for c in _READ if c in parquet.schema_arrow.names])
        found.validate(full=True)  # an offset that points outside the data would crash us
        rows = found.to_pylist()
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(
            str(file), f"not a whole Parquet file ({reason}); is it cut off?"
        ) from None
    if not rows:
        raise InputError(str(file), "no rows in these details")
    items = [_item(row, number) for number, row in enumerate(rows, start=1)]
    name = _NAME.fullmatch(file.name)
    run = run_of_details(file, name["task"] if name else None, options)
    return [build_evaluation(Log(str(file), items), run)]


def _item(row: Mapping[str, Any], number: int) -> HarnessItem:
    choices = [c for c in _list(row.get("choices")) if isinstance(c, str)]
    right = [g for g in map(to_float, _list(row.get("gold_index"))) if g == g]
    options = [_log_likelihood(p) for p in _list(row.get("predictions"))]
    scored = 2 <= len(options) == len(choices) and any(o == o for o in options)
    metrics, parts = row_metrics(_mapping(row.get("metrics")))
    example = row.get("example")
    return HarnessItem(
        row_id=str(number - 1),
        line=number,
        metrics=metrics,
        parts=parts,
        options=options if scored else None,
        continuations=tuple(choices) if scored else (),
        choices=tuple(c.strip() for c in choices) if len(choices) > 1 else None,
        gold_fields={"gold_index": int(right[0])} if right and abs(right[0]) < 1e9 else {},
        columns=label_columns(_mapping(row.get("specifics"))),
        text=without_cues(example) if isinstance(example, str) else "",
    )


def _log_likelihood(value: Any) -> float:
    """Return the number of an option: alone, with a flag behind it, or either written as text."""
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT and value[:1] in "([":
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return float("nan")
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return to_float(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


READERS = (
    Reader(
        "LightEval details before 0.10",
        "LightEval details_<task>_<time>.parquet as written until 2025, by the first Open LLM "
        "Leaderboard too",
        _sniff,
        _read,
        "details/<org>/<model>/<time>/details_<suite>|<task>|<shots>_<time>.parquet",
    ),
)
