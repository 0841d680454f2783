"""The few lines at the top of a page: the answers, worst first, and who has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

#: Names under one answer, and of a page of many.
_NAMED, _FEWER, _MANY = 4, 2, 6
#: More benchmarks than this are in the table only.
_MOST_BENCHMARKS = 20


def in_short(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers from the worst on, each with the rows that have it, worst first.

    Parameters
    ----------
    rows : sequence of dict
        With "answer", "order" (sortable, worst first) and what the template shows.
    """
    out = []
    named = _NAMED if len(rows) <= _MANY else _FEWER
    ranked = sorted(rows, key=lambda r: r["order"])
    for answer in dict.fromkeys(r["answer"] for r in ranked):
        those = [r for r in ranked if r["answer"] is answer]
        out.append(
            {
                "answer": answer,
                "count": len(those),
                "of": len(rows),
                "rows": those[:named],
                "more": max(len(those) - named, 0),
            }
        )
    return out


def by_benchmark(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return each benchmark with the answers for its models, in words, the worst first.

    Empty where there is one benchmark, or one model for each.
    """
    names = list(dict.fromkeys(r["b"] for r in rows))
    if len(names) < 2 or len(rows) <= len(names) or len(names) > _MOST_BENCHMARKS:
        return []
    out = []
    groups = [[r for r in rows if r["b"] == b] for b in names]
    for those in sorted(groups, key=lambda g: sum(r["answer"].rank for r in g) / len(g)):
        counts = Counter(r["answer"] for r in those)
        parts = [
            f"{a.short} for {n} of {len(those)}"
            for a, n in sorted(counts.items(), key=lambda pair: pair[0].rank)
        ]
        out.append((those[0]["benchmark"], "; ".join(parts)))
    return out
