"""Reader of Inspect AI logs, ``.eval`` archives and JSON documents, without inspect-ai itself.

A metric is a scorer's value: C is 1, I and N (no answer) are 0, P (partially correct) is 0.5,
numbers are themselves; a scorer that gives several has them as ``scorer.key``. The score is the
first scorer whose values lie in [0, 1]. An item that was run in several epochs has their mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.archive import ZIP_MAGIC, Archive
from benchharmony.readers.declared import declared_groups
from benchharmony.readers.inspect_log import (
    HEADER,
    JOURNAL,
    InspectLog,
    InspectSample,
    quoted,
    read_log,
    scorer_names,
)
from benchharmony.readers.inspect_tokens import POSITIONS, top_token_view
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_FIRST_MEMBER = re.compile(rb"_journal/|samples/.*_epoch_\d+\.json")
_RUN_FIELDS = ("run_id", "task_id", "created", "dataset")
#: How the mean of the items may miss the accuracy that the log states.
_TOLERANCE = 0.005


def sniff(file: SourceFile) -> bool:
    """Whether the file is an Inspect archive, or a document with a run's ``eval`` and status."""
    head = file.head
    if not head.startswith(ZIP_MAGIC):
        if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            return False
        places = outline(head, depth=2)
        run = any(("eval", name) in places for name in _RUN_FIELDS)
        return ("status",) in places and ("eval", "task") in places and run
    length = int.from_bytes(head[26:28], "little")
    if _FIRST_MEMBER.match(head[30 : 30 + length]):
        return True
    try:
        with Archive(file) as archive:
            names = archive.names
            return HEADER in names or JOURNAL in names
    except (InputError, OSError, EOFError):
        return False


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return the one evaluation of a log.

    Raises
    ------
    InputError
        When the log is damaged, or has no samples, or none with a score in [0, 1].
    """
    log = read_log(file)
    if not log.samples:
        raise InputError(str(file), _without_samples(log))
    return [_evaluation(file, log, options)]


def _without_samples(log: InspectLog) -> str:
    if log.problems:
        first = log.problems[0]
        return f"no usable sample; the first of {len(log.problems)} problems: {first.reason}"
    return f"no samples in this Inspect log (status {quoted(log.facts.get('status'))})"


@dataclass(frozen=True)
class _Items:
    """The samples by item, in the order of the run, and every metric by item.

    ``metrics`` holds means over epochs, NaN where no epoch has a value.
    """

    epochs: list[list[InspectSample]]
    metrics: dict[str, NDArray[np.float64]]


def _items(log: InspectLog, problems: list[Problem], path: str) -> _Items:
    by_id: dict[str, dict[int, InspectSample]] = {}
    for sample in log.samples:
        known = by_id.setdefault(sample.item_id, {})
        if sample.epoch in known:
            reason = f"epoch {sample.epoch} of an item is there twice; the first is kept"
            problems.append(Problem(path, reason, None, sample.item_id))
        else:
            known[sample.epoch] = sample
    run = log.facts.get("eval")
    data = run.get("dataset") if isinstance(run, dict) else None
    order = data.get("sample_ids") if isinstance(data, dict) else None
    rank = {str(i): k for k, i in enumerate(order if isinstance(order, list) else ())}
    ids = sorted(by_id, key=lambda i: rank.get(i, len(rank)))
    epochs = [[by_id[i][e] for e in sorted(by_id[i])] for i in ids]
    stated = list(scorer_names(log.facts))
    names = dict.fromkeys(n for item in epochs for s in item for n in s.values)
    ordered = sorted(names, key=lambda n: _rank(n, stated))
    return _Items(epochs, {n: np.array([_mean(n, item) for item in epochs]) for n in ordered})


def _rank(name: str, stated: Sequence[str]) -> int:
    whole = name if name in stated else name.partition(".")[0]
    return stated.index(whole) if whole in stated else len(stated)


def _mean(name: str, epochs: Sequence[InspectSample]) -> float:
    values = [v for s in epochs if not np.isnan(v := s.values.get(name, np.nan))]
    return float(np.mean(values)) if values else np.nan


def _evaluation(file: SourceFile, log: InspectLog, options: ReadOptions) -> Evaluation:
    problems = list(log.problems)
    items = _items(log, problems, str(file))
    score = _score(file, log, items)
    rows = []
    for row, epochs in enumerate(items.epochs):
        if np.isnan(items.metrics[score][row]):
            reason = epochs[0].reason or "no score in this sample"
            problems.append(Problem(str(file), reason, None, epochs[0].item_id))
        else:
            rows.append(row)
    kept = [items.epochs[row] for row in rows]
    first = [epochs[0] for epochs in kept]
    metrics = {name: values[rows] for name, values in items.metrics.items()}
    gold = [s.gold for s in first]
    view, token_notes = top_token_view(first)
    run = log.facts.get("eval")
    run = run if isinstance(run, dict) else {}
    return Evaluation.from_arrays(
        benchmark=_name(run.get("task")) or options.benchmark or file.name.split(".")[0],
        model=_name(run.get("model")) or options.model or "unknown",
        item_ids=[s.item_id for s in first],
        scores=metrics[score],
        score_name=score,
        metrics={n: v for n, v in metrics.items() if not np.isnan(v).all()},
        predictive=None if view is None else {POSITIONS: view},
        gold=gold if any(g >= 0 for g in gold) else None,
        groups=declared_groups([s.labels for s in first], gold),
        texts=[s.text for s in first],
        choices=[s.choices for s in first] if any(s.choices for s in first) else None,
        metadata=_metadata(log, run),
        notes=[
            *log.notes,
            *_run_notes(log, items, run),
            *_score_notes(log, items, kept, metrics, score),
            *token_notes,
        ],
        source=Source("Inspect AI", (str(file),), len(kept) + len(problems), tuple(problems)),
    )


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _score(file: SourceFile, log: InspectLog, items: _Items) -> str:
    """Return the first metric that has values, all of them in [0, 1]."""
    ranges = []
    for name, values in items.metrics.items():
        given = values[~np.isnan(values)]
        if len(given):
            if given.min() >= 0 and given.max() <= 1:
                return name
            ranges.append(f"{name} ({given.min():g} to {given.max():g})")
    if ranges:
        raise InputError(str(file), f"no scorer stays in [0, 1]; it has: {', '.join(ranges)}")
    reason = next((s.reason for e in items.epochs for s in e if s.reason), None)
    why = f"; the first: {reason}" if reason else ""
    status = quoted(log.facts.get("status"))
    raise InputError(
        str(file), f"none of {len(log.samples)} samples has a score (status {status}){why}"
    )


def _metadata(log: InspectLog, run: Mapping[str, Any]) -> dict[str, Any]:
    plan = log.facts.get("plan")
    config = plan.get("config") if isinstance(plan, dict) else None
    packages = run.get("packages")
    facts = {
        "status": log.facts.get("status"),
        "created": run.get("created"),
        "task_version": run.get("task_version"),
        "inspect_ai": packages.get("inspect_ai") if isinstance(packages, dict) else None,
        "temperature": config.get("temperature") if isinstance(config, dict) else None,
        "samples": len(log.samples),
        "epochs": len({s.epoch for s in log.samples}),
    }
    return {k: v for k, v in facts.items() if isinstance(v, (str, int, float))}


def _run_notes(log: InspectLog, items: _Items, run: Mapping[str, Any]) -> list[str]:
    notes = []
    status = log.facts.get("status")
    if status != "success":
        notes.append(f"the status of the run is {quoted(status)}: samples may be missing")
    data = run.get("dataset")
    planned = data.get("sample_ids") if isinstance(data, dict) else None
    if isinstance(planned, list) and len(planned) > len(items.epochs):
        notes.append(f"the log holds {len(items.epochs)} of the run's {len(planned)} items")
    most = max(map(len, items.epochs))
    if most > 1:
        notes.append(
            f"{len(log.samples)} samples are {len(items.epochs)} items in up to {most} epochs; "
            "the score of an item is the mean over its epochs"
        )
    return notes


def _score_notes(
    log: InspectLog,
    items: _Items,
    kept: Sequence[Sequence[InspectSample]],
    metrics: Mapping[str, NDArray[np.float64]],
    score: str,
) -> list[str]:
    notes = []
    if len(metrics) > 1:
        notes.append(
            f"scores are those of {score!r}; the log also has "
            f"{', '.join(n for n in metrics if n != score)} (--score chooses)"
        )
    lacking = [s for e in kept for s in e if np.isnan(s.values.get(score, np.nan))]
    if lacking:
        reason = lacking[0].reason or "no score"
        notes.append(
            f"{len(lacking)} samples without a score are left out of the means of their items; the "
            f"first: item {quoted(lacking[0].item_id)}, epoch {lacking[0].epoch}: {reason}"
        )
    for letter, words in (("P", "P (partially correct) counts as 0.5"), ("N", "N counts as 0")):
        count = sum(letter in s.letters for e in kept for s in e)
        if count:
            notes.append(f"{words} ({count} samples)")
    return notes + _stated(log, metrics[score], score)


def _stated(log: InspectLog, scores: NDArray[np.float64], score: str) -> list[str]:
    """Return a note where the mean is not the one that the log states."""
    stated = scorer_names(log.facts).get(score, {})
    for name in ("accuracy", "mean"):
        entry = stated.get(name)
        value = to_float(entry.get("value") if isinstance(entry, dict) else entry)
        if not np.isnan(value):
            if abs(value - scores.mean()) <= _TOLERANCE:
                return []
            return [
                f"the log states {name} {value:.4g} for {score!r}; the mean over the items read is "
                f"{scores.mean():.4g}"
            ]
    return []


READERS: tuple[Reader, ...] = (
    Reader(
        name="Inspect AI",
        description="logs of Inspect AI: .eval archives and JSON documents",
        sniff=sniff,
        read=read,
        example="logs/2026-01-02T03-04-05+00-00_<task>_<id>.eval",
    ),
)
