"""A study from one YAML file: read strictly, planned with sizes, run where it was left."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchharmony import BenchharmonyError
from benchharmony.cli import main
from benchharmony.grid import cells, describe_study, read_study, run_study
from benchharmony.grid.plan import collect_arguments, disk_bytes, seconds
from benchharmony.grid.run import collect_cell
from planted_grid import planted_grid

pytest.importorskip("yaml")

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "paper-grid.yaml"
STUDY = """
name: trial
models:
  - org/Tiny-1B
  - {model: org/Tiny-3B, family: Tiny, dtype: float32}
  - {model: ./local, name: other, parameters: 7B}
benchmarks:
  - {task: first, size: 1000, tokens_per_item: 100}
  - {items: own.jsonl}
collect: {dtype: bfloat16, positions: [item, answer], chat_template: true}
report: {partition: "declared:subject", bootstrap: 100}
landscape: {repeats: 3}
estimate: {flops: 1e12}
"""


@pytest.fixture
def study_file(tmp_path):
    (tmp_path / "own.jsonl").write_text('{"id": 1}\n{"id": 2}\n\n')
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def test_a_study_is_read_with_names_families_and_sizes(study_file):
    study = read_study(study_file)
    assert [m.name for m in study.models] == ["Tiny-1B", "Tiny-3B", "other"]
    assert [m.info.family for m in study.models] == ["Tiny", "Tiny", None]
    assert [m.info.parameters for m in study.models] == [1e9, 3e9, 7e9]
    assert [(b.name, b.size) for b in study.benchmarks] == [("first", 1000), ("own", 2)]
    assert study.settings.partition == "declared:subject"


def test_a_cells_arguments_are_those_of_collect(study_file, tmp_path):
    study = read_study(study_file)
    first, _, second, *_ = cells(study, tmp_path / "out")
    given = collect_arguments(study, first)
    assert given[:2] == ["--model", "org/Tiny-1B"]
    assert given[given.index("--task") + 1] == "first"
    assert given[given.index("--positions") + 1] == "item,answer"
    assert given[given.index("--dtype") + 1] == "bfloat16"
    assert "--chat-template" in given
    assert "--resume" in given
    own = collect_arguments(study, second)
    assert own[own.index("--dtype") + 1] == "float32"  # the model's own


def test_collect_understands_the_arguments(study_file, tmp_path):
    import argparse

    from benchharmony.collect.command import add_arguments

    study = read_study(study_file)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    for cell in cells(study, tmp_path / "out"):
        args = parser.parse_args(collect_arguments(study, cell))
        assert args.output == str(cell.folder)
        assert bool(args.task) != bool(args.items)


def test_the_estimate_is_two_operations_per_parameter_and_token(study_file, tmp_path):
    study = read_study(study_file)
    cell = cells(study, tmp_path)[0]
    assert seconds(study, cell) == pytest.approx(2 * 1e9 * 1000 * 100 / 1e12 + 2.0)
    assert disk_bytes(study, cell) == 1000 * 2 * 1024 * 8


def test_a_dry_run_says_sizes_and_times_and_writes_nothing(study_file, tmp_path, capsys):
    assert main(["grid", str(study_file), "--dry-run", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "3 models x 2 benchmarks = 6 cells, 0 done, 6 to collect" in said
    assert "1000" in said
    assert "Tiny" in said
    assert not (tmp_path / "out").exists()


def fake_cell(study, cell):
    """Leave what a collected cell would leave."""
    i = [m.name for m in study.models].index(cell.model.name)
    made = planted_grid(
        [0.95 - 0.05 * i], items=300, seed=len(cell.benchmark.name), names=["whatever"]
    )[0]
    made.save(cell.folder / "found.parquet")


def test_a_study_runs_to_report_landscape_and_state(study_file, tmp_path):
    study, out = read_study(study_file), tmp_path / "out"
    made = run_study(study, out, run_cell=fake_cell)
    assert (made.collected, made.done_before, made.failed) == (6, 0, {})
    report = json.loads((out / "report.json").read_text())
    assert {e["model"] for e in report["evaluations"]} == {"Tiny-1B", "Tiny-3B", "other"}
    found = json.loads((out / "landscape.json").read_text())
    assert [b["benchmark"] for b in found["benchmarks"]] == ["first", "own"]
    assert {m["model"]: m["family"] for m in found["models"]}["Tiny-3B"] == "Tiny"
    state = json.loads((out / "study.json").read_text())
    assert len(state["evaluations"]) == 6
    assert all(name.startswith("evaluations") for name in state["evaluations"])


def test_a_second_run_does_nothing_again(study_file, tmp_path):
    study, out = read_study(study_file), tmp_path / "out"
    run_study(study, out, run_cell=fake_cell)
    before = (out / "landscape.json").read_bytes()
    stamp = (out / "landscape.json").stat().st_mtime_ns

    def never(study, cell):
        raise AssertionError(cell.name)

    made = run_study(study, out, run_cell=never)
    assert (made.collected, made.done_before, made.unchanged) == (0, 6, True)
    assert (out / "landscape.json").stat().st_mtime_ns == stamp
    (out / "landscape.json").unlink()
    run_study(study, out, run_cell=never)
    assert (out / "landscape.json").read_bytes() == before


def test_the_maths_are_kept_in_the_results_and_not_done_twice(tmp_path, monkeypatch):
    import benchharmony.cache as caching
    from benchharmony.cache import Cache
    from planted import planted

    monkeypatch.setattr(caching, "made_by", lambda: ("held",))
    path = tmp_path / "study.yaml"
    path.write_text("models: [a-1B, a-2B]\nbenchmarks: [b]\nreport: {bootstrap: 60, k_max: 4}\n")
    study, out = read_study(path), tmp_path / "out"

    def cell(study, cell):
        planted((40, 30), (0.9, 0.5), seed=len(cell.model.name))[0].save(cell.folder / "e.parquet")

    stages = []
    run_study(study, out, run_cell=cell, stage=lambda steps, what: stages.append((steps, what)))
    assert stages == [(2, "collecting"), (4, "report"), (2, "landscape")]
    results = ("report.json", "landscape.json")
    before = [(out / name).read_bytes() for name in results]
    for name in results:
        (out / name).unlink()
    cache = Cache(out / "cache")
    run_study(study, out, run_cell=cell, cache=cache)
    assert (cache.found, cache.made) == (
        6,
        0,
    )  # partitions of the report and the landscape, records
    assert [(out / name).read_bytes() for name in results] == before
    run_study(study, tmp_path / "other", run_cell=cell, cache=False)
    assert not (tmp_path / "other" / "cache").exists()
    assert [(tmp_path / "other" / name).read_bytes() for name in results] == before


def test_a_killed_run_goes_on_and_a_failed_cell_is_named(study_file, tmp_path):
    study, out = read_study(study_file), tmp_path / "out"
    calls = []

    def fails_once(study, cell):
        calls.append(cell.name)
        if cell.name == "other on own" and calls.count(cell.name) == 1:
            return "out of memory"
        return fake_cell(study, cell)

    first = run_study(study, out, run_cell=fails_once)
    assert first.failed == {"other on own": "out of memory"}
    assert {m["model"] for m in json.loads((out / "landscape.json").read_text())["models"]} == {
        "Tiny-1B", "Tiny-3B",
    }  # fmt: skip
    second = run_study(study, out, run_cell=fails_once)
    assert (second.collected, second.done_before, second.failed) == (1, 5, {})
    assert len(calls) == 7
    assert len(json.loads((out / "landscape.json").read_text())["models"]) == 3


def test_a_study_of_failures_is_an_error(study_file, tmp_path):
    study = read_study(study_file)
    with pytest.raises(BenchharmonyError, match="Tiny-1B on first: no"):
        run_study(study, tmp_path / "out", run_cell=lambda study, cell: "no")


def test_the_reason_of_a_failed_collect_is_its_last_line(study_file, tmp_path, monkeypatch):
    study = read_study(study_file)
    cell = cells(study, tmp_path / "out")[4]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    cell.folder.mkdir(parents=True)
    assert "benchharmony:" in collect_cell(study, cell)


def test_an_interrupted_run_leaves_no_cell_running(study_file, tmp_path, monkeypatch):
    import subprocess
    import sys
    import time

    from benchharmony.grid import run

    started = []
    real = subprocess.Popen

    def sleeper(command, **options):
        started.append(real([sys.executable, "-c", "import time; time.sleep(60)"], **options))
        return started[-1]

    monkeypatch.setattr(run.subprocess, "Popen", sleeper)
    study = read_study(study_file)

    def interrupted(study, cell):
        if cell.name == "Tiny-1B on first":
            while not started:
                time.sleep(0.01)
            raise KeyboardInterrupt
        return run.collect_cell(study, cell)

    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "out", run_cell=interrupted, collect_jobs=2)
    assert all(process.wait(10) != 0 for process in started)  # ended, not slept through


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models: [a\n", r"study.yaml:\d: no YAML"),
        ("models: [a]\n", "benchmarks: a list"),
        ("models: []\nbenchmarks: [b]\n", "models: a list"),
        ("models: [a]\nbenchmarks: [b]\nspeed: 3\n", "'speed' is not known"),
        ("models: [{model: a, size: 3}]\nbenchmarks: [b]\n", r"models\[0\]: 'size' is not known"),
        ("models: [{model: a, parameters: many}]\nbenchmarks: [b]\n", "'many' is not a positive"),
        ("models: [x/a, y/a]\nbenchmarks: [b]\n", "two models are called 'a'"),
        ("models: [a]\nbenchmarks: [{size: 3}]\n", "one of task and items"),
        ("models: [a]\nbenchmarks: [{items: none.jsonl}]\n", "none.jsonl cannot be read"),
        ("models: [a]\nbenchmarks: [b]\nreport: {partitions: text}\n", "'partitions' is not known"),
        ("- a\n- b\n", "a mapping is expected"),
        ("models: !!python/object:os.system [a]\nbenchmarks: [b]\n", "no YAML"),
    ],
)
def test_a_wrong_study_is_refused_in_words(tmp_path, text, says):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(BenchharmonyError, match=says):
        read_study(path)


def test_the_papers_grid_is_readable_and_complete(tmp_path):
    study = read_study(EXAMPLE)
    families = {m.info.family for m in study.models}
    assert families == {"Llama-3", "Qwen3", "gemma-3", "Phi-3", "OLMo-2"}
    assert len(study.benchmarks) == 19
    assert all(seconds(study, c) for c in cells(study, tmp_path))
    sizes = [m.info.parameters for m in study.models]
    assert all(np.isfinite(sizes))
    assert "21 models x 19 benchmarks = 399 cells" in describe_study(study, tmp_path)
