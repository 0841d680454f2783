"""Evaluations from data frames in memory: pandas, polars or Arrow, read like table files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.readers.assemble import evaluations_of
from benchharmony.readers.cells import array_of
from benchharmony.readers.columns import unique_names
from benchharmony.readers.matrix import evaluations_of_matrix, matrix_of
from benchharmony.readers.source import ReadOptions
from benchharmony.readers.tables import table_of

#: What messages call a frame, which has no file name.
_NAME = "data frame"


def from_frame(
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    benchmark: str | None = None,
    model: str | None = None,
) -> list[Evaluation]:
    """Return the evaluations of a data frame, by the rules of table files.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or any Arrow-capable table
        One row per item, or one row per item and option. Several models or benchmarks, named by
        a column, give several evaluations.
    columns : mapping of role to column name, optional
        What the columns mean, where their names do not say it: ``{"score": "right"}``. Roles:
        ``item_id``, ``score``, ``model``, ``benchmark``, ``gold``, ``text``, ``choices``,
        ``option_logprobs``, ``option``, ``option_logprob``, ``option_text``, ``groups``.
    benchmark, model : str, optional
        Names where no column gives them; "unknown" otherwise.

    Returns
    -------
    list of Evaluation
        In the order of the rows. Rows that could not be used are in ``source.problems``, with
        the 1-based row number as ``line``.

    Raises
    ------
    BenchharmonyError
        When the frame is none, no column can be the score, scores leave [0, 1], or no row is
        usable.
    """
    try:
        table = table_of(_NAME, _arrow_table(frame))
    except pa.ArrowInvalid as error:
        raise BenchharmonyError(f"{_NAME}: damaged Arrow data ({error})") from None
    options = ReadOptions(dict(columns or {}), benchmark, model)
    matrix = matrix_of(table, options)
    if matrix is not None:
        return evaluations_of_matrix(matrix, benchmark or "unknown", "data frame", ())
    return evaluations_of(table, options, benchmark="unknown", format_name="data frame", files=())


def _arrow_table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    library = type(frame).__module__.partition(".")[0]
    if hasattr(frame, "collect") and library == "polars":
        raise BenchharmonyError(f"{_NAME}: a polars LazyFrame has no rows yet; call .collect()")
    try:
        if hasattr(frame, "to_arrow"):
            found = frame.to_arrow()
        elif hasattr(frame, "iloc") and hasattr(frame, "items") and hasattr(frame, "columns"):
            found = _from_pandas(frame)
        else:
            found = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        reason = str(error).split("\n")[0]
        kind = type(frame).__name__
        raise BenchharmonyError(f"{_NAME}: a {kind} cannot be read as a table ({reason})") from None
    if not isinstance(found, pa.Table):
        raise BenchharmonyError(f"{_NAME}: a {type(frame).__name__} is not a table")
    return found


def _from_pandas(frame: Any) -> pa.Table:
    """Convert column by column, so that one of mixed types does not stop the others."""
    named = [level for level in frame.index.names if level is not None]
    series = [(name, frame.index.get_level_values(name).to_series()) for name in named]
    series += [(name, frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
    arrays = [_column(values) for _, values in series]
    return pa.Table.from_arrays(arrays, names=unique_names(str(name) for name, _ in series))


def _column(series: Any) -> Any:
    try:
        found: Any = pa.Array.from_pandas(series)  # chunked where pandas holds Arrow chunks
        return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        missing = series.isna().to_list()
        values = zip(series.to_list(), missing, strict=True)
        return array_of([None if absent else value for value, absent in values])
