"""Declared partitions from several columns: ``declared:a+b`` (nested or crossed).

A subdomain is a combination of labels, in the order the columns are named. Where every label of b
occurs under one label of a, b is *nested* in a; otherwise the two are *crossed*. Combinations with
too few items (the guard of :class:`benchharmony.choice.Choice`: a share, and at least 5 items) are
merged by one rule for both: all small ones that agree in every column but the last become one
group "a / (other)"; those still too small become one group a column further up; what is then left
is "(other)", which may itself be small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchharmony.choice import MIN_SUBDOMAIN, Choice
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.subdomains import Partition

OTHER, NO_LABEL = "(other)", "(no label)"
_BETWEEN = " / "

Cell = tuple[str, ...]


def declared_columns(evaluation: Evaluation, columns: Sequence[str], choice: Choice) -> Partition:
    """Return the partition by several declared columns.

    Parameters
    ----------
    evaluation : Evaluation
        With those columns.
    columns : sequence of str
        At least two, the coarser first: small groups are merged within the first.
    choice : Choice
        Its ``min_share`` is the guard; 0 merges nothing.

    Raises
    ------
    BenchharmonyError
        When a column is missing or named twice.
    """
    missing = [c for c in columns if c not in evaluation.groups]
    if missing:
        there = ", ".join(map(repr, evaluation.groups)) or "none"
        raise BenchharmonyError(
            f"{evaluation.name}: no declared column {missing[0]!r}; columns there: {there}"
        )
    if len(set(columns)) < len(columns):
        raise BenchharmonyError(f"declared:{'+'.join(columns)} names a column twice")
    n = len(evaluation)
    cells: list[Cell] = [
        tuple(NO_LABEL if label is None else label for label in row)
        for row in zip(*(evaluation.groups[c] for c in columns), strict=True)
    ]
    smallest = choice.smallest(n)
    merged = merge_small(cells, smallest)
    counts = Counter(merged)
    names = sorted(counts, key=lambda cell: (-counts[cell], cell))
    place = {cell: i for i, cell in enumerate(names)}
    return Partition(
        kind=f"declared:{'+'.join(columns)}",
        labels=np.array([place[cell] for cell in merged], dtype=np.int64),
        names=tuple(_BETWEEN.join(cell) for cell in names),
        undefined=None
        if len(names) > 1
        else f"every item is in one group of {' and '.join(columns)}",
        settings={
            "columns": list(columns),
            "relation": relation(cells),
            "min_share": choice.min_share,
            "min_items": smallest,
            "groups_before_merging": len(set(cells)),
        },
        notes=tuple(_notes(cells, merged, columns, smallest)),
    )


def merge_small(cells: Sequence[Cell], smallest: int) -> list[Cell]:
    """Merge the groups of fewer than ``smallest`` items by the rule of this module."""
    merged = list(cells)
    depth = len(cells[0]) - 1
    while depth >= 0:
        counts = Counter(merged)
        # Shorter cells are merged ones already: (a, other) of a deeper level.
        merged = [
            (*cell[:depth], OTHER) if counts[cell] < smallest and len(cell) > depth else cell
            for cell in merged
        ]
        depth -= 1
    return merged


def relation(cells: Sequence[Cell]) -> str:
    """Return "nested" when each label of a column lies under one of the column before."""
    for before in range(len(cells[0]) - 1):
        above: dict[str, str] = {}
        for cell in cells:
            if above.setdefault(cell[before + 1], cell[before]) != cell[before]:
                return "crossed"
    return "nested"


def _notes(
    cells: Sequence[Cell], merged: Sequence[Cell], columns: Sequence[str], smallest: int
) -> list[str]:
    kinds, after = set(cells), set(merged)
    how = "nested: each in one of the column before" if relation(cells) == "nested" else "crossed"
    notes = [f"{' and '.join(columns)} are {how}; {len(kinds)} combinations occur"]
    moved = sum(a != b for a, b in zip(cells, merged, strict=True))
    if moved:
        gone = len(kinds - after)
        notes.append(
            f"{gone} combinations of fewer than {smallest} items ({moved} items) were merged into "
            f"{OTHER!r} groups; --min-share 0 keeps them"
        )
    missing = sum(NO_LABEL in cell for cell in cells)
    if missing:
        notes.append(f"{missing} items lack a label in one of the columns")
    tiny = sum(c < MIN_SUBDOMAIN for c in Counter(merged).values())
    if tiny:
        notes.append(f"{tiny} of {len(after)} declared subdomains have fewer than 5 items")
    return notes
