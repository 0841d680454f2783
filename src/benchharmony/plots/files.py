"""Plots as files: for a screen, and in the sizes of a paper's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.plots.style import ONE_COLUMN, TWO_COLUMNS, Size
from benchharmony.writing import write_whole

Spec = dict[str, Any]

EXTRA = "this needs the extra plots: pip install 'benchharmony[plots]'"
#: Pixels of a PNG per pixel of the specification, on a screen; and per inch, in print.
_SCALE, _PER_INCH = 2.0, 300
_ENDINGS = (".svg", ".png", ".pdf")
#: What is added to the names of files by the columns that they fill.
COLUMNS = {"1col": ONE_COLUMN, "2col": TWO_COLUMNS}
_SVG_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox')
#: Points to the inch.
_POINTS = 72


def save(spec: Spec, path: str | Path, size: Size | None = None) -> Path:
    """Write a specification as ``.svg`` or ``.pdf`` (text stays text) or ``.png``.

    Parameters
    ----------
    spec : dict
        Vega-Lite.
    path : str or Path
        The file; missing folders are made.
    size : Size, optional
        Of print: the picture gets exactly its width, a PNG 300 dots to the inch. By default the
        picture is as large as it comes, a PNG with two pixels for one.

    Raises
    ------
    BenchharmonyError
        For another ending, when vl-convert is not installed, or the file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:
        raise BenchharmonyError(f"{target}: plots are written as .svg or .png, or .pdf")
    write_whole(target, _drawn(spec, target, size))
    return target


def svg_of(spec: Spec) -> str:
    """Return a specification as SVG, as large as it comes.

    Raises
    ------
    BenchharmonyError
        When vl-convert is not installed or cannot draw it.
    """
    try:
        import vl_convert

        return str(vl_convert.vegalite_to_svg(spec))
    except ImportError:
        raise BenchharmonyError(EXTRA) from None
    except ValueError as error:
        reason = str(error).strip().split("\n")[0]
        raise BenchharmonyError(f"the plot cannot be drawn ({reason})") from None


def _drawn(spec: Spec, target: Path, size: Size | None) -> bytes:
    try:
        svg = svg_of(spec)
    except BenchharmonyError as error:
        raise BenchharmonyError(f"{target}: {error}") from None
    import vl_convert

    inches = None if size is None else size.inches
    if target.suffix.lower() == ".svg":
        return (svg if inches is None else _in_inches(svg, inches)).encode()
    if target.suffix.lower() == ".pdf":
        return bytes(vl_convert.svg_to_pdf(svg if inches is None else _in_points(svg, inches)))
    if inches is None:
        return bytes(vl_convert.svg_to_png(svg, scale=_SCALE))
    factor = inches * _POINTS / _natural(svg)[0]
    return bytes(vl_convert.svg_to_png(svg, scale=factor, ppi=_PER_INCH))


def _natural(svg: str) -> tuple[float, float]:
    found = _SVG_SIZE.search(svg)
    if found is None:
        raise ValueError("an SVG without a size")
    return float(found[1]), float(found[2])


def _in_points(svg: str, inches: float) -> str:
    """Return the SVG for the PDF writer, which takes a px for a point."""
    width, height = _natural(svg)
    size = f'width="{inches * _POINTS:g}" height="{inches * _POINTS * height / width:.3f}" viewBox'
    return _SVG_SIZE.sub(size, svg, count=1)


def _in_inches(svg: str, inches: float) -> str:
    width, height = _natural(svg)
    size = f'width="{inches:g}in" height="{inches * height / width:.3f}in" viewBox'
    return _SVG_SIZE.sub(size, svg, count=1)


def save_for_print(
    specs_of: Callable[[Size], Mapping[str, Spec]],
    folder: str | Path,
    told: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write plots in one and two columns' width, each as SVG, PDF and PNG; return the files.

    Parameters
    ----------
    specs_of : callable
        From a size to specifications by file stem; "plane" becomes "plane-1col.svg", ...
    folder : str or Path
        Where the files go.
    told : callable, optional
        Called with each stem before it is drawn.
    """
    out = []
    for name, size in COLUMNS.items():
        for stem, spec in specs_of(size).items():
            if told is not None:
                told(stem)
            out += [save(spec, Path(folder) / f"{stem}-{name}{end}", size) for end in _ENDINGS]
    return out
