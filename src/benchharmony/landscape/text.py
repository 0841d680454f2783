"""The landscape on a terminal, 80 columns wide."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchharmony.landscape.growth import size_words
from benchharmony.report.names import ASCII_ELLIPSIS, ELLIPSIS, columns_of, cut_names
from benchharmony.report.shown import number, shown
from benchharmony.terminal import WIDTH, can_draw, page_console

#: The first column never becomes narrower than this.
_NARROWEST = 8
#: Rows of the long tables; the machine-readable formats have all.
_MOST = 40


def to_text(record: dict[str, Any]) -> str:
    """Return the landscape as plain text."""
    out = io.StringIO()
    print_landscape(record, page_console(out))
    return out.getvalue()


def print_landscape(record: dict[str, Any], console: Console) -> None:
    """Print the landscape."""
    unicode = can_draw(console)
    console.print(_plane(record, unicode))
    console.print()
    for entry in record["benchmarks"]:
        _say(console, f"{shown(entry['benchmark'], 60)}: {entry['verdict']['label']}. "
             f"{shown(entry['verdict']['sentence'], 400)}")  # fmt: skip
        for warning in entry["warnings"]:
            _say(console, f"! {shown(warning, 400)}", "yellow", 2)
    _title(console, "Who is in it")
    console.print(_bands(record, unicode))
    console.print()
    console.print(_models(record, unicode))
    _title(console, f"Sizes: every benchmark cut to {record['size']['matched_items']} items")
    console.print(_sizes(record, unicode))
    _correlation(record, console)
    for over, entries in record["trends"].items():
        for entry in entries:
            name = shown(entry["benchmark"], 40)
            _title(console, f"{name}: change with {over} (slope per factor 10)")
            console.print(_trends(entry, unicode))
            _difference(entry, console)
    for benchmark, found in record["partitions"].items():
        _partitions(benchmark, found, console)
    if record["left_out"] or record["warnings"]:
        _title(console, "Warnings")
        for warning in record["warnings"]:
            _say(console, f"! {shown(warning, 400)}", "yellow")
    _footer(record, console)


def _table(
    unicode: bool,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = 20,
    caption: str = "",
) -> Table:
    """Return a table that fits: its first column gives way where it is too wide, not its numbers.

    The first cell of each row is a name from a log; names are cut and still told apart.
    """
    # The box itself parts the columns by one character.
    table = Table(box=SIMPLE_HEAD if unicode else ASCII2, padding=0, show_edge=False)
    others = [
        max(columns_of(text) for text in (head, *(row[i + 1] for row in rows)))
        for i, head in enumerate(heads[1:])
    ]
    room = max(min(width, WIDTH - sum(others) - len(others)), _NARROWEST)
    mark = ELLIPSIS if unicode else ASCII_ELLIPSIS
    names = cut_names([row[0] for row in rows], room, mark=mark)
    table.add_column(heads[0], no_wrap=True, overflow="ellipsis" if unicode else "crop",
                     max_width=max(room, len(heads[0])))  # fmt: skip
    for head, least in zip(heads[1:], others, strict=True):
        table.add_column(head, justify="right", no_wrap=True, min_width=least)
    for name, row in zip(names, rows, strict=True):
        table.add_row(Text(name), *map(Text, row[1:]))
    table.caption = caption or None
    return table


def _say(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    console.print(Padding(Text(text, style=style), (0, 0, 0, indent), expand=False))


def _title(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", style="bold"))


def _span(bounds: list[float] | None, digits: int = 2) -> str:
    return "" if not bounds else f"{bounds[0]:.{digits}f}-{bounds[1]:.{digits}f}"


def _pair(bounds: list[float] | None, digits: int = 2) -> str:
    return "" if not bounds else f"[{bounds[0]:.{digits}f}, {bounds[1]:.{digits}f}]"


def _plane(record: dict[str, Any], unicode: bool) -> Table:
    rows = []
    for e in record["benchmarks"]:
        h = e["harmony"]["adjusted"]
        spread = None if not h["variance_ci"] else [v**0.5 for v in h["variance_ci"]]
        rows.append(
            (
                e["benchmark"],
                str(e["n_items"]),
                str(e["n_models"]),
                _range(e["k"]),
                number(e["score"]["mean"], 2),
                number(e["harmony"]["raw"]["mean"], 2),
                number(h["mean"]),
                _span(h["ci"]),
                number(h["sd"], 2),
                _span(spread),
                number(e["agreement"]["mean"], 2),
            )
        )
    heads = ("benchmark", "items", "mod.", "k", "score", "raw", "adj. H", "", "SD", "", "adj. agr.")
    return _table(unicode, heads, rows)


def _range(k: dict[str, Any]) -> str:
    return str(k["min"]) if k["min"] == k["max"] else f"{k['min']}-{k['max']}"


def _bands(record: dict[str, Any], unicode: bool) -> Table:
    rows = []
    for e in record["benchmarks"]:
        cells = []
        for key in ("leave_one_model_out", "leave_one_family_out"):
            band = (e[key] or {}).get("adjusted")
            cells += [_span(band and band["mean"]), shown(band["most"], 16) if band else "-"]
        rows.append((e["benchmark"], *cells))
    heads = ("adj. H without", "one model", "moved most by", "one family", "moved most by")
    return _table(unicode, heads, rows)


def _models(record: dict[str, Any], unicode: bool) -> Table:
    rows = [
        (
            m["model"],
            shown(m["family"] or "-", 20),
            size_words(m["parameters"]) or "-",
            size_words(m["tokens"]) or "-",
            m["source"] or "nothing known",
        )
        for m in record["models"][:_MOST]
    ]
    left = len(record["models"]) - len(rows)
    caption = f"and {left} more in --format json" if left > 0 else ""
    heads = ("model", "family", "parameters", "tokens", "taken from")
    return _table(unicode, heads, rows, 30, caption)


def _sizes(record: dict[str, Any], unicode: bool) -> Table:
    rows = []
    for e in record["benchmarks"]:
        cut = record["size"]["matched"][e["benchmark"]]
        variance = cut["raw"]["variance"]
        rows.append(
            (
                e["benchmark"],
                str(e["n_items"]),
                number(e["harmony"]["raw"]["mean"]),
                number(e["harmony"]["adjusted"]["mean"]),
                number(cut["raw"]["mean"]),
                number(cut["adjusted"]["mean"]),
                number(None if variance is None else variance**0.5, 2),
            )
        )
    heads = ("benchmark", "items", "raw H", "adj. H", "cut: raw H", "adj. H", "SD")
    return _table(unicode, heads, rows)


def _correlation(record: dict[str, Any], console: Console) -> None:
    found = record["size"]["correlation"]
    parts = []
    for key, words in (
        ("with_items", "items"), ("with_k", "k"), ("with_k_within_benchmarks", "k, within"),
    ):  # fmt: skip
        for name in ("raw", "adjusted"):
            c = found[name][key]
            if c is not None:
                parts.append(f"{name} H and {words}: {c['rho']:+.2f} (p {c['p_value']:.2g})")
    if parts:
        _say(console, f"Rank correlations: {'; '.join(parts)}")
    else:
        _say(console, "No rank correlation with items or k: fewer than 4 benchmarks, one k.", "dim")


def _trends(entry: dict[str, Any], unicode: bool) -> Table:
    rows = []
    for h, score in zip(entry["adjusted"]["families"], entry["score"]["families"], strict=True):
        rank = h["spearman"]
        rows.append(
            (
                h["family"],
                str(h["sizes"]),
                _signed(h["slope"]),
                _pair(h["ci"]),
                "-" if rank is None else f"{rank['rho']:+.2f}",
                "-" if rank is None else f"{rank['p_value']:.2f}",
                _signed(score["slope"]),
                _pair(score["ci"]),
            )
        )
    return _table(unicode, ("family", "sizes", "H", "", "rank", "p", "score", ""), rows)


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"


def _difference(entry: dict[str, Any], console: Console) -> None:
    if entry["adjusted"]["common"] is None:
        _say(console, "No family (or series) with 3 sizes: shown, not fitted.", "dim")
        return
    for name, words in (("adjusted", "adjusted H"), ("score", "score")):
        found = entry[name]
        common, differ = found["common"], found["difference"]
        line = f"{words}: common slope {common['slope']:+.3f} {_pair(common['ci'], 3)}"
        line += f", p = {common['p_value']:.2g}"
        if differ:
            line += f"; slopes differ between families: p = {differ['p_value']:.2g}"
        _say(console, line)


def _partitions(benchmark: str, found: dict[str, Any], console: Console) -> None:
    _title(console, f"Partitions of {shown(benchmark, 40)}")
    for sentence in found.get("sentences", []):
        _say(console, shown(sentence, 500))
    matrix = found.get("agreement")
    if matrix:
        whose = "models' own" if found["kind"] == "shared" else "families'"
        _say(console, f"Adjusted Rand index of the {whose} partitions:")
        console.print(_matrix(found["models"], matrix))
    if found.get("note"):
        _say(console, shown(found["note"], 300), "dim")


def _matrix(models: list[str], matrix: list[list[float]]) -> Text:
    count = min(len(models), 12)
    names = cut_names(models[:count], 16)
    lines = ["".ljust(20) + " ".join(f"{i + 1:>4}" for i in range(count))]
    for i in range(count):
        cells = " ".join(f"{number(matrix[i][j], 2):>4}" for j in range(count))
        lines.append(f"{i + 1:>2} {names[i]}{' ' * (17 - columns_of(names[i]))}{cells}")
    if len(models) > count:
        lines.append(f"and {len(models) - count} more in --format json")
    return Text("\n".join(lines))


def _footer(record: dict[str, Any], console: Console) -> None:
    s = record["settings"]
    console.print()
    for name in ("high mean, low variance", "low mean, high variance"):
        _say(console, f"{name.capitalize()}: {record['corners'][name]}.", "dim")
    _say(
        console,
        f"Intervals ({s['level']:.0%}) are for models like these on items like these; SD of H is "
        "over models, item noise taken out; adj. agr. is agreement with chance taken out, as adj. "
        f"H (the agr. of a report is raw). (bandwidth {s['bandwidth']:g}, seed {s['seed']}, "
        f"{s['bootstrap']} resamples, benchharmony {record['version']})",
        "dim",
    )
