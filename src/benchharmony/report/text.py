"""The report on a terminal: a table of evaluations and, for a few, the subdomains of each."""

from __future__ import annotations

import io
from typing import Any

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchharmony.report.shown import interval, number, shown

WIDTH = 80
#: More evaluations than this are a table only, unless details are asked for.
DETAILS_UP_TO = 4
_BAR = 10
#: Columns that the overview needs beside the two names.
_NUMBERS = 54
#: Subdomains shown per evaluation; the machine-readable formats have all of them.
_MOST_SUBDOMAINS = 30


def to_text(record: dict[str, Any], *, details: bool | None = None) -> str:
    """Return the report as plain text, 80 columns wide."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, no_color=True, force_terminal=False)
    print_report(record, console, details=details)
    return out.getvalue()


def print_report(record: dict[str, Any], console: Console, *, details: bool | None = None) -> None:
    """Print the report; ``details`` None means: for up to 4 evaluations."""
    entries = record["evaluations"]
    unicode = "utf" in console.encoding.lower()
    if len(entries) > 1:
        console.print(_overview(entries, unicode, console.width))
    if details or (details is None and len(entries) <= DETAILS_UP_TO):
        for entry in entries:
            console.print(_details(entry, unicode))
    elif any(e["warnings"] for e in entries):
        console.print(
            Text(
                "! = warnings; read them, and the subdomains, with --details or --format json.",
                style="dim",
            )
        )
    console.print(Text(_footer(record), style="dim"))


def _table(unicode: bool, title: str, width: int) -> Table:
    table = Table(box=SIMPLE_HEAD if unicode else ASCII2, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(title, overflow="ellipsis", no_wrap=True, max_width=width)
    return table


def _overview(entries: list[dict[str, Any]], unicode: bool, width: int) -> Table:
    names = max(width - _NUMBERS, 20)
    table = _table(unicode, "benchmark", names * 2 // 5)
    table.add_column("model", no_wrap=True, overflow="ellipsis", max_width=names - names * 2 // 5)
    for name in ("items", "score", "H", "adj.", "agr."):
        table.add_column(name, justify="right", no_wrap=True, min_width=5)
    table.add_column("k", justify="right", no_wrap=True, min_width=2)
    table.add_column("partition", no_wrap=True, overflow="ellipsis", min_width=9, max_width=9)
    table.add_column("", no_wrap=True, min_width=1)
    for entry in entries:
        h = entry["harmony"]
        table.add_row(
            Text(shown(entry["benchmark"])),
            Text(shown(entry["model"])),
            str(entry["n_items"]),
            number(entry["score"]["mean"]),
            Text(number(h["value"]), style=_style(h["value"])),
            number(h["adjusted"]),
            number(h["agreement"]),
            str(entry["partition"]["k"] or "-"),
            Text(shown(_short_kind(entry["partition"]))),
            Text("!" if entry["warnings"] else "", style="yellow"),
        )
    return table


def _details(entry: dict[str, Any], unicode: bool) -> RenderableType:
    parts: list[RenderableType] = [
        Text(""),
        Text(f"{shown(entry['benchmark'])} / {shown(entry['model'])}", style="bold"),
        Padding(_numbers(entry), (0, 0, 0, 2), expand=False),
    ]
    if entry["subdomains"]:
        parts.append(Padding(_subdomains(entry, unicode), (0, 0, 0, 2), expand=False))
    warnings = [Text(f"! {shown(w, 600)}", style="yellow") for w in entry["warnings"]]
    return Group(*parts, *(Padding(w, (0, 0, 0, 2), expand=False) for w in warnings))


def _numbers(entry: dict[str, Any]) -> Text:
    h, split, score = entry["harmony"], entry["partition"], entry["score"]
    lines = [
        f"{entry['n_items']} items, score ({shown(score['name'])}) {number(score['mean'])} "
        f"{interval(score.get('ci'))}".rstrip(),
        f"HARMONY {number(h['value'])} {interval(h.get('ci'))}".rstrip()
        + f"   noise-adjusted {number(h['adjusted'])}   agreement {number(h['agreement'])}"
        + f"   size evenness {number(h['size_evenness'])}",
    ]
    if split["kind"] is not None:
        chosen = f"partition: {shown(_kind(split), 60)}, k = {split['k']}"
        if split.get("silhouette") is not None:
            chosen += f", silhouette {number(split['silhouette'])}, tau {split['tau']:.4g}"
        lines.append(chosen)
    if h["by_k"]:
        defined = " ".join(f"{k}:{number(v, 2)}" for k, v in h["by_k"].items())
        lines.append(f"H by k   {defined}")
    bands = h["sensitivity"]["bandwidth"]
    if h["value"] is not None and bands:
        shown_bands = "  ".join(f"{b}: {number(v)}" for b, v in bands.items())
        lines.append(f"H by bandwidth   {shown_bands}")
    return Text("\n".join(lines))


def _subdomains(entry: dict[str, Any], unicode: bool) -> Table:
    table = _table(unicode, "subdomain", 22)
    for name in ("items", "share", "score"):
        table.add_column(name, justify="right", no_wrap=True, min_width=5)
    table.add_column("", no_wrap=True)
    table.add_column("mass", justify="right", no_wrap=True)
    words = any(s["keywords"] for s in entry["subdomains"])
    title = (
        "keywords" if words else "nearest to the centre" if _is_induced(entry) else "first items"
    )
    table.add_column(title, overflow="fold", ratio=1)
    for s in entry["subdomains"][:_MOST_SUBDOMAINS]:
        table.add_row(
            Text(shown(s["label"], 60)),
            str(s["size"]),
            f"{s['weight']:.0%}",
            number(s["score"]),
            Text(_bar(s["score"], unicode), style="cyan"),
            number(s["mass"], 2),
            Text(shown(", ".join(s["keywords"] if words else s["examples"][:2]), 90)),
        )
    hidden = len(entry["subdomains"]) - _MOST_SUBDOMAINS
    if hidden > 0:
        table.caption = f"{hidden} smaller subdomains are not shown; --format json has all"
    return table


def _bar(value: float, unicode: bool) -> str:
    full = round(value * _BAR)
    return ("\u2588" if unicode else "#") * full + ("\u00b7" if unicode else ".") * (_BAR - full)


def _kind(split: dict[str, Any]) -> str:
    if split["kind"] is None:
        return "-"
    return f"{split['kind']} ({split['positions']})" if split.get("positions") else split["kind"]


def _short_kind(split: dict[str, Any]) -> str:
    name, _, column = (split["kind"] or "-").partition(":")
    return split.get("positions") or column or name


def _is_induced(entry: dict[str, Any]) -> bool:
    return not entry["partition"]["kind"].startswith("declared:")


def _style(value: float | None) -> str:
    if value is None:
        return "dim"
    return "green" if value >= 0.8 else "yellow" if value >= 0.6 else "red"


def _footer(record: dict[str, Any]) -> str:
    s = record["settings"]
    return (
        "H near 1: the average stands for the whole; near 0: a few subdomains carry it. H does "
        "not show contamination, wrong keys or narrow coverage, and a low H can be honest "
        f"difficulty. (bandwidth {s['bandwidth']:g}, seed {s['seed']}, "
        f"benchharmony {record['version']})"
    )
