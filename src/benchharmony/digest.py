"""Digests of evaluations and partitions: equal where everything that results depend on is equal."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from benchharmony.evaluation import Evaluation
from benchharmony.subdomains import Partition

_SIZE = 20
_ITEMS: WeakKeyDictionary[Evaluation, str] = WeakKeyDictionary()
_VIEWS: WeakKeyDictionary[Evaluation, str] = WeakKeyDictionary()


def digest_of(*parts: Any) -> str:
    """Return a digest of plain values and arrays, told apart from their like by type and length."""
    whole = hashlib.blake2b(digest_size=_SIZE)
    for part in parts:
        _add(whole, part)
    return whole.hexdigest()


def _add(whole: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        whole.update(f"array {part.dtype.str} {part.shape} ".encode())
        whole.update(np.ascontiguousarray(part).data.cast("B") if part.size else b"")
    else:
        # Plain JSON with escapes: lone surrogates, which logs do hold, have bytes too.
        text = json.dumps(part, sort_keys=False, default=_plain).encode()
        whole.update(f"json {len(text)} ".encode())
        whole.update(text)


def _plain(value: Any) -> Any:
    """Return a JSON value for what metadata may hold beside JSON values."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return f"{type(value).__name__} {value}"


def digest_of_items(evaluation: Evaluation) -> str:
    """Return a digest of what partitions are made from, distributions apart: ids, texts, labels.

    Benchmark and model are part of it, since messages name them; scores are not: no partition of
    one evaluation looks at them.
    """
    found = _ITEMS.get(evaluation)
    if found is None:
        found = _ITEMS[evaluation] = digest_of(
            evaluation.benchmark,
            evaluation.model,
            evaluation.item_ids,
            evaluation.option_logprobs,
            evaluation.texts,
            evaluation.choices,
            list(evaluation.groups.items()),
            list(evaluation.predictive),
        )
    return found


def digest_of_views(evaluation: Evaluation) -> str:
    """Return a digest of the predictive distributions; those in a file are read for it."""
    found = _VIEWS.get(evaluation)
    if found is None:
        views: list[Any] = []
        for name, view in evaluation.predictive.items():
            views.append(digest_of(name, view.logprobs, view.token_ids, view.rest, view.vocab_size))
        found = _VIEWS[evaluation] = digest_of(views)
    return found


def digest_of_results(evaluation: Evaluation) -> str:
    """Return a digest of what a report shows beside the partition: scores, key, notes, source."""
    return digest_of(
        digest_of_items(evaluation),
        evaluation.score_name,
        evaluation.scores,
        *[part for name, values in evaluation.metrics.items() for part in (name, values)],
        evaluation.gold,
        evaluation.notes,
        dict(evaluation.metadata),
        asdict(evaluation.source),
    )


def digest_of_partition(partition: Partition) -> str:
    """Return a digest of a partition, with everything that made it."""
    from benchharmony.kept import packed_partition

    return digest_of(hashlib.blake2b(packed_partition(partition)).hexdigest())
