"""How far H, k, agreement and the verdict depend on the settings that the paper leaves open."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.metric import BANDWIDTH, EPSILON, agreement, harmony_score, summarise
from benchharmony.nulls import same_size_null
from benchharmony.spectral import Sweep
from benchharmony.uncertainty import intervals
from benchharmony.validation.case import Case, declared_codes
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import clustered, default_k, found
from benchharmony.validation.k_rules import SUPPORTED, choices
from benchharmony.verdict import gather, verdict

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

#: tau in units of the median rule's, bandwidths, epsilons and fixed k that are tried.
TAUS = (0.25, 0.5, 1.0, 2.0, 4.0)
BANDWIDTHS = (0.05, 0.1, 0.2)
EPSILONS = (0.0, 1e-12, 1e-6, 1e-3)
FIXED = (2, 3, 4, 5, 8, 10, 12, 15, 18, 20)
_DRAWS = 400


@dataclass(frozen=True)
class Setting:
    """H and its companions under one setting, all others at their defaults.

    Attributes
    ----------
    setting, value : str
        What differs; "default" for the first row.
    k : int or None
        Subdomains; None where no k is admissible (then the rest is undefined).
    h, agreement, ami : float
        H; agreement of the performances; adjusted mutual information with the declared.
    verdict : str
        The verdict's label.
    """

    setting: str
    value: str
    k: int | None
    h: float
    agreement: float
    ami: float
    verdict: str


def sensitivity(case: Case, k_range: tuple[int, int], *, seed: int = 0) -> dict[str, Any]:
    """Return H, k, agreement and verdict over the settings, one at a time and over tau and k.

    Parameters
    ----------
    case : Case
        With scores.
    k_range : (int, int)
        Smallest and largest k.
    seed : int
        Of k-means, subsamples, intervals and the null.

    Returns
    -------
    dict
        ``one_at_a_time``, a list of :class:`Setting`; ``heat_map`` with ``positions``, ``taus``,
        ``ks``, and ``h`` and ``ami`` (taus by ks); ``grid``, H for every combination of
        positions, tau, k and bandwidth; ``words``, what depends on what.
    """
    work = _Work(case, k_range, seed)
    rows = _one_at_a_time(work)
    return {
        "one_at_a_time": rows,
        "heat_map": _heat_map(work),
        "grid": _grid(work),
        "words": _words(rows),
    }


class _Work:
    """The sweeps of a case, each made once."""

    def __init__(self, case: Case, k_range: tuple[int, int], seed: int) -> None:
        self.case, self.k_range, self.seed = case, k_range, seed
        self.positions = "item" if "item" in case.views else next(iter(case.views))
        assert case.evaluation.scores is not None
        self.scores: FloatArray = case.evaluation.scores
        self.fixed = [k for k in FIXED if k <= len(case) // 5]
        self._sweeps: dict[tuple[str, float], tuple[FloatArray, Sweep]] = {}
        self._chosen: dict[tuple[str, float], int | None] = {}

    def sweep(self, positions: str, tau: float) -> tuple[FloatArray, Sweep]:
        """Return S and its clusterings, tau in units of the median rule's."""
        key = (positions, tau)
        if key not in self._sweeps:
            similarity = similarity_from(self.case.divergence[positions]) ** tau
            ks = (self.case.n_declared, *self.fixed)
            made = clustered(similarity, self.k_range, ks, seed=self.seed)
            self._sweeps[key] = similarity, made
        return self._sweeps[key]

    def labels(self, positions: str, tau: float, k: int | None = None) -> Labels | None:
        """Return the partition at a k, or at the one that the default rule chooses."""
        chosen = self.default_k(positions, tau) if k is None else k
        return None if chosen is None else self.sweep(positions, tau)[1].labels[chosen]

    def default_k(self, positions: str, tau: float) -> int | None:
        """Return the k that the default rule chooses."""
        key = (positions, tau)
        if key not in self._chosen:
            similarity, made = self.sweep(positions, tau)
            self._chosen[key] = default_k(similarity, made, self.k_range, seed=self.seed)
        return self._chosen[key]

    def row(
        self, setting: str, value: str, labels: Labels | None, bandwidth: float = BANDWIDTH,
        epsilon: float = EPSILON,
    ) -> Setting:  # fmt: skip
        """Return what one partition gives."""
        nan = float("nan")
        if labels is None:
            return Setting(setting, value, None, nan, nan, nan, "undefined")
        s = summarise(self.scores, labels)
        made = intervals(
            self.scores, labels, draws=_DRAWS, seed=self.seed, bandwidth=bandwidth, epsilon=epsilon
        )
        null = same_size_null(
            self.scores, labels, draws=_DRAWS, seed=self.seed, bandwidth=bandwidth, epsilon=epsilon
        )
        evidence = gather(self.scores, labels, made, null, bandwidth=bandwidth)
        return Setting(
            setting, value, len(s.sizes),
            harmony_score(s.weights, s.performance, bandwidth=bandwidth, epsilon=epsilon),
            float(agreement(s.weights, s.performance, bandwidth=bandwidth)),
            found(labels, self.case.declared, shuffles=1).ami,
            verdict(evidence).label,
        )  # fmt: skip


def _one_at_a_time(work: _Work) -> list[Setting]:
    usual = work.labels(work.positions, 1.0)
    rows = [work.row("default", f"{work.positions}, k by the default rule", usual)]
    rows += [
        work.row("positions", positions, work.labels(positions, 1.0))
        for positions in work.case.views
        if positions != work.positions
    ]
    rows += [
        work.row("tau", f"{tau:g} x median rule", work.labels(work.positions, tau))
        for tau in TAUS
        if tau != 1
    ]
    rows += [work.row("bandwidth", f"{b:g}", usual, bandwidth=b) for b in BANDWIDTHS if b != 0.1]
    rows += [work.row("epsilon", f"{e:g}", usual, epsilon=e) for e in EPSILONS if e != EPSILON]
    similarity, sweep = work.sweep(work.positions, 1.0)
    divergence = work.case.divergence[work.positions]
    chosen = choices(divergence, similarity, sweep, work.k_range, seed=work.seed)
    for rule, k in chosen.items():
        if rule != SUPPORTED:
            rows.append(work.row("rule for k", rule, None if k is None else sweep.labels[k]))
    ks = sorted({work.case.n_declared, *work.fixed})
    rows += [work.row("k", str(k), work.labels(work.positions, 1.0, k)) for k in ks]
    by_declared = declared_codes(work.case)
    rows.append(work.row("declared", work.case.column, by_declared))
    return rows


def _heat_map(work: _Work) -> dict[str, Any]:
    ks = sorted({work.case.n_declared, *work.fixed})
    h, ami = [], []
    for tau in TAUS:
        _, sweep = work.sweep(work.positions, tau)
        h.append([_h(work.scores, sweep.labels[k]) for k in ks])
        ami.append([found(sweep.labels[k], work.case.declared, shuffles=1).ami for k in ks])
    return {"positions": work.positions, "taus": list(TAUS), "ks": ks, "h": h, "ami": ami}


def _grid(work: _Work) -> list[dict[str, Any]]:
    out = []
    for positions in work.case.views:
        for tau in TAUS:
            _, sweep = work.sweep(positions, tau)
            chosen = work.default_k(positions, tau)
            for k in sorted({work.case.n_declared, *work.fixed, *([chosen] if chosen else [])}):
                values = {f"{b:g}": _h(work.scores, sweep.labels[k], b) for b in BANDWIDTHS}
                out.append({
                    "positions": positions, "tau": tau, "k": k, "is_chosen": k == chosen,
                    "h_by_bandwidth": values,
                })  # fmt: skip
    return out


def _h(scores: FloatArray, labels: Labels, bandwidth: float = BANDWIDTH) -> float:
    s = summarise(scores, labels)
    return harmony_score(s.weights, s.performance, bandwidth=bandwidth)


def _words(rows: list[Setting]) -> list[str]:
    """Say which settings move H most, and how often the verdict is another one."""
    induced = [r for r in rows if r.setting != "declared"]
    usual = induced[0]
    ranges: dict[str, list[float]] = {}
    for r in induced[1:]:
        if np.isfinite(r.h):
            ranges.setdefault(r.setting, [usual.h] if np.isfinite(usual.h) else []).append(r.h)
    widths = {name: max(h) - min(h) for name, h in ranges.items()}
    order = sorted(widths, key=lambda name: -widths[name])
    moved = ", ".join(
        f"{name} {widths[name]:.2f} ({min(ranges[name]):.2f} to {max(ranges[name]):.2f})"
        for name in order
    )
    verdicts = Counter(r.verdict for r in induced)
    others = sum(n for label, n in verdicts.items() if label != usual.verdict)
    kinds = "; ".join(f"{label}: {n}" for label, n in verdicts.most_common())
    lines = [f"H moves with {moved}.",
             f"The verdict differs from the default's in {others} of {len(induced) - 1} settings "
             f"({kinds})."]  # fmt: skip
    declared = [r for r in rows if r.setting == "declared"]
    if declared:
        lines.append(
            f"Under the declared subdomains H is {declared[0].h:.2f} ({declared[0].verdict})."
        )
    return lines
