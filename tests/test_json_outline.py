"""What the first bytes of a JSON document tell about it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.readers.json_outline import outline

DOCUMENT = {
    "results": {"a: {b}": {"acc": 0.5, "details": [{"x": 1}]}, "c": {"acc": [1, 2]}},
    "note": 'a "quoted" \\ text, with [brackets] and {braces}: "results"',
    "rows": [{"doc_id": 1}, {"doc_id": 2, "late": None}],
    "empty": {},
}


def test_paths_and_kinds_in_the_order_of_the_document() -> None:
    found = outline(json.dumps(DOCUMENT, indent=1).encode(), depth=3)
    assert found == {
        (): "object",
        ("results",): "object",
        ("results", "a: {b}"): "object",
        ("results", "a: {b}", "acc"): "scalar",
        ("results", "a: {b}", "details"): "array",
        ("results", "c"): "object",
        ("results", "c", "acc"): "array",
        ("note",): "string",
        ("rows",): "array",
        ("rows", "[]"): "object",
        ("rows", "[]", "doc_id"): "scalar",
        ("rows", "[]", "late"): "scalar",
        ("empty",): "object",
    }
    assert set(outline(json.dumps(DOCUMENT).encode(), depth=1)) == {
        (),
        *((key,) for key in DOCUMENT),
    }


@pytest.mark.parametrize("data", [b"", b"  ", b"item,score\n1,2", b"plain words: {", b"}", b"]["])
def test_bytes_that_are_no_json_have_next_to_no_outline(data: bytes) -> None:
    assert all(len(path) == 0 for path in outline(data))


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(VALUES, st.integers(0, 400))
def test_a_beginning_shows_nothing_that_the_whole_does_not(value: Any, cut: int) -> None:
    data = json.dumps(value).encode()
    whole = outline(data)
    assert () in whole
    for path, kind in outline(data[:cut]).items():
        assert whole[path] == kind


def test_many_unfinished_quotes_end() -> None:
    # A search that starts again at every quote would take hours here.
    assert outline(b'{"a": "' + b'\\"' * 400_000, depth=3)[()] == "object"
