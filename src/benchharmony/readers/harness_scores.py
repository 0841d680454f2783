"""Scores of a harness log: which metric is the score, and what the log-likelihoods say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Which metric is the score when nobody chose one: the first of these that the log has and that
#: stays in [0, 1]; then the first metric whose name ends in one of them ("bleu_acc", "bert_f1");
#: then any other metric that stays in [0, 1] and is better when higher.
SCORE_ORDER = (
    "acc",
    "exact_match",
    "em",
    "accuracy",
    "pass@1",
    "pass_at_1",
    "f1",
    "mc1",
    "mc2",
    "acc_norm",
    "score",
    "match",
    "correct",
)
_LOWER_IS_BETTER = re.compile(
    r"perplexity|loss|error|stderr|brier|distance|likelihood|bits_per_byte"
    r"|(^|_)(mae|mse|rmse|wer|cer|ter|ece|ppl)($|_)",
    re.I,
)

#: A log-likelihood above this is none (rounding stays far below).
MAX_LOG_LIKELIHOOD = 1e-3
#: As few different values as this over a whole log are marks, not log-likelihoods.
MAX_PLACEHOLDER_VALUES = 3
#: Fewer items than this say nothing about how many different values there are.
MIN_PLACEHOLDER_ITEMS = 5


def default_score(metrics: Mapping[str, Floats]) -> str | None:
    """Return the name of the metric to use as score; None when none fits.

    A metric without gaps goes before one with gaps; within each, the order is that of
    :data:`SCORE_ORDER`.

    Parameters
    ----------
    metrics : mapping of str to ndarray, shape (n,)
        NaN where an item lacks the metric.
    """
    fitting = [name for name in _by_preference(metrics) if _in_unit_interval(metrics[name])]
    whole = [name for name in fitting if not np.isnan(metrics[name]).any()]
    return next(iter(whole or fitting), None)


def _by_preference(metrics: Mapping[str, Floats]) -> list[str]:
    ordered = [name for name in SCORE_ORDER if name in metrics]
    ordered += [
        name
        for end in SCORE_ORDER
        for name in metrics
        if name.lower().endswith(("_" + end, "." + end))
    ]
    ordered += [name for name in metrics if not _LOWER_IS_BETTER.search(name)]
    return [n for n in dict.fromkeys(ordered) if not n.lower().endswith("stderr")]


def without_infinities(values: Floats) -> Floats:
    """Return a metric with its infinities as gaps, where all the rest lies in [0, 1].

    One infinity is a fault of its item; it does not make an accuracy another kind of metric.
    """
    infinite = np.isinf(values)
    if infinite.any() and _in_unit_interval(values[~infinite]):
        return np.where(infinite, np.nan, values)
    return values


def _in_unit_interval(values: Floats) -> bool:
    given = values[~np.isnan(values)]
    return given.size > 0 and bool(((given >= 0) & (given <= 1)).all())


def ragged(options: Sequence[Sequence[float] | None]) -> Floats:
    """Return the options as one array, NaN past an item's own number of them; shape (n, m)."""
    width = max((len(row) for row in options if row is not None), default=0)
    array = np.full((len(options), width), np.nan)
    for i, row in enumerate(options):
        if row is not None:
            array[i, : len(row)] = row
    return array


def likeliest(options: Floats) -> Ints:
    """Return the index of the highest value of each row, ties to the lowest; -1 for empty rows.

    Parameters
    ----------
    options : ndarray, shape (n, m)
        NaN past a row's end.
    """
    if options.shape[1] == 0:
        return np.full(len(options), -1, dtype=np.int64)
    filled = np.where(np.isnan(options), -np.inf, options)
    best: Ints = filled.argmax(axis=1)
    return np.where(np.isnan(options[:, 0]), -1, best)


def count_ties(options: Floats) -> int:
    """Return how many rows share their highest value among several options."""
    top = np.nanmax(options, axis=1, keepdims=True)
    return int(((options == top).sum(axis=1) > 1).sum())


def computed_accuracy(predicted: Ints, gold: Ints) -> Floats:
    """Return 1 where the likeliest option is the right one, 0 where not, NaN where unknown."""
    return np.where((predicted < 0) | (gold < 0), np.nan, (predicted == gold).astype(np.float64))


def length_normalised(options: Floats, continuations: Sequence[Sequence[str]]) -> Floats | None:
    """Return the log-likelihoods over the characters of the options, as ``acc_norm`` compares them.

    Parameters
    ----------
    options : ndarray, shape (n, m)
    continuations : sequence of sequence of str, length n
        What was scored, with the delimiter before it, which does not count.

    Returns
    -------
    ndarray, shape (n, m), or None
        None when an item's texts are not all known or one of them is empty.
    """
    lengths = np.full(options.shape, np.nan)
    for i, texts in enumerate(continuations):
        sizes = [len(t.removeprefix(" ")) for t in texts]
        if len(sizes) != np.count_nonzero(~np.isnan(options[i])) or 0 in sizes:
            return None
        lengths[i, : len(sizes)] = sizes
    normalised: Floats = options / lengths
    return normalised


def placeholder_reason(options: Floats) -> str | None:
    """Return why these numbers are not log-likelihoods; None when they may be.

    Parameters
    ----------
    options : ndarray, shape (n, m)
        NaN past a row's end.
    """
    given = options[~np.isnan(options)]
    if (given > MAX_LOG_LIKELIHOOD).any():
        return f"values up to {given.max():g}, where a log-likelihood is at most 0"
    different = np.unique(given)
    if len(options) >= MIN_PLACEHOLDER_ITEMS and len(different) <= MAX_PLACEHOLDER_VALUES:
        shown = ", ".join(f"{v:g}" for v in different)
        return f"only {len(different)} different values in {len(options)} items ({shown})"
    return None
