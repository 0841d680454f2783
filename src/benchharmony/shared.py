"""One partition for all models of a benchmark, from the mean of their similarities.

Each model's similarity has its own tau (the median rule), so that every model has a say whatever
the scale of its divergences. H on the shared partition audits the benchmark and compares models on
the same subdomains; H on a model's own partition also holds how that model splits the items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.artefacts import artefacts
from benchharmony.choice import Choice
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.from_similarity import partition_of
from benchharmony.harmony import harmony
from benchharmony.partition import Partition, option_view, partition, predictive_view
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys, median_tau, similarity_of

if TYPE_CHECKING:
    from benchharmony.report.settings import Settings

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shared:
    """A shared partition, the models' own, and how far they agree.

    Attributes
    ----------
    partitions : list of Partition
        The shared one for each evaluation, in order (equal labels).
    own : list of Partition
        Each model's own.
    agreement, agreement_at_k : ndarray, shape (M, M)
        Adjusted Rand index between the models' own partitions: each at its own k, and all at the
        shared k; NaN where a model has no partition of its own.
    with_shared : ndarray, shape (M,)
        The same of each model's own partition with the shared one.
    rows : list of dict
        For each model, H on the shared partition beside H on its own.
    """

    evaluations: list[Evaluation]
    partitions: list[Partition]
    own: list[Partition]
    agreement: FloatArray
    agreement_at_k: FloatArray
    with_shared: FloatArray
    rows: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values for a record."""
        models = [e.model for e in self.evaluations]
        return {
            "kind": "shared",
            "source": self.partitions[0].settings["similarity"],
            "models": models,
            "k": self.partitions[0].k,
            "own_k": [p.k for p in self.own],
            "agreement": _listed(self.agreement),
            "agreement_at_shared_k": _listed(self.agreement_at_k),
            "agreement_with_shared": _listed(self.with_shared),
            "harmony": self.rows,
            "artefacts": _artefact_means(self.evaluations, self.partitions),
            "sentences": self._sentences(),
        }

    def _sentences(self) -> list[str]:
        made = self.partitions[0]
        if made.undefined:
            return [f"The shared partition is undefined: {made.undefined}."]
        ks = [p.k for p in self.own if not p.undefined]
        without = len(self.own) - len(ks)
        out = [
            f"One partition (k = {made.k}) from the mean similarity of {len(self.own)} models "
            f"({made.settings['similarity']})."
        ]
        if ks:
            out[0] += f" The models' own have k = {min(ks)} to {max(ks)}."
        if without:
            out[0] += f" {without} of them have none of their own (no admissible k)."
        off = ~np.eye(len(self.own), dtype=bool)
        own, same = _mean(self.agreement[off]), _mean(self.agreement_at_k[off])
        if own is not None:
            at_k = "" if same is None else f"; all at k = {made.k}: {same:.2f}"
            out.append(
                f"Models' own partitions agree with each other at {own:.2f} on average (adjusted "
                f"Rand index; 0 is chance, 1 equal{at_k}), with the shared one at "
                f"{_mean(self.with_shared):.2f}."
            )
        pairs = [(r["shared"], r["own"]) for r in self.rows]
        gap = _mean(np.array([abs(a - b) for a, b in pairs if a is not None and b is not None]))
        if gap is not None:
            out.append(
                f"H on the shared partition differs from H on a model's own by {gap:.2f} on "
                "average: that much of H is the model's own way to split the items."
            )
        return out


def shared_partition(evaluations: Sequence[Evaluation], settings: Settings) -> Shared:
    """Return one partition for several models' evaluations of the same items.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        The same items in the same order, one evaluation per model
        (:func:`benchharmony.alignment.line_up`).
    settings : Settings
        ``tau``, ``positions`` and how k is chosen; ``partition`` is not looked at.

    Raises
    ------
    BenchharmonyError
        When items differ, or not every model has predictive distributions or option
        log-likelihoods. If one lacks distributions, all are compared by their options: a mean over
        unlike similarities would be neither.
    """
    group = list(evaluations)
    if any(e.item_ids != group[0].item_ids for e in group[1:]):
        raise BenchharmonyError(f"{group[0].benchmark}: a shared partition needs the same items")
    kind = _kind(group)
    views = [_view(e, kind, settings.positions) for e in group]
    own = [_own(e, kind, settings) for e in group]
    mean, taus = _mean_similarity(views, settings.tau)
    source = "predictive distributions" if kind == "predictive" else "option log-likelihoods"
    choice = Choice(
        settings.k, (settings.k_min, settings.k_max), settings.k_rule, settings.min_share,
        settings.seed,
    )  # fmt: skip
    notes = [f"shared by {len(group)} models, from the mean of their similarities ({source})"]
    if kind == "options":
        notes.append(
            "made from option log-likelihoods, which is not the paper's similarity: the mean over "
            "models mostly restates which option is right or likely; read the artefacts"
        )
    made = partition_of(
        mean, _keys(views), choice, kind="shared",
        settings={"similarity": source, "models": len(group), "tau": settings.tau}, notes=notes,
    )  # fmt: skip
    partitions = [replace(made, tau=t) for t in taus]
    return Shared(
        group, partitions, own,
        agreement=_rand([None if p.undefined else p.labels for p in own]),
        agreement_at_k=_rand([p.labels_by_k.get(made.k) for p in own]),
        with_shared=np.array(
            [
                np.nan if p.undefined or made.undefined else _ari(p.labels, made.labels)
                for p in own
            ]
        ),
        rows=[
            {"model": e.model, "shared": _h(e, s, settings), "own": _h(e, o, settings)}
            for e, s, o in zip(group, partitions, own, strict=True)
        ],
    )  # fmt: skip


def _kind(group: Sequence[Evaluation]) -> str:
    if all(e.predictive for e in group):
        return "predictive"
    without = [e.model for e in group if e.option_logprobs is None]
    if not without:
        return "options"
    raise BenchharmonyError(
        f"{group[0].benchmark}: a shared partition needs predictive distributions or option "
        f"log-likelihoods of every model; {len(without)} of {len(group)} have neither, the first "
        f"is {without[0]}"
    )


def _view(evaluation: Evaluation, kind: str, positions: str | None) -> Predictive:
    if kind == "predictive":
        return predictive_view(evaluation, positions)[1]
    return option_view(evaluation)[0]


def _own(evaluation: Evaluation, kind: str, settings: Settings) -> Partition:
    return partition(
        evaluation, kind, positions=settings.positions, tau=settings.tau, k=settings.k,
        k_range=(settings.k_min, settings.k_max), k_rule=settings.k_rule,
        min_share=settings.min_share, seed=settings.seed,
    )  # fmt: skip


def _mean_similarity(
    views: Sequence[Predictive], tau: float | str
) -> tuple[FloatArray, list[float]]:
    total, taus = np.zeros((len(views[0]), len(views[0]))), []
    for view in views:
        j = jeffreys(view)
        taus.append(median_tau(j).value if tau == "median" else float(tau))
        total += similarity_of(j, taus[-1])
    total /= len(views)
    return total, taus


def _keys(views: Sequence[Predictive]) -> list[bytes]:
    parts = [p for v in views for p in (v.logprobs, v.token_ids) if p is not None]
    return [
        hashlib.blake2b(b"".join(part[i].tobytes() for part in parts), digest_size=16).digest()
        for i in range(len(views[0]))
    ]


def _ari(a: Any, b: Any) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(a, b))


def _rand(labels: Sequence[Any]) -> FloatArray:
    m = len(labels)
    out = np.full((m, m), np.nan)
    for i in range(m):
        for j in range(i, m):
            if labels[i] is not None and labels[j] is not None:
                out[i, j] = out[j, i] = _ari(labels[i], labels[j])
    return out


def _h(evaluation: Evaluation, split: Partition, settings: Settings) -> float | None:
    if evaluation.scores is None:
        return None
    return harmony(evaluation, split, bandwidth=settings.bandwidth, epsilon=settings.epsilon).value


def _artefact_means(
    evaluations: Sequence[Evaluation], partitions: Sequence[Partition]
) -> dict[str, float]:
    """Return the mean over models of each artefact's adjusted mutual information."""
    found: dict[str, list[float]] = {}
    for e, p in zip(evaluations, partitions, strict=True):
        for a in artefacts(e, p):
            found.setdefault(a.name, []).append(a.ami)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _mean(values: FloatArray) -> float | None:
    """Return the mean of what is not NaN, None where nothing is."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else None


def _listed(values: FloatArray) -> Any:
    """Return nested lists with None for NaN."""
    if values.ndim == 1:
        return [None if np.isnan(v) else float(v) for v in values]
    return [_listed(row) for row in values]
