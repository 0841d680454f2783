"""The validation record: plain dicts, schema ``benchharmony/validation/1``, from cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from benchharmony._version import __version__
from benchharmony.metric import BANDWIDTH, EPSILON
from benchharmony.validation import SECTIONS
from benchharmony.validation.case import Case, declared_codes
from benchharmony.validation.domains import clustered, default_k, found
from benchharmony.validation.ranking import ranking
from benchharmony.validation.rivals import Missing, Similarity, predictive_similarities, rivals

SCHEMA = "benchharmony/validation/1"

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ValidationSettings:
    """Parameters of a validation, recorded in its output."""

    sections: tuple[str, ...] = SECTIONS
    k_min: int = 2
    k_max: int = 20
    bandwidth: float = BANDWIDTH
    epsilon: float = EPSILON
    sub_benchmarks: int = 200
    embeddings: str | None = None
    level: float = 0.95
    seed: int = 0

    @property
    def k_range(self) -> tuple[int, int]:
        """Smallest and largest k tried."""
        return self.k_min, self.k_max


def validate(
    cases: Sequence[Case],
    settings: ValidationSettings | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Validate predictive similarity on every case, and the method on planted partitions.

    Parameters
    ----------
    cases : sequence of Case
        May be empty: planted partitions need none.
    settings : ValidationSettings, optional
        Which sections, and their parameters.
    progress : callable
        Told the name of each piece of work before it begins.

    Returns
    -------
    dict
        Plain JSON values; an undefined number is None.
    """
    s = settings or ValidationSettings()
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "settings": asdict(s),
        "cases": [_case(case, s, progress) for case in cases],
    }
    if "combined" in s.sections and cases:
        from benchharmony.validation.combined import attempts

        record["combined"] = attempts(cases, progress, seed=s.seed)
    if "stability" in s.sections:
        from benchharmony.validation.stability import between_models

        progress("agreement between models")
        record["between_models"] = between_models(cases, seed=s.seed)
    if "planted" in s.sections:
        from benchharmony.validation.mistakes import recovery_with_mistakes
        from benchharmony.validation.planted_partitions import recovery_table
        from benchharmony.validation.planted_rules import planted_rules

        cells = []
        for cell in recovery_table(seed=s.seed):
            progress(f"planted: k {cell.k}, n {cell.n}, overlap {cell.overlap:g}")
            cells.append(cell)
        record["planted"] = cells
        record["mistakes"] = recovery_with_mistakes(s.sub_benchmarks, seed=s.seed)
        record["planted_k_rules"] = planted_rules(s.k_range, seed=s.seed, progress=progress)
    plain: dict[str, Any] = _plain(record)
    return plain


def _case(case: Case, s: ValidationSettings, progress: Progress) -> dict[str, Any]:
    e = case.evaluation
    out: dict[str, Any] = {
        "benchmark": e.benchmark,
        "model": e.model,
        "n_items": len(case),
        "declared": case.column,
        "n_declared": case.n_declared,
        "score": None if e.scores is None else float(e.scores.mean()),
        "positions": list(case.views),
        "notes": list(case.notes),
    }
    if "similarities" in s.sections:
        out |= _similarities(case, s, progress)
    if "recovery" in s.sections:
        out["recovery"] = _recovery(case, s, progress)
    if "k-rules" in s.sections:
        from benchharmony.validation.k_rules import compare_rules

        progress(f"{e.name}: rules for k")
        out["k_rules"] = compare_rules(case, s.k_range, seed=s.seed)
    if "sensitivity" in s.sections and e.scores is not None:
        from benchharmony.validation.sensitivity import sensitivity

        progress(f"{e.name}: sensitivity")
        out["sensitivity"] = sensitivity(case, s.k_range, seed=s.seed)
    if "stability" in s.sections:
        from benchharmony.validation.stability import stability

        progress(f"{e.name}: stability")
        out["stability"] = stability(case, seed=s.seed)
    return out


def _similarities(case: Case, s: ValidationSettings, progress: Progress) -> dict[str, Any]:
    rows, missing = [], []
    for some in (predictive_similarities(case), rivals(case, s.embeddings)):
        for one in some:
            progress(f"{case.evaluation.name}: {one.name}")
            if isinstance(one, Missing):
                missing.append(one)
            else:
                rows.append(similarity_row(case, one, s))
    return {"similarities": rows, "not_computed": missing}


def similarity_row(case: Case, one: Similarity, s: ValidationSettings) -> dict[str, Any]:
    """Return how one similarity ranks paraphrases and finds the declared subdomains."""
    sweep = clustered(one.matrix, s.k_range, (case.n_declared,), seed=s.seed)
    chosen = default_k(one.matrix, sweep, s.k_range, seed=s.seed)
    return {
        "name": one.name,
        "family": one.family,
        "ranking": None
        if case.items is None
        else ranking(case.items, one.matrix, level=s.level, seed=s.seed),
        "domains": found(sweep.labels[case.n_declared], case.declared, seed=s.seed),
        "domains_chosen": None
        if chosen is None
        else found(sweep.labels[chosen], case.declared, seed=s.seed),
    }


def _recovery(case: Case, s: ValidationSettings, progress: Progress) -> list[Any]:
    from benchharmony.errors import BenchharmonyError
    from benchharmony.validation.recovery import recover, sub_benchmarks

    out: list[Any] = []
    recorded = case.evaluation.scores
    labels = declared_codes(case)
    for kind, scores in (("planted", None), ("recorded", recorded)):
        if kind == "recorded" and recorded is None:
            continue
        try:
            subs = list(sub_benchmarks(labels, s.sub_benchmarks, scores, seed=s.seed))
        except BenchharmonyError:
            return []
        for positions, divergence in case.divergence.items():
            if not positions.startswith(("item", "answer")):
                continue
            progress(f"{case.evaluation.name}: {kind} sub-benchmarks, {positions}")
            out += recover(
                divergence, subs, positions=positions,
                scores="planted" if kind == "planted" else "recorded",
                k_range=s.k_range, bandwidth=s.bandwidth, epsilon=s.epsilon, seed=s.seed,
            )  # fmt: skip
    return out


def _plain(value: Any) -> Any:
    """Return plain JSON values: dataclasses as dicts, undefined numbers as None."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
