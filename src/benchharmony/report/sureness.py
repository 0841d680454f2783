"""How sure the report is of its numbers: intervals, nulls and the verdict of one evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.artefacts import Artefact, confidence
from benchharmony.evaluation import Evaluation
from benchharmony.harmony import HarmonyResult
from benchharmony.nulls import Null, difficulty_matched_null, q_values, same_size_null
from benchharmony.partition import Partition
from benchharmony.refit import refit_noise
from benchharmony.uncertainty import Intervals, intervals
from benchharmony.verdict import Verdict, gather, verdict


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


@dataclass(frozen=True)
class Draws:
    """How many draws each estimate takes; 0 leaves it out.

    Attributes
    ----------
    bootstrap, permutations, refit : int
        For intervals, nulls and partition noise.
    level : float
        Of the intervals, in (0, 1).
    seed : int
        Fixes every draw.
    """

    bootstrap: int
    permutations: int
    refit: int
    level: float
    seed: int


def assess(
    evaluation: Evaluation,
    split: Partition,
    result: HarmonyResult,
    found: Sequence[Artefact],
    draws: Draws,
) -> Sureness:
    """Compute how sure the numbers of one evaluation are: intervals, nulls and the verdict."""
    scores, labels = evaluation.scores, split.labels
    if scores is None:
        return Sureness(None, {}, None)
    scale = {
        "seed": draws.seed,
        "bandwidth": result.settings["bandwidth"],
        "epsilon": result.settings["epsilon"],
    }
    bounds = None
    if draws.bootstrap:
        bounds = intervals(scores, labels, draws=draws.bootstrap, level=draws.level, **scale)
    nulls: dict[str, Null] = {}
    if draws.permutations and split.k > 1:
        nulls["same_size"] = same_size_null(scores, labels, draws=draws.permutations, **scale)
        sure = confidence(evaluation)
        if sure is not None:
            nulls["difficulty_matched"] = difficulty_matched_null(
                scores, labels, sure, draws=draws.permutations, **scale
            )
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
        bandwidth=scale["bandwidth"],
    )
    return Sureness(bounds, nulls, verdict(evidence))


def partition_noise(
    evaluation: Evaluation,
    split: Partition,
    again: Callable[[Evaluation], Partition],
    draws: Draws,
) -> dict[str, Any] | None:
    """Return item noise and partition noise of H, apart, by making the partition again.

    Parameters
    ----------
    again : callable
        Makes a partition of some of the items the way that ``split`` was made.
    """
    if not (draws.refit and split.is_induced and split.k > 1 and evaluation.scores is not None):
        return None

    def labels_of(rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        made = again(evaluation.take(rows))
        return None if made.undefined else made.labels

    noise = refit_noise(
        evaluation.scores, split.labels, labels_of, draws=draws.refit, seed=draws.seed
    )
    return {name: _plain(value) for name, value in asdict(noise).items()}


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
