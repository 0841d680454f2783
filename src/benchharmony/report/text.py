"""The report on a terminal: a table of evaluations and, for a few, the subdomains of each."""

from __future__ import annotations

import io
from typing import Any

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchharmony.report.names import (
    ASCII_ELLIPSIS,
    ELLIPSIS,
    columns_of,
    cut_names,
    without_folders,
)
from benchharmony.report.shown import interval, number, shown, verdict_lines
from benchharmony.terminal import bar, can_draw, page_console
from benchharmony.verdict import (
    ARTEFACT,
    EXCEPTIONS,
    REPRESENTATIVE,
    TOO_FEW,
    UNDEFINED,
    UNEVEN,
)

#: More evaluations than this are a table only, unless details are asked for.
DETAILS_UP_TO = 4
_BAR = 8
#: Columns of a subdomain's name at most.
_LONGEST = 24
#: Columns that the overview needs beside the two names.
_NUMBERS = 57
#: Verdicts in a word, for the overview.
_VERDICTS = {
    REPRESENTATIVE: ("even", "green"),
    EXCEPTIONS: ("even but", "yellow"),
    UNEVEN: ("uneven", "red"),
    TOO_FEW: ("unclear", "dim"),
    ARTEFACT: ("artefact", "magenta"),
    UNDEFINED: ("undefined", "dim"),
}
_NULLS = {
    "same_size": "random subdomains of these sizes",
    "difficulty_matched": "and of this confidence",
    "cross_fitted": "other models' subdomains",
}
_LEGEND = (
    "k: subdomains; p(redictive), s(hared), d(eclared), t(ext), r(esponses) or o(ptions). agr.: "
    "agreement, how near the subdomains score to the mean. The verdict goes by it, not by H, which "
    "uneven sizes lower too. even: the average stands for the whole; even but: save some "
    "subdomains; uneven: read them. ! warnings. All of it: --details or --format json."
)
#: Subdomains shown per evaluation; the machine-readable formats have all of them.
_MOST_SUBDOMAINS = 30


def to_text(record: dict[str, Any], *, details: bool | None = None) -> str:
    """Return the report as plain text, 80 columns wide."""
    out = io.StringIO()
    console = page_console(out)
    print_report(record, console, details=details)
    return out.getvalue()


def print_report(record: dict[str, Any], console: Console, *, details: bool | None = None) -> None:
    """Print the report; ``details`` None means: for up to 4 evaluations."""
    entries = record["evaluations"]
    unicode = can_draw(console)
    if len(entries) > 1:
        console.print(_overview(entries, unicode, console.width))
    if details or (details is None and len(entries) <= DETAILS_UP_TO):
        for entry in entries:
            console.print(_details(entry, unicode))
    else:
        console.print(Text(_LEGEND, style="dim"))
    console.print(Text(_footer(record), style="dim"))


def _overview(entries: list[dict[str, Any]], unicode: bool, width: int) -> Table:
    table = Table(
        box=SIMPLE_HEAD if unicode else ASCII2,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    benchmarks, models = _names(entries, max(width - _NUMBERS, 20), unicode)
    table.add_column("benchmark", no_wrap=True)
    table.add_column("model", no_wrap=True)
    for name in ("items", "score", "H", "adj.", "agr."):
        table.add_column(name, justify="right", no_wrap=True, min_width=5)
    table.add_column("k", justify="right", no_wrap=True, min_width=4)
    table.add_column("verdict", no_wrap=True, min_width=9)
    table.add_column("", no_wrap=True, min_width=1)
    for entry, benchmark, model in zip(entries, benchmarks, models, strict=True):
        h, split = entry["harmony"], entry["partition"]
        table.add_row(
            Text(benchmark),
            Text(model),
            str(entry["n_items"]),
            number(entry["score"]["mean"]),
            Text(number(h["value"]), style=_style(h["value"])),
            number(h["adjusted"]),
            number(h["agreement"]),
            f"{split['k']} {split['kind'][0]}" if split["k"] else "-",
            _short_verdict(entry),
            Text("!" if entry["warnings"] else "", style="yellow"),
        )
    return table


def _names(entries: list[dict[str, Any]], room: int, unicode: bool) -> tuple[list[str], list[str]]:
    """Return benchmarks and models cut to share the room, models rather whole than benchmarks."""
    benchmarks, models = ([e[key] for e in entries] for key in ("benchmark", "model"))
    wide = max(map(columns_of, map(shown, benchmarks)))
    if wide + max(map(columns_of, map(shown, models))) > room:
        models = without_folders(models)
    left = room - max(map(columns_of, map(shown, models)))
    wide = min(wide, max(left, room * 2 // 5, len("benchmark")))
    mark = ELLIPSIS if unicode else ASCII_ELLIPSIS
    return cut_names(benchmarks, wide, mark=mark), cut_names(models, room - wide, mark=mark)


def _short_verdict(entry: dict[str, Any]) -> Text:
    given = entry.get("verdict")
    if entry["harmony"]["value"] is None:
        return Text("undefined", style="dim")
    word, style = _VERDICTS[given["label"]] if given else ("-", "dim")
    return Text(word, style=style)


def _details(entry: dict[str, Any], unicode: bool) -> RenderableType:
    parts: list[RenderableType] = [
        Text(""),
        Text(f"{shown(entry['benchmark'])} / {shown(entry['model'])}", style="bold"),
        *(_verdict(entry["verdict"]) if entry["verdict"] else ()),
        Padding(_numbers(entry), (0, 0, 0, 2), expand=False),
    ]
    if entry["subdomains"]:
        parts.append(Padding(_subdomains(entry, unicode), (0, 0, 0, 2), expand=False))
    if entry.get("tree"):
        parts.append(Padding(Text("\n".join(_tree(entry["tree"]))), (0, 0, 1, 2), expand=False))
    warnings = [Text(f"! {shown(w, 600)}", style="yellow") for w in entry["warnings"]]
    return Group(*parts, *(Padding(w, (0, 0, 0, 2), expand=False) for w in warnings))


def _verdict(given: dict[str, Any]) -> list[RenderableType]:
    _, style = _VERDICTS[given["label"]]
    why, *notes = (shown(line, 400) for line in verdict_lines(given))
    lines = [Text(why, style=style), *map(Text, notes)]
    return [Padding(line, (0, 0, 0, 2), expand=False) for line in lines]


def _numbers(entry: dict[str, Any]) -> Text:
    h, split, score = entry["harmony"], entry["partition"], entry["score"]
    lines = [
        f"{entry['n_items']} items, score ({shown(score['name'])}) {number(score['mean'])} "
        f"{interval(score['ci'])}".rstrip(),
        f"HARMONY {number(h['value'])}   noise-adjusted {number(h['adjusted'])}   true H within "
        f"{interval(h['ci']) or '-'}",
        f"agreement {number(h['agreement'])} {interval(h['agreement_ci'])}".rstrip()
        + f"   size evenness {number(h['size_evenness'])}",
    ]
    if h["value"] is not None:
        lines += _indices(entry)
    if h["null"]:
        tests = ", ".join(
            f"p = {n['p_value']:.2g} ({_NULLS[name]})" for name, n in h["null"].items()
        )
        lines.append(f"less even than chance: {tests}")
    if h.get("detectable"):
        lines.append(h["detectable"])
    if noise := h.get("partition_noise"):
        lines.append(
            f"noise of adjusted H: items {number(noise['item_sd'])}, partition "
            f"{number(noise['partition_sd'])} (refits agree {number(noise['agreement'], 2)})"
        )
    if split["kind"] is not None:
        chosen = f"partition: {shown(_kind(split), 60)}, k = {split['k']}"
        if split.get("silhouette") is not None:
            chosen += f", silhouette {number(split['silhouette'])}"
        if split.get("tau") is not None:
            chosen += f", tau {split['tau']:.4g}"
        lines.append(chosen)
    if h["by_k"]:
        defined = " ".join(f"{k}:{number(v, 2)}" for k, v in h["by_k"].items())
        lines.append(f"H by k   {defined}")
    bands = h["sensitivity"]["bandwidth"]
    if h["value"] is not None and bands:
        shown_bands = "  ".join(f"{b}: {number(v)}" for b, v in bands.items())
        lines.append(f"H by bandwidth   {shown_bands}")
    return Text("\n".join(lines))


def _indices(entry: dict[str, Any]) -> list[str]:
    """Return where 1 - H comes from, and the indices that see what H does not."""
    loss, i = entry["harmony"]["loss"], entry["indices"]
    return [
        f"1 - H: {number(loss['sizes'])} by uneven sizes, {number(loss['performance'])} by "
        "uneven performance",
        f"spread of subdomains: SD {number(i['weighted_sd'])}, Gini {number(i['gini'])}, worst "
        f"{number(i['worst_subdomain'])}, worst / best {number(i['min_max_ratio'])}",
    ]


def _subdomains(entry: dict[str, Any], unicode: bool) -> RenderableType:
    """Return a line of figures per subdomain and, where there are words, one under it."""
    rows = entry["subdomains"][:_MOST_SUBDOMAINS]
    mark = ELLIPSIS if unicode else ASCII_ELLIPSIS
    names = cut_names([s["label"] for s in rows], _LONGEST, mark=mark)
    width = max(len("subdomain"), *map(columns_of, names))
    head = f"{'subdomain':<{width}} {'items':>6} {'share':>5} {'score':>6} {'interval':<12}"
    lines: list[RenderableType] = [Text(f"{head} {'':{_BAR}}  mass", style="dim")]
    for s, name in zip(rows, names, strict=True):
        label = name + " " * (width - columns_of(name))
        figures = Text(f"{label} {s['size']:>6} {s['weight']:>5.0%} {s['score']:>6.3f} ")
        figures.append(f"{interval(s['ci'], 2):<12} ")
        figures.append(bar(s["score"], _BAR, unicode=unicode), style="cyan")
        figures.append(f"  {s['mass']:.2f}")
        lines.append(figures)
        words = ", ".join(s["keywords"])
        if not words and _is_induced(entry):
            words = f"near its centre: {', '.join(s['examples'][:3])}"
        if words:
            hint = Text(f"    {shown(words, 150)}", style="dim", no_wrap=True)
            hint.overflow = "ellipsis" if unicode else "crop"
            lines.append(hint)
    hidden = len(entry["subdomains"]) - len(rows)
    if hidden > 0:
        lines.append(Text(f"({hidden} smaller subdomains not shown; --format json has all)"))
    return Group(Text(""), *lines, Text(""))


def _tree(node: dict[str, Any], depth: int = 0) -> list[str]:
    """Return the tree of subdomains, a line a node, with the reason for each split or stop."""
    name = ".".join(str(i + 1) for i in node["path"]) or "all"
    lines = [f"{'  ' * depth}{name}: {node['size']} items, {node['score']:.3f}; {node['reason']}"]
    for child in node["children"]:
        lines += _tree(child, depth + 1)
    return lines


def _kind(split: dict[str, Any]) -> str:
    if split["kind"] is None:
        return "-"
    return f"{split['kind']} ({split['positions']})" if split.get("positions") else split["kind"]


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
