"""A rebalancing on a terminal: one line a model, then what the curve and the ranks say."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchharmony.report.names import ASCII_ELLIPSIS, ELLIPSIS, cut_names
from benchharmony.report.shown import interval, number, shown
from benchharmony.terminal import can_draw, page_console

#: Rows of each table; the JSON has all.
_MOST_ROWS = 20
#: Points of the curve that are shown: every so many percent.
_CURVE_STEP = 0.1
#: Columns that indentation and the edges of a table take.
_MARGINS = 4


def to_text(document: dict[str, Any]) -> str:
    """Return the document as plain text, 80 columns wide."""
    out = io.StringIO()
    print_rebalance(document, page_console(out))
    return out.getvalue()


@dataclass(frozen=True)
class _Screen:
    unicode: bool
    width: int


def print_rebalance(document: dict[str, Any], console: Console) -> None:
    """Print the document, schema ``benchharmony/rebalance/1``."""
    screen = _Screen(can_draw(console), console.width)
    for entry in document["benchmarks"]:
        console.print(_benchmark(entry, screen))


def _benchmark(entry: dict[str, Any], screen: _Screen) -> RenderableType:
    s = entry["settings"]
    by = f", by {shown(s['similarity'], 20)} similarity" if s["similarity"] else ""
    head = (
        f"{entry['n_kept']} of {entry['n_items']} items kept; strategy {entry['strategy']}{by}\n"
        f"stopped: {shown(entry['stopped'])}\n"
        f"partition: {shown(s['partition'], 60)}, k = {s['k']}"
    )
    parts: list[RenderableType] = [
        Text(""),
        Text(shown(entry["benchmark"]), style="bold"),
        Text(head),
    ]
    if entry["strategy"] == "weights":
        parts.append(_weights(entry, screen))
    else:
        parts += [_models(entry, screen), _harmony(entry, screen)]
        parts += [_curve(entry["models"][0], screen), _sizes(entry, screen)]
        parts += [Text(line) for line in _fragility(entry)]
        parts += [Text(line) for line in _ranks(entry)]
    parts += [Text(f"! {shown(w, 600)}", style="yellow") for w in entry["warnings"]]
    parts.append(Text(_footer(entry), style="dim"))
    return Group(*(Padding(p, (0, 0, 0, 0 if i < 2 else 2)) for i, p in enumerate(parts)))


def _table(screen: _Screen, header: Sequence[str], rows: list[list[str]], what: str) -> Table:
    """Return a table whose first column gives way where the terminal is too narrow.

    Names that are cut are still told apart.
    """
    table = Table(
        box=SIMPLE_HEAD if screen.unicode else ASCII2, padding=(0, 1, 0, 0), pad_edge=False
    )
    shown_rows = rows[:_MOST_ROWS]
    needed = [max(map(len, column)) for column in zip(header, *shown_rows, strict=True)]
    left = screen.width - _MARGINS - sum(needed[1:]) - 2 * len(needed[1:])
    mark = ELLIPSIS if screen.unicode else ASCII_ELLIPSIS
    names = cut_names([row[0] for row in shown_rows], max(left, 8), mark=mark)
    table.add_column(header[0], no_wrap=True)
    for name, widest in zip(header[1:], needed[1:], strict=True):
        table.add_column(name, justify="right", no_wrap=True, min_width=widest)
    for name, row in zip(names, shown_rows, strict=True):
        table.add_row(Text(name), *map(Text, row[1:]))
    if len(rows) > _MOST_ROWS:
        table.caption = f"{len(rows) - _MOST_ROWS} more {what} are not shown; --format json has all"
    return table


def _models(entry: dict[str, Any], screen: _Screen) -> Table:
    header = ["model", "score", "pruned", "shift", "interval", "p", "by sizes", "p"]
    rows = []
    for m in entry["models"]:
        e = m["effect"]
        row = [shown(m["model"], 80), number(e["before"]), number(e["after"])]
        row += [_signed(e["shift"]), interval(e["ci"]), _p(e["p_holm"])]
        rows.append([*row, _signed(e["by_sizes"]), _p(e["p_sizes"])])
    return _table(screen, header, rows, "models")


def _weights(entry: dict[str, Any], screen: _Screen) -> Table:
    header = ["model", "score", "equal weights", "shift", "interval", "p"]
    rows = []
    for m in entry["models"]:
        w = m["post_stratified"]
        row = [shown(m["model"], 80), number(m["effect"]["before"])]
        row += [f"{w['score']:.3f} +- {w['standard_error']:.3f}", _signed(w["shift"])]
        rows.append([*row, interval(w["shift_ci"]), _p(w["p_value"])])
    return _table(screen, header, rows, "models")


def _harmony(entry: dict[str, Any], screen: _Screen) -> Table:
    """H and its companions before and after."""
    names = {"harmony": "H", "adjusted": "adj.", "agreement": "agr.", "size_evenness": "sizes"}
    rows = [
        [
            shown(m["model"], 80),
            *(f"{number(m['before'][q], 2)} to {number(m['after'][q], 2)}" for q in names),
        ]
        for m in entry["models"]
    ]
    return _table(screen, ["model", *names.values()], rows, "models")


def _curve(model: dict[str, Any], screen: _Screen) -> Table:
    header = ["removed", "score", "at random", "p", "same per subd.", "p", "H", "sizes"]
    rows = []
    wanted = 0.0
    for point in model["curve"]:
        if point["fraction"] < wanted - 0.02:
            continue
        wanted = round(point["fraction"] / _CURVE_STEP) * _CURVE_STEP + _CURVE_STEP
        v, e = point["values"], point["effect"]
        rows.append(
            [
                f"{point['fraction']:.0%}",
                number(v["score"]),
                _band(point["random"]["score"]),
                _p(e["p_random"]),
                _band(point["within"]["score"]),
                _p(e["p_within"]),
                number(v["harmony"], 2),
                number(v["size_evenness"], 2),
            ]
        )
    table = _table(screen, header, rows, "points")
    table.title = Text(f"{shown(model['model'], 66)}: the curve")
    table.title_justify = "left"
    return table


def _sizes(entry: dict[str, Any], screen: _Screen) -> Table:
    rows = [[shown(s["label"], 60), str(s["before"]), str(s["after"])] for s in entry["subdomains"]]
    return _table(screen, ["subdomain", "items", "kept"], rows, "subdomains")


def _fragility(entry: dict[str, Any]) -> list[str]:
    lines = []
    for kind, words in (("removal", "of the items removed"), ("gain", "gained in H")):
        f = entry["fragility"][kind]
        if f is None:
            lines.append(f"fragility at matched {kind}: undefined (not reached)")
            continue
        at = f"{f['at']:.0%}" if kind == "removal" else f"{f['at']:g}"
        of = len(entry["models"])
        some = f" ({f['models']} of {of} models reach it)" if f["models"] < of else ""
        lines.append(
            f"fragility with {at} {words}: {f['value']:.3f} {interval(f['ci'])}, "
            f"by sizes {f['by_sizes']:.3f}, by chance {f['by_chance']:.3f}{some}"
        )
    return lines


def _ranks(entry: dict[str, Any]) -> list[str]:
    if len(entry["models"]) < 2:
        return []
    changes = entry["rank_changes"]
    beyond = [c for c in changes if c["beyond_noise"]]
    lines = [
        f"rank changes: {len(changes)} pairs of models, {len(beyond)} more than random removal "
        "explains"
    ]
    return lines + [
        f"  {shown(c['behind'], 30)} passes {shown(c['ahead'], 30)}: gap "
        f"{_signed(c['gap_before'])} -> {_signed(c['gap_after'])}, p {_p(c['p_shift'])} "
        f"(Holm {_p(c['p_holm'])})"
        for c in (beyond or changes)[:5]
    ]


def _footer(entry: dict[str, Any]) -> str:
    s = entry["settings"]
    if entry["strategy"] == "weights":
        return "Every subdomain has the same weight; +- is one standard error."
    return (
        "p: two-sided, against random removal of as many items (in the first table Holm-corrected "
        "over the models). by sizes: what the new sizes alone do, and its p (against scores "
        "shuffled over the items). 'same per subd.': as many from every subdomain, at random; a "
        "score outside that band moved also by which items went. A shift can be honest "
        "difficulty: it says what the average hangs on, not that it is wrong. "
        f"({s['level']:.0%} bands, seed {s['seed']})"
    )


def _band(band: dict[str, Any]) -> str:
    return "-" if band["low"] is None else interval([band["low"], band["high"]])


def _signed(value: float) -> str:
    return f"{value:+.3f}"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}"
