"""From a document of an lm-eval task and its requests to an item."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchharmony.collect import prompts
from benchharmony.collect.work import Generation, ItemError, Pair, WorkItem

#: Kinds of tasks that score given continuations, and the kind that generates.
SCORED = ("multiple_choice", "loglikelihood")
GENERATED = "generate_until"

#: Declared column that names the task of an item within a group of tasks.
GROUP_COLUMN = "task"

#: lm-eval's own default for the longest answer.
DEFAULT_NEW_TOKENS = 256

#: Columns of a document that are the item itself.
_CONTENT = {"id", "question", "context", "choices", "answer", "answers", "query", "gold", "target"}

_LABEL = re.compile(r"\(?[A-Z0-9][).:]?")


def task_item(
    item_id: str, task: Any, document: Any, instances: Sequence[Any], max_new_tokens: int | None
) -> WorkItem:
    """Return a document as an item.

    The item as presented is the task's own text for the document (without few-shot examples and
    closing ``Answer:``), with a lettered line per option unless the text shows the options
    already. ``answer`` is the task's gold continuation; where that is a mere label ("B") and the
    document holds the options' texts, it is the gold option's text behind the same prompt.

    Raises
    ------
    ItemError
        When the document has no options or no answer.
    """
    if task.OUTPUT_TYPE == GENERATED:
        return _generated(item_id, task, document, instances[0], max_new_tokens)
    pairs = tuple((str(i.args[0]), str(i.args[1])) for i in instances)
    if task.OUTPUT_TYPE == "loglikelihood":
        choices: tuple[str, ...] = (pairs[0][1].strip(),)
        gold: int | None = 0
        text = str(pairs[0][0])
    else:
        choices = tuple(str(c) for c in task.doc_to_choice(document))
        if not choices:
            raise ItemError("the document has no options")
        gold = _gold(task, document, choices)
        text = _text(task, document, pairs, choices)
    presented = _presented(text, choices, task)
    return WorkItem(
        item_id=item_id,
        text=prompts.without_cue(text).strip(),
        presented=presented,
        question=_question(document, text),
        pairs=pairs,
        n_options=len(choices),
        prompt=pairs[0][0],
        answer=None if gold is None else _answer(document, pairs, choices, gold),
        choices=_shown(document, choices),
        gold=gold,
        groups=_scalars(document),
    )


def _generated(
    item_id: str, task: Any, document: Any, instance: Any, max_new_tokens: int | None
) -> WorkItem:
    context, settings = str(instance.args[0]), dict(instance.args[1])
    target = task.doc_to_target(document)
    if task.config.doc_to_choice is not None and isinstance(target, int):
        target = task.doc_to_choice(document)[target]
    answers = tuple(str(t) for t in target) if isinstance(target, (list, tuple)) else (str(target),)
    until = settings.get("until") or []
    longest = next(
        (settings[k] for k in ("max_gen_toks", "max_new_tokens", "max_tokens") if k in settings),
        max_new_tokens or DEFAULT_NEW_TOKENS,
    )
    if not answers or not answers[0].strip():
        raise ItemError("the document has no answer")
    text = str(task.doc_to_text(document))
    delimiter = "" if context[-1:].isspace() else str(task.config.target_delimiter)
    return WorkItem(
        item_id=item_id,
        text=prompts.without_cue(text).strip(),
        presented=prompts.without_cue(text),
        question=_question(document, text),
        pairs=(),
        n_options=0,
        prompt=context,
        answer=(context, delimiter + answers[0]),
        answers=answers,
        groups=_scalars(document),
        generation=Generation(
            context, tuple([until] if isinstance(until, str) else until), int(longest)
        ),
    )


def _gold(task: Any, document: Any, choices: Sequence[str]) -> int | None:
    """Return the index of the right option, the first where there are several."""
    value = task.doc_to_text(document) if task.multiple_input else task.doc_to_target(document)
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if isinstance(value, str):
        value = choices.index(value) if value in choices else None
    if isinstance(value, int) and 0 <= value < len(choices):
        return int(value)
    raise ItemError(f"its right answer ({value!r}) is not one of its {len(choices)} options")


def _text(task: Any, document: Any, pairs: Sequence[Pair], choices: Sequence[str]) -> str:
    """Return the task's text of a document, without few-shot examples."""
    if task.multiple_input:  # the options are contexts, what follows them is shared
        continuation = str(task.doc_to_target(document)).strip()
        return prompts.with_options(f"... {continuation}", choices)
    return str(task.doc_to_text(document))


def _presented(text: str, choices: Sequence[str], task: Any) -> str:
    body = prompts.without_cue(text)
    if task.OUTPUT_TYPE == "loglikelihood" or task.multiple_input or _are_labels(choices):
        return body
    if all(choice.strip() and choice.strip() in body for choice in choices):
        return body
    return prompts.with_options(body, choices)


def _are_labels(choices: Sequence[str]) -> bool:
    return all(_LABEL.fullmatch(choice.strip()) for choice in choices)


def _answer(document: Any, pairs: Sequence[Pair], choices: Sequence[str], gold: int) -> Pair:
    texts = _option_texts(document, len(choices))
    if _are_labels(choices) and texts is not None and not _are_labels(texts):
        context, label = pairs[gold]
        space = label[: len(label) - len(label.lstrip())]
        return context, space + texts[gold].strip()
    return pairs[gold]


def _shown(document: Any, choices: tuple[str, ...]) -> tuple[str, ...]:
    texts = _option_texts(document, len(choices))
    return texts if _are_labels(choices) and texts is not None else choices


def _option_texts(document: Any, count: int) -> tuple[str, ...] | None:
    """Return the texts of the options, where a document holds them as ``choices``."""
    value = document.get("choices") if isinstance(document, Mapping) else None
    if isinstance(value, Mapping):
        value = value.get("text")
    if not isinstance(value, (list, tuple)) or len(value) != count:
        return None
    return tuple(str(v) for v in value) if all(isinstance(v, str) for v in value) else None


def _question(document: Any, text: str) -> str:
    value = document.get("question") if isinstance(document, Mapping) else None
    if isinstance(value, str) and value.strip():
        return prompts.stem(value, None)
    return prompts.without_cue(text)


def _scalars(document: Any) -> dict[str, str | None]:
    if not isinstance(document, Mapping):
        return {}
    return {
        str(k): None if v is None else str(v)
        for k, v in document.items()
        if k not in _CONTENT and (v is None or isinstance(v, (str, int, bool)))
    }


def document_groups(items: Sequence[WorkItem], documents: Sequence[Any]) -> list[WorkItem]:
    """Keep as declared columns only those that group: short labels, most of them shared."""
    names = dict.fromkeys(name for item in items for name in item.groups)
    grouping = set()
    for name in names:
        values = [item.groups.get(name) for item in items]
        given = [v for v in values if v is not None]
        distinct = set(given)
        if given and len(distinct) <= len(given) / 2 and max(map(len, distinct)) <= 80:
            grouping.add(name)
    return [replace(i, groups={k: v for k, v in i.groups.items() if k in grouping}) for i in items]
