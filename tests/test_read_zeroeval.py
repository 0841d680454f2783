"""ZeroEval outputs: answers in free text, read strictly and flexibly."""

from __future__ import annotations

import json

import pytest

from benchharmony.errors import InputError
from benchharmony.readers import ReadOptions, read_sources, zeroeval
from harness_logs import write_json

(READER,) = zeroeval.READERS


def record(i, output, /, **changes):
    row = {
        "session_id": f"set-{i}",
        "chat_history": ["..."],
        "model_input": "n/a",
        "output": [output] if isinstance(output, str) else output,
        "generator": "birds/owl-7b",
        "configs": {"engine": "vllm", "temperature": 0.0},
        "dataset": "tiny-redux",
        "id": f"set-{i}",
        "question": f"Which is {i}?",
        "choices": ["one", "two", "three"],
        "correct_answer": "two",
        "config": "sea" if i % 2 else "sky",
        "task_type": "multiple_choice",
    }
    return row | changes


OUTPUTS = (
    ('{"reasoning": "as it is", "answer": "B"}', 1, 1),
    ('```json\n{"reasoning": "so", "answer": "(B)"}\n```', 1, 1),
    ('Sure.\n{"answer": "B) two"} I hope that helps', 1, 1),
    ('{"reasoning": "a line\nbroken", "answer": "B"}', 0, 1),  # JSON forbids the line break
    ('{"reasoning": "\\frac{1}{2}", "answer": "B"', 0, 1),  # cut off
    ('{"answer": "A"} no, {"answer": "B"}', 0, 1),
    ('{"answer": "Both"}', 0, 0),
    ('{"answer": "C"}', 0, 0),
    ("It is B.", 0, 0),
)


def write(folder, rows, name="owl.json"):
    return write_json(folder / name, rows)


def read(folder, rows):
    file = write(folder, rows)
    assert READER.sniff(file)
    return READER.read(file, ReadOptions())[0]


def test_answers_are_read_strictly_and_offered_flexibly(tmp_path):
    found = read(tmp_path, [record(i, text) for i, (text, *_) in enumerate(OUTPUTS)])
    assert found.metrics["acc"].tolist() == [strict for _, strict, _ in OUTPUTS]
    assert found.metrics["acc_flexible"].tolist() == [flexible for *_, flexible in OUTPUTS]
    assert found.score_name == "acc"
    assert (found.benchmark, found.model) == ("tiny-redux", "birds/owl-7b")
    assert found.gold.tolist() == [1] * len(OUTPUTS)
    assert set(found.groups["config"]) == {"sea", "sky"}
    assert "5 of 9 items have no letter as JSON answer" in found.notes[0]


def test_several_outputs_are_averaged_and_equal_choices_are_both_right(tmp_path):
    right, wrong = '{"answer": "B"}', '{"answer": "A"}'
    rows = [
        record(0, [right, wrong, wrong, wrong]),
        record(1, '{"answer": "C"}', choices=["one", "two", "two"]),
        record(2, right, correct_answer="B", choices=["w", "x"]),
        record(3, right, correct_answer=1),
    ]
    assert read(tmp_path, rows).scores.tolist() == [0.25, 1, 1, 1]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"choices": None}, "no choices: only ZeroEval's multiple-choice"),
        ({"correct_answer": "four"}, "its correct_answer is none of its choices"),
        ({"correct_answer": None}, "its correct_answer is none of its choices"),
        ({"output": []}, "no output"),
        ({"id": "set-0"}, "the id of an earlier record"),
        ({"id": None}, "no id"),
    ],
)
def test_records_that_cannot_be_used_are_named(tmp_path, bad, reason):
    found = read(tmp_path, [record(0, OUTPUTS[0][0]), record(1, OUTPUTS[0][0], **bad), 7])
    assert [p.line for p in found.source.problems] == [2, 3]
    assert reason in found.source.problems[0].reason
    assert found.source.items_read == 3


def test_other_tasks_are_refused_with_a_reason(tmp_path):
    row = record(0, "x")
    del row["choices"], row["correct_answer"]
    with pytest.raises(InputError, match="only ZeroEval's multiple-choice tasks"):
        READER.read(write(tmp_path, [row]), ReadOptions())
    cut = tmp_path / "cut.json"
    cut.write_text(json.dumps([record(0, "x")])[:-9])
    (problem,) = read_sources([cut]).unused
    assert "is the file cut off?" in problem.reason


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "n", "stated", "unread"),
    [
        ("Athene-70B", 976, 0.626, 199),
        ("Meta-Llama-3.1-405B-Instruct@hyperbolic", 51, 0.7647, 2),
        ("Qwen2-72B-Instruct", 376, 0.8378, 0),
    ],
)
def test_real_outputs_are_as_their_manifest_states(shared_data, name, n, stated, unread):
    path = shared_data / "logs" / "zeroeval-mmlu-redux" / f"{name}.json.gz"
    (found,) = read_sources([path]).evaluations
    assert len(found) == n
    assert found.scores.mean() == pytest.approx(stated, abs=5.1e-5)
    assert [f"{unread} of {n} items"] * bool(unread) == [x.split(" have ")[0] for x in found.notes]
