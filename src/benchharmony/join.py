"""Texts, options and declared labels from a benchmark's own file, joined to a log by item id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import Evaluation, clean_text
from benchharmony.readers.source import SourceFile

_TEXT = ("question", "text", "stem", "prompt")
_IDS = ("id", "item_id", "question_id", "doc_id")
#: Fields that are neither a text nor a label.
_NOT_LABELS = {*_IDS, *_TEXT, "context", "choices", "options", "answer", "answers"}


@dataclass(frozen=True)
class Items:
    """What a benchmark file says of its items.

    Attributes
    ----------
    path : str
        The file.
    texts : dict of str to str
        Question by item id.
    choices : dict of str to tuple of str
        Options by item id, where given.
    groups : dict of str to dict
        Declared label by column and item id.
    """

    path: str
    texts: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, Mapping[str, str]]


def read_items(path: str | Path) -> Items:
    """Read a JSON Lines benchmark: ``id, question, choices?, subject?`` and other label columns.

    Raises
    ------
    InputError
        When the file is missing or no line has an id and a question.
    """
    file = SourceFile(path)
    if not file.path.is_file():
        raise InputError(str(file), "no such file")
    texts: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    groups: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    for _, record in file.records(problems):
        key = next((str(record[f]) for f in _IDS if record.get(f) is not None), None)
        text = next((record[f] for f in _TEXT if isinstance(record.get(f), str)), None)
        if key is None or text is None:
            continue
        texts[key] = clean_text(text)
        options = record.get("choices", record.get("options"))
        if isinstance(options, list):
            choices[key] = tuple(clean_text(o) for o in options)
        for name, value in record.items():
            if name not in _NOT_LABELS and isinstance(value, (str, int, bool)):
                groups.setdefault(name, {})[key] = clean_text(value)
    if not texts:
        raise InputError(
            str(file), "no line with an id and a question; expected JSON Lines of benchmark items"
        )
    return Items(str(file), texts, choices, groups)


def join_items(evaluation: Evaluation, items: Items) -> Evaluation:
    """Return the evaluation with texts, options and labels of the items that share its ids.

    Items that the file lacks keep what the log gave (an empty text otherwise); a note counts them.

    Raises
    ------
    BenchharmonyError
        When not one id occurs in both.
    """
    ids = evaluation.item_ids
    found = sum(i in items.texts for i in ids)
    if found == 0:
        raise BenchharmonyError(
            f"{evaluation.name}: none of its {len(ids)} item ids occurs in {items.path} "
            f"(first id here: {ids[0]!r}; there: {next(iter(items.texts))!r})"
        )
    old = evaluation.texts or ("",) * len(ids)
    changes: dict[str, Any] = {
        "texts": tuple(items.texts.get(i, t) for i, t in zip(ids, old, strict=True))
    }
    if evaluation.choices is None and all(i in items.choices for i in ids):
        changes["choices"] = tuple(items.choices[i] for i in ids)
    new_groups = {
        name: tuple(labels.get(i) for i in ids)
        for name, labels in items.groups.items()
        if name not in evaluation.groups and any(i in labels for i in ids)
    }
    note = f"texts and labels joined from {items.path}: {found} of {len(ids)} items found there"
    return replace(
        evaluation,
        groups={**evaluation.groups, **new_groups},
        notes=(*evaluation.notes, note) if found < len(ids) else evaluation.notes,
        **changes,
    )


def join_all(
    evaluations: Sequence[Evaluation], items: Items
) -> tuple[tuple[Evaluation, ...], tuple[str, ...]]:
    """Join every evaluation that shares ids with the items; a note names each that does not.

    Raises
    ------
    BenchharmonyError
        When none does.
    """
    out, notes = [], []
    for evaluation in evaluations:
        try:
            out.append(join_items(evaluation, items))
        except BenchharmonyError as error:
            out.append(evaluation)
            notes.append(str(error))
    if len(notes) == len(out):
        raise BenchharmonyError(notes[0])
    return tuple(out), tuple(notes)
