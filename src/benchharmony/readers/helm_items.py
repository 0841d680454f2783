"""Items of a HELM run: what its request states say of each instance.

A scenario state holds one request state per instance, train trial and, under the separate
multiple-choice adapters, reference; calibrated adapters add one more per reference, scored without
its question. The right options are the references tagged ``correct``. The joint adapter maps the
letters that were shown to option texts (``output_mapping``); an output that is no letter of the
mapping is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchharmony.errors import Problem
from benchharmony.readers.declared import label_columns
from benchharmony.readers.source import to_float

#: Tag of a reference that is right.
_CORRECT = "correct"


@dataclass
class HelmItem:
    """One instance of a HELM run.

    Attributes
    ----------
    id : str
        The instance's id.
    line : int
        Number of its first request state (or record), from 1.
    text : str
        The input, without instructions and options.
    choices : tuple of str or None
        Option texts in the order shown; None for generation.
    gold : int
        Index of the first right option, -1 where unknown.
    options : list of float or None
        Log-likelihood of each option where the run holds them.
    score : float
        Share of train trials answered right, judged here; NaN where it cannot be judged.
    columns : dict
        Scalars and tags of the instance: candidates for declared groups.
    fault : str or None
        Why the item cannot be used.
    """

    id: str
    line: int
    text: str = ""
    choices: tuple[str, ...] | None = None
    gold: int = -1
    options: list[float] | None = None
    score: float = math.nan
    columns: dict[str, Any] = field(default_factory=dict)
    fault: str | None = None


@dataclass
class _Requests:
    """The request states of one instance: without calibration, and calibration."""

    line: int
    states: list[Mapping[str, Any]] = field(default_factory=list)
    calibration: list[Mapping[str, Any]] = field(default_factory=list)


def items_of_states(
    path: str, states: Iterable[Any], problems: list[Problem]
) -> tuple[list[HelmItem], int]:
    """Return the items of a scenario state, and how many perturbed copies were left aside.

    Parameters
    ----------
    path : str
        The file, for messages.
    states : iterable
        ``request_states`` of the document.
    problems : list of Problem
        Records that are no request states are added.
    """
    by_id: dict[str, _Requests] = {}
    perturbed: set[str] = set()
    for number, state in enumerate(states, start=1):
        instance = as_object(as_object(state).get("instance"))
        if not instance:
            problems.append(Problem(path, "request state without an instance", number))
            continue
        name = identity(instance.get("id"), number)
        if instance.get("perturbation"):
            perturbed.add(name)
            continue
        requests = by_id.setdefault(name, _Requests(number))
        calibrates = state.get("request_mode") == "calibration"
        (requests.calibration if calibrates else requests.states).append(state)
    items = [_item(name, requests) for name, requests in by_id.items()]
    return items, len(perturbed)


def as_object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a JSON array, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def identity(value: Any, number: int) -> str:
    """Return an instance's id, or its place in the file where it has none."""
    return str(value) if isinstance(value, (str, int)) and value != "" else str(number)


def _item(name: str, requests: _Requests) -> HelmItem:
    item = HelmItem(name, requests.line)
    if not requests.states:
        item.fault = "only calibration requests of this instance"
        return item
    first = requests.states[0]
    describe(item, as_object(first.get("instance")))
    if isinstance(first.get("reference_index"), int):
        _judge_separate(item, requests)
    else:
        _judge_outputs(item, requests.states)
    return item


def describe(item: HelmItem, instance: Mapping[str, Any]) -> None:
    """Set the text and the columns of an item from its instance."""
    item.text = _text_of(instance.get("input"))
    item.columns = dict(label_columns(instance))
    item.columns.update(label_columns(as_object(instance.get("extra_data"))))
    item.columns.update(_tag_columns(as_list(instance.get("references"))))


def _text_of(value: Any) -> str:
    """Return the text of an input or an output; older runs hold it bare."""
    text = as_object(value).get("text", value)
    return text if isinstance(text, str) else ""


def _tag_columns(references: Sequence[Any]) -> dict[str, str]:
    """Return the tags that every reference of an instance has, by place.

    They describe the instance ("ambiguous", "negative"), not the option. Tags of one letter name
    options.
    """
    lists = [
        [str(t) for t in as_list(as_object(r).get("tags")) if t != _CORRECT] for r in references
    ]
    if not lists or any(tags != lists[0] for tags in lists):
        return {}
    return {f"tag{k}": tag for k, tag in enumerate(lists[0], start=1) if len(tag) > 1}


def _references(state: Mapping[str, Any]) -> tuple[list[str], set[str]]:
    """Return the texts of the references, and those that are right."""
    references = [as_object(r) for r in as_list(as_object(state.get("instance")).get("references"))]
    texts = [_text_of(r.get("output")) for r in references]
    right = {
        t for t, r in zip(texts, references, strict=True) if _CORRECT in as_list(r.get("tags"))
    }
    return texts, right


def _judge_outputs(item: HelmItem, states: Sequence[Mapping[str, Any]]) -> None:
    """Judge generated outputs: option letters under the joint adapter, else whole texts."""
    scores = []
    for state in states:
        _, right = _references(state)
        mapping = {k: v for k, v in as_object(state.get("output_mapping")).items() if str(v)}
        completion = _completion(item, state)
        if completion is None:
            return
        output = _text_of(completion).strip()
        if mapping and item.choices is None:
            item.choices = tuple(map(str, mapping.values()))
            item.gold = next((k for k, t in enumerate(item.choices) if t in right), -1)
            item.options = _letter_logprobs(completion, list(mapping)) if len(states) == 1 else None
        if right:
            answer = str(mapping.get(output, "")) if mapping else output
            scores.append(float(any(answer and answer.strip() == r.strip() for r in right)))
    if scores and len(scores) == len(states):
        item.score = math.fsum(scores) / len(scores)


def _completion(item: HelmItem, state: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first completion of a request; None, with the item's fault set, without one."""
    result = as_object(state.get("result"))
    completions = [c for c in as_list(result.get("completions")) if isinstance(c, dict)]
    if result.get("success") is False:
        item.fault = "the request to the model failed"
    elif not completions:
        item.fault = "no completion of the model"
    else:
        return completions[0]
    return None


def _letter_logprobs(completion: Mapping[str, Any], letters: list[str]) -> list[float] | None:
    """Return the log-probability of each letter at the first token, where all were recorded."""
    tokens = as_list(completion.get("tokens"))
    top = as_object(as_object(tokens[0] if tokens else None).get("top_logprobs"))
    best: dict[str, float] = {}
    for token, value in top.items():
        number = to_float(value)
        if not math.isnan(number):
            best[token.strip()] = max(number, best.get(token.strip(), -math.inf))
    found = [best.get(letter, math.nan) for letter in letters]
    return None if any(map(math.isnan, found)) else found


def _judge_separate(item: HelmItem, requests: _Requests) -> None:
    """Judge options scored one by one, as HELM does.

    The prediction is the reference of the highest log-likelihood per token, or, calibrated, of the
    highest log-likelihood less the one without the question; ties go to the lowest index.
    """
    trials = _by_trial(requests.states)
    calibration = _by_trial(requests.calibration)
    scores = []
    for trial, states in trials.items():
        texts, right = _references(requests.states[0])
        scored = [_scored(item, states.get(k), text) for k, text in enumerate(texts)]
        if len(texts) < 2 or any(s is None for s in scored):
            item.fault = item.fault or "not every option was scored by the model"
            return
        sums = [s[0] for s in scored if s is not None]
        values = [s[0] / s[1] for s in scored if s is not None]
        if calibration:
            without = [
                _scored(item, calibration.get(trial, {}).get(k), text)
                for k, text in enumerate(texts)
            ]
            if any(w is None for w in without):
                item.fault = "an option lacks its calibration request"
                return
            values = [s - w[0] for s, w in zip(sums, without, strict=True) if w is not None]
        item.choices, item.options = tuple(texts), sums if len(trials) == 1 else None
        item.gold = next((k for k, t in enumerate(texts) if t in right), -1)
        if right:
            scores.append(float(texts[values.index(max(values))] in right))
    if scores:
        item.score = math.fsum(scores) / len(scores)


def _by_trial(states: Sequence[Mapping[str, Any]]) -> dict[Any, dict[int, Mapping[str, Any]]]:
    trials: dict[Any, dict[int, Mapping[str, Any]]] = {}
    for state in states:
        index = state.get("reference_index")
        if isinstance(index, int):
            trial = identity(state.get("train_trial_index"), 0)
            trials.setdefault(trial, {}).setdefault(index, state)
    return trials


def _scored(item: HelmItem, state: Mapping[str, Any] | None, text: str) -> tuple[float, int] | None:
    """Return the log-likelihood of an option and its number of tokens.

    The option is the end of the completion, which echoes the prompt; its tokens are those at the
    end that spell it.
    """
    completion = None if state is None else _completion(item, state)
    if completion is None:
        return None
    spelled, total, count = "", 0.0, 0
    wanted = text.strip()
    for token in reversed(as_list(completion.get("tokens"))):
        value = to_float(as_object(token).get("logprob"))
        if math.isnan(value) or value == math.inf:
            return None
        spelled = _text_of(token) + spelled
        total, count = total + value, count + 1
        if len(spelled.strip()) >= len(wanted):
            break
    return (total, count) if count and wanted and spelled.strip().endswith(wanted) else None
