"""Scores of table rows: read in every spelling, or computed from options and right options."""

import json

import numpy as np
import pytest

from benchharmony.errors import InputError
from tables import read, read_one

# --- scores ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "scores"),
    [
        ("1 0 1.0 0.0", [1, 0, 1, 0]),
        ("True False true FALSE", [1, 0, 1, 0]),
        ("yes no Y n", [1, 0, 1, 0]),
        ("correct incorrect right wrong", [1, 0, 1, 0]),
        ("C I P N", [1, 0, 0.5, 0]),
        ("0.25 1e-3 .5 1", [0.25, 0.001, 0.5, 1]),
        ("1.0000000001 -1e-12 0.5 0", [1, 0, 0.5, 0]),
    ],
)
def test_scores_in_every_spelling(tmp_path, cells, scores):
    rows = "".join(f"{i},{cell}\n" for i, cell in enumerate(cells.split()))
    assert read_one(tmp_path, "id,score\n" + rows).scores.tolist() == scores


@pytest.mark.parametrize("cell", ["nan", "NaN", "", "inf", "-Infinity", "1_0", "A", "none", "1/2"])
def test_a_cell_that_is_no_score_leaves_its_row_out(tmp_path, cell):
    found = read_one(tmp_path, f"id,score\na,1\nb,{cell}\nc,0\n")
    assert found.item_ids == ("a", "c")
    (problem,) = found.source.problems
    assert (problem.line, problem.item) == (3, "b")
    assert "score column 'score'" in problem.reason
    assert found.source.items_read == 3


@pytest.mark.parametrize(
    "cells", [("85", "90"), ("1", "2"), ("-1", "1"), ("50%", "1%"), ("1%", "0%")]
)
def test_scores_outside_the_unit_interval_say_what_to_do(tmp_path, cells):
    with pytest.raises(InputError, match="divide percentages by 100, or name another column"):
        read(tmp_path, "t.csv", f"id,acc\na,{cells[0]}\nb,{cells[1]}\n")


def test_the_line_of_a_score_outside_is_named(tmp_path):
    with pytest.raises(InputError, match=r"'acc' holds 87.5 in line 4"):
        read(tmp_path, "t.csv", "id,acc\na,1\n\nb,87.5\n")


def test_the_first_column_that_can_be_the_score_is_it(tmp_path):
    text = "id,score,accuracy,correct,f1\na,7,0.5,1,0.2\nb,9,0.25,0,0.3\n"
    found = read_one(tmp_path, text)
    assert found.score_name == "correct"
    assert found.scores.tolist() == [1, 0]
    assert any("'score' holds 7 in line 2" in note for note in found.notes)
    # The others stay within reach of --score.
    assert found.with_score("accuracy").scores.tolist() == [0.5, 0.25]
    assert found.metrics["score"].tolist() == [7, 9]


def test_a_column_of_right_letters_is_not_the_score(tmp_path):
    text = "id,correct,is_correct,A,B\n1,B,1,x,y\n2,A,0,u,v\n"
    found = read_one(tmp_path, text)
    assert found.score_name == "is_correct"
    assert found.gold.tolist() == [1, 0]
    assert found.choices == (("x", "y"), ("u", "v"))


def test_no_score_names_the_columns_and_the_flag(tmp_path):
    with pytest.raises(InputError) as refused:
        read(tmp_path, "t.csv", "id,question,hit\n1,a,1\n")
    message = str(refused.value)
    assert "its columns are: id, question, hit" in message
    assert "--column score=NAME" in message
    assert message.startswith(str(tmp_path / "t.csv"))


def test_a_message_lists_a_few_columns_only(tmp_path):
    names = [f"c{i}" for i in range(100)] + ["x" * 500]
    with pytest.raises(InputError, match="and 71 more") as refused:
        read(tmp_path, "t.csv", ",".join(names) + "\n" + ",".join("a" for _ in names) + "\n")
    assert len(str(refused.value)) < 600


# --- options and right options -----------------------------------------------------------------


@pytest.mark.parametrize(
    "names", ["logprob_A,logprob_B,logprob_C", "logit_0,logit_1,logit_2", "LL1,LL2,LL3"]
)
def test_one_column_per_option(tmp_path, names):
    found = read_one(tmp_path, f"id,gold,{names}\na,1,-2,-1,-3\nb,0,-1,-1,\nc,1,-1,-1,-1\n")
    assert found.score_name == "acc"
    assert found.scores.tolist() == [1, 1, 0]  # ties go to the lowest index
    assert found.gold.tolist() == [1, 0, 1]
    assert found.n_options.tolist() == [3, 2, 3]


def test_a_named_score_is_not_replaced_by_the_options(tmp_path):
    text = "id,gold,points,logit_0,logit_1\na,0,7,2,1\n"
    assert read_one(tmp_path, text).score_name == "acc"
    with pytest.raises(InputError, match="'points' holds 7"):
        read(tmp_path, "t.csv", text, {"score": "points"})


def test_columns_with_a_gap_are_not_taken_for_all_options(tmp_path):
    with pytest.raises(InputError, match="no column is named like a score"):
        read(tmp_path, "t.csv", "id,gold,logprob_A,logprob_C\na,0,-1,-2\n")


def test_a_list_of_log_likelihoods(tmp_path):
    text = 'id,answer,option_logprobs\na,B,"[-2, -1.5]"\nb,A,"[-1, -Infinity, -3]"\n'
    found = read_one(tmp_path, text)
    assert found.scores.tolist() == [1, 1]
    assert found.option_logprobs.tolist()[1] == [-1, -np.inf, -3]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (("0", "2", "1"), [0, 2, 1]),
        (("A", "(C)", "b."), [0, 2, 1]),
        (("red", "7", "blue"), [0, 2, 1]),
        (("1", "3", "2"), [0, 2, 1]),  # counts from 1: 3 is no index of three options
        (("0", "", "9"), [0, -1, -1]),
    ],
)
def test_the_right_option_as_index_letter_or_text(tmp_path, gold, expected):
    choices = [["red", "5", "6"], ["x", "5", "7"], ["y", "blue", "z"]]
    rows = [
        {"id": str(i), "choices": c, "target": g, "score": 1}
        for i, (c, g) in enumerate(zip(choices, gold, strict=True))
    ]
    found = read_one(tmp_path, json.dumps(rows), name="t.json")
    assert found.gold.tolist() == expected
    assert found.choices[2] == ("y", "blue", "z")


def test_counting_from_one_is_told(tmp_path):
    found = read_one(tmp_path, "id,gold,logit_0,logit_1\na,1,0.5,0.1\nb,2,0.5,0.1\n")
    assert found.scores.tolist() == [1, 0]
    assert "column 'gold' counts the options from 1" in found.notes


def test_true_is_no_index(tmp_path):
    rows = [{"id": i, "choices": ["no", "yes"], "answer": i == 0, "score": 1} for i in (0, 1)]
    assert read_one(tmp_path, json.dumps(rows), name="t.json").gold is None


def test_a_score_that_the_options_contradict_is_told(tmp_path):
    text = "id,correct,gold,logit_0,logit_1\na,1,0,2,1\nb,1,0,1,2\n"
    found = read_one(tmp_path, text)
    assert found.scores.tolist() == [1, 1]
    assert any("differs from the accuracy" in note and "1 of 2" in note for note in found.notes)


def test_options_without_a_key_have_no_score(tmp_path):
    found = read_one(tmp_path, "id,logit_0,logit_1\na,1,2\nb,,\nc,2,1\n")
    assert found.scores is None
    assert found.item_ids == ("a", "c")
    assert "no usable option log-likelihoods" in found.source.problems[0].reason
    assert any("usable for partitions only" in note for note in found.notes)


def test_computed_scores_leave_out_items_without_a_key_or_options(tmp_path):
    text = "id,gold,logit_0,logit_1\na,0,1,2\nb,,1,2\nc,1,1,2\nd,0,,2\n"
    found = read_one(tmp_path, text)
    assert found.item_ids == ("a", "c")
    assert {p.item: p.reason for p in found.source.problems} == {
        "b": "no right option in this row",
        "d": "no usable option log-likelihoods in this row",
    }


def test_a_scored_item_stays_when_its_options_are_unusable(tmp_path):
    found = read_one(tmp_path, "id,score,logit_0,logit_1\na,1,1,2\nb,0,,2\n")
    assert found.scores.tolist() == [1, 0]
    assert found.option_logprobs is None
    assert any(
        "1 of 2 items have none that are usable, the first in line 3" in n for n in found.notes
    )


def test_token_log_probabilities_are_not_options(tmp_path):
    rows = [{"id": i, "score": 1, "logits": [0.0] * 1000} for i in range(2)]
    assert read_one(tmp_path, json.dumps(rows), name="t.json").option_logprobs is None
