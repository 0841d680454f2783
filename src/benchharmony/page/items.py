"""The items of an evaluation as data for the page: texts once per benchmark, answers per model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchharmony.evaluation import Evaluation
from benchharmony.page.safe import block, line
from benchharmony.partition import DECLARED_NAMES, Partition
from benchharmony.splits import Split

#: Characters of item texts in a page at most, all benchmarks together.
BUDGET = 6_000_000
#: A text is cut here, or earlier where the budget asks for it.
_LONGEST, _SHORTEST = 2000, 120
_OPTION, _MOST_OPTIONS = 240, 26
#: Evaluations times items in a page at most; beyond, those nearest to the centres are shown.
_MOST_ROWS = 250_000
#: A declared column with more labels than this is no colour of a map.
_MOST_LABELS = 60
#: Coordinates of the map are whole numbers up to this.
_GRID = 4095


class ItemStore:
    """Collects the items of several evaluations; the same texts are kept once.

    Parameters
    ----------
    splits : sequence of Split
        All that will be shown, so that room can be shared out.
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self.blobs: dict[str, Any] = {}
        self._sets: dict[Any, str] = {}
        shown = [s.evaluation for s in splits if s.partition is not None]
        self._most = max(_MOST_ROWS // max(len(shown), 1), 200)
        self._limit = _text_limit(shown)

    def add(self, place: int, split: Split, at: np.ndarray[Any, Any] | None) -> dict[str, Any]:
        """Store the items of one evaluation; return what the template says about them.

        Parameters
        ----------
        place : int
            Of the evaluation.
        split : Split
            With a partition.
        at : ndarray, shape (n, 2), or None
            Places of the items on a map.
        """
        e, part = split.evaluation, split.partition
        assert part is not None
        rows = _nearest_first(part)
        kept = rows if len(rows) <= self._most else _fair(rows, part, self._most)
        name = f"items-{place}"
        column = _declared_column(e, part)
        self.blobs[name] = {
            "set": self._set(e),
            "row": kept.tolist(),
            "label": part.labels[kept].tolist(),
            "names": [line(n, 100) for n in part.names],
            "score": None if e.scores is None else [round(float(s), 4) for s in e.scores[kept]],
            "chosen": None if e.predicted_option is None else e.predicted_option[kept].tolist(),
            "declared": None if column is None else _coded(e, column, kept),
            "at": None if at is None else _places(at[kept]),
        }
        return {
            "blob": name,
            "shown": len(kept),
            "all": len(rows),
            "central": part.centrality is not None,
            "map": at is not None,
            "texts": e.texts is not None,
            "scored": e.scores is not None,
            "declared": None if column is None else line(column, 40),
        }

    def _set(self, e: Evaluation) -> str:
        key = (e.item_ids, e.texts, e.choices, None if e.gold is None else e.gold.tobytes())
        if key not in self._sets:
            name = self._sets[key] = f"set-{len(self._sets)}"
            self.blobs[name] = {
                "id": [line(i, 100) for i in e.item_ids],
                "text": None if e.texts is None else [block(t, self._limit) for t in e.texts],
                "options": None if e.choices is None else [_options(c) for c in e.choices],
                "gold": None if e.gold is None else e.gold.tolist(),
            }
        return self._sets[key]


def _options(choices: Sequence[str]) -> list[str]:
    shown = [line(c, _OPTION) for c in choices[:_MOST_OPTIONS]]
    more = len(choices) - len(shown)
    return [*shown, f"and {more} more"] if more > 0 else shown


def _text_limit(evaluations: Sequence[Evaluation]) -> int:
    """Return where texts are cut so that all of them stay within the budget."""
    texts = {id(e.texts): e.texts for e in evaluations if e.texts is not None}
    lengths = np.array([len(t) for some in texts.values() for t in some], dtype=np.int64)
    limit = _LONGEST
    while limit > _SHORTEST and np.minimum(lengths, limit).sum() > BUDGET:
        limit = max(limit * 3 // 4, _SHORTEST)
    return limit


def _nearest_first(part: Partition) -> np.ndarray[Any, Any]:
    """Return the rows by subdomain, nearest to its centre first (as logged where none is known)."""
    away = np.zeros(len(part)) if part.centrality is None else -part.centrality
    return np.lexsort((np.arange(len(part)), away, part.labels))


def _fair(rows: np.ndarray[Any, Any], part: Partition, most: int) -> np.ndarray[Any, Any]:
    """Return about ``most`` of the rows, the first ones of every subdomain by its share."""
    labels = part.labels[rows]
    starts = np.searchsorted(labels, np.arange(part.k))
    place = np.arange(len(rows)) - starts[labels]
    wanted = np.maximum(part.sizes * most // len(rows), 5)
    kept: np.ndarray[Any, Any] = rows[place < wanted[labels]]
    return kept


def _declared_column(e: Evaluation, part: Partition) -> str | None:
    """Return a declared column worth a colour of its own, if there is one."""
    taken = part.kind.removeprefix("declared:")
    usable = [
        c
        for c, values in e.groups.items()
        if c != taken and 1 < len(set(values)) <= min(_MOST_LABELS, len(e) // 2)
    ]
    named = [c for c in DECLARED_NAMES if c in usable]
    return named[0] if named else (usable[0] if usable else None)


def _coded(e: Evaluation, column: str, rows: np.ndarray[Any, Any]) -> dict[str, Any]:
    values = [e.groups[column][i] for i in rows]
    names = sorted({v for v in values if v is not None})
    place = {name: i for i, name in enumerate(names)}
    return {
        "name": line(column, 40),
        "names": [line(n, 60) for n in names],
        "code": [-1 if v is None else place[v] for v in values],
    }


def _places(at: np.ndarray[Any, Any]) -> dict[str, Any]:
    low, high = at.min(axis=0), at.max(axis=0)
    wide = np.where(high > low, high - low, 1.0)
    whole = np.rint((at - low) / wide * _GRID).astype(int)
    return {"x": whole[:, 0].tolist(), "y": whole[:, 1].tolist(), "grid": _GRID}
