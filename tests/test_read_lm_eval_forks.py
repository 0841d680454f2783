"""lm-evaluation-harness v0.3, its forks, and BigScience's promptsource edition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.readers import ReadOptions
from benchharmony.readers import lm_eval as current
from benchharmony.readers.lm_eval_forks import READERS
from harness_logs import (
    ACCURACY,
    JUNK,
    PLANETS,
    read_with,
    replaced,
    rows_2025,
    survives,
    write_bytes,
    write_json,
    write_lines,
)

SHOTS = "Shot one?\nAnswer: yes\n\n"


def write_out() -> list[dict[str, Any]]:
    rows = []
    for i, (question, choices, gold, values) in enumerate(PLANETS):
        row: dict[str, Any] = {"doc_id": i}
        for k, choice in enumerate(choices):
            row[f"prompt_{k}"] = f"{SHOTS}{question}\nAnswer: {choice}"
            row[f"logit_{k}"] = values[k]
        row |= {"truth": gold, "acc": str(values.index(max(values)) == gold), "acc_norm": "0.5"}
        rows.append(row)
    return rows


def test_a_write_out_of_v03(tmp_path: Path) -> None:
    path = tmp_path / "owl-7b" / "planets_write_out_info.json.gz"
    (found,) = read_with(READERS, write_json(path, write_out()))
    assert (found.benchmark, found.model) == ("planets", "owl-7b")
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY
    assert found.option_logprobs is not None
    np.testing.assert_array_equal(found.option_logprobs, [p[3] for p in PLANETS])
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]
    assert found.metrics["acc_norm"].tolist() == [0.5] * 4
    assert found.choices == tuple(p[1] for p in PLANETS)
    assert found.texts == tuple(p[0] for p in PLANETS)
    assert not found.notes


def test_its_truth_may_be_the_text_of_the_option_and_numbers_may_be_text(tmp_path: Path) -> None:
    rows = write_out()
    for row, (_, choices, gold, values) in zip(rows, PLANETS, strict=True):
        row |= {"truth": choices[gold]} | {f"logit_{k}": str(v) for k, v in enumerate(values)}
    (found,) = read_with(READERS, write_json(tmp_path / "x_write_out_info.json", rows))
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]
    assert found.option_logprobs is not None
    np.testing.assert_array_equal(found.option_logprobs, [p[3] for p in PLANETS])


def test_options_inside_the_sentence_leave_a_gap_in_the_question(tmp_path: Path) -> None:
    rows = write_out()
    for row in rows:
        for k, name in enumerate(("owl", "fox")):
            row[f"prompt_{k}"] = f"{SHOTS}The fox met the owl because the {name} was hungry."
    (found,) = read_with(READERS, write_json(tmp_path / "x_write_out_info.json", rows))
    assert found.texts is not None
    assert found.texts[0] == "The fox met the owl because the _ was hungry."
    assert found.choices is not None
    assert found.choices[0] == ("owl was hungry.", "fox was hungry.")


def test_options_that_begin_alike_are_not_cut_inside_a_word(tmp_path: Path) -> None:
    rows = write_out()
    for row in rows:
        for k, name in enumerate(("Mercury", "Mars")):
            row[f"prompt_{k}"] = f"{SHOTS}Which is red?\nAnswer: {name}"
    (found,) = read_with(READERS, write_json(tmp_path / "x_write_out_info.json", rows))
    assert found.choices is not None
    assert found.choices[0] == ("Mercury", "Mars")


def test_a_generation_task_of_v03_has_text_where_others_have_numbers(tmp_path: Path) -> None:
    rows = [
        {
            "doc_id": i,
            "prompt_0": f"{SHOTS}Q: How much is {i} and {i}?\nA:until",
            "logit_0": " 4",
            "truth": " ",
            "bleu_max": "22.5",
            "bleu_acc": str(i % 2),
        }
        for i in range(4)
    ]
    (found,) = read_with(READERS, write_json(tmp_path / "sums_write_out_info.json", rows))
    assert found.score_name == "bleu_acc"
    assert found.scores is not None
    assert found.scores.tolist() == [0, 1, 0, 1]
    assert found.option_logprobs is None
    assert found.texts is not None
    assert found.texts[3] == "Q: How much is 3 and 3?"
    assert found.metrics["bleu_max"].tolist() == [22.5] * 4


def results(tasks: dict[str, Any], arguments: str) -> dict[str, Any]:
    return {
        "results": tasks,
        "versions": dict.fromkeys(tasks, 1),
        "config": {"model": "hf-causal", "model_args": arguments, "num_fewshot": 4},
    }


def test_details_inside_the_results(tmp_path: Path) -> None:
    details = [
        {
            "question": f"How much is {i} and 1?",
            "context": "Q:",
            "completion": "2",
            "extracted_answer": 2,
            "answer": i + 1,
            "acc": ["False", "True", False][i],
        }
        for i in range(3)
    ]
    tasks = {"sums-1.0": {"acc": 1 / 3, "acc_stderr": 0.1, "details": details}}
    document = results(tasks, "pretrained=some-lab/owl-1b,use_fast=False")
    (found,) = read_with(READERS, write_json(tmp_path / "result.json", document))
    assert (found.benchmark, found.model) == ("sums-1.0", "some-lab/owl-1b")
    assert found.scores is not None
    assert found.scores.tolist() == [0, 1, 0]
    assert list(found.metrics) == ["acc"]
    assert found.texts is not None
    assert found.texts[2] == "How much is 2 and 1?"
    assert found.metadata["num_fewshot"] == 4
    assert not found.notes


def test_details_may_hold_options(tmp_path: Path) -> None:
    details = [
        {"question": q, "choices": list(c), "gold": g, "scores": list(v), "acc": float(v[g] > -1.2)}
        for q, c, g, v in PLANETS
    ]
    document = results({"planets": {"acc": 0.75, "details": details}}, "pretrained=owl")
    (found,) = read_with(READERS, write_json(tmp_path / "result.json", document))
    assert found.option_logprobs is not None
    np.testing.assert_array_equal(found.option_logprobs, [p[3] for p in PLANETS])
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]


def test_parallel_lists_inside_the_results(tmp_path: Path) -> None:
    tasks = {
        "trivia": {"acc": [0, 1, 1, 0], "id": ["tc_1", "tc_2", "bb_1", "bb_9"], "odd": [1, 2]},
        "whole": {"acc": 0.5},
    }
    document = results(tasks, "pretrained=some-lab/owl,revision=step3000")
    (found,) = read_with(READERS, write_json(tmp_path / "x-04shot.json", document))
    assert found.item_ids == ("tc_1", "tc_2", "bb_1", "bb_9")
    assert found.scores is not None
    assert found.scores.tolist() == [0, 1, 1, 0]
    assert found.groups == {"id_prefix": ("tc", "tc", "bb", "bb")}
    assert found.metadata["revision"] == "step3000"
    assert any("task whole: no per-item records" in n for n in found.notes)


def test_repeated_ids_of_parallel_lists_are_named(tmp_path: Path) -> None:
    document = results({"t": {"acc": [0, 1, 1], "id": ["a", "a", "b"]}}, "pretrained=owl")
    (found,) = read_with(READERS, write_json(tmp_path / "x.json", document))
    assert found.item_ids == ("a", "b")
    assert [p.item for p in found.source.problems] == ["a"]


def test_lists_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    document = results({"t": {"acc": [0, 1, 1], "id": ["a"]}}, "pretrained=owl")
    with pytest.raises(InputError, match=r"lengths differ \(acc: 3, id: 1\)"):
        read_with(READERS, write_json(tmp_path / "x.json", document))


def example(doc_id: int, prompt: str, pred: str, target: Any) -> dict[str, Any]:
    return {
        "target": target,
        "pred": pred,
        "fewshot_idx": [],
        "fewshot_num": 0,
        "ctx": f"Read this.\n\nWhat is number {doc_id}?\nAnswer:",
        "doc_id": doc_id,
        "fixed_answer_choice_list": None,
        "dataset_path": "numbers",
        "dataset_name": "numbers.en",
        "prompt_name": prompt,
    }


def test_promptsource_examples_give_one_evaluation_a_prompt(tmp_path: Path) -> None:
    rows: list[Any] = [
        example(7, "ask", " Seven\n", ["seven"]),
        example(8, "ask", "nine", {"text": ["eight"], "answer_start": [3]}),
        example(7, "tell", "seven", "seven"),
        {"doc_id": 9, "pred": None},
    ]
    name = "examples-limited_5_owl_v2_numbers.en_0_1234_2022-05-18T16:28:16.621186.jsonl"
    ask, tell = read_with(READERS, write_lines(tmp_path / name, rows))
    assert (ask.benchmark, ask.model) == ("numbers.en [ask]", "owl_v2")
    assert tell.benchmark == "numbers.en [tell]"
    assert ask.scores is not None
    assert ask.scores.tolist() == [1, 0]
    assert ask.texts is not None
    assert ask.texts[0] == "What is number 7?"
    assert [p.line for p in ask.source.problems] == [4]
    assert any("computed here" in n for n in ask.notes)


def test_the_layouts_are_told_apart(tmp_path: Path) -> None:
    lists = results({"t": {"acc": [0, 1], "id": ["a", "b"]}}, "pretrained=owl")
    ours = [write_json(tmp_path / "a.json", write_out()), write_json(tmp_path / "b.json", lists)]
    theirs = [write_lines(tmp_path / "c.jsonl", rows_2025())]
    theirs.append(write_json(tmp_path / "d.json", results({"t": {"acc": 0.5}}, "pretrained=owl")))
    for file in ours:
        assert [any(r.sniff(file) for r in group) for group in (current.READERS, READERS)] == [
            False,
            True,
        ]
    for file in theirs:
        assert [any(r.sniff(file) for r in group) for group in (current.READERS, READERS)] == [
            True,
            False,
        ]


def test_documents_cut_off_anywhere_give_a_worded_error(tmp_path: Path) -> None:
    data = json.dumps(write_out()).encode()
    for cut in range(0, len(data) - 1, 31):
        assert not survives(READERS, write_bytes(tmp_path / "x_write_out_info.json", data[:cut]))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    changes=st.lists(st.tuples(st.integers(0, 60), JUNK), min_size=1, max_size=3),
    layout=st.sampled_from(["write-out", "details", "lists", "promptsource"]),
)
def test_any_value_in_any_place_gives_items_or_a_worded_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, Any]], layout: str
) -> None:
    details = [
        {"question": "?", "choices": ["a", "b"], "gold": 1, "scores": [-1.0, -2.0], "acc": 1}
    ]
    lists = {"acc": [0, 1, 1], "id": ["a_1", "a_2", "b_1"], "f1": [0.5, 0.25, 1.0]}
    document: Any = {
        "write-out": write_out(),
        "details": results({"t": {"acc": 0.5, "details": details * 3}}, "pretrained=owl"),
        "lists": results({"t": lists}, "pretrained=owl"),
        "promptsource": [example(i, "ask", "one", ["one"]) for i in range(3)],
    }[layout]
    for where, junk in changes:
        document, _ = replaced(document, junk, 1 + where)
    path = tmp_path_factory.mktemp("fuzz") / "file.json"
    if layout == "promptsource" and isinstance(document, list):
        survives(READERS, write_lines(path, [json.dumps(row) for row in document]))
    else:
        survives(READERS, write_json(path, document))


def test_the_caller_may_name_what_the_log_does_not(tmp_path: Path) -> None:
    file = write_json(tmp_path / "planets_write_out_info.json", write_out())
    (found,) = read_with(READERS, file, ReadOptions(model="owl", benchmark="ignored"))
    assert (found.benchmark, found.model) == ("planets", "owl")
