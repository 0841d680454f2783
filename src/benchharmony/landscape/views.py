"""Machine-readable and Markdown views of the landscape record."""

from __future__ import annotations

import csv
import html
import io
import json
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.landscape.growth import size_words
from benchharmony.report.shown import interval, number, safe_cell, safe_code, safe_markdown, shown
from benchharmony.report.views import to_json


def render(record: dict[str, Any], format: str) -> str:  # noqa: A002 - the field's own word
    """Return the record in one of the formats text, json, csv, md, latex."""
    if format == "text":
        from benchharmony.landscape.text import to_text

        return to_text(record)
    if format == "latex":
        from benchharmony.landscape.latex import to_latex

        return to_latex(record)
    views = {"json": to_json, "csv": to_csv, "md": to_markdown}
    if format not in views:
        raise BenchharmonyError(f"unknown format {format!r}; choose text, json, csv, md or latex")
    return views[format](record)


def benchmark_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one flat dict per benchmark, the columns of the CSV."""
    return [_flat(entry, record["size"]["matched"]) for entry in record["benchmarks"]]


def _flat(entry: dict[str, Any], cuts: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "benchmark": entry["benchmark"],
        "n_items": entry["n_items"],
        "n_models": entry["n_models"],
        "partition": entry["partition"],
        "k_mean": entry["k"]["mean"],
    }
    numbers = {**entry["harmony"], "score": entry["score"], "agreement": entry["agreement"]}
    for name, m in numbers.items():
        row[f"{name}_mean"] = m["mean"]
        row[f"{name}_mean_low"], row[f"{name}_mean_high"] = m["ci"] or (None, None)
        row[f"{name}_variance"] = m["variance"]
        pair = m["variance_ci"] or (None, None)
        row[f"{name}_variance_low"], row[f"{name}_variance_high"] = pair
    for key in ("leave_one_model_out", "leave_one_family_out"):
        band = (entry[key] or {}).get("adjusted")
        row[f"{key}_low"], row[f"{key}_high"] = band["mean"] if band else (None, None)
    cut = cuts[entry["benchmark"]]
    row["matched_items"] = cut["items"]
    for name in ("raw", "adjusted"):
        row[f"matched_{name}_mean"] = cut[name]["mean"]
        row[f"matched_{name}_variance"] = cut[name]["variance"]
    row["verdict"] = entry["verdict"]["label"]
    row["warnings"] = " | ".join(entry["warnings"])
    return row


def to_csv(record: dict[str, Any]) -> str:
    """Return one row per benchmark; text that a spreadsheet would run is quoted with ``'``."""
    out = io.StringIO()
    table = benchmark_rows(record)
    writer = csv.DictWriter(out, fieldnames=list(table[0]), lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
    return out.getvalue()


#: Heads of the short table; every column but the first and the last is a number.
_HEADS = (
    "benchmark", "items", "models", "k", "score", "raw H", "adjusted H", "variance of adjusted H",
    "agreement", "verdict",
)  # fmt: skip


def _overview(entry: dict[str, Any]) -> list[str]:
    h, k = entry["harmony"], entry["k"]
    variance = h["adjusted"]["variance"]
    return [
        entry["benchmark"],
        str(entry["n_items"]),
        str(entry["n_models"]),
        f"{k['mean']:.3g}",
        number(entry["score"]["mean"]),
        number(h["raw"]["mean"]),
        f"{number(h['adjusted']['mean'])} {interval(h['adjusted']['ci'])}".strip(),
        f"{number(variance, 4)} {interval(h['adjusted']['variance_ci'], 4)}".strip(),
        number(entry["agreement"]["mean"]),
        entry["verdict"]["label"],
    ]


def to_markdown(record: dict[str, Any]) -> str:
    """Return tables of the benchmarks, the trends and the models."""
    lines = [f"| {' | '.join(_HEADS)} |", f"|---{'|--:' * (len(_HEADS) - 2)}|---|"]
    lines += [_line(_overview(e)) for e in record["benchmarks"]]
    for over, entries in record["trends"].items():
        if not entries:
            continue
        lines += [
            "",
            f"Change with {over}, per factor 10:",
            "",
            "| benchmark | family | sizes | slope of adjusted H | rank | slope of score |",
            "|---|---|--:|--:|--:|--:|",
        ]
        lines += [_line(row) for entry in entries for row in _trend_rows(entry)]
    lines += ["", "| model | family | parameters | tokens | taken from |", "|---|---|--:|--:|---|"]
    lines += [
        _line(
            [
                m["model"],
                m["family"] or "-",
                size_words(m["parameters"]) or "-",
                size_words(m["tokens"]) or "-",
                m["source"] or "-",
            ]
        )
        for m in record["models"]
    ]
    notes = [f"{e['benchmark']}: {e['verdict']['sentence']}" for e in record["benchmarks"]]
    notes += [f"{e['benchmark']}: {w}" for e in record["benchmarks"] for w in e["warnings"]]
    lines += ["", *(f"- {safe_markdown(n, 1000)}" for n in notes + record["warnings"])]
    settings = json.dumps(record["settings"], ensure_ascii=False)
    lines += [
        "",
        f"benchharmony {record['version']}, settings `{safe_code(settings)}`",
        "",
    ]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(map(safe_markdown, cells))} |"


def _trend_rows(entry: dict[str, Any]) -> list[list[str]]:
    return [
        [
            entry["benchmark"],
            h["family"],
            str(h["sizes"]),
            f"{number(h['slope'])} {interval(h['ci'])}".strip(),
            "-" if h["spearman"] is None else f"{h['spearman']['rho']:+.2f}",
            f"{number(score['slope'])} {interval(score['ci'])}".strip(),
        ]
        for h, score in zip(entry["adjusted"]["families"], entry["score"]["families"], strict=True)
    ]


def html_table(record: dict[str, Any]) -> str:
    """Return an HTML table of the benchmarks, for notebooks."""
    head = "".join(f"<th>{h}</th>" for h in _HEADS)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(shown(c))}</td>' for c in _overview(e))}</tr>"
        for e in record["benchmarks"]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
