"""LightEval details: options and generation, names from the results, damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import SourceFile, read_sources
from benchharmony.readers.lighteval import READERS
from harness_logs import PLANETS, read_with, survives, write_bytes, write_json

NAME = "details_planets|0_2026-02-03T04-05-06.789.parquet"


def rows() -> list[dict[str, Any]]:
    return [
        {
            "doc": {
                "query": f"Question: {question}\nAnswer:",
                "choices": [f" {c}" for c in choices],
                "gold_index": gold,
                "id": str(k),
                "task_name": "sky|planets|0",
                "specific": {"id": f"p{k}", "kind": ["inner", "inner", "outer", "outer"][k]},
            },
            "metric": {"acc": int(values.index(max(values)) == gold)},
            "model_response": {"logprobs": list(values), "input_tokens": [1, 2]},
        }
        for k, (question, choices, gold, values) in enumerate(PLANETS)
    ]


def write(path: Path, records: list[dict[str, Any]], around: str = "") -> SourceFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    named = [{around + k + around: v for k, v in r.items()} for r in records]
    pq.write_table(pa.Table.from_pylist(named), path)
    return SourceFile(path)


def read(file: SourceFile) -> Evaluation:
    (found,) = read_with(READERS, file)
    return found


@pytest.mark.parametrize("around", ["", "__"])
def test_options_scores_and_groups(tmp_path: Path, around: str) -> None:
    found = read(write(tmp_path / NAME, rows(), around))
    assert found.benchmark == "sky|planets"
    assert found.metadata["num_fewshot"] == 0
    assert found.item_ids == ("p0", "p1", "p2", "p3")
    assert found.score_name == "acc"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 0, 1]
    assert found.option_logprobs is not None
    assert found.option_logprobs.tolist() == [list(p[3]) for p in PLANETS]
    assert found.gold is not None
    assert found.gold.tolist() == [p[2] for p in PLANETS]
    assert found.choices == tuple(p[1] for p in PLANETS)
    assert found.texts == tuple(p[0] for p in PLANETS)
    assert found.groups == {"kind": ("inner", "inner", "outer", "outer")}


def test_a_generation_task_has_answers_and_no_options(tmp_path: Path) -> None:
    records = rows()
    for k, record in enumerate(records):
        record["doc"]["gold_index"] = [0, 1]
        record["metric"] = {"exact_match": [1.0, 0.0, 0.5, 1.0][k]}
        record["model_response"]["logprobs"] = []
    found = read(write(tmp_path / NAME, records))
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 0.5, 1]
    assert (found.choices, found.option_logprobs, found.gold) == (None, None, None)


def test_the_results_of_the_run_name_the_model(tmp_path: Path) -> None:
    time = "2026-02-03T04-05-06.789"
    folder = tmp_path / "details" / "sky" / "comet-1b" / time
    file = write(folder / f"details_planets_{time}.parquet", rows())
    assert read(file).model == "sky/comet-1b"
    results = {
        "config_general": {"model_name": "sky/comet-1b-chat"},
        "results": {"sky|planets|0": {"acc": 0.5}},
    }
    write_json(tmp_path / "results" / "sky" / "comet-1b" / f"results_{time}.json", results)
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert found.model == "sky/comet-1b-chat"
    assert any("states acc = 0.5" in n for n in found.notes)
    assert result.unused == ()


def test_results_alone_are_refused(tmp_path: Path) -> None:
    file = write_json(tmp_path / "results.json", {"config_general": {}, "results": {}})
    with pytest.raises(InputError, match=r"give the details_\*\.parquet"):
        read_with(READERS, file)


def test_items_are_numbered_where_their_ids_repeat(tmp_path: Path) -> None:
    records = rows()
    for record in records:
        record["doc"]["id"] = "0"
        record["doc"]["specific"] = {"kind": "x"}
    assert read(write(tmp_path / NAME, records)).item_ids == ("0", "1", "2", "3")


def test_items_without_an_answer_are_named(tmp_path: Path) -> None:
    records = rows()
    records[1]["model_response"] = {"logprobs": None}
    records[2]["doc"] = None
    found = read(write(tmp_path / NAME, records))
    assert found.item_ids == ("p0", "p3")
    assert [(p.line, p.item) for p in found.source.problems] == [(2, "p1"), (3, None)]


def test_other_parquet_files_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"doc": ["a"], "metric": [1], "model_response": ["b"]}), path)
    assert not any(r.sniff(SourceFile(path)) for r in READERS)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damage_is_no_traceback(tmp_path: Path, data: st.DataObject) -> None:
    whole = (write(tmp_path / NAME, rows()).path).read_bytes()
    place = data.draw(st.integers(4, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    cut = data.draw(st.booleans())
    spoilt = whole[:place] if cut else whole[:place] + bytes([byte]) + whole[place + 1 :]
    survives(READERS, write_bytes(tmp_path / "spoilt.parquet", spoilt))


#: One value of a Parquet column stands for all its rows, so that the types still agree.
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, "A", -1.5, float("nan"), True, 10**9, [], [[]], [None], {"x": None}]
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    odd=ODD, struct=st.sampled_from(["doc", "metric", "model_response"]), where=st.integers(0, 6)
)
def test_odd_values_are_no_traceback(tmp_path: Path, odd: Any, struct: str, where: int) -> None:
    records = json.loads(json.dumps(rows()))
    for record in records:
        names = list(record[struct])
        record[struct][names[where % len(names)]] = odd
    try:
        file = write(tmp_path / NAME, records)
    except pa.ArrowException:
        return  # no Parquet file holds this
    survives(READERS, file)
