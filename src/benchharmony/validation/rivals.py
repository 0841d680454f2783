"""Predictive similarity and its rivals, each as one matrix over the items of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys
from benchharmony.validation.case import Case
from benchharmony.validation.divergences import DIVERGENCES, similarity_from, truncated
from benchharmony.validation.words import embedding_cosine, ngram_overlap, tfidf_cosine

FloatArray = NDArray[np.float64]

#: Items above which Jensen-Shannon, whose cost is n^2 K, reads fewer tokens of each.
_MANY_ITEMS, _FEW_TOKENS = 800, 256
_COMPARED = ("item", "answer")


@dataclass(frozen=True, eq=False)
class Similarity:
    """A similarity of n items.

    Attributes
    ----------
    name : str
        As tables show it.
    family : {"predictive", "divergence", "words", "embeddings", "options"}
        What it reads.
    matrix : ndarray, shape (n, n)
        In [0, 1], ones on the diagonal; symmetric but for forward KL, whose row i compares the
        others with item i.
    divergence : ndarray, shape (n, n), or None
        Jeffreys divergence, where the similarity is made from it.
    """

    name: str
    family: str
    matrix: FloatArray
    divergence: FloatArray | None = None


@dataclass(frozen=True)
class Missing:
    """A rival that could not be computed, and why."""

    name: str
    why: str


def predictive_similarities(case: Case) -> Iterator[Similarity]:
    """Yield predictive similarity for every recorded positions, tau by the median rule."""
    for name, j in case.divergence.items():
        yield Similarity(name, "predictive", similarity_from(j), j)


def rivals(case: Case, embeddings: str | None = None) -> Iterator[Similarity | Missing]:
    """Yield every rival that the case allows, and those it does not with the reason.

    Parameters
    ----------
    case : Case
        Items, texts, distributions and option log-likelihoods.
    embeddings : str, optional
        Directory or hub id of a sentence encoder.
    """
    yield from _other_divergences(case)
    yield from _words(case)
    yield from _embeddings(case, embeddings)
    yield _options(case)


def _other_divergences(case: Case) -> Iterator[Similarity]:
    for positions, view in case.views.items():
        if positions not in _COMPARED:
            continue
        for name, divergence in DIVERGENCES.items():
            some, cut = view, ""
            if name == "Jensen-Shannon":
                most = _FEW_TOKENS if len(case) > _MANY_ITEMS else 1024
                some = truncated(view, most)
                cut = "" if some is view else f", top {most}"
            yield Similarity(
                f"{name} ({positions}{cut})", "divergence", similarity_from(divergence(some))
            )


def _words(case: Case) -> Iterator[Similarity | Missing]:
    texts = case.texts
    if texts is None:
        yield Missing("word overlap", "the source has no texts; join them with --items")
        return
    whole = "question and options"
    makers: list[tuple[str, str, Callable[[list[str]], FloatArray]]] = [
        ("TF-IDF", whole, tfidf_cosine),
        ("words", whole, ngram_overlap),
        ("word pairs", whole, lambda t: ngram_overlap(t, 2)),
        ("words", "question", ngram_overlap),
        ("TF-IDF", "question and answer", tfidf_cosine),
        ("words", "answer", ngram_overlap),
    ]
    for name, part, make in makers:
        if part in texts:
            yield Similarity(f"{name} ({part})", "words", make(texts[part]))


def _embeddings(case: Case, model: str | None) -> Iterator[Similarity | Missing]:
    texts = case.texts
    if model is None or texts is None:
        why = "no texts" if model else "no encoder given; --embeddings takes one"
        yield Missing("sentence embeddings", why)
        return
    for part in ("question and options", "question", "question and answer"):
        if part not in texts:
            continue
        try:
            made = embedding_cosine(texts[part], model)
        except BenchharmonyError as error:
            yield Missing("sentence embeddings", str(error))
            return
        yield Similarity(f"embeddings ({part})", "embeddings", made)


def _options(case: Case) -> Similarity | Missing:
    name = "option likelihoods"
    logs = case.evaluation.option_logprobs
    if logs is None:
        return Missing(name, "not in the source")
    if not np.isfinite(logs).all():
        return Missing(name, "items differ in number of options, or an option is impossible")
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    view = Predictive.dense(p / p.sum(axis=1, keepdims=True))
    if not np.isfinite(j := jeffreys(view)).all():
        return Missing(name, "an option has probability 0")
    return Similarity(name, "options", similarity_from(j))
