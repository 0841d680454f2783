"""What a command writes: never over its input, never two in one place, whole when a pipe closes."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchharmony.cli import main
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
