"""The records of many evaluations: computed where asked, kept where asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchharmony.digest import digest_of_partition, digest_of_results, digest_of_views
from benchharmony.engines.kernel import Labels
from benchharmony.evaluation import Evaluation
from benchharmony.kept import RECORD
from benchharmony.parallel import at_most
from benchharmony.report.record import record_of
from benchharmony.report.settings import Settings
from benchharmony.report.sureness import donors
from benchharmony.splits import Split, split_all
from benchharmony.work import Task, Work


def records_of(
    evaluations: Sequence[Evaluation], settings: Settings, work: Work
) -> tuple[list[Split], list[dict[str, Any]]]:
    """Return the split and the record of every evaluation, in order."""
    splits = split_all(evaluations, settings, work=work).splits
    tasks = [
        Task(s.evaluation.name, (s, settings, d), _key_of(s, settings, d), len(s.evaluation))
        for s, d in zip(splits, donors(splits), strict=True)
    ]
    return splits, work.each(_record, tasks, RECORD)


def _record(split: Split, settings: Settings, labels: list[Labels]) -> dict[str, Any]:
    with at_most(1):  # the same bits for any number of threads
        return record_of(split, settings, labels)


def _key_of(
    split: Split, settings: Settings, labels: list[Labels]
) -> Callable[[], tuple[Any, ...]] | None:
    """Return what a record depends on; None where there is no partition and so nothing to keep."""
    made, evaluation = split.partition, split.evaluation
    if made is None:
        return None
    again = settings.refit or settings.tree  # then items are partitioned anew
    return lambda: (
        digest_of_results(evaluation),
        digest_of_partition(made),
        digest_of_views(evaluation) if again else None,
        settings.to_dict(),
        len(labels),
        *labels,
    )
