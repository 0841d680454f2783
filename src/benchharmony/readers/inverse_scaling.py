"""Result tables of the Inverse Scaling evaluation pipeline: ``<task>/<model>.csv``.

Three variants are known, all with the column ``index``:

``loss, correct, total_logprob``
    Classification. ``loss`` is -log p of the right option among the options, ``total_logprob`` the
    log of the mass of all of them. The score is ``correct``. With two options the log-likelihood of
    each follows: ``total_logprob - loss`` and ``total_logprob + log(1 - exp(-loss))``.
``loss``
    The same without the rest, or (no ``classes`` among the items) -log p of a completion. The score
    is ``p_correct = exp(-loss)``, a number in [0, 1] and no accuracy.
``logodds_difference, correct, total_logprob``
    Two prompts compared. The score is ``correct``; no option has a log-likelihood of its own.

Prompts, options and the key are in ``data.csv`` of the same folder. Without it which option was
right is not known, and log-likelihoods of options are left out: in the order right, wrong they
would say nothing but the score.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.declared import declared_groups
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_VALUES = ("loss", "logodds_difference", "correct", "total_logprob")
_PROMPTS = ("prompt", "filled_template")
_KEYS = ("answer_index", "answer_ix")
_DATA_SUFFIXES = ("data.csv", "data.csv.gz", "data.csv.zst")
#: Options as text are short; anything longer is not parsed.
_LONGEST_LIST = 100_000
#: More than any of the known headers.
_LONGEST_HEADER = 1000
#: A loss below zero is a rounding error down to here.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class _Item:
    """One row of results; values that the table lacks are absent."""

    line: int
    id: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class _Question:
    """One row of ``data.csv``."""

    text: str
    choices: tuple[str, ...] = ()
    gold: int = -1
    columns: Mapping[str, str] = field(default_factory=dict)


def _header(file: SourceFile) -> list[str]:
    line = file.head.split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip()
    try:
        return next(csv.reader([line]), []) if line and len(line) < _LONGEST_HEADER else []
    except csv.Error:
        return []


def _sniff_results(file: SourceFile) -> bool:
    header = _header(file)
    measured = "loss" in header or "logodds_difference" in header
    return header[:1] == ["index"] and measured and set(header[1:]) <= set(_VALUES)


def _sniff_items(file: SourceFile) -> bool:
    header = _header(file)
    if header[:1] != [""]:
        return False
    names = set(header)
    classified = "classes" in names and bool(names & set(_KEYS)) and bool(names & set(_PROMPTS))
    return classified or header[1:] == ["prompt", "completion"]


def _sniff_arguments(file: SourceFile) -> bool:
    if not file.head.lstrip().startswith(b"{"):
        return False
    found = outline(file.head, depth=1)
    return all((key,) in found for key in ("dataset", "exp_dir", "models", "use_gpu"))


def _refuse(reason: str) -> Any:
    def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
        raise InputError(str(file), reason)

    return read


def _rows(file: SourceFile, problems: list[Problem] | None) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line, cells) of a table; rows that do not fit its header become problems."""
    text = file.read_bytes().decode("utf-8-sig", "replace")
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    for cells in reader:
        if len(cells) == len(header):
            yield reader.line_num, dict(zip(header, cells, strict=True))
        elif cells and problems is not None:
            reason = f"{len(cells)} cells where the header has {len(header)}; is the file cut off?"
            problems.append(Problem(str(file), reason, reader.line_num))


def _read_results(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    problems: list[Problem] = []
    items: list[_Item] = []
    seen: set[str] = set()
    try:
        for line, cells in _rows(file, problems):
            item = _item(line, cells)
            reason = item if isinstance(item, str) else None
            if isinstance(item, _Item) and item.id in seen:
                reason = "the index of an earlier row, which is kept"
            if isinstance(item, _Item) and reason is None:
                seen.add(item.id)
                items.append(item)
            else:
                problems.append(Problem(str(file), str(reason), line, cells["index"] or None))
    except csv.Error as error:
        raise InputError(str(file), f"not a table: {error}") from None
    if not items:
        first = f"; the first problem: {problems[0].reason}" if problems else ""
        none = "no usable row" if problems else "a header without rows: the run was broken off"
        raise InputError(str(file), none + first)
    problems.sort(key=lambda p: p.line or 0)
    questions, beside = _questions(file)
    facts, log = _arguments(file)
    files = (str(file), *beside, *log)
    source = Source("", files, len(items) + len(problems), tuple(problems))
    return [_evaluation(file, items, questions, facts, options, source)]


def _item(line: int, cells: Mapping[str, str]) -> _Item | str:
    """Return the item of a row, or why it cannot be used."""
    if not cells["index"].strip():
        return "no index in this row"
    values = {name: to_float(cells[name]) for name in _VALUES if name in cells}
    if "loss" in values and not -_ROUNDING <= values["loss"] <= math.inf:
        return f"the loss {cells['loss'][:40]!r} is no number from 0 on"
    if "correct" in values and not 0 <= values["correct"] <= 1:
        return f"correct is {cells['correct'][:40]!r}, neither 0 nor 1"
    if "correct" not in values and "loss" not in values:
        return "neither correct nor loss in this row"
    return _Item(line, cells["index"].strip(), values)


def _questions(file: SourceFile) -> tuple[dict[str, _Question], tuple[str, ...]]:
    """Return the items of ``data.csv`` beside, by index, and its path."""
    for name in _DATA_SUFFIXES:
        data = SourceFile(file.path.with_name(name))
        if not data.path.is_file():
            continue
        try:
            found = {cells.get("", ""): _question(cells) for _, cells in _rows(data, None)}
        except (csv.Error, OSError, EOFError):
            continue
        return found, (str(data),)
    return {}, ()


def _question(cells: Mapping[str, str]) -> _Question:
    text = next((cells[name] for name in _PROMPTS if name in cells), "")
    choices = _texts(cells.get("classes", ""))
    key = to_float(next((cells[name] for name in _KEYS if name in cells), ""))
    gold = int(key) if key in range(len(choices)) else -1
    others = {"", "classes", "completion", "other_prompt", *_PROMPTS, *_KEYS}
    return _Question(text, choices, gold, {k: v for k, v in cells.items() if k not in others})


def _texts(cell: str) -> tuple[str, ...]:
    """Return the options that a cell holds as a Python list."""
    if not cell.startswith("[") or len(cell) > _LONGEST_LIST:
        return ()
    try:
        value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()
    listed = value if isinstance(value, list) else []
    return tuple(map(str, listed)) if all(isinstance(v, (str, int)) for v in listed) else ()


def _arguments(file: SourceFile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what ``args.log`` beside says of the run: the first of the objects in it."""
    path = file.path.with_name("args.log")
    try:
        document, _ = json.JSONDecoder().raw_decode(path.read_text("utf-8", "replace").lstrip())
    except (OSError, ValueError, RecursionError):
        return {}, ()
    if not isinstance(document, dict):
        return {}, ()
    facts = {k: document.get(k) for k in ("dataset", "task_type")}
    return {k: v for k, v in facts.items() if isinstance(v, str)}, (str(path),)


def _evaluation(
    file: SourceFile,
    items: Sequence[_Item],
    questions: Mapping[str, _Question],
    facts: dict[str, Any],
    options: ReadOptions,
    source: Source,
) -> Evaluation:
    asked = [questions.get(i.id) for i in items]
    known = [q for q in asked if q is not None]
    whole = known if len(known) == len(items) else None
    notes = []
    if whole is None:
        lacking = "lacks items of this table" if questions else "is not beside this table"
        notes.append(f"data.csv {lacking}: prompts, options and their key are not known")
    metrics = _metrics(items)
    score = "correct" if "correct" in metrics else "p_correct"
    has_choices = whole is not None and any(q.choices for q in whole)
    gold = [q.gold for q in whole] if whole is not None and has_choices else None
    if score == "p_correct":
        notes.append("the score is the probability of the right answer, not an accuracy")
    return Evaluation.from_arrays(
        benchmark=file.path.absolute().parent.name or options.benchmark or "inverse scaling",
        model=file.name.removesuffix(".csv") or options.model or "unknown",
        item_ids=[i.id for i in items],
        scores=metrics[score],
        score_name=score,
        metrics=metrics,
        option_logprobs=None if whole is None else _options(items, whole),
        gold=gold,
        groups={} if whole is None else declared_groups([q.columns for q in whole], gold),
        texts=None if whole is None else [q.text for q in whole],
        choices=[q.choices for q in whole] if whole is not None and has_choices else None,
        metadata=facts,
        notes=notes,
        source=source,
    )


def _metrics(items: Sequence[_Item]) -> dict[str, Any]:
    """Return the columns of the table that every item has, and ``p_correct`` from the loss."""
    metrics = {}
    for name in ("correct", "logodds_difference"):
        values = np.array([i.values.get(name, math.nan) for i in items])
        if not np.isnan(values).all():
            metrics[name] = values
    losses = np.array([i.values.get("loss", math.nan) for i in items])
    if not np.isnan(losses).all():
        metrics["p_correct"] = np.exp(-np.maximum(losses, 0))
    return metrics


def _options(items: Sequence[_Item], questions: Sequence[_Question]) -> list[list[float]] | None:
    """Return the log-likelihoods of two options, in their order; None where they do not follow."""
    found = []
    for item, question in zip(items, questions, strict=True):
        loss = item.values.get("loss", math.nan)
        total = item.values.get("total_logprob", math.nan)
        fits = len(question.choices) == 2 and question.gold >= 0 and -math.inf < total <= _ROUNDING
        if not fits or not 0 < loss < math.inf:
            return None
        pair = [total - loss, total + math.log(-math.expm1(-loss))]
        found.append(pair if question.gold == 0 else pair[::-1])
    return found


READERS = (
    Reader(
        "inverse scaling",
        "Inverse Scaling pipeline <task>/<model>.csv: index with loss or logodds_difference",
        _sniff_results,
        _read_results,
        "<task>/<model>.csv: index,loss,correct,total_logprob",
    ),
    Reader(
        "inverse scaling items",
        "data.csv of the Inverse Scaling pipeline: read with the results beside it",
        _sniff_items,
        _refuse("items of a task, no model's results; give the <model>.csv files beside it"),
        "<task>/data.csv",
    ),
    Reader(
        "inverse scaling arguments",
        "args.log of the Inverse Scaling pipeline: read with the results beside it",
        _sniff_arguments,
        _refuse("arguments of a run, no results; give the <model>.csv files beside it"),
        "<task>/args.log",
    ),
)
