"""Own items: what is read, and what is said of lines that cannot be used."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchharmony.collect.items import ItemOptions, read_items, score_items
from benchharmony.collect.work import Outcome
from benchharmony.errors import InputError


def write(path: Path, rows: list[Any]) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


GOOD = {
    "id": "q1",
    "question": " What floats? ",
    "choices": ["stone", "wood"],
    "answer": 1,
    "subject": "physics",
    "level": 3,
}


def test_a_multiple_choice_item_becomes_its_texts(tmp_path: Path) -> None:
    item = read_items(write(tmp_path / "x.jsonl", [{**GOOD, "context": "At sea."}])).items[0]
    assert item.presented == "At sea.\nQuestion: What floats?\nA. stone\nB. wood"
    assert item.question == "Question: What floats?"
    assert item.pairs == (
        ("At sea.\nQuestion: What floats?\nAnswer:", " stone"),
        ("At sea.\nQuestion: What floats?\nAnswer:", " wood"),
    )
    assert item.answer == item.pairs[1]
    assert item.groups == {"subject": "physics", "level": "3"}


def test_letters_are_scored_but_the_answer_stays_its_text(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [GOOD])
    item = read_items(path, ItemOptions(style="letters")).items[0]
    prompt = "Question: What floats?\nA. stone\nB. wood\nAnswer:"
    assert item.pairs == ((prompt, " A"), (prompt, " B"))
    assert item.answer == ("Question: What floats?\nAnswer:", " wood")


def test_a_chat_template_takes_the_question_in_and_no_space(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [GOOD])
    item = read_items(path, ItemOptions(template=lambda text: f"<u>{text}<a>")).items[0]
    assert item.pairs[0] == ("<u>Question: What floats?<a>", "stone")


def test_an_open_ended_item(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{"question": "Who?", "answers": ["Ada", "Lovelace"]}])
    benchmark = read_items(path)
    item = benchmark.items[0]
    assert item.item_id == "line-1"
    assert item.answer == ("Question: Who?\nAnswer:", " Ada")
    assert item.generation is not None
    assert item.generation.stop == ("\n",)
    assert benchmark.score_name == "exact_match"
    assert score_items([item], [Outcome(generated=" lovelace")]) == [
        {"exact_match": 1.0, "f1": 1.0}
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": None}, "no question"),
        ({"question": "  "}, "no question"),
        ({"question": ["x"]}, "'question' is a list"),
        ({"choices": ["only"]}, "one option"),
        ({"choices": ["stone", " "]}, "option 1 (B) is empty"),
        ({"choices": "stone"}, "not a list"),
        ({"answer": 2}, "expected the index of one of its 2 options"),
        ({"answer": -1}, "expected the index"),
        ({"answer": True}, "no 'answer'"),
        ({"answer": None}, "no 'answer'"),
        ({"choices": [], "answer": None}, "nothing to score the item by"),
        ({"id": "q0"}, "used twice"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = write(tmp_path / "x.jsonl", [{**GOOD, "id": "q0"}, {**GOOD, **change}])
    benchmark = read_items(path)
    assert [i.item_id for i in benchmark.items] == ["q0"]
    assert benchmark.items_read == 2
    (problem,) = benchmark.problems
    assert problem.line == 2
    assert reason in str(problem)


def test_answers_may_be_letters_or_texts(tmp_path: Path) -> None:
    rows = [{**GOOD, "id": str(i), "answer": a} for i, a in enumerate(["b", "wood", "1", 1.0])]
    assert [i.gold for i in read_items(write(tmp_path / "x.jsonl", rows)).items] == [1] * 4


def test_compressed_files_and_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(GOOD) + "\n{broken\n[1]\n").encode()))
    benchmark = read_items(path)
    assert benchmark.name == "set"
    assert [p.line for p in benchmark.problems] == [2, 3]


def test_no_usable_line_is_an_error_that_says_why(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{"id": 1}])
    with pytest.raises(InputError, match=r"no usable item in it .*no question"):
        read_items(path)
    with pytest.raises(InputError, match="no such file"):
        read_items(tmp_path / "absent.jsonl")


def test_metrics_by_sum_character_and_token(tmp_path: Path) -> None:
    rows = [{**GOOD, "choices": ["ab", "abcdefgh"], "answer": 1}]
    item = read_items(write(tmp_path / "x.jsonl", rows)).items[0]
    outcome = Outcome(logprobs=(-2.0, -4.0), n_tokens=(1, 1))
    # sums prefer the first (-2 > -4), characters the second (-1.0 < -0.5), tokens the first
    assert score_items([item], [outcome]) == [{"acc": 0.0, "acc_norm": 1.0, "acc_token": 0.0}]


def test_a_mixed_file_scores_each_item_by_its_own_kind(tmp_path: Path) -> None:
    rows = [GOOD, {"id": "open", "question": "Who?", "answer": "Ada"}]
    benchmark = read_items(write(tmp_path / "x.jsonl", rows))
    assert benchmark.score_name == "score"
    outcomes = [Outcome(logprobs=(-9.0, -1.0), n_tokens=(1, 1)), Outcome(generated="Bob")]
    scores = benchmark.score(benchmark.items, outcomes)
    assert [s["score"] for s in scores] == [1.0, 0.0]
