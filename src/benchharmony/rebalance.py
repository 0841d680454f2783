"""Rebalancing: prune the over-represented, and test what it does against pruning at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.alignment import line_up
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.metric import BANDWIDTH, EPSILON
from benchharmony.partition import Partition
from benchharmony.rebalancing.closeness import Closeness, closeness_of
from benchharmony.rebalancing.curve import (
    FRACTIONS,
    Scale,
    curve,
    stops_for,
)
from benchharmony.rebalancing.drop_reasons import drop_list
from benchharmony.rebalancing.fragility import AT_GAIN, AT_REMOVAL, at_gain, at_removal, over_models
from benchharmony.rebalancing.post_stratified import post_stratified, shuffled
from benchharmony.rebalancing.pruning import (
    Keep,
    Order,
    balance_order,
    centrality_within,
    redundancy_order,
    rows_of,
    threshold_order,
)
from benchharmony.rebalancing.removal_tests import RankChange, corrected, holm, rank_changes
from benchharmony.rebalancing.result import ModelResult, Rebalance, SizeChange
from benchharmony.rebalancing.stopping import Plan, Strategy, find_stop

__all__ = ["Rebalance", "on_shared_items", "rebalance"]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def rebalance(
    evaluations: Evaluation | Iterable[Evaluation],
    partition: Partition,
    *,
    strategy: Strategy = "redundancy",
    fraction: float | None = None,
    target_h: float | None = None,
    cap: int | None = None,
    threshold: float | None = None,
    similarity: str | None = None,
    keep: Keep = "central",
    drop_subdomains: Sequence[str] = (),
    bandwidth: float = BANDWIDTH,
    epsilon: float = EPSILON,
    draws: int = 1000,
    permutations: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    fragility_removal: float = AT_REMOVAL,
    fragility_gain: float = AT_GAIN,
) -> Rebalance:
    """Prune a benchmark's over-represented items and test what that does to its scores.

    Parameters
    ----------
    evaluations : Evaluation or iterable of Evaluation
        One or more models on the same items; :func:`on_shared_items` makes them so.
    partition : Partition
        Of the items of the first evaluation, in its order. It stays as it is while items go.
    strategy : {"redundancy", "threshold", "balance", "weights"}
        "redundancy": from the largest subdomains, the item most similar to a kept one of its
        subdomain. "threshold": one of every pair of a subdomain at least ``threshold`` similar,
        most similar first, whatever the sizes. "balance": a cap on every subdomain. "weights":
        nothing is removed; subdomains count equally (always reported as ``post_stratified``).
    fraction : float, optional
        Stop at this share of the items removed, or the last whole level before it.
    target_h : float, optional
        Stop at the first level where H (the mean over models) reaches this.
    cap : int, optional
        Stop when no subdomain has more items. Default end, without any of the three: even sizes,
        or half of the items removed, whichever comes first.
    threshold : float, optional
        For the strategy of that name; 0.9.
    similarity : str, optional
        Positions of the distributions to compare, or "text"; by default "answer" where recorded,
        then "item", then any, then text. Averaged over the models that record them.
    keep : {"central", "random"}
        What "balance" keeps of a subdomain.
    drop_subdomains : sequence of str
        Subdomains to remove whole; no other is ever removed whole.
    bandwidth, epsilon : float
        Of H.
    draws, permutations : int
        Random removals behind a band; behind a p-value of graded scores, and shuffles of the
        scores behind the p-values of the sizes alone.
    level : float
        Of bands and intervals; a rank change is more than noise at ``1 - level``.
    seed : int
        Of every draw. The result does not depend on the order of the rows.
    fragility_removal, fragility_gain : float
        Where the fragility index is read (:mod:`benchharmony.rebalancing.fragility`).

    Raises
    ------
    BenchharmonyError
        When scores are missing, items differ, the partition is undefined or of other items,
        nothing compares the items, or a target is out of reach.

    References
    ----------
    Pruning over-similar items: "The Flaw of Averages" (arXiv 2509.25671). The controls are ours
    (docs/rebalance.md).
    """
    plan = Plan(
        strategy, fraction, target_h, cap, threshold, similarity, keep, tuple(drop_subdomains)
    )
    given = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    run = _Run(
        *_aligned(given, partition), plan, Scale(bandwidth, epsilon), draws, permutations, level,
        seed, fragility_removal, fragility_gain,
    )  # fmt: skip
    return run.result(given[0].item_ids, partition)


def on_shared_items(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the evaluations of the items that all of them have, in the order of the first.

    Items are matched by id and by question, as :mod:`benchharmony.alignment` says.

    Raises
    ------
    BenchharmonyError
        When they share no item.
    """
    return line_up(evaluations, order="first").evaluations


def _in_order(evaluation: Evaluation, ids: Sequence[str]) -> Evaluation:
    if evaluation.item_ids == tuple(ids):
        return evaluation
    place = {item: row for row, item in enumerate(evaluation.item_ids)}
    return evaluation.take([place[i] for i in ids])


def _aligned(
    evaluations: Sequence[Evaluation], partition: Partition
) -> tuple[list[Evaluation], IntArray]:
    """Return the evaluations and the labels with rows sorted by item id."""
    if not evaluations:
        raise BenchharmonyError("no evaluation to rebalance")
    first = evaluations[0]
    if len(partition) != len(first):
        raise BenchharmonyError(
            f"the partition is of {len(partition)} items, the evaluation of {len(first)}"
        )
    if partition.undefined is not None:
        raise BenchharmonyError(
            f"{first.name}: there is no partition to rebalance by ({partition.undefined})"
        )
    for e in evaluations:
        if e.scores is None:
            raise BenchharmonyError(f"{e.name}: no scores in this source; nothing to rebalance")
        if len(e) != len(first) or set(e.item_ids) != set(first.item_ids):
            raise BenchharmonyError(
                f"{e.name}: its items are not those of {first.name}; "
                "take the shared ones first (on_shared_items)"
            )
    order = sorted(range(len(first)), key=first.item_ids.__getitem__)
    ids = [first.item_ids[i] for i in order]
    labels = partition.labels[np.array(order, dtype=np.int64)]
    return [_in_order(e, ids) for e in evaluations], labels


@dataclass(frozen=True)
class _Run:
    """One rebalancing: evaluations sorted by item id, and all parameters."""

    evaluations: list[Evaluation]
    labels: IntArray
    plan: Plan
    scale: Scale
    draws: int
    permutations: int
    level: float
    seed: int
    fragility_removal: float
    fragility_gain: float

    def result(self, given_order: tuple[str, ...], partition: Partition) -> Rebalance:
        closeness, order = self._order(partition)
        stop, words = find_stop(self.plan, order, self.labels, self._scores(), self.scale)
        n = len(self.labels)
        kept = order.kept(n, stop)
        ids = self.evaluations[0].item_ids
        gone = {ids[i] for i in order.rows[:stop]}
        models = self._models(order, stop)
        k = partition.k
        keep_list = [i for i in given_order if i not in gone]
        group = dict(zip(ids, self.labels.tolist(), strict=True))
        return Rebalance(
            benchmark=self.evaluations[0].benchmark,
            strategy=self.plan.strategy,
            stopped=words,
            kept=tuple(keep_list),
            kept_subdomains=tuple(partition.names[group[i]] for i in keep_list),
            dropped=drop_list(self.plan, order, stop, self.labels, partition.names, ids, closeness),
            sizes=tuple(
                SizeChange(name, int(b), int(a))
                for name, b, a in zip(
                    partition.names,
                    np.bincount(self.labels, minlength=k),
                    np.bincount(self.labels[kept], minlength=k),
                    strict=True,
                )
            ),
            models=models,
            fragility={
                kind: over_models([m.fragility[kind] for m in models])
                for kind in ("removal", "gain")
            },
            rank_changes=self._rank_changes(kept),
            settings=self._settings(partition, closeness),
            notes=self._notes(partition, closeness, order, stop) + self._choice_note(models),
        )

    def _order(self, partition: Partition) -> tuple[Closeness | None, Order]:
        plan, labels = self.plan, self.labels
        whole = rows_of(labels, partition.names, plan.drop_subdomains)
        if plan.strategy == "weights":
            nothing = np.zeros(0, dtype=np.int64)
            return None, Order(nothing, np.zeros(1, dtype=np.int64), np.zeros(0))
        closeness = self._closeness()
        if plan.strategy == "redundancy" and closeness is not None:
            return closeness, redundancy_order(labels, closeness, whole)
        if plan.strategy == "threshold" and closeness is not None:
            return closeness, threshold_order(labels, closeness, whole)
        central = None
        if plan.keep == "central" and closeness is not None:
            central = centrality_within(labels, closeness)
        return closeness, balance_order(labels, whole, centrality=central, seed=self.seed)

    def _closeness(self) -> Closeness | None:
        try:
            return closeness_of(self.evaluations, self.plan.similarity, seed=self.seed)
        except BenchharmonyError:
            # A random draw can do without: only the nearest kept items are not named then.
            if self.plan.strategy == "balance" and self.plan.keep == "random":
                return None
            raise

    def _scores(self) -> list[NDArray[np.float64]]:
        return [e.scores for e in self.evaluations if e.scores is not None]

    def _models(self, order: Order, stop: int) -> tuple[ModelResult, ...]:
        n = len(self.labels)
        stops = stops_for(order, n, FRACTIONS, (0, stop))
        stops = [s for s in stops if s == 0 or s >= order.asked]
        curves, equal = [], []
        for s in self._scores():
            dealt = shuffled(s, self.labels, self.permutations, self.seed)
            curves.append(
                curve(
                    s, self.labels, order, stops, scale=self.scale, draws=self.draws,
                    permutations=self.permutations, level=self.level, seed=self.seed, dealt=dealt,
                )
            )  # fmt: skip
            equal.append(post_stratified(s, self.labels, self.level, dealt=dealt))
        at = stops.index(stop)
        headline = corrected([points[at].effect for points in curves])
        tested = [p.effect for points in curves for p in points if p.removed > 0]
        every = iter(corrected(tested))
        out = []
        for e, s, points, shift, weighted in zip(
            self.evaluations, self._scores(), curves, headline, equal, strict=True
        ):
            points = tuple(replace(p, effect=next(every)) if p.removed > 0 else p for p in points)
            gain = at_gain(
                s, self.labels, order, self.fragility_gain, scale=self.scale, level=self.level
            )
            removal = at_removal(s, self.labels, order, self.fragility_removal, self.level)
            out.append(
                ModelResult(
                    e.model, points[0].values, points[at].values, shift, weighted,
                    {"removal": removal, "gain": gain}, points,
                )
            )  # fmt: skip
        return tuple(out)

    def _rank_changes(self, kept: BoolArray) -> tuple[RankChange, ...]:
        if len(self.evaluations) < 2 or kept.all():
            return ()
        return rank_changes(
            [e.model for e in self.evaluations], np.array(self._scores()), kept,
            permutations=self.permutations, level=self.level, seed=self.seed,
        )  # fmt: skip

    def _settings(self, partition: Partition, closeness: Closeness | None) -> dict[str, Any]:
        return {
            **{name: getattr(self.plan, name) for name in self.plan.__dataclass_fields__},
            "similarity": None if closeness is None else closeness.name,
            "similarity_models": [] if closeness is None else list(closeness.models),
            "tau": [] if closeness is None else list(closeness.tau),
            "partition": partition.kind,
            "positions": partition.positions,
            "k": partition.k,
            "bandwidth": self.scale.bandwidth,
            "epsilon": self.scale.epsilon,
            "draws": self.draws,
            "permutations": self.permutations,
            "level": self.level,
            "seed": self.seed,
        }

    def _notes(
        self, partition: Partition, closeness: Closeness | None, order: Order, stop: int
    ) -> tuple[str, ...]:
        notes = [*partition.notes, *(closeness.notes if closeness else ())]
        n = len(self.labels)
        asked = self.plan.fraction
        if asked is not None and asked * n - stop > 0.02 * n:
            notes.append(
                f"{stop} of {n} items could be removed for the {asked:.0%} asked: the next whole "
                "level goes beyond it, or every subdomain is down to one item"
            )
        if partition.kind == "options":
            notes.append(
                "the partition restates the options that the model chose, so a significant shift "
                "under it says nothing about topics"
            )
        return tuple(notes)

    def _choice_note(self, models: tuple[ModelResult, ...]) -> tuple[str, ...]:
        """Say when it mattered which items of their subdomains went, and not only how many."""
        effects = [m.effect for m in models]
        p_within, p_sizes = holm([e.p_within for e in effects]), holm([e.p_sizes for e in effects])
        moved = np.flatnonzero(p_within < 1 - self.level)
        if len(moved) == 0:
            return ()
        worst = max(moved, key=lambda i: abs(effects[i].by_choice))
        effect, p = effects[worst], float(p_sizes[worst])
        if p <= 1 - self.level:
            sure = " (p < 0.001)" if p < 0.001 else f" (p = {p:.3f})"
            sign = "so only what the sizes do is a sign of uneven sizes, not the rest of the shift"
        else:
            sure, sign = "", "so this shift is no sign of uneven sizes"
        most = f", most for {models[worst].model}" if len(models) > 1 else ""
        return (
            f"for {len(moved)} of {len(models)} models it mattered which items of their subdomains "
            f"went{most}: {effect.by_choice:+.3f} of a shift of {effect.shift:+.3f} is their "
            f"choice, {effect.by_sizes:+.3f} the sizes{sure}; what the items were chosen by goes "
            f"along with being right, {sign} (--strategy balance --keep random shows the sizes "
            "alone)",
        )
