"""Texts, options and labels from a benchmark's own file, joined to a log by item id or question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import Evaluation, clean_text
from benchharmony.item_keys import item_key, item_keys
from benchharmony.readers.source import SourceFile

_TEXT = ("question", "text", "stem", "prompt")
_IDS = ("id", "item_id", "question_id", "doc_id")
#: Lines that could not be read and are named one by one.
_NAMED = 3
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
    notes : tuple of str
        Lines that could not be used, and repeated ids.
    """

    path: str
    texts: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...] = ()


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
    bare = repeated = 0
    for _, record in file.records(problems):
        key = next((str(record[f]) for f in _IDS if record.get(f) is not None), None)
        text = next((record[f] for f in _TEXT if isinstance(record.get(f), str)), None)
        if key is None or text is None:
            bare += 1
            continue
        repeated += key in texts
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
    notes = [str(p) for p in problems[:_NAMED]]
    if len(problems) > _NAMED:
        notes.append(f"{file}: {len(problems) - _NAMED} more lines are not valid")
    if bare:
        notes.append(f"{file}: {bare} lines have no id or no question and are left out")
    if repeated:
        notes.append(f"{file}: {repeated} lines repeat an id; the last one counts")
    return Items(str(file), texts, choices, groups, tuple(notes))


def join_items(evaluation: Evaluation, items: Items) -> Evaluation:
    """Return the evaluation with texts, options and labels of the items that the file has too.

    Items are found by id; where no id is the same, by question and options
    (:mod:`benchharmony.item_keys`). Items that the file lacks keep what the log gave (an empty
    text otherwise); a note counts them.

    Raises
    ------
    BenchharmonyError
        When not one id or question occurs in both.
    """
    ids, how = _ids_there(evaluation, items)
    found = sum(i is not None for i in ids)
    if found == 0:
        raise BenchharmonyError(
            f"{evaluation.name}: none of its {len(ids)} item ids{how} occurs in {items.path} "
            f"(first id here: {evaluation.item_ids[0]!r}; there: {next(iter(items.texts))!r})"
        )
    old = evaluation.texts or ("",) * len(ids)
    changes: dict[str, Any] = {
        "texts": tuple(t if i is None else items.texts[i] for i, t in zip(ids, old, strict=True))
    }
    if evaluation.choices is None and all(i in items.choices for i in ids):
        changes["choices"] = tuple(items.choices[i] for i in ids if i is not None)
    new_groups = {
        name: tuple(None if i is None else labels.get(i) for i in ids)
        for name, labels in items.groups.items()
        if name not in evaluation.groups and any(i in labels for i in ids)
    }
    note = f"texts and labels joined from {items.path}{how}: {found} of {len(ids)} items found"
    return replace(
        evaluation,
        groups={**evaluation.groups, **new_groups},
        notes=(*evaluation.notes, note) if found < len(ids) or how else evaluation.notes,
        **changes,
    )


def _ids_there(evaluation: Evaluation, items: Items) -> tuple[list[str | None], str]:
    """Return the id that each item has in the file, None where it lacks it, and how it was told."""
    own = [i if i in items.texts else None for i in evaluation.item_ids]
    if evaluation.texts is None or any(i is not None for i in own):
        return own, ""
    options = evaluation.choices is not None and len(items.choices) == len(items.texts)
    keys = item_keys(evaluation, options=options)
    there = [
        (item_key(t, items.choices[i] if options else None), i) for i, t in items.texts.items()
    ]
    # A question that occurs twice, on either side, tells no item.
    often = Counter(k for k, _ in there) + Counter(
        {k: 1 for k, c in Counter(keys).items() if c > 1}
    )
    place = {k: i for k, i in there if k is not None and often[k] == 1}
    found = [place.get(k) if k is not None else None for k in keys]
    return found, " by question" if any(found) else " (and none of its questions)"


def join_all(
    evaluations: Sequence[Evaluation], items: Items
) -> tuple[tuple[Evaluation, ...], tuple[str, ...]]:
    """Join every evaluation that shares ids with the items; a note names each that does not.

    Raises
    ------
    BenchharmonyError
        When none does.
    """
    out, strangers = [], []
    for evaluation in evaluations:
        try:
            out.append(join_items(evaluation, items))
        except BenchharmonyError as error:
            out.append(evaluation)
            strangers.append(str(error))
    if len(strangers) == len(out):
        raise BenchharmonyError(strangers[0])
    return tuple(out), (*items.notes, *strangers)
