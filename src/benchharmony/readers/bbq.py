"""BBQ prediction files: items with the answer texts of one or more runs beside them.

One JSON object a line: ``example_id, category, context, question, ans0, ans1, ans2, label`` and a
column per run, ``<model>_pred_<prompt format>``, that holds the text of the answer. Every such
column is an evaluation of its own. An answer is right when it is the text of the right option but
for case and outer spaces; text that is no option is wrong, and how often it occurs is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.declared import declared_groups, label_columns
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

_OPTIONS = ("ans0", "ans1", "ans2")
_QUESTION = ("context", "question")
_ITEM = frozenset((*_OPTIONS, *_QUESTION, "label"))
_PREDICTION = re.compile(r"(?:(?P<model>.+)_)?pred(?:s|iction|ictions)?(?:_(?P<prompt>.+))?")


@dataclass(frozen=True)
class _Item:
    """One usable row of a file."""

    line: int
    id: str
    row: Mapping[str, Any]
    choices: tuple[str, ...]
    gold: int


def _prediction_columns(row: Mapping[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Return the columns that hold predictions, with the model and prompt format they name."""
    matches = {name: _PREDICTION.fullmatch(name) for name in row if name not in _ITEM}
    return {name: (m["model"], m["prompt"]) for name, m in matches.items() if m is not None}


def _sniff(file: SourceFile) -> bool:
    row = file.first_record
    return isinstance(row, dict) and row.keys() >= _ITEM and bool(_prediction_columns(row))


def _read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    problems: list[Problem] = []
    items: list[_Item] = []
    columns: dict[str, tuple[str | None, str | None]] = {}
    seen: set[str] = set()
    for line, row in file.records(problems):
        columns.update(_prediction_columns(row))
        item = _item(line, row)
        fault = item if isinstance(item, str) else None
        if isinstance(item, _Item) and item.id in seen:
            fault = "the example_id of an earlier line, which is kept"
        if isinstance(item, _Item) and fault is None:
            seen.add(item.id)
            items.append(item)
        else:
            problems.append(Problem(str(file), str(fault), line))
    found = []
    for column, names in columns.items():
        own = [
            Problem(str(file), f"no text in {column}", i.line, i.id)
            for i in items
            if not isinstance(i.row.get(column), str)
        ]
        kept = [i for i in items if isinstance(i.row.get(column), str)]
        left_out = tuple(sorted([*problems, *own], key=lambda p: p.line or 0))
        source = Source("", (str(file),), len(kept) + len(left_out), left_out)
        if kept:
            found.append(_evaluation(kept, column, names, options, source))
    if not found:
        first = f"; the first problem: {problems[0].reason}" if problems else ""
        raise InputError(str(file), f"no usable item in it{first}")
    return found


def _item(line: int, row: Mapping[str, Any]) -> _Item | str:
    """Return the item of a row, or why it is none."""
    texts = tuple(row.get(name) for name in _OPTIONS)
    if not all(isinstance(t, str) and t.strip() for t in texts):
        return "not three options ans0, ans1 and ans2 with text"
    label = str(row.get("label"))
    if label not in ("0", "1", "2"):
        return f"the label {label[:40]!r} is none of 0, 1 and 2"
    number = row.get("example_id")
    name = str(number) if isinstance(number, (str, int)) and number != "" else f"line {line}"
    return _Item(line, name, row, tuple(map(str, texts)), int(label))


def _plain(text: str) -> str:
    return text.strip().casefold()


def _evaluation(
    items: Sequence[_Item],
    column: str,
    names: tuple[str | None, str | None],
    options: ReadOptions,
    source: Source,
) -> Evaluation:
    model, prompt = names
    answers = [_plain(str(i.row[column])) for i in items]
    plain = [[_plain(c) for c in i.choices] for i in items]
    unknown = sum(a not in p for a, p in zip(answers, plain, strict=True))
    notes = []
    if unknown:
        notes.append(f"{unknown} of {len(items)} answers are no option's text and count as wrong")
    gold = [i.gold for i in items]
    return Evaluation.from_arrays(
        benchmark=_benchmark(items, options) + (f" ({prompt})" if prompt else ""),
        model=model or options.model or "unknown",
        item_ids=[i.id for i in items],
        scores=[float(a == p[i.gold]) for a, p, i in zip(answers, plain, items, strict=True)],
        score_name="exact_match",
        gold=gold,
        groups=declared_groups([_columns(i.row) for i in items], gold),
        texts=["\n".join(str(i.row[q]) for q in _QUESTION if q in i.row) for i in items],
        choices=[i.choices for i in items],
        metadata={"prediction_column": column} | ({"prompt_format": prompt} if prompt else {}),
        notes=notes,
        source=source,
    )


def _benchmark(items: Sequence[_Item], options: ReadOptions) -> str:
    categories = {i.row.get("category") for i in items if isinstance(i.row.get("category"), str)}
    if len(categories) == 1:
        return f"BBQ {categories.pop()}"
    return options.benchmark or "BBQ"


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the labels of an item: of the row, and of what BBQ adds to it."""
    added = row.get("additional_metadata")
    inner = label_columns(added) if isinstance(added, dict) else {}
    own = {k: v for k, v in label_columns(row).items() if k not in _prediction_columns(row)}
    return own | {k: None if v == "None" else v for k, v in inner.items()}


READERS = (
    Reader(
        "BBQ predictions",
        "BBQ items as JSON Lines with <model>_pred_<prompt format> columns of answer texts",
        _sniff,
        _read,
        "preds_<category>.jsonl",
    ),
)
