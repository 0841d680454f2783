"""What a command writes: never over its input, never two in one place, whole when a pipe closes."""

import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from benchharmony.cli import main
from benchharmony.commands.outputs import Writing
from benchharmony.errors import BenchharmonyError
from benchharmony.readers import read_sources
from benchharmony.storage import save
from benchharmony.terminal import stdout_console
from planted import planted

QUICK = ["--partition", "declared:subject", "--bootstrap", "0", "--permutations", "0", "--quiet"]


@pytest.fixture
def log(tmp_path):
    made, _ = planted(sizes=(30, 20), performance=(0.9, 0.2))
    path = tmp_path / "in" / "log.parquet"
    path.parent.mkdir()
    save(made, path)
    return path


def run(capsys, *words):
    code = main([*map(str, words), *QUICK])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("flag", ["-o", "--html", "--per-item"])
def test_an_input_is_never_written_over(log, capsys, flag):
    before = log.read_bytes()
    code, said = run(capsys, "report", log.parent, flag, log)
    assert code == 2
    assert "would be written over" in said
    assert log.read_bytes() == before


def test_a_table_of_groups_is_an_input_too(log, tmp_path, capsys):
    groups = tmp_path / "g.csv"
    groups.write_text("item_id,topic\n" + "".join(f"{i},t{i % 2}\n" for i in range(50)))
    before = groups.read_bytes()
    code, said = run(
        capsys,
        "report",
        log,
        "--groups",
        groups,
        "--on",
        "item_id",
        "-o",
        groups,
        "--format",
        "csv",
    )
    assert (code, groups.read_bytes()) == (2, before)
    assert "written over" in said


def test_two_outputs_of_one_name_are_refused(log, tmp_path, capsys):
    same = tmp_path / "same.html"
    other = tmp_path / "in" / ".." / "same.html"
    code, said = run(capsys, "report", log, "-o", same, "--html", other)
    assert code == 2
    assert "--output and --html name the same file" in said
    assert not same.exists()


def test_a_directory_or_an_impossible_place_is_refused_before_reading(tmp_path, capsys):
    code, said = run(capsys, "report", tmp_path / "missing", "--html", tmp_path)
    assert code == 2
    assert "cannot be written, it is a directory" in said
    (tmp_path / "file").write_text("")
    code, said = run(capsys, "report", tmp_path / "missing", "-o", tmp_path / "file" / "x.json")
    assert code == 2
    assert "no file can be made" in said


def test_files_and_bar_count_when_the_reader_of_the_output_has_gone(log, tmp_path):
    page, tests = tmp_path / "page.html", tmp_path / "tests.xml"
    words = ["report", log, "--html", page, "--junit", tests, "--fail-under", "1", *QUICK]
    with subprocess.Popen(
        [sys.executable, "-m", "benchharmony", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 1, said
    assert page.exists()
    assert tests.exists()


def test_what_was_written_among_the_results_is_not_read_as_results(log, capsys):
    folder = log.parent
    for _ in range(2):  # what is there already is replaced
        for name in ("json", "csv", "parquet"):
            code, said = run(
                capsys, "report", folder, "--format", name, "-o", folder / f"report.{name}",
                "--per-item", folder / f"items.{'csv' if name == 'csv' else 'parquet'}",
            )  # fmt: skip
            assert (code, said) == (0, "")
    assert main(["landscape", str(folder), *QUICK[:2], "--format", "csv"]) == 0
    (folder / "landscape.csv").write_text(capsys.readouterr().out)
    found = read_sources([folder])
    assert [e.source.files for e in found.evaluations] == [(str(log),)]
    assert {Path(p.path).name: "name the file" in p.reason for p in found.unused} == {
        "items.csv": True, "items.parquet": True, "landscape.csv": False,
        "report.csv": False, "report.json": False, "report.parquet": False,
    }  # fmt: skip
    assert len(read_sources([folder / "items.csv"]).evaluations) == 1
    assert not read_sources([folder / "report.csv"]).evaluations


@pytest.mark.parametrize(("there", "used"), [("50", 80), ("120", 120)])
def test_a_narrow_terminal_costs_no_columns(monkeypatch, capsys, there, used):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", there)
    assert stdout_console().width == used


def two_models(tmp_path):
    """Write a second model beside the log; return the folder."""
    other, _ = planted(sizes=(30, 20), performance=(0.5, 0.5))
    save(replace(other, model="other"), tmp_path / "in" / "other.parquet")
    return tmp_path / "in"


def nothing_is_computed(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("computed before the refusal")

    # By name: the package has a function where it has the module.
    monkeypatch.setattr(import_module("benchharmony.report.records"), "records_of", refuse)


def test_one_card_for_two_models_is_refused_before_anything_is_computed(
    log, tmp_path, capsys, monkeypatch
):
    nothing_is_computed(monkeypatch)
    folder, out = two_models(tmp_path), tmp_path / "out"
    code, said = run(
        capsys, "report", folder, "--html", out / "p.html", "--model-card", out / "cards"
    )
    assert code == 2
    assert "a card is of one model and the report of 2" in said
    assert not out.exists()


def test_a_card_without_scores_is_refused_before_anything_is_computed(
    tmp_path, capsys, monkeypatch
):
    nothing_is_computed(monkeypatch)
    made, _ = planted(sizes=(30, 20), performance=(0.9, 0.2))
    save(replace(made, scores=None), tmp_path / "bare.parquet")
    code, said = run(
        capsys, "report", tmp_path / "bare.parquet", "--model-card", tmp_path / "c.yaml"
    )
    assert (code, "no evaluation of this report has scores" in said) == (2, True)


@pytest.mark.parametrize("command", ["report", "landscape", "rebalance", "validate"])
def test_pictures_go_to_a_directory_and_not_to_a_file(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchharmony.commands.plotting.find_spec", lambda _: True)
    file = tmp_path / "plots"
    file.write_text("mine")
    assert main([command, str(tmp_path / "missing"), "--plots", str(file), "--quiet"]) == 2
    assert f"--plots {file}: is a file" in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model-card", "{}/file/card.yaml"], "--model-card {}/file/card.yaml: cannot be"),
        (["--model-card", "{}/file/"], "--model-card {}/file: is a file"),
        (["--model-card", "{}/x", "-o", "{}/x"], "--output and --model-card name the same"),
        (["--plots", "{}/x", "-o", "{}/x"], "--output {}/x: --plots needs a directory there"),
        (["-o", "{}/x", "--html", "{}/x/y"], "--output {}/x: --html needs a directory there"),
        (["--annotate", "{}/file", "{}/file/new"], "--annotate {}/file/new: cannot be written"),
        (["--annotate", "{}/file", "{}/x", "-o", "{}/x"], "--output and --annotate name the same"),
    ],
)
def test_every_kind_of_output_is_looked_at_before_reading(
    words, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("benchharmony.commands.plotting.find_spec", lambda _: True)
    (tmp_path / "file").write_text("{}")
    code, said = run(capsys, "report", "missing", *(w.format(tmp_path) for w in words))
    assert (code, message.format(tmp_path) in said) == (2, True), said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--export", "{}/file"], "--export {}/file: is a file"),
        (["--plot", "{}/file/x.json"], "--plot {}/file/x.json: cannot be written"),
        (["--plot", "{}/x.gif"], "x.gif: plots are written as"),
        (["--plot", "{}/x.json", "--strategy", "weights"], "there is no curve"),
    ],
)
def test_outputs_of_rebalance_are_looked_at_before_reading(words, message, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    code, said = run(capsys, "rebalance", "missing", *(w.format(tmp_path) for w in words))
    assert (code, message.format(tmp_path) in said) == (2, True), said


def test_the_facts_about_models_are_an_input_of_a_landscape(log, tmp_path, capsys):
    facts = tmp_path / "facts.csv"
    facts.write_text("model,family,parameters\nmodel,m,1\n")
    before = facts.read_bytes()
    code, said = run(capsys, "landscape", log, "--models", facts, "-o", facts, "--format", "csv")
    assert (code, "would be written over" in said, facts.read_bytes()) == (2, True, before)


def test_an_output_that_fails_keeps_no_other_away(log, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchharmony.exports.tables.write_items", full)
    out = tmp_path / "out"
    code = main([
        "report", str(log), *QUICK[:-1], "--per-item", f"{out}/i.csv", "--html", f"{out}/p.html",
        "--fail-under", "1", "--junit", f"{out}/t.xml", "--format", "json", "-o", f"{out}/r.json",
    ])  # fmt: skip
    said = capsys.readouterr().err
    assert code == 2
    assert "No space left" in said.splitlines()[-1]
    assert sorted(p.name for p in out.iterdir()) == ["p.html", "r.json", "t.xml"]
    assert all(f"written: {out}/{name}" in said for name in ("p.html", "r.json", "t.xml"))
    assert "i.csv" not in said
    assert "--fail-under 1" in said


def test_the_record_of_a_validation_is_announced(tmp_path, capsys, monkeypatch):
    module = import_module("benchharmony.validation.record")
    monkeypatch.setattr(module, "validate", lambda *_: {})
    monkeypatch.setattr("benchharmony.validation.views.render", lambda *_: "{}")
    record, whole = tmp_path / "v.json", tmp_path / "v.md"
    words = ["--sections", "planted", "--record", str(record), "--format", "md", "-o", str(whole)]
    assert main(["validate", *words]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == [f"written: {record}", f"written: {whole}"]
    assert record.read_text() == "{}"


def test_a_task_for_two_benchmarks_is_refused_before_anything_is_pruned(
    log, tmp_path, capsys, monkeypatch
):
    def refuse(*_, **__):
        raise AssertionError("pruned before the refusal")

    monkeypatch.setattr("benchharmony.rebalancing.command._one", refuse)
    other, _ = planted(sizes=(30, 20), performance=(0.5, 0.5))
    save(replace(other, benchmark="other"), tmp_path / "in" / "other.parquet")
    words = ["rebalance", tmp_path / "in", "--task", "t", "--export", tmp_path / "out"]
    code, said = run(capsys, *words)
    assert (code, "--task names one task" in said) == (2, True)


def test_a_reader_who_has_gone_hides_no_failure_of_a_file(monkeypatch):
    def full():
        raise OSError("disk full")

    def gone():
        raise BrokenPipeError

    seen = []
    monkeypatch.setattr("benchharmony.commands.outputs.discard_stdout", lambda: seen.append(1))
    writing = Writing(quiet=True)
    writing(full)
    writing.show(gone)
    assert seen == [1]
    with pytest.raises(BenchharmonyError, match="disk full"):
        writing.finish()
