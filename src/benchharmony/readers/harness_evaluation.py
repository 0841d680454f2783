"""From the items of a harness log to an evaluation: what is kept, what is left out, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.declared import declared_groups
from benchharmony.readers.harness_gold import Gold, resolve_gold
from benchharmony.readers.harness_rows import HarnessItem
from benchharmony.readers.harness_runs import Run
from benchharmony.readers.harness_scores import (
    Floats,
    computed_accuracy,
    count_ties,
    default_score,
    length_normalised,
    likeliest,
    placeholder_reason,
    ragged,
    without_infinities,
)

#: Columns of an item's record that may be its id in the benchmark.
ID_COLUMNS = ("id", "ID", "Id", "question_id", "questionID", "qid", "uid", "uuid", "pubid")
#: Means that a results file may state and that are the mean of the items' values.
_MEANS = ("acc", "acc_norm", "exact_match")
#: Share of tied items from which a reader of the log should know.
_TIES_WORTH_TELLING = 0.01

Items = list[HarnessItem]


@dataclass(frozen=True)
class Log:
    """The items of one task, before anything is left out.

    Attributes
    ----------
    path : str
        The file, for messages.
    items : list of HarnessItem
        Of the filter that is used.
    filter_name : str
        That filter; empty when the log has no filters.
    others : mapping of str to list of HarnessItem
        The other filters.
    problems : tuple of Problem
        Lines that could not be read.
    """

    path: str
    items: Items
    filter_name: str = ""
    others: Mapping[str, Items] | None = None
    problems: tuple[Problem, ...] = ()


def build_evaluation(log: Log, run: Run) -> Evaluation:
    """Turn the items of a log into an evaluation.

    Parameters
    ----------
    log : Log
    run : Run
        Names and facts.

    Returns
    -------
    Evaluation
        Items that cannot be used are in ``source.problems``, in the order of the file.

    Raises
    ------
    InputError
        When no item can be used, or no metric in [0, 1] and no options are there.
    """
    read = len(log.items) + len(log.problems)
    problems = list(log.problems)
    notes = list(run.notes)
    id_column = _id_column(log.items)
    items = _without_repeats(log, id_column, problems)
    has_options = 2 * sum(_n_options(i) >= 2 for i in items) >= len(items) > 0
    if has_options:
        items = _keep(items, _option_fault, log.path, id_column, problems)
    if not items:
        raise InputError(log.path, _nothing_left(problems))
    columns = _Columns(items, has_options)
    columns.read_gold(notes)
    score = default_score(columns.metrics)
    columns.add_other_filters(log, id_column)
    if score is None and not columns.has_options:
        raise InputError(log.path, _no_score(columns))
    kept = np.arange(len(items))
    if score is not None:
        kept = np.flatnonzero(~np.isnan(columns.metrics[score]))
        problems += [
            _problem(
                log.path, items[i], id_column, f"no value of {score}, the score, that is a number"
            )
            for i in np.flatnonzero(np.isnan(columns.metrics[score]))
        ]
    else:
        notes.append("no metric in [0, 1] and no answer key in this log: items have no score")
    problems.sort(key=lambda p: p.line or 0)
    notes += _filter_notes(log) + columns.notes() + _aggregate_notes(columns, score, log, run)
    source = Source(files=(log.path, *run.files), items_read=read, problems=tuple(problems))
    return columns.evaluation(run, score, kept, id_column, notes, source)


class _Columns:
    """The columns of a log: what the items say, and what follows from it."""

    def __init__(self, items: Items, has_options: bool) -> None:
        self.items = items
        self.metrics = metric_columns(items)
        self._dropped = _dropped_metrics(items, self.metrics)
        options = ragged([i.options if has_options else None for i in items])
        self._placeholder = placeholder_reason(options) if has_options else None
        self.has_options = has_options and self._placeholder is None
        self.options = options if self.has_options else np.empty((len(items), 0))
        self.predicted = likeliest(self.options)
        self.gold: Gold | None = None
        self.computed: list[str] = []

    def add_other_filters(self, log: Log, id_column: str | None) -> None:
        """Offer the metrics of the other filters as ``metric@filter``."""
        for name, others in (log.others or {}).items():
            by_id: dict[str, HarnessItem] = {}
            for item in others:
                by_id.setdefault(_item_id(item, id_column), item)
            matched = [by_id.get(_item_id(i, id_column)) for i in self.items]
            for metric, values in metric_columns(matched).items():
                self.metrics[f"{metric}@{name}"] = values

    def read_gold(self, notes: list[str]) -> None:
        """Read the answer key, compare the logged accuracy with it, and compute what is missing."""
        n_options = np.array([_n_options(i) or len(i.choices or ()) for i in self.items])
        logged = self.metrics.get("acc", np.full(len(self.items), np.nan))
        gold = resolve_gold(self.items, n_options, self.predicted, logged)
        if not (gold.index >= 0).any():
            return
        self.gold = gold
        if gold.rival:
            notes.append(
                f"the right option is read from {gold.field} as {gold.reading}; "
                f"read as {gold.rival} it would fit as well"
            )
        if not self.has_options:
            return
        accuracy = computed_accuracy(self.predicted, gold.index)
        self._compare(logged, accuracy, notes)
        self._fill("acc", accuracy)
        normalised = length_normalised(self.options, [i.continuations for i in self.items])
        if normalised is not None and "acc_norm" not in self.metrics:
            self._fill("acc_norm", computed_accuracy(likeliest(normalised), gold.index))

    def _compare(self, logged: Floats, computed: Floats, notes: list[str]) -> None:
        both = ~np.isnan(logged) & ~np.isnan(computed) & np.isin(logged, (0.0, 1.0))
        differ = int((logged[both] != computed[both]).sum())
        if differ:
            notes.append(
                f"acc recomputed from the log-likelihoods differs from the logged acc on {differ} "
                f"of {int(both.sum())} items ({computed[both].mean():.4f} against "
                f"{logged[both].mean():.4f}); the logged one is used"
            )

    def _fill(self, name: str, computed: Floats) -> None:
        logged = self.metrics.get(name)
        if logged is None:
            self.metrics[name] = computed
        else:
            gaps = np.isnan(logged) & ~np.isnan(computed)
            if not gaps.any():
                return
            self.metrics[name] = np.where(gaps, computed, logged)
        self.computed.append(name)

    def notes(self) -> list[str]:
        """Return what is worth telling about the columns."""
        notes = []
        if self._placeholder:
            notes.append(
                f"the log-likelihoods are placeholders and were left out: {self._placeholder}"
            )
        if self.has_options:
            ties = count_ties(self.options)
            if ties >= max(2, _TIES_WORTH_TELLING * len(self.items)):
                notes.append(
                    f"{ties} of {len(self.items)} items have tied likeliest options, as half "
                    "precision makes them; ties go to the lowest index"
                )
            unknown = 0 if self.gold is None else int((self.gold.index < 0).sum())
            if self.gold is None or unknown:
                count = "any item" if self.gold is None else f"{unknown} of {len(self.items)} items"
                notes.append(f"the log does not say which option is right for {count}")
        if "acc" in self.computed:
            notes.append("acc is computed from the log-likelihoods for items without a logged one")
        return notes + self._dropped

    def evaluation(
        self,
        run: Run,
        score: str | None,
        kept: np.ndarray[tuple[int], np.dtype[np.intp]],
        id_column: str | None,
        notes: Sequence[str],
        source: Source,
    ) -> Evaluation:
        """Return the evaluation of the kept items."""
        items = [self.items[i] for i in kept]
        choices = _choices(items)
        gold = None if self.gold is None else self.gold.index[kept]
        if gold is not None and not self.has_options:
            known = np.array([len(c) for c in choices]) if choices else np.zeros(len(items))
            gold = np.where(gold < known, gold, -1) if choices else None
        texts = tuple(i.text for i in items)
        return Evaluation.from_arrays(
            benchmark=run.benchmark,
            model=run.model,
            scores=None if score is None else self.metrics[score][kept],
            score_name=score or "score",
            item_ids=[_item_id(i, id_column) for i in items],
            metrics={name: values[kept] for name, values in self.metrics.items()},
            option_logprobs=self.options[kept] if self.has_options else None,
            gold=gold,
            groups=declared_groups(
                [i.columns for i in items], None if gold is None else gold.tolist()
            ),
            texts=texts if any(texts) else None,
            choices=choices,
            metadata=run.metadata | ({"computed": self.computed} if self.computed else {}),
            notes=notes,
            source=source,
        )


def metric_columns(items: Sequence[HarnessItem | None]) -> dict[str, Floats]:
    """Return every metric that some item has a number for, NaN where one has none."""
    names = dict.fromkeys(name for i in items if i is not None for name in i.metrics)
    columns = {
        name: without_infinities(
            np.array([np.nan if i is None else i.metrics.get(name, np.nan) for i in items])
        )
        for name in names
    }
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}


def _dropped_metrics(items: Items, metrics: Mapping[str, Floats]) -> list[str]:
    parts = dict.fromkeys(name for i in items for name in i.parts)
    listed = [name for name in parts if name not in metrics]
    return [
        f"{name} is logged as parts of an aggregate, not as a score of each item; left out"
        for name in listed
    ]


def _id_column(items: Items) -> str | None:
    """Return the column of the records that names the items; None for the harness's number.

    It is one when every item has it and it tells at least as many items apart as the harness's
    own number does.
    """
    numbers = len({i.row_id for i in items})
    for name in ID_COLUMNS:
        values = [i.columns.get(name) for i in items]
        if all(v is not None and v != "" for v in values) and len(set(map(str, values))) >= numbers:
            return name
    return None


def _item_id(item: HarnessItem, id_column: str | None) -> str:
    return item.row_id if id_column is None else str(item.columns.get(id_column))


def _n_options(item: HarnessItem) -> int:
    return 0 if item.options is None else len(item.options)


def _without_repeats(log: Log, id_column: str | None, problems: list[Problem]) -> Items:
    first: dict[str, HarnessItem] = {}
    for item in log.items:
        earlier = first.setdefault(_item_id(item, id_column), item)
        if earlier is not item:
            where = "" if earlier.line is None else f" (line {earlier.line})"
            reason = f"the same item id as before{where}; the first is kept"
            problems.append(_problem(log.path, item, id_column, reason))
    return list(first.values())


def _option_fault(item: HarnessItem) -> str | None:
    """Return why an item cannot be used in a log of options; None when it can."""
    if item.options is None or len(item.options) < 2:
        return "no log-likelihoods of options, which the other items have"
    values = np.array(item.options)
    if np.isnan(values).any():
        return "a log-likelihood is not a number"
    return "an infinite log-likelihood" if (values == np.inf).any() else None


def _keep(
    items: Items,
    fault: Callable[[HarnessItem], str | None],
    path: str,
    id_column: str | None,
    problems: list[Problem],
) -> Items:
    kept = []
    for item in items:
        reason = fault(item)
        if reason is None:
            kept.append(item)
        else:
            problems.append(_problem(path, item, id_column, reason))
    return kept


def _problem(path: str, item: HarnessItem, id_column: str | None, reason: str) -> Problem:
    return Problem(path, reason, item.line, _item_id(item, id_column))


def _choices(items: Items) -> list[tuple[str, ...]] | None:
    known = sum(i.choices is not None for i in items)
    return [i.choices or () for i in items] if 2 * known >= len(items) and known else None


def _nothing_left(problems: Sequence[Problem]) -> str:
    if not problems:
        return "no item in it"
    first = problems[0]
    where = "" if first.line is None else f"line {first.line}: "
    return f"no usable item in it; the first of {len(problems)} problems: {where}{first.reason}"


def _no_score(columns: _Columns) -> str:
    if not columns.metrics:
        return "no per-item metric in it, so there is no score; generation tasks need one"
    shown = ", ".join(
        f"{name} ({np.nanmin(values):g} to {np.nanmax(values):g})"
        for name, values in columns.metrics.items()
    )
    return f"no per-item metric that lies in [0, 1] and is better when higher; it has: {shown}"


def _filter_notes(log: Log) -> list[str]:
    if not log.others:
        return []
    names = ", ".join(log.others)
    return [
        f"filter {log.filter_name} is used; the log also has {names} "
        "(choose with a score of the form metric@filter)"
    ]


def _aggregate_notes(columns: _Columns, score: str | None, log: Log, run: Run) -> list[str]:
    """Compare the items with the mean that the results file states."""
    if score not in _MEANS:
        return []
    name = f"{score},{log.filter_name or 'none'}"
    stated = run.aggregates.get(name, run.aggregates.get(score, np.nan))
    mean = float(np.nanmean(columns.metrics[score]))
    if np.isnan(stated) or abs(stated - mean) <= 1e-6:
        return []
    return [f"the results file states {score} = {stated:.6g}, the items here give {mean:.6g}"]
