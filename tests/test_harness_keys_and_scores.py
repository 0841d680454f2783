"""Answer keys, option log-likelihoods and scores of harness logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchharmony.errors import InputError
from harness_logs import (
    ACCURACY,
    PLANETS,
    generated,
    read_samples,
    rows_2025,
)


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

    found = read_samples(tmp_path, rows_2025(spoil))
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

    found = read_samples(tmp_path, rows_2025(spoil))
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 0, 1]


def test_a_key_that_could_be_read_in_two_ways_is_told(tmp_path: Path) -> None:
    row = rows_2025()[0]
    row |= {"target": "1", "acc": 0.0, "doc": {"choices": ["1", "2", "3"]}}
    row["arguments"] = {f"gen_args_{k}": {"arg_0": "Q", "arg_1": f" {k + 1}"} for k in range(3)}
    row["filtered_resps"] = [["-3", "False"], ["-4", "False"], ["-1", "False"]]
    found = read_samples(tmp_path, [row])
    assert found.gold is not None
    assert found.gold.tolist() == [1]
    assert any("as index from 0; read as text it would fit as well" in n for n in found.notes)


def test_a_logged_accuracy_that_the_log_likelihoods_contradict_is_counted(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row["acc"] = 0.0 if i == 3 else row["acc"]

    found = read_samples(tmp_path, rows_2025(spoil))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 0]
    assert any("differs from the logged acc on 1 of 4 items" in n for n in found.notes)


def test_accuracy_is_computed_where_it_is_not_logged(tmp_path: Path) -> None:
    found = read_samples(tmp_path, rows_2025(lambda i, row: row.pop("acc")))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 1]
    assert any("acc is computed" in n for n in found.notes)
    assert "acc" in found.metadata["computed"]


def test_ties_go_to_the_lowest_index_and_are_told(tmp_path: Path) -> None:
    def tie(i: int, row: dict[str, Any]) -> None:
        row["filtered_resps"] = [["-1.5", "False"], ["-1.5", "True"]]
        row["filtered_resps"][1][0] = "-1.5" if i < 3 else "-2.5"
        del row["acc"]

    found = read_samples(tmp_path, rows_2025(tie))
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

    found = read_samples(tmp_path, rows_2025(spoil))
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
    found = read_samples(tmp_path, rows)
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

    found = read_samples(tmp_path, rows_2025(spoil))
    assert found.option_logprobs is not None
    assert found.option_logprobs.shape == (4, 2)
    assert found.choices == tuple(p[1] for p in PLANETS)


def test_items_may_have_different_numbers_of_options_and_impossible_ones(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        if i == 0:
            row["filtered_resps"].append(["-inf", "False"])
        if i == 1:
            row["filtered_resps"] = [[-1.5, False], [-0.5, True]]

    found = read_samples(tmp_path, rows_2025(spoil))
    assert found.n_options is not None
    assert found.n_options.tolist() == [3, 2, 2, 2]
    assert found.option_logprobs is not None
    assert found.option_logprobs[0, 2] == -np.inf
    assert found.scores is not None
    assert found.scores.mean() == ACCURACY


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
    assert read_samples(tmp_path, [generated(i, **metrics) for i in range(3)]).score_name == score


def test_a_metric_without_gaps_goes_before_one_with_gaps(tmp_path: Path) -> None:
    rows = [generated(i, exact_match=1.0 if i else None, f1=0.5) for i in range(3)]
    found = read_samples(tmp_path, rows)
    assert (found.score_name, len(found)) == ("f1", 3)


def test_a_metric_outside_0_to_1_is_kept_but_is_no_score(tmp_path: Path) -> None:
    rows = [generated(i, mae=103.5 + i, exact_match=0.0) for i in range(3)]
    assert read_samples(tmp_path, rows).metrics["mae"].tolist() == [103.5, 104.5, 105.5]
    with pytest.raises(InputError, match=r"it has: mae \(103.5 to 105.5\)"):
        read_samples(tmp_path, [generated(i, mae=103.5 + i) for i in range(3)])
    with pytest.raises(InputError, match="no per-item metric in it"):
        read_samples(tmp_path, [generated(i) for i in range(3)])


def test_options_without_key_and_accuracy_give_an_evaluation_without_scores(tmp_path: Path) -> None:
    def spoil(i: int, row: dict[str, Any]) -> None:
        row |= {"target": None, "doc": {"question": "?"}}
        del row["acc"]

    found = read_samples(tmp_path, rows_2025(spoil))
    assert found.scores is None
    assert found.option_logprobs is not None
    assert any("items have no score" in n for n in found.notes)
