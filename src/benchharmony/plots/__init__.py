"""Plots: Vega-Lite specifications made without any dependency, charts and files with the extra.

A specification serves every world: inlined in a page, wrapped as an Altair chart in a notebook
(``plane``, ``trends``), or turned into SVG and PNG by vl-convert (``save``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.plots.matrix import matrix_spec
from benchharmony.plots.plane import matched_spec, plane_spec
from benchharmony.plots.trends import trends_spec

__all__ = [
    "Chart", "landscape_specs", "matched_spec", "matrix_spec", "plane", "plane_spec", "save",
    "save_landscape", "trends", "trends_spec",
]  # fmt: skip

#: An ``altair.Chart`` or one of its compounds.
Chart = Any
#: Pixels of a PNG per pixel of the specification.
_SCALE = 2.0
_EXTRA = "this needs the extra plots: pip install 'benchharmony[plots]'"


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
        raise BenchharmonyError(_EXTRA) from None
    return altair.Chart.from_dict(spec)


def landscape_specs(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every plot of a landscape record by file stem."""
    out = {"plane": plane_spec(record), "plane-matched": matched_spec(record)}
    for over, entries in record["trends"].items():
        if entries:
            out[f"trends-{over}"] = trends_spec(record, over)
    for i, (benchmark, found) in enumerate(record["partitions"].items()):
        if len(found.get("models", ())) > 1:
            out[f"agreement-{i + 1}"] = matrix_spec(benchmark, found)
    return out


def save_landscape(record: dict[str, Any], folder: Path) -> list[Path]:
    """Write every plot of a landscape record as SVG and PNG; return the files."""
    return [
        path
        for stem, spec in landscape_specs(record).items()
        for path in (save(spec, folder / f"{stem}.svg"), save(spec, folder / f"{stem}.png"))
    ]


def save(spec: dict[str, Any], path: str | Path) -> Path:
    """Write a specification as ``.svg`` (text stays text) or ``.png`` (two pixels for one).

    Raises
    ------
    BenchharmonyError
        For another ending, when vl-convert is not installed, or the file cannot be written.
    """
    target = Path(path)
    if target.suffix not in (".svg", ".png"):
        raise BenchharmonyError(f"{target}: plots are written as .svg or .png")
    try:
        import vl_convert
    except ImportError:
        raise BenchharmonyError(f"{target}: {_EXTRA}") from None
    if target.suffix == ".svg":
        made = vl_convert.vegalite_to_svg(spec).encode()
    else:
        made = vl_convert.vegalite_to_png(spec, scale=_SCALE)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(made)
    except OSError as error:
        raise BenchharmonyError(f"{target}: cannot be written ({error.strerror})") from None
    return target
