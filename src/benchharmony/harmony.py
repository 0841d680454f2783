"""HARMONY of one evaluation under one partition, with everything that helps to read it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.induced import MIN_ITEMS
from benchharmony.metric import (
    BANDWIDTH,
    EPSILON,
    Subdomains,
    agreement,
    harmony_score,
    performance_masses,
    shrunken_performance,
    size_evenness,
    summarise,
    weighted_sd,
)
from benchharmony.notebook.of_parts import HarmonyInNotebook
from benchharmony.partition import Partition

#: Bandwidths whose H is always shown beside the chosen one.
SENSITIVITY = (0.05, 0.1, 0.2)
#: H at least this high with agreement under that low is the blind spot: worth a warning.
BLIND_HARMONY, BLIND_AGREEMENT = 0.8, 0.5


@dataclass(frozen=True)
class HarmonyResult(HarmonyInNotebook):
    """H of one evaluation and its companions. A number that is undefined is None.

    Attributes
    ----------
    value : float or None
        H as the paper defines it, in [0, 1].
    adjusted : float or None
        H after taking the sampling noise out of the subdomain performances.
    mean : float
        Mean score, in [0, 1].
    size_evenness, agreement, weighted_sd, worst : float or None
        Companions: entropy evenness of the sizes; closeness of the subdomains to the mean; spread
        in score units; lowest subdomain performance.
    by_k : dict of int to (float or None)
        H for every k tried.
    sensitivity : dict of float to (float or None)
        H for other bandwidths.
    subdomains : Subdomains
        Sizes, weights and performances.
    masses : ndarray, shape (k,)
        The masses p_i.
    names : tuple of str, length k
        Of the subdomains.
    undefined : str or None
        Why H has no value.
    settings : mapping
        Bandwidth and epsilon.
    notes : tuple of str
        Warnings in words.
    """

    value: float | None
    adjusted: float | None
    mean: float
    size_evenness: float | None
    agreement: float | None
    weighted_sd: float | None
    worst: float | None
    by_k: Mapping[int, float | None]
    sensitivity: Mapping[float, float | None]
    subdomains: Subdomains
    masses: NDArray[np.float64]
    names: tuple[str, ...] = ()
    undefined: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if self.value is None:
            return f"<HarmonyResult: undefined, {self.undefined}>"
        return f"<HarmonyResult: H {self.value:.3f}, {len(self.masses)} subdomains>"


def harmony(
    evaluation: Evaluation,
    partition: Partition,
    *,
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    sensitivity: Sequence[float] = SENSITIVITY,
) -> HarmonyResult:
    """Compute HARMONY of an evaluation under a partition of its items.

    Parameters
    ----------
    evaluation : Evaluation
        With scores, of n items.
    partition : Partition
        Of the same n items.
    bandwidth, epsilon : float
        b of the masses (in units of score) and eps inside the logarithm.
    sensitivity : sequence of float
        Bandwidths to report beside.

    Raises
    ------
    BenchharmonyError
        When the evaluation has no scores or the partition is of other items.
    """
    if not isinstance(evaluation, Evaluation) or not isinstance(partition, Partition):
        raise BenchharmonyError(
            "harmony takes an Evaluation and a Partition (benchharmony.partition makes one), got "
            f"{type(evaluation).__name__} and {type(partition).__name__}"
        )
    scores = evaluation.scores
    if scores is None:
        raise BenchharmonyError(
            f"{evaluation.name}: the source has no answer key and no scores, so there is no "
            "performance to spread; it can only be partitioned"
        )
    if len(partition) != len(scores):
        raise BenchharmonyError(
            f"the partition is of {len(partition)} items, the evaluation of {len(scores)}"
        )
    parts = summarise(scores, partition.labels)
    w, psi = parts.weights, parts.performance
    why = _undefined(len(scores), partition)
    _, masses = performance_masses(w, psi, bandwidth=bandwidth)

    def value_of(performance: NDArray[np.float64], b: float) -> float | None:
        return None if why else _number(harmony_score(w, performance, bandwidth=b, epsilon=epsilon))

    shrunk = shrunken_performance(w, psi, parts.variances)
    h, agreed = value_of(psi, bandwidth), float(agreement(w, psi, bandwidth=bandwidth))
    notes = () if h is None else _notes(h, agreed, scores)
    return HarmonyResult(
        value=h,
        adjusted=value_of(shrunk, bandwidth),
        mean=float(scores.mean()),
        size_evenness=None if why else _number(float(size_evenness(w))),
        agreement=None if why else agreed,
        weighted_sd=None if why else float(weighted_sd(w, psi)),
        worst=None if why else float(psi.min()),
        by_k={
            k: _at_k(scores, labels, bandwidth, epsilon)
            for k, labels in partition.labels_by_k.items()
        },
        sensitivity={b: value_of(psi, b) for b in sensitivity},
        subdomains=parts,
        masses=masses,
        names=partition.names,
        undefined=why,
        settings={"bandwidth": bandwidth, "epsilon": epsilon},
        notes=notes,
    )


def _undefined(n: int, partition: Partition) -> str | None:
    if n < MIN_ITEMS:
        return f"fewer than {MIN_ITEMS} items"
    return partition.undefined


def _at_k(
    scores: NDArray[np.float64], labels: NDArray[np.int64], bandwidth: float, epsilon: float
) -> float | None:
    parts = summarise(scores, labels)
    return _number(
        harmony_score(parts.weights, parts.performance, bandwidth=bandwidth, epsilon=epsilon)
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _notes(h: float, agreed: float, scores: NDArray[np.float64]) -> tuple[str, ...]:
    notes = []
    if h >= BLIND_HARMONY and agreed < BLIND_AGREEMENT:
        notes.append(
            f"H is high ({h:.2f}) while agreement is low ({agreed:.2f}): the subdomains lie far "
            "from the mean by similar amounts, which H cannot see; read the subdomains"
        )
    if (scores == scores[0]).all():
        notes.append(
            f"every item has the same score ({scores[0]:g}): H shows the sizes of the "
            "subdomains and nothing else"
        )
    return tuple(notes)
