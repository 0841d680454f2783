"""HELM run directories: ``scenario_state.json`` and the files beside it.

The scenario state holds the items; ``per_instance_stats.json`` and ``display_predictions.json``
add the metrics that HELM computed, ``run_spec.json`` the names. Where a directory has no scenario
state, its display predictions (or else its statistics per instance) are read, with the texts of
``instances.json``. The other files hold no results of their own and are refused.

The score of a multiple-choice run is ``exact_match``, the logged one where there is one. It is
judged again from the outputs, and a mismatch is told. The score of other runs is the metric that
HELM displays, else the first of :data:`PREFERRED`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.declared import declared_groups
from benchharmony.readers.harness_scores import (
    Floats,
    default_score,
    placeholder_reason,
    ragged,
    without_infinities,
)
from benchharmony.readers.helm_files import (
    RUN_FILES,
    beside,
    instance_metrics,
    names_of,
    read_beside,
)
from benchharmony.readers.helm_items import (
    HelmItem,
    as_list,
    as_object,
    describe,
    identity,
    items_of_states,
)
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

#: The score of a run without options: the first of these that it has, where HELM displays none.
PREFERRED = (
    "math_equiv_chain_of_thought",
    "math_equiv",
    "final_number_exact_match",
    "exact_match_indicator",
    "chain_of_thought_correctness",
    "ifeval_strict_accuracy",
    "code_eval_acc",
    "pass",
    "quasi_exact_match",
    "exact_match",
    "f1_score",
    "rouge_l",
)
#: Metric of multiple choice, and the name of the score that is judged here.
_MULTIPLE_CHOICE = "exact_match"
#: Keys of the tables that HELM makes of a suite.
_TABLE = frozenset(("title", "header", "rows"))
_WHAT = {
    "display_requests": "the requests sent to the model, without its answers",
    "instances": "the questions of a run, without the model's answers",
    "run_spec": "settings of runs, without results",
    "scenario": "the description of a scenario, without results",
    "stats": "aggregate results, no per-item records",
}


def _kind(file: SourceFile) -> str | None:
    """Return which file of a HELM run directory this is, by its content."""
    found = outline(file.head, depth=4)
    if found.get(()) == "object":
        return _kind_of_object({path[0] for path in found if len(path) == 1}, found)
    if found.get(()) != "array":
        return None
    keys = {path[1] for path in found if len(path) == 2}
    if "instance_id" in keys:
        for key, kind in (
            ("predicted_text", "display_predictions"),
            ("request", "display_requests"),
            ("stats", "per_instance_stats"),
        ):
            if key in keys:
                return kind
        return None
    if {"input", "references"} <= keys and keys & {"id", "split"}:
        return "instances"
    if "scenario_spec" in keys:
        return "run_spec"  # run_specs.json of a suite
    if keys >= _TABLE:
        return "stats"  # groups/*.json of a suite
    names_split = ("[]", "name", "name") in found and {"count", "sum"} <= keys
    return "stats" if names_split else None


def _kind_of_object(keys: set[str], found: Mapping[tuple[str, ...], Any]) -> str | None:
    if "scenario_spec" in keys and {"name", "adapter_spec"} & keys:
        return "run_spec"
    if "adapter_spec" in keys and (
        "request_states" in keys or (("adapter_spec", "method") in found and "name" not in keys)
    ):
        return "scenario_state"
    if {"name", "description", "tags", "definition_path"} <= keys:
        return "scenario"
    return "stats" if keys >= _TABLE else None


def _sniff_results(file: SourceFile) -> bool:
    return _kind(file) in RUN_FILES[:3]


def _sniff_others(file: SourceFile) -> bool:
    return _kind(file) in _WHAT


def _read_others(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    reason = f"{_WHAT[str(_kind(file))]}; give scenario_state.json of the same run"
    raise InputError(str(file), reason)


def _read_results(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    kind = str(_kind(file))
    others = beside(file)
    for better in RUN_FILES[: RUN_FILES.index(kind)]:
        if better in others:
            name = others[better].path.name
            raise InputError(str(file), f"its run is read from {name} beside it; give that one")
    document = file.read_json()
    problems: list[Problem] = []
    notes: list[str] = []
    perturbed = 0
    if kind == "scenario_state":
        states = as_list(as_object(document).get("request_states"))
        items, perturbed = items_of_states(str(file), states, problems)
    else:
        items = _items_without_state(as_list(document), read_beside(others.get("instances")))
    if perturbed:
        notes.append(f"perturbed copies of {perturbed} instances are left aside")
    logged = {
        name: instance_metrics(as_list(document if name == kind else read_beside(others.get(name))))
        for name in RUN_FILES[1:3]
    }
    names = names_of(
        file,
        as_object(read_beside(others.get("run_spec"))),
        as_object(as_object(document).get("adapter_spec")),
        options,
    )
    run = _Run(items, logged["per_instance_stats"], logged["display_predictions"], notes)
    files = (str(file), *(str(f) for f in others.values()))
    return [run.evaluation(names.benchmark, names.model, names.metadata, files, problems)]


def _items_without_state(records: Sequence[Any], instances: Any) -> list[HelmItem]:
    """Return the items of records that only name their instance, with its text where it is."""
    described = {}
    for number, instance in enumerate(map(as_object, as_list(instances)), start=1):
        if not instance.get("perturbation"):
            described[identity(instance.get("id"), number)] = instance
    items: dict[str, HelmItem] = {}
    for number, record in enumerate(map(as_object, records), start=1):
        name = identity(record.get("instance_id"), number)
        if record.get("perturbation") or name in items:
            continue
        items[name] = HelmItem(name, number)
        if name in described:
            describe(items[name], described[name])
    return list(items.values())


class _Run:
    """The items of a run with their metrics, as columns."""

    def __init__(
        self,
        items: list[HelmItem],
        logged: Mapping[str, Mapping[str, float]],
        displayed: Mapping[str, Mapping[str, float]],
        notes: list[str],
    ) -> None:
        self.items = items
        self.notes = notes
        self.metrics = {**_columns(items, displayed), **_columns(items, logged)}
        self._displayed = list(_columns(items, displayed))
        self._judge()

    def _judge(self) -> None:
        """Compare the logged exact match with the one judged here; fill it where it lacks."""
        judged = np.array([i.score for i in self.items], dtype=np.float64)
        if np.isnan(judged).all():
            return
        logged = self.metrics.get(_MULTIPLE_CHOICE)
        if logged is None:
            self.metrics[_MULTIPLE_CHOICE] = judged
            self.notes.append("exact_match is judged here from the outputs; the run logs none")
            return
        both = ~np.isnan(judged) & ~np.isnan(logged)
        differ = int((judged[both] != logged[both]).sum())
        if differ:
            self.notes.append(
                f"exact_match judged from the outputs differs from the logged one on {differ} of "
                f"{int(both.sum())} items; the logged one is used"
            )
        self.metrics[_MULTIPLE_CHOICE] = np.where(np.isnan(logged), judged, logged)

    def score(self) -> str | None:
        """Return the name of the metric that is the score."""
        order = [*self._displayed, *PREFERRED]
        if any(i.choices for i in self.items):
            order = [_MULTIPLE_CHOICE, *order]
        for name in order:
            if name in self.metrics and default_score({name: self.metrics[name]}):
                return name
        return default_score(self.metrics)

    def evaluation(
        self,
        benchmark: str,
        model: str,
        metadata: dict[str, Any],
        files: tuple[str, ...],
        problems: list[Problem],
    ) -> Evaluation:
        """Return the evaluation of the usable items."""
        n_read = len(self.items) + len(problems)
        score = self.score()
        values = np.full(len(self.items), math.nan) if score is None else self.metrics[score]
        kept = []
        for k, item in enumerate(self.items):
            reason = item.fault
            if reason is None and math.isnan(values[k]):
                reason = f"no value of {score}, the score"
            if reason is None:
                kept.append(k)
            else:
                problems.append(Problem(files[0], reason, item.line, item.id))
        if score is None or not kept:
            raise InputError(files[0], _nothing_usable(score, self.metrics, problems))
        items = [self.items[k] for k in kept]
        options = self._options(items)
        choices = [i.choices or () for i in items] if any(i.choices for i in items) else None
        gold = None if choices is None else [i.gold for i in items]
        texts = [i.text for i in items]
        return Evaluation.from_arrays(
            benchmark=benchmark,
            model=model,
            item_ids=[i.id for i in items],
            scores=values[kept],
            score_name=score,
            metrics={name: column[kept] for name, column in self.metrics.items()},
            option_logprobs=options,
            gold=gold,
            groups=declared_groups([i.columns for i in items], gold),
            texts=texts if any(texts) else None,
            choices=choices,
            metadata=metadata,
            notes=self.notes,
            source=Source("", files, n_read, tuple(problems)),
        )

    def _options(self, items: Sequence[HelmItem]) -> Floats | None:
        if any(i.options is None for i in items):
            return None
        options = ragged([i.options for i in items])
        reason = placeholder_reason(options)
        if reason is None and np.isinf(options).all(axis=1).any():
            reason = "an item with no finite one"
        if reason is not None:
            self.notes.append(f"the log-likelihoods are placeholders and were left out: {reason}")
            return None
        return options


def _columns(
    items: Sequence[HelmItem], metrics: Mapping[str, Mapping[str, float]]
) -> dict[str, Floats]:
    names = dict.fromkeys(name for own in metrics.values() for name in own)
    columns = {
        name: without_infinities(
            np.array([metrics.get(i.id, {}).get(name, math.nan) for i in items], dtype=np.float64)
        )
        for name in names
    }
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}


def _nothing_usable(
    score: str | None, metrics: Mapping[str, Floats], problems: Sequence[Problem]
) -> str:
    if problems:
        where = "" if problems[0].line is None else f"record {problems[0].line}: "
        first = problems[0].reason
        return f"no usable item in it; the first of {len(problems)} problems: {where}{first}"
    if score is None and metrics:
        return f"no metric in [0, 1] that is better when higher; it has: {', '.join(metrics)}"
    return "no item with a metric, and no reference that is tagged correct"


READERS = (
    Reader(
        "HELM run",
        "HELM run directory: scenario_state.json with the files beside it",
        _sniff_results,
        _read_results,
        "runs/<suite>/<scenario>:<arguments>,model=<model>/scenario_state.json",
    ),
    Reader(
        "HELM run, other files",
        "HELM files that hold no per-item results: run_spec, instances, stats, ...",
        _sniff_others,
        _read_others,
        "run_spec.json, instances.json, stats.json",
    ),
)
