"""The report record: a plain dict that carries everything a view shows (``benchharmony/report/1``).

Views read only this. Every number that is undefined is None, with a warning that says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from benchharmony.artefacts import Artefact, artefacts
from benchharmony.engines.kernel import Labels
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation, Source
from benchharmony.harmony import HarmonyResult, harmony
from benchharmony.indices import Indices, decompose, indices
from benchharmony.keywords import keywords
from benchharmony.partition import Partition
from benchharmony.power import unseen_sentence
from benchharmony.report.runs import tell_runs_apart
from benchharmony.report.settings import Settings
from benchharmony.report.sureness import (
    Sureness,
    add_q_values,
    again_by,
    assess,
    bounds_of,
    defined,
    null_record,
    partition_noise,
    tree_of,
)
from benchharmony.splits import Split
from benchharmony.verdict import Verdict

SCHEMA = "benchharmony/report/1"
#: Example item ids of each subdomain, nearest to its centre first.
EXAMPLES = 5


def record_of(made: Split, settings: Settings, donors: list[Labels]) -> dict[str, Any]:
    """Compute everything about one evaluation and return its record.

    An evaluation that cannot be partitioned or has no scores still gets a record: its numbers are
    None and ``error`` says why.

    Parameters
    ----------
    made : Split
        The evaluation and its partition.
    settings : Settings
        Of the report.
    donors : list of ndarray of int64, shape (n,)
        Labels of the same items by other models' partitions, for the cross-fitted null.
    """
    evaluation, split = made.evaluation, made.partition
    if split is None:
        return _failed(evaluation, made.error or "no partition")
    try:
        result = harmony(evaluation, split, bandwidth=settings.bandwidth, epsilon=settings.epsilon)
        sure, found = _sureness(evaluation, split, result, settings, donors)
    except BenchharmonyError as error:
        return _failed(evaluation, str(error))
    again = again_by(evaluation, split, settings)
    heading = _heading(evaluation)
    heading["score"]["ci"] = bounds_of(sure.intervals.score) if sure.intervals else None
    return {
        **heading,
        "verdict": _verdict(sure.verdict),
        "harmony": _harmony(result, sure)
        | {"partition_noise": partition_noise(evaluation, split, again, settings)},
        "indices": _indices(result),
        "partition": _partition(split, found),
        "subdomains": _subdomains(evaluation, split, result, sure),
        "tree": tree_of(evaluation, split, again, settings),
        "source": _source(evaluation),
        "warnings": [
            *_warnings(evaluation, split, result, found),
            *_guessing(evaluation, heading["score"]["ci"]),
        ],
        "error": None,
    }


def _heading(evaluation: Evaluation) -> dict[str, Any]:
    scores = evaluation.scores
    mean = None if scores is None else float(scores.mean())
    return {
        "benchmark": evaluation.benchmark,
        "model": evaluation.model,
        "n_items": len(evaluation),
        "score": {"mean": mean, "ci": None, "name": evaluation.score_name},
    }


def _sureness(
    evaluation: Evaluation,
    split: Partition,
    result: HarmonyResult,
    settings: Settings,
    donors: list[Labels],
) -> tuple[Sureness, tuple[Artefact, ...]]:
    found = artefacts(evaluation, split)
    return assess(evaluation, split, result, found, settings, donors), found


def _failed(evaluation: Evaluation, why: str) -> dict[str, Any]:
    return {
        **_heading(evaluation),
        "verdict": None,
        "harmony": dict.fromkeys(
            ("value", "adjusted", "ci", "size_evenness", "agreement", "agreement_ci")
        )
        | {"by_k": {}, "null": {}, "sensitivity": {"bandwidth": {}}},
        "indices": {f.name: None for f in fields(Indices)},
        "partition": {"kind": None, "k": None, "silhouette_by_k": {}, "artefacts": []},
        "subdomains": [],
        "tree": None,
        "source": _source(evaluation),
        "warnings": [f"no HARMONY: {why.removeprefix(evaluation.name + ': ')}", *evaluation.notes],
        "error": why,
    }


def _verdict(given: Verdict | None) -> dict[str, Any] | None:
    if given is None:
        return None
    return {"label": given.label, "sentence": given.sentence, "notes": list(given.notes)}


def _harmony(result: HarmonyResult, sure: Sureness) -> dict[str, Any]:
    bounds = None if result.undefined else sure.intervals
    return {
        "value": result.value,
        "adjusted": result.adjusted,
        "ci": bounds_of(bounds.harmony) if bounds else None,
        "item_noise": defined(bounds.noise.harmony) if bounds else None,
        "size_evenness": result.size_evenness,
        "agreement": result.agreement,
        "agreement_ci": bounds_of(bounds.agreement) if bounds else None,
        "loss": _loss(result),
        "null": null_record(sure.nulls),
        "detectable": _detectable(result),
        "by_k": {str(k): h for k, h in result.by_k.items()},
        "sensitivity": {"bandwidth": {f"{b:g}": h for b, h in result.sensitivity.items()}},
        "bandwidth": result.settings["bandwidth"],
        "undefined": result.undefined,
    }


def _indices(result: HarmonyResult) -> dict[str, float | None]:
    if result.undefined:
        return {f.name: None for f in fields(Indices)}
    parts, bandwidth = result.subdomains, result.settings["bandwidth"]
    panel = indices(parts.weights, parts.performance, bandwidth=bandwidth)
    return {name: defined(value) for name, value in asdict(panel).items()}


def _detectable(result: HarmonyResult) -> str | None:
    """Return the line on what these sizes could not show."""
    if result.undefined:
        return None
    return unseen_sentence(result.subdomains.sizes, result.mean)


def _loss(result: HarmonyResult) -> dict[str, float | None]:
    """Return how much of 1 - H comes from uneven sizes and how much from performance."""
    if result.undefined:
        return {"sizes": None, "performance": None}
    parts = decompose(result.subdomains.weights, result.subdomains.performance, **result.settings)
    return {"sizes": defined(parts.sizes), "performance": defined(parts.performance)}


def _partition(split: Partition, found: tuple[Artefact, ...]) -> dict[str, Any]:
    return {
        "kind": split.kind,
        "positions": split.positions,
        "tau": split.tau,
        "k": split.k,
        "unguarded_k": split.unguarded_k,
        "silhouette": split.silhouette,
        "silhouette_by_k": {str(k): s for k, s in split.silhouette_by_k.items()},
        "engine": split.engine,
        "engine_error": split.engine_error,
        "artefacts": [{"name": a.name, "ami": a.ami, "flag": a.flag} for a in found],
        "settings": dict(split.settings),
    }


def _subdomains(
    evaluation: Evaluation, split: Partition, result: HarmonyResult, sure: Sureness
) -> list[dict[str, Any]]:
    if split.k < 2:
        return []
    parts = result.subdomains
    words = keywords(_words_of(evaluation), split.labels) if evaluation.texts else None
    loss = decompose(parts.weights, parts.performance, **result.settings)
    out = []
    for i, name in enumerate(split.names):
        rows = np.flatnonzero(split.labels == i)
        if split.centrality is not None:
            rows = rows[np.argsort(-split.centrality[rows], kind="stable")]
        out.append(
            {
                "label": name,
                "size": int(parts.sizes[i]),
                "weight": float(parts.weights[i]),
                "score": float(parts.performance[i]),
                "ci": bounds_of(tuple(sure.intervals.subdomains[i])) if sure.intervals else None,
                "mass": float(result.masses[i]),
                "loss": {
                    "sizes": defined(float(loss.size_parts[i])),
                    "performance": defined(float(loss.performance_parts[i])),
                },
                "keywords": list(words[i]) if words else [],
                "examples": [evaluation.item_ids[r] for r in rows[:EXAMPLES]],
            }
        )
    return out


def _words_of(evaluation: Evaluation) -> list[str]:
    texts = evaluation.texts or ()
    if evaluation.choices is None:
        return list(texts)
    return [f"{t}\n{' '.join(c)}" for t, c in zip(texts, evaluation.choices, strict=True)]


def _source(evaluation: Evaluation) -> dict[str, Any]:
    source = evaluation.source
    return {
        "format": source.format,
        "files": list(source.files),
        "items_read": source.items_read,
        "items_left_out": source.items_left_out,
        "left_out": [
            {"file": p.path, "line": p.line, "item": p.item, "reason": p.reason}
            for p in source.problems
        ],
    }


def _warnings(
    evaluation: Evaluation,
    split: Partition,
    result: HarmonyResult,
    found: tuple[Artefact, ...],
) -> list[str]:
    undefined = [] if result.undefined is None else [f"HARMONY is undefined: {result.undefined}"]
    flagged = [a.warning for a in found if a.warning]
    omitted = _omitted(evaluation.source)
    return [*undefined, *flagged, *result.notes, *split.notes, *omitted, *evaluation.notes]


def _guessing(evaluation: Evaluation, ci: list[float] | None) -> list[str]:
    """Say where the score could come from guessing: even guesses are even everywhere."""
    options, scores = evaluation.n_options, evaluation.scores
    if ci is None or options is None or scores is None or options.min() < 2:
        return []
    chance = float((1.0 / options).mean())
    if not np.isin(scores, (0.0, 1.0)).all() or ci[0] > chance:
        return []
    return [
        f"the score may be that of guessing among the options ({chance:.2f}): guesses are even "
        "everywhere, so an even verdict says nothing about the benchmark then"
    ]


def _omitted(source: Source) -> list[str]:
    """Say how many items are left out, for what reason most of them, and where the first is."""
    if not source.items_left_out:
        return []
    reason, times = Counter(p.reason for p in source.problems).most_common(1)[0]
    first = next(p for p in source.problems if p.reason == reason)
    line = "" if first.line is None else f", first in line {first.line}"
    rest = len(source.problems) - times
    more = f"; {rest} for other reasons" if rest else ""
    return [
        f"{source.items_left_out} of {source.items_read} items of the source could not be used: "
        f"{times} x {reason}{line}{more}"
    ]


def document(records: list[dict[str, Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole report document around its per-evaluation records."""
    from benchharmony._version import __version__

    add_q_values(records)
    tell_runs_apart(records)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "settings": dict(settings),
        "evaluations": records,
    }
