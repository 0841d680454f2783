"""Open-ended answers: normalised exact match, numbers as numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.collect.answers import as_number, exact_match, last_number, token_f1


@pytest.mark.parametrize(
    ("answer", "accepted", "right"),
    [
        ("The Blue Danube.", ["blue danube"], 1.0),
        ("  a BLUE-danube!", ["the bluedanube"], 1.0),
        ("Danube", ["blue danube"], 0.0),
        ("second", ["first", "Second"], 1.0),
        ("1,200", ["1200"], 1.0),
        ("$18.00", ["18"], 1.0),
        ("18.5", ["18"], 0.0),
        ("so 3 + 4 = 7 apples", ["7"], 1.0),
        ("7 apples minus 2", ["7"], 0.0),
        ("-5", ["5"], 0.0),
        ("", ["x"], 0.0),
        ("", ["..."], 0.0),
        ("seven", ["7"], 0.0),
        ("fin d\u2019ann\u00e9e", ["fin d'ann\u00e9e"], 1.0),
    ],
)
def test_exact_match(answer: str, accepted: list[str], right: float) -> None:
    assert exact_match(answer, accepted) == right


def test_numbers() -> None:
    assert as_number(" $1,234.50 ") == pytest.approx(1234.5)
    assert as_number("12 June") is None
    assert last_number("from 1,000 to 2e3.") == 2000
    assert last_number("none") is None


def test_f1_is_the_best_overlap() -> None:
    # 2 shared words of 3 and 2: precision 2/3, recall 1, F1 = 0.8
    assert token_f1("old blue danube", ["rhine", "blue danube"]) == pytest.approx(0.8)
    assert token_f1("elbe", ["rhine"]) == 0


@given(st.text(max_size=40))
def test_an_accepted_answer_that_has_words_is_right(text: str) -> None:
    if token_f1(text, [text]) == 1.0:
        assert exact_match(text, [text]) == 1.0
