"""How close the items of a subdomain are, for pruning: by predictive distributions or by text.

Only pairs within a subdomain are ever compared, so only those blocks are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.predictive import Predictive
from benchharmony.resampling import stream
from benchharmony.similarity import jeffreys, median_tau, predictive_similarity

IntArray = NDArray[np.int64]
Block = NDArray[np.float32]

#: Best first: the gold answer's distributions see meaning, an item's own see its topic.
_PREFERRED = ("answer", "item")
#: Items from which the median rule takes tau: it scales similarities, it does not reorder them.
_TAU_ITEMS = 1000
#: Bytes of similarities that are kept for their second use.
_REMEMBERED = 1 << 30


@dataclass(frozen=True)
class Closeness:
    """A similarity of items that can be computed for any few of them.

    Attributes
    ----------
    name : str
        Positions of the predictive distributions ("answer", "item", ...), or "text".
    models : tuple of str
        Models whose similarities are averaged; empty for text.
    tau : tuple of float
        Scale of each model's similarity, per nat.
    block : callable
        ``block(rows)``: similarity of those items, shape (m, m), float32, in [0, 1].
    notes : tuple of str
        What a reader should know.
    """

    name: str
    models: tuple[str, ...]
    tau: tuple[float, ...]
    block: Callable[[IntArray], Block]
    notes: tuple[str, ...] = ()


def closeness_of(
    evaluations: Sequence[Evaluation], name: str | None = None, *, seed: int = 0
) -> Closeness:
    """Return the similarity to prune by.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        Of the same items in the same order; models that record the distributions are averaged.
    name : str, optional
        Positions ("answer", "item", ...) or "text". By default "answer" where a model records it,
        then "item", then any other, then text.
    seed : int
        Of the items from which tau is taken, where there are more than 1,000.

    Raises
    ------
    BenchharmonyError
        When no model records ``name``, or there is nothing to compare.
    """
    there = {p: None for e in evaluations for p in e.predictive}
    texts = next((e.texts for e in evaluations if e.texts and any(e.texts)), None)
    if name is None:
        ranked = [p for p in _PREFERRED if p in there] + [p for p in there if p not in _PREFERRED]
        name = ranked[0] if ranked else "text"
    if name == "text" and texts is not None:
        return _text_closeness(evaluations, texts, recorded=tuple(there))
    if name not in there:
        has = ", ".join([*there, *(["text"] if texts else [])]) or "none"
        raise BenchharmonyError(
            f"{evaluations[0].benchmark}: no {name!r} to compare items by (recorded: {has}); "
            "record distributions with `benchharmony collect`, join texts with --items, or use "
            "the strategies balance (--keep random) or weights"
        )
    return _predictive_closeness(evaluations, name, seed)


def _predictive_closeness(evaluations: Sequence[Evaluation], name: str, seed: int) -> Closeness:
    used = [e for e in evaluations if name in e.predictive]
    views = [e.predictive[name] for e in used]
    scales, notes = [], []
    for view in views:
        tau, note = _tau(view, seed)
        scales.append(tau)
        if note is not None:
            notes.append(note)
    if name not in _PREFERRED:
        notes.append(f"items are compared by {name!r} distributions, which see little of meaning")
    if len(used) < len(evaluations):
        notes.append(f"{len(used)} of {len(evaluations)} models record {name!r} distributions")

    def block(rows: IntArray) -> Block:
        total = np.zeros((len(rows), len(rows)), dtype=np.float32)
        for view, tau in zip(views, scales, strict=True):
            total += predictive_similarity(view.take(rows), tau=tau).astype(np.float32)
        total /= np.float32(len(views))
        return total

    models = tuple(e.model for e in used)
    return Closeness(name, models, tuple(scales), _remembering(block), tuple(notes))


def _tau(view: Predictive, seed: int) -> tuple[float, str | None]:
    if len(view) < 2:
        return 1.0, None
    if len(view) > _TAU_ITEMS:
        rows = stream(seed, "closeness tau").permutation(len(view))[:_TAU_ITEMS]
        view = view.take(np.sort(rows))
    found = median_tau(jeffreys(view))
    return found.value, found.note


def _text_closeness(
    evaluations: Sequence[Evaluation], texts: tuple[str, ...], recorded: tuple[str, ...]
) -> Closeness:
    from sklearn.feature_extraction.text import TfidfVectorizer

    choices = next((e.choices for e in evaluations if e.choices), None)
    whole = [f"{text} {' '.join(choices[i])}" if choices else text for i, text in enumerate(texts)]
    try:
        rows_of = TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit_transform(whole)
    except ValueError:
        raise BenchharmonyError(
            f"{evaluations[0].benchmark}: the texts of the items hold no words to compare"
        ) from None

    def block(rows: IntArray) -> Block:
        part = rows_of[rows]
        dense: Block = (part @ part.T).toarray().astype(np.float32)
        np.clip(dense, 0.0, 1.0, out=dense)
        return dense

    note = "items are compared by the words of their texts, which see little of meaning"
    return Closeness("text", (), (), _remembering(block), () if recorded else (note,))


def _remembering(block: Callable[[IntArray], Block]) -> Callable[[IntArray], Block]:
    """Return the same function with its answers kept, as far as memory allows.

    Each block is needed twice: for the order, and for the nearest kept item of every dropped one.
    """
    known: dict[bytes, Block] = {}

    def remembered(rows: IntArray) -> Block:
        key = rows.tobytes()
        if key in known:
            return known[key]
        found = block(rows)
        if found.nbytes + sum(b.nbytes for b in known.values()) <= _REMEMBERED:
            known[key] = found
        return found

    return remembered
