"""The items of an evaluation as data for the page: texts once per benchmark, answers per model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.evaluation import Evaluation
from benchharmony.page.safe import block, line
from benchharmony.partition import DECLARED_NAMES, Partition
from benchharmony.splits import Split

Rows = NDArray[np.int64]
Numbers = NDArray[np.float64]

#: Bytes of item texts and options in a page at most, all benchmarks together.
BUDGET = 8_000_000
#: A text is cut here, or earlier where the budget asks for it; an option at most at its own limit.
_LONGEST, _SHORTEST = 2000, 60
_OPTION, _MOST_OPTIONS = 240, 26
#: Evaluations times items in a page at most; beyond, those nearest to the centres are shown.
_MOST_ROWS = 250_000
#: A declared column with more labels than this is no colour of a map.
_MOST_LABELS = 60
#: Coordinates of the map are whole numbers up to this.
_GRID = 4095


@dataclass
class _Set:
    """The items of a benchmark as one or more evaluations have them, and who shows which."""

    evaluation: Evaluation
    shown: list[tuple[str, Rows]] = field(default_factory=list)


class ItemStore:
    """Collects the items of several evaluations; the same texts are kept once.

    Parameters
    ----------
    splits : sequence of Split
        All that will be shown, so that room can be shared out.
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self._rows: dict[str, Any] = {}
        self._sets: dict[Any, _Set] = {}
        shown = sum(s.partition is not None for s in splits)
        self._most = max(_MOST_ROWS // max(shown, 1), 200)

    def add(
        self,
        place: int,
        split: Split,
        at: NDArray[np.floating[Any]] | None,
        names: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Store the items of one evaluation; return what the template says about them.

        Parameters
        ----------
        place : int
            Of the evaluation.
        split : Split
            With a partition.
        at : ndarray, shape (n, 2), or None
            Places of the items on a map.
        names : sequence of str, optional
            Of the subdomains, where they have better ones than the partition gives them.
        """
        e, part = split.evaluation, split.partition
        assert part is not None
        rows = _nearest_first(part)
        kept = rows if len(rows) <= self._most else _fair(rows, part, self._most)
        name = f"items-{place}"
        column = _declared_column(e, part)
        key = (e.item_ids, e.texts, e.choices, None if e.gold is None else e.gold.tobytes())
        self._sets.setdefault(key, _Set(e)).shown.append((name, kept))
        self._rows[name] = {
            "label": part.labels[kept].tolist(),
            "names": [line(n, 100) for n in names or part.names],
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

    def blobs(self) -> dict[str, Any]:
        """Return the data of the page: a blob per evaluation, and one per set of items."""
        used = [np.unique(np.concatenate([r for _, r in s.shown])) for s in self._sets.values()]
        limit = _limit([(s.evaluation, u) for s, u in zip(self._sets.values(), used, strict=True)])
        out = dict(self._rows)
        for i, (one, rows) in enumerate(zip(self._sets.values(), used, strict=True)):
            out[f"set-{i}"] = _texts(one.evaluation, rows, limit)
            for name, kept in one.shown:
                place = np.searchsorted(rows, kept).tolist()
                out[name] = {"set": f"set-{i}", "row": place, **out[name]}
        return out


def _texts(e: Evaluation, rows: Rows, limit: int) -> dict[str, Any]:
    return {
        "id": [line(e.item_ids[r], 100) for r in rows],
        "text": None if e.texts is None else [block(e.texts[r], limit) for r in rows],
        "options": None if e.choices is None else [_options(e.choices[r], limit) for r in rows],
        "gold": None if e.gold is None else e.gold[rows].tolist(),
    }


def _options(choices: Sequence[str], limit: int) -> list[str]:
    shown = [line(c, min(_OPTION, limit)) for c in choices[:_MOST_OPTIONS]]
    more = len(choices) - len(shown)
    return [*shown, f"and {more} more"] if more > 0 else shown


def _limit(sets: Sequence[tuple[Evaluation, Rows]]) -> int:
    """Return where texts and options are cut so that all of them stay within the budget."""
    texts = [_sizes(e.texts[r] for r in rows) for e, rows in sets if e.texts is not None]
    options = [
        _sizes(c for r in rows for c in e.choices[r][:_MOST_OPTIONS])
        for e, rows in sets
        if e.choices is not None
    ]
    limit = _LONGEST
    while limit > _SHORTEST:
        total = sum(float((np.minimum(n, limit) * w).sum()) for n, w in texts)
        total += sum(float((np.minimum(n, min(limit, _OPTION)) * w).sum()) for n, w in options)
        if total <= BUDGET:
            break
        limit = max(limit * 3 // 4, _SHORTEST)
    return limit


def _sizes(texts: Iterable[str]) -> tuple[Numbers, Numbers]:
    """Return characters of each text, and the bytes that one of them takes in the page."""
    lengths, widths = [], []
    for text in texts:
        some = text[:_LONGEST]
        marks = sum(map(some.count, "<>&"))  # written as six characters each
        size = len(some.encode("utf-8", "replace")) + 5 * marks
        lengths.append(len(text))
        widths.append(size / max(len(some), 1))
    return np.array(lengths, dtype=np.float64), np.array(widths, dtype=np.float64)


def _nearest_first(part: Partition) -> Rows:
    """Return the rows by subdomain, nearest to its centre first (as logged where none is known)."""
    away = np.zeros(len(part)) if part.centrality is None else -part.centrality
    return np.lexsort((np.arange(len(part)), away, part.labels))


def _fair(rows: Rows, part: Partition, most: int) -> Rows:
    """Return about ``most`` of the rows, the first ones of every subdomain by its share."""
    labels = part.labels[rows]
    starts = np.searchsorted(labels, np.arange(part.k))
    place = np.arange(len(rows)) - starts[labels]
    wanted = np.maximum(part.sizes * most // len(rows), 5)
    kept: Rows = rows[place < wanted[labels]]
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


def _coded(e: Evaluation, column: str, rows: Rows) -> dict[str, Any]:
    values = [e.groups[column][i] for i in rows]
    names = sorted({v for v in values if v is not None})
    place = {name: i for i, name in enumerate(names)}
    return {
        "name": line(column, 40),
        "names": [line(n, 60) for n in names],
        "code": [-1 if v is None else place[v] for v in values],
    }


def _places(at: NDArray[np.floating[Any]]) -> dict[str, Any]:
    low, high = at.min(axis=0), at.max(axis=0)
    wide = np.where(high > low, high - low, 1.0)
    whole = np.rint((at - low) / wide * _GRID).astype(int)
    return {"x": whole[:, 0].tolist(), "y": whole[:, 1].tolist(), "grid": _GRID}
