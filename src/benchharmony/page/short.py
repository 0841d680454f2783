"""The few lines at the top of a page: the answers, worst first, and who has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: Names under one answer.
_NAMED = 4


def in_short(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers from the worst on, each with the rows that have it, worst first.

    Parameters
    ----------
    rows : sequence of dict
        With "answer", "order" (sortable, worst first) and what the template shows.
    """
    out = []
    ranked = sorted(rows, key=lambda r: r["order"])
    for answer in dict.fromkeys(r["answer"] for r in ranked):
        those = [r for r in ranked if r["answer"] is answer]
        out.append(
            {
                "answer": answer,
                "count": len(those),
                "of": len(rows),
                "rows": those[:_NAMED],
                "more": max(len(those) - _NAMED, 0),
            }
        )
    return out
