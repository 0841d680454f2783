"""How a similarity ranks paraphrases above look-alikes, with an interval and chance beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.validation.redundantqa import RedundantItem, overlap_gap

FloatArray = NDArray[np.float64]
Interval = tuple[float, float]

_DRAWS = 2000


@dataclass(frozen=True)
class Ranked:
    """An AUC over some of the paraphrases: 1, always nearer to the reference; 0, never.

    Attributes
    ----------
    auc : float
        Over all pairs of a paraphrase and a distractor of any groups, each by its similarity to
        its own reference; ties count half.
    interval : (float, float)
        Percentiles of a bootstrap over groups.
    within : float
        Over pairs of one group, averaged over groups.
    within_interval : (float, float)
        The same bootstrap's.
    """

    auc: float
    interval: Interval
    within: float
    within_interval: Interval


@dataclass(frozen=True)
class Ranking:
    """What :func:`ranking` finds.

    Attributes
    ----------
    all, par1, par2 : Ranked
        With both paraphrases; with the one that keeps the answer's words; with the one that
        rewords it.
    others : float
        How often a paraphrase is nearer to its reference than an item of another group of its
        domain is: what a similarity that only avoids shared words cannot win.
    random : float
        AUC over all pairs with the roles shuffled inside every group, averaged over shuffles:
        about 0.5.
    groups : int
        Groups that were ranked.
    """

    all: Ranked
    par1: Ranked
    par2: Ranked
    others: float
    random: float
    groups: int


def whole_groups(items: Sequence[RedundantItem]) -> list[int]:
    """Return the rows of the items whose group has all its five members, in order."""
    size: dict[str, int] = {}
    for item in items:
        size[item.group] = size.get(item.group, 0) + 1
    return [i for i, item in enumerate(items) if size[item.group] == 5]


def ranking(
    items: Sequence[RedundantItem],
    similarity: FloatArray,
    *,
    level: float = 0.95,
    draws: int = _DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank paraphrases against distractors by their similarity to the reference.

    Parameters
    ----------
    items : sequence of RedundantItem
        n items; groups without all their five members are left out.
    similarity : ndarray, shape (n, n)
        Greater is more similar; row i is what the others are compared with.
    level : float
        Of the intervals.
    draws : int
        Bootstrap draws, each of as many groups as there are.
    seed : int
        Of the bootstrap and the shuffles.

    Raises
    ------
    BenchharmonyError
        When no group is whole.
    """
    rows = whole_groups(items)
    if not rows:
        raise BenchharmonyError("RedundantQA: no group has all its five items")
    kept = [items[i] for i in rows]
    matrix = similarity[np.ix_(rows, rows)]
    rng = np.random.default_rng(seed)
    ranked = {}
    for suffixes in (("par1", "par2"), ("par1",), ("par2",)):
        some = [i for i, item in enumerate(kept) if _in(item, suffixes)]
        ranked[suffixes] = _ranked([kept[i] for i in some], matrix[np.ix_(some, some)],
                                   level, draws, rng)  # fmt: skip
    return Ranking(
        ranked[("par1", "par2")], ranked[("par1",)], ranked[("par2",)],
        _others(kept, matrix), _shuffled(kept, matrix, rng), len({item.group for item in kept}),
    )  # fmt: skip


def _in(item: RedundantItem, suffixes: tuple[str, ...]) -> bool:
    return item.role != "paraphrase" or item.id.endswith(suffixes)


def _ranked(
    items: list[RedundantItem],
    similarity: FloatArray,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> Ranked:
    gap = overlap_gap(items, similarity)
    wins = _wins(*_to_reference(items, similarity))
    n = len(wins)
    times = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
    # A draw repeats groups: its AUC is the mean of the wins between the groups it holds.
    overall = ((times @ wins) * times).sum(axis=1) / n**2
    within = times @ np.diag(wins) / n
    tail = (1 - level) / 2
    low, high = np.quantile([overall, within], [tail, 1 - tail], axis=1)
    return Ranked(
        gap.auc, (float(low[0]), float(high[0])), gap.auc_within, (float(low[1]), float(high[1]))
    )


def _to_reference(
    items: Sequence[RedundantItem], similarity: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return similarities to the own reference, (groups, m) of paraphrases and of distractors."""
    reference = {item.group: i for i, item in enumerate(items) if item.role == "reference"}
    rows: dict[str, dict[str, list[float]]] = {g: {} for g in reference}
    for i, item in enumerate(items):
        value = float(similarity[reference[item.group], i])
        rows[item.group].setdefault(item.role, []).append(value)
    return (
        np.array([r["paraphrase"] for r in rows.values()]),
        np.array([r["distractor"] for r in rows.values()]),
    )


def _wins(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return how often a paraphrase of group g exceeds a distractor of group h, (groups, groups).

    Ties count half.
    """
    total = np.zeros((len(above), len(below)))
    for a in above.T:
        for b in below.T:
            total += (a[:, None] > b[None, :]) + 0.5 * (a[:, None] == b[None, :])
    mean: FloatArray = total / (above.shape[1] * below.shape[1])
    return mean


def _others(items: Sequence[RedundantItem], similarity: FloatArray) -> float:
    groups = np.array([item.group for item in items])
    domains = np.array([item.domain for item in items])
    reference = {item.group: i for i, item in enumerate(items) if item.role == "reference"}
    shares = []
    for i, item in enumerate(items):
        if item.role != "paraphrase":
            continue
        near = similarity[reference[item.group]]
        rest = near[(domains == item.domain) & (groups != item.group)]
        if len(rest):
            shares.append(np.mean(near[i] > rest) + 0.5 * np.mean(near[i] == rest))
    return float(np.mean(shares)) if shares else float("nan")


def _shuffled(
    items: list[RedundantItem], similarity: FloatArray, rng: np.random.Generator, times: int = 20
) -> float:
    above, below = _to_reference(items, similarity)
    both = np.concatenate([above, below], axis=1)
    means = []
    for _ in range(times):
        mixed = rng.permuted(both, axis=1)
        means.append(_wins(mixed[:, :2], mixed[:, 2:]).mean())
    return float(np.mean(means))
