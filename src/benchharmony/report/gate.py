"""The bar of ``--fail-under``: which evaluations do not reach it, and in what words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Gate:
    """One evaluation held against the bar.

    Attributes
    ----------
    entry : dict
        Its record.
    bar : float
        H that was asked for.
    met : bool
        Whether H is defined and not under the bar.
    words : str
        What H is, against the bar.
    """

    entry: dict[str, Any]
    bar: float
    met: bool
    words: str


def gates(record: dict[str, Any], bar: float) -> list[Gate]:
    """Hold every evaluation of a report against a bar; an undefined H does not meet it."""
    out = []
    for entry in record["evaluations"]:
        value = entry["harmony"]["value"]
        met = value is not None and value >= bar
        words = "undefined" if value is None else _against(value, bar)
        out.append(Gate(entry, bar, met, f"HARMONY is {words}"))
    return out


def _against(value: float, bar: float) -> str:
    """Return H with as many digits as it takes to see that it is under the bar."""
    if value >= bar:
        return f"{value:.3f}"
    digits = next((d for d in range(3, 9) if round(value, d) < bar), 9)
    return f"{value:.{digits}f}"
