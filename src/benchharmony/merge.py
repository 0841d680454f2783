"""Several evaluations of one model made one: the subtasks of a benchmark become its subdomains.

Harnesses log a benchmark of subtasks (MMLU, BBH, ...) as one log per subtask. Its HARMONY is
that of the whole, with the subtask of every item as a declared column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation, Source
from benchharmony.predictive import PADDING, Predictive

#: The declared column that names the subtask of an item.
TASK = "task"


def merge(evaluations: Sequence[Evaluation], name: str, pattern: str) -> list[Evaluation]:
    """Merge, model by model, the evaluations whose benchmark matches a pattern.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        Those that do not match stay as they are.
    name : str
        Benchmark name of the merged evaluations.
    pattern : str
        Shell pattern of benchmark names ("mmlu_*").

    Returns
    -------
    list of Evaluation
        A merged one stands where its first part stood. Item ids become ``subtask/id``; the column
        "task" holds the subtask; what not every part has (texts, a metric) is left out, with a
        note.

    Raises
    ------
    BenchharmonyError
        When nothing matches, or parts of one model have different scores or repeat a subtask.
    """
    parts: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        if fnmatchcase(evaluation.benchmark, pattern):
            parts.setdefault(evaluation.model, []).append(evaluation)
    if not parts:
        raise _no_match("--merge", name, pattern, evaluations)
    out: list[Evaluation] = []
    for evaluation in evaluations:
        own = parts.get(evaluation.model, [])
        if not any(evaluation is part for part in own):
            out.append(evaluation)
        elif evaluation is own[0]:
            out.append(_merged(own, name))
    return out


def rename(evaluations: Sequence[Evaluation], name: str, pattern: str) -> list[Evaluation]:
    """Call the benchmarks that match a shell pattern by one name: harnesses differ in names too.

    Raises
    ------
    BenchharmonyError
        When nothing matches.
    """
    if not any(fnmatchcase(e.benchmark, pattern) for e in evaluations):
        raise _no_match("--rename", name, pattern, evaluations)
    return [
        replace(e, benchmark=name) if fnmatchcase(e.benchmark, pattern) else e for e in evaluations
    ]


def _no_match(
    flag: str, name: str, pattern: str, evaluations: Sequence[Evaluation]
) -> BenchharmonyError:
    there = ", ".join(sorted({e.benchmark for e in evaluations})[:8])
    return BenchharmonyError(f"{flag} {name}={pattern}: no benchmark matches; there: {there}")


def _merged(parts: list[Evaluation], name: str) -> Evaluation:
    tasks = [part.benchmark for part in parts]
    if len(set(tasks)) < len(tasks):
        twice = next(t for t in tasks if tasks.count(t) > 1)
        raise BenchharmonyError(
            f"--merge {name}: {parts[0].model} has several logs of {twice!r}; merge one run"
        )
    names = {part.score_name if part.scores is not None else "none" for part in parts}
    if len(names) > 1:
        raise BenchharmonyError(
            f"--merge {name}: the logs of {parts[0].model} have different scores "
            f"({', '.join(sorted(names))}); choose one with --score"
        )
    lost: list[str] = []
    columns, metrics = _common(parts, "groups", lost), _common(parts, "metrics", lost)
    return Evaluation.from_arrays(
        benchmark=name,
        model=parts[0].model,
        item_ids=[f"{p.benchmark}/{i}" for p in parts for i in p.item_ids],
        scores=_optional(parts, "scores", lost, np.concatenate),
        score_name=parts[0].score_name,
        metrics={m: np.concatenate([p.metrics[m] for p in parts]) for m in metrics},
        predictive=_predictive(parts, _common(parts, "predictive", lost), lost),
        option_logprobs=_optional(parts, "option_logprobs", lost, _padded),
        gold=_optional(parts, "gold", lost, np.concatenate),
        texts=_optional(parts, "texts", lost, _chained),
        choices=_optional(parts, "choices", lost, _chained),
        groups={
            TASK: [t for p, t in zip(parts, tasks, strict=True) for _ in p.item_ids],
            **{c: _chained([p.groups[c] for p in parts]) for c in columns if c != TASK},
        },
        metadata=parts[0].metadata,
        notes=_notes(parts, lost),
        source=_source(parts),
    )


def _common(parts: list[Evaluation], field: str, lost: list[str]) -> list[str]:
    """Return the names that every part has; the others are lost."""
    held = [getattr(part, field) for part in parts]
    everywhere = [name for name in held[0] if all(name in h for h in held)]
    lost += sorted({name for h in held for name in h} - set(everywhere))
    return everywhere


def _optional(parts: list[Evaluation], field: str, lost: list[str], join: Any) -> Any:
    values = [getattr(part, field) for part in parts]
    if all(v is not None for v in values):
        return join(values)
    if any(v is not None for v in values):
        lost.append(field.replace("_", " "))
    return None


def _chained(values: list[Sequence[Any]]) -> list[Any]:
    return [x for part in values for x in part]


def _padded(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    width = max(a.shape[1] for a in arrays)
    return np.vstack([_wider(a, width, np.nan) for a in arrays])


def _wider(array: NDArray[Any], width: int, fill: float) -> NDArray[Any]:
    return np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=fill)


def _predictive(
    parts: list[Evaluation], positions: list[str], lost: list[str]
) -> dict[str, Predictive]:
    out = {}
    for name in positions:
        views = [part.predictive[name] for part in parts]
        if len({(v.vocab_size, v.is_dense) for v in views}) > 1:
            lost.append(f"{name} distributions")
            continue
        width = max(v.logprobs.shape[1] for v in views)
        ids = [v.token_ids for v in views if v.token_ids is not None]
        out[name] = Predictive(
            np.vstack([_wider(v.logprobs, width, -np.inf) for v in views]),
            np.vstack([_wider(i, width, PADDING) for i in ids]) if ids else None,
            np.concatenate([v.rest for v in views]),
            views[0].vocab_size,
        )
    return out


def _notes(parts: list[Evaluation], lost: list[str]) -> list[str]:
    notes = [f"merged from {len(parts)} logs, one per subtask (column {TASK!r})"]
    if lost:
        notes.append(f"left out, since not every subtask has it: {', '.join(dict.fromkeys(lost))}")
    counts: dict[str, int] = {}
    for part in parts:
        for note in part.notes:
            counts[note] = counts.get(note, 0) + 1
    return notes + [f"{note} ({c} of {len(parts)} subtasks)" for note, c in counts.items()]


def _source(parts: list[Evaluation]) -> Source:
    return Source(
        format=parts[0].source.format,
        files=tuple(dict.fromkeys(f for p in parts for f in p.source.files)),
        items_read=sum(p.source.items_read for p in parts),
        problems=tuple(x for p in parts for x in p.source.problems),
    )
