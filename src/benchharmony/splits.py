"""One partition for each of many evaluations, whatever the kind.

Most kinds look at one evaluation at a time. "shared" and "responses" look at all models of a
benchmark together, on the items that all of them answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchharmony.alignment import line_up
from benchharmony.digest import digest_of_items, digest_of_results, digest_of_views
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.kept import GROUP, PARTITION, Group
from benchharmony.parallel import at_most
from benchharmony.partition import Partition, partition
from benchharmony.work import Task, Work

if TYPE_CHECKING:
    from benchharmony.models import ModelInfo
    from benchharmony.report.settings import Settings

#: Kinds that need all models of a benchmark.
MANY_MODEL_KINDS = ("shared", "responses")
#: Settings that no partition of one evaluation depends on.
_NOT_OF_PARTITIONS = (
    "bandwidth", "epsilon", "bootstrap", "permutations", "refit", "level", "clusters", "tree",
    "score",
)  # fmt: skip


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
    work: Work | None = None,
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
    work : Work, optional
        Where it is computed and kept; in this process, and nothing kept, otherwise. The result
        does not depend on it.
    """
    work = work or Work()
    if settings.partition in MANY_MODEL_KINDS:
        return _by_benchmark(evaluations, settings, models, work)
    tasks = [Task(e.name, (e, settings), _key_of(e, settings), size=len(e)) for e in evaluations]
    made = work.each(_partition_or_reason, tasks, PARTITION)
    return Splits([_split(e, p) for e, p in zip(evaluations, made, strict=True)])


def _split(evaluation: Evaluation, made: Partition | str) -> Split:
    if isinstance(made, str):
        return Split(evaluation, error=made)
    return Split(evaluation, made)


def _partition_or_reason(evaluation: Evaluation, settings: Settings) -> Partition | str:
    try:
        return split_one(evaluation, settings)
    except BenchharmonyError as error:
        return str(error)


def _key_of(evaluation: Evaluation, settings: Settings) -> Callable[[], tuple[Any, ...]] | None:
    """Return what a partition is made from; None where keeping it gains nothing or is not safe.

    A declared one takes no time, and what an embedding model makes depends on that model's files.
    """
    if settings.partition.startswith(("declared:", "text:")):
        return None
    return lambda: (
        digest_of_items(evaluation),
        digest_of_views(evaluation),
        _settings_of_partitions(settings),
    )


def _settings_of_partitions(settings: Settings) -> dict[str, Any]:
    """Return the settings that a partition may depend on: all that are not known not to matter."""
    return {k: v for k, v in settings.to_dict().items() if k not in _NOT_OF_PARTITIONS}


def _by_benchmark(
    evaluations: Sequence[Evaluation],
    settings: Settings,
    models: dict[str, ModelInfo] | None,
    work: Work,
) -> Splits:
    rows: dict[str, list[int]] = {}
    for i, evaluation in enumerate(evaluations):
        rows.setdefault(evaluation.benchmark, []).append(i)
    splits = [Split(e) for e in evaluations]
    found: dict[str, dict[str, Any]] = {}
    groups: dict[str, list[Evaluation]] = {}
    for benchmark, members in rows.items():
        try:
            lined = line_up([evaluations[i] for i in members])
        except BenchharmonyError as error:
            for i in members:
                splits[i] = Split(evaluations[i], error=str(error))
            continue
        groups[benchmark] = [replace(e, notes=(*e.notes, *lined.notes)) for e in lined.evaluations]
        found[benchmark] = {"note": "; ".join(lined.notes)} if lined.notes else {}
    tasks = [
        Task(b, (g, settings, models), _key_of_group(g, settings, models), len(g[0]) * len(g))
        for b, g in groups.items()
    ]
    made = work.each(_group_or_reason, tasks, GROUP)
    for (benchmark, group), outcome in zip(groups.items(), made, strict=True):
        members = rows[benchmark]
        if isinstance(outcome, str):
            del found[benchmark]
            each = [Split(evaluations[i], error=outcome) for i in members]
        else:
            found[benchmark] = {**outcome[1], **found[benchmark]}
            each = [Split(e, p) for e, p in zip(group, outcome[0], strict=True)]
        for i, split in zip(members, each, strict=True):
            splits[i] = split
    return Splits(splits, found)


def _group_or_reason(
    group: list[Evaluation], settings: Settings, models: dict[str, ModelInfo] | None
) -> Group | str:
    """Return the partitions of a benchmark's models and what was found about them."""
    from benchharmony.responses import response_partitions
    from benchharmony.shared import shared_partition

    try:
        with at_most(1):  # the same bits for any number of threads
            if settings.partition == "shared":
                shared = shared_partition(group, settings)
                return shared.partitions, shared.to_dict()
            return response_partitions(group, settings, models)
    except BenchharmonyError as error:
        return str(error)


def _key_of_group(
    group: list[Evaluation], settings: Settings, models: dict[str, ModelInfo] | None
) -> Callable[[], tuple[Any, ...]]:
    # H on the partitions is among what is found, so scores and every setting count too.
    return lambda: (
        [(digest_of_results(e), digest_of_views(e)) for e in group],
        settings.to_dict(),
        None if models is None else [models[e.model].to_dict() for e in group],
    )
