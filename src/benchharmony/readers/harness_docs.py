"""What the record of an item (``doc``) in a log of the harness says: options, key, question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

#: Where a row says which option is right, most trusted first.
GOLD_FIELDS = """
    target gold label answer answerKey answer_key answer_index answer_idx answer_ix gold_index
    correct_option_index correct correct_option correct_answer final_decision cop Answer labels
    """.split()  # noqa: SIM905 (one word a line would fill a screen)

_CHOICE_LISTS = ("choices", "options", "endings", "candidates", "answer_choices")
_CHOICE_COLUMNS = (
    ("option1", "option2", "option3", "option4", "option5"),
    ("choice1", "choice2", "choice3", "choice4"),
    ("sol1", "sol2"),
    ("answerA", "answerB", "answerC", "answerD"),
    ("ans0", "ans1", "ans2"),
    ("opa", "opb", "opc", "opd"),
    ("option_a", "option_b", "option_c", "option_d", "option_e"),
    ("A", "B", "C", "D", "E"),
)
_QUESTIONS = """
    question Question query problem Problem stem goal premise prompt sentence Sentence utterance
    text Text input instruction passage SRC src source_text sentence1 ctx
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
#: A question's second half, where the benchmark splits it in two.
_SECOND_HALVES = {"premise": "hypothesis", "sentence1": "sentence2"}
_LABEL_ONLY = re.compile(r"\(?[A-Za-z0-9]{1,2}\)?[.):]?")


class _Known(NamedTuple):
    """The names looked for that a record has, in the order they are trusted."""

    lists: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    gold: tuple[str, ...]
    questions: tuple[str, ...]


@lru_cache(maxsize=16)
def _known(keys: tuple[str, ...]) -> _Known:
    """Return what can be looked up in records with these keys, mostly all records of a file."""
    present = frozenset(keys)

    def among(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in present)

    columns = tuple(filter(None, map(among, _CHOICE_COLUMNS)))
    return _Known(among(_CHOICE_LISTS), columns, among(GOLD_FIELDS), among(_QUESTIONS))


def choice_texts(
    doc: Mapping[str, Any], continuations: Sequence[str], n_options: int | None
) -> tuple[str, ...] | None:
    """Return the texts of the options.

    The benchmark's own texts when there are as many as options; what was scored when that says
    more than a letter and the benchmark's texts are missing or in another order.
    """
    stored = _stored_choices(doc, n_options)
    whole = n_options is not None and len(continuations) == n_options
    if not whole:
        return stored
    spoken = tuple(c.strip() for c in continuations)
    if stored is None:
        return spoken if len(set(spoken)) > 1 else None
    own, said = ([s.strip().casefold() for s in texts] for texts in (stored, spoken))
    shuffled = own != said and sorted(own) == sorted(said)
    return spoken if shuffled and not all(map(_LABEL_ONLY.fullmatch, spoken)) else stored


def _stored_choices(doc: Mapping[str, Any], n_options: int | None) -> tuple[str, ...] | None:
    known = _known(tuple(doc))
    found: list[Sequence[Any]] = []
    for name in known.lists:
        value = doc[name]
        if isinstance(value, dict):
            value = value.get("text") or value.get("texts") or list(value.values())
        if isinstance(value, list):
            found.append(value)
    first_key = doc.get("mc1_targets")
    if n_options and isinstance(first_key, dict) and isinstance(first_key.get("choices"), list):
        found.append(first_key["choices"])  # of TruthfulQA; its generation task has no options
    found += [[doc[c] for c in names] for names in known.columns]
    for texts in found:
        fits = len(texts) >= 2 if n_options is None else len(texts) == n_options
        if fits and all(isinstance(t, (str, int, float)) for t in texts):
            return tuple(str(t) for t in texts)
    return None


def choice_labels(doc: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of the options where the record names them, else nothing."""
    for name in _known(tuple(doc)).lists:
        value = doc[name]
        if isinstance(value, dict):
            labels = value.get("label") or value.get("labels")
            if isinstance(labels, list):
                return tuple(str(label) for label in labels)
            if not isinstance(value.get("text"), list):
                return tuple(str(key) for key in value)
    return ()


def gold_fields(doc: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may say which option is right, under names that begin with ``doc.``."""
    fields: dict[str, Any] = {}
    for name in _known(tuple(doc)).gold:
        value = doc[name]
        if isinstance(value, (str, int, float)) or _is_one_hot(value):
            fields[f"doc.{name}"] = value
    first_key = doc.get("mc1_targets")
    if isinstance(first_key, dict) and _is_one_hot(first_key.get("labels")):
        fields["doc.mc1_targets.labels"] = first_key["labels"]
    return fields


def _is_one_hot(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 2
        and all(isinstance(v, (int, float)) and v in (0, 1) for v in value)
        and sum(value) == 1
    )


def question_of(doc: Mapping[str, Any]) -> str:
    """Return the question that a benchmark's record holds; empty where it has none."""
    for name in _known(tuple(doc)).questions:
        value = doc[name]
        if isinstance(value, dict):
            value = value.get("stem") or value.get("text")
        if isinstance(value, str) and value.strip():
            second = doc.get(_SECOND_HALVES.get(name, ""))
            return f"{value.strip()} {second.strip()}" if isinstance(second, str) else value.strip()
    return ""
