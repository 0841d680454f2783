"""Option logits under cyclic orders of the options, as llm-psychometrics records NAEP tests.

``<set>-responses-<model>.jsonl`` holds ``{"item_id", "logits": [[one per option] x orders]}``, the
logits mapped back to the original order of the options. Each order is turned into probabilities by
a softmax, and the mean over the orders is what the model gives each option: orders cancel a liking
for a position. ``option_logprobs`` is its log, the prediction its highest value (ties to the lowest
index), and ``acc`` compares it with the key.

The key and the texts are in ``<set>-items*.jsonl`` beside it (``correct_option_index``, ``stem``,
``options``), the declared groups in ``<set>-metadata*.jsonl``, whose ``naep_id`` is the item id
without its ``NAEP-``. Items without a key are left out, and named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.harness_runs import model_of_directory
from benchharmony.readers.harness_scores import computed_accuracy, likeliest, ragged
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, decode, to_float

_GROUPS = ("classification", "grade", "difficulty")
_KEY = "correct_option_index"
_NAME = re.compile(r"(?P<set>.+)-responses-(?P<model>.+)\.jsonl?")
#: Files that belong to the responses, by the keys of their rows, and why they are no results.
_COMPANIONS = (
    (
        ("item_id", _KEY),
        "questions and their answer key, no results of a model; it is read with the "
        "*-responses-*.jsonl files beside it",
    ),
    (
        ("naep_id", "classification"),
        "facts about the items, no results of a model; it is read with the "
        "*-responses-*.jsonl files beside it",
    ),
    (
        ("item_id", "response_distribution"),
        "how test takers answered, no results of a model",
    ),
)


@dataclass(frozen=True, eq=False)
class _Response:
    """One usable row: the log of the mean probability of each option, over so many orders."""

    item_id: str
    line: int
    logprobs: NDArray[np.float64]
    orders: int


@dataclass(frozen=True)
class _Companions:
    """What the files beside the responses say, by item id."""

    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def fact(self, item_id: str) -> Mapping[str, Any]:
        """Return the metadata of an item, whose id there lacks the name of the set."""
        return self.facts.get(item_id) or self.facts.get(item_id.removeprefix("NAEP-")) or {}

    def gold(self, response: _Response) -> int:
        """Return the index of the right option, -1 where unknown or out of range."""
        key = self.items.get(response.item_id, {}).get(_KEY)
        if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(response.logprobs):
            return key
        return -1


def order_averaged_logprobs(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the mean probability of each option over the orders.

    Parameters
    ----------
    logits : ndarray, shape (r, m)
        r orders of m options; -inf is an impossible option.

    Returns
    -------
    ndarray, shape (m,)
        Natural logs; their exponentials sum to 1.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    mean: NDArray[np.float64] = np.logaddexp.reduce(logs, axis=0) - np.log(len(logits))
    return mean


def _sniff(file: SourceFile) -> bool:
    row = _first_row(file)
    logits = row.get("logits")
    return (
        "item_id" in row and isinstance(logits, list) and any(isinstance(x, list) for x in logits)
    )


def _sniff_companion(file: SourceFile) -> bool:
    row = _first_row(file)
    return any(all(key in row for key in keys) for keys, _ in _COMPANIONS)


def _first_row(file: SourceFile) -> Mapping[str, Any]:
    """Return the first of the first lines that is an object."""
    for line in file.head.split(b"\n")[:5]:
        try:
            row = decode(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            return row
    return {}


def _refuse(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    row = _first_row(file)
    reason = next((why for keys, why in _COMPANIONS if all(key in row for key in keys)), "")
    raise InputError(str(file), reason)


def _read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    problems: list[Problem] = []
    responses = _responses(file, problems)
    read = len(responses) + len(problems)
    name = _NAME.fullmatch(file.name)
    beside = _companions(file, name["set"]) if name else _Companions()
    notes = list(beside.notes)
    if any(beside.gold(r) >= 0 for r in responses):
        problems += [
            Problem(str(file), "no answer key for it in the items file", r.line, r.item_id)
            for r in responses
            if beside.gold(r) < 0
        ]
        responses = [r for r in responses if beside.gold(r) >= 0]
    else:
        wanted = f"{name['set']}-items.jsonl" if name else "<set>-items.jsonl"
        notes.append(f"no answer key ({wanted} beside it would hold it): items have no score")
    if not responses:
        first = f"; the first problem: line {problems[0].line}: {problems[0].reason}"
        raise InputError(str(file), f"no usable item in it{first if problems else ''}")
    source = Source(
        files=(str(file), *beside.files),
        items_read=read,
        problems=tuple(sorted(problems, key=lambda p: p.line or 0)),
    )
    benchmark, model = _names(file, name, options)
    return [_evaluation(benchmark, model, responses, beside, notes, source)]


def _responses(file: SourceFile, problems: list[Problem]) -> list[_Response]:
    first: dict[str, _Response] = {}
    for number, row in file.records(problems):
        identifier = row.get("item_id")
        logits = _matrix(row.get("logits"))
        if not isinstance(identifier, (str, int)):
            problems.append(Problem(str(file), "no item_id", number))
        elif isinstance(logits, str):
            problems.append(Problem(str(file), logits, number, str(identifier)))
        elif str(identifier) in first:
            earlier = first[str(identifier)].line
            reason = f"the same item id as before (line {earlier}); the first is kept"
            problems.append(Problem(str(file), reason, number, str(identifier)))
        else:
            averaged = order_averaged_logprobs(logits)
            first[str(identifier)] = _Response(str(identifier), number, averaged, len(logits))
    return list(first.values())


def _matrix(value: Any) -> NDArray[np.float64] | str:
    """Return the logits as an array of orders and options, or what is wrong with them."""
    if not isinstance(value, list) or not value or not all(isinstance(r, list) for r in value):
        return "logits are not a list of orders, each a list of numbers"
    width = len(value[0])
    if width < 2 or any(len(r) != width for r in value):
        return "the orders do not all have the same options, at least two"
    array = np.array([[to_float(v) for v in r] for r in value])
    if np.isnan(array).any() or (array == np.inf).any() or (array.max(axis=1) == -np.inf).any():
        return "a logit is not a number"
    return array


def _companions(file: SourceFile, stem: str) -> _Companions:
    items, item_files, item_notes = _rows_beside(file, f"{stem}-items", "item_id")
    facts, fact_files, fact_notes = _rows_beside(file, f"{stem}-metadata", "naep_id")
    return _Companions(items, facts, item_files + fact_files, item_notes + fact_notes)


def _rows_beside(
    file: SourceFile, start: str, id_key: str
) -> tuple[dict[str, Mapping[str, Any]], tuple[str, ...], tuple[str, ...]]:
    """Return the rows of the first companion of a name, by id, with its path and what failed."""
    for path in _named(file.path.parent, start):
        problems: list[Problem] = []
        rows: dict[str, Mapping[str, Any]] = {}
        try:
            for _, row in SourceFile(path).records(problems):
                if id_key in row:
                    rows.setdefault(str(row[id_key]), row)
        except (OSError, EOFError) as error:
            return rows, (), (f"{path}: cannot be read to its end ({error})",)
        notes = (f"{len(problems)} lines of {path} cannot be read",) if problems else ()
        return rows, (str(path),), notes
    return {}, (), ()


def _named(folder: Path, start: str) -> list[Path]:
    try:
        return sorted(
            p for p in folder.iterdir() if re.match(rf"{re.escape(start)}.*\.jsonl?", p.name)
        )
    except OSError:
        return []


def _names(file: SourceFile, name: re.Match[str] | None, options: ReadOptions) -> tuple[str, str]:
    if name is None:
        stem = re.sub(r"\.jsonl?$", "", file.name)
        model = model_of_directory(file.path.parent.name) or options.model or "unknown"
        return options.benchmark or stem or "unknown", model
    subject = re.fullmatch(r"naep-(.+)", name["set"])
    return (f"NAEP {subject[1]}" if subject else name["set"]), name["model"]


def _evaluation(
    benchmark: str,
    model: str,
    responses: list[_Response],
    beside: _Companions,
    notes: list[str],
    source: Source,
) -> Evaluation:
    logprobs = ragged([r.logprobs.tolist() for r in responses])
    gold = np.array([beside.gold(r) for r in responses])
    keyed = bool((gold >= 0).all())
    items = [beside.items.get(r.item_id, {}) for r in responses]
    choices = [tuple(map(str, _listed(i.get("options")))) for i in items]
    orders = sorted({r.orders for r in responses})
    return Evaluation.from_arrays(
        benchmark=benchmark,
        model=model,
        item_ids=[r.item_id for r in responses],
        scores=computed_accuracy(likeliest(logprobs), gold) if keyed else None,
        score_name="acc",
        option_logprobs=logprobs,
        gold=gold if keyed else None,
        groups=_groups([beside.fact(r.item_id) for r in responses]),
        texts=[str(i.get("stem") or "") for i in items] if beside.items else None,
        choices=choices if beside.items else None,
        metadata={"option_orders": orders[0] if len(orders) == 1 else orders},
        notes=notes,
        source=source,
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _groups(facts: list[Mapping[str, Any]]) -> dict[str, list[str | None]]:
    """Return the declared groups that tell the items of this set apart."""
    groups = {}
    for name in _GROUPS:
        labels = [None if f.get(name) is None else str(f[name]) for f in facts]
        if len({label for label in labels if label is not None}) > 1:
            groups[name] = labels
    return groups


READERS = (
    Reader(
        "cyclic option-order logits",
        "option logits under cyclic orders (NAEP), <set>-responses-<model>.jsonl",
        _sniff,
        _read,
        "<set>-responses-<model>.jsonl",
    ),
    Reader(
        "companion of cyclic option-order logits",
        "items, metadata and response distributions beside such files: read with them",
        _sniff_companion,
        _refuse,
        "<set>-items.jsonl, <set>-metadata.jsonl",
    ),
)
