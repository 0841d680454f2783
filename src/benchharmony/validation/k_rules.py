"""Rules for the number of subdomains, compared by agreement with declared ones and error of H.

A rule that decides by a merit takes the admissible k of the highest merit; a rule that decides by
a bar takes the finest admissible k over the bar, and the highest merit where none is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.choice import WEAK
from benchharmony.metric import harmony_values
from benchharmony.spectral import Sweep, eigengap_by_k, silhouette_by_k, stability_by_k
from benchharmony.validation.case import Case, declared_codes
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import admissible, clustered, found, modularity
from benchharmony.validation.recovery import SPREADS

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

#: The silhouette where it says something, else the finest k that subsamples agree on.
SUPPORTED = f"auto: silhouette from {WEAK:g}, else stability"
#: Score vectors planted for the error of H: so many for each spread of performance.
_DRAWS = 20


@dataclass(frozen=True)
class Chosen:
    """What one rule chose and how near that comes to the declared subdomains.

    Attributes
    ----------
    positions, rule : str
        Distributions compared and the rule's name.
    k : int or None
        Its choice; None where no k is admissible.
    ari, ami : float
        With the declared subdomains.
    h_error : float
        Mean absolute error of H over planted scores, even to uneven.
    h_error_recorded : float
        Absolute error of H with the recorded scores.
    random_h_error : float
        As ``h_error``, of the same sizes with shuffled membership.
    """

    positions: str
    rule: str
    k: int | None
    ari: float
    ami: float
    h_error: float
    h_error_recorded: float
    random_h_error: float


def compare_rules(case: Case, k_range: tuple[int, int], *, seed: int = 0) -> list[Chosen]:
    """Let every rule choose k for every recorded positions of a case.

    Parameters
    ----------
    case : Case
        With declared subdomains.
    k_range : (int, int)
        Smallest and largest k.
    seed : int
        Of k-means, subsamples and planted scores.

    Returns
    -------
    list of Chosen
        The declared number of subdomains itself comes as the rule "declared".
    """
    truth = declared_codes(case)
    planted = planted_scores(truth, seed)
    recorded = case.evaluation.scores
    out = []
    for positions, divergence in case.divergence.items():
        similarity = similarity_from(divergence)
        sweep = clustered(similarity, k_range, (case.n_declared,), seed=seed)
        for rule, k in choices(divergence, similarity, sweep, k_range, seed=seed).items():
            out.append(_judged(positions, rule, k, sweep, truth, planted, recorded, seed))
        out.append(
            _judged(positions, "declared", case.n_declared, sweep, truth, planted, recorded, seed)
        )
    return out


def choices(
    divergence: FloatArray,
    similarity: FloatArray,
    sweep: Sweep,
    k_range: tuple[int, int],
    *,
    seed: int = 0,
) -> dict[str, int | None]:
    """Return the k that each rule chooses, None where no k is admissible.

    Parameters
    ----------
    divergence, similarity : ndarray, shape (n, n)
        J and S.
    sweep : Sweep
        Clusterings of S.
    k_range : (int, int)
        Smallest and largest k.
    seed : int
        Of the subsamples.
    """
    ks = admissible(sweep, k_range)
    labels = {k: sweep.labels[k] for k in ks}
    stable = stability_by_k(similarity, ks, seed=seed) if ks else {}
    gaps = eigengap_by_k(sweep.eigenvalues, ks)
    merits: dict[str, dict[int, float]] = {
        "silhouette, 1 - S": sweep.silhouette,
        "silhouette, J": _silhouette(divergence, labels),
        "silhouette, root of J": _silhouette(np.sqrt(divergence), labels),
        "silhouette, embedding": embedded_silhouettes(sweep, ks),
        "eigengap": gaps,
        "eigengap, relative": {k: g / (1 - sweep.eigenvalues[k] + 1e-9) for k, g in gaps.items()},
        "modularity": {k: modularity(similarity, labels[k]) for k in ks},
    }
    out: dict[str, int | None] = {name: _highest(m, ks) for name, m in merits.items()}
    for bar in (0.6, 0.7, 0.8):
        out[f"stability over {bar:g}"] = _finest(stable, ks, bar)
    top = out["silhouette, 1 - S"]
    supported = top is not None and sweep.silhouette[top] >= WEAK
    out[SUPPORTED] = top if supported else out["stability over 0.7"]
    return out


def _highest(merits: dict[int, float], ks: Sequence[int]) -> int | None:
    rated = [k for k in ks if np.isfinite(merits.get(k, np.nan))]
    return max(rated, key=lambda k: (merits[k], -k)) if rated else None


def _finest(merits: dict[int, float], ks: Sequence[int], bar: float) -> int | None:
    over = [k for k in ks if merits.get(k, -1.0) > bar]
    return max(over) if over else _highest(merits, ks)


def _silhouette(distance: FloatArray, labels: dict[int, Labels]) -> dict[int, float]:
    """Return the silhouettes on any distance: they do not change with its scale."""
    if not labels:
        return {}
    finite = np.where(np.isfinite(distance), distance, np.nan)
    top = float(np.nanmax(finite))
    return silhouette_by_k(1 - np.nan_to_num(finite, nan=top) / top, labels)


def embedded_silhouettes(sweep: Sweep, ks: Sequence[int]) -> dict[int, float]:
    """Return the silhouette of each k on distances in its own k spectral coordinates."""
    out: dict[int, float] = {}
    for k in ks:
        x = np.asarray(sweep.embedding[:, :k], dtype=np.float64)
        norm = (x * x).sum(axis=1)
        squared = np.maximum(norm[:, None] + norm[None, :] - 2 * x @ x.T, 0.0)
        out |= _silhouette(np.sqrt(squared), {k: sweep.labels[k]})
    return out


def planted_scores(truth: Labels, seed: int) -> FloatArray:
    """Return right-or-wrong scores for spreads of performance from even to uneven, (m, n)."""
    rng = np.random.default_rng(seed)
    k = int(truth.max()) + 1
    rows = []
    for spread in SPREADS:
        for _ in range(_DRAWS):
            rates = np.clip(rng.uniform(0.4, 0.75) + spread * rng.standard_normal(k), 0.03, 0.97)
            rows.append(rng.random(len(truth)) < rates[truth])
    return np.array(rows, dtype=np.float64)


def harmony_of(scores: FloatArray, labels: Labels) -> FloatArray:
    """Return H of many score vectors, shape (m, n), under one partition, shape (m,)."""
    member = np.eye(int(labels.max()) + 1)[labels]
    sizes = member.sum(axis=0)
    performance = scores @ member / sizes
    return harmony_values(np.broadcast_to(sizes, performance.shape), performance)


def _judged(
    positions: str,
    rule: str,
    k: int | None,
    sweep: Sweep,
    truth: Labels,
    planted: FloatArray,
    recorded: FloatArray | None,
    seed: int,
) -> Chosen:
    nan = float("nan")
    if k is None or k not in sweep.labels:
        return Chosen(positions, rule, None, nan, nan, nan, nan, nan)
    labels = sweep.labels[k]
    agreed = found(labels, truth.tolist(), shuffles=1, seed=seed)
    real = harmony_of(planted, truth)
    mixed = np.random.default_rng(seed).permutation(labels)
    error: Callable[[Labels], float] = lambda some: float(  # noqa: E731
        np.abs(harmony_of(planted, some) - real).mean()
    )
    at_recorded = nan
    if recorded is not None:
        pair = [float(harmony_of(recorded[None], some)[0]) for some in (labels, truth)]
        at_recorded = abs(pair[0] - pair[1])
    return Chosen(
        positions, rule, k, agreed.ari, agreed.ami, error(labels), at_recorded, error(mixed)
    )
