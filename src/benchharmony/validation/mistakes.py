"""How well H is recovered by partitions with a known number of mistakes: what r can be expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.metric import harmony_score, summarise
from benchharmony.validation.recovery import Fit, fit_of, sub_benchmarks

Labels = NDArray[np.int64]
Spoil = Callable[[Labels, np.random.Generator], Labels]

#: Shares of the items that get a random subdomain.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class Spoilt:
    """Recovery under declared partitions with mistakes.

    Attributes
    ----------
    mistakes : str
        What was done to the labels.
    ari : float
        Mean adjusted Rand index that is left.
    fit : Fit
        H under the spoilt partition against H under the declared one.
    """

    mistakes: str
    ari: float
    fit: Fit


def recovery_with_mistakes(number: int = 200, *, seed: int = 0) -> list[Spoilt]:
    """Return the recovery over sub-benchmarks of 4 subdomains of up to 150 items.

    Parameters
    ----------
    number : int
        Sub-benchmarks, with planted scores; the same for all kinds of mistakes.
    seed : int
        Of everything drawn.
    """
    declared = np.repeat(np.arange(4), 150)
    subs = list(sub_benchmarks(declared, number, seed=seed))
    kinds: dict[str, Spoil] = {
        f"{share:.0%} of the items at random": _at_random(share) for share in SHARES
    }
    kinds["two whole subdomains mixed"] = _two_mixed
    out = []
    for name, spoil in kinds.items():
        rng = np.random.default_rng(seed)
        spoilt = [spoil(sub.labels, rng) for sub in subs]
        true = [_h(sub.scores, sub.labels) for sub in subs]
        fit = fit_of(true, [_h(s.scores, x) for s, x in zip(subs, spoilt, strict=True)], seed=seed)
        out.append(Spoilt(name, _agreement([s.labels for s in subs], spoilt), fit))
    return out


def _at_random(share: float) -> Spoil:
    def spoil(labels: Labels, rng: np.random.Generator) -> Labels:
        wrong = rng.random(len(labels)) < share
        drawn = rng.integers(0, labels.max() + 1, len(labels))
        return _renumbered(np.where(wrong, drawn, labels))

    return spoil


def _two_mixed(labels: Labels, rng: np.random.Generator) -> Labels:
    a, b = rng.choice(labels.max() + 1, 2, replace=False)
    mixed = (labels == a) | (labels == b)
    return _renumbered(np.where(mixed, rng.choice([a, b], len(labels)), labels))


def _renumbered(labels: Labels) -> Labels:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _h(scores: NDArray[np.float64], labels: Labels) -> float:
    s = summarise(scores, labels)
    return harmony_score(s.weights, s.performance)


def _agreement(true: list[Labels], spoilt: list[Labels]) -> float:
    from sklearn.metrics import adjusted_rand_score

    pairs = zip(true, spoilt, strict=True)
    return float(np.mean([adjusted_rand_score(a, b) for a, b in pairs]))
