"""How sure the report is of its numbers: intervals, nulls and the verdict of one evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.artefacts import Artefact, confidence
from benchharmony.engines.kernel import Labels
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.harmony import HarmonyResult
from benchharmony.hierarchy import split_again
from benchharmony.nulls import (
    Null,
    cross_fitted_null,
    difficulty_matched_null,
    q_values,
    same_size_null,
)
from benchharmony.parallel import as_before
from benchharmony.partition import Partition
from benchharmony.refit import refit_noise
from benchharmony.report.settings import Settings
from benchharmony.splits import Split, split_one
from benchharmony.uncertainty import Intervals, intervals
from benchharmony.verdict import Verdict, gather, verdict

#: Kinds of partition that a model makes of its own behaviour.
OWN_KINDS = ("predictive", "options")


@dataclass(frozen=True)
class Sureness:
    """Intervals, nulls and verdict of one evaluation; None where they are not asked for.

    Attributes
    ----------
    intervals : Intervals or None
        Of score, H, agreement and every subdomain's score.
    nulls : dict of str to Null
        "same_size" and, where the log tells confidence, "difficulty_matched".
    verdict : Verdict or None
        In words.
    """

    intervals: Intervals | None
    nulls: dict[str, Null]
    verdict: Verdict | None


def assess(
    evaluation: Evaluation,
    split: Partition,
    result: HarmonyResult,
    found: Sequence[Artefact],
    settings: Settings,
    donors: Sequence[Labels],
) -> Sureness:
    """Compute how sure the numbers of one evaluation are: intervals, nulls and the verdict.

    Raises
    ------
    BenchharmonyError
        When the log has no column that ``settings.clusters`` names.
    """
    scores, labels = evaluation.scores, split.labels
    if scores is None:
        return Sureness(None, {}, None)
    scale: dict[str, Any] = {
        "seed": settings.seed,
        "bandwidth": settings.bandwidth,
        "epsilon": settings.epsilon,
    }
    bounds = None
    if settings.bootstrap:
        bounds = intervals(
            scores,
            labels,
            draws=settings.bootstrap,
            level=settings.level,
            clusters=_clusters(evaluation, settings.clusters),
            **scale,
        )
    nulls: dict[str, Null] = {}
    if settings.permutations and split.k > 1:
        count: dict[str, Any] = {"draws": settings.permutations}
        nulls["same_size"] = same_size_null(scores, labels, **count, **scale)
        sure = confidence(evaluation)
        if sure is not None:
            nulls["difficulty_matched"] = difficulty_matched_null(
                scores, labels, sure, **count, **scale
            )
        if donors:
            nulls["cross_fitted"] = cross_fitted_null(scores, donors, **count, **scale)
    if bounds is None or "same_size" not in nulls or result.undefined:
        return Sureness(bounds, nulls, None)
    evidence = gather(
        scores,
        labels,
        bounds,
        nulls["same_size"],
        matched=nulls.get("difficulty_matched"),
        artefacts=[a.name.replace("_", " ") for a in found if a.flag],
        names=split.names,
        bandwidth=settings.bandwidth,
    )
    return Sureness(bounds, nulls, verdict(evidence))


def _clusters(evaluation: Evaluation, column: str | None) -> list[str] | None:
    """Return what items belong together; an item without a label is alone."""
    if column is None:
        return None
    if column not in evaluation.groups:
        there = ", ".join(map(repr, evaluation.groups)) or "none"
        raise BenchharmonyError(f"{evaluation.name}: no column {column!r}; columns there: {there}")
    return [
        f"alone {i}" if label is None else f"group {label}"
        for i, label in enumerate(evaluation.groups[column])
    ]


def donors(splits: Sequence[Split]) -> list[list[Labels]]:
    """Return, for each evaluation, the partitions that other models make of the same items.

    Only partitions that each model made on its own count, of the same benchmark and item ids.
    """
    groups: dict[tuple[str, frozenset[str]], list[Split]] = {}
    for split in splits:
        if _is_own(split):
            groups.setdefault(_items_of(split), []).append(split)
    out: list[list[Labels]] = []
    for here in splits:
        others = groups[_items_of(here)] if _is_own(here) else []
        out.append(
            [
                _in_order_of(here, there)
                for there in others
                if there.evaluation.model != here.evaluation.model
            ]
        )
    return out


def _is_own(split: Split) -> bool:
    made = split.partition
    return made is not None and made.kind in OWN_KINDS and made.undefined is None


def _items_of(split: Split) -> tuple[str, frozenset[str]]:
    return split.evaluation.benchmark, frozenset(split.evaluation.item_ids)


def _in_order_of(here: Split, there: Split) -> Labels:
    assert there.partition is not None
    labels = there.partition.labels
    if here.evaluation.item_ids == there.evaluation.item_ids:
        return labels
    row = {item: i for i, item in enumerate(there.evaluation.item_ids)}
    return labels[[row[item] for item in here.evaluation.item_ids]]


Again = Callable[[NDArray[np.int64]], "NDArray[np.int64] | None"]


def again_by(evaluation: Evaluation, split: Partition, settings: Settings) -> Again | None:
    """Return a function that partitions some of the items the way ``split`` was made.

    None for kinds that one evaluation cannot make again (declared, shared, responses).
    """
    if split.kind not in OWN_KINDS or split.undefined:
        return None

    def labels_of(rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        with as_before():
            made = split_one(evaluation.take(rows), replace(settings, partition=split.kind))
        return None if made.undefined else made.labels

    return labels_of


def partition_noise(
    evaluation: Evaluation, split: Partition, again: Again | None, settings: Settings
) -> dict[str, Any] | None:
    """Return item noise and partition noise of H, apart, by making the partition again."""
    if not settings.refit or again is None or evaluation.scores is None:
        return None
    noise = refit_noise(
        evaluation.scores, split.labels, again, draws=settings.refit, seed=settings.seed
    )
    return {name: _plain(value) for name, value in asdict(noise).items()}


def tree_of(
    evaluation: Evaluation, split: Partition, again: Again | None, settings: Settings
) -> dict[str, Any] | None:
    """Return the subdomains split again while the split is supported, with each stop's reason."""
    if not settings.tree or again is None or evaluation.scores is None:
        return None
    return split_again(evaluation.scores, again, labels=split.labels, seed=settings.seed).to_dict()


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return defined(value) if isinstance(value, float) else value


def null_record(nulls: dict[str, Null]) -> dict[str, Any]:
    """Return the nulls as JSON values; :func:`add_q_values` fills in ``q_value``."""
    return {
        name: {
            "mean": defined(null.mean),
            "sd": defined(null.sd),
            "p_value": null.p_value,
            "q_value": None,
            "draws": null.draws,
        }
        for name, null in nulls.items()
    }


def add_q_values(records: list[dict[str, Any]]) -> None:
    """Fill in Benjamini-Hochberg q-values across the evaluations of a report, null by null."""
    names = sorted({name for r in records for name in r["harmony"].get("null", {})})
    for name in names:
        those = [r["harmony"]["null"][name] for r in records if name in r["harmony"]["null"]]
        for entry, q in zip(those, q_values([e["p_value"] for e in those]), strict=True):
            entry["q_value"] = defined(float(q))


def defined(value: float) -> float | None:
    """Return the number, None for NaN."""
    return None if math.isnan(value) else value


def bounds_of(pair: tuple[float, float] | None) -> list[float] | None:
    """Return an interval as JSON values; None where it is undefined."""
    if pair is None or any(math.isnan(x) for x in pair):
        return None
    return [float(x) for x in pair]
