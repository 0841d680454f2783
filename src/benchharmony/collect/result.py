"""From outcomes to the evaluation that is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchharmony.collect.model import LoadedModel, versions
from benchharmony.collect.work import POSITIONS, Benchmark, Outcome, View, WorkItem
from benchharmony.errors import BenchharmonyError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.predictive import Predictive
from benchharmony.readers.harness_scores import default_score


def evaluation_of(
    loaded: LoadedModel,
    benchmark: Benchmark,
    outcomes: Mapping[int, Outcome],
    settings: Mapping[str, Any],
) -> Evaluation:
    """Return the evaluation of a complete run.

    Parameters
    ----------
    loaded : LoadedModel
        The model that ran.
    benchmark : Benchmark
        What it ran on.
    outcomes : mapping of int to Outcome
        By number of the item in ``benchmark.items``.
    settings : mapping
        Settings to record.

    Raises
    ------
    BenchharmonyError
        When no item has a result.
    """
    kept, problems = _sort_out(benchmark, outcomes)
    items = [benchmark.items[i] for i in kept]
    results = [outcomes[i] for i in kept]
    metrics = _columns(benchmark.score(items, results))
    score_name = _score_name(benchmark, metrics)
    metrics.update(_token_counts(items, results))
    return Evaluation.from_arrays(
        benchmark=benchmark.name,
        model=loaded.name,
        item_ids=[item.item_id for item in items],
        scores=metrics[score_name],
        score_name=score_name,
        metrics=metrics,
        predictive=_predictive(results, loaded),
        option_logprobs=_option_logprobs(items, results),
        gold=_gold(items),
        groups=_groups(items),
        texts=[item.text for item in items],
        choices=[item.choices for item in items] if any(i.choices for i in items) else None,
        metadata={**loaded.facts, "settings": dict(settings), "packages": versions()},
        notes=(*benchmark.notes, *_notes(results, loaded)),
        source=Source(
            format=f"collect ({benchmark.source_format})",
            files=benchmark.files,
            items_read=benchmark.items_read,
            problems=tuple(problems),
        ),
    )


def _sort_out(
    benchmark: Benchmark, outcomes: Mapping[int, Outcome]
) -> tuple[list[int], list[Problem]]:
    place = benchmark.files[0] if benchmark.files else benchmark.name
    problems = list(benchmark.problems)
    kept = []
    for i, item in enumerate(benchmark.items):
        reason = outcomes[i].problem
        if reason is None:
            kept.append(i)
        else:
            problems.append(Problem(place, reason, item.line, item.item_id))
    if not kept:
        raise BenchharmonyError(
            f"{benchmark.name}: no item could be run; the first problem: {problems[0]}"
        )
    return kept, problems


def _score_name(benchmark: Benchmark, metrics: Mapping[str, Any]) -> str:
    name = benchmark.score_name or default_score(metrics)
    if name is None or name not in metrics:
        has = ", ".join(metrics) or "none"
        wanted = "that can be a score" if name is None else f"{name!r} to use as score"
        raise BenchharmonyError(
            f"{benchmark.name}: no metric {wanted}; it has: {has}. Nothing is lost: run again "
            "with --resume and another --score"
        )
    return name


def _columns(metrics: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    names = sorted({name for row in metrics for name in row})
    return {name: np.array([row.get(name, np.nan) for row in metrics]) for name in names}


def _token_counts(items: Sequence[WorkItem], results: Sequence[Outcome]) -> dict[str, Any]:
    """Return how many tokens each option has and how many positions each mean is over.

    They are columns like metrics, so that a choice of items keeps them in step.
    """
    columns: dict[str, Any] = {}
    for j in range(max(item.n_options for item in items)):
        columns[f"option_tokens_{j}"] = np.array(
            [
                r.n_tokens[j] if j < item.n_options else np.nan
                for item, r in zip(items, results, strict=True)
            ]
        )
    for name in _position_sets(results):
        columns[f"{name}_positions"] = np.array([r.views[name].n_positions for r in results])
    if any(r.truncated for r in results):
        columns["truncated"] = np.array([float(r.truncated) for r in results])
    return columns


def _predictive(results: Sequence[Outcome], loaded: LoadedModel) -> dict[str, Predictive]:
    vocabulary = int(loaded.model.get_output_embeddings().weight.shape[0])
    return {
        name: _stacked([r.views[name] for r in results], vocabulary)
        for name in _position_sets(results)
    }


def _position_sets(results: Sequence[Outcome]) -> list[str]:
    """Return the recorded position sets in one order, wherever the outcomes come from."""
    return [name for name in POSITIONS if name in results[0].views]


def _stacked(views: Sequence[View], vocabulary: int) -> Predictive:
    logprobs = np.stack([v.logprobs for v in views])
    ids = [v.token_ids for v in views if v.token_ids is not None]
    if not ids:
        return Predictive.dense(logprobs, log=True)
    return Predictive.top_k(np.stack(ids), logprobs, [v.rest for v in views], vocabulary)


def _option_logprobs(items: Sequence[WorkItem], results: Sequence[Outcome]) -> Any:
    if not all(item.n_options for item in items):
        return None
    return [list(r.logprobs[: i.n_options]) for i, r in zip(items, results, strict=True)]


def _gold(items: Sequence[WorkItem]) -> Any:
    if not all(item.n_options for item in items):
        return None
    return [-1 if item.gold is None else item.gold for item in items]


def _groups(items: Sequence[WorkItem]) -> dict[str, list[str | None]]:
    names = dict.fromkeys(name for item in items for name in item.groups)
    columns = {name: [item.groups.get(name) for item in items] for name in names}
    return {n: c for n, c in columns.items() if any(v is not None for v in c)}


def _notes(results: Sequence[Outcome], loaded: LoadedModel) -> list[str]:
    cut = sum(r.truncated for r in results)
    if not cut:
        return []
    return [
        f"{cut} of {len(results)} items are longer than the {loaded.max_length} tokens the model "
        "reads: their texts were cut at the start (column truncated)"
    ]
