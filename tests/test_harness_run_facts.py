"""Names and facts of a harness run: its results file, its folder, its file name."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchharmony.readers import ReadOptions, read_sources
from benchharmony.readers.lm_eval import READERS
from harness_logs import (
    ACCURACY,
    RESULTS,
    SAMPLES,
    read_samples,
    read_with,
    rows_2025,
    write_bytes,
    write_json,
    write_lines,
)


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
    found = read_samples(tmp_path, rows_2025())
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
    notes = read_samples(tmp_path, rows_2025()).notes
    assert any("states acc = 0.5" in n and "0.75" in n for n in notes)


@pytest.mark.parametrize(
    "document", ['{"results": {"planets": ', "[]", '{"results": null}', '{"results": {"x": {}}}']
)
def test_a_useless_results_file_beside_it_is_no_obstacle(tmp_path: Path, document: str) -> None:
    write_bytes(tmp_path / RESULTS, document.encode())
    found = read_samples(tmp_path / "", rows_2025())
    assert found.model == "unknown"
    assert found.source.files == (str(tmp_path / SAMPLES),)


def test_a_log_without_a_time_in_its_name_belongs_to_the_results_file(tmp_path: Path) -> None:
    for name, model in (("results.json", "owl"), ("results_2020-01-01.json", "another")):
        document = {"results": {"planets": {}}, "versions": {}, "model_name": model}
        write_json(tmp_path / name, document)
    assert read_samples(tmp_path, rows_2025(), "planets.jsonl").model == "owl"
    (tmp_path / "results.json").unlink()
    assert read_samples(tmp_path, rows_2025(), "planets.jsonl").model == "unknown"


def test_used_results_files_are_not_reported_as_unusable(tmp_path: Path) -> None:
    write_lines(tmp_path / SAMPLES, rows_2025())
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
    file = write_lines(tmp_path / folder / SAMPLES, rows_2025())
    found = read_with(READERS, file, ReadOptions(model="given"))[0]
    assert found.model == model


def test_a_log_without_a_model_says_so(tmp_path: Path) -> None:
    found = read_samples(tmp_path / "logs", rows_2025())
    assert found.model == "unknown"
    assert any("does not say which model" in n for n in found.notes)
