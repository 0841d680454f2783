"""Own items: JSON Lines with a question, options or accepted answers, and any other columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchharmony.collect import prompts
from benchharmony.collect.answers import exact_match, token_f1
from benchharmony.collect.work import Benchmark, ItemError, Outcome, WorkItem
from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.readers.source import SourceFile

#: Columns with a meaning of their own; every other one is a declared group.
RESERVED = ("id", "question", "context", "choices", "answer", "answers")


@dataclass(frozen=True)
class ItemOptions:
    """How own items become prompts.

    Attributes
    ----------
    style : {"cloze", "letters"}
        Score the options' texts, or their letters.
    max_new_tokens : int
        Longest generated answer of an open-ended item.
    template : callable or None
        Chat template.
    limit : int or None
        Take the first so many lines only.
    """

    style: str = "cloze"
    max_new_tokens: int = 32
    template: prompts.Template | None = None
    limit: int | None = None


def read_items(path: str | Path, options: ItemOptions | None = None) -> Benchmark:
    """Read own items.

    Lines that cannot be used become problems of the benchmark, each with its line and reason.

    Raises
    ------
    InputError
        When the file is missing, empty, or holds no usable item.
    """
    options = options or ItemOptions()
    file = SourceFile(path)
    if not file.path.is_file():
        raise InputError(str(path), "no such file (--items takes a JSON Lines file)")
    problems: list[Problem] = []
    items: list[WorkItem] = []
    seen: set[str] = set()
    for count, (line, record) in enumerate(file.records(problems)):
        if options.limit is not None and count >= options.limit:
            break
        item_id = str(record["id"]) if record.get("id") is not None else f"line-{line}"
        try:
            if item_id in seen:
                raise ItemError(f"the id {item_id!r} is used twice; give each item its own")
            items.append(work_item(item_id, record, line, options))
            seen.add(item_id)
        except ItemError as error:
            problems.append(Problem(str(path), str(error), line, item_id))
    if not items:
        first = f"; the first problem: {problems[0]}" if problems else ""
        raise InputError(str(path), f"no usable item in it ({len(problems)} left out){first}")
    return Benchmark(
        name=file.name.rsplit(".", 1)[0],
        items=tuple(items),
        score=score_items,
        score_name=_score_name(items, options),
        source_format="own items",
        files=(str(path),),
        items_read=len(items) + len(problems),
        problems=tuple(problems),
        settings={"prompt": options.style, "max_new_tokens": options.max_new_tokens},
    )


def work_item(
    item_id: str, record: Mapping[str, Any], line: int | None, options: ItemOptions
) -> WorkItem:
    """Return one record as an item, or raise :class:`ItemError` saying what it lacks."""
    question = _text(record, "question")
    if question is None:
        raise ItemError("no question; each line needs a non-empty 'question'")
    base = prompts.stem(question, _text(record, "context"))
    groups = {
        str(k): None if v is None else str(v)
        for k, v in record.items()
        if k not in RESERVED and not isinstance(v, (list, dict))
    }
    choices = _choices(record)
    if choices:
        return _multiple_choice(item_id, record, line, base, choices, groups, options)
    answers = _answers(record)
    prompt, space = prompts.closed(base, options.template)
    return WorkItem(
        item_id=item_id,
        text=question,
        presented=base,
        question=prompts.stem(question, None),
        pairs=(),
        n_options=0,
        prompt=prompt,
        answer=(prompt, space + answers[0]),
        answers=answers,
        groups=groups,
        generation=prompts.generation(base, options.max_new_tokens, options.template),
        line=line,
    )


def _multiple_choice(
    item_id: str,
    record: Mapping[str, Any],
    line: int | None,
    base: str,
    choices: tuple[str, ...],
    groups: Mapping[str, str | None],
    options: ItemOptions,
) -> WorkItem:
    gold = _gold(record.get("answer"), choices)
    pairs = prompts.scored_pairs(base, choices, options.style, options.template)
    # A letter says nothing of what the answer means: the answer's own text is what is read.
    texts = prompts.scored_pairs(base, choices, "cloze", options.template)
    question = str(record["question"]).strip()
    return WorkItem(
        item_id=item_id,
        text=question,
        presented=prompts.with_options(base, choices),
        question=prompts.stem(question, None),
        pairs=pairs,
        n_options=len(pairs),
        prompt=pairs[0][0],
        answer=texts[gold],
        choices=choices,
        gold=gold,
        groups=groups,
        line=line,
    )


def _text(record: Mapping[str, Any], column: str) -> str | None:
    value = record.get(column)
    if value is None:
        return None
    if not isinstance(value, (str, int, float)):
        raise ItemError(f"{column!r} is a {type(value).__name__}, expected text")
    return str(value).strip() or None


def _choices(record: Mapping[str, Any]) -> tuple[str, ...]:
    value = record.get("choices")
    if value is None or value == []:
        return ()
    if not isinstance(value, list):
        raise ItemError("'choices' is not a list of texts")
    texts = tuple("" if c is None else str(c).strip() for c in value)
    if len(texts) < 2:
        raise ItemError("'choices' has one option; at least 2 are needed")
    for index, text in enumerate(texts):
        if not text:
            raise ItemError(f"option {index} ({prompts.option_label(index)}) is empty")
    return texts


def _gold(value: Any, choices: Sequence[str]) -> int:
    """Return the index of the right option, given as index, letter or text."""
    if isinstance(value, bool) or value is None:
        raise ItemError("no 'answer'; give the index of the right option, counted from 0")
    if isinstance(value, str):
        text = value.strip()
        if text in choices and choices.count(text) == 1:
            return choices.index(text)
        if len(text) == 1 and text.upper() in prompts.LETTERS[: len(choices)]:
            return prompts.LETTERS.index(text.upper())
        value = int(text) if text.isdigit() else text
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or not 0 <= value < len(choices):
        raise ItemError(
            f"'answer' is {value!r}; expected the index of one of its {len(choices)} options, "
            "counted from 0"
        )
    return value


def _answers(record: Mapping[str, Any]) -> tuple[str, ...]:
    value = record.get("answers")
    if value is None:
        value = record.get("answer")
    listed = value if isinstance(value, list) else [value]
    texts = tuple(str(v).strip() for v in listed if v is not None and str(v).strip())
    if not texts:
        raise ItemError("no 'choices' and no 'answers': nothing to score the item by")
    return texts


def _score_name(items: Sequence[WorkItem], options: ItemOptions) -> str:
    kinds = {item.n_options > 0 for item in items}
    if kinds == {True}:
        return "acc_norm" if options.style == "cloze" else "acc"
    return "exact_match" if kinds == {False} else "score"


def score_items(items: Sequence[WorkItem], outcomes: Sequence[Outcome]) -> list[dict[str, float]]:
    """Return ``acc``, ``acc_norm``, ``acc_token`` or ``exact_match``, ``f1`` of every item.

    ``acc`` takes the option of the highest summed log-likelihood, ``acc_norm`` the highest per
    character, ``acc_token`` the highest per token; ties go to the first. A file that mixes
    both kinds also gets ``score``: ``acc_norm`` or ``exact_match``, whichever the item has.
    """
    metrics = [_metrics(item, outcome) for item, outcome in zip(items, outcomes, strict=True)]
    names = {name for m in metrics for name in m}
    if {"acc", "exact_match"} <= names:
        for m in metrics:
            m["score"] = m["acc_norm"] if "acc_norm" in m else m["exact_match"]
    return metrics


def _metrics(item: WorkItem, outcome: Outcome) -> dict[str, float]:
    if item.generation is not None:
        text = outcome.generated or ""
        return {
            "exact_match": exact_match(text, item.answers),
            "f1": token_f1(text, item.answers),
        }
    sums = np.array(outcome.logprobs[: item.n_options])
    if math.isnan(float(sums.sum())):
        raise BenchharmonyError(f"item {item.item_id!r}: the model gave NaN; try --dtype float32")
    characters = np.array([len(c) for c in item.choices], dtype=np.float64)
    tokens = np.array(outcome.n_tokens[: item.n_options], dtype=np.float64)
    return {
        "acc": float(np.argmax(sums) == item.gold),
        "acc_norm": float(np.argmax(sums / characters) == item.gold),
        "acc_token": float(np.argmax(sums / tokens) == item.gold),
    }
