"""What a benchmark asks of a model, item by item: the contract between sources and the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError, Problem

#: Position sets a predictive distribution can be averaged over (DESIGN.md, section 3).
POSITIONS = ("item", "answer", "question", "next")

#: A context and the text that follows it, whose log-likelihood is wanted.
Pair = tuple[str, str]


class ItemError(BenchharmonyError):
    """One item that cannot be run; the run goes on without it."""


@dataclass(frozen=True)
class Generation:
    """A text to be continued greedily.

    Attributes
    ----------
    prompt : str
        What the model reads.
    stop : tuple of str
        The answer ends before the first of these.
    max_new_tokens : int
        Longest answer, in tokens.
    """

    prompt: str
    stop: tuple[str, ...]
    max_new_tokens: int


@dataclass(frozen=True)
class WorkItem:
    """One item, as texts.

    Attributes
    ----------
    item_id : str
        Unique within the benchmark.
    text : str
        The question as a person would read it.
    presented : str
        The text of positions ``item``: context, question and options.
    question : str
        The text of positions ``question``.
    pairs : tuple of (context, continuation)
        What is scored: the options first, then whatever else a task wants.
    n_options : int
        How many of ``pairs`` are options.
    prompt : str
        The text whose end is position ``next``.
    answer : (context, continuation) or None
        The gold answer behind its context, for positions ``answer``.
    choices : tuple of str
        Texts of the options.
    gold : int or None
        Index of the right option.
    answers : tuple of str
        Accepted answers of an open-ended item.
    groups : mapping
        Declared columns.
    generation : Generation or None
        For open-ended items.
    line : int or None
        Where the item stands in its file.
    """

    item_id: str
    text: str
    presented: str
    question: str
    pairs: tuple[Pair, ...]
    n_options: int
    prompt: str
    answer: Pair | None
    choices: tuple[str, ...] = ()
    gold: int | None = None
    answers: tuple[str, ...] = ()
    groups: Mapping[str, str | None] = field(default_factory=dict)
    generation: Generation | None = None
    line: int | None = None


@dataclass(frozen=True)
class View:
    """One item's predictive distribution under one position set.

    Attributes
    ----------
    token_ids : ndarray of int32, shape (K,), or None
        Most probable tokens, highest first; None when the distribution is whole.
    logprobs : ndarray of float32, shape (K,) or (v,)
        Natural logs of their mean probabilities.
    rest : float
        Probability of all other tokens.
    n_positions : int
        How many positions were averaged.
    """

    token_ids: NDArray[np.int32] | None
    logprobs: NDArray[np.float32]
    rest: float
    n_positions: int


@dataclass(frozen=True)
class Outcome:
    """What the model gave for one item; ``problem`` says why there is nothing, if so.

    Attributes
    ----------
    logprobs, greedy, n_tokens : tuple
        For each pair: summed log-likelihood (nats), whether every token is the most probable
        one, number of tokens.
    views : mapping of positions to View
        Predictive distributions.
    generated : str or None
        Generated answer.
    truncated : bool
        Whether a text was cut at its start to fit the model.
    problem : str or None
        Why the item could not be run.
    """

    logprobs: tuple[float, ...] = ()
    greedy: tuple[bool, ...] = ()
    n_tokens: tuple[int, ...] = ()
    views: Mapping[str, View] = field(default_factory=dict)
    generated: str | None = None
    truncated: bool = False
    problem: str | None = None


#: Turns items and outcomes into one mapping of metrics per item.
Scorer = Callable[[Sequence[WorkItem], Sequence[Outcome]], list[dict[str, float]]]


@dataclass(frozen=True)
class Benchmark:
    """Items to run, and how their outcomes become scores.

    Attributes
    ----------
    name : str
        Name of the benchmark.
    items : tuple of WorkItem
        Usable items.
    score : callable
        ``score(items, outcomes)`` gives the metrics of every item.
    score_name : str or None
        The metric that is the score; None takes the one that a log with these metrics is read
        with.
    source_format : str
        Where the items come from, in words.
    files : tuple of str
        The files read.
    items_read : int
        Items met, usable or not.
    problems : tuple of Problem
        Items left out.
    settings : mapping
        Settings of the source that shape the numbers (few-shot examples, prompt style).
    notes : tuple of str
        What is worth telling.
    """

    name: str
    items: tuple[WorkItem, ...]
    score: Scorer
    score_name: str | None
    source_format: str
    files: tuple[str, ...] = ()
    items_read: int = 0
    problems: tuple[Problem, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
