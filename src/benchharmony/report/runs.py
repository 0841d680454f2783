"""Several runs of one model on one benchmark: their rows look alike, so it is said which is which.

Copies are dropped when they are read. Runs that score every item alike may still differ in the
recorded probabilities, and so in their subdomains: they stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchharmony.evaluation import Evaluation


def note_of_runs(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return a note that names two such runs by their files; none where there are no two.

    One note for all: a benchmark of many subtasks that was run twice has as many pairs.
    """
    groups = _together([(e.benchmark, e.model) for e in evaluations])
    if not groups:
        return []
    runs = [evaluations[i] for i in groups[0]]
    files = [e.source.files[0] for e in runs[:2] if e.source.files]
    more = f"; and so for {len(groups) - 1} more" if len(groups) > 1 else ""
    where = f" ({' and '.join(files)})" if len(set(files)) == 2 else ""
    number = f"{len(runs)} runs of one model on one benchmark by their names"
    return [f"{runs[0].name}: {number}{where}{more}"]


def tell_runs_apart(records: Sequence[dict[str, Any]]) -> None:
    """Warn in each such evaluation of a report which file it is from, and which another is."""
    for places in _together([(r["benchmark"], r["model"]) for r in records]):
        for i in places:
            files = [next(iter(records[j]["source"]["files"]), None) for j in (i, *places)]
            other = next((f for f in files if f != files[0]), None)
            where = f": this one is {files[0]}, another {other}" if other else ""
            records[i]["warnings"].append(
                f"one of {len(places)} runs of this model on this benchmark, by their names{where}"
            )


def _together(names: Sequence[tuple[str, str]]) -> list[list[int]]:
    """Return the places of each name that is there more than once."""
    places: dict[tuple[str, str], list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    return [those for those in places.values() if len(those) > 1]
