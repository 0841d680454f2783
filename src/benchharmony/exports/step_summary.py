"""A report as the summary that GitHub shows under a step of a workflow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.report.gate import gates
from benchharmony.report.shown import interval, number, safe_markdown

#: Set by GitHub: the file that a step adds its summary to.
VARIABLE = "GITHUB_STEP_SUMMARY"
#: Evaluations shown; GitHub refuses summaries of more than 1 MiB.
_MOST, _MOST_WARNINGS = 500, 10
_HEADS = ("benchmark", "model", "items", "score", "HARMONY", "adjusted", "agreement", "verdict")


def summary_file() -> str:
    """Return the file that GitHub names.

    Raises
    ------
    BenchharmonyError
        Outside a step of GitHub Actions.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        raise BenchharmonyError(
            f"--step-summary writes to the file that GitHub Actions names in {VARIABLE}, which is "
            "not set here; --format md -o FILE writes Markdown anywhere"
        )
    return path


def check_summary() -> str:
    """Return the file that GitHub names, which can be written.

    Raises
    ------
    BenchharmonyError
        Outside a step of GitHub Actions, or where the file cannot be written.
    """
    path = summary_file()
    place = Path(path) if Path(path).exists() else Path(path).absolute().parent
    if Path(path).is_dir() or not os.access(place, os.W_OK):
        raise BenchharmonyError(f"--step-summary {path}: cannot be written")
    return path


def write_step_summary(record: dict[str, Any], bar: float | None = None) -> None:
    """Add the summary to GitHub's file, in one piece.

    Raises
    ------
    BenchharmonyError
        Outside a step of GitHub Actions, or when the file cannot be written.
    """
    path = check_summary()
    try:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(step_summary(record, bar))
    except OSError as error:
        raise BenchharmonyError(f"{path}: cannot be written ({error.strerror})") from None


def step_summary(record: dict[str, Any], bar: float | None = None) -> str:
    """Return Markdown: whether the bar is met, a row per evaluation, and the warnings folded."""
    entries = record["evaluations"]
    met = None if bar is None else [g.met for g in gates(record, bar)]
    lines = ["## HARMONY", ""]
    heads = list(_HEADS)
    if met is not None:
        lines += [f"{sum(met)} of {len(met)} evaluations reach HARMONY {bar:g}.", ""]
        heads.append("bar")
    lines += [f"| {' | '.join(heads)} |", f"|---|---|{'--:|' * 5}---|{'---|' * (bar is not None)}"]
    for i, entry in enumerate(entries[:_MOST]):
        cells = _cells(entry)
        if met is not None:
            cells.append("met" if met[i] else "**not met**")
        lines.append(f"| {' | '.join(cells)} |")
    if len(entries) > _MOST:
        lines += ["", f"{len(entries) - _MOST} more evaluations are in the report itself."]
    lines += ["", *_folded(entries)]
    lines += [f"benchharmony {record['version']}", ""]
    return "\n".join(lines)


def _cells(entry: dict[str, Any]) -> list[str]:
    h, score = entry["harmony"], entry["score"]
    return [
        safe_markdown(entry["benchmark"]),
        safe_markdown(entry["model"]),
        str(entry["n_items"]),
        f"{number(score['mean'])} {interval(score['ci'])}".strip(),
        f"{number(h['value'])} {interval(h['ci'])}".strip(),
        number(h["adjusted"]),
        number(h["agreement"]),
        safe_markdown(entry["verdict"]["label"]) if entry["verdict"] else "-",
    ]


def _folded(entries: list[dict[str, Any]]) -> list[str]:
    """Return the warnings, evaluations that share one under it."""
    by_warning: dict[str, list[str]] = {}
    for entry in entries:
        for warning in entry["warnings"]:
            by_warning.setdefault(warning, []).append(f"{entry['benchmark']} / {entry['model']}")
    if not by_warning:
        return []
    lines = [f"<details><summary>{len(by_warning)} warnings</summary>", ""]
    for warning, where in list(by_warning.items())[:_MOST_WARNINGS]:
        more = f" (and {len(where) - 1} more)" if len(where) > 1 else ""
        lines.append(f"- {safe_markdown(where[0])}{more}: {safe_markdown(warning, 500)}")
    if len(by_warning) > _MOST_WARNINGS:
        lines.append(f"- and {len(by_warning) - _MOST_WARNINGS} more")
    return [*lines, "", "</details>", ""]
