"""Machine-readable and Markdown views of the report record."""

from __future__ import annotations

import csv
import html
import io
import json
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.report.shown import (
    interval,
    number,
    safe_cell,
    safe_code,
    safe_markdown,
    shown,
    verdict_lines,
)

#: Flat columns of one evaluation: name and path in the record.
_COLUMNS: tuple[tuple[str, tuple[str | int, ...]], ...] = (
    ("benchmark", ("benchmark",)),
    ("model", ("model",)),
    ("n_items", ("n_items",)),
    ("score_name", ("score", "name")),
    ("score", ("score", "mean")),
    ("score_low", ("score", "ci", 0)),
    ("score_high", ("score", "ci", 1)),
    ("harmony", ("harmony", "value")),
    ("harmony_adjusted", ("harmony", "adjusted")),
    ("harmony_low", ("harmony", "ci", 0)),
    ("harmony_high", ("harmony", "ci", 1)),
    ("size_evenness", ("harmony", "size_evenness")),
    ("agreement", ("harmony", "agreement")),
    ("agreement_low", ("harmony", "agreement_ci", 0)),
    ("agreement_high", ("harmony", "agreement_ci", 1)),
    ("p_same_size", ("harmony", "null", "same_size", "p_value")),
    ("q_same_size", ("harmony", "null", "same_size", "q_value")),
    ("verdict", ("verdict", "label")),
    ("weighted_sd", ("indices", "weighted_sd")),
    ("worst_subdomain", ("indices", "worst_subdomain")),
    ("k", ("partition", "k")),
    ("partition", ("partition", "kind")),
    ("positions", ("partition", "positions")),
    ("tau", ("partition", "tau")),
    ("silhouette", ("partition", "silhouette")),
    ("format", ("source", "format")),
    ("items_left_out", ("source", "items_left_out")),
)


def render(record: dict[str, Any], format: str) -> str:  # noqa: A002 - the field's own word
    """Return the record in one of the formats text, json, csv, md, latex."""
    if format == "text":
        from benchharmony.report.text import to_text

        return to_text(record)
    if format == "latex":
        from benchharmony.report.latex import to_latex

        return to_latex(record)
    views = {"json": to_json, "csv": to_csv, "md": to_markdown}
    if format not in views:
        raise BenchharmonyError(f"unknown format {format!r}; choose text, json, csv, md or latex")
    return views[format](record)


def to_json(record: dict[str, Any]) -> str:
    """Return strict JSON (no NaN), keys in the record's order."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one flat dict per evaluation, the columns of the CSV."""
    out = []
    for entry in record["evaluations"]:
        row = {}
        for name, path in _COLUMNS:
            value: Any = entry
            for key in path:
                value = _at(value, key)
            row[name] = value
        row["file"] = next(iter(entry["source"]["files"]), None)
        row["warnings"] = " | ".join(entry["warnings"])
        out.append(row)
    return out


def _at(value: Any, key: str | int) -> Any:
    """Return what a dict or a list holds at a place; None where it holds nothing."""
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) and isinstance(key, int) else None


def to_csv(record: dict[str, Any]) -> str:
    """Return one row per evaluation; text that a spreadsheet would run is quoted with ``'``."""
    out = io.StringIO()
    table = rows(record)
    writer = csv.DictWriter(out, fieldnames=list(table[0]), lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
    return out.getvalue()


def to_markdown(record: dict[str, Any]) -> str:
    """Return a table of the evaluations and, under it, what the text report says of each.

    That is the verdict with its reason and notes, the subdomains and the warnings.
    """
    lines = [
        f"| {' | '.join(_HEADS)} |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|---|",
    ]
    lines += [f"| {' | '.join(map(safe_markdown, _overview(e)))} |" for e in record["evaluations"]]
    for entry in record["evaluations"]:
        lines += [
            "",
            f"## {safe_markdown(entry['benchmark'])} / {safe_markdown(entry['model'])}",
            "",
        ]
        for line in verdict_lines(entry["verdict"]):
            lines += [safe_markdown(line, 1000), ""]
        if entry["subdomains"]:
            lines += [
                "| subdomain | items | share | score | mass | keywords |",
                "|---|--:|--:|--:|--:|---|",
            ]
            lines += [
                f"| {safe_markdown(s['label'])} | {s['size']} | {s['weight']:.1%} "
                f"| {number(s['score'])} {interval(s.get('ci'))} | {number(s['mass'])} "
                f"| {safe_markdown(', '.join(s['keywords']))} |"
                for s in entry["subdomains"]
            ]
            lines.append("")
        lines += [f"- {safe_markdown(w, 1000)}" for w in entry["warnings"]]
    settings = json.dumps(record["settings"], ensure_ascii=False)
    lines += [
        "",
        f"benchharmony {record['version']}, settings `{safe_code(settings)}`",
        "",
    ]
    return "\n".join(lines)


#: Heads of the short table; every column but the first two and the last two is a number.
_HEADS = (
    "benchmark", "model", "items", "score", "HARMONY", "adjusted", "agreement", "k", "partition",
    "verdict",
)  # fmt: skip


def _overview(entry: dict[str, Any]) -> list[str]:
    h, score, split = entry["harmony"], entry["score"], entry["partition"]
    return [
        entry["benchmark"],
        entry["model"],
        str(entry["n_items"]),
        f"{number(score['mean'])} {interval(score.get('ci'))}".strip(),
        f"{number(h['value'])} {interval(h.get('ci'))}".strip(),
        number(h["adjusted"]),
        number(h["agreement"]),
        str(split["k"] or "-"),
        split["kind"] or "-",
        entry["verdict"]["label"] if entry["verdict"] else "-",
    ]


def html_table(record: dict[str, Any]) -> str:
    """Return an HTML table of the evaluations, for notebooks."""
    head = "".join(f"<th>{h}</th>" for h in _HEADS)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(shown(c))}</td>' for c in _overview(e))}</tr>"
        for e in record["evaluations"]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
