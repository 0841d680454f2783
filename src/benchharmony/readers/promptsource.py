"""BigScience's promptsource edition of lm-evaluation-harness (2022): ``examples-*.jsonl``.

A row is one item under one prompt, with what the model wrote (``pred``) and the accepted answers
(``target``), and no metric. Each prompt becomes one evaluation, as that harness reports them; its
score ``exact_match`` is computed here: 1 where the text, without case and outer spaces, is one of
the answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchharmony.errors import Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.harness_evaluation import Items, Log, build_evaluation
from benchharmony.readers.harness_rows import HarnessItem, last_question
from benchharmony.readers.harness_runs import Run, model_of_directory
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

_KEYS = frozenset(("doc_id", "ctx", "pred", "target", "prompt_name"))
_COMPUTED = "exact_match computed here from the text and the accepted answers; this log holds none"


def _sniff(file: SourceFile) -> bool:
    row = file.first_record
    return isinstance(row, dict) and row.keys() >= _KEYS


def _read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    problems: list[Problem] = []
    prompts: dict[str, Items] = {}
    dataset: str | None = None
    for number, row in file.records(problems):
        if not isinstance(row.get("pred"), str) or row.get("doc_id") is None:
            problems.append(Problem(str(file), "no text of the model or no doc_id", number))
            continue
        dataset = dataset or _text(row.get("dataset_name")) or _text(row.get("dataset_path"))
        prompts.setdefault(str(row.get("prompt_name")), []).append(_item(row, number))
    benchmark = dataset or options.benchmark or "unknown"
    stated = _model_in_name(file.name, dataset) or model_of_directory(file.path.parent.name)
    model = stated or options.model or "unknown"
    logs = {name: Log(str(file), items) for name, items in prompts.items()}
    first = next(iter(logs), "")
    logs[first] = Log(str(file), prompts.get(first, []), problems=tuple(problems))
    return [
        build_evaluation(log, Run(f"{benchmark} [{name}]", model, notes=(_COMPUTED,)))
        for name, log in logs.items()
    ]


def _item(row: Mapping[str, Any], number: int) -> HarnessItem:
    said = _plain(row["pred"])
    match = float(any(said == _plain(answer) for answer in _answers(row.get("target"))))
    return HarnessItem(
        row_id=str(row["doc_id"]),
        line=number,
        metrics={"exact_match": match},
        text=last_question(row.get("ctx")),
    )


def _answers(target: Any) -> list[str]:
    if isinstance(target, dict):
        target = target.get("text")
    if isinstance(target, str):
        return [target]
    return [t for t in target if isinstance(t, str)] if isinstance(target, list) else []


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _model_in_name(name: str, dataset: str | None) -> str | None:
    """``examples-[limited_<n>_]<model>_<dataset>_<shots>_<seed>_<time>.jsonl`` names the model."""
    match = re.fullmatch(r"examples-(?:limited_\d+_)?(?P<rest>.+)_\d+_\d+_\d{4}-.*", name)
    if match is None or dataset is None:
        return None
    model = match["rest"].removesuffix(f"_{dataset}")
    return model if model != match["rest"] and model else None


READER = Reader(
    "BigScience promptsource examples",
    "examples-*.jsonl of BigScience's edition of lm-evaluation-harness (2022)",
    _sniff,
    _read,
    "examples-<model>_<task>_0_1234_<time>.jsonl",
)
