"""Samples files of lm-evaluation-harness, 2023 to now, and results that hold their samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import ReadOptions, read_sources
from benchharmony.readers.lm_eval import READERS
from harness_logs import (
    ACCURACY,
    JUNK,
    PLANETS,
    generated,
    read_with,
    replaced,
    rows_2025,
    survives,
    write_bytes,
    write_json,
    write_lines,
)

NAME = "samples_planets_2025-06-30T19-40-09.461247.jsonl"
RESULTS = "results_2025-06-30T19-40-09.461247.json"


def read(path: Path, rows: list[Any], name: str = NAME) -> Evaluation:
    return read_with(READERS, write_lines(path / name, rows))[0]


def test_a_samples_log_of_today(tmp_path: Path) -> None:
    found = read(tmp_path, rows_2025())
    assert found.benchmark == "planets"
    assert found.item_ids == ("0", "1", "2", "3")
    assert found.score_name == "acc"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 1]
    assert found.option_logprobs is not None
    np.testing.assert_array_equal(found.option_logprobs, [p[3] for p in PLANETS])
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]
    assert found.texts == tuple(p[0] for p in PLANETS)
    assert found.choices == tuple(p[1] for p in PLANETS)
    assert found.source.items_read == 4
    assert found.source.problems == ()


def test_the_layout_of_2024_is_jsonl_named_json_with_lists_as_metrics(tmp_path: Path) -> None:
    def as_2024(i: int, row: dict[str, Any]) -> None:
        del row["filter"], row["metrics"]
        row |= {"target": "AB"[int(row["target"])], "f1": [1, 0], "acc": [row["acc"]]}

    found = read(tmp_path, rows_2025(as_2024), NAME.removesuffix("l"))
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]
    assert set(found.metrics) == {"acc", "acc_norm"}
    assert any("f1 is logged as parts of an aggregate" in n for n in found.notes)


def test_the_layout_of_2023_has_numbers_and_one_flat_argument_pair(tmp_path: Path) -> None:
    def as_2023(i: int, row: dict[str, Any]) -> None:
        question, choices, gold, values = PLANETS[i]
        for key in ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash"):
            del row[key]
        row["doc"] = {"sentence": question, "option1": choices[0], "option2": choices[1]}
        row["doc"]["answer"] = str(gold + 1)
        row["target"] = choices[gold]
        row["arguments"] = [f"Q: {question}", f" {choices[0]}"]
        row["resps"] = [[[v, False]] for v in values]
        row["filtered_resps"] = [[v, False] for v in values]

    name = "pretrained=some-lab__owl-1b_planets.jsonl"
    found = read(tmp_path, rows_2025(as_2023), name)
    assert (found.benchmark, found.model) == ("planets", "some-lab/owl-1b")
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]
    assert found.choices is not None
    assert found.choices[0] == ("Mercury", "Venus")


def test_minimal_rows_of_forks_have_a_bracket_less_and_no_prompts(tmp_path: Path) -> None:
    rows = [
        {
            "doc_id": i,
            "target": gold,
            "resps": [[str(v), "False"] for v in values],
            "acc": float(values.index(max(values)) == gold),
            "doc": {"label": gold},
        }
        for i, (_, _, gold, values) in enumerate(PLANETS)
    ]
    found = read(tmp_path, rows, "planets.jsonl")
    assert found.option_logprobs is not None
    np.testing.assert_array_equal(found.option_logprobs, [p[3] for p in PLANETS])
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY
    assert found.texts is None


def test_the_results_beside_it_name_the_model_and_the_settings(tmp_path: Path) -> None:
    results = write_json(
        tmp_path / RESULTS,
        {
            "results": {"planets": {"acc,none": ACCURACY}},
            "n-shot": {"planets": 5},
            "versions": {"planets": 2},
            "config": {
                "model": "hf",
                "model_args": "pretrained=some-lab/owl-1b,revision=main,token=secret",
                "model_dtype": "torch.bfloat16",
                "model_num_parameters": 1000,
            },
            "lm_eval_version": "0.4.9",
            "date": 1751312409.0,
        },
    )
    found = read(tmp_path, rows_2025())
    assert found.model == "some-lab/owl-1b"
    assert found.metadata["num_fewshot"] == 5
    assert found.metadata["precision"] == "bfloat16"
    assert found.metadata["harness_version"] == "0.4.9"
    assert found.metadata["parameters"] == 1000
    assert found.metadata["revision"] == "main"
    assert found.metadata["date"].startswith("2025-06-30T19:40:09")
    assert "secret" not in str(found.metadata)
    assert str(results) in found.source.files
    assert not found.notes


def test_a_results_file_that_disagrees_with_its_items_is_told(tmp_path: Path) -> None:
    write_json(tmp_path / RESULTS, {"results": {"planets": {"acc,none": 0.5}}, "versions": {}})
    notes = read(tmp_path, rows_2025()).notes
    assert any("states acc = 0.5" in n and "0.75" in n for n in notes)


@pytest.mark.parametrize(
    "document", ['{"results": {"planets": ', "[]", '{"results": null}', '{"results": {"x": {}}}']
)
def test_a_useless_results_file_beside_it_is_no_obstacle(tmp_path: Path, document: str) -> None:
    write_bytes(tmp_path / RESULTS, document.encode())
    found = read(tmp_path / "", rows_2025())
    assert found.model == "unknown"
    assert found.source.files == (str(tmp_path / NAME),)


def test_a_log_without_a_time_in_its_name_belongs_to_the_results_file(tmp_path: Path) -> None:
    for name, model in (("results.json", "owl"), ("results_2020-01-01.json", "another")):
        document = {"results": {"planets": {}}, "versions": {}, "model_name": model}
        write_json(tmp_path / name, document)
    assert read(tmp_path, rows_2025(), "planets.jsonl").model == "owl"
    (tmp_path / "results.json").unlink()
    assert read(tmp_path, rows_2025(), "planets.jsonl").model == "unknown"


def test_used_results_files_are_not_reported_as_unusable(tmp_path: Path) -> None:
    write_lines(tmp_path / NAME, rows_2025())
    results = {"results": {"planets": {}}, "versions": {}, "model_name": "owl"}
    write_json(tmp_path / RESULTS, results)
    write_json(tmp_path / "results_2020-01-01T00-00-00.0.json", results)
    found = read_sources([tmp_path])
    assert [e.model for e in found.evaluations] == ["owl"]
    assert [Path(p.path).name for p in found.unused] == ["results_2020-01-01T00-00-00.0.json"]
    assert "aggregate results only, no per-item records" in found.unused[0].reason


@pytest.mark.parametrize(
    ("folder", "model"),
    [
        ("some-lab__Owl-7B", "some-lab/Owl-7B"),
        ("owl-135m-instruct", "owl-135m-instruct"),
        ("gpt-4-0125-preview", "gpt-4-0125-preview"),
        ("run-2025-b", "given"),
        ("v042", "given"),
        ("7_bridges", "given"),
    ],
)
def test_a_folder_names_the_model_when_it_looks_like_one(
    tmp_path: Path, folder: str, model: str
) -> None:
    file = write_lines(tmp_path / folder / NAME, rows_2025())
    found = read_with(READERS, file, ReadOptions(model="given"))[0]
    assert found.model == model


def test_a_log_without_a_model_says_so(tmp_path: Path) -> None:
    found = read(tmp_path / "logs", rows_2025())
    assert found.model == "unknown"
    assert any("does not say which model" in n for n in found.notes)


def test_ids_of_the_benchmark_are_used_where_they_tell_items_apart(tmp_path: Path) -> None:
    def with_id(ids: list[Any]) -> list[Any]:
        return rows_2025(lambda i, row: row["doc"].update(id=ids[i]))

    assert read(tmp_path, with_id(["a", "b", "c", "d"])).item_ids == ("a", "b", "c", "d")
    assert read(tmp_path, with_id([7, 8, 9, 10])).item_ids == ("7", "8", "9", "10")
    for useless in (["a", "a", "b", "b"], ["a", "b", "c", None]):
        assert read(tmp_path, with_id(useless)).item_ids == ("0", "1", "2", "3")


def test_joined_subtasks_whose_numbers_start_again_keep_all_their_items(tmp_path: Path) -> None:
    first = rows_2025(lambda i, row: row["doc"].update(id=f"a{i}"))
    second = rows_2025(lambda i, row: row["doc"].update(id=f"b{i}"))
    assert len(read(tmp_path, first + second)) == 8


def test_a_log_appended_twice_counts_each_item_once(tmp_path: Path) -> None:
    found = read(tmp_path, rows_2025() + rows_2025())
    assert len(found) == 4
    assert found.source.items_read == 8
    assert [p.line for p in found.source.problems] == [5, 6, 7, 8]
    assert "the same item id as before (line 1)" in found.source.problems[0].reason
    assert found.source.problems[0].item == "0"


@pytest.mark.parametrize(
    ("target", "choices"),
    [
        (lambda g: g, ("Mercury", "Venus")),
        (str, ("Mercury", "Venus")),
        (lambda g: "AB"[g], ("Mercury", "Venus")),
        (lambda g: f"({'ab'[g]})", ("Mercury", "Venus")),
        (lambda g: ["mercury ", " Venus"][g], ("Mercury", "Venus")),
        (lambda g: str(g + 1), ("Mercury", "Venus")),
        (lambda g: ["1", "0"][g], ("1", "0")),
    ],
)
def test_the_key_is_read_in_whichever_way_agrees_with_the_logged_accuracy(
    tmp_path: Path, target: Any, choices: tuple[str, str]
) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["doc"] = {"question": PLANETS[i][0], "choices": list(choices)}
        row["target"] = target(PLANETS[i][2])
        for k, choice in enumerate(choices):
            row["arguments"][f"gen_args_{k}"]["arg_1"] = f" {choice}"

    found = read(tmp_path, rows_2025(spoil))
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]
    assert not any("differs" in n or "as well" in n for n in found.notes)


@pytest.mark.parametrize(
    "doc",
    [
        lambda g: {"label": g},
        lambda g: {"answerKey": "12"[g], "choices": {"text": ["x", "y"], "label": ["1", "2"]}},
        lambda g: {"mc1_targets": {"choices": ["x", "y"], "labels": [1 - g, g]}},
        lambda g: {"final_decision": "xy"[g], "choices": ["x", "y"]},
        lambda g: {"options": {"P": "x", "Q": "y"}, "answer": "PQ"[g]},
    ],
)
def test_the_record_holds_the_key_where_the_target_is_null(tmp_path: Path, doc: Any) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row |= {"target": None, "doc": doc(PLANETS[i][2])}

    found = read(tmp_path, rows_2025(spoil))
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]


def test_a_key_that_could_be_read_in_two_ways_is_told(tmp_path: Path) -> None:
    row = rows_2025()[0]
    row |= {"target": "1", "acc": 0.0, "doc": {"choices": ["1", "2", "3"]}}
    row["arguments"] = {f"gen_args_{k}": {"arg_0": "Q", "arg_1": f" {k + 1}"} for k in range(3)}
    row["filtered_resps"] = [["-3", "False"], ["-4", "False"], ["-1", "False"]]
    found = read(tmp_path, [row])
    assert found.gold is not None
    assert found.gold.tolist() == [1]
    assert any("as index from 0; read as text it would fit as well" in n for n in found.notes)


def test_a_logged_accuracy_that_the_log_likelihoods_contradict_is_counted(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["acc"] = 0.0 if i == 3 else row["acc"]

    found = read(tmp_path, rows_2025(spoil))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 0]
    assert any("differs from the logged acc on 1 of 4 items" in n for n in found.notes)


def test_accuracy_is_computed_where_it_is_not_logged(tmp_path: Path) -> None:
    found = read(tmp_path, rows_2025(lambda i, row: row.pop("acc")))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 1]
    assert any("acc is computed" in n for n in found.notes)
    assert "acc" in found.metadata["computed"]


def test_ties_go_to_the_lowest_index_and_are_told(tmp_path: Path) -> None:
    def tie(i: int, row: dict[str, Any]) -> None:
        row["filtered_resps"] = [["-1.5", "False"], ["-1.5", "True"]]
        row["filtered_resps"][1][0] = "-1.5" if i < 3 else "-2.5"
        del row["acc"]

    found = read(tmp_path, rows_2025(tie))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 1, 0]
    assert any("3 of 4 items have tied likeliest options" in n for n in found.notes)


def test_acc_norm_divides_by_the_characters_of_the_option(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        # The delimiter does not count: -1 and -0.75, where it would be -0.5 and -0.6 with it.
        row["arguments"]["gen_args_0"]["arg_1"] = " a"
        row["arguments"]["gen_args_1"]["arg_1"] = " abcd"
        row["filtered_resps"] = [["-1.0", "False"], ["-3.0", "False"]]
        row |= {"target": "1", "acc": 0.0}
        row["doc"] = {"question": "?"}

    found = read(tmp_path, rows_2025(spoil))
    assert found.metrics["acc_norm"].tolist() == [1, 1, 1, 1]
    assert found.metrics["acc"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "values", [("0.8", "-0.8"), ("-0.8", "0.8"), ("0.0", "-Infinity"), ("-1.0", "-100.0")]
)
def test_placeholders_are_no_log_likelihoods(tmp_path: Path, values: tuple[str, str]) -> None:
    rows = []
    for row in rows_2025() + rows_2025():
        row["doc_id"] = len(rows)
        row["filtered_resps"] = [[v, "False"] for v in values]
        rows.append(row)
    found = read(tmp_path, rows)
    assert found.option_logprobs is None
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY
    assert found.gold is not None
    assert any("placeholders" in n for n in found.notes)


def test_the_second_half_of_mutual_information_logs_is_no_option(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["filtered_resps"] += [["-0.1", "False"], ["-0.2", "False"]]
        row["arguments"] |= {f"gen_args_{k}": {"arg_0": "", "arg_1": " x"} for k in (2, 3)}
        row |= {"acc_mutual_info": 1.0, "metrics": ["acc", "acc_mutual_info"]}
        del row["doc"]["choices"]

    found = read(tmp_path, rows_2025(spoil))
    assert found.option_logprobs is not None
    assert found.option_logprobs.shape == (4, 2)
    assert found.choices == tuple(p[1] for p in PLANETS)


def test_items_may_have_different_numbers_of_options_and_impossible_ones(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        if i == 0:
            row["filtered_resps"].append(["-inf", "False"])
        if i == 1:
            row["filtered_resps"] = [[-1.5, False], [-0.5, True]]

    found = read(tmp_path, rows_2025(spoil))
    assert found.n_options is not None
    assert found.n_options.tolist() == [3, 2, 2, 2]
    assert found.option_logprobs is not None
    assert found.option_logprobs[0, 2] == -np.inf
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY


def test_unusable_items_are_named_with_line_and_reason(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["doc_id"] = i + 10
        if i == 1:
            row |= {"resps": [], "filtered_resps": []}
        if i == 2:
            row["filtered_resps"][0][0] = "NaN"
        if i == 3:
            row["filtered_resps"][0][0] = "Infinity"

    rows = [*rows_2025(), *rows_2025(spoil)[1:], "[1, 2]", {"doc": {}, "resps": []}]
    found = read(tmp_path, [*rows, '{"doc_id": 99, "doc": {"question": "Which pla'])
    assert len(found) == 4
    assert found.source.items_read == 10
    told = [(p.line, p.item) for p in found.source.problems]
    assert told == [(5, "11"), (6, "12"), (7, "13"), (8, None), (9, None), (10, None)]
    reasons = [p.reason for p in found.source.problems]
    assert "no log-likelihoods" in reasons[0]
    assert "not a number" in reasons[1]
    assert "infinite" in reasons[2]
    assert "found list" in reasons[3]
    assert "no doc_id" in reasons[4]
    assert "not valid JSON" in reasons[5]


def test_an_item_without_the_score_is_left_out_and_named(tmp_path: Path) -> None:
    rows = [generated(i, exact_match=1.0 if i != 2 else None) for i in range(5)]
    found = read(tmp_path, rows)
    assert found.item_ids == ("0", "1", "3", "4")
    assert [(p.line, p.item) for p in found.source.problems] == [(3, "2")]
    assert "no value of exact_match" in found.source.problems[0].reason


def test_bare_nan_and_infinity_and_odd_line_breaks_inside_texts(tmp_path: Path) -> None:
    rows = [generated(i, exact_match=0.0) for i in range(2)]
    rows[0]["doc"]["question"] = "one\x85two\u2028three"
    lines = [json.dumps(r, ensure_ascii=False) for r in rows]
    lines[1] = lines[1][:-1] + ', "mae": Infinity, "bleu": NaN}'
    found = read(tmp_path, lines)
    assert found.texts is not None
    assert found.texts[0] == "one\x85two\u2028three"
    assert found.metrics["mae"][1] == np.inf
    assert "bleu" not in found.metrics
    assert found.score_name == "exact_match"


@pytest.mark.parametrize(
    ("metrics", "score"),
    [
        ({"f1": 0.5, "exact_match": 1.0}, "exact_match"),
        ({"bleu_max": 22.0, "bleu_acc": 1, "bleu_diff": -3.0}, "bleu_acc"),
        ({"mae": 0.5, "rouge": 0.25}, "rouge"),
        ({"exact_match": 100.0, "f1": 0.5}, "f1"),
        ({"acc": "True", "f1": "tc_0"}, "acc"),
        ({"strict": [True, False]}, "strict"),
        ({"acc_stderr": 0.1, "perplexity": 0.5, "quality": 0.2}, "quality"),
    ],
)
def test_the_default_score_follows_a_fixed_order(
    tmp_path: Path, metrics: dict[str, Any], score: str
) -> None:
    assert read(tmp_path, [generated(i, **metrics) for i in range(3)]).score_name == score


def test_a_metric_without_gaps_goes_before_one_with_gaps(tmp_path: Path) -> None:
    rows = [generated(i, exact_match=1.0 if i else None, f1=0.5) for i in range(3)]
    found = read(tmp_path, rows)
    assert (found.score_name, len(found)) == ("f1", 3)


def test_a_metric_outside_0_to_1_is_kept_but_is_no_score(tmp_path: Path) -> None:
    rows = [generated(i, mae=103.5 + i, exact_match=0.0) for i in range(3)]
    assert read(tmp_path, rows).metrics["mae"].tolist() == [103.5, 104.5, 105.5]
    with pytest.raises(InputError, match=r"it has: mae \(103.5 to 105.5\)"):
        read(tmp_path, [generated(i, mae=103.5 + i) for i in range(3)])
    with pytest.raises(InputError, match="no per-item metric in it"):
        read(tmp_path, [generated(i) for i in range(3)])


def test_options_without_key_and_accuracy_give_an_evaluation_without_scores(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row |= {"target": None, "doc": {"question": "?"}}
        del row["acc"]

    found = read(tmp_path, rows_2025(spoil))
    assert found.scores is None
    assert found.option_logprobs is not None
    assert any("items have no score" in n for n in found.notes)


def test_several_filters_are_resolved_and_the_others_offered(tmp_path: Path) -> None:
    rows = []
    for i in range(3):
        for name, value in (("zeta", 1.0), ("flexible-extract", 1.0), ("strict-match", i == 0)):
            row = generated(i, exact_match=float(value), filter=name, metrics=["exact_match"])
            rows.append(row)
    found = read(tmp_path, rows)
    assert len(found) == 3
    assert found.source.items_read == 3
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 0]
    other = found.with_score("exact_match@flexible-extract")
    assert other.scores is not None
    assert other.scores.tolist() == [1, 1, 1]
    assert "exact_match@zeta" in found.metrics
    assert any("filter strict-match is used" in n for n in found.notes)


def test_a_filter_without_a_usable_score_is_passed_over(tmp_path: Path) -> None:
    rows = [generated(i, mae=7.0, filter="none") for i in range(3)]
    rows += [generated(i, exact_match=1.0, filter="regex") for i in range(3)]
    found = read(tmp_path, rows)
    assert found.score_name == "exact_match"
    assert found.metrics["mae@none"].tolist() == [7, 7, 7]


def test_short_repeated_columns_become_declared_groups(tmp_path: Path) -> None:
    def spoil(doc_id: int, row: dict[str, Any]) -> None:
        row["doc"] |= {
            "id": f"x{doc_id}",
            "subject": ["rocks", "gas"][doc_id // 2],
            "level": [1, 1, 1, 3][doc_id],
            "source_id": doc_id % 2,
            "split": "test",
            "essay": "long " * 40,
            "right_letter": "AB"[row["doc"]["gold"]],
            "meta": {"year": ["1999", "2001", "2001", "1999"][doc_id]},
        }

    found = read(tmp_path, rows_2025(spoil))
    assert found.groups == {
        "subject": ("rocks", "rocks", "gas", "gas"),
        "level": ("1", "1", "1", "3"),
        "meta.year": ("1999", "2001", "2001", "1999"),
    }


def test_a_question_comes_from_the_prompt_where_the_record_has_none(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["doc"] = {"gold": PLANETS[i][2]}
        for call in row["arguments"].values():
            call["arg_0"] = f"Shot one?\nAnswer: yes\n\n{PLANETS[i][0]}\nAnswer:"

    assert read(tmp_path, rows_2025(spoil)).texts == tuple(p[0] for p in PLANETS)

    def chat(i: int, row: dict[str, Any]) -> None:
        spoil(i, row)
        turns = [{"role": "user", "content": PLANETS[i][0]}]
        for call in row["arguments"].values():
            call["arg_0"] = [json.dumps(turns)]

    assert read(tmp_path, rows_2025(chat)).texts == tuple(p[0] for p in PLANETS)


def test_long_runs_of_blanks_in_a_prompt_cost_no_time(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["doc"] = {"gold": PLANETS[i][2]}
        for call in row["arguments"].values():
            call["arg_0"] = "Answer" + " " * 200_000 + "which?" + "\nAnswer: "

    texts = read(tmp_path, rows_2025(spoil)).texts
    assert texts is not None
    assert texts[0].endswith("which?")


def test_a_first_line_longer_than_the_head_is_still_recognised(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        for call in row["arguments"].values():
            call["arg_0"] = "word " * 40_000

    assert len(read(tmp_path, rows_2025(spoil))) == 4


def test_rows_may_be_the_elements_of_one_list(tmp_path: Path) -> None:
    file = write_json(tmp_path / "planets.json", rows_2025())
    assert read_with(READERS, file)[0].item_ids == ("0", "1", "2", "3")


def results_document(**samples: Any) -> dict[str, Any]:
    return {
        "results": {task: {"acc,none": ACCURACY} for task in samples},
        "configs": {},
        "samples": samples,
        "config": {"model": "hf", "model_args": {"pretrained": "some-lab/owl-1b"}},
    }


def test_results_from_python_hold_their_samples(tmp_path: Path) -> None:
    def as_python(i: int, row: dict[str, Any]) -> None:
        calls = row["arguments"].values()
        row["arguments"] = [[c["arg_0"], c["arg_1"]] for c in calls]
        row["resps"] = [[[float(r[0][0]), False]] for r in row["resps"]]

    document = results_document(planets=rows_2025(as_python), moons=rows_2025(), broken=[1])
    found = read_with(READERS, write_json(tmp_path / "any.json.gz", document))
    assert [(e.benchmark, e.model) for e in found] == [
        ("planets", "some-lab/owl-1b"),
        ("moons", "some-lab/owl-1b"),
    ]
    assert found[0].scores is not None
    assert found[0].scores.mean() == ACCURACY
    assert any("task broken" in n for n in found[0].notes)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["results.json", "back.jsonl"])
def test_aggregates_alone_are_refused_with_what_to_do(
    tmp_path: Path, name: str, indent: int | None
) -> None:
    document = {"results": {"planets": {"acc,none": 0.5}}, "config": {}, "git_hash": "abc"}
    file = write_bytes(tmp_path / name, json.dumps(document, indent=indent).encode())
    with pytest.raises(InputError, match="aggregate results only, no per-item records"):
        read_with(READERS, file)


@pytest.mark.parametrize(
    "document",
    [
        {"version": 2, "status": "success", "eval": {}, "results": {"scores": []}, "samples": []},
        {"config_general": {}, "results": {"arc|0": {"acc": 0.5}}, "versions": {}},
        {"results": [1, 2], "versions": {}},
        {"schema_version": "1", "results": {}},
        [{"id": 1, "acc": 1}],
        {"request_states": [{"doc_id": 3}]},
        {"item_id": "a", "score": 1},
    ],
)
def test_other_formats_are_left_to_others(tmp_path: Path, document: Any) -> None:
    file = write_json(tmp_path / "file.json", document)
    assert not any(r.sniff(file) for r in READERS)


@pytest.mark.parametrize("data", [b"", b"\x00\xff\x00", b"doc_id,resps\n1,2\n", b'"', b"[[[[["])
def test_sniffing_bytes_that_are_no_json_raises_nothing(tmp_path: Path, data: bytes) -> None:
    file = write_bytes(tmp_path / "file", data)
    assert not any(r.sniff(file) for r in READERS)


def test_a_log_cut_off_anywhere_gives_items_or_a_worded_error(tmp_path: Path) -> None:
    data = "\n".join(json.dumps(r) for r in rows_2025()).encode()
    whole = [len(json.dumps(r)) for r in rows_2025()]
    for cut in range(0, len(data), 37):
        file = write_bytes(tmp_path / NAME, data[:cut])
        assert survives(READERS, file) == (cut >= whole[0])
    document = json.dumps(results_document(planets=rows_2025())).encode()
    for cut in range(0, len(document) - 1, 97):
        assert not survives(READERS, write_bytes(tmp_path / "results.json", document[:cut]))


def surroundings() -> dict[str, Any]:
    """Return what a results document says about its run."""
    return {
        "results": {"planets": {"acc,none": ACCURACY}},
        "configs": {"planets": {"num_fewshot": 3}},
        "config": {"model": "hf", "model_args": "pretrained=owl", "model_dtype": "float32"},
        "n-shot": {"planets": 3},
        "versions": {"planets": 1},
        "model_name": "owl",
        "date": 1.7e9,
    }


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    changes=st.lists(st.tuples(st.integers(0, 160), JUNK), min_size=1, max_size=4),
    layout=st.sampled_from(["lines", "every line", "list", "results", "beside"]),
)
def test_any_value_in_any_place_gives_items_or_a_worded_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, Any]], layout: str
) -> None:
    rows: Any = rows_2025()
    around: Any = surroundings()
    for where, junk in changes:
        if layout == "every line":
            rows = [replaced(row, junk, where % 40)[0] for row in rows]
        elif layout == "beside":
            around, _ = replaced(around, junk, 1 + where % 18)
        else:
            rows, _ = replaced(rows, junk, 1 + where)
    folder = tmp_path_factory.mktemp("fuzz")
    if layout in ("results", "list"):
        document = {**around, "samples": {"planets": rows}} if layout == "results" else rows
        survives(READERS, write_json(folder / "x.json", document))
        return
    write_json(folder / RESULTS, around)
    assert survives(READERS, write_lines(folder / NAME, map(json.dumps, rows))) or (
        layout != "beside"
    )
    survives(READERS, write_json(folder / "x.json", {**around, "samples": {"planets": rows}}))
