"""lm-evaluation-harness, 2023-06 to now: samples files, and results that hold their samples.

A samples file has one JSON object a line, a row per item and filter, with ``doc_id``, ``doc``,
``target``, ``arguments``, ``resps`` and ``filtered_resps``. Its results file, with the same time in
its name, names the model and the settings and is read with it. From Python, one results document
holds the rows under ``samples.<task>``.

Item ids are the benchmark's own where the record has one that tells the items apart (``doc.id`` and
its like), else ``doc_id``. With several filters the first of "none", "strict-match",
"flexible-extract" and then the order of the file is used that has a usable score; the metrics of
the others are offered as ``metric@filter``. Scores are the logged ones; see
:data:`~benchharmony.readers.harness_scores.SCORE_ORDER` for which metric is the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.harness_evaluation import Items, Log, build_evaluation, metric_columns
from benchharmony.readers.harness_rows import item_of_row
from benchharmony.readers.harness_runs import run_of_results, run_of_samples
from benchharmony.readers.harness_scores import default_score
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, decode
from benchharmony.readers.typed_rows import row_decoder

#: Filters in the order of trust; others follow in the order of the file.
FILTER_ORDER = ("none", "strict-match", "flexible-extract")
AGGREGATE_ONLY = (
    "aggregate results only, no per-item records; give its samples_*.jsonl file "
    "(lm_eval --log_samples writes it)"
)
#: Keys of a results document, some of which every version writes.
_RESULTS_MARKS = frozenset(
    """
    versions config configs n-shot n-samples higher_is_better group_subtasks samples git_hash
    lm_eval_version
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
)
#: Keys of other tools' documents that also have "results".
_FOREIGN_MARKS = frozenset(
    """
    config_general eval status plan schema_version summary_general
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
)
_RESPONSES = ("resps", "filtered_resps")


def is_sample_row(row: Any) -> bool:
    """Whether a JSON value is a row of a samples log."""
    return isinstance(row, dict) and "doc_id" in row and any(r in row for r in _RESPONSES)


def _sniff_samples(file: SourceFile) -> bool:
    head = file.head
    if b'"doc_id"' not in head:
        return False
    for line in head.split(b"\n")[:5]:
        try:
            if is_sample_row(decode(line)):
                return True
        except ValueError:
            continue
    # A prompt may be longer than the head, or the rows may be the elements of one list.
    keys = {path[-1] for path in outline(head, depth=2) if len(path) == 1}
    keys |= {path[1] for path in outline(head, depth=2) if len(path) == 2 and path[0] == "[]"}
    return "doc_id" in keys and bool(keys & {*_RESPONSES, "doc"})


def _read_samples(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    problems: list[Problem] = []
    log = log_of_rows(str(file), _rows(file, problems), problems)
    return [build_evaluation(log, run_of_samples(file, options))]


def _rows(file: SourceFile, problems: list[Problem]) -> Iterable[tuple[int, Mapping[str, Any]]]:
    if not file.head.lstrip().startswith(b"["):
        return file.records(problems, row_decoder())
    document = file.read_json()
    return _numbered(str(file), document if isinstance(document, list) else [], problems)


def _numbered(
    path: str, rows: Iterable[Any], problems: list[Problem]
) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield number, row
        else:
            kind = type(row).__name__
            problems.append(Problem(path, f"record: expected an object, found {kind}", number))


def log_of_rows(
    path: str, rows: Iterable[tuple[int, Mapping[str, Any]]], problems: list[Problem]
) -> Log:
    """Sort the rows of a samples log by filter and choose the one to use.

    Parameters
    ----------
    path : str
        The file, for messages.
    rows : iterable of (int, mapping)
        Line or record numbers and rows.
    problems : list of Problem
        Grows while ``rows`` is read; rows that are no rows of a samples log are added.
    """
    by_filter: dict[str, Items] = {}
    for number, row in rows:
        if row.get("doc_id") is None:
            problems.append(Problem(path, "no doc_id: not a row of a samples log", number))
            continue
        name = row.get("filter")
        by_filter.setdefault(name if isinstance(name, str) else "", []).append(
            item_of_row(row, number)
        )
    chosen = _choose_filter(by_filter)
    others = {name: items for name, items in by_filter.items() if name != chosen}
    return Log(path, by_filter.get(chosen, []), chosen, others, tuple(problems))


def _choose_filter(by_filter: Mapping[str, Items]) -> str:
    ordered = sorted(
        by_filter,
        key=lambda name: FILTER_ORDER.index(name) if name in FILTER_ORDER else len(FILTER_ORDER),
    )
    usable = (name for name in ordered if default_score(metric_columns(by_filter[name])))
    return next(usable, next(iter(ordered), ""))


def is_results_outline(found: Mapping[tuple[str, ...], str]) -> bool:
    """Whether the outline of a document is that of a results file of the harness."""
    keys = {path[0] for path in found if len(path) == 1}
    return (
        found.get(()) == "object"
        and found.get(("results",)) == "object"
        and not keys & _FOREIGN_MARKS
        and bool(keys & _RESULTS_MARKS or next(iter(keys)) == "results")
    )


def has_item_lists(found: Mapping[tuple[str, ...], str]) -> bool:
    """Whether ``results.<task>`` holds lists: forks keep their items there."""
    return any(
        len(path) == 3 and path[0] == "results" and kind == "array" for path, kind in found.items()
    )


def _sniff_results(file: SourceFile) -> bool:
    if b'"results"' not in file.head:
        return False
    found = outline(file.head)
    return is_results_outline(found) and not has_item_lists(found)


def _read_results(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    document = file.read_json()
    samples = document.get("samples") if isinstance(document, dict) else None
    if not isinstance(samples, dict) or not samples:
        raise InputError(str(file), AGGREGATE_ONLY)
    evaluations = []
    failures = []
    for task, rows in samples.items():
        problems: list[Problem] = []
        listed = rows if isinstance(rows, list) else []
        try:
            log = log_of_rows(str(file), _numbered(str(file), listed, problems), problems)
            run = run_of_results(document, task, file, options)
            evaluations.append(build_evaluation(log, run))
        except InputError as error:
            failures.append(f"task {task}: {error.problem.reason}")
    if not evaluations:
        raise InputError(str(file), "; ".join(failures))
    return with_failures(evaluations, failures)


def with_failures(evaluations: list[Evaluation], failures: list[str]) -> list[Evaluation]:
    """Name the tasks of a document that could not be used, in the notes of its first evaluation."""
    if not failures:
        return evaluations
    told = tuple(f"not used from the same file: {failure}" for failure in failures)
    return [replace(evaluations[0], notes=evaluations[0].notes + told), *evaluations[1:]]


READERS = (
    Reader(
        "lm-eval samples",
        "lm-evaluation-harness samples_<task>_<time>.jsonl, 2023 to now",
        _sniff_samples,
        _read_samples,
        "<org>__<model>/samples_<task>_2026-01-02T03-04-05.678901.jsonl",
    ),
    Reader(
        "lm-eval results with samples",
        "lm-evaluation-harness results document that holds its samples (simple_evaluate)",
        _sniff_results,
        _read_results,
        '{"results": {...}, "samples": {"<task>": [...]}}',
    ),
)
