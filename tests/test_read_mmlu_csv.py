"""Per-subject tables of MMLU's own evaluation script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.merge import merge
from benchharmony.readers import ReadOptions, read_sources
from benchharmony.readers.mmlu_csv import READERS
from harness_logs import read_with, survives, write_bytes

HEADER = "0,1,2,3,4,5,correct"
ROWS = (
    "Which river is longest?,Nile,Thames,Rhine,Po,A,True",
    '"Which lake is deepest, by far?",Como,Garda,Baikal,Erie,C,False',
    '"Which sea\nis saltiest?",North,Dead,,Black,B,True',
)


def sheet() -> bytes:
    return "\n".join([HEADER, *ROWS, ""]).encode()


def test_scores_texts_options_and_key_are_read(tmp_path: Path) -> None:
    file = write_bytes(tmp_path / "results_owl-7b" / "rivers_test.csv.gz", sheet())
    (found,) = read_with(READERS, file)
    assert (found.benchmark, found.model) == ("mmlu_rivers", "owl-7b")
    assert found.score_name == "acc"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 1]
    assert found.gold is not None
    assert found.gold.tolist() == [0, 2, 1]
    assert found.texts == (
        "Which river is longest?",
        "Which lake is deepest, by far?",
        "Which sea\nis saltiest?",
    )
    assert found.choices is not None
    assert found.choices[2] == ("North", "Dead", "", "Black")
    assert found.option_logprobs is None
    assert any("1 items have an empty option" in n for n in found.notes)
    assert any("'results_owl-7b'" in n and "--model-name" in n for n in found.notes)


def test_a_model_that_the_caller_names_comes_before_the_folder(tmp_path: Path) -> None:
    file = write_bytes(tmp_path / "results" / "rivers.csv", sheet())
    (found,) = read_with(READERS, file, ReadOptions(model="owl"))
    assert found.model == "owl"
    assert not any("folder" in n for n in found.notes)


def test_subjects_of_a_folder_merge_into_one_benchmark(tmp_path: Path) -> None:
    for subject in ("rivers", "lakes"):
        write_bytes(tmp_path / "owl-7b" / f"{subject}.csv", sheet())
    found = read_sources([tmp_path])
    assert {e.source.format for e in found.evaluations} == {"MMLU subject CSV"}
    (whole,) = merge(found.evaluations, "mmlu", "mmlu_*")
    assert len(whole) == 6
    assert set(whole.groups["task"]) == {"mmlu_rivers", "mmlu_lakes"}
    assert whole.choices is not None


def test_columns_named_after_models_and_their_probabilities_are_read(tmp_path: Path) -> None:
    letters = ",".join(f"owl_choice{c}_probs" for c in "ABCD")
    header = f"0,1,2,3,4,5,owl_correct,{letters},elk_correct"
    rows = ("q,w,x,y,z,A,1,0.7,0.1,0.1,0.1,0", "r,w,x,y,z,D,0,0.25,0.5,0.25,0,1")
    file = write_bytes(tmp_path / "rivers.csv", "\n".join([header, *rows]).encode())
    owl, elk = read_with(READERS, file)
    assert (owl.model, elk.model) == ("owl", "elk")
    assert owl.scores is not None
    assert elk.scores is not None
    assert (owl.scores.tolist(), elk.scores.tolist()) == ([1, 0], [0, 1])
    assert owl.option_logprobs is not None
    np.testing.assert_allclose(np.exp(owl.option_logprobs[1]), [0.25, 0.5, 0.25, 0])
    assert elk.option_logprobs is None


def test_probabilities_that_are_none_are_left_out_with_a_note(tmp_path: Path) -> None:
    letters = ",".join(f"owl_choice{c}_probs" for c in "AB")
    rows = ("q,w,x,A,1,0.7,0.3", "r,w,x,B,0,0.9,0.9")
    data = "\n".join([f"0,1,2,3,owl_correct,{letters}", *rows]).encode()
    (found,) = read_with(READERS, write_bytes(tmp_path / "rivers.csv", data))
    assert found.option_logprobs is None
    assert any("1 of 2 items have none that sum to 1" in n and "line 3" in n for n in found.notes)


def test_rows_without_a_score_are_named_with_their_line(tmp_path: Path) -> None:
    rows = ("q,w,x,y,z,A,True", "r,w,x,y,z,B,", "s,w,x,y,z,B,maybe", "t,w,x,y", "u,w,x,y,z,,False")
    data = "\n".join([HEADER, *rows]).encode()
    (found,) = read_with(READERS, write_bytes(tmp_path / "rivers.csv", data))
    assert found.item_ids[0] == "0"
    assert found.source.items_read == 5
    assert sorted(p.line or 0 for p in found.source.problems) == [3, 4, 5]
    assert found.gold is not None
    assert found.gold.tolist() == [0, -1]


def test_no_usable_row_is_an_error(tmp_path: Path) -> None:
    data = f"{HEADER}\nq,w,x,y,z,A,perhaps\n".encode()
    with pytest.raises(InputError, match="no usable item"):
        read_with(READERS, write_bytes(tmp_path / "rivers.csv", data))


def test_other_tables_are_left_alone(tmp_path: Path) -> None:
    for header in ("id,correct", "0,1,correct", "0,1,2,3,4,5", "1,2,3,4,5,correct", ""):
        file = write_bytes(tmp_path / "other.csv", f"{header}\n1,2,3,4,5,6,7\n".encode())
        assert not any(r.sniff(file) for r in READERS)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(junk=st.binary(max_size=12), where=st.integers(0, 260), end=st.integers(0, 260))
def test_damaged_tables_end_in_a_worded_error_or_a_result(
    tmp_path: Path, junk: bytes, where: int, end: int
) -> None:
    data = sheet()
    survives(READERS, write_bytes(tmp_path / "x.csv", data[:where] + junk + data[where:]))
    survives(READERS, write_bytes(tmp_path / "y.csv", data[:end]))
