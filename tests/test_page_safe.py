"""Texts on a page: odd characters are seen, long texts are cut, data cannot end their script."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.page.safe import block, embedded, line

JOINERS = {"\u200c", "\u200d"}
anything = st.text(st.characters(), max_size=200)


def is_odd(c):
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in JOINERS


def test_every_control_and_format_character_of_unicode_is_made_visible():
    left = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if is_odd(chr(code)) and chr(code) in block(f"a{chr(code)}b") and chr(code) not in "\n\t"
    ]
    # A newer Unicode than the one this was written against may name more.
    assert [c for c in left if unicodedata.unidata_version <= "15.1.0"] == []


@given(anything)
def test_a_line_is_one_line_of_visible_characters(text):
    shown = line(text, 50)
    assert len(shown) <= 50
    assert not any(is_odd(c) for c in shown)
    shown.encode()


@given(anything)
def test_a_block_keeps_its_lines_and_can_be_encoded(text):
    shown = block(text)
    shown.encode()
    assert not any(is_odd(c) for c in shown.replace("\n", "").replace("\t", ""))


def test_direction_marks_are_named_and_joiners_of_emoji_stay():
    assert line("a\u202eb") == "a[U+202E]b"
    assert line("\U0001f469\u200d\U0001f52c") == "\U0001f469\u200d\U0001f52c"


def test_a_text_of_a_megabyte_is_cut_and_says_so():
    shown = block("x" * 1_000_000, 2000)
    assert shown.startswith("x" * 2000)
    assert shown.endswith("[cut: 1,000,000 characters in all]")
    assert block("x" * 2000, 2000) == "x" * 2000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=8,
)


@given(json_values)
def test_embedded_data_hold_no_markup_and_read_back_the_same(value):
    text = embedded(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "<script", "&lt;/script&gt;"])
def test_what_could_end_or_open_a_script_is_escaped(text):
    assert text not in embedded([text])
    assert json.loads(embedded([text])) == [text]


def test_a_number_that_json_has_not_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded([float("nan")])
