"""Runs of one model on one benchmark: copies are reported once, others say which is which."""

import json

import numpy as np
import pytest

import benchharmony as bh
from benchharmony import Evaluation
from benchharmony.cli import main
from benchharmony.storage import save

QUICK = ["--partition", "declared:subject", "--bootstrap", "0", "--permutations", "0"]


def run(logprobs=0.0, model="m", benchmark="b", **more):
    """Return results of 40 items; ``logprobs`` moves what is recorded and not the scores."""
    return Evaluation.from_arrays(
        benchmark=benchmark, model=model, scores=np.arange(40) % 2.0, score_name="acc",
        option_logprobs=np.tile([-1.0, -2.0], (40, 1)) + logprobs,
        groups={"subject": ["art", "law"] * 20}, **more,
    )  # fmt: skip


def reported(capsys, folder, *words):
    assert main(["report", str(folder), *QUICK, "--format", "json", *words]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out)["evaluations"], printed.err


def told(entry):
    return [w for w in entry["warnings"] if "runs of this model" in w]


@pytest.fixture
def two_runs(tmp_path):
    save(run(), tmp_path / "first.parquet")
    save(run(0.25), tmp_path / "second.parquet")
    return tmp_path


def test_a_copy_is_reported_once_and_is_no_second_run(tmp_path, capsys):
    save(run(), tmp_path / "first.parquet")
    save(run(), tmp_path / "copy.parquet")
    (entry,), said = reported(capsys, tmp_path)
    assert "reported once" in said
    assert "runs of one model" not in said
    assert not told(entry)


def test_runs_with_equal_scores_and_other_probabilities_are_told_apart(two_runs, capsys):
    entries, said = reported(capsys, two_runs)
    first, second = (str(two_runs / f"{n}.parquet") for n in ("first", "second"))
    assert [e["source"]["files"] for e in entries] == [[first], [second]]
    assert f"b / m: 2 runs of one model on one benchmark by their names ({first} and" in said
    assert second in said
    assert "reported once" not in said
    assert told(entries[0])[0].endswith(f"this one is {first}, another {second}")
    assert told(entries[1])[0].endswith(f"this one is {second}, another {first}")
    assert main(["report", str(two_runs), *QUICK, "--quiet", "--format", "md"]) == 0
    assert capsys.readouterr().out.count("runs of this model") == 2


def test_runs_of_many_benchmarks_are_one_note(two_runs, capsys):
    for i in range(3):
        save(run(benchmark=f"c{i}"), two_runs / f"x{i}.parquet")
        save(run(0.5, benchmark=f"c{i}"), two_runs / f"y{i}.parquet")
    entries, said = reported(capsys, two_runs)
    assert len([line for line in said.splitlines() if "runs of one model" in line]) == 1
    assert "; and so for 3 more" in said
    assert all(len(told(e)) == 1 for e in entries)


def test_a_new_name_can_make_two_runs(tmp_path, capsys):
    save(run(benchmark="b-letters"), tmp_path / "first.parquet")
    save(run(0.5, benchmark="b-words"), tmp_path / "second.parquet")
    assert "runs of one model" not in reported(capsys, tmp_path)[1]
    entries, said = reported(capsys, tmp_path, "--rename", "b=b-*")
    assert "b / m: 2 runs of one model" in said
    assert all(map(told, entries))


def test_evaluations_without_files_are_counted_and_other_models_are_left_alone():
    made = bh.report(
        [run(), run(0.5), run(model="n")], partition="declared:subject", bootstrap=0
    ).record["evaluations"]
    words = "one of 2 runs of this model on this benchmark, by their names"
    assert [told(e) for e in made] == [[words], [words], []]


def test_a_report_from_the_cache_is_warned_once(two_runs, tmp_path_factory, capsys):
    kept = ["--cache", str(tmp_path_factory.mktemp("kept"))]
    first, _ = reported(capsys, two_runs, *kept)
    assert reported(capsys, two_runs, *kept)[0] == first
    assert reported(capsys, two_runs / "first.parquet", *kept)[0][0]["warnings"] == [
        w for w in first[0]["warnings"] if w not in told(first[0])
    ]
