"""What validation works on: one model's evaluation, its declared subdomains and its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.partition import DECLARED_NAMES
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys
from benchharmony.validation.domains import codes
from benchharmony.validation.redundantqa import RedundantItem, load_redundantqa

FloatArray = NDArray[np.float64]

#: Share of an evaluation's items that must be RedundantQA's for it to be taken as that.
_MOSTLY = 0.5


@dataclass(frozen=True, eq=False)
class Case:
    """One evaluation to validate on.

    Attributes
    ----------
    evaluation : Evaluation
        With predictive distributions.
    declared : tuple of str, length n
        Declared subdomain of each item.
    column : str
        Where that comes from.
    items : tuple of RedundantItem or None
        The items, where the evaluation is of RedundantQA.
    notes : tuple of str
        What was left out, and why.
    """

    evaluation: Evaluation
    declared: tuple[str, ...]
    column: str
    items: tuple[RedundantItem, ...] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.evaluation)

    @property
    def n_declared(self) -> int:
        """Number of declared subdomains."""
        return len(set(self.declared))

    @property
    def views(self) -> dict[str, Predictive]:
        """Distributions by positions; a geometric mean and a chat template are named."""
        suffix = "".join(f", {word}" for word in _made_with(self.evaluation))
        return {f"{name}{suffix}": v for name, v in self.evaluation.predictive.items()}

    @cached_property
    def divergence(self) -> dict[str, FloatArray]:
        """Jeffreys divergence of every pair by positions, shape (n, n); not to be written to."""
        return {name: jeffreys(view) for name, view in self.views.items()}

    @property
    def texts(self) -> dict[str, list[str]] | None:
        """Question with options; question; question with right option; right option; or None."""
        questions, choices, gold = self._parts()
        if questions is None:
            return None
        texts = {"question": list(questions)}
        if choices is None:
            return {"question and options": texts["question"], **texts}
        texts = {
            "question and options": [" ".join((q, *c)) for q, c in zip(questions, choices,
                                                                       strict=True)],
            **texts,
        }  # fmt: skip
        if gold is not None and min(gold) >= 0:
            right = [c[g] for c, g in zip(choices, gold, strict=True)]
            texts["question and answer"] = [
                f"{q} {a}" for q, a in zip(questions, right, strict=True)
            ]
            texts["answer"] = right
        return texts

    def _parts(self) -> tuple[Any, Any, Any]:
        if self.items is not None:
            return (
                [i.question for i in self.items],
                [i.choices for i in self.items],
                [i.answer for i in self.items],
            )
        e = self.evaluation
        return e.texts, e.choices, None if e.gold is None else e.gold.tolist()


def case_of(evaluation: Evaluation, column: str | None = None) -> Case:
    """Return the case that an evaluation makes.

    Parameters
    ----------
    evaluation : Evaluation
        With predictive distributions.
    column : str, optional
        The declared subdomains; by default the domains of RedundantQA, else the first column of
        the log with a usual name ("subject", "domain", ...).

    Raises
    ------
    BenchharmonyError
        When the evaluation has no predictive distributions or no declared subdomains.
    """
    if not evaluation.predictive:
        raise BenchharmonyError(
            f"{evaluation.name}: no predictive distributions to validate; "
            "`benchharmony collect` records them"
        )
    known = {item.id: item for item in load_redundantqa()}
    rows = [i for i, name in enumerate(evaluation.item_ids) if name in known]
    if len(rows) > _MOSTLY * len(evaluation) and column is None:
        lost = len(evaluation) - len(rows)
        notes = (f"{lost} items that are not RedundantQA's are left out",) if lost else ()
        items = tuple(known[evaluation.item_ids[i]] for i in rows)
        some = evaluation.take(rows) if lost else evaluation
        return Case(some, tuple(item.domain for item in items), "domain", items, notes)
    return _declared_case(evaluation, column)


def _declared_case(evaluation: Evaluation, column: str | None) -> Case:
    if column is None:
        column = next((c for c in DECLARED_NAMES if c in evaluation.groups), None)
    if column is None or column not in evaluation.groups:
        there = ", ".join(map(repr, evaluation.groups)) or "none"
        raise BenchharmonyError(
            f"{evaluation.name}: no declared subdomains to compare with; columns there: {there}; "
            "name one with --declared, or join labels with --items"
        )
    labels = evaluation.groups[column]
    rows = [i for i, label in enumerate(labels) if label is not None]
    lost = len(labels) - len(rows)
    notes = (f"{lost} items without a {column!r} label are left out",) if lost else ()
    if len({labels[i] for i in rows}) < 2:
        raise BenchharmonyError(f"{evaluation.name}: fewer than 2 {column!r} labels")
    some = evaluation.take(rows) if lost else evaluation
    return Case(some, tuple(str(labels[i]) for i in rows), column, None, notes)


def joined_views(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Join evaluations of one model and the same items that differ in their positions.

    The first gives scores and names, and its own distributions stay; others add positions that
    it lacks. Evaluations whose mean or prompt differs (geometric, chat template) stay apart.
    """
    joined: dict[Any, Evaluation] = {}
    for e in evaluations:
        key = (e.model.casefold(), frozenset(e.item_ids), _made_with(e))
        first = joined.get(key)
        if first is None:
            joined[key] = e
            continue
        row = {name: i for i, name in enumerate(e.item_ids)}
        order = [row[name] for name in first.item_ids]
        more = {p: v.take(order) for p, v in e.predictive.items() if p not in first.predictive}
        joined[key] = replace(first, predictive={**first.predictive, **more})
    return list(joined.values())


def declared_codes(case: Case) -> NDArray[np.int64]:
    """Return the declared subdomains as numbers 0..k-1."""
    return codes(case.declared)


def _made_with(evaluation: Evaluation) -> tuple[str, ...]:
    """Return what is unusual about how an evaluation was collected."""
    settings = evaluation.metadata.get("settings")
    if not isinstance(settings, dict):
        return ()
    mean = str(settings.get("mean") or "arithmetic")
    unusual = () if mean == "arithmetic" else (mean,)
    return (*unusual, "chat template") if settings.get("chat_template") else unusual
