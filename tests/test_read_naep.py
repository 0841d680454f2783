"""Option logits under cyclic orders of the options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchharmony.errors import InputError
from benchharmony.readers import SourceFile, read_sources
from benchharmony.readers.naep import READERS, order_averaged_logprobs
from harness_logs import JUNK, read_with, replaced, survives, write_bytes, write_lines

NAME = "naep-rivers-responses-Owl-7B.jsonl"
LOGITS: list[list[list[float]]] = [
    [[3, 0, 0, 0], [3, 1, 0, 0], [2, 0, 0, 0], [3, 0, 0, 1]],
    [[0, 2, 0, 0], [0, 2, 0, 0]],
    [[0, 0, 0], [1, 0, 2]],
    [[1, 1, 0, 0]],
]


def responses() -> list[dict[str, Any]]:
    return [{"item_id": f"NAEP-R{i}", "logits": logits} for i, logits in enumerate(LOGITS)]


def items() -> list[dict[str, Any]]:
    return [
        {
            "stem": f"Where does river {i} end?",
            "options": [f"sea {k}" for k in range(len(LOGITS[i][0]))],
            "item_id": f"NAEP-R{i}",
            "correct_option_index": key,
        }
        for i, key in enumerate((0, 0, 2))
    ]


def metadata() -> list[dict[str, Any]]:
    return [
        {
            "naep_id": f"R{i}",
            "classification": "wide" if i < 2 else "narrow",
            "grade": 12,
            "difficulty": None if i == 1 else ["Easy", "Hard"][i // 2],
            "year": 2000 + i,
        }
        for i in range(4)
    ]


def write_all(folder: Path) -> None:
    write_lines(folder / NAME, responses())
    write_lines(folder / "naep-rivers-items.jsonl.gz", items())
    write_lines(folder / "naep-rivers-metadata.jsonl", metadata())
    shares = [{"item_id": "NAEP-R0", "response_distribution": [0.4, 0.2, 0.2, 0.2]}]
    write_lines(folder / "naep-rivers-response-distributions.jsonl", shares)


def test_orders_are_averaged_as_probabilities(tmp_path: Path) -> None:
    write_all(tmp_path)
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert (found.benchmark, found.model) == ("NAEP rivers", "Owl-7B")
    assert found.item_ids == ("NAEP-R0", "NAEP-R1", "NAEP-R2")
    assert found.score_name == "acc"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 1]
    assert found.option_logprobs is not None
    e = np.exp([[0, 0, 0], [1, 0, 2]])
    wanted = (e / e.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(np.exp(found.option_logprobs[2, :3]), wanted, rtol=1e-12)
    assert np.isnan(found.option_logprobs[2, 3])
    assert found.texts is not None
    assert found.texts[1] == "Where does river 1 end?"
    assert found.choices is not None
    assert found.choices[2] == ("sea 0", "sea 1", "sea 2")
    assert found.groups == {
        "classification": ("wide", "wide", "narrow"),
        "difficulty": ("Easy", None, "Hard"),
    }
    assert found.metadata["option_orders"] == [2, 4]


def test_items_without_a_key_are_left_out_and_named(tmp_path: Path) -> None:
    write_all(tmp_path)
    source = read_sources([tmp_path]).evaluations[0].source
    assert source.items_read == 4
    assert [(p.line, p.item) for p in source.problems] == [(4, "NAEP-R3")]
    assert "no answer key" in source.problems[0].reason


def test_files_beside_it_are_counted_as_used_or_refused_truly(tmp_path: Path) -> None:
    write_all(tmp_path)
    result = read_sources([tmp_path])
    assert len(result.evaluations[0].source.files) == 3
    assert [p.reason for p in result.unused] == ["how test takers answered, no results of a model"]
    for name, why in (
        ("items.jsonl.gz", "answer key"),
        ("metadata.jsonl", "facts about the items"),
    ):
        (problem,) = read_sources([tmp_path / f"naep-rivers-{name}"]).unused
        assert why in problem.reason


def test_without_an_answer_key_there_are_options_but_no_scores(tmp_path: Path) -> None:
    (found,) = read_with(READERS, write_lines(tmp_path / NAME, responses()))
    assert found.scores is None
    assert found.option_logprobs is not None
    assert len(found) == 4
    assert any("naep-rivers-items.jsonl" in n for n in found.notes)


def test_unusable_rows_are_named(tmp_path: Path) -> None:
    write_all(tmp_path)
    rows: list[Any] = [
        *responses(),
        {"item_id": "NAEP-R0", "logits": [[1, 2]]},
        {"item_id": "x", "logits": [[1, 2], [3]]},
        {"item_id": "y", "logits": [["one", 2]]},
        {"item_id": "z", "logits": None},
        {"logits": [[1, 2]]},
        '{"item_id": "NAEP-R2", "logits": [[1, ',
    ]
    (found,) = read_with(READERS, write_lines(tmp_path / NAME, rows))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 1]
    assert [p.line for p in found.source.problems] == [4, 5, 6, 7, 8, 9, 10]
    assert found.source.items_read == 10


def test_no_usable_row_is_an_error(tmp_path: Path) -> None:
    file = write_lines(tmp_path / NAME, [{"item_id": "a", "logits": [[None, 1]]}])
    with pytest.raises(InputError, match="no usable item in it; the first problem: line 1"):
        read_with(READERS, file)


@pytest.mark.parametrize(
    "row",
    [
        {"item_id": "a", "score": 1},
        {"item_id": "a", "logits": [1, 2, 3]},
        {"id": "a", "logits_options": [[1, 2]]},
        {"logits": [[1, 2]]},
    ],
)
def test_other_rows_are_left_to_others(tmp_path: Path, row: dict[str, Any]) -> None:
    file = write_lines(tmp_path / "rows.jsonl", [row])
    assert not any(r.sniff(file) for r in READERS)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(2, 6)),
        elements=st.floats(-800, 800),
    )
)
def test_averages_are_distributions_and_do_not_depend_on_the_order(logits: Any) -> None:
    found = order_averaged_logprobs(logits)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(order_averaged_logprobs(logits[::-1] + 5), found, atol=1e-9)


def test_files_cut_off_anywhere_give_items_or_a_worded_error(tmp_path: Path) -> None:
    write_all(tmp_path)
    data = "\n".join(map(json.dumps, responses())).encode()
    for cut in range(0, len(data), 11):
        survives(READERS, write_bytes(tmp_path / NAME, data[:cut]))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["rows", "items", "metadata"]), st.integers(0, 30), JUNK)
def test_any_value_in_any_place_gives_items_or_a_worded_error(
    tmp_path_factory: pytest.TempPathFactory, part: str, where: int, junk: Any
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    lists: dict[str, Any] = {"rows": responses(), "items": items(), "metadata": metadata()}
    changed, _ = replaced(lists[part], junk, 1 + where)
    lists[part] = changed
    for name, rows in lists.items():
        stem = NAME if name == "rows" else f"naep-rivers-{name}.jsonl"
        write_lines(folder / stem, [json.dumps(row) for row in rows])
    for path in sorted(folder.iterdir()):
        survives(READERS, SourceFile(path))
