"""Which columns of items' records become declared groups."""

from __future__ import annotations

from typing import Any

import pytest

from benchharmony.readers.declared import declared_groups, is_content_name, label_columns


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    n = max(map(len, columns.values()))
    return [{k: v[i] for k, v in columns.items() if i < len(v)} for i in range(n)]


@pytest.mark.parametrize(
    ("labels", "is_group"),
    [
        (["a", "a", "b", "b"], True),
        ([1, 1, 2, 2], True),
        ([True, False, True, True], True),
        (["a", "a", "a", "a"], False),
        (["a", "b", "c", "d"], False),
        (["a", "a", "b", "c"], False),
        (["a", None, None, None], False),
        (["a", "b", "a", "b", None], True),
        (["", "a", "a", "b", "b"], True),
    ],
)
def test_short_repeated_values_are_groups(labels: list[Any], is_group: bool) -> None:
    assert ("topic" in declared_groups(rows(topic=labels))) == is_group


def test_many_numbers_are_measurements_and_many_words_are_not() -> None:
    numbers = [i % 25 for i in range(100)]
    assert declared_groups(rows(length=numbers, topic=[f"t{i}" for i in numbers])).keys() == {
        "topic"
    }
    names = [f"t{i % 201}" for i in range(1000)]
    assert declared_groups(rows(topic=names)) == {}


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "doc_id",
        "questionId",
        "qid",
        "idx",
        "row_index",
        "question",
        "Question",
        "answer",
        "answerKey",
        "label",
        "option_1",
        "optionA",
        "best_answer",
        "meta.id",
        "target",
        "choices",
        "hash",
        "question_no",
    ],
)
def test_names_of_ids_and_contents_are_no_groups(name: str) -> None:
    assert is_content_name(name)
    assert declared_groups([{name: v} for v in "aabb"]) == {}


@pytest.mark.parametrize("name", ["subject", "category", "level", "grid", "meta.kind", "key_stage"])
def test_other_names_may_be_groups(name: str) -> None:
    assert not is_content_name(name)


def test_a_column_that_restates_the_key_is_no_group() -> None:
    table = rows(bias=["yes", "no", "yes", "no"], side=["l", "l", "r", "r"])
    assert declared_groups(table, [1, 0, 1, 0]).keys() == {"side"}
    assert declared_groups(table, [-1, -1, -1, -1]).keys() == {"bias", "side"}
    assert declared_groups(table).keys() == {"bias", "side"}


def test_label_columns_are_short_scalars() -> None:
    doc = {
        "a": "x",
        "b": 3,
        "c": None,
        "long": "x" * 201,
        "share": 0.5,
        "list": ["x"],
        "meta": {"year": 1999, "deep": {"x": 1}},
        "other": {"x": "y"},
    }
    assert label_columns(doc) == {"a": "x", "b": 3, "c": None, "meta.year": 1999}
