"""LightEval details before 0.10: options as numbers, pairs or text; generation; names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import SourceFile, read_sources
from benchharmony.readers.lighteval_old import READERS
from harness_logs import PLANETS, read_with, write_json

TIME = "2024-01-02T03-04-05.678901"
NAME = f"details_sky|planets|5_{TIME}.parquet"


def rows(shape: Any = float, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "example": f"Question: {question}\nAnswer:",
            "instruction": "",
            "full_prompt": f"... Question: {question}\nAnswer:",
            "predictions": [shape(v) for v in values],
            "gold": [],
            "choices": [f" {c}" for c in choices],
            "gold_index": [gold],
            "metrics": {"acc": int(values.index(max(values)) == gold), "acc_norm": 0.5},
            "specifics": {"kind": ["inner", "inner", "outer", "outer"][k], "note": "x" * 300},
        }
        | more
        for k, (question, choices, gold, values) in enumerate(PLANETS)
    ]


def write(path: Path, records: list[dict[str, Any]]) -> SourceFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path)
    return SourceFile(path)


def read(folder: Path, records: list[dict[str, Any]]) -> Evaluation:
    (found,) = read_with(READERS, write(folder / NAME, records))
    return found


@pytest.mark.parametrize(
    "shape", [float, lambda v: str((v, False)), lambda v: f"[{v}, 0]", str], ids=range(4)
)
def test_options_scores_and_groups(tmp_path: Path, shape: Any) -> None:
    found = read(tmp_path, rows(shape))
    assert found.benchmark == "sky|planets"
    assert found.metadata["num_fewshot"] == 5
    assert found.item_ids == ("0", "1", "2", "3")
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
    assert found.notes == ()


def test_model_and_results_are_found_in_the_folders_of_lighteval(tmp_path: Path) -> None:
    path = tmp_path / "details" / "pond" / "owl-7b" / TIME / NAME
    write(path, rows())
    (found,) = read_sources([path]).evaluations
    assert found.model == "pond/owl-7b"
    results = {"config_general": {"model_name": "pond/owl-8b"}, "results": {}}
    write_json(tmp_path / "results" / "pond" / "owl-7b" / f"results_{TIME}.json", results)
    (found,) = read_sources([path]).evaluations
    assert found.model == "pond/owl-8b"


def test_a_generation_task_has_scores_and_no_options(tmp_path: Path) -> None:
    plain = {"predictions": ["a text", "another"], "choices": [], "gold_index": [], "gold": ["a"]}
    found = read(tmp_path, rows(metrics={"em": 1.0, "perplexity": 7.5}, **plain))
    assert found.score_name == "em"
    assert found.option_logprobs is None
    assert found.choices is None
    assert set(found.metrics) == {"em", "perplexity"}


def test_damaged_and_empty_details_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / NAME, rows())
    data = file.path.read_bytes()
    file.path.write_bytes(data[: len(data) - 40])
    assert read_sources([file.path]).evaluations == ()
    empty = pa.Table.from_pylist(rows()).slice(0, 0)
    pq.write_table(empty, tmp_path / NAME)
    with pytest.raises(InputError, match="no rows"):
        read_with(READERS, SourceFile(tmp_path / NAME))
