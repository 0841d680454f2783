"""Partition: labels that split the items of an evaluation into subdomains, and how they came about.

Induced partitions cluster a similarity of the items ("predictive" is the paper's; "options" is
not, and says so); declared ones take a column of the log. Rows are put into an order that depends
on their content alone before anything is computed, so that the order of a log changes nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys, median_tau, similarity_of
from benchharmony.spectral import (
    Labels,
    Sweep,
    eigengap_by_k,
    ordered_labels,
    spectral_sweep,
    stability_by_k,
)

KRule = Literal["silhouette", "eigengap", "stability"]
FloatArray = NDArray[np.float64]

#: Fewer items than this are not split: shares and silhouettes of so few say nothing.
MIN_ITEMS = 20
#: The guard against subdomains of a few odd items, when k is chosen.
MIN_SHARE, MIN_SUBDOMAIN = 0.02, 5
#: "The finest k whose subsamples still agree": the adjusted Rand index that counts as agreeing.
STABLE = 0.7
#: A chosen k = 2 is hardly supported under this silhouette ("no substantial structure", Kaufman
#: and Rousseeuw 1990), or with the curve at some k of 4 or more this close to it.
WEAK, FLAT = 0.25, 0.05
#: Probability of an option that an item does not have, where items differ in number of options.
MISSING_OPTION = 1e-6
#: Columns that name subdomains, best first, where a log declares several columns.
DECLARED_NAMES = (
    "subdomain", "subject", "domain", "topic", "category", "classification", "subcategory",
    "discipline", "field", "area", "skill", "type",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Partition:
    """Labels of n items in k subdomains.

    Attributes
    ----------
    kind : str
        "predictive", "options" or "declared:COLUMN".
    labels : ndarray of int64, shape (n,)
        0..k-1, largest subdomain first.
    names : tuple of str, length k
        Declared labels, or "S1", "S2", ...
    positions : str or None
        Which predictive distributions were compared.
    tau : float or None
        The value used, per nat.
    silhouette_by_k : dict of int to float
        Mean silhouette on 1 - S for every k tried.
    labels_by_k : dict of int to ndarray
        The partition for every k tried.
    unguarded_k : int or None
        What the rule would choose without the guard on small subdomains.
    centrality : ndarray, shape (n,), or None
        Mean similarity of each item to its own subdomain.
    embedding : ndarray, shape (n, m), or None
        Spectral coordinates of the items.
    undefined : str or None
        Why there is no partition (then every label is 0).
    settings : mapping
        Every parameter that made it.
    notes : tuple of str
        Warnings in words.
    """

    kind: str
    labels: Labels
    names: tuple[str, ...]
    positions: str | None = None
    tau: float | None = None
    silhouette_by_k: Mapping[int, float] = field(default_factory=dict)
    labels_by_k: Mapping[int, Labels] = field(default_factory=dict)
    unguarded_k: int | None = None
    centrality: FloatArray | None = None
    embedding: FloatArray | None = None
    engine: str | None = None
    undefined: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def k(self) -> int:
        """Number of subdomains (1 where the partition is undefined)."""
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Items in each subdomain, shape (k,)."""
        return np.bincount(self.labels, minlength=self.k)

    @property
    def is_induced(self) -> bool:
        """Whether the labels come from the model's behaviour and not from a column."""
        return not self.kind.startswith("declared:")

    @property
    def silhouette(self) -> float | None:
        """Mean silhouette of the chosen k."""
        return self.silhouette_by_k.get(self.k)


@dataclass(frozen=True)
class Choice:
    """How k is chosen; the fields are parameters of :func:`partition`."""

    k: int | None = None
    k_range: tuple[int, int] = (2, 20)
    k_rule: KRule = "silhouette"
    min_share: float = MIN_SHARE
    seed: int = 0

    def __post_init__(self) -> None:
        low, high = self.k_range
        if not 2 <= low <= high:
            raise BenchharmonyError(f"k range must satisfy 2 <= min <= max, got {low}..{high}")
        if self.k is not None and self.k < 2:
            raise BenchharmonyError(f"k must be at least 2, got {self.k}")
        if not 0 <= self.min_share < 0.5:
            raise BenchharmonyError(f"min_share must lie in [0, 0.5), got {self.min_share}")

    def smallest(self, n: int) -> int:
        """Return the fewest items a subdomain may have; 1 where the guard is off."""
        return max(MIN_SUBDOMAIN, math.ceil(self.min_share * n)) if self.min_share > 0 else 1


def partition(
    evaluation: Evaluation,
    kind: str = "auto",
    *,
    positions: str | None = None,
    tau: float | Literal["median"] = "median",
    k: int | None = None,
    k_range: tuple[int, int] = (2, 20),
    k_rule: KRule = "silhouette",
    min_share: float = MIN_SHARE,
    seed: int = 0,
) -> Partition:
    """Split the items of an evaluation into subdomains.

    Parameters
    ----------
    evaluation : Evaluation
        Of n items.
    kind : str
        "predictive": spectral clustering of predictive similarity, the paper's. "options": the
        same from option log-likelihoods alone, an artefact (docs/method.md). "declared:COLUMN": a
        column of the log. "auto": predictive if recorded, else declared, else options with a
        warning.
    positions : str, optional
        Which predictive distributions to compare; "item" where recorded, else the first.
    tau : float or "median"
        Scale of the similarity, per nat; the median rule puts the median similarity at exp(-1).
    k : int, optional
        Fixed number of subdomains; chosen by ``k_rule`` over ``k_range`` otherwise.
    k_rule : {"silhouette", "eigengap", "stability"}
        Highest mean silhouette on 1 - S (the paper's); widest gap between eigenvalues; finest k at
        which 80 % subsamples still agree (adjusted Rand index above 0.7).
    min_share : float
        A chosen k has no subdomain under this share of the items (nor under 5 items); 0 turns the
        guard off.
    seed : int
        Of k-means and subsampling.

    Returns
    -------
    Partition
        With ``undefined`` set, and one subdomain, where no k is admissible or items are too few.

    Raises
    ------
    BenchharmonyError
        When the evaluation has nothing that this kind needs.
    """
    choice = Choice(k, k_range, k_rule, min_share, seed)
    if kind == "auto":
        kind = _best_kind(evaluation)
    if kind.startswith("declared:"):
        return declared(evaluation, kind.removeprefix("declared:"))
    if kind == "predictive":
        name, view, note = _view(evaluation, positions)
        return _induced(view, "predictive", name, tau, choice, (note,) if note else ())
    if kind == "options":
        view, notes = _option_view(evaluation)
        return _induced(view, "options", None, tau, choice, notes)
    raise BenchharmonyError(
        f"unknown partition {kind!r}; choose auto, predictive, declared:COLUMN or options"
    )


def declared(evaluation: Evaluation, column: str) -> Partition:
    """Return the partition that a column of the log declares; items without a label are one group.

    Raises
    ------
    BenchharmonyError
        When the log has no such column.
    """
    if column not in evaluation.groups:
        there = ", ".join(map(repr, evaluation.groups)) or "none"
        raise BenchharmonyError(
            f"{evaluation.name}: no declared column {column!r}; columns there: {there}"
        )
    values = evaluation.groups[column]
    missing = sum(v is None for v in values)
    named = ["(no label)" if v is None else v for v in values]
    counts = Counter(named)
    names = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    place = {name: i for i, name in enumerate(names)}
    notes = []
    if missing:
        notes.append(f"{missing} items have no {column!r} label and form a subdomain of their own")
    tiny = sum(c < MIN_SUBDOMAIN for c in counts.values())
    if tiny:
        notes.append(f"{tiny} of {len(names)} declared subdomains have fewer than 5 items")
    return Partition(
        kind=f"declared:{column}",
        labels=np.array([place[v] for v in named], dtype=np.int64),
        names=names,
        undefined=None if len(names) > 1 else f"every item has the same {column!r} label",
        settings={"column": column},
        notes=tuple(notes),
    )


def _best_kind(evaluation: Evaluation) -> str:
    if evaluation.predictive:
        return "predictive"
    named = [c for c in DECLARED_NAMES if c in evaluation.groups]
    column = named[0] if named else next(iter(evaluation.groups), None)
    if column is not None and (named or len(evaluation.groups) == 1):
        return f"declared:{column}"
    if evaluation.option_logprobs is not None:
        return "options"
    if evaluation.groups:
        raise BenchharmonyError(
            f"{evaluation.name}: several declared columns and none that names subdomains; choose "
            f"one with --partition declared:COLUMN from {', '.join(map(repr, evaluation.groups))}"
        )
    raise BenchharmonyError(
        f"{evaluation.name}: nothing to make a partition from: no predictive distributions, "
        "declared columns or option log-likelihoods; run `benchharmony collect` or join labels"
    )


def _view(evaluation: Evaluation, positions: str | None) -> tuple[str, Predictive, str | None]:
    there = tuple(evaluation.predictive)
    if not there:
        raise BenchharmonyError(
            f"{evaluation.name}: no predictive distributions in this source; "
            "`benchharmony collect` records them"
        )
    if positions is None:
        positions = "item" if "item" in there else there[0]
        note = None
        if positions != "item":
            note = (
                f"no 'item' distributions are recorded; {positions!r} were compared, which find "
                "topics less well (docs/method.md)"
            )
        return positions, evaluation.predictive[positions], note
    if positions not in there:
        raise BenchharmonyError(
            f"{evaluation.name}: no {positions!r} distributions; recorded: {', '.join(there)}"
        )
    return positions, evaluation.predictive[positions], None


def _option_view(evaluation: Evaluation) -> tuple[Predictive, tuple[str, ...]]:
    logs = evaluation.option_logprobs
    if logs is None:
        raise BenchharmonyError(f"{evaluation.name}: no option log-likelihoods in this source")
    notes = [
        "made from the log-likelihoods of the options alone: this is not the paper's predictive "
        "similarity, and its subdomains mostly restate which option was predicted or how sure "
        "the model was"
    ]
    missing = np.isnan(logs)
    if missing.any():
        counts = len(np.unique(missing.sum(axis=1)))
        notes.append(
            f"items have {counts} different numbers of options; an option that an item lacks "
            f"counts as probability {MISSING_OPTION:g}"
        )
    top = np.nanmax(logs, axis=1, keepdims=True)
    nothing = np.isneginf(top[:, 0])
    if nothing.any():
        first = evaluation.item_ids[int(np.argmax(nothing))]
        raise BenchharmonyError(
            f"{evaluation.name}: every option of item {first!r} has probability 0 "
            f"({int(nothing.sum())} such items); no partition can be made from the options"
        )
    p = np.exp(np.where(missing, -np.inf, logs - top))
    p /= p.sum(axis=1, keepdims=True)
    p[missing] = MISSING_OPTION
    return Predictive.dense(p / p.sum(axis=1, keepdims=True)), tuple(notes)


def _induced(
    view: Predictive,
    kind: str,
    positions: str | None,
    tau: float | Literal["median"],
    choice: Choice,
    notes: tuple[str, ...],
) -> Partition:
    n = len(view)
    settings: dict[str, Any] = {
        "tau": tau, "k": choice.k, "k_range": list(choice.k_range), "k_rule": choice.k_rule,
        "min_share": choice.min_share, "min_items": choice.smallest(n), "seed": choice.seed,
    }  # fmt: skip
    made = {"kind": kind, "positions": positions, "settings": settings, "engine": "dense"}
    one = np.zeros(n, dtype=np.int64)
    if n < MIN_ITEMS:
        why = f"fewer than {MIN_ITEMS} items"
        return Partition(labels=one, names=("S1",), undefined=why, notes=notes, **made)  # type: ignore[arg-type]
    order, content = _canonical(view)
    distinct = int(content[-1]) + 1
    limit = min(choice.k_range[1], distinct)
    ks = sorted({*range(choice.k_range[0], limit + 1)} | ({choice.k} if choice.k else set()))
    if distinct < 2 or not ks or max(ks) > distinct:
        why = f"only {distinct} distinct predictive distributions among {n} items"
        return Partition(labels=one, names=("S1",), undefined=why, notes=notes, **made)  # type: ignore[arg-type]
    j = jeffreys(view.take(order))
    used = median_tau(j) if tau == "median" else None
    value = float(used.value if used else tau)
    similarity = similarity_of(j, value)
    sweep = spectral_sweep(similarity, ks, seed=choice.seed, content=content)
    chosen, unguarded, why_not = _choose(sweep, similarity, choice)
    home = np.empty(n, dtype=np.int64)
    home[order] = np.arange(n)
    labels = one if chosen is None else sweep.labels[chosen][home]
    centrality = _centrality(similarity, labels[order])[home]
    found = (used.note if used else None, *_warnings(sweep, chosen, choice, distinct, n))
    return Partition(
        labels=labels,
        names=tuple(f"S{i + 1}" for i in range(int(labels.max()) + 1)),
        tau=value,
        silhouette_by_k=sweep.silhouette,
        labels_by_k={k: lab[home] for k, lab in sweep.labels.items()},
        unguarded_k=unguarded,
        centrality=centrality,
        embedding=sweep.embedding[home],
        undefined=why_not,
        notes=notes + tuple(note for note in found if note),
        **made,  # type: ignore[arg-type]
    )


def _canonical(view: Predictive) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of the rows that depends on their content only, and, in that order, numbers.

    The numbers count the distinct rows: duplicates share one.
    """
    parts = [view.logprobs] if view.token_ids is None else [view.logprobs, view.token_ids]
    keys = [
        hashlib.blake2b(b"".join(part[i].tobytes() for part in parts), digest_size=16).digest()
        for i in range(len(view))
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    new = [keys[a] != keys[b] for a, b in zip(order[1:], order, strict=False)]
    return np.array(order, dtype=np.int64), np.cumsum([False, *new])


def _choose(
    sweep: Sweep, similarity: FloatArray, choice: Choice
) -> tuple[int | None, int | None, str | None]:
    """Return the k chosen, the k without the guard, and why there is none."""
    if choice.k is not None:
        return choice.k, choice.k, None
    in_range = [k for k in sweep.labels if choice.k_range[0] <= k <= choice.k_range[1]]
    realised = [k for k in in_range if int(sweep.labels[k].max()) + 1 == k]
    smallest = choice.smallest(len(similarity))
    admissible = [k for k in realised if np.bincount(sweep.labels[k]).min() >= smallest]
    merits = _merits(sweep, similarity, realised, choice)
    unguarded = _best(merits, realised, choice.k_rule)
    chosen = _best(merits, admissible, choice.k_rule)
    if chosen is None:
        low, high = choice.k_range
        return None, unguarded, (
            f"no k of {low}..{high} splits the items into subdomains of at least {smallest} items"
        )  # fmt: skip
    return chosen, unguarded, None


def _merits(
    sweep: Sweep, similarity: FloatArray, ks: list[int], choice: Choice
) -> Mapping[int, float]:
    if choice.k_rule == "silhouette":
        return sweep.silhouette
    if choice.k_rule == "eigengap":
        return eigengap_by_k(sweep.eigenvalues, ks)
    if choice.k_rule == "stability":
        return stability_by_k(similarity, ks, seed=choice.seed)
    raise BenchharmonyError(
        f"unknown k rule {choice.k_rule!r}; choose silhouette, eigengap or stability"
    )


def _best(merits: Mapping[int, float], ks: list[int], rule: KRule) -> int | None:
    rated = [k for k in ks if k in merits]
    if not rated:
        return None
    if rule == "stability":
        stable = [k for k in rated if merits[k] > STABLE]
        if stable:
            return max(stable)
    return max(rated, key=lambda k: (merits[k], -k))


def _centrality(similarity: FloatArray, labels: Labels) -> FloatArray:
    members = np.eye(int(labels.max()) + 1)[labels]
    sums = similarity @ members
    own: FloatArray = sums[np.arange(len(labels)), labels] / members.sum(axis=0)[labels]
    return own


def _warnings(sweep: Sweep, chosen: int | None, choice: Choice, distinct: int, n: int) -> list[str]:
    notes = []
    if distinct < n:
        notes.append(f"{n - distinct} of {n} items repeat the distribution of another item")
    if sweep.components > 1:
        notes.append(
            f"the similarity graph falls apart into {sweep.components} unconnected parts; "
            "a smaller --tau joins them"
        )
    curve = [s for k, s in sweep.silhouette.items() if k >= 4]
    if chosen == 2 and choice.k is None and curve:
        height = sweep.silhouette[2]
        if height < WEAK or height - max(curve) < FLAT:
            notes.append(
                f"k = 2 was chosen on a weak or flat silhouette curve ({height:.2f} at 2, at most "
                f"{max(curve):.2f} at 4 and more): it hardly tells k; read H for every k"
            )
    if chosen is not None and choice.k is not None:
        smallest = int(np.bincount(sweep.labels[chosen]).min())
        if smallest < choice.smallest(n):
            notes.append(
                f"with k fixed at {chosen} the smallest subdomain has {smallest} items, under "
                f"the guard of {choice.smallest(n)}"
            )
    return notes


__all__ = ["Choice", "KRule", "Partition", "declared", "ordered_labels", "partition"]
