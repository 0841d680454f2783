"""The landscape in words: a verdict per benchmark and warnings about who is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchharmony.models import ModelInfo

REPRESENTATIVE = "representative"
UNEVEN = "uneven: read the subdomains"
MIXED = "depends on the model"
CANNOT_TELL = "cannot tell"

#: Agreement from which a model counts as even: deviations of half a bandwidth (as in verdict.py).
EVEN = 0.78
#: The interval of mean agreement of a representative benchmark does not reach below this.
EVEN_LOW = 0.6
#: Share of models that must agree for a verdict on all of them.
_MOST = 0.8
#: Fewer models than this make a landscape of those models and little else.
FEW_MODELS = 5

#: What the corners of the plane mean.
CORNERS = {
    "high mean, low variance": "the average stands for the whole, whichever model is looked at",
    "low mean, high variance": "the average hangs on a few subdomains, and on which ones depends "
    "on the model: scores of different models do not compare like with like",
    "low mean, low variance": "every model's average hangs on a few subdomains in the same way",
    "high mean, high variance": "fine for most models, not for some: read the exceptions",
}


def verdict(agreements: Sequence[float], agreement: dict[str, Any], flagged: str | None) -> Any:
    """Return the verdict on a benchmark: a label and a sentence.

    It is on these models with other items like these; the interval of the mean says what it may be
    for other models.

    Parameters
    ----------
    agreements : sequence of float
        Noise-adjusted agreement of each model.
    agreement : dict
        Its moments over models.
    flagged : str or None
        The artefact that the partitions restate, where most of them do.
    """
    m = len(agreements)
    even = sum(a >= EVEN for a in agreements) / m
    low, high = agreement["items_ci"]
    shown = (
        f"mean adjusted agreement {agreement['mean']:.2f} [{low:.2f}, {high:.2f}] for these "
        f"models, {EVEN} or more for {even:.0%} of {m}"
    )
    if flagged:
        return _made(
            CANNOT_TELL,
            f"The subdomains restate {flagged}, so H says nothing about topics ({shown}).",
        )
    if m < 3:
        return _made(CANNOT_TELL, f"{m} model{'s' * (m > 1)}: no landscape ({shown}).")
    if agreement["mean"] >= EVEN and low >= EVEN_LOW and even >= _MOST:
        return _made(REPRESENTATIVE, f"Models' subdomains score near their averages ({shown}).")
    if high < EVEN and even <= 1 - _MOST:
        return _made(
            UNEVEN, f"Models score unevenly over the subdomains: the averages hide it ({shown})."
        )
    differ = agreement["variance_ci"][0] > 0  # by more than their items' noise
    if 1 - _MOST < even < _MOST and differ:
        return _made(MIXED, f"Even for some models and not for others ({shown}).")
    return _made(
        CANNOT_TELL, f"These items fit a nearly even benchmark as well as an uneven one ({shown})."
    )


def _made(label: str, sentence: str) -> dict[str, str]:
    return {"label": label, "sentence": sentence}


def membership_warnings(models: Sequence[ModelInfo]) -> list[str]:
    """Return what to know about the models that a landscape rests on."""
    out = []
    count = len(models)
    if count < FEW_MODELS:
        out.append(
            f"only {count} model{'s' * (count != 1)}: mean and variance over models describe "
            f"these and hardly any others ({FEW_MODELS} or more are wanted)"
        )
    families = Counter(m.family for m in models if m.family)
    if families and count >= 2:
        name, members = families.most_common(1)[0]
        if members / count > 0.5:
            out.append(
                f"family {name} has {members} of {count} models and dominates the landscape; "
                "read the leave-one-family-out band"
            )
    unknown = sum(m.family is None for m in models)
    if unknown and count >= 2:
        out.append(
            f"the family of {unknown} of {count} models is unknown (their names do not say it); "
            "--models FILE gives it"
        )
    return out
