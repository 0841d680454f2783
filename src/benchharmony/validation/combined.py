"""Is there one similarity that finds both meaning and topics: candidates, judged on both tests.

None of them knows roles or domains. Penalising shared words outright would win RedundantQA by its
construction (look-alikes share more words than paraphrases), so every candidate is also asked to
rank paraphrases above unrelated items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.predictive import PADDING, Predictive
from benchharmony.validation.case import Case
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import clustered, found
from benchharmony.validation.ranking import ranking
from benchharmony.validation.words import tfidf_cosine

FloatArray = NDArray[np.float64]

#: What one similarity would have to reach on both tests.
MEANING, TOPICS = 0.8, 0.5
#: Share of the items that must list a token for it to be a feature.
_COMMON = 0.02
_WEIGHTS = (0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Attempt:
    """One candidate of one model on both tests; NaN where it cannot be made.

    Attributes
    ----------
    model, name : str
        The model and the candidate.
    auc, auc_par2, others : float
        Ranking of RedundantQA: AUC over all pairs, over paraphrases that reword the answer,
        and of paraphrases over unrelated items.
    ami_redundantqa, ami_topics : float
        Adjusted mutual information with the four domains, and with the declared subdomains of
        the other benchmark, each at the declared k.
    topics : str
        That benchmark.
    passes : bool
        Whether ``auc`` is at least 0.8 and ``ami_topics`` at least 0.5.
    """

    model: str
    name: str
    auc: float
    auc_par2: float
    others: float
    ami_redundantqa: float
    ami_topics: float
    topics: str
    passes: bool


def attempts(
    cases: Sequence[Case], progress: Callable[[str], None], *, seed: int = 0
) -> dict[str, Any] | None:
    """Judge every candidate for every model that has RedundantQA and another benchmark.

    Parameters
    ----------
    cases : sequence of Case
        Models are matched by name, whatever its case.
    progress : callable
        Told of each candidate.
    seed : int
        Of k-means and shuffles.

    Returns
    -------
    dict or None
        ``attempts``, a list of :class:`Attempt`, and ``words``; None without such a model.
    """
    rows: list[Attempt] = []
    for meaning in (c for c in cases if c.items is not None):
        model = meaning.evaluation.model
        for topics in cases:
            if topics.items is None and topics.evaluation.model.casefold() == model.casefold():
                rows += _both(meaning, topics, progress, seed)
    return {"attempts": rows, "words": _words(rows)} if rows else None


def _both(
    meaning: Case, topics: Case, progress: Callable[[str], None], seed: int
) -> Iterator[Attempt]:
    model = meaning.evaluation.model
    there = dict(candidates(topics))
    for name, make in candidates(meaning):
        if name not in there:
            continue
        progress(f"{model}: {name}")
        matrix = make()
        ranked = ranking(meaning.items or (), matrix, seed=seed)
        amis = [_ami(meaning, matrix, seed), _ami(topics, there[name](), seed)]
        auc = ranked.all.auc
        yield Attempt(
            model, name, auc, ranked.par2.auc, ranked.others, amis[0], amis[1],
            topics.evaluation.benchmark, auc >= MEANING and amis[1] >= TOPICS,
        )  # fmt: skip


def _ami(case: Case, matrix: FloatArray, seed: int) -> float:
    k = case.n_declared
    labels = clustered(matrix, (k, k), seed=seed).labels[k]
    return found(labels, case.declared, shuffles=1).ami


def candidates(case: Case) -> Iterator[tuple[str, Callable[[], FloatArray]]]:
    """Yield name and maker of every candidate similarity that a case allows."""
    views, j, texts = case.views, case.divergence, case.texts
    for name, divergence in j.items():
        yield name, partial(similarity_from, divergence)
    if "item" in views and "answer" in views:
        for w in _WEIGHTS:
            yield f"{w:g} answer + {1 - w:g} item", partial(_sum, j["answer"], j["item"], w)
            if texts is not None:
                yield (
                    f"{w:g} answer + {1 - w:g} item, word overlap regressed out",
                    partial(
                        _sum_residual, j["answer"], j["item"], w, texts["question and options"]
                    ),
                )
        if texts is not None:
            yield (
                "0.3 answer + 0.7 item and its centred logs, word overlap regressed out",
                partial(_with_centred, case),
            )
    for name in ("item", "answer"):
        if name in views:
            yield f"{name}, centred logs", partial(_angle, centred_logs, views[name])
            yield f"{name}, rare tokens weighted", partial(_angle, rare_tokens, views[name])
            if texts is not None:
                yield (
                    f"{name}, word overlap regressed out",
                    partial(_residual, j[name], texts["question and options"]),
                )
    for name in ("item", "answer", "next"):
        if name in views and "question" in views:
            yield f"{name} less question", partial(_angle, _less, views[name], views["question"])


def _sum(answer: FloatArray, item: FloatArray, weight: float) -> FloatArray:
    return similarity_from(weight * _scaled(answer) + (1 - weight) * _scaled(item))


def _with_centred(case: Case) -> FloatArray:
    texts = case.texts or {}
    centred = _scaled(1 - _cosine(centred_logs(case.views["item"])))
    item = (_scaled(case.divergence["item"]) + centred) / 2
    return _sum_residual(case.divergence["answer"], item, 0.3, texts["question and options"])


def _sum_residual(
    answer: FloatArray, item: FloatArray, weight: float, texts: list[str]
) -> FloatArray:
    both = weight * _scaled(answer) + (1 - weight) * _scaled(item)
    return residual(both, tfidf_cosine(texts))


def _residual(divergence: FloatArray, texts: list[str]) -> FloatArray:
    return residual(divergence, tfidf_cosine(texts))


def centred_logs(view: Predictive, tokens: NDArray[np.int64] | None = None) -> FloatArray:
    """Return log-probabilities of common tokens less their mean over the items, shape (n, m).

    What all items share (how texts of this form go on) falls out. Common tokens are those that
    at least 2 % of the items list.
    """
    logs = np.log(np.maximum(_probabilities(view, tokens), np.finfo(np.float64).tiny))
    centred: FloatArray = logs - logs.mean(axis=0)
    return centred


def rare_tokens(view: Predictive) -> FloatArray:
    """Return probabilities over the square root of their means, less the mean: (n, m).

    The features of correspondence analysis: a token counts the more, the rarer it is over items.
    """
    p = _probabilities(view, None)
    mean = np.maximum(p.mean(axis=0), np.finfo(np.float64).tiny)
    features: FloatArray = (p - mean) / np.sqrt(mean)
    return features


def residual(divergence: FloatArray, overlap: FloatArray) -> FloatArray:
    """Return the similarity whose log-divergence is free of what word overlap predicts of it.

    A line of log J on overlap over all pairs, which are nearly all unrelated, is taken away.
    """
    pairs = np.triu_indices(len(divergence), 1)
    smallest = divergence[pairs][divergence[pairs] > 0].min()
    logs = np.log(np.maximum(divergence, smallest))
    slope, _ = np.polyfit(overlap[pairs], logs[pairs], 1)
    left = np.exp(logs - slope * overlap)
    np.fill_diagonal(left, 0.0)
    return similarity_from(left)


def _less(view: Predictive, part: Predictive) -> FloatArray:
    tokens = _common(view)
    return centred_logs(view, tokens) - centred_logs(part, tokens)


def _common(view: Predictive) -> NDArray[np.int64]:
    if view.token_ids is None:
        return np.arange(view.vocab_size)
    tokens, times = np.unique(view.token_ids[view.token_ids != PADDING], return_counts=True)
    return tokens[times >= _COMMON * len(view)]


def _probabilities(view: Predictive, tokens: NDArray[np.int64] | None) -> FloatArray:
    """Return the probabilities of some tokens, by default the common ones, shape (n, m)."""
    wanted = _common(view) if tokens is None else tokens
    p = np.exp(view.logprobs.astype(np.float64))
    if view.token_ids is None:
        return p[:, wanted]
    unlisted = np.maximum(view.n_unlisted, 1)
    out = np.repeat((view.rest / unlisted)[:, None], len(wanted), axis=1)
    place = np.minimum(np.searchsorted(wanted, view.token_ids), len(wanted) - 1)
    row, column = np.nonzero(wanted[place] == view.token_ids)
    out[row, place[row, column]] = p[row, column]
    return out


def _cosine(features: FloatArray) -> FloatArray:
    length = np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-300)
    unit = features / length
    out: FloatArray = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out


def _angle(features: Callable[..., FloatArray], *views: Predictive) -> FloatArray:
    return similarity_from(1 - _cosine(features(*views)))


def _scaled(divergence: FloatArray) -> FloatArray:
    return divergence / float(np.median(divergence[np.triu_indices(len(divergence), 1)]))


def _words(rows: Sequence[Attempt]) -> list[str]:
    passing = [r for r in rows if r.passes]
    bar = f"AUC at least {MEANING:g} and AMI with topics at least {TOPICS:g}"
    if passing:
        names = ", ".join(sorted({f"{r.name} ({r.model})" for r in passing}))
        return [f"Both bars ({bar}) are met by: {names}."]
    # Nearest: the smaller of the two shares of the bars that are reached.
    best = max(rows, key=lambda r: min(r.auc / MEANING, r.ami_topics / TOPICS))
    return [
        f"No candidate meets both bars ({bar}). Nearest: {best.name} with {best.model} "
        f"(AUC {best.auc:.2f}, AMI {best.ami_topics:.2f})."
    ]
