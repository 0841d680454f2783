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
from benchharmony.readers.lm_eval import READERS
from harness_logs import (
    ACCURACY,
    JUNK,
    PLANETS,
    RESULTS,
    SAMPLES,
    generated,
    read_samples,
    read_with,
    replaced,
    rows_2025,
    survives,
    write_bytes,
    write_json,
    write_lines,
)


def test_a_samples_log_of_today(tmp_path: Path) -> None:
    found = read_samples(tmp_path, rows_2025())
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

    found = read_samples(tmp_path, rows_2025(as_2024), SAMPLES.removesuffix("l"))
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
    found = read_samples(tmp_path, rows_2025(as_2023), name)
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
    found = read_samples(tmp_path, rows, "planets.jsonl")
    assert found.option_logprobs is not None
    np.testing.assert_array_equal(found.option_logprobs, [p[3] for p in PLANETS])
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY
    assert found.texts is None


def test_ids_of_the_benchmark_are_used_where_they_tell_items_apart(tmp_path: Path) -> None:
    def with_id(ids: list[Any]) -> list[Any]:
        return rows_2025(lambda i, row: row["doc"].update(id=ids[i]))

    assert read_samples(tmp_path, with_id(["a", "b", "c", "d"])).item_ids == ("a", "b", "c", "d")
    assert read_samples(tmp_path, with_id([7, 8, 9, 10])).item_ids == ("7", "8", "9", "10")
    for useless in (["a", "a", "b", "b"], ["a", "b", "c", None]):
        assert read_samples(tmp_path, with_id(useless)).item_ids == ("0", "1", "2", "3")


def test_joined_subtasks_whose_numbers_start_again_keep_all_their_items(tmp_path: Path) -> None:
    first = rows_2025(lambda i, row: row["doc"].update(id=f"a{i}"))
    second = rows_2025(lambda i, row: row["doc"].update(id=f"b{i}"))
    assert len(read_samples(tmp_path, first + second)) == 8


def test_a_log_appended_twice_counts_each_item_once(tmp_path: Path) -> None:
    found = read_samples(tmp_path, rows_2025() + rows_2025())
    assert len(found) == 4
    assert found.source.items_read == 8
    assert [p.line for p in found.source.problems] == [5, 6, 7, 8]
    assert "the same item id as before (line 1)" in found.source.problems[0].reason
    assert found.source.problems[0].item == "0"


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
    found = read_samples(tmp_path, [*rows, '{"doc_id": 99, "doc": {"question": "Which pla'])
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
    found = read_samples(tmp_path, rows)
    assert found.item_ids == ("0", "1", "3", "4")
    assert [(p.line, p.item) for p in found.source.problems] == [(3, "2")]
    assert "no value of exact_match" in found.source.problems[0].reason


def test_bare_nan_and_infinity_and_odd_line_breaks_inside_texts(tmp_path: Path) -> None:
    rows = [generated(i, exact_match=0.0) for i in range(2)]
    rows[0]["doc"]["question"] = "one\x85two\u2028three"
    lines = [json.dumps(r, ensure_ascii=False) for r in rows]
    lines[1] = lines[1][:-1] + ', "mae": Infinity, "bleu": NaN}'
    found = read_samples(tmp_path, lines)
    assert found.texts is not None
    assert found.texts[0] == "one\x85two\u2028three"
    assert found.metrics["mae"][1] == np.inf
    assert "bleu" not in found.metrics
    assert found.score_name == "exact_match"


def test_several_filters_are_resolved_and_the_others_offered(tmp_path: Path) -> None:
    rows = []
    for i in range(3):
        for name, value in (("zeta", 1.0), ("flexible-extract", 1.0), ("strict-match", i == 0)):
            row = generated(i, exact_match=float(value), filter=name, metrics=["exact_match"])
            rows.append(row)
    found = read_samples(tmp_path, rows)
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
    found = read_samples(tmp_path, rows)
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

    found = read_samples(tmp_path, rows_2025(spoil))
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

    assert read_samples(tmp_path, rows_2025(spoil)).texts == tuple(p[0] for p in PLANETS)

    def chat(i: int, row: dict[str, Any]) -> None:
        spoil(i, row)
        turns = [{"role": "user", "content": PLANETS[i][0]}]
        for call in row["arguments"].values():
            call["arg_0"] = [json.dumps(turns)]

    assert read_samples(tmp_path, rows_2025(chat)).texts == tuple(p[0] for p in PLANETS)


def test_long_runs_of_blanks_in_a_prompt_cost_no_time(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["doc"] = {"gold": PLANETS[i][2]}
        for call in row["arguments"].values():
            call["arg_0"] = "Answer" + " " * 200_000 + "which?" + "\nAnswer: "

    texts = read_samples(tmp_path, rows_2025(spoil)).texts
    assert texts is not None
    assert texts[0].endswith("which?")


def test_a_first_line_longer_than_the_head_is_still_recognised(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        for call in row["arguments"].values():
            call["arg_0"] = "word " * 40_000

    assert len(read_samples(tmp_path, rows_2025(spoil))) == 4


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
        file = write_bytes(tmp_path / SAMPLES, data[:cut])
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
    assert survives(READERS, write_lines(folder / SAMPLES, map(json.dumps, rows))) or (
        layout != "beside"
    )
    survives(READERS, write_json(folder / "x.json", {**around, "samples": {"planets": rows}}))
