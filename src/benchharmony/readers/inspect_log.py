"""Inspect AI logs as they are stored: the facts of the run, and one small record a sample.

Two layouts hold the same: a zip (``.eval``) of ``header.json`` and ``samples/<id>_epoch_<n>.json``,
and one JSON document with a list ``samples``. What a sample says at length (messages, events) is
skipped while it is parsed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from benchharmony.errors import InputError, Problem
from benchharmony.readers.archive import ZIP_MAGIC, Archive
from benchharmony.readers.declared import label_columns
from benchharmony.readers.source import SourceFile, decode, to_float

HEADER, JOURNAL = "header.json", "_journal/start.json"
_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")
_QUOTED_CHARS = 80

#: Inspect's letters: correct, incorrect, partially correct, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "no": 0.0}

#: The likeliest first tokens of an answer and their log-probabilities, and its number of tokens.
TopTokens = tuple[dict[str, float], int]


@dataclass(frozen=True)
class InspectSample:
    """What is used of one sample: one item in one epoch.

    Attributes
    ----------
    item_id : str
    epoch : int
    text : str
        The input; of a list of messages, the texts of the user's.
    choices : tuple of str
        Empty where the sample has none.
    gold : int
        Index of the right choice, -1 where unknown or several are right.
    values : dict of str to float
        By scorer (``scorer.key`` where one gives several); NaN for a value that is no number.
    letters : frozenset of str
        Which of P and N stand behind the values.
    reason : str or None
        What the log tells about a sample that has no value: its error.
    labels : dict
        Short scalars of its metadata.
    top_tokens : tuple or None
        Recorded log-probabilities of the first generated token.
    """

    item_id: str
    epoch: int
    text: str
    choices: tuple[str, ...]
    gold: int
    values: dict[str, float]
    letters: frozenset[str]
    reason: str | None
    labels: dict[str, Any]
    top_tokens: TopTokens | None


@dataclass(frozen=True)
class InspectLog:
    """The facts of a run (``eval``, ``plan``, ``results``, ``status``) and its samples."""

    facts: dict[str, Any]
    samples: list[InspectSample]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Sample(msgspec.Struct):
    """The fields of a stored sample that are parsed."""

    id: Any = None
    epoch: Any = None
    input: Any = None
    choices: Any = None
    target: Any = None
    output: Any = None
    scores: Any = None
    score: Any = None
    metadata: Any = None
    error: Any = None
    attachments: Any = None


class _Document(msgspec.Struct):
    """The fields of a one-document log that are parsed."""

    status: Any = None
    eval: Any = None
    plan: Any = None
    results: Any = None
    samples: list[_Sample] | None = None


def read_log(file: SourceFile) -> InspectLog:
    """Return a log; samples that cannot be parsed become problems.

    Raises
    ------
    InputError
        When the file is damaged, or is no log of a run.
    """
    return _from_archive(file) if file.head.startswith(ZIP_MAGIC) else _from_document(file)


def _from_archive(file: SourceFile) -> InspectLog:
    problems: list[Problem] = []
    notes: list[str] = []
    samples = []
    with Archive(file) as archive:
        names = archive.names
        header = next((n for n in (HEADER, JOURNAL) if n in names), None)
        if header is None:
            raise InputError(str(file), f"an Inspect archive without {HEADER}")
        facts = _facts(file, archive.read(header))
        if header == JOURNAL:
            notes.append(f"no {HEADER}: the run did not end, samples may be missing")
        for name in names:
            if not (name.startswith("samples/") and name.endswith(".json")):
                continue
            try:
                samples.append(_sample(_parsed(archive.read(name)), facts))
            except ValueError as error:
                reason = error.problem.reason if isinstance(error, InputError) else str(error)
                problems.append(Problem(str(file), f"sample cannot be read: {reason}", None, name))
    return InspectLog(facts, samples, problems, notes)


def _facts(file: SourceFile, data: bytes) -> dict[str, Any]:
    try:
        facts = decode(data)
    except ValueError as error:
        raise InputError(str(file), f"its header is not valid JSON ({error})") from None
    if not isinstance(facts, dict):
        raise InputError(str(file), "its header is not a JSON object")
    return facts


def _from_document(file: SourceFile) -> InspectLog:
    data = file.read_bytes()
    try:
        log = msgspec.json.decode(data, type=_Document)
        facts = {n: getattr(log, n) for n in ("status", "eval", "plan", "results")}
        stored: list[Any] = list(log.samples or ())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        facts = _facts(file, data)  # bare NaN, or a sample that is no object
        found = facts.get("samples")
        stored = found if isinstance(found, list) else []
    problems: list[Problem] = []
    samples = []
    for number, value in enumerate(stored, start=1):
        try:
            samples.append(_sample(_as_sample(value), facts))
        except ValueError as error:
            problems.append(Problem(str(file), f"sample cannot be read: {error}", number))
    return InspectLog(facts, samples, problems)


def _parsed(data: bytes) -> _Sample:
    try:
        return msgspec.json.decode(data, type=_Sample)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _as_sample(decode(data))


def _as_sample(value: Any) -> _Sample:
    if isinstance(value, _Sample):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return _Sample(**{name: value.get(name) for name in _Sample.__struct_fields__})


def _sample(stored: _Sample, facts: Mapping[str, Any]) -> InspectSample:
    if not isinstance(stored.id, (int, str)) or isinstance(stored.id, bool) or stored.id == "":
        raise ValueError("it has no id")
    epoch = stored.epoch
    whole = isinstance(epoch, int) and not isinstance(epoch, bool)
    choices = _choices(stored)
    values, letters, odd = _values(stored, facts)
    return InspectSample(
        item_id=str(stored.id),
        epoch=epoch if whole else 1,
        text=_text(stored),
        choices=choices,
        gold=_gold(stored.target, choices),
        values=values,
        letters=letters,
        reason=_error(stored.error) or odd,
        labels=label_columns(stored.metadata) if isinstance(stored.metadata, dict) else {},
        top_tokens=_top_tokens(stored.output),
    )


def _error(error: Any) -> str | None:
    if not error:
        return None
    message = error.get("message", "") if isinstance(error, dict) else error
    return f"the sample ended in an error: {quoted(message)}"


def quoted(text: Any) -> str:
    """Return the beginning of a text on one line, for a message."""
    if isinstance(text, (dict, list)):
        return f"a {type(text).__name__}"
    line = " ".join(str(text)[: 2 * _QUOTED_CHARS].split())
    return repr(line if len(line) <= _QUOTED_CHARS else f"{line[:_QUOTED_CHARS]}...")


def _text(stored: _Sample) -> str:
    """Return the input, attachments put back; images and other content are left out."""
    parts = [stored.input] if isinstance(stored.input, str) else list(_user_texts(stored.input))
    kept = stored.attachments if isinstance(stored.attachments, dict) else {}

    def attached(match: re.Match[str]) -> str:
        content = kept.get(match[1])
        return content if isinstance(content, str) else match[0]

    return _ATTACHMENT.sub(attached, "\n".join(parts))


def _user_texts(messages: Any) -> Iterator[str]:
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"text": content}]:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield text


def _choices(stored: _Sample) -> tuple[str, ...]:
    found = stored.choices
    usable = isinstance(found, list) and all(isinstance(c, str) for c in found)
    return tuple(found) if usable else ()


def _gold(target: Any, choices: tuple[str, ...]) -> int:
    """Return the index that a letter, or else the text of one choice, stands for."""
    if isinstance(target, list) and len(target) == 1:
        (target,) = target
    if not isinstance(target, str):
        return -1
    letter = target.strip()
    if len(letter) == 1 and 0 <= ord(letter) - ord("A") < len(choices):
        return ord(letter) - ord("A")
    return choices.index(target) if choices.count(target) == 1 else -1


def _values(
    stored: _Sample, facts: Mapping[str, Any]
) -> tuple[dict[str, float], frozenset[str], str | None]:
    """Return the values by scorer, the letters among them, and a word on one that is none."""
    scores = stored.scores if isinstance(stored.scores, dict) else {}
    if not scores and stored.score is not None:  # before a sample could have several scores
        scores = {next(iter(scorer_names(facts)), "score"): stored.score}
    raw: dict[str, Any] = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            raw |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            raw[name] = value
    values = {name: _number(value) for name, value in raw.items()}
    odd = next((n for n, v in values.items() if math.isnan(v) and raw[n] is not None), None)
    reason = None
    if odd is not None:
        reason = f"{odd} gave {quoted(raw[odd])}, which is neither C, I, P, N nor a number"
    return values, frozenset(v for v in raw.values() if v == "P" or v == "N"), reason


def _number(value: Any) -> float:
    """Return a score as a number; NaN where it is none, or not a finite one."""
    if isinstance(value, str):
        text = value.strip()
        number = _LETTERS.get(text, _WORDS.get(text.lower(), to_float(text)))
    else:
        number = to_float(value)
    return number if math.isfinite(number) else math.nan


def scorer_names(facts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the scorers that the run's results name, in their order, and their metrics."""
    results = facts.get("results")
    if not isinstance(results, dict):
        return {}
    single = results.get("scorer")
    listed = results.get("scores") or results.get("scorers")
    if listed is None and isinstance(single, (str, dict)):
        name = single.get("name") if isinstance(single, dict) else single
        listed = [{"name": name, "metrics": results.get("metrics")}]
    found: dict[str, dict[str, Any]] = {}
    for entry in listed if isinstance(listed, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str):
            metrics = entry.get("metrics")
            found.setdefault(name, metrics if isinstance(metrics, dict) else {})
    return found


def _top_tokens(output: Any) -> TopTokens | None:
    """Return what ``output.choices[0].logprobs.content[0].top_logprobs`` lists."""
    place = output
    for key in ("choices", 0, "logprobs", "content"):
        if isinstance(key, str):
            place = place.get(key) if isinstance(place, dict) else None
        else:
            place = place[key] if isinstance(place, list) and place else None
    if not isinstance(place, list) or not place or not isinstance(place[0], dict):
        return None
    listed: dict[str, float] = {}
    top = place[0].get("top_logprobs")
    for entry in top if isinstance(top, list) else ():
        token = entry.get("token") if isinstance(entry, dict) else None
        logprob = to_float(entry.get("logprob")) if isinstance(entry, dict) else math.nan
        if not isinstance(token, str) or math.isnan(logprob):
            return None
        # Different tokens can be the same text; together they are one outcome.
        listed[token] = float(_log_sum(listed[token], logprob)) if token in listed else logprob
    return (listed, len(place)) if listed else None


def _log_sum(a: float, b: float) -> float:
    high = max(a, b)
    return high if math.isinf(high) else high + math.log(math.exp(a - high) + math.exp(b - high))
