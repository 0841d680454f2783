"""Lining up the items of several evaluations: by id where ids agree, by question otherwise.

Models of one harness share its ids. Other harnesses number the same items otherwise, or shuffle
them; there, items are matched by :mod:`benchharmony.item_keys`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.item_keys import item_keys, normalised

IntArray = NDArray[np.int64]
#: Row of A and row of B.
_Pairs = dict[int, int]
#: Item ids that a note names.
_NAMED = 3
#: Pairs of equal id whose words are compared, and the share of them that must be nearer than
#: chance (half) for ids to count as right.
_LOOKED_AT, _MOSTLY = 200, 0.75


@dataclass(frozen=True, eq=False)
class Match:
    """Which rows of two evaluations hold the same items.

    Attributes
    ----------
    rows_a, rows_b : ndarray of int64, shape (m,)
        Row by row the same item, in A's order.
    by_id, by_content : int
        Pairs found by equal ids, and by equal question and options under different ids.
    reworded : int
        Pairs of equal id whose questions are set out differently throughout; kept.
    differ : tuple of str
        Ids that both have for different questions; left out.
    ambiguous : tuple of str
        Ids of A's items whose question occurs more than once; matched by nothing else.
    """

    rows_a: IntArray
    rows_b: IntArray
    by_id: int
    by_content: int
    reworded: int
    differ: tuple[str, ...]
    ambiguous: tuple[str, ...]


@dataclass(frozen=True)
class LinedUp:
    """Evaluations of the same items in the same order, and what that took.

    Attributes
    ----------
    evaluations : list of Evaluation
        All with the item ids of the first.
    notes : tuple of str
        How items were matched and which were left out, in words; empty where all had the same.
    """

    evaluations: list[Evaluation]
    notes: tuple[str, ...]


def match(a: Evaluation, b: Evaluation, *, trust_ids: bool = True) -> Match:
    """Find the items that two evaluations share.

    Equal ids are believed unless the questions say otherwise: where more items are found under
    another id than under their own, ids are numbers of two countings and only questions match.
    An id that both have for different questions is left out; but where hardly any question is
    the same and the words are (two prompts of one benchmark), ids are kept.

    Parameters
    ----------
    a, b : Evaluation
        Texts are used where both have them; options where both have those too.
    trust_ids : bool
        False: equal ids count only where the questions are equal as well.
    """
    if _is_same_list(a, b, trust_ids):
        rows = np.arange(len(a))
        return Match(rows, rows, len(a), 0, 0, (), ())
    shared = _shared(a, b)
    if a.texts is None or b.texts is None:
        pairs = shared if trust_ids else {}
        return _match(a, pairs, by_id=len(pairs))
    same = {
        i: j for i, j in shared.items()
        if _written_alike(a, b, i, j) and (trust_ids or a.texts[i])
    }  # fmt: skip
    if len(same) == min(len(a), len(b)):
        return _match(a, same, by_id=len(same))
    keys_a, keys_b = _keys(a, b)
    same = {i: j for i, j in shared.items() if _equal(keys_a[i], keys_b[j], trust_ids)}
    content, ambiguous = _by_content(keys_a, keys_b, set(same), set(same.values()))
    ids_lie = len(content) > len(same)
    other = {i: j for i, j in shared.items() if i not in same}
    found = same | content
    if ids_lie or not trust_ids:
        return _match(a, found, by_id=len(same), by_content=len(content), ambiguous=ambiguous)
    taken = set(content.values())
    other = {i: j for i, j in other.items() if i not in content and j not in taken}
    unclear = [i for i in ambiguous if i not in other]
    if len(other) > len(found) and _same_words(a.texts, b.texts, other):
        return _match(
            a, found | other, by_id=len(same) + len(other), by_content=len(content),
            reworded=len(other), ambiguous=unclear,
        )  # fmt: skip
    return _match(
        a, found, by_id=len(same), by_content=len(content), differ=list(other), ambiguous=unclear
    )


def line_up(
    group: Sequence[Evaluation],
    *,
    order: Literal["first", "id"] = "id",
    trust_ids: bool = True,
) -> LinedUp:
    """Return the evaluations on the items that all of them have.

    Parameters
    ----------
    group : sequence of Evaluation
        At least one. The others are matched with the first, and take its ids.
    order : {"id", "first"}
        Items by ascending id, or as the first has them.
    trust_ids : bool
        See :func:`match`.

    Raises
    ------
    BenchharmonyError
        When no item is common to all.
    """
    first = group[0]
    matches = [match(first, e, trust_ids=trust_ids) for e in group[1:]]
    partial = [m.rows_a.tolist() for m in matches if len(m.rows_a) < len(first)]
    common = set(range(len(first))).intersection(*partial)
    if not common:
        raise BenchharmonyError(_nothing_common(group))
    rows = sorted(common)
    if order == "id":
        rows.sort(key=first.item_ids.__getitem__)
    ids = tuple(first.item_ids[i] for i in rows)
    out = [_rows_of(first, rows, ids)]
    for evaluation, found in zip(group[1:], matches, strict=True):
        place = dict(zip(found.rows_a.tolist(), found.rows_b.tolist(), strict=True))
        out.append(_rows_of(evaluation, [place[i] for i in rows], ids))
    return LinedUp(out, _notes(group, matches, len(ids)))


def _rows_of(evaluation: Evaluation, rows: list[int], ids: tuple[str, ...]) -> Evaluation:
    if rows == list(range(len(evaluation))) and evaluation.item_ids == ids:
        return evaluation
    return replace(evaluation.take(rows), item_ids=ids)


def _is_same_list(a: Evaluation, b: Evaluation, trust_ids: bool) -> bool:
    """Whether both have the same ids and questions in the same order, as models of one run do."""
    if a.item_ids != b.item_ids:
        return False
    if a.texts is None or b.texts is None:
        return trust_ids
    same_options = a.choices is None or b.choices is None or a.choices == b.choices
    return a.texts == b.texts and same_options and (trust_ids or all(a.texts))


def _shared(a: Evaluation, b: Evaluation) -> _Pairs:
    if a.item_ids == b.item_ids:
        return {i: i for i in range(len(a))}
    place = {item: row for row, item in enumerate(b.item_ids)}
    return {i: place[item] for i, item in enumerate(a.item_ids) if item in place}


def _written_alike(a: Evaluation, b: Evaluation, i: int, j: int) -> bool:
    """Whether two items are equal to the letter, which needs no hashing."""
    assert a.texts is not None
    assert b.texts is not None
    if a.texts[i] != b.texts[j]:
        return False
    return a.choices is None or b.choices is None or a.choices[i] == b.choices[j]


def _keys(a: Evaluation, b: Evaluation) -> tuple[list[bytes | None], list[bytes | None]]:
    options = a.choices is not None and b.choices is not None
    return item_keys(a, options=options), item_keys(b, options=options)


def _equal(one: bytes | None, other: bytes | None, lenient: bool) -> bool:
    """Whether keys are equal; an item without a question contradicts no id, if ids count."""
    if one is None or other is None:
        return lenient
    return one == other


def _same_words(texts_a: Sequence[str], texts_b: Sequence[str], pairs: _Pairs) -> bool:
    """Whether questions of equal id share more words than those of neighbouring ids do.

    Items that ids pair by mistake share no more words than any two items of the benchmark.
    """
    step = max(1, len(pairs) // _LOOKED_AT)
    chosen = list(pairs.items())[::step]
    if len(chosen) == 1:
        return _overlap(texts_a[chosen[0][0]], texts_b[chosen[0][1]]) > 0.5
    nearer = 0
    for place, (i, j) in enumerate(chosen):
        neighbour = chosen[place - 1][1]
        nearer += _overlap(texts_a[i], texts_b[j]) > _overlap(texts_a[i], texts_b[neighbour])
    return nearer > _MOSTLY * len(chosen)


def _overlap(one: str, other: str) -> float:
    """Return the share of the shorter text's words that the other holds as well."""
    words, others = set(normalised(one).split()), set(normalised(other).split())
    return len(words & others) / max(min(len(words), len(others)), 1)


def _by_content(
    keys_a: Sequence[bytes | None],
    keys_b: Sequence[bytes | None],
    done_a: set[int],
    done_b: set[int],
) -> tuple[_Pairs, list[int]]:
    """Return pairs of equal keys among the rows that are left, and A's rows that several fit."""
    often_a, often_b = Counter(keys_a), Counter(keys_b)
    place = {key: row for row, key in enumerate(keys_b) if row not in done_b}
    pairs: _Pairs = {}
    ambiguous = []
    for row, key in enumerate(keys_a):
        if row in done_a or key is None or key not in place:
            continue
        if often_a[key] > 1 or often_b[key] > 1:
            ambiguous.append(row)
        else:
            pairs[row] = place[key]
    return pairs, ambiguous


def _match(
    a: Evaluation,
    pairs: _Pairs,
    *,
    by_id: int = 0,
    by_content: int = 0,
    reworded: int = 0,
    differ: Sequence[int] = (),
    ambiguous: Sequence[int] = (),
) -> Match:
    rows = sorted(pairs)
    return Match(
        np.array(rows, dtype=np.int64),
        np.array([pairs[i] for i in rows], dtype=np.int64),
        by_id,
        by_content,
        reworded,
        tuple(a.item_ids[i] for i in differ),
        tuple(a.item_ids[i] for i in ambiguous),
    )


def _nothing_common(group: Sequence[Evaluation]) -> str:
    first, other = group[0], group[-1]
    hint = ""
    if any(e.texts is None for e in group):
        hint = "; give all of them their questions with --items to match by question"
    return (
        f"{first.benchmark}: no item is common to its {len(group)} models: they share no item id "
        f"and no question (an id of {first.model}: {first.item_ids[0]!r}, of {other.model}: "
        f"{other.item_ids[0]!r}){hint}"
    )


def _notes(group: Sequence[Evaluation], matches: Sequence[Match], common: int) -> tuple[str, ...]:
    largest = max(len(e) for e in group)
    notes = []
    if largest > common:
        notes.append(
            f"{common} items are common to all models (up to {largest} in one of them); the "
            "others are left out"
        )
    pairs = list(zip(group[1:], matches, strict=True))
    _tell(
        notes, pairs, lambda m: m.by_content,
        "{n} items of {who} are matched with those of {first} by question and options, since "
        "their ids differ; they carry the ids of {first}", group[0],
    )  # fmt: skip
    _tell(
        notes, pairs, lambda m: m.reworded,
        "{n} items of {who} have the ids of {first} but their questions are set out otherwise: "
        "matched by id; check that ids mean the same items", group[0],
    )  # fmt: skip
    _tell(
        notes, pairs, lambda m: m.differ,
        "{n} ids of {who} stand for other questions than in {first} and are left out ({ids})",
        group[0],
    )  # fmt: skip
    _tell(
        notes, pairs, lambda m: m.ambiguous,
        "{n} questions occur more than once and cannot be told apart without ids, in {who} "
        "against {first}; left out ({ids})", group[0],
    )  # fmt: skip
    return tuple(notes)


def _tell(
    notes: list[str],
    pairs: Sequence[tuple[Evaluation, Match]],
    what: Callable[[Match], int | tuple[str, ...]],
    words: str,
    first: Evaluation,
) -> None:
    """Add one note on the evaluations to which something happened, if any."""
    found = [(e, what(m)) for e, m in pairs if what(m)]
    if not found:
        return
    evaluation, value = found[0]
    ids = value if isinstance(value, tuple) else ()
    more = f" (and of {len(found) - 1} more models)" if len(found) > 1 else ""
    notes.append(
        words.format(
            n=len(ids) if ids else value,
            who=f"{_who(evaluation)}{more}",
            first=_who(first),
            ids=", ".join(ids[:_NAMED]) + (", ..." if len(ids) > _NAMED else ""),
        )
    )


def _who(evaluation: Evaluation) -> str:
    """Return the model, and the format, which tells two harnesses' logs of one model apart."""
    return f"{evaluation.model} ({evaluation.source.format})"
