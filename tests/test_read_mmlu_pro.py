"""MMLU-Pro outputs: answered items in a JSON list or a zip of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.readers import ReadOptions, SourceFile, read_sources
from benchharmony.readers.mmlu_pro import READERS
from harness_logs import JUNK, read_with, replaced, survives, write_json
from zips import write_zip

NAME = "model_outputs_Owl-7b_5shots"


def record(
    number: int, answer: str, pred: Any, category: str, n_options: int = 4
) -> dict[str, Any]:
    return {
        "question_id": 10 + number,
        "question": f"How deep is lake {number}?",
        "options": [f"{k} metres" for k in range(n_options)],
        "answer": answer,
        "answer_index": "ABCDEFGHIJ".index(answer),
        "cot_content": "",
        "category": category,
        "src": "written here",
        "pred": pred,
        "generated_text": "The answer is ...",
    }


def records() -> list[dict[str, Any]]:
    return [
        record(0, "A", "A", "lakes"),
        record(1, "J", "J", "lakes", n_options=10),
        record(2, "B", None, "seas"),
        record(3, "A", "B", "seas", n_options=1),
    ]


@pytest.mark.parametrize("zipped", [False, True])
def test_items_are_right_where_pred_is_the_answer(tmp_path: Path, zipped: bool) -> None:
    if zipped:
        members = [
            (f"{NAME}.json", json.dumps(records()).encode()),
            (f"__MACOSX/._{NAME}.json", b""),
        ]
        write_zip(tmp_path / "outputs.zip", members)
    else:
        write_json(tmp_path / f"{NAME}.json", records())
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert not result.unused
    assert (found.benchmark, found.model) == ("mmlu_pro", "Owl-7b")
    assert found.source.format == "MMLU-Pro outputs"
    assert found.item_ids == ("10", "11", "12", "13")
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 0]
    assert found.gold is not None
    assert found.gold.tolist() == [0, 9, 1, 0]
    assert found.groups == {"category": ("lakes", "lakes", "seas", "seas")}
    assert found.texts is not None
    assert found.texts[3] == "How deep is lake 3?"
    assert found.n_options is not None
    assert found.n_options.tolist() == [4, 10, 4, 1]
    assert [n for n in found.notes if "1 of 4 items have no pred" in n]


def test_every_list_of_an_archive_is_an_evaluation(tmp_path: Path) -> None:
    data = json.dumps(records()).encode()
    names = [f"runs/model_outputs_{m}_0shot.json" for m in ("owl", "elk")]
    file = write_zip(tmp_path / "a.zip", [(n, data) for n in names])
    assert [e.model for e in read_with(READERS, file)] == ["owl", "elk"]


def test_a_name_that_tells_no_model_leaves_it_to_the_caller(tmp_path: Path) -> None:
    file = write_json(tmp_path / "lakes_result.json", records())
    assert read_with(READERS, file)[0].model == "lakes_result"
    assert read_with(READERS, file, ReadOptions(model="owl"))[0].model == "owl"


def test_unusable_records_are_named(tmp_path: Path) -> None:
    odd: list[Any] = [
        7,
        record(0, "A", "A", "lakes"),
        record(4, "A", 3, "lakes"),
        record(5, "A", "A", "lakes") | {"options": None},
        record(6, "D", "D", "lakes", n_options=2),
        record(7, "A", "A", "lakes") | {"question_id": None},
    ]
    (found,) = read_with(READERS, write_json(tmp_path / f"{NAME}.json", [*records(), *odd]))
    assert len(found) == 4
    assert found.source.items_read == 10
    assert [p.line for p in found.source.problems] == [5, 6, 7, 8, 9, 10]
    assert [p.item for p in found.source.problems][1:5] == ["10", "14", "15", "16"]


def test_keys_that_contradict_are_counted_and_a_lone_index_is_enough(tmp_path: Path) -> None:
    rows = records()
    rows[0]["answer_index"] = 2
    rows[1]["answer"] = None
    (found,) = read_with(READERS, write_json(tmp_path / f"{NAME}.json", rows))
    assert found.gold is not None
    assert found.gold.tolist() == [0, 9, 1, 0]
    assert any("differ on 1 items; answer is used" in n for n in found.notes)


def test_no_usable_item_is_an_error(tmp_path: Path) -> None:
    file = write_json(tmp_path / "a.json", [records()[0] | {"options": []}])
    with pytest.raises(InputError, match=r"no usable item of 1; the first: its options are not"):
        read_with(READERS, file)


def test_other_lists_and_archives_are_left_alone(tmp_path: Path) -> None:
    plain = write_json(tmp_path / "a.json", [{"id": 1, "question": "x", "pred": "A"}])
    zipped = write_zip(tmp_path / "a.zip", [("a.json", plain.path.read_bytes()), ("b.txt", b"")])
    empty = write_zip(tmp_path / "b.zip", [])
    broken = tmp_path / "c.zip"
    broken.write_bytes(b"PK\x03\x04 and nothing more")
    for file in (plain, zipped, empty, SourceFile(broken)):
        assert not any(r.sniff(file) for r in READERS)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(junk=JUNK, where=st.integers(0, 64), end=st.integers(0, 1300))
def test_junk_and_cut_files_end_in_a_worded_error_or_a_result(
    tmp_path: Path, junk: Any, where: int, end: int
) -> None:
    document, _ = replaced(records(), junk, where)
    data = json.dumps(document).encode()
    survives(READERS, write_json(tmp_path / "a.json", document))
    survives(READERS, write_zip(tmp_path / "a.zip", [("a.json", data[:end])]))
    whole = write_zip(tmp_path / "b.zip", [("a.json", data)])
    whole.path.write_bytes(whole.path.read_bytes()[:end])
    survives(READERS, SourceFile(whole.path))
