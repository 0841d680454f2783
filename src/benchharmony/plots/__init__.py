"""Plots: Vega-Lite specifications made without any dependency, charts and files with the extra.

A specification serves every world: inlined in a page, wrapped as an Altair chart in a notebook
(``plane``, ``trends``), or turned into SVG, PDF and PNG by vl-convert (``save``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.plots.evaluation import (
    item_map_spec,
    masses_spec,
    silhouette_spec,
    similarity_spec,
    subdomain_spec,
)
from benchharmony.plots.files import EXTRA, save, save_for_print
from benchharmony.plots.matrix import matrix_spec
from benchharmony.plots.plane import matched_spec, plane_spec
from benchharmony.plots.style import ONE_COLUMN, SCREEN, TWO_COLUMNS, Size
from benchharmony.plots.trends import trends_spec

__all__ = [
    "ONE_COLUMN", "SCREEN", "TWO_COLUMNS", "Chart", "Size", "as_chart", "item_map_spec",
    "landscape_specs", "masses_spec", "matched_spec", "matrix_spec", "plane", "plane_spec", "save",
    "save_for_print", "save_landscape", "silhouette_spec", "similarity_spec", "subdomain_spec",
    "trends", "trends_spec",
]  # fmt: skip

#: An ``altair.Chart`` or one of its compounds.
Chart = Any


def plane(record: dict[str, Any], which: str = "adjusted") -> Chart:
    """Return the mean-variance plane as an Altair chart; see :func:`plane_spec`."""
    return as_chart(plane_spec(record, which))


def trends(record: dict[str, Any], over: str = "parameters") -> Chart:
    """Return H and score against size as an Altair chart; see :func:`trends_spec`."""
    return as_chart(trends_spec(record, over))


def as_chart(spec: dict[str, Any]) -> Chart:
    """Return a specification as an Altair chart.

    Raises
    ------
    BenchharmonyError
        When Altair is not installed.
    """
    try:
        import altair
    except ImportError:
        raise BenchharmonyError(EXTRA) from None
    return altair.Chart.from_dict(spec)


def landscape_specs(record: dict[str, Any], size: Size = SCREEN) -> dict[str, dict[str, Any]]:
    """Return every plot of a landscape record by file stem."""
    out = {"plane": plane_spec(record, size=size), "plane-matched": matched_spec(record, size)}
    for over, entries in record["trends"].items():
        if entries:
            out[f"trends-{over}"] = trends_spec(record, over, size)
    for i, (benchmark, found) in enumerate(record["partitions"].items()):
        if len(found.get("models", ())) > 1:
            out[f"agreement-{i + 1}"] = matrix_spec(benchmark, found, size=size)
    return out


def save_landscape(
    record: dict[str, Any], folder: str | Path, told: Callable[[str], None] | None = None
) -> list[Path]:
    """Write every plot of a landscape record in both sizes of print; return the files."""
    return save_for_print(lambda size: landscape_specs(record, size), folder, told)
