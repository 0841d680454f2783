"""Every Eval Ever: instance rows (``<uuid>_samples.jsonl``) with their aggregate file.

One JSON object a line: ``evaluation_id, model_id, evaluation_name, sample_id, input {raw,
reference, choices}, evaluation {score, is_correct}, metadata``. Each evaluation name and model of a
file is an evaluation of its own. Rows of one sample (epochs) are averaged. The score is ``score``
where it stays in [0, 1] and more is better, else ``is_correct``. The aggregate file, beside or one
folder up, is found by its ``evaluation_id``; on its own it holds no items and is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.declared import declared_groups, label_columns
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_METRICS = ("score", "is_correct")
_LETTER = re.compile(r"\(?([A-Z])\)?[.):]?")
#: More JSON files than this in a folder are not looked through for the aggregate.
_MOST_AGGREGATES = 500
_ROUNDING = 1e-6


@dataclass
class _Sample:
    """One sample of one evaluation, with the values of all its rows."""

    line: int
    id: str
    row: Mapping[str, Any]
    values: dict[str, list[float]] = field(default_factory=dict)
    errors: int = 0


@dataclass(frozen=True)
class _Aggregate:
    """What the aggregate file says about one evaluation name."""

    path: str
    model: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _sniff_rows(file: SourceFile) -> bool:
    if b'"sample_id"' not in file.head:
        return False
    keys = {path[0] for path in outline(file.head, depth=1) if path}
    return "sample_id" in keys and len(keys & {"evaluation_id", "evaluation", "input"}) >= 2


def _sniff_aggregate(file: SourceFile) -> bool:
    if b'"evaluation_results"' not in file.head:
        return False
    keys = {path[0] for path in outline(file.head, depth=1) if path}
    return {"evaluation_results", "model_info"} <= keys


def _read_aggregate(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    document = file.read_json()
    detailed = _object(_object(document).get("detailed_evaluation_results"))
    path = detailed.get("file_path")
    named = f" ({path[:200]})" if isinstance(path, str) and path.isprintable() else ""
    raise InputError(
        str(file),
        f"aggregate results only, no per-item records; give its instance rows{named}, "
        "a *_samples.jsonl file",
    )


def _read_rows(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    problems: list[Problem] = []
    by_name: dict[tuple[str, str, str], dict[tuple[str, str], _Sample]] = {}
    for line, row in file.records(problems):
        name = _text(row.get("sample_id"))
        if name is None or not isinstance(row.get("evaluation"), dict):
            reason = "no sample_id" if name is None else "no evaluation of this sample"
            problems.append(Problem(str(file), reason, line, name))
            continue
        number, about, model = (
            _text(row.get(key)) or "" for key in ("evaluation_id", "evaluation_name", "model_id")
        )
        samples = by_name.setdefault((number, about, model), {})
        question = str(_object(row.get("input")).get("raw"))
        _add(samples.setdefault((name, question), _Sample(line, name, row)), row)
    found: list[Evaluation] = []
    failures = []
    aggregates = {number: _aggregate(file, number) for number, _, _ in by_name}
    for (number, about, model), samples in by_name.items():
        try:
            run = _Run(number, about, model, aggregates[number], options)
            # Lines that belong to no evaluation are told with the first one.
            own = [] if found else problems
            found.append(run.evaluation(str(file), list(samples.values()), own))
        except InputError as error:
            failures.append(error.problem.reason)
    if not found:
        first = [*failures, *(p.reason for p in problems), "no rows"][0]
        raise InputError(str(file), f"no usable item in it: {first}")
    return found


def _add(sample: _Sample, row: Mapping[str, Any]) -> None:
    evaluation = _object(row.get("evaluation"))
    for metric in _METRICS:
        value = to_float(evaluation.get(metric))
        if math.isfinite(value):
            sample.values.setdefault(metric, []).append(value)
    sample.errors += bool(_text(row.get("error")))


@dataclass(frozen=True)
class _Run:
    """Names of one evaluation, and how its samples become one."""

    number: str
    name: str
    model: str
    aggregate: _Aggregate | None
    options: ReadOptions

    def evaluation(self, path: str, samples: list[_Sample], problems: list[Problem]) -> Evaluation:
        """Return the evaluation of the samples; those without a score become problems."""
        score = self._score(samples)
        kept = [s for s in samples if score is not None and s.values.get(score)]
        own = [
            Problem(path, f"no value of {score or 'score'} that is a number", s.line, s.id)
            for s in samples
            if not (score is not None and s.values.get(score))
        ]
        if score is None or not kept:
            raise InputError(path, own[0].reason if own else "no rows")
        left_out = tuple(sorted([*problems, *own], key=lambda p: p.line or 0))
        metrics = {m: _means(kept, m) for m in _METRICS}
        choices = [_choices(s.row) for s in kept]
        known = any(choices)
        gold = [_gold(s.row, c) for s, c in zip(kept, choices, strict=True)] if known else None
        texts = [_text(_object(s.row.get("input")).get("raw")) or "" for s in kept]
        files = (path,) if self.aggregate is None else (path, self.aggregate.path)
        return Evaluation.from_arrays(
            benchmark=self._benchmark(),
            model=self._model(),
            item_ids=_unique([s.id for s in kept]),
            scores=metrics[score],
            score_name=score,
            metrics={m: v for m, v in metrics.items() if not np.isnan(v).all()},
            gold=gold,
            groups=declared_groups([_columns(s.row) for s in kept], gold),
            texts=texts if any(texts) else None,
            choices=choices if known else None,
            metadata={} if self.aggregate is None else self.aggregate.facts,
            notes=self._notes(kept, score, float(metrics[score].mean())),
            source=Source("", files, len(kept) + len(left_out), left_out),
        )

    def _result(self) -> Mapping[str, Any]:
        return {} if self.aggregate is None else self.aggregate.results.get(self.name, {})

    def _score(self, samples: Sequence[_Sample]) -> str | None:
        config = _object(self._result().get("metric_config"))
        for metric in _METRICS:
            values = [v for s in samples for v in s.values.get(metric, [])]
            falls = metric == "score" and config.get("lower_is_better") is True
            if values and not falls and all(0 <= v <= 1 for v in values):
                return metric
        return None

    def _benchmark(self) -> str:
        """Return ``benchmark/evaluation name``, once where they are the same."""
        prefix = self.number.split("/")[0] if "/" in self.number else ""
        parts = [p for p in dict.fromkeys((prefix, self.name)) if p]
        return "/".join(parts) or self.options.benchmark or "Every Eval Ever"

    def _model(self) -> str:
        told = None if self.aggregate is None else self.aggregate.model
        return self.model or told or self.options.model or "unknown"

    def _notes(self, kept: Sequence[_Sample], score: str, mean: float) -> list[str]:
        notes = []
        if score == "is_correct" and any(s.values.get("score") for s in kept):
            notes.append("score leaves [0, 1] or is better when lower: is_correct is used")
        repeated = sum(len(s.values.get(score, [])) > 1 for s in kept)
        if repeated:
            notes.append(f"{repeated} samples have several rows (epochs), which are averaged")
        errors = sum(s.errors > 0 for s in kept)
        if errors:
            notes.append(f"{errors} of {len(kept)} samples were scored in spite of an error")
        stated = to_float(_object(self._result().get("score_details")).get("score"))
        if math.isfinite(stated) and abs(stated - mean) > _ROUNDING:
            notes.append(
                f"the aggregate file states a score of {stated:.6g}, the rows here give {mean:.6g}"
            )
        return notes


def _means(samples: Sequence[_Sample], metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = (s.values.get(metric) for s in samples)
    return np.array([math.fsum(v) / len(v) if v else math.nan for v in found], dtype=np.float64)


def _unique(ids: Sequence[str]) -> list[str]:
    """Return ids, numbered where different questions share one."""
    taken: set[str] = set()
    unique = []
    for name in ids:
        number, new = 1, name
        while new in taken:
            number += 1
            new = f"{name}#{number}"
        taken.add(new)
        unique.append(new)
    return unique


def _choices(row: Mapping[str, Any]) -> tuple[str, ...]:
    listed = _object(row.get("input")).get("choices")
    texts = listed if isinstance(listed, list) else []
    return tuple(texts) if len(texts) > 1 and all(isinstance(t, str) for t in texts) else ()


def _gold(row: Mapping[str, Any], choices: Sequence[str]) -> int:
    """Return the index of the reference among the choices: by text, else by letter; -1 if none."""
    reference = _object(row.get("input")).get("reference")
    first = reference[0] if isinstance(reference, list) and reference else reference
    wanted = first.strip() if isinstance(first, str) else ""
    plain = [c.strip() for c in choices]
    if wanted in plain:
        return plain.index(wanted)
    letter = _LETTER.fullmatch(wanted)
    index = ord(letter.group(1)) - ord("A") if letter else -1
    return index if index < len(choices) else -1


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **label_columns(_object(row.get("metadata"))),
        "interaction_type": _text(row.get("interaction_type")),
    }


def _aggregate(file: SourceFile, number: str) -> _Aggregate | None:
    """Return the aggregate file of an evaluation id, from the folder of the rows or one up."""
    if not number:
        return None
    for found in islice(_json_files(file), _MOST_AGGREGATES):
        try:
            if not _sniff_aggregate(found):
                continue
            document = found.read_json()
        except (InputError, OSError, EOFError):
            continue
        if isinstance(document, dict) and document.get("evaluation_id") == number:
            return _understood(str(found), document)
    return None


def _json_files(file: SourceFile) -> Iterator[SourceFile]:
    folder = file.path.parent
    named = file.path.with_name(file.name.removesuffix(".jsonl").removesuffix("_samples") + ".json")
    paths = [p for f in dict.fromkeys((folder, folder.parent)) for p in sorted(f.glob("*.json"))]
    yield from map(SourceFile, sorted(paths, key=lambda p: p != named))


def _understood(path: str, document: Mapping[str, Any]) -> _Aggregate:
    info = _object(document.get("model_info"))
    listed = document.get("evaluation_results")
    results: dict[str, Mapping[str, Any]] = {}
    for result in map(_object, listed if isinstance(listed, list) else []):
        name = _text(result.get("evaluation_name"))
        if name is not None:
            results.setdefault(name, result)
    source = _object(document.get("source_metadata"))
    facts = {
        "developer": _text(info.get("developer")),
        "source": _text(source.get("source_name")),
        "schema_version": _text(document.get("schema_version")),
    }
    model = _text(info.get("id")) or _text(info.get("name"))
    return _Aggregate(path, model, {k: v for k, v in facts.items() if v}, results)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value).strip() or None
    return None


READERS = (
    Reader(
        "Every Eval Ever instances",
        "Every Eval Ever instance rows (*_samples.jsonl) with their aggregate file",
        _sniff_rows,
        _read_rows,
        "data/<benchmark>/<org>/<model>/<id>_samples.jsonl",
    ),
    Reader(
        "Every Eval Ever aggregate",
        "Every Eval Ever aggregate file: refused without its instance rows",
        _sniff_aggregate,
        _read_aggregate,
        "data/<benchmark>/<org>/<model>/<id>.json",
    ),
)
