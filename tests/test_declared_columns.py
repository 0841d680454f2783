"""Declared partitions from several columns: nested, crossed, and how small groups merge."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony import BenchharmonyError, Evaluation, partition
from benchharmony.declared_columns import OTHER, merge_small, relation


def evaluation(**groups):
    n = len(next(iter(groups.values())))
    return Evaluation.from_arrays(benchmark="b", model="m", scores=np.arange(n) % 2, groups=groups)


def test_crossed_columns_give_every_combination():
    e = evaluation(a=["x", "y"] * 40, b=["p"] * 40 + ["q"] * 40)
    made = partition(e, "declared:a+b")
    assert sorted(made.names) == ["x / p", "x / q", "y / p", "y / q"]
    assert made.sizes.tolist() == [20] * 4
    assert made.settings["relation"] == "crossed"
    assert made.kind == "declared:a+b"


def test_nested_columns_are_told():
    e = evaluation(a=["x"] * 40 + ["y"] * 40, b=["p"] * 20 + ["q"] * 20 + ["r"] * 40)
    made = partition(e, "declared:a+b")
    assert made.settings["relation"] == "nested"
    assert set(made.names) == {"x / p", "x / q", "y / r"}
    assert any("nested" in n for n in made.notes)


def test_small_groups_merge_within_the_first_column():
    e = evaluation(a=["x"] * 50 + ["y"] * 50, b=["p"] * 44 + list("qqqrrr") + ["s"] * 50)
    made = partition(e, "declared:a+b")
    assert dict(zip(made.names, made.sizes.tolist(), strict=True)) == {
        "y / s": 50, "x / p": 44, "x / (other)": 6,
    }  # fmt: skip
    assert any("2 combinations of fewer than 5 items (6 items)" in n for n in made.notes)


def test_what_stays_small_goes_one_column_up():
    e = evaluation(a=["x"] * 92 + ["y"] * 4 + ["z"] * 4, b=["p"] * 96 + ["q"] * 4)
    assert set(partition(e, "declared:a+b").names) == {"x / p", OTHER}


def test_the_guard_can_be_turned_off():
    e = evaluation(a=["x"] * 50, b=["p"] * 48 + ["q", "r"])
    assert partition(e, "declared:a+b", min_share=0).k == 3
    assert partition(e, "declared:a+b").k == 2


def test_missing_labels_form_groups_of_their_own():
    e = evaluation(a=["x"] * 40 + [None] * 40, b=["p"] * 80)
    made = partition(e, "declared:a+b")
    assert set(made.names) == {"x / p", "(no label) / p"}
    assert any("40 items lack a label" in n for n in made.notes)


def test_a_column_whose_name_holds_a_plus_is_that_column():
    e = evaluation(**{"a+b": ["x", "y"] * 20})
    assert partition(e, "declared:a+b").names == ("x", "y")


@pytest.mark.parametrize(("kind", "says"), [("declared:a+c", "'c'"), ("declared:a+a", "twice")])
def test_wrong_columns_are_errors_in_words(kind, says):
    with pytest.raises(BenchharmonyError, match=says):
        partition(evaluation(a=["x"] * 40, b=["y"] * 40), kind)


labels = st.sampled_from("abcd")


@given(st.lists(st.tuples(labels, labels, labels), min_size=1, max_size=60), st.integers(1, 8))
def test_merging_only_joins_and_leaves_one_small_group_at_most(cells, smallest):
    merged = merge_small(cells, smallest)
    joined = {}
    for before, after in zip(cells, merged, strict=True):
        assert joined.setdefault(before, after) == after  # whole groups move together
        assert after == before or after[:-1] == before[: len(after) - 1]
    small = [cell for cell, count in Counter(merged).items() if count < smallest]
    assert small in ([], [(OTHER,)])


def test_relation_of_three_columns():
    nested = [("a", "p", "1"), ("a", "q", "2"), ("b", "r", "3")]
    assert relation(nested) == "nested"
    assert relation([*nested, ("b", "r", "1")]) == "crossed"
