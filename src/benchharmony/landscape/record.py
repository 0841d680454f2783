"""The landscape record: a plain dict that every view reads (``benchharmony/landscape/1``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchharmony.artefacts import FLAG_AT, artefacts
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.harmony import harmony
from benchharmony.landscape.draws import (
    Measured,
    Values,
    adjusted_agreement,
    item_ids,
    resampled,
)
from benchharmony.landscape.growth import growth
from benchharmony.landscape.parts import shared_subdomains
from benchharmony.landscape.plane import leave_out, moments
from benchharmony.landscape.sizes import common_size, correlations, matched
from benchharmony.landscape.words import CORNERS, membership_warnings, verdict
from benchharmony.models import ModelInfo
from benchharmony.report.settings import Settings
from benchharmony.splits import Split, split_all
from benchharmony.work import Work

SCHEMA = "benchharmony/landscape/1"
#: Fewer resamples than this give no covariance worth the name.
FEWEST_DRAWS = 50
#: Fewer items a subdomain leave a bias in adjusted H that intervals know nothing of.
ITEMS_EACH = 60
#: Numbers whose moments over models are given.
_NUMBERS = ("score", "raw", "adjusted", "agreement")


@dataclass(frozen=True)
class Plan:
    """What :func:`benchharmony.landscape` was asked for."""

    settings: Settings
    keep: Literal["common", "all"] = "common"
    matched_items: int | None = None
    repeats: int = 100

    def __post_init__(self) -> None:
        if self.keep not in ("common", "all"):
            raise BenchharmonyError(f"keep must be common or all, got {self.keep!r}")
        if not 0 < self.settings.level < 1 or self.settings.bootstrap < FEWEST_DRAWS:
            raise BenchharmonyError(
                f"a landscape needs a level in (0, 1) and at least {FEWEST_DRAWS} bootstrap draws, "
                f"got {self.settings.level} and {self.settings.bootstrap}"
            )
        if self.repeats < 1 or (self.matched_items is not None and self.matched_items < 2):
            raise BenchharmonyError("cutting to a common size needs 2 or more items and 1 repeat")

    def rng(self, name: str, benchmark: str) -> np.random.Generator:
        """Return the generator of one use on one benchmark."""
        return np.random.default_rng([self.settings.seed, *f"{name}/{benchmark}".encode()])

    def to_dict(self) -> dict[str, Any]:
        """Return every parameter as JSON values."""
        return {
            **self.settings.to_dict(),
            "keep": self.keep,
            "matched_items": self.matched_items,
            "repeats": self.repeats,
        }


def landscape_record(
    evaluations: Sequence[Evaluation],
    models: Mapping[str, ModelInfo],
    plan: Plan,
    work: Work | None = None,
) -> dict[str, Any]:
    """Compute everything and return the document."""
    from benchharmony._version import __version__

    kept, left_out = _without_second_runs(_in_order(evaluations, models))
    made = split_all(kept, plan.settings, models=dict(models), work=work)
    measured = []
    for split in made.splits:
        try:
            measured.append(_measured(split, plan.settings))
        except BenchharmonyError as error:
            left_out.append(_left_out(split.evaluation, str(error)))
    if not measured:
        raise BenchharmonyError(f"no evaluation has a defined H: {left_out[0]['reason']}")
    groups, dropped = _groups(measured, plan.keep)
    left_out += dropped
    names = dict.fromkeys(m.evaluation.model for g in groups.values() for m in g)
    present = [models[name] for name in names]
    values = {b: _resampled(g, b, plan) for b, g in groups.items()}
    return {
        "schema": SCHEMA,
        "version": __version__,
        "settings": plan.to_dict(),
        "models": [m.to_dict() for m in present],
        "benchmarks": [
            _benchmark(b, g, values[b], models, plan, made.found.get(b, {}))
            for b, g in groups.items()
        ],
        "evaluations": [
            row for b, g in groups.items() for row in _rows(g, values[b], models, plan.settings)
        ],
        "size": _size(groups, plan),
        "trends": growth(
            groups,
            values,
            {b: _observed(g, plan.settings) for b, g in groups.items()},
            models,
            level=plan.settings.level,
            seed=plan.settings.seed,
        ),
        "partitions": made.found,
        "left_out": left_out,
        "corners": CORNERS,
        "warnings": membership_warnings(present) + _left_out_warnings(left_out),
    }


def _in_order(
    evaluations: Sequence[Evaluation], models: Mapping[str, ModelInfo]
) -> list[Evaluation]:
    """Return the evaluations by family and size, families by their smallest model.

    Benchmarks stay in the order they came, and so do models of which nothing is known, last.
    """
    infinite = float("inf")
    smallest: dict[str | None, float] = {}
    for m in models.values():
        size = m.parameters or infinite
        smallest[m.family] = min(smallest.get(m.family, infinite), size)
    benchmarks = {name: i for i, name in enumerate(dict.fromkeys(e.benchmark for e in evaluations))}

    def place(e: Evaluation) -> tuple[Any, ...]:
        m = models[e.model]
        return (
            benchmarks[e.benchmark], m.family is None, smallest[m.family], m.family or "",
            m.parameters or infinite, m.tokens or 0.0,
        )  # fmt: skip

    return sorted(evaluations, key=place)


def _measured(split: Split, settings: Settings) -> Measured:
    if split.partition is None:
        raise BenchharmonyError(split.error or "no partition")
    result = harmony(
        split.evaluation, split.partition, bandwidth=settings.bandwidth, epsilon=settings.epsilon
    )
    if result.value is None:
        raise BenchharmonyError(f"H is undefined: {result.undefined}")
    return Measured(split.evaluation, split.partition, result)


def _left_out(evaluation: Evaluation, reason: str) -> dict[str, Any]:
    return {
        "benchmark": evaluation.benchmark,
        "model": evaluation.model,
        "reason": reason.removeprefix(f"{evaluation.name}: "),
    }


def _left_out_warnings(left_out: list[dict[str, Any]]) -> list[str]:
    reasons = Counter(e["reason"] for e in left_out)
    return [
        f"{count} evaluation{'s' * (count > 1)} left out: {why}" for why, count in reasons.items()
    ]


def _without_second_runs(
    evaluations: Sequence[Evaluation],
) -> tuple[list[Evaluation], list[dict[str, Any]]]:
    """Keep one evaluation of a model on a benchmark: a model must not count twice."""
    kept: dict[tuple[str, str], Evaluation] = {}
    left_out = []
    for evaluation in evaluations:
        key = (evaluation.benchmark, evaluation.model)
        if key in kept:
            left_out.append(
                _left_out(evaluation, "another run of the same model on the same benchmark counts")
            )
        else:
            kept[key] = evaluation
    return list(kept.values()), left_out


def _groups(
    measured: Sequence[Measured], keep: str
) -> tuple[dict[str, list[Measured]], list[dict[str, Any]]]:
    """Return the models of each benchmark, by default those that are on every benchmark."""
    groups: dict[str, list[Measured]] = {}
    for m in measured:
        groups.setdefault(m.evaluation.benchmark, []).append(m)
    if keep == "all" or len(groups) == 1:
        return groups, []
    common = set.intersection(*({m.evaluation.model for m in g} for g in groups.values()))
    if not common:
        raise BenchharmonyError(
            f"no model is on all {len(groups)} benchmarks; name fewer benchmarks, or use "
            "--keep all to compare benchmarks over different models"
        )
    why = f"not on all {len(groups)} benchmarks (--keep all counts it)"
    dropped = [_left_out(m.evaluation, why) for m in measured if m.evaluation.model not in common]
    kept = {b: [m for m in g if m.evaluation.model in common] for b, g in groups.items()}
    return kept, dropped


def _resampled(group: Sequence[Measured], benchmark: str, plan: Plan) -> Values:
    s = plan.settings
    rng = plan.rng("items", benchmark)
    return resampled(group, plan.settings.bootstrap, rng, bandwidth=s.bandwidth, epsilon=s.epsilon)


def _observed(group: Sequence[Measured], settings: Settings) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "score": np.array([m.result.mean for m in group]),
        "raw": np.array([m.result.value or 0.0 for m in group]),
        "adjusted": np.array([m.result.adjusted or 0.0 for m in group]),
        "agreement": np.array([adjusted_agreement(m, settings.bandwidth) for m in group]),
    }


def _benchmark(
    name: str,
    group: Sequence[Measured],
    values: Values,
    models: Mapping[str, ModelInfo],
    plan: Plan,
    found: Mapping[str, Any],
) -> dict[str, Any]:
    observed = _observed(group, plan.settings)
    noise = {n: values.covariance(n) for n in _NUMBERS}
    over = {
        n: moments(observed[n], noise[n], level=plan.settings.level, adjust=n != "raw").to_dict()
        for n in _NUMBERS
    }
    names = [m.evaluation.model for m in group]
    families = [models[n].family or n for n in names]
    several = len(set(families)) > 1
    ks = [m.split.k for m in group]
    sizes = [len(m.evaluation) for m in group]
    agreements = [float(a) for a in observed["agreement"]]
    return {
        "benchmark": name,
        "n_items": max(sizes),
        "n_models": len(group),
        "models": names,
        "partition": dict(Counter(m.split.kind for m in group).most_common(1)).popitem()[0],
        "k": {"mean": float(np.mean(ks)), "min": min(ks), "max": max(ks)},
        "score": over["score"],
        "harmony": {"raw": over["raw"], "adjusted": over["adjusted"]},
        "agreement": over["agreement"],
        "subdomains": shared_subdomains(group),
        "leave_one_model_out": _bands(observed, noise, list(names)),
        "leave_one_family_out": _bands(observed, noise, list(families)) if several else None,
        "verdict": verdict(agreements, over["agreement"], _artefact(group, found)),
        "warnings": _group_warnings(group, sizes),
    }


def _bands(
    observed: Mapping[str, Any], noise: Mapping[str, Any], labels: list[str | None]
) -> dict[str, Any]:
    return {
        n: leave_out(observed[n], noise[n], labels, adjust=n != "raw")
        for n in ("raw", "adjusted", "agreement")
    }


def _artefact(group: Sequence[Measured], found: Mapping[str, Any]) -> str | None:
    """Return the artefact that at least half of the partitions restate, if any."""
    if found.get("artefacts", {}).get("difficulty", 0.0) >= FLAG_AT:
        return "how hard the items are"
    flagged = Counter(a.name for m in group for a in artefacts(m.evaluation, m.split) if a.flag)
    name, count = flagged.most_common(1)[0] if flagged else ("", 0)
    return name.replace("_", " ") if 2 * count >= len(group) and count else None


def _group_warnings(group: Sequence[Measured], sizes: list[int]) -> list[str]:
    out = []
    each = float(np.median([len(m.evaluation) / m.split.k for m in group]))
    if each < ITEMS_EACH:
        out.append(
            f"about {each:.0f} items a subdomain: intervals of mean H are somewhat too narrow "
            f"under {ITEMS_EACH} (on planted grids with 40 they held the truth 9 times of 10)"
        )
    kinds = sorted({m.split.kind for m in group})
    if len(kinds) > 1:
        out.append(f"models differ in the kind of partition: {', '.join(kinds)}")
    if min(sizes) < len(item_ids(group)):
        out.append(f"models answered different items ({min(sizes)} to {max(sizes)} each)")
    scores = sorted({m.evaluation.score_name for m in group})
    if len(scores) > 1:
        out.append(f"models differ in the metric used as score: {', '.join(scores)}")
    notes = Counter(note for m in group for note in m.split.notes)
    for note, count in notes.items():
        out.append(note if count == len(group) else f"{note} ({count} of {len(group)} models)")
    return out


def _rows(
    group: Sequence[Measured], values: Values, models: Mapping[str, ModelInfo], settings: Settings
) -> list[dict[str, Any]]:
    observed = _observed(group, settings)
    return [
        {
            "benchmark": m.evaluation.benchmark,
            "model": m.evaluation.model,
            "family": models[m.evaluation.model].family,
            "parameters": models[m.evaluation.model].parameters,
            "tokens": models[m.evaluation.model].tokens,
            "n_items": len(m.evaluation),
            "k": m.split.k,
            "partition": m.split.kind,
            **{n: float(observed[n][i]) for n in _NUMBERS},
            **{f"{n}_noise_sd": float(getattr(values, n)[i].std()) for n in _NUMBERS},
        }
        for i, m in enumerate(group)
    ]


def _size(groups: Mapping[str, Sequence[Measured]], plan: Plan) -> dict[str, Any]:
    s = plan.settings
    size = plan.matched_items or common_size(groups)
    cut = {
        b: matched(
            g, size, plan.repeats, plan.rng("matched", b), bandwidth=s.bandwidth, epsilon=s.epsilon
        )
        for b, g in groups.items()
    }
    return {"correlation": correlations(groups), "matched_items": size, "matched": cut}
