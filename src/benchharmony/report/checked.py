"""What a set of sources holds, as ``benchharmony check`` prints it: no maths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from benchharmony.errors import Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers import ReadResult, readers
from benchharmony.readers.registry import loaded
from benchharmony.report.shown import shown

#: Items named per evaluation among those left out; the report's JSON has all.
_NAMED = 3


def print_check(result: ReadResult, console: Console) -> None:
    """Print one line per evaluation, then what could not be used and why."""
    for evaluation in result.evaluations:
        console.print(Text(_heading(evaluation), style="bold"))
        console.print(Padding(Text("; ".join(_holdings(evaluation))), (0, 0, 0, 2), expand=False))
        _print_problems(evaluation, console)
    if result.unused:
        console.print(Text(f"Not used ({len(result.unused)}):", style="bold"))
        for line in unused_lines(result.unused):
            console.print(Text(f"  {line}"), soft_wrap=True)
    for note in result.notes:
        console.print(Text(f"Note: {shown(note, 600)}"))


def unused_lines(unused: Sequence[Problem]) -> list[str]:
    """Return what could not be used: files that share a reason under it, one to a line."""
    by_reason: dict[str, list[Problem]] = {}
    for problem in unused:
        by_reason.setdefault(problem.reason, []).append(problem)
    lines = []
    for reason, problems in by_reason.items():
        if len(problems) == 1:
            lines.append(shown(problems[0], 600))
        else:
            lines.append(f"{len(problems)} files: {shown(reason, 600)}")
            lines += [f"    {shown(p.path, 300)}" for p in problems]
    return lines


def print_formats(console: Console) -> None:
    """Print the formats that can be read, each with an example, and plug-ins that do not load."""
    for reader in readers():
        console.print(Text(shown(reader.name, 60), style="bold"))
        console.print(Padding(Text(shown(reader.description, 300)), (0, 0, 0, 2), expand=False))
        if reader.example:
            example = Text(f"e.g. {shown(reader.example, 200)}", style="dim")
            console.print(Padding(example, (0, 0, 0, 2), expand=False))
    for line in loaded().broken:
        console.print(Text(shown(line, 600), style="yellow"))


def _heading(evaluation: Evaluation) -> str:
    scores, left_out = evaluation.scores, evaluation.source.items_left_out
    mean = "no scores" if scores is None else f"{evaluation.score_name} {scores.mean():.3f}"
    out = f", {left_out} left out" if left_out else ""
    return (
        f"{shown(evaluation.name, 100)}: {len(evaluation)} items{out}, {shown(mean)} "
        f"({evaluation.source.format})"
    )


def _holdings(evaluation: Evaluation) -> list[str]:
    held = []
    if evaluation.metrics:
        held.append(f"metrics {', '.join(shown(m, 30) for m in evaluation.metrics)}")
    if evaluation.predictive:
        held.append(f"distributions {', '.join(evaluation.predictive)}")
    if evaluation.option_logprobs is not None:
        held.append("option log-likelihoods")
    if evaluation.texts is not None:
        held.append("texts")
    if evaluation.groups:
        held.append(f"columns {', '.join(shown(g, 30) for g in evaluation.groups)}")
    return held


def _print_problems(evaluation: Evaluation, console: Console) -> None:
    for note in evaluation.notes:
        console.print(Text(f"  ! {shown(note, 600)}", style="yellow"))
    problems = evaluation.source.problems
    if not problems:
        return
    reasons = ", ".join(
        f"{c} x {shown(r, 200)}" for r, c in Counter(p.reason for p in problems).most_common(3)
    )
    console.print(Text(f"  {len(problems)} items left out: {reasons}"))
    for problem in problems[:_NAMED]:
        console.print(Text(f"    {shown(problem, 300)}"))
    if len(problems) > _NAMED:
        console.print(Text(f"    ... and {len(problems) - _NAMED} more"))
