"""Reader of ZeroEval outputs: a JSON list of multiple-choice items with the model's free text.

A record has ``id``, ``question``, ``choices``, ``correct_answer`` (the text of a choice),
``output`` (the model's texts, one or more), ``generator`` (the model), ``dataset`` and ``config``
(the subject). The models are asked to answer with JSON that ends in ``"answer": "C"``; what they
write is text around it, and not always JSON. Two scores come of that:

acc
    What is between the first ``{`` and the last ``}`` is JSON, and its ``answer`` begins with the
    letter of the right choice, in brackets or not. Anything else is wrong.
acc_flexible
    The last ``"answer": "X"`` of the text is the letter of the right choice, JSON or not.

Several outputs of an item are averaged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.declared import declared_groups, label_columns
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, decode

_NAME = "ZeroEval outputs"
_FIELDS = ("output", "generator", "id")
_LETTER = re.compile(r"\(?([A-Z])(?![A-Za-z])")
_ANSWER = re.compile(r'"answer"\s*:\s*"?\s*\(?([A-Z])(?![A-Za-z])')
#: A text longer than this is looked at from its end only.
_LOOKED_AT = 1 << 20
#: Fields of a record that are no labels of an item.
_TEXTS = ("output", "model_input", "chat_history", "session_id", "configs", "generator", "question")


def sniff(file: SourceFile) -> bool:
    """Whether the file is a list of records with outputs of a generator."""
    if b'"generator"' not in file.head or b'"output"' not in file.head:
        return False
    places = outline(file.head, depth=2)
    return all(("[]", name) in places for name in _FIELDS[:2])


@dataclass
class _Items:
    """What the usable records hold, and why the others are not usable."""

    ids: list[str] = field(default_factory=list)
    strict: list[float] = field(default_factory=list)
    flexible: list[float] = field(default_factory=list)
    gold: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    choices: list[tuple[str, ...]] = field(default_factory=list)
    docs: list[dict[str, Any]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread: int = 0


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return the one evaluation of the file.

    Raises
    ------
    InputError
        When the file is damaged, its task is not multiple choice, or no record is usable.
    """
    records = file.read_json()
    if not isinstance(records, list):
        raise InputError(str(file), "expected a JSON list of answered items")
    items = _Items()
    seen: set[str] = set()
    for number, record in enumerate(records, start=1):
        reason = _add(items, record, seen)
        if reason is not None:
            item = record.get("id") if isinstance(record, dict) else None
            known = item if isinstance(item, str) else None
            items.problems.append(Problem(str(file), reason, number, known))
    if not items.ids:
        first = f"; the first: {items.problems[0].reason}" if items.problems else ""
        raise InputError(str(file), f"no usable item of {len(records)}{first}")
    benchmark, model = items.names[0]
    strict, flexible = np.array(items.strict), np.array(items.flexible)
    return [
        Evaluation.from_arrays(
            benchmark=benchmark or options.benchmark or file.name.removesuffix(".json"),
            model=model or options.model or file.name.removesuffix(".json"),
            item_ids=items.ids,
            scores=strict,
            score_name="acc",
            metrics={"acc": strict, "acc_flexible": flexible},
            gold=items.gold,
            groups=declared_groups(items.docs, items.gold),
            texts=items.texts,
            choices=items.choices,
            notes=_notes(items, strict, flexible),
            source=Source(_NAME, (str(file),), len(records), tuple(items.problems)),
        )
    ]


def _add(items: _Items, record: Any, seen: set[str]) -> str | None:
    """Add a record, or return why it is not usable."""
    if not isinstance(record, dict):
        return f"expected a JSON object, found {type(record).__name__}"
    item = record.get("id", record.get("session_id"))
    if not isinstance(item, (str, int)) or isinstance(item, bool) or item == "":
        return "no id in this record"
    if str(item) in seen:
        return "the id of an earlier record, which is kept"
    choices = record.get("choices")
    if not isinstance(choices, list) or len(choices) < 2:
        return "no choices: only ZeroEval's multiple-choice tasks are read"
    texts = tuple(str(c) for c in choices)
    gold = _gold(record.get("correct_answer"), texts)
    if gold < 0:
        return "its correct_answer is none of its choices"
    outputs = record.get("output")
    outputs = [outputs] if isinstance(outputs, str) else outputs
    if not isinstance(outputs, list) or not outputs:
        return "no output of the model"
    answers = [_answer(text) for text in outputs]
    seen.add(str(item))
    items.ids.append(str(item))
    # Two choices of one text are both right when that text is.
    right = {chr(65 + i) for i, text in enumerate(texts) if text == texts[gold]}
    items.strict.append(sum(a in right for a, _ in answers) / len(answers))
    items.flexible.append(sum(b in right for _, b in answers) / len(answers))
    items.unread += all(a is None for a, _ in answers)
    items.gold.append(gold)
    items.texts.append(str(record.get("question") or ""))
    items.choices.append(texts)
    items.docs.append(label_columns({k: v for k, v in record.items() if k not in _TEXTS}))
    items.names.append((_text(record.get("dataset")), _text(record.get("generator"))))
    return None


def _gold(answer: Any, choices: tuple[str, ...]) -> int:
    """Return the index of the right choice, given as its text, its letter or its index."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer if 0 <= answer < len(choices) else -1
    text = str(answer)
    if text in choices:
        return choices.index(text)
    letter = _LETTER.fullmatch(text.strip(") "))
    index = ord(letter[1]) - ord("A") if letter else -1
    return index if index < len(choices) else -1


def _answer(text: Any) -> tuple[str | None, str | None]:
    """Return the letter that a text gives as JSON, and the one that it gives anyhow."""
    if not isinstance(text, str):
        return None, None
    text = text[-_LOOKED_AT:]
    found = _ANSWER.findall(text)
    return _letter_of_json(text), (found[-1] if found else None)


def _letter_of_json(text: str) -> str | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        value = decode(text[start : end + 1].encode("utf-8", "replace"))
    except ValueError:
        return None
    answer = value.get("answer") if isinstance(value, Mapping) else None
    letter = _LETTER.match(answer.strip()) if isinstance(answer, str) else None
    return letter[1] if letter else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _notes(
    items: _Items, strict: np.ndarray[Any, Any], flexible: np.ndarray[Any, Any]
) -> list[str]:
    notes = []
    if items.unread:
        notes.append(
            f"{items.unread} of {len(items.ids)} items have no letter as JSON answer and count as "
            f"wrong; read from the text however it is written, the score is {flexible.mean():.3f} "
            f"in place of {strict.mean():.3f} (--score acc_flexible)"
        )
    models = {model for _, model in items.names}
    if len(models) > 1:
        notes.append(f"{len(models)} generators in one file; it is read as one model")
    return notes


READERS: tuple[Reader, ...] = (
    Reader(
        name=_NAME,
        description="ZeroEval's JSON list of items with output, generator, choices and "
        "correct_answer",
        sniff=sniff,
        read=read,
        example="result_dirs/mmlu-redux/<model>.json",
    ),
)
