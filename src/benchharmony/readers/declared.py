"""Which columns of an item's record can be declared groups of a benchmark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

#: A label is something a person would put in a table: longer texts are content.
MAX_LABEL_LENGTH = 200
#: More values than this are not a partition that anyone declared.
MAX_LABELS = 200
#: Whole numbers are labels (school grades, levels) only when there are few of them.
MAX_NUMBER_LABELS = 20

#: Columns that name one item, or one place in a list.
_IDENTIFIER = re.compile(r"(^|[_\-. ])(id|ids|idx|index|ix|uuid|uid|hash|key|no|num|number)$", re.I)
_GLUED_IDENTIFIER = re.compile(r"^(qid|pid|docid|[a-z]+Id|[a-z]+ID)$")
#: Columns that hold the question, an option, or what is right; compared without case, digits and
#: underscores ("option_1" is "option").
_CONTENT = frozenset(
    """
    question questions query problem stem goal prompt sentence text input instruction premise
    hypothesis passage context ctx story answer answers answertext bestanswer correct
    correctanswer correctanswers correctoption correctoptions incorrectanswers gold goldlabel
    goldlabels label labels target targets truth choice choices option options ending endings
    solution sol explanation rationale response responses completion cop opa opb opc opd ans
    ansa ansb ansc answera answerb answerc answerd optiona optionb optionc optiond a b c d e
    finaldecision distractor answerkey pred prediction predicted extractedanswer output
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
)
#: Objects whose scalars count as columns.
NESTED = ("metadata", "meta")


def label_columns(doc: Mapping[str, Any]) -> dict[str, str | int | bool | None]:
    """Return the values of one record that could be labels or ids: short scalars, by column.

    Parameters
    ----------
    doc : mapping
        An item as its benchmark holds it. Scalars inside ``metadata`` or ``meta`` count as
        columns ``metadata.x``.

    Returns
    -------
    dict
        Text of at most 200 characters, whole numbers, booleans and nulls.
    """
    kept: dict[str, str | int | bool | None] = {}
    for name, value in doc.items():
        if isinstance(value, dict) and name in NESTED:
            for inner, inner_value in value.items():
                if _is_short(inner_value):
                    kept[f"{name}.{inner}"] = inner_value
        elif _is_short(value):
            kept[str(name)] = value
    return kept


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_LABEL_LENGTH
    return value is None or isinstance(value, (bool, int))


def declared_groups(
    rows: Sequence[Mapping[str, Any]], gold: Sequence[int] | None = None
) -> dict[str, tuple[str | None, ...]]:
    """Choose the columns that partition the items into groups somebody declared.

    A column is one when its values are short and repeated: 2 to 200 different values (whole
    numbers: 2 to 20), on average at least two items a value, given for at least half of the
    items. Columns named as ids, questions, options or answers are not, and neither is a column
    that only restates the gold option.

    Parameters
    ----------
    rows : sequence of mapping
        One per item, as :func:`label_columns` gives them.
    gold : sequence of int, optional
        Index of the right option of each item, -1 where unknown.

    Returns
    -------
    dict of str to tuple of (str or None)
        The label of every item, by column, in the order the columns appear.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    groups = {}
    for name in names:
        if is_content_name(name):
            continue
        labels = tuple(_label(row.get(name)) for row in rows)
        if _is_partition(labels, [row.get(name) for row in rows]) and not _restates(labels, gold):
            groups[name] = labels
    return groups


def is_content_name(name: str) -> bool:
    """Whether a column of this name holds an id, a question, an option or an answer."""
    last = name.rsplit(".", 1)[-1]
    plain = re.sub(r"[^a-z]", "", last.lower())
    return (
        plain in _CONTENT
        or plain in ("id", "idx", "index")
        or _IDENTIFIER.search(last) is not None
        or _GLUED_IDENTIFIER.match(last) is not None
    )


def _label(value: Any) -> str | None:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(value)


def _is_partition(labels: Sequence[str | None], values: Sequence[Any]) -> bool:
    given = [label for label in labels if label is not None]
    different = len(set(given))
    numbers = any(isinstance(v, int) and not isinstance(v, bool) for v in values)
    most = MAX_NUMBER_LABELS if numbers else MAX_LABELS
    return 2 <= different <= min(most, len(given) // 2) and 2 * len(given) >= len(labels)


def _restates(labels: Sequence[str | None], gold: Sequence[int] | None) -> bool:
    """Whether label and gold option determine each other: then the column is the answer."""
    if gold is None:
        return False
    pairs = {(a, b) for a, b in zip(labels, gold, strict=True) if a is not None and b >= 0}
    return (
        len(pairs) > 1
        and len({a for a, _ in pairs}) == len(pairs)
        and len({b for _, b in pairs}) == len(pairs)
    )
