"""The curve of a rebalancing as a Vega-Lite chart; SVG and PNG need the extra "plots"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.plots.style import SCREEN, Size, framed
from benchharmony.report.names import counted, cut_names
from benchharmony.report.shown import shown
from benchharmony.writing import file_stem, write_whole

#: Rows of the chart, with their titles.
_QUANTITIES = {"score": "score", "harmony": "HARMONY", "size_evenness": "size evenness"}
#: Width of a panel beside others, and room for axis and names around a lone one, in px for a px
#: of font.
_WIDTH, _AROUND = 260, 7.0
_PRUNED, _RANDOM, _WITHIN = "pruned", "at random", "at random within subdomains"
#: Dark enough on white to be told apart, in print and by the colour-blind.
_COLOURS = {_PRUNED: "#1b1b1b", _RANDOM: "#e69f00", _WITHIN: "#0072b2"}


def chart(document: dict[str, Any]) -> dict[str, Any]:
    """Return the Vega-Lite specification of a document ``benchharmony/rebalance/1``.

    One row a quantity and one column a model: the line of the pruned benchmark over the bands of
    random removal. Strategies that remove nothing have no curve.
    """
    panels = [_panel(e) for e in document["benchmarks"] if e["n_items"] and _has_curve(e)]
    if not panels:
        raise BenchharmonyError("nothing to plot: no benchmark has a curve")
    return framed({"vconcat": panels})


def curve_specs(document: dict[str, Any], size: Size = SCREEN) -> dict[str, dict[str, Any]]:
    """Return the curves of each benchmark and model apart, by file stem.

    Raises
    ------
    BenchharmonyError
        When no benchmark has a curve.
    """
    out: dict[str, dict[str, Any]] = {}
    for entry in document["benchmarks"]:
        if not entry["n_items"]:
            continue
        for model in entry["models"]:
            if len(model["curve"]) < 2:
                continue
            stem = f"curve-{file_stem(entry['benchmark'], model['model'])}"
            stem = stem if stem not in out else f"{stem}-{len(out) + 1}"
            out[stem] = framed(_panel({**entry, "models": [model]}, size), size)
    if not out:
        raise BenchharmonyError("nothing to plot: no benchmark has a curve")
    return out


def write_plot(document: dict[str, Any], path: str | Path) -> None:
    """Write the chart as ``.svg``, ``.png`` or ``.pdf``, or its specification as ``.json``.

    Raises
    ------
    BenchharmonyError
        For another ending, or where vl-convert is not installed.
    """
    from benchharmony.plots.files import save

    target = Path(path)
    ending = check_ending(path)
    spec = chart(document)
    if ending == ".json":
        write_whole(target, json.dumps(spec, indent=1, allow_nan=False).encode())
        return
    save(spec, target)


def check_ending(path: str | Path) -> str:
    """Return the ending of a file for the chart.

    Raises
    ------
    BenchharmonyError
        For another ending than the four.
    """
    ending = Path(path).suffix.lower()
    if ending not in (".svg", ".png", ".pdf", ".json"):
        raise BenchharmonyError(f"{path}: plots are written as .svg, .png, .pdf or .json")
    return ending


def _has_curve(entry: dict[str, Any]) -> bool:
    return any(len(m["curve"]) > 1 for m in entry["models"])


def _panel(entry: dict[str, Any], size: Size | None = None) -> dict[str, Any]:
    width = _WIDTH if size is None else round(size.width - _AROUND * size.font)
    x = {
        "field": "fraction", "type": "quantitative", "title": "items removed",
        "axis": {"format": "%", "tickCount": 6},
    }  # fmt: skip
    colour = {
        "field": "series", "type": "nominal", "title": None,
        "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
        "legend": {"orient": "top"},
    }  # fmt: skip

    def named(name: str) -> list[dict[str, Any]]:
        return [{"calculate": f"'{name}'", "as": "series"}]

    def band(low: str, high: str, name: str) -> dict[str, Any]:
        return {
            "transform": named(name),
            "mark": {"type": "area", "opacity": 0.3},
            "encoding": {
                "x": x,
                "y": {"field": low, "type": "quantitative", "title": None},
                "y2": {"field": high},
                "color": colour,
            },
        }

    line = {
        "transform": named(_PRUNED),
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": x,
            "y": {"field": "value", "type": "quantitative", "scale": {"zero": False}},
            "color": colour,
        },
    }
    return {
        "title": f"{shown(entry['benchmark'], 60)}: {entry['strategy']}",
        "data": {"values": _values(entry)},
        "facet": {
            "row": {"field": "quantity", "title": None, "sort": list(_QUANTITIES.values())},
            "column": {"field": "model", "title": None, "sort": None},
        },
        "spec": {
            "width": width, "height": 110 if size and size.is_narrow else 150,
            "layer": [
                band("random_low", "random_high", _RANDOM),
                band("within_low", "within_high", _WITHIN),
                line,
            ],
        },
        "resolve": {"scale": {"y": "independent"}},
    }  # fmt: skip


def _values(entry: dict[str, Any]) -> list[dict[str, Any]]:
    names = counted(cut_names([m["model"] for m in entry["models"]], 40))
    return [
        {
            "model": whose,
            "quantity": title,
            "fraction": point["fraction"],
            "value": point["values"][name],
            "random_low": point["random"][name]["low"],
            "random_high": point["random"][name]["high"],
            "within_low": point["within"][name]["low"],
            "within_high": point["within"][name]["high"],
        }
        for model, whose in zip(entry["models"], names, strict=True)
        for point in model["curve"]
        for name, title in _QUANTITIES.items()
    ]
