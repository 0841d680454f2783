"""What a set of sources holds, as ``benchharmony check`` prints it: no maths."""

from __future__ import annotations

from collections import Counter

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchharmony.evaluation import Evaluation
from benchharmony.readers import ReadResult, readers
from benchharmony.report.shown import number, shown

#: Items named per evaluation among those left out; the report's JSON has all.
_NAMED = 3


def print_check(result: ReadResult, console: Console) -> None:
    """Print one line per evaluation, then what could not be used and why."""
    unicode = "utf" in console.encoding.lower()
    table = Table(box=SIMPLE_HEAD if unicode else ASCII2, padding=(0, 1), pad_edge=False)
    for name in ("benchmark", "model", "format"):
        table.add_column(name, overflow="fold")
    for name in ("items", "out", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("has", overflow="fold")
    for evaluation in result.evaluations:
        table.add_row(*map(Text, _row(evaluation)))
    console.print(table)
    for evaluation in result.evaluations:
        _print_problems(evaluation, console)
    if result.unused:
        console.print(Text(f"Not used ({len(result.unused)}):", style="bold"))
        for problem in result.unused:
            console.print(Text(f"  {shown(problem, 600)}"))
    for note in result.notes:
        console.print(Text(f"Note: {shown(note, 600)}"))


def print_formats(console: Console) -> None:
    """Print the formats that can be read."""
    for reader in readers():
        console.print(Text(f"{reader.name}: {reader.description}"))


def _row(evaluation: Evaluation) -> tuple[str, ...]:
    scores = evaluation.scores
    mean = None if scores is None else float(scores.mean())
    return (
        shown(evaluation.benchmark, 60),
        shown(evaluation.model, 60),
        shown(evaluation.source.format, 40),
        str(len(evaluation)),
        str(evaluation.source.items_left_out),
        number(mean),
        "; ".join(_holdings(evaluation)),
    )


def _holdings(evaluation: Evaluation) -> list[str]:
    held = [f"scores: {', '.join(shown(m, 30) for m in evaluation.metrics) or 'none'}"]
    if evaluation.predictive:
        held.append(f"distributions: {', '.join(evaluation.predictive)}")
    if evaluation.option_logprobs is not None:
        held.append("option log-likelihoods")
    if evaluation.texts is not None:
        held.append("texts")
    if evaluation.groups:
        held.append(f"columns: {', '.join(shown(g, 30) for g in evaluation.groups)}")
    return held


def _print_problems(evaluation: Evaluation, console: Console) -> None:
    for note in evaluation.notes:
        console.print(Text(f"{shown(evaluation.name, 80)}: {shown(note, 600)}", style="yellow"))
    problems = evaluation.source.problems
    if not problems:
        return
    reasons = ", ".join(
        f"{c} x {shown(r, 200)}" for r, c in Counter(p.reason for p in problems).most_common(3)
    )
    console.print(Text(f"{shown(evaluation.name, 80)}: {len(problems)} items left out: {reasons}"))
    for problem in problems[:_NAMED]:
        console.print(Text(f"  {shown(problem, 300)}"))
    if len(problems) > _NAMED:
        console.print(Text(f"  ... and {len(problems) - _NAMED} more"))
