"""Tables with one row per option become evaluations with one item per id."""

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from tables import read, read_one

HEAD = "qid,option,logprob,gold,subject,question\n"


def test_letters_in_any_order(tmp_path):
    text = HEAD + "1,B,-2,B,x,why\n1,A,-3,B,x,why\n2,A,-1,A,y,how\n2,C,-9,A,y,how\n2,B,-1,A,y,how\n"
    found = read_one(tmp_path, text)
    assert found.item_ids == ("1", "2")
    assert found.option_logprobs[0, :2].tolist() == [-3, -2]
    assert found.option_logprobs[1].tolist() == [-1, -1, -9]
    assert found.gold.tolist() == [1, 0]
    assert found.scores.tolist() == [1, 1]
    assert found.score_name == "acc"
    assert found.texts == ("why", "how")
    assert found.choices is None
    assert found.source.items_read == 2


@pytest.mark.parametrize("start", [0, 1])
def test_numbers_from_nought_or_one(tmp_path, start):
    rows = [(i, j, -abs(j - i), i) for i in range(3) for j in range(3)]
    text = "id,choice_idx,loglikelihood,label\n" + "".join(
        f"{i},{j + start},{v},{g + start}\n" for i, j, v, g in rows
    )
    found = read_one(tmp_path, text)
    assert found.gold.tolist() == [0, 1, 2]
    assert found.scores.tolist() == [1, 1, 1]


def test_texts_keep_their_order_and_become_choices(tmp_path):
    text = "id,option,logprob,answer\n1,red,-2,blue\n1,blue,-1,blue\n2,up,-1,down\n2,down,-3,down\n"
    found = read_one(tmp_path, text)
    assert found.choices == (("red", "blue"), ("up", "down"))
    assert found.gold.tolist() == [1, 1]
    assert found.scores.tolist() == [1, 0]


def test_texts_beside_an_index(tmp_path):
    rows = ['1,1,"b, c",-1,0', "1,0,a,-2,1", "2,0,d,-1,1", "2,1,e,-2,0"]
    text = "\n".join(["id,choice_idx,choice,logprob,is_gold", *rows])
    found = read_one(tmp_path, text)
    assert found.choices == (("a", "b, c"), ("d", "e"))
    assert found.gold.tolist() == [0, 0]
    assert found.scores.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["is_gold", "label", "correct", "is_correct"])
def test_a_mark_on_the_right_option(tmp_path, name):
    text = f"id,option,logprob,{name}\n1,A,-1,False\n1,B,-2,True\n2,A,-1,True\n2,B,-2,False\n"
    found = read_one(tmp_path, text)
    assert found.gold.tolist() == [1, 0]
    assert found.scores.tolist() == [0, 1]
    assert any("mark of the right option" in note for note in found.notes)


def test_a_score_that_is_the_same_for_all_options_is_the_items(tmp_path):
    text = "id,option,logprob,correct\n1,A,-1,0\n1,B,-2,0\n2,A,-1,1\n2,B,-2,1\n"
    found = read_one(tmp_path, text)
    assert found.score_name == "correct"
    assert found.scores.tolist() == [0, 1]
    assert found.gold is None


def test_a_named_score_that_differs_between_options_is_refused(tmp_path):
    text = "id,option,logprob,points\n1,A,-1,0.5\n1,B,-2,0.2\n"
    with pytest.raises(InputError, match="'points' differs between the options of an item"):
        read(tmp_path, "t.csv", text, {"score": "points"})


def test_items_with_bad_options_are_left_out_with_the_reason(tmp_path):
    rows = {
        "ok": "ok,A,-1,A\nok,B,-2,A\n",
        "gap": "gap,A,-1,A\ngap,C,-2,A\n",
        "twice": "twice,A,-1,A\ntwice,A,-2,A\n",
        "none": "none,A,,A\nnone,B,-2,A\n",
        "late": "late,B,-1,A\nlate,C,-2,A\n",
        "inf": "inf,A,Infinity,A\ninf,B,-2,A\n",
    }
    found = read_one(tmp_path, "id,option,logprob,gold\n" + "".join(rows.values()) + ",A,-1,A\n")
    assert found.item_ids == ("ok",)
    assert {(p.line, p.item): p.reason for p in found.source.problems} == {
        (4, "gap"): "an option is missing before option C",
        (6, "twice"): "option A occurs more than once",
        (8, "none"): "option A has no usable log-likelihood",
        (10, "late"): "an option is missing before option B",
        (12, "inf"): "option A has no usable log-likelihood",
        (14, None): "no item id in this row",
    }
    assert found.source.items_read == 7


def test_no_item_with_all_its_options(tmp_path):
    with pytest.raises(InputError, match="no item has all its options; the first: option A occurs"):
        read(tmp_path, "t.csv", "id,option,logprob,gold\n1,A,-1,A\n1,A,-2,A\n")


@pytest.mark.parametrize("options", ["BC", "23"])
def test_options_that_all_start_late_are_not_taken_for_whole(tmp_path, options):
    rows = "".join(f"{i},{o},-1,{options[0]}\n" for i in range(3) for o in options)
    with pytest.raises(InputError, match=f"an option is missing before option {options[0]}"):
        read(tmp_path, "t.csv", "id,option,logprob,gold\n" + rows)


def test_several_models_share_item_ids(tmp_path):
    text = "model,id,option,logprob,gold\n" + "".join(
        f"{m},{i},{o},{v},A\n"
        for m, sign in (("x", 1), ("y", -1))
        for i in range(2)
        for o, v in (("A", sign), ("B", 0))
    )
    x, y = read(tmp_path, "t.csv", text)
    assert (x.model, x.scores.tolist()) == ("x", [1, 1])
    assert (y.model, y.scores.tolist()) == ("y", [0, 0])


def test_columns_about_single_options_are_no_groups(tmp_path):
    text = "id,option,logprob,gold,tokens,topic\n" + "".join(
        f"{i},{o},{-j},A,{j + 3},{'xy'[i % 2]}\n" for i in range(8) for j, o in enumerate("AB")
    )
    found = read_one(tmp_path, text)
    assert set(found.groups) == {"topic"}
    assert set(found.metrics) == {"acc"}


def test_a_chosen_option_in_a_table_with_one_row_per_item(tmp_path):
    found = read_one(tmp_path, "id,option,logprob,correct\n1,A,-1,1\n2,A,-2,0\n")
    assert found.option_logprobs is None
    assert found.scores.tolist() == [1, 0]


cell = st.sampled_from(["A", "B", "C", "0", "1", "2", "x", "", "-1", "nan", "inf"])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.tuples(*[cell] * 5), min_size=2, max_size=8))
def test_any_option_rows_are_read_or_refused_in_words(tmp_path_factory, rows):
    text = "id,option,logprob,gold,correct\n" + "".join(",".join(row) + "\n" for row in rows)
    with contextlib.suppress(InputError):
        for found in read(tmp_path_factory.mktemp("o"), "t.csv", text):
            assert found.source.items_read == len(found) + found.source.items_left_out
    records = [dict(zip(("id", "choice", "logit", "label", "model"), r, strict=True)) for r in rows]
    with contextlib.suppress(InputError):
        read(tmp_path_factory.mktemp("o"), "t.json", json.dumps(records))
