"""One evaluation's verdict in words: can its average be trusted as a whole.

The rules, in order (thresholds in :class:`Thresholds`; error rates in docs/uncertainty.md):

1. Fewer than two subdomains: *undefined*.
2. The partition mirrors an artefact (the predicted letter, say): *artefact partition*.
3. Too few items, or too many of them in tiny subdomains: *cannot tell*.
4. Agreement (posterior median) under ``agreement``, its interval not above ``agreement_high``,
   and the same-size null rejected: *uneven*.
5. Agreement over it, and its interval not below ``agreement_low``: *representative*, or
   *representative with exceptions* where single subdomains clearly stand apart.
6. Otherwise *cannot tell*.

Agreement decides, not H: H also falls with uneven sizes, which do no harm where performance is
even, and stays high when all subdomains deviate alike. What H adds is said in the notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchharmony.counts import effective_counts, wilson
from benchharmony.metric import (
    BANDWIDTH,
    harmony_score,
    shrunken_performance,
    size_evenness,
    summarise,
)
from benchharmony.nulls import Null
from benchharmony.resampling import checked
from benchharmony.uncertainty import Intervals

REPRESENTATIVE = "representative"
EXCEPTIONS = "representative with exceptions"
UNEVEN = "uneven: read the subdomains"
TOO_FEW = "cannot tell: too few items"
ARTEFACT = "artefact partition"
UNDEFINED = "undefined: fewer than two subdomains"

#: Every label a verdict can have.
LABELS = (REPRESENTATIVE, EXCEPTIONS, UNEVEN, TOO_FEW, ARTEFACT, UNDEFINED)


@dataclass(frozen=True)
class Thresholds:
    """Where the rules draw their lines; adjust with ``dataclasses.replace``.

    Attributes
    ----------
    agreement : float
        Agreement of at least this is even: 0.78 is that of deviations of half a bandwidth.
    agreement_low : float
        The interval of agreement may not reach below this in a representative evaluation.
    agreement_high : float
        Nor above this in an uneven one.
    alpha : float
        Level of the null's test.
    items : int
        Fewer items than this tell nothing.
    tiny : int
        Fewer items than this make a subdomain tiny.
    tiny_share : float
        Largest share of the items that may sit in tiny subdomains.
    stands_apart : float
        A subdomain is an exception when its simultaneous interval lies further than this from
        the mean, in score units.
    size_loss, high_harmony, dominant, extreme : float
        For the notes: loss of H through sizes or noise worth a word, H that counts as high, the
        share of items from which the average is mostly one subdomain's (and half as much again
        as the share of each of equal ones), and how near to 0 or 1 a score leaves no room.
    """

    agreement: float = 0.78
    agreement_low: float = 0.6
    agreement_high: float = 0.9
    alpha: float = 0.05
    items: int = 30
    tiny: int = 5
    tiny_share: float = 0.2
    stands_apart: float = 0.1
    size_loss: float = 0.1
    high_harmony: float = 0.9
    dominant: float = 0.5
    extreme: float = 0.05


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    Attributes
    ----------
    items, k : int
        Items and subdomains.
    score : float
        Mean of the items' scores.
    sizes : tuple of int
        Items of each subdomain.
    harmony, adjusted, evenness : float
        Raw H, noise-adjusted H, size evenness (NaN for k < 2).
    agreement : float
        Posterior median of the true agreement.
    agreement_interval : (float, float)
        Its interval.
    p_value : float
        Of the same-size null (a q-value across a report does as well).
    matched_p : float or None
        Of the difficulty-matched null, where there is a confidence.
    artefacts : tuple of str
        Artefacts the partition mirrors.
    exceptions : tuple of str
        Subdomains that clearly stand apart.
    """

    items: int
    k: int
    score: float
    sizes: tuple[int, ...]
    harmony: float
    adjusted: float
    evenness: float
    agreement: float
    agreement_interval: tuple[float, float]
    p_value: float
    matched_p: float | None = None
    artefacts: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """A label of :data:`LABELS`, a sentence that says why, and further notes."""

    label: str
    sentence: str
    notes: tuple[str, ...]


def gather(
    scores: ArrayLike,
    labels: ArrayLike,
    intervals: Intervals,
    same_size: Null,
    *,
    matched: Null | None = None,
    artefacts: Sequence[str] = (),
    names: Sequence[str] | None = None,
    bandwidth: float = BANDWIDTH,
    thresholds: Thresholds | None = None,
) -> Evidence:
    """Collect the evidence on one evaluation.

    Parameters
    ----------
    scores, labels : array_like, shape (n,)
        Item scores and subdomains 0..k-1.
    intervals : Intervals
        Of the same scores and labels.
    same_size, matched : Null
        Outcomes of the same-size and, if any, the difficulty-matched null.
    artefacts : sequence of str
        Names of the artefacts flagged.
    names : sequence of str, optional
        Of the subdomains; their numbers by default.
    """
    score, label, k = checked(scores, labels)
    subdomains = summarise(score, label)
    weights, performance = subdomains.weights, subdomains.performance
    shrunk = shrunken_performance(weights, performance, subdomains.variances)
    apart = standing_apart(score, label, thresholds)
    return Evidence(
        items=len(score),
        k=k,
        score=float(score.mean()),
        sizes=tuple(int(x) for x in subdomains.sizes),
        harmony=harmony_score(weights, performance, bandwidth=bandwidth),
        adjusted=harmony_score(weights, shrunk, bandwidth=bandwidth),
        evenness=float(size_evenness(weights)),
        agreement=intervals.agreement_median,
        agreement_interval=intervals.agreement,
        p_value=same_size.p_value,
        matched_p=None if matched is None else matched.p_value,
        artefacts=tuple(artefacts),
        exceptions=tuple(str(i) if names is None else names[i] for i in apart),
    )


def standing_apart(
    scores: ArrayLike, labels: ArrayLike, thresholds: Thresholds | None = None
) -> list[int]:
    """Return the subdomains whose simultaneous (Bonferroni) interval is clear of the mean."""
    limits = thresholds or Thresholds()
    score, label, k = checked(scores, labels)
    counts = effective_counts(score, label)
    interval = wilson(counts.successes / counts.sizes, counts.sizes, 1 - limits.alpha / k)
    mean = float(score.mean())
    below = interval[:, 1] < mean - limits.stands_apart
    above = interval[:, 0] > mean + limits.stands_apart
    return [int(i) for i in np.flatnonzero(below | above)]


def verdict(evidence: Evidence, thresholds: Thresholds | None = None) -> Verdict:
    """Apply the rules of this module to the evidence."""
    limits = thresholds or Thresholds()
    label, sentence = _ruling(evidence, limits)
    return Verdict(label, sentence, tuple(_notes(evidence, limits, label)))


def _ruling(e: Evidence, limits: Thresholds) -> tuple[str, str]:
    if e.k < 2:
        return UNDEFINED, "All items are in one subdomain, so there is nothing to compare."
    if e.artefacts:
        return ARTEFACT, (
            f"The subdomains mirror {_listed(e.artefacts)}, not what the items are about; "
            "H does not say how the score is spread over topics."
        )
    tiny = sum(s for s in e.sizes if s < limits.tiny)
    if e.items < limits.items or tiny > limits.tiny_share * e.items:
        return TOO_FEW, (
            f"{e.items} items in {e.k} subdomains, {tiny} of them in subdomains under "
            f"{limits.tiny} items: too few to say how the score is spread."
        )
    low, high = e.agreement_interval
    measured = f"true agreement about {e.agreement:.2f}, {low:.2f} to {high:.2f}"
    clear = e.p_value <= limits.alpha and high <= limits.agreement_high
    if e.agreement < limits.agreement and clear:
        return UNEVEN, (
            f"The score differs between subdomains by more than chance ({measured}, "
            f"p = {e.p_value:.2g}): the average does not stand for the whole."
        )
    if e.agreement >= limits.agreement and low >= limits.agreement_low:
        if e.exceptions:
            return EXCEPTIONS, (
                f"Most items sit in subdomains that score near the average ({measured}), "
                f"but {_listed(e.exceptions)} clearly differ{'s' * (len(e.exceptions) == 1)}."
            )
        return REPRESENTATIVE, f"The subdomains score near the average ({measured})."
    return TOO_FEW, (
        f"These items fit a nearly even benchmark as well as an uneven one ({measured}, "
        f"p = {e.p_value:.2g})."
    )


def _notes(e: Evidence, limits: Thresholds, label: str) -> list[str]:
    if label == UNDEFINED:
        return []
    notes = []
    if e.harmony >= limits.high_harmony and e.agreement < limits.agreement:
        notes.append(
            f"H is high ({e.harmony:.2f}) although the subdomains differ: they deviate from the "
            "average by about the same amount, which H cannot see."
        )
    if 1.0 - e.evenness >= limits.size_loss:
        notes.append(
            f"Uneven sizes alone take {1.0 - e.evenness:.2f} off H, whatever the performance."
        )
    largest = max(e.sizes) / e.items
    if largest >= max(limits.dominant, 1.5 / e.k):
        notes.append(
            f"One subdomain holds {largest:.0%} of the items: the average is mostly its score."
        )
    if label in (REPRESENTATIVE, EXCEPTIONS) and min(e.score, 1 - e.score) <= limits.extreme:
        notes.append(
            f"The score is {e.score:.3f}, close to {round(e.score)}, which leaves subdomains no "
            "room to differ: that they agree says little."
        )
    if label == UNEVEN and e.matched_p is not None and e.matched_p > limits.alpha:
        notes.append(
            "The model's confidence accounts for the differences "
            f"(difficulty-matched p = {e.matched_p:.2g})."
        )
    if e.adjusted - e.harmony >= limits.size_loss:
        notes.append(
            f"Sampling noise takes about {e.adjusted - e.harmony:.2f} off raw H "
            f"({e.harmony:.2f}); adjusted for it, H is {e.adjusted:.2f}."
        )
    return notes


def _listed(names: Sequence[str], most: int = 3) -> str:
    shown = list(names[:most])
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
