"""Reader of MMLU-Pro outputs: a JSON list of answered items, as it is or in a zip archive.

A record has ``question_id``, ``question``, ``options`` (1 to 10 texts), ``answer`` (a letter),
``answer_index``, ``pred`` (the letter found in the model's text; null where none was found) and
``category``. An item is right where ``pred`` is ``answer``; one without a ``pred`` is wrong. (The
benchmark's own script draws a random option for those.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.archive import ZIP_MAGIC, Archive
from benchharmony.readers.declared import declared_groups, label_columns
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import HEAD_BYTES, Reader, ReadOptions, SourceFile, decode

_BENCHMARK = "mmlu_pro"
_FIELDS = ("question_id", "options", "answer", "pred")
_NAME = re.compile(r"model_outputs_(?P<model>.+?)(_\d+[-_]?shots?)?\.json")
#: Text of the model or of the prompt, which is no label of an item.
_TEXTS = ("question", "cot_content", "generated_text", "model_outputs", "pred")
_LETTER = re.compile(r"[A-Z]")


def sniff(file: SourceFile) -> bool:
    """Whether the file is a list of answered MMLU-Pro items, or a zip of such lists."""
    if not file.head.startswith(ZIP_MAGIC):
        return _is_list(file.head)
    try:
        with Archive(file) as archive:
            lists = _lists(archive)
            return bool(lists) and _is_list(archive.head(lists[0], HEAD_BYTES))
    except (InputError, OSError, EOFError):
        return False


def _is_list(head: bytes) -> bool:
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        return False
    places = outline(head, depth=2)
    return all(("[]", name) in places for name in _FIELDS)


def _lists(archive: Archive) -> list[str]:
    """Return the JSON members (macOS adds shadows of them that are none)."""
    return [n for n in archive.names if n.endswith(".json") and not n.startswith("__MACOSX/")]


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return one evaluation for the file, or for each list in the archive.

    Raises
    ------
    InputError
        When a list is damaged or no item of it is usable.
    """
    if not file.head.startswith(ZIP_MAGIC):
        return [_evaluation(file, file.name, file.read_json(), options)]
    with Archive(file) as archive:
        found = []
        for name in _lists(archive):
            try:
                records = decode(archive.read(name))
            except ValueError as error:
                if isinstance(error, InputError):
                    raise
                reason = f"member {name!r} is not valid JSON ({error})"
                raise InputError(str(file), reason) from None
            found.append(_evaluation(file, name.rpartition("/")[2], records, options))
        return found


@dataclass
class _Items:
    """What the usable records hold, and why the others are not usable."""

    ids: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    gold: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    choices: list[tuple[str, ...]] = field(default_factory=list)
    docs: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    without_pred: int = 0
    keys_differ: int = 0


def _evaluation(file: SourceFile, name: str, records: Any, options: ReadOptions) -> Evaluation:
    if not isinstance(records, list):
        raise InputError(str(file), f"{name}: expected a JSON list of answered items")
    items = _Items()
    seen: set[str] = set()
    for number, record in enumerate(records, start=1):
        reason = _add(items, record, seen)
        if reason is not None:
            item = record.get("question_id") if isinstance(record, dict) else None
            known = None if item is None else str(item)
            items.problems.append(Problem(str(file), reason, number, known))
    if not items.ids:
        first = f"; the first: {items.problems[0].reason}" if items.problems else ""
        raise InputError(str(file), f"{name}: no usable item of {len(records)}{first}")
    match = _NAME.fullmatch(name)
    model = match["model"] if match else options.model or name.removesuffix(".json")
    return Evaluation.from_arrays(
        benchmark=_BENCHMARK,
        model=model,
        item_ids=items.ids,
        scores=items.scores,
        score_name="acc",
        gold=items.gold,
        groups=declared_groups(items.docs, items.gold),
        texts=items.texts,
        choices=items.choices,
        notes=_notes(items),
        source=Source("MMLU-Pro outputs", (str(file),), len(records), tuple(items.problems)),
    )


def _add(items: _Items, record: Any, seen: set[str]) -> str | None:
    """Add a record, or return why it is not usable."""
    if not isinstance(record, dict):
        return f"expected a JSON object, found {type(record).__name__}"
    item = record.get("question_id")
    if not isinstance(item, (int, str)) or isinstance(item, bool) or item == "":
        return "no question_id in this record"
    if str(item) in seen:
        return "the question_id of an earlier record, which is kept"
    choices = record.get("options")
    if not isinstance(choices, list) or not choices or not all(isinstance(c, str) for c in choices):
        return "its options are not a list of texts"
    gold, differ = _gold(record, len(choices))
    if gold < 0:
        return "its answer names none of its options"
    pred = record.get("pred")
    if pred is not None and not isinstance(pred, str):
        return f"its pred is neither a letter nor null but {type(pred).__name__}"
    seen.add(str(item))
    items.ids.append(str(item))
    items.gold.append(gold)
    items.scores.append(float(_index(pred) == gold))
    items.without_pred += _index(pred) < 0
    items.keys_differ += differ
    items.texts.append(str(record.get("question") or ""))
    items.choices.append(tuple(choices))
    items.docs.append(label_columns({k: v for k, v in record.items() if k not in _TEXTS}))
    return None


def _index(letter: Any) -> int:
    """Return 0 for "A", 1 for "B", ...; -1 for what is no letter."""
    text = letter.strip().upper() if isinstance(letter, str) else ""
    return ord(text) - ord("A") if _LETTER.fullmatch(text) else -1


def _gold(record: Mapping[str, Any], n_options: int) -> tuple[int, bool]:
    """Return the index of the right option, -1 where unknown, and whether two keys contradict."""
    by_letter, stated = _index(record.get("answer")), record.get("answer_index")
    is_index = isinstance(stated, int) and not isinstance(stated, bool)
    by_index = int(stated) if is_index and 0 <= int(stated) < n_options else -1  # type: ignore[arg-type]
    if not 0 <= by_letter < n_options:
        return by_index, False
    return by_letter, by_index >= 0 and by_index != by_letter


def _notes(items: _Items) -> list[str]:
    notes = []
    if items.without_pred:
        notes.append(
            f"{items.without_pred} of {len(items.ids)} items have no pred (no answer was found in "
            "the model's text) and count as wrong"
        )
    if items.keys_differ:
        notes.append(f"answer and answer_index differ on {items.keys_differ} items; answer is used")
    return notes


READERS: tuple[Reader, ...] = (
    Reader(
        name="MMLU-Pro outputs",
        description="JSON list of question_id, options, answer, pred, category; or a zip of it",
        sniff=sniff,
        read=read,
        example="model_outputs_<model>_5shots.json, or .zip",
    ),
)
