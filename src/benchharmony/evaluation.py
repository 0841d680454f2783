"""Evaluation: one model's per-item results on one benchmark, the record every reader makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError, Problem
from benchharmony.predictive import Predictive
from benchharmony.stored_views import taken

#: What a caller may hand in as predictive distributions.
PredictiveLike = Predictive | ArrayLike | Mapping[str, Predictive | ArrayLike]


@dataclass(frozen=True)
class Source:
    """Where an evaluation came from and what became of its items.

    Attributes
    ----------
    format : str
        Name of the reader ("lm-eval samples", "table", ...); "memory" for arrays.
    files : tuple of str
        The files read.
    items_read : int
        Items (or rows) met in the source.
    problems : tuple of Problem
        Items left out, each with the reason.
    """

    format: str = "memory"
    files: tuple[str, ...] = ()
    items_read: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def items_left_out(self) -> int:
        """Number of items that could not be used."""
        return len(self.problems)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One model's per-item results on one benchmark. Build with :meth:`from_arrays`.

    Attributes
    ----------
    benchmark, model : str
        Names, as the source gives them.
    item_ids : tuple of str, length n
        Unique.
    scores : ndarray of float64, shape (n,), or None
        Performance of each item in [0, 1]; None when the source has no answer key.
    score_name : str
        The metric that ``scores`` holds ("acc", "exact_match", ...).
    metrics : mapping of str to ndarray, shape (n,)
        Every metric of the source, ``scores`` included; NaN where an item lacks one. Values
        may lie outside [0, 1]; :meth:`with_score` refuses those as scores.
    predictive : mapping of str to Predictive
        Predictive distributions by the positions they average ("item", "answer", "question",
        "next").
    option_logprobs : ndarray of float64, shape (n, m), or None
        Log-likelihood of each option (nats, summed over its tokens); NaN past an item's own
        number of options.
    gold : ndarray of int64, shape (n,), or None
        Index of the right option; -1 where unknown.
    groups : mapping of str to tuple of (str or None)
        Declared columns: for each, the label of every item.
    texts : tuple of str, length n, or None
        The question as a person would read it.
    choices : tuple of tuple of str, length n, or None
        Texts of the options.
    metadata : mapping
        Facts about the run (parameters, family, revision, settings); plain JSON values.
    notes : tuple of str
        What the reader found worth telling (mismatches, fake log-likelihoods, ...).
    source : Source
        Where it came from.
    """

    benchmark: str
    model: str
    item_ids: tuple[str, ...]
    scores: NDArray[np.float64] | None
    score_name: str = "score"
    metrics: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    predictive: Mapping[str, Predictive] = field(default_factory=dict)
    option_logprobs: NDArray[np.float64] | None = None
    gold: NDArray[np.int64] | None = None
    groups: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    texts: tuple[str, ...] | None = None
    choices: tuple[tuple[str, ...], ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)

    @classmethod
    def from_arrays(
        cls,
        *,
        benchmark: str,
        model: str,
        scores: ArrayLike | None,
        item_ids: Sequence[object] | None = None,
        predictive: PredictiveLike | None = None,
        option_logprobs: ArrayLike | Sequence[Sequence[float]] | None = None,
        gold: ArrayLike | None = None,
        groups: Mapping[str, Sequence[object]] | None = None,
        texts: Sequence[str] | None = None,
        choices: Sequence[Sequence[str]] | None = None,
        metrics: Mapping[str, ArrayLike] | None = None,
        score_name: str = "score",
        metadata: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        source: Source | None = None,
    ) -> Evaluation:
        """Check and freeze per-item results.

        Parameters are the attributes of the class; ``item_ids`` default to "0", "1", ...;
        ``predictive`` is an (n, v) array or a :class:`Predictive` (taken as positions "item"),
        or a mapping from positions to either; ``option_logprobs`` may be ragged.

        Raises
        ------
        BenchharmonyError
            When lengths differ, ids repeat, scores leave [0, 1] or are not finite, gold indices
            are out of range, or a predictive row is not a distribution.
        """
        if groups is not None and not isinstance(groups, Mapping):
            raise BenchharmonyError(
                f"groups: a mapping from column names to labels, not {type(groups).__name__}"
            )
        n = _length(scores, item_ids, option_logprobs, predictive)
        ids = tuple(map(_identity, range(n) if item_ids is None else item_ids))
        _check_ids(ids, n)
        score_array = None if scores is None else _scores(scores, n, ids, score_name)
        options = None if option_logprobs is None else _options(option_logprobs, n, ids)
        chosen = None if choices is None else tuple(tuple(map(clean_text, c)) for c in choices)
        all_metrics = {name: _metric(v, n, name) for name, v in (metrics or {}).items()}
        if score_array is not None:
            all_metrics.setdefault(score_name, score_array)
        return cls(
            benchmark=clean_text(benchmark),
            model=clean_text(model),
            item_ids=tuple(map(clean_text, ids)),
            scores=score_array,
            score_name=score_name,
            metrics=all_metrics,
            predictive=_predictives(predictive, n),
            option_logprobs=options,
            gold=None if gold is None else _gold(gold, n, ids, options, chosen),
            groups={clean_text(k): _labels(v, n, k) for k, v in (groups or {}).items()},
            texts=None if texts is None else _sized(tuple(map(_text, texts)), n, "texts"),
            choices=None if chosen is None else _sized(chosen, n, "choices"),
            metadata=dict(metadata or {}),
            notes=tuple(notes),
            source=source if source is not None else Source(items_read=n),
        )

    def __post_init__(self) -> None:
        for array in (self.scores, self.option_logprobs, self.gold, *self.metrics.values()):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.item_ids)

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= 80 else f"{self.name[:79]}\u2026"
        return f"<Evaluation {name!r}: {len(self)} items, score {self.score_name}>"

    @property
    def name(self) -> str:
        """Benchmark and model, for messages."""
        return f"{self.benchmark} / {self.model}"

    @property
    def n_options(self) -> NDArray[np.int64] | None:
        """Number of options of each item, shape (n,), where the source tells."""
        if self.option_logprobs is not None:
            counted: NDArray[np.int64] = np.count_nonzero(~np.isnan(self.option_logprobs), axis=1)
            return counted
        if self.choices is not None:
            return np.array([len(c) for c in self.choices], dtype=np.int64)
        return None

    @property
    def predicted_option(self) -> NDArray[np.int64] | None:
        """Index of the likeliest option (ties to the lowest index), shape (n,)."""
        if self.option_logprobs is None:
            return None
        best: NDArray[np.int64] = np.nanargmax(self.option_logprobs, axis=1)
        return best

    def with_score(self, name: str) -> Evaluation:
        """Return the same results judged by another metric of the source.

        Raises
        ------
        BenchharmonyError
            When the source has no such metric, or it is missing for an item or leaves [0, 1].
        """
        if name == self.score_name and self.scores is not None:
            return self
        if name not in self.metrics:
            has = ", ".join(sorted(self.metrics)) or "none"
            raise BenchharmonyError(f"{self.name}: no metric {name!r} in this log; it has: {has}")
        scores = _scores(self.metrics[name], len(self), self.item_ids, name)
        return replace(self, scores=scores, score_name=name)

    def take(self, rows: ArrayLike) -> Evaluation:
        """Return the evaluation of some items, in the order given (unique row numbers)."""
        index = np.asarray(rows, dtype=np.int64)

        def pick(values: Sequence[Any] | None) -> Any:
            return None if values is None else tuple(values[i] for i in index)

        return replace(
            self,
            item_ids=pick(self.item_ids),
            scores=None if self.scores is None else self.scores[index],
            metrics={k: v[index] for k, v in self.metrics.items()},
            predictive=taken(self.predictive, index),
            option_logprobs=None if self.option_logprobs is None else self.option_logprobs[index],
            gold=None if self.gold is None else self.gold[index],
            groups={k: pick(v) for k, v in self.groups.items()},
            texts=pick(self.texts),
            choices=pick(self.choices),
        )

    def save(self, path: str | Path) -> None:
        """Write as Parquet, schema ``benchharmony/evaluation/1`` in its metadata."""
        from benchharmony.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | Path, *, lazily: bool = False) -> Evaluation:
        """Read what :meth:`save` wrote; ``lazily`` leaves distributions in the file until used."""
        from benchharmony.storage import load

        return load(path, lazily=lazily)


def clean_text(text: object) -> str:
    """Return text that any encoder takes: lone surrogates become U+FFFD."""
    value = str(text)
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _identity(value: object) -> str:
    if _is_missing(value):
        raise BenchharmonyError("item_ids: an id is missing (None or NaN)")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _text(value: object) -> str:
    return "" if _is_missing(value) else clean_text(value)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _length(*columns: Any) -> int:
    for column in columns:
        if column is None:
            continue
        if isinstance(column, Mapping):
            column = next(iter(column.values()), None)
            if column is None:
                continue
        n = len(column)
        if n == 0:
            raise BenchharmonyError("an evaluation needs at least one item, got none")
        return n
    raise BenchharmonyError("an evaluation needs scores, predictive or option_logprobs")


def _sized(values: Any, n: int, what: str) -> Any:
    if len(values) != n:
        raise BenchharmonyError(f"{what}: {len(values)} values for {n} items")
    return values


def _check_ids(ids: tuple[str, ...], n: int) -> None:
    _sized(ids, n, "item_ids")
    if len(set(ids)) != n:
        counts = Counter(ids)
        repeated = [i for i, c in counts.items() if c > 1]
        raise BenchharmonyError(
            f"item_ids: {len(repeated)} ids occur more than once, the first is {repeated[0]!r}"
        )


def _float_column(values: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BenchharmonyError(f"{what}: not a column of numbers ({error})") from error
    if array.shape != (n,):
        raise BenchharmonyError(f"{what}: expected shape ({n},), got {array.shape}")
    return array


def _metric(values: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    return _float_column(values, n, f"metric {name!r}")


def _scores(values: ArrayLike, n: int, ids: Sequence[str], name: str) -> NDArray[np.float64]:
    array = _float_column(values, n, f"scores ({name})")
    bad = ~((array >= 0) & (array <= 1))  # NaN fails too
    if bad.any():
        row = int(np.argmax(bad))
        raise BenchharmonyError(
            f"scores ({name}): item {ids[row]!r} has {array[row]}; scores must lie in [0, 1] "
            f"({int(bad.sum())} of {n} items do not)"
        )
    return array


def _options(
    values: ArrayLike | Sequence[Sequence[float]], n: int, ids: Sequence[str]
) -> NDArray[np.float64]:
    if isinstance(values, np.ndarray):
        array = np.array(values, dtype=np.float64)
        if array.ndim != 2:
            raise BenchharmonyError(f"option_logprobs: expected shape (n, m), got {array.shape}")
    else:
        rows = [np.asarray(row, dtype=np.float64).ravel() for row in values]  # type: ignore[union-attr]
        array = np.full((len(rows), max((len(r) for r in rows), default=0)), np.nan)
        for i, row in enumerate(rows):
            array[i, : len(row)] = row
    _sized(array, n, "option_logprobs")
    given = ~np.isnan(array)
    counts = given.sum(axis=1)
    gap = counts != given.cumprod(axis=1).sum(axis=1)
    for bad, why in (
        (counts == 0, "has no option"),
        (gap, "has NaN before its last option"),
        ((array == np.inf).any(axis=1), "has an infinite log-likelihood"),
    ):
        if bad.any():
            raise BenchharmonyError(f"option_logprobs: item {ids[int(np.argmax(bad))]!r} {why}")
    return array


def _gold(
    values: ArrayLike,
    n: int,
    ids: Sequence[str],
    options: NDArray[np.float64] | None,
    choices: tuple[tuple[str, ...], ...] | None,
) -> NDArray[np.int64]:
    raw = _float_column(values, n, "gold")
    array = np.where(np.isnan(raw), -1, raw).astype(np.int64)
    top: Any = np.iinfo(np.int64).max
    if options is not None:
        top = np.count_nonzero(~np.isnan(options), axis=1)
    elif choices is not None:
        top = np.array([len(c) for c in choices])
    bad = (array < -1) | (array >= top) | (np.nan_to_num(raw, nan=-1.0) != array)
    if bad.any():
        row = int(np.argmax(bad))
        raise BenchharmonyError(
            f"gold: item {ids[row]!r} has {raw[row]:g}, which is not one of its options"
        )
    return array


def _predictives(value: PredictiveLike | None, n: int) -> dict[str, Predictive]:
    if value is None:
        return {}
    views = value if isinstance(value, Mapping) else {"item": value}
    built = {
        str(name): v if isinstance(v, Predictive) else Predictive.dense(v)
        for name, v in views.items()
    }
    for name, v in built.items():
        _sized(v, n, f"predictive ({name})")
    return built


def _labels(values: Sequence[object], n: int, name: str) -> tuple[str | None, ...]:
    labels = tuple(None if _is_missing(v) else clean_text(v) for v in values)
    return tuple(_sized(labels, n, f"groups ({name})"))
