"""One item of an lm-evaluation-harness log, in whichever of its layouts it was written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from benchharmony.readers.declared import label_columns
from benchharmony.readers.harness_docs import choice_labels, choice_texts, gold_fields, question_of
from benchharmony.readers.source import decode, to_float
from benchharmony.readers.typed_rows import Request, whole

#: Keys of a row that are not metrics.
STRUCTURE = frozenset(
    """
    doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash
    target_hash idx index task task_name raw_model_response bypass
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
)
_ANSWER_CUE = re.compile(r"\b(answer|a|réponse|antwort|respuesta|risposta)\s*:$", re.I)
#: A cue is looked for in the last characters only: texts of logs may be long and hostile.
_CUE_LENGTH = 24


@dataclass(slots=True)
class HarnessItem:
    """What one row of a log says about one item under one filter.

    Attributes
    ----------
    row_id : str
        The harness's own number of the item.
    line : int or None
        1-based line or record of the file.
    metrics : dict of str to float
        Per-item metrics; NaN where the log holds no number.
    parts : tuple of str
        Metrics logged as parts of an aggregate (``"f1": [gold, predicted]``), not as a score.
    options : list of float, or None
        Log-likelihood of each option (nats), NaN where it is none; None for a generation task.
    continuations : tuple of str
        What was scored, as the log gives it: all options, the first alone, or nothing.
    choices : tuple of str, or None
        Texts of the options.
    choice_labels : tuple of str
        Labels of the options where the benchmark names them ("A", "B" or "1", "2").
    gold_fields : dict
        Everything the row holds that may say which option is right.
    columns : dict
        Short values of the item's record: ids and declared groups are among them.
    text : str
        The question; empty where the row has none.
    """

    row_id: str
    line: int | None
    metrics: dict[str, float]
    parts: tuple[str, ...] = ()
    options: list[float] | None = None
    continuations: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None
    choice_labels: tuple[str, ...] = ()
    gold_fields: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    text: str = ""


def item_of_row(row: Mapping[str, Any], line: int | None) -> HarnessItem:
    """Read a row of a samples log (2023-06 to now, and the minimal rows of forks)."""
    raw_doc = row.get("doc")
    doc: Mapping[str, Any] = raw_doc if isinstance(raw_doc, Mapping) else {}
    pairs = argument_pairs(row.get("arguments"))
    options = option_logprobs(row)
    if options is not None and "acc_mutual_info" in row and len(options) % 2 == 0:
        # The second half scores the same options without the question.
        options = options[: len(options) // 2]
        pairs = pairs[: len(options)]
    spoken = tuple(text for _, text in pairs if isinstance(text, str))
    metrics, parts = row_metrics(row)
    return HarnessItem(
        row_id=str(row.get("doc_id")),
        line=line,
        metrics=metrics,
        parts=parts,
        options=options,
        continuations=spoken,
        choices=choice_texts(doc, spoken, None if options is None else len(options)),
        choice_labels=choice_labels(doc),
        gold_fields=({"target": row["target"]} if "target" in row else {}) | gold_fields(doc),
        columns=label_columns(doc),
        text=question_of(doc) or last_question(pairs[0][0] if pairs else None),
    )


def option_logprobs(row: Mapping[str, Any]) -> list[float] | None:
    """Return the log-likelihood of each option of a row; None where there are no options.

    Layouts: ``[[ll, greedy], ...]``, the same with one more bracket around each, numbers as text,
    and bare numbers. One response alone is a perplexity or a generation, not a choice.
    """
    for name in ("filtered_resps", "resps"):
        responses = row.get(name)
        if not isinstance(responses, list) or len(responses) < 2:
            continue
        values = [_log_likelihood(r) for r in responses]
        if any(v is not None for v in values):
            return [math.nan if v is None else v for v in values]
    return None


def _log_likelihood(response: Any) -> float | None:
    """Return the number of one response; None where it is text or nothing."""
    for _ in range(4):
        if not (isinstance(response, list) and response and isinstance(response[0], list)):
            break
        response = response[0]
    if isinstance(response, list):
        if len(response) != 2 or str(response[1]).lower() not in ("true", "false"):
            return None
        response = response[0]
        return None if response is None else to_float(response)
    if isinstance(response, (int, float)) and not isinstance(response, bool):
        return to_float(response)
    return None


def argument_pairs(arguments: Any) -> list[tuple[Any, Any]]:
    """Return the (context, continuation or settings) pairs of a row, one per request.

    Contexts that were left as bytes stay so: :func:`last_question` decodes the one it needs.
    """
    if isinstance(arguments, dict):
        numbered = [(_trailing_number(name), value) for name, value in arguments.items()]
        calls = [v for _, v in sorted(numbered, key=lambda pair: pair[0])]
        if isinstance(calls[0] if calls else None, Request):
            return [(c.arg_0, c.arg_1) for c in calls]
        return [(c.get("arg_0"), c.get("arg_1")) for c in calls if isinstance(c, dict)]
    if not isinstance(arguments, list):
        return []
    if len(arguments) == 2 and isinstance(arguments[0], str):
        return [(arguments[0], arguments[1])]  # one flat pair: the first option only
    return [(a[0], a[1]) for a in arguments if isinstance(a, (list, tuple)) and len(a) == 2]


@lru_cache(maxsize=1024)
def _trailing_number(name: str) -> int:
    digits = re.search(r"(\d{1,9})$", name)
    return int(digits.group(1)) if digits else 0


def row_metrics(
    row: Mapping[str, Any], structure: frozenset[str] = STRUCTURE
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the metrics of a row, and the names of those that are only parts of an aggregate.

    A row that lists its ``metrics`` is believed; else everything that is no known structure and
    holds a number counts. A list of one number is that number, a list of booleans their mean;
    longer lists are what an aggregate is computed from (F1 over a class) and no score of an item.
    """
    listed = row.get("metrics")
    names: Iterable[str] = (k for k in row if k not in structure)
    if isinstance(listed, list) and any(isinstance(m, str) and m in row for m in listed):
        names = (m for m in listed if isinstance(m, str) and m in row and m != "bypass")
    metrics: dict[str, float] = {}
    parts = []
    for name in names:
        value = row[name]
        if isinstance(value, list):
            if len(value) == 1 and not isinstance(value[0], list):
                metrics[name] = to_float(value[0])
            elif value and all(isinstance(v, bool) for v in value):
                metrics[name] = sum(value) / len(value)
            else:
                parts.append(name)
        elif not isinstance(value, dict):
            metrics[name] = to_float(value)
    return metrics, tuple(parts)


def last_question(context: Any) -> str:
    """Return the last question of a prompt: its last block, without the cue for the answer."""
    context = whole(context)
    if isinstance(context, list):
        context = _last_message(context)
    if isinstance(context, str) and context.startswith('[{"role"'):
        context = _last_message(_decoded(context))
    if not isinstance(context, str):
        return ""
    blocks = (_without_cue(block) for block in reversed(context.split("\n\n")))
    return next((block for block in blocks if block), "")


def _without_cue(block: str) -> str:
    text = block.strip()
    cue = _ANSWER_CUE.search(text, max(0, len(text) - _CUE_LENGTH))
    return text if cue is None else text[: cue.start()].strip()


def _decoded(text: str) -> Any:
    try:
        return decode(text.encode("utf-8", "replace"))
    except ValueError:
        return []


def _last_message(messages: Any) -> Any:
    """Return the last user turn of a chat, or the text that is the only element."""
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, str):
            return message
        if isinstance(message, dict) and message.get("role", "user") == "user":
            return message.get("content")
    return None
