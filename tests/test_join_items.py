"""``--items``: texts, options and labels of a benchmark file, by id or by question."""

import json

import pytest

from benchharmony import BenchharmonyError, Evaluation
from benchharmony.errors import InputError
from benchharmony.join import join_all, join_items, read_items

ROWS = [
    {"id": f"q{i}", "question": f"Which river is number {i}?", "choices": [f"a{i}", f"b{i}"],
     "subject": "ab"[i % 2]}
    for i in range(6)
]  # fmt: skip


def items(tmp_path, rows=ROWS):
    lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join([*lines, ""]))
    return read_items(path)


def log(ids, **more):
    return Evaluation.from_arrays(
        benchmark="b", model="m", item_ids=ids, scores=[1.0] * len(ids), **more
    )


def test_ids_come_first(tmp_path):
    found = join_items(log([f"q{i}" for i in range(6)]), items(tmp_path))
    assert found.texts == tuple(r["question"] for r in ROWS)
    assert found.choices == tuple(tuple(r["choices"]) for r in ROWS)
    assert found.groups["subject"] == tuple("ababab")
    assert found.notes == ()


def test_items_of_another_numbering_are_found_by_question(tmp_path):
    prompts = [
        f"Question: {r['question']}\nA. {r['choices'][0]}\nB. {r['choices'][1]}" for r in ROWS
    ]
    mine = log(
        ["x0", "x1", "x2", "x3"], texts=prompts[2:], choices=[r["choices"] for r in ROWS[2:]]
    )
    found = join_items(mine, items(tmp_path))
    assert found.item_ids == mine.item_ids
    assert found.groups["subject"] == tuple("abab")
    assert found.texts == tuple(r["question"] for r in ROWS[2:])
    assert "by question: 4 of 4 items found" in found.notes[-1]


def test_a_question_that_occurs_twice_tells_no_item(tmp_path):
    twice = [*ROWS, {**ROWS[0], "id": "other", "subject": "c"}]
    mine = log(["x0", "x1"], texts=[r["question"] for r in ROWS[:2]])
    assert join_items(mine, items(tmp_path, twice)).groups["subject"] == (None, "b")
    same = log(["x0", "x1", "x2"], texts=[ROWS[i]["question"] for i in (0, 0, 1)])
    assert join_items(same, items(tmp_path)).groups["subject"] == (None, None, "b")


def test_a_log_of_other_items_is_told_and_alone_refused(tmp_path):
    mine, other = log(["q0", "q1", "z"]), log(["7", "8"], texts=["Who?", "When?"])
    joined, notes = join_all([mine, other], items(tmp_path))
    assert joined[0].groups["subject"] == ("a", "b", None)
    assert "2 of 3 items found" in joined[0].notes[-1]
    assert joined[1] is other
    assert "none of its 2 item ids (and none of its questions) occurs in" in notes[0]
    with pytest.raises(BenchharmonyError, match="first id here: '7'; there: 'q0'"):
        join_all([other], items(tmp_path))


def test_lines_that_cannot_be_used_are_counted(tmp_path):
    made = items(tmp_path, [*ROWS, "{cut", {"id": "x"}, {"question": "y"}, ROWS[0]])
    whole = " ".join(made.notes)
    assert "items.jsonl:7: not valid JSON" in whole
    assert "2 lines have no id or no question" in whole
    assert "1 lines repeat an id" in whole
    _, notes = join_all([log(["q0"])], made)
    assert notes == made.notes


def test_a_file_that_is_no_benchmark_is_refused(tmp_path):
    with pytest.raises(InputError, match="no line with an id and a question"):
        items(tmp_path, ['{"a": 1}'])
    with pytest.raises(InputError, match="no such file"):
        read_items(tmp_path / "none.jsonl")
