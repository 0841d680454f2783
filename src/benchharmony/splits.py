"""One partition for each of many evaluations, whatever the kind.

Most kinds look at one evaluation at a time. "shared" and "responses" look at all models of a
benchmark together, on the items that all of them answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchharmony.alignment import line_up
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.partition import Partition, partition

if TYPE_CHECKING:
    from benchharmony.models import ModelInfo
    from benchharmony.report.settings import Settings

#: Kinds that need all models of a benchmark.
MANY_MODEL_KINDS = ("shared", "responses")


@dataclass(frozen=True, eq=False)
class Split:
    """An evaluation (of the items it is judged on), its partition, or why there is none."""

    evaluation: Evaluation
    partition: Partition | None = None
    error: str | None = None


@dataclass(frozen=True)
class Splits:
    """Splits in the order of the evaluations, and what was found about each benchmark's models.

    Attributes
    ----------
    splits : list of Split
    found : dict of str to dict
        For each benchmark, what a many-model kind has to say (agreement of the models'
        partitions, H on each model's own); JSON values.
    """

    splits: list[Split]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)


def split_one(evaluation: Evaluation, settings: Settings) -> Partition:
    """Return the partition of one evaluation under the settings of a report."""
    return partition(
        evaluation,
        settings.partition,
        positions=settings.positions,
        tau=settings.tau,
        k=settings.k,
        k_range=(settings.k_min, settings.k_max),
        k_rule=settings.k_rule,
        min_share=settings.min_share,
        seed=settings.seed,
        engine=settings.engine,
    )


def split_all(
    evaluations: Sequence[Evaluation],
    settings: Settings,
    *,
    models: dict[str, ModelInfo] | None = None,
    jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Splits:
    """Return a partition, or the reason there is none, for every evaluation in order.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        Of any number of models and benchmarks.
    settings : Settings
        ``partition`` may be any kind, those of many models included.
    models : dict of str to ModelInfo, optional
        Families, for cross-fitting; parsed from the names otherwise.
    jobs : int
        Processes to use; the result does not depend on it.
    progress : callable, optional
        Called with a name for each evaluation (or benchmark) begun.
    """
    if settings.partition in MANY_MODEL_KINDS:
        return _by_benchmark(evaluations, settings, models, progress)
    if jobs > 1 and len(evaluations) > 1:
        from joblib import Parallel, delayed

        return Splits(list(Parallel(n_jobs=jobs)(delayed(_try)(e, settings) for e in evaluations)))
    out = []
    for evaluation in evaluations:
        if progress is not None:
            progress(evaluation.name)
        out.append(_try(evaluation, settings))
    return Splits(out)


def _try(evaluation: Evaluation, settings: Settings) -> Split:
    try:
        return Split(evaluation, split_one(evaluation, settings))
    except BenchharmonyError as error:
        return Split(evaluation, error=str(error))


def _by_benchmark(
    evaluations: Sequence[Evaluation],
    settings: Settings,
    models: dict[str, ModelInfo] | None,
    progress: Callable[[str], None] | None,
) -> Splits:
    from benchharmony.responses import response_partitions
    from benchharmony.shared import shared_partition

    rows: dict[str, list[int]] = {}
    for i, evaluation in enumerate(evaluations):
        rows.setdefault(evaluation.benchmark, []).append(i)
    splits = [Split(e) for e in evaluations]
    found: dict[str, dict[str, Any]] = {}
    for benchmark, members in rows.items():
        if progress is not None:
            progress(benchmark)
        try:
            lined = line_up([evaluations[i] for i in members])
            group = [replace(e, notes=(*e.notes, *lined.notes)) for e in lined.evaluations]
            if settings.partition == "shared":
                shared = shared_partition(group, settings)
                made, found[benchmark] = shared.partitions, shared.to_dict()
            else:
                made, found[benchmark] = response_partitions(group, settings, models)
        except BenchharmonyError as error:
            for i in members:
                splits[i] = Split(evaluations[i], error=str(error))
            continue
        if lined.notes:
            found[benchmark]["note"] = "; ".join(lined.notes)
        for i, e, p in zip(members, group, made, strict=True):
            splits[i] = Split(e, p)
    return Splits(splits, found)
