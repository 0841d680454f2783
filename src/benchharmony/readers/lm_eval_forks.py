"""lm-evaluation-harness v0.3 and its forks: per-item results in other places than samples files.

- ``<task>_write_out_info.json`` (v0.3): a list of ``doc_id, prompt_0.., logit_0.., truth`` and
  metrics, where numbers may be text;
- ``results.<task>.details[]``: one object per item inside the results document;
- ``results.<task>.{acc: [...], id: [...]}``: parallel lists inside it.

Item ids are ``doc_id``, ``id`` or the position. Texts of options are what follows the part that
all prompts of an item share. Ids such as ``tc_33`` of parallel lists give a declared group
``id_prefix``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os.path import commonprefix
from typing import Any

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers import promptsource
from benchharmony.readers.declared import label_columns
from benchharmony.readers.harness_docs import GOLD_FIELDS, choice_texts, question_of
from benchharmony.readers.harness_evaluation import Log, build_evaluation
from benchharmony.readers.harness_rows import HarnessItem, last_question, row_metrics
from benchharmony.readers.harness_runs import run_of_results, run_of_samples
from benchharmony.readers.harness_scores import SCORE_ORDER
from benchharmony.readers.json_outline import outline
from benchharmony.readers.lm_eval import has_item_lists, is_results_outline, with_failures
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_WRITE_OUT_KEYS = frozenset(("truth", "prompt_0", "logit_0"))
_NUMBERED = re.compile(r"(prompt|logit)_(\d{1,4})")
_IDS = ("id", "ids", "doc_id", "doc_ids")
_PREFIXED_ID = re.compile(r"([A-Za-z]{1,16})[_-]\d+")
#: Where a row of ``details`` may hold the log-likelihood of each option.
_OPTION_LISTS = ("loglikelihoods", "logprobs", "log_likelihoods", "logits", "scores")


def _sniff_write_out(file: SourceFile) -> bool:
    if b'"doc_id"' not in file.head:
        return False
    keys = {path[1] for path in outline(file.head, depth=2) if len(path) == 2 and path[0] == "[]"}
    return "doc_id" in keys and bool(keys & _WRITE_OUT_KEYS)


def _read_write_out(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    rows = file.read_json()
    log = _log(str(file), rows if isinstance(rows, list) else [], _write_out_item)
    return [build_evaluation(log, run_of_samples(file, options))]


def _log(
    path: str, rows: list[Any], item_of: Callable[[Mapping[str, Any], int], HarnessItem]
) -> Log:
    items, problems = [], []
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            items.append(item_of(row, number))
        else:
            kind = type(row).__name__
            problems.append(Problem(path, f"record: expected an object, found {kind}", number))
    return Log(path, items, problems=tuple(problems))


def _write_out_item(row: Mapping[str, Any], number: int) -> HarnessItem:
    numbered: dict[str, dict[int, Any]] = {"prompt": {}, "logit": {}}
    rest = {}
    for key, value in row.items():
        match = _NUMBERED.fullmatch(key)
        if match:
            numbered[match.group(1)][int(match.group(2))] = value
        elif key not in ("doc_id", "truth"):
            rest[key] = value
    prompts = [v for _, v in sorted(numbered["prompt"].items()) if isinstance(v, str)]
    logits = [v for _, v in sorted(numbered["logit"].items())]
    texts = _after_common_part(prompts)
    metrics, parts = row_metrics(rest, frozenset())
    choices = tuple(t.strip() for t in texts)
    return HarnessItem(
        row_id=str(row.get("doc_id", number - 1)),
        line=number,
        metrics=metrics,
        parts=parts,
        options=_numbers(logits),
        choices=choices if len(choices) == len(logits) else None,
        gold_fields={"truth": row["truth"]} if "truth" in row else {},
        text=_shared_question(prompts),
    )


def _numbers(values: Any) -> list[float] | None:
    """Return a list of at least two numbers, some of which may be missing; None for texts."""
    if not isinstance(values, list) or len(values) < 2:
        return None
    numbers = [to_float(v) for v in values]
    return numbers if any(n == n for n in numbers) else None


def _common_part(prompts: list[str]) -> str:
    """Return what all prompts begin with, up to the last space, so that no word is cut."""
    shared = commonprefix(prompts)  # noqa: RUF071 (character by character is what is wanted)
    return shared[: max(shared.rfind(" "), shared.rfind("\n")) + 1]


def _after_common_part(prompts: list[str]) -> tuple[str, ...]:
    if len(set(prompts)) < 2:
        return ()
    start = len(_common_part(prompts))
    return tuple(p[start:] for p in prompts)


def _shared_question(prompts: list[str]) -> str:
    """Return the last question of the prompts, with "_" for what tells them apart within it."""
    if not prompts:
        return ""
    if len(prompts) == 1:
        # v0.3 joins a request's arguments, and the names of generation settings are among them.
        return last_question(prompts[0].removesuffix("max_length").removesuffix("until"))
    question = last_question(_common_part(prompts) or prompts[0])
    ends = commonprefix([t[::-1] for t in _after_common_part(prompts)])[::-1]  # noqa: RUF071
    after_word = ends.partition(" ")[2].strip()
    return f"{question} _ {after_word}" if after_word else question


def _sniff_item_lists(file: SourceFile) -> bool:
    if b'"results"' not in file.head:
        return False
    found = outline(file.head)
    return is_results_outline(found) and has_item_lists(found)


def _read_item_lists(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    document = file.read_json()
    results = document.get("results") if isinstance(document, dict) else None
    evaluations: list[Evaluation] = []
    failures = []
    for task, content in (results if isinstance(results, dict) else {}).items():
        try:
            log = _log_of_task(str(file), content)
            evaluations.append(build_evaluation(log, run_of_results(document, task, file, options)))
        except InputError as error:
            failures.append(f"task {task}: {error.problem.reason}")
    if not evaluations:
        raise InputError(str(file), "; ".join(failures) or "no task in its results")
    return with_failures(evaluations, failures)


def _log_of_task(path: str, content: Any) -> Log:
    if isinstance(content, dict) and isinstance(content.get("details"), list):
        names = {k for k, v in content.items() if isinstance(v, (int, float))} | set(SCORE_ORDER)
        return _log(path, content["details"], lambda row, number: _detail_item(row, number, names))
    if isinstance(content, dict):
        lists = {k: v for k, v in content.items() if isinstance(v, list)}
        if lists:
            return _log_of_lists(path, lists)
    raise InputError(path, "no per-item records, only aggregates")


def _detail_item(row: Mapping[str, Any], number: int, metric_names: set[str]) -> HarnessItem:
    metrics, parts = row_metrics({k: v for k, v in row.items() if k in metric_names}, frozenset())
    found = (_numbers(row.get(name)) for name in _OPTION_LISTS)
    options = next((values for values in found if values is not None), None)
    identifier = next((row[k] for k in ("doc_id", "id") if row.get(k) is not None), number - 1)
    return HarnessItem(
        row_id=str(identifier),
        line=number,
        metrics=metrics,
        parts=parts,
        options=options,
        choices=choice_texts(row, (), None if options is None else len(options)),
        gold_fields={k: row[k] for k in GOLD_FIELDS if isinstance(row.get(k), (str, int, float))},
        columns=label_columns({k: v for k, v in row.items() if k not in metric_names}),
        text=question_of(row) or last_question(row.get("context")),
    )


def _log_of_lists(path: str, lists: Mapping[str, list[Any]]) -> Log:
    """Turn parallel lists into items; lists of another length than the ids are no columns."""
    ids = next((lists[name] for name in _IDS if name in lists), None)
    n = len(ids) if ids is not None else max(map(len, lists.values()))
    columns = {k: v for k, v in lists.items() if len(v) == n and k not in _IDS}
    if not columns:
        sizes = ", ".join(f"{k}: {len(v)}" for k, v in lists.items())
        raise InputError(path, f"its lists do not belong together, their lengths differ ({sizes})")
    items = []
    for i in range(n):
        identifier = str(i if ids is None else ids[i])
        metrics, _ = row_metrics({k: v[i] for k, v in columns.items()}, frozenset())
        labels = {k: v[i] for k, v in columns.items() if isinstance(v[i], str)}
        match = _PREFIXED_ID.fullmatch(identifier)
        labels["id_prefix"] = match.group(1) if match else None
        items.append(HarnessItem(identifier, i + 1, metrics, columns=label_columns(labels)))
    return Log(path, items)


READERS = (
    Reader(
        "lm-eval v0.3 write-out",
        "lm-evaluation-harness v0.3 <task>_write_out_info.json",
        _sniff_write_out,
        _read_write_out,
        "<model>/<task>_write_out_info.json",
    ),
    Reader(
        "lm-eval results with item lists",
        "results documents of lm-evaluation-harness forks, with details[] or lists per item",
        _sniff_item_lists,
        _read_item_lists,
        '{"results": {"<task>": {"acc": ..., "details": [...]}}}',
    ),
    promptsource.READER,
)
