"""Rows as a data frame of pandas or polars, and specifications as charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    from benchharmony.plots import Chart

Library = Literal["pandas", "polars"]


def frame(rows: Sequence[dict[str, Any]], library: Library = "pandas") -> Any:
    """Return one row per dict, columns in the order of the first.

    Raises
    ------
    BenchharmonyError
        For another library, or where it is not installed.
    """
    if library not in get_args(Library):
        raise BenchharmonyError(f"library must be 'pandas' or 'polars', got {library!r}")
    try:
        if library == "polars":
            import polars

            return polars.DataFrame(list(rows), infer_schema_length=None)
        import pandas

        return pandas.DataFrame(list(rows))
    except ImportError:
        raise BenchharmonyError(
            f"a frame of {library} needs {library}: pip install {library}"
        ) from None


def chart(spec: dict[str, Any] | None, why_not: str) -> Chart:
    """Return a specification as an Altair chart.

    Raises
    ------
    BenchharmonyError
        Where there is no specification, for the reason given, or Altair is not installed.
    """
    from benchharmony.plots import as_chart

    if spec is None:
        raise BenchharmonyError(f"nothing to plot: {why_not}")
    return as_chart(spec)
