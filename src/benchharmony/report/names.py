"""Long names cut so that they fit and are still told apart."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from benchharmony.report.shown import shown

ELLIPSIS, ASCII_ELLIPSIS = "\u2026", ".."
#: Names are read this far; what differs later is told apart by a number.
_READ = 400


def columns_of(text: str) -> int:
    """Return how many terminal columns a text takes: two for wide letters, none for marks."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1
        for c in text
    )


def cut(
    text: str, limit: float, *, mark: str = ELLIPSIS, measure: Callable[[str], float] = columns_of
) -> str:
    """Return a text cut at its end, with a mark, to a width; as it is where it fits."""
    if measure(text) <= limit:
        return text
    short, low, high = "", 0, min(len(text), _READ)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        if measure(text[:middle].rstrip() + mark) <= limit:
            low, short = middle, text[:middle].rstrip()
        else:
            high = middle - 1
    return short + mark


def cut_names(
    names: Sequence[object],
    limit: float,
    *,
    mark: str = ELLIPSIS,
    measure: Callable[[str], float] = columns_of,
) -> list[str]:
    """Return names made safe to show and cut to a width, equal only where the names are.

    Names are cut at their end. Those that would look alike then keep their own end as well, and
    those that look alike even so are numbered.

    Parameters
    ----------
    names : sequence
        Shown as text, whatever a log put into them.
    limit : float
        Width of the longest result, in the unit of ``measure``.
    mark : str
        Stands for what is left out.
    measure : callable
        Width of a text; terminal columns by default.
    """
    whole = [shown(name, _READ) for name in names]
    raw = [str(name) for name in names]
    out = [cut(text, limit, mark=mark, measure=measure) for text in whole]
    for place in _alike(out, raw):
        out[place] = _with_end(whole[place], limit, mark, measure)
    numbers: dict[str, dict[str, int]] = {}
    for place in _alike(out, raw):
        seen = numbers.setdefault(out[place], {})
        number = seen.setdefault(raw[place], len(seen) + 1)
        tail = f" ({number})"
        out[place] = cut(whole[place], limit - measure(tail), mark=mark, measure=measure) + tail
    return out


def _alike(shown_names: list[str], names: list[str]) -> list[int]:
    """Return the places of names that differ but look the same."""
    behind: dict[str, set[str]] = {}
    for text, name in zip(shown_names, names, strict=True):
        behind.setdefault(text, set()).add(name)
    many = {text for text, found in behind.items() if len(found) > 1}
    return [i for i, text in enumerate(shown_names) if text in many]


def _with_end(text: str, limit: float, mark: str, measure: Callable[[str], float]) -> str:
    """Return the beginning and the end of a text, with a mark between."""
    if measure(text) <= limit:
        return text
    tail = ""
    for c in reversed(text):
        if measure(mark + c + tail) > limit * 0.55:
            break
        tail = c + tail
    head = cut(text, limit - measure(tail), mark=mark, measure=measure)
    return head + tail.lstrip()


def without_folders(names: Sequence[str]) -> list[str]:
    """Return what stands behind the last slash of each name, where that tells them apart still."""
    ends = [name.rstrip("/").rsplit("/", 1)[-1] for name in names]
    return ends if len(set(ends)) == len(set(names)) else list(names)


def counted(names: Sequence[str]) -> list[str]:
    """Return names with a number behind those that occur more than once."""
    times, seen = Counter(names), Counter[str]()
    out = []
    for name in names:
        seen[name] += 1
        out.append(name if times[name] == 1 else f"{name} ({seen[name]})")
    return out
