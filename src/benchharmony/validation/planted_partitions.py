"""Planted partitions: distributions and scores of items whose subdomains are known.

Each subdomain has a distribution of its own over v outcomes. An item mixes its subdomain's with
those of the others (``overlap`` is their share) and with noise of its own. Scores are drawn with
the subdomain's performance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.metric import harmony_score, summarise
from benchharmony.predictive import Predictive
from benchharmony.similarity import jeffreys
from benchharmony.validation.divergences import similarity_from
from benchharmony.validation.domains import clustered, default_k
from benchharmony.validation.planted import planted_performance, planted_sizes

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Standard deviation of the logits of a subdomain's distribution around the common one.
_APART = 1.5
#: Items whose distributions are held whole at once, where only the top tokens are kept.
_AT_ONCE = 256


def plant_partition(
    sizes: ArrayLike,
    performance: ArrayLike,
    *,
    overlap: float = 0.2,
    noise: float = 0.5,
    vocab_size: int = 500,
    top_k: int | None = None,
    seed: int = 0,
) -> tuple[Evaluation, Labels]:
    """Return an evaluation with planted subdomains, and the truth.

    Parameters
    ----------
    sizes : array_like of int, shape (k,)
        Items of each subdomain.
    performance : array_like, shape (k,)
        Chance of a right answer in each, in [0, 1].
    overlap : float
        Share of an item's mass that comes from other subdomains, in [0, 1]. Each item leans
        towards others of its own choice, so that from 0.5 on some are nearer to another one.
    noise : float
        Standard deviation of an item's own noise on its log-probabilities.
    vocab_size : int
        Outcomes v, at least 2.
    top_k : int, optional
        Keep the likeliest tokens of each item and the remaining mass; then v may be large.
    seed : int
        Of everything drawn.

    Returns
    -------
    Evaluation, ndarray of int64 of shape (n,)
        Items in random order, distributions as positions "item", truth in ``groups["domain"]``
        too.

    Raises
    ------
    BenchharmonyError
        For sizes and performance that do not fit, or an overlap out of range.
    """
    size, rates = np.asarray(sizes, dtype=np.int64), np.asarray(performance, dtype=np.float64)
    if size.shape != rates.shape or size.ndim != 1 or (size < 1).any():
        raise BenchharmonyError("planted partition: sizes and performance must be (k,), sizes > 0")
    if not 0 <= overlap <= 1 or vocab_size < 2 or not ((rates >= 0) & (rates <= 1)).all():
        raise BenchharmonyError("planted partition: overlap and performance lie in [0, 1], v >= 2")
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(len(size)), size))
    common = rng.standard_normal(vocab_size)
    topics = _softmax(common + _APART * rng.standard_normal((len(size), vocab_size)))
    view = _views(truth, topics, overlap, noise, top_k, rng)
    made = Evaluation.from_arrays(
        benchmark="planted",
        model=f"overlap {overlap:g}",
        scores=(rng.random(len(truth)) < rates[truth]).astype(np.float64),
        predictive=view,
        groups={"domain": [f"D{t + 1}" for t in truth]},
    )
    return made, truth


def _views(
    truth: Labels,
    topics: FloatArray,
    overlap: float,
    noise: float,
    top_k: int | None,
    rng: np.random.Generator,
) -> Predictive:
    rows = (
        _items(truth[start : start + _AT_ONCE], topics, overlap, noise, rng)
        for start in range(0, len(truth), _AT_ONCE)
    )
    if top_k is None or top_k >= topics.shape[1]:
        return Predictive.dense(np.concatenate(list(rows)))
    ids, logs, rest = [], [], []
    for p in rows:
        some = np.argpartition(-p, top_k - 1, axis=1)[:, :top_k]
        kept = np.take_along_axis(p, some, axis=1)
        ids.append(some)
        logs.append(np.log(kept))
        rest.append(np.clip(1 - kept.sum(axis=1), 0, 1))
    return Predictive.top_k(
        np.concatenate(ids), np.concatenate(logs), np.concatenate(rest), topics.shape[1]
    )


def _items(
    truth: Labels, topics: FloatArray, overlap: float, noise: float, rng: np.random.Generator
) -> FloatArray:
    k = len(topics)
    own = np.eye(k)[truth]
    if k > 1:
        # Each item leans towards other subdomains of its own choice.
        others = rng.dirichlet(np.full(k, 0.5), size=len(truth)) * (1 - own)
        others /= others.sum(axis=1, keepdims=True)
        own = (1 - overlap) * own + overlap * others
    logits = np.log(own @ topics) + noise * rng.standard_normal((len(truth), topics.shape[1]))
    return _softmax(logits)


def _softmax(logits: FloatArray) -> FloatArray:
    p: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


@dataclass(frozen=True)
class Cell:
    """Recovery in one cell of the table, averaged over repetitions.

    Attributes
    ----------
    overlap : float
        Share of other subdomains in an item.
    n, k : int
        Items, true subdomains.
    ari : float
        Adjusted Rand index of the partition at the true k.
    h_error : float
        Mean absolute error of H at the true k.
    chosen_k : float
        Mean k by the silhouette (NaN where none was admissible).
    chosen_ari, chosen_h_error : float
        The same at the chosen k.
    shuffled_h_error : float
        Of a partition of the true k with shuffled membership.
    """

    overlap: float
    n: int
    k: int
    ari: float
    h_error: float
    chosen_k: float
    chosen_ari: float
    chosen_h_error: float
    shuffled_h_error: float


#: The cells of the table.
OVERLAPS, ITEMS, SUBDOMAINS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8), (150, 500), (3, 8, 15)


def recovery_table(
    overlaps: Sequence[float] = OVERLAPS,
    items: Sequence[int] = ITEMS,
    subdomains: Sequence[int] = SUBDOMAINS,
    *,
    repeats: int = 3,
    vocab_size: int = 300,
    seed: int = 0,
) -> Iterator[Cell]:
    """Yield how well planted subdomains and their H are recovered over overlap, n and k.

    Sizes are random, performances normal around 0.65 with SD 0.15.
    """
    for k in subdomains:
        for n in items:
            for overlap in overlaps:
                trials = [
                    _trial(n, k, overlap, vocab_size, np.random.default_rng([seed, k, n, r]))
                    for r in range(repeats)
                ]
                yield Cell(overlap, n, k, *(_mean(column) for column in zip(*trials, strict=True)))


def _trial(
    n: int, k: int, overlap: float, vocab_size: int, rng: np.random.Generator
) -> tuple[float, ...]:
    from sklearn.metrics import adjusted_rand_score

    sizes = planted_sizes(n, k, "random", rng)
    made, truth = plant_partition(
        sizes, planted_performance(0.15, k, rng), overlap=overlap, vocab_size=vocab_size,
        seed=int(rng.integers(2**31)),
    )  # fmt: skip
    similarity = similarity_from(jeffreys(made.predictive["item"]))
    sweep = clustered(similarity, (2, 20), (k,))
    scores = np.asarray(made.scores)

    def h(labels: Labels) -> float:
        s = summarise(scores, labels)
        return harmony_score(s.weights, s.performance)

    real, at_k = h(truth), sweep.labels[k]
    chosen = default_k(similarity, sweep, (2, 20))
    nan = float("nan")
    other = (nan, nan, nan)
    if chosen is not None:
        labels = sweep.labels[chosen]
        other = (
            float(chosen), float(adjusted_rand_score(truth, labels)), abs(h(labels) - real),
        )  # fmt: skip
    return (
        float(adjusted_rand_score(truth, at_k)), abs(h(at_k) - real), *other,
        abs(h(rng.permutation(at_k)) - real),
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    there = [v for v in values if np.isfinite(v)]
    return float(np.mean(there)) if there else float("nan")
