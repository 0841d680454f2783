"""Long names: they fit, and what differed still differs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from benchharmony.report.names import columns_of, counted, cut, cut_names, without_folders

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(words, min_size=1, max_size=12), st.integers(9, 40), st.sampled_from(["\u2026", ".."])
)
def test_names_fit_and_those_that_differ_look_different(names, limit, mark):
    shown = cut_names(names, limit, mark=mark)
    assert max(map(columns_of, shown)) <= limit
    assert len(set(shown)) == len(set(names))
    assert all((a == b) == (x == y) for a, x in zip(names, shown, strict=True)
               for b, y in zip(names, shown, strict=True))  # fmt: skip


def test_a_name_is_cut_at_its_end():
    assert cut_names(["high_school_mathematics", "law"], 12) == ["high_school\u2026", "law"]


def test_names_that_begin_alike_keep_their_ends():
    one, two = cut_names(["high_school_physics", "high_school_biology"], 13)
    assert one.endswith("ysics")
    assert two.endswith("ology")
    assert one.startswith(two[:4])


def test_names_alike_at_both_ends_are_numbered():
    names = ["a" * 30 + middle + "z" * 30 for middle in "pq"]
    assert [n[-4:] for n in cut_names(names, 12)] == [" (1)", " (2)"]


def test_names_that_look_alike_once_made_safe_are_numbered():
    assert cut_names(["a\x00", "a\x01"], 20) == ["a\ufffd (1)", "a\ufffd (2)"]


def test_equal_names_stay_equal_and_counting_tells_them_apart():
    assert cut_names(["a", "a"], 9) == ["a", "a"]
    assert counted(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]


def test_wide_letters_take_two_columns_and_marks_none():
    assert columns_of("\u6f22\u5b57e\u0301") == 5
    assert cut("\u6f22\u5b57\u6f22\u5b57", 5) == "\u6f22\u5b57\u2026"


def test_folders_go_where_names_stay_apart():
    assert without_folders(["org/a", "org/b"]) == ["a", "b"]
    assert without_folders(["x/a", "y/a"]) == ["x/a", "y/a"]
