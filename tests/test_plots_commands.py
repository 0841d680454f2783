"""--plots of every command: files for papers, and an error before the work where they cannot be."""

import importlib.util

import pytest

from benchharmony.cli import main
from planted import planted

FAST = ["--partition", "declared:subject", "--bootstrap", "60", "--permutations", "0"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "planted.parquet"
    planted((40, 30, 20))[0].save(path)
    return path


@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        ("report", FAST, "subdomains-1col.svg"),
        ("landscape", FAST, "plane-2col.pdf"),
        ("rebalance", ["--partition", "declared:subject", "--bootstrap", "60"],
         "curve-planted--model-1col.png"),
    ],
)  # fmt: skip
def test_pictures_are_written_and_counted(command, options, expected, source, tmp_path, capsys):
    pytest.importorskip("vl_convert")
    folder = tmp_path / "plots"
    assert main([command, str(source), *options, "--plots", str(folder)]) == 0
    files = list(folder.rglob("*.*"))
    assert expected in {p.name for p in files}
    assert f"written: {len(files)} files in {folder}" in capsys.readouterr().err.splitlines()
    assert len(files) % 6 == 0  # two sizes, three formats


@pytest.mark.parametrize("command", ["report", "landscape", "rebalance", "validate"])
def test_without_the_extra_nothing_is_read(command, tmp_path, monkeypatch, capsys):
    whole = importlib.util.find_spec
    monkeypatch.setattr(
        "benchharmony.commands.plotting.find_spec",
        lambda name: None if name == "vl_convert" else whole(name),
    )
    assert main([command, str(tmp_path / "missing.parquet"), "--plots", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "benchharmony[plots]" in line
