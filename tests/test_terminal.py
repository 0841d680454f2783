"""The terminal: 80 columns, colour only where it is wanted, signs that the stream can hold."""

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import benchharmony as bh
from benchharmony import Evaluation
from benchharmony.landscape import landscape
from benchharmony.report.names import columns_of
from benchharmony.report.text import print_report
from benchharmony.terminal import bar, can_draw, page_console
from planted import planted

QUICK = {"bootstrap": 50, "permutations": 20}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LABELS = (
    "high school mathematics, calculus", "high school mathematics, algebra",
    "\u6f22\u5b57\u6f22\u5b57\u30c6\u30b9\u30c8\u5206\u91ce\u540d\u79f0",
    "\u202e\x1b[31m<b>" + "x" * 500,
)  # fmt: skip


def long_names(i=0):
    n = 40 * len(LABELS)
    return Evaluation.from_arrays(
        benchmark=f"a rather long name of a benchmark, part {i % 2}",
        model=f"organisation/a-long-name-of-a-model-of-a-family-{i}B-instruct-v{i}",
        scores=[0.0, 1.0, 1.0, 0.5] * (n // 4),
        groups={"subject": [LABELS[j % 4] for j in range(n)]},
    )


@pytest.fixture(scope="module")
def one():
    return bh.report(long_names(), partition="declared:subject", **QUICK)


@pytest.fixture(scope="module")
def many():
    return bh.report([long_names(i) for i in range(6)], partition="declared:subject", **QUICK)


@pytest.fixture(scope="module")
def plane():
    grid = [long_names(i) for i in range(4)]
    return landscape(grid, partition="declared:subject", bootstrap=60, repeats=2, keep="all")


def test_everything_fits_eighty_columns(one, many, plane):
    for made in (one, many, plane):
        assert max(map(columns_of, made.render("text").splitlines())) <= 80


def test_cut_names_are_still_told_apart(one, many):
    rows = [line for line in many.render("text").splitlines() if "uct-v" in line]
    models = [re.search(r"\S+uct-v\d", row)[0] for row in rows]
    assert len(set(models)) == 6
    text = one.render("text")
    assert "high school\u2026cs, calculus" in text
    assert "high school\u2026ics, algebra" in text


def test_the_mark_of_warnings_is_not_pushed_off_the_table():
    warned = [Evaluation.from_arrays(
        benchmark=f"a long name of a benchmark {i}", model=f"a-long-name-of-a-model-{i}",
        scores=[1.0] * 60, groups={"g": ["a", "b"] * 30},
    ) for i in range(5)]  # fmt: skip
    text = bh.report(warned, partition="declared:g", **QUICK).render("text")
    assert len([line for line in text.splitlines() if re.match(r"a lon.* !$", line)]) == 5


def test_a_subdomain_has_a_bar(one):
    entry = one.record["evaluations"][0]
    bars = re.findall("[\u2588\u00b7]{8}", one.render("text"))
    assert bars == [bar(s["score"], 8, unicode=True) for s in entry["subdomains"]]


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, "...."), (1.0, "####"), (0.5, "##.."), (1.7, "####")]
)
def test_bars(value, expected):
    assert bar(value, 4, unicode=False) == expected
    assert bar(value, 4, unicode=True) == expected.replace("#", "\u2588").replace(".", "\u00b7")


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", True), ("utf-16", True), ("gb18030", True), ("latin-1", False), ("ascii", False),
     ("cp1252", False)],
)  # fmt: skip
def test_signs_go_by_what_the_stream_can_hold(encoding, expected, one):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    console = Console(file=stream, width=80, no_color=True)
    assert can_draw(console) is expected
    print_report(one.record, console)
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert ("\u2588" in text) is expected
    assert ("#" in text) is not expected


def test_text_goes_to_its_file_even_where_a_notebook_listens(monkeypatch, one):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert "HARMONY" in one.render("text")
    out = io.StringIO()
    assert not page_console(out).is_jupyter


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "planted.parquet"
    planted()[0].save(path)
    return path


def command(source):
    return [
        sys.executable, "-m", "benchharmony", "report", str(source), "--partition",
        "declared:subject", "--bootstrap", "20", "--permutations", "0", "--quiet",
    ]  # fmt: skip


def environment():
    return {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}


def on_a_terminal(source, **extra):
    """Run the command on a pseudo-terminal and return what it wrote."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        command(source), stdout=theirs, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[1],
        env={**environment(), "TERM": "xterm-256color", "COLUMNS": "80", **extra},
    )  # fmt: skip
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed: Linux says so with an error
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert child.wait(60) == 0
    return b"".join(parts).decode()


def colours(text):
    """Return the codes that set a colour, not weight or dimness."""
    codes = [c for found in COLOUR.findall(text) for c in found[2:-1].split(";")]
    return [c for c in codes if c.isdigit() and (30 <= int(c) <= 38 or 90 <= int(c) <= 97)]


def test_colour_is_for_terminals(source):
    assert colours(on_a_terminal(source))
    piped = subprocess.run(command(source), capture_output=True, env=environment(), check=True)
    assert b"\x1b" not in piped.stdout


def test_no_colour_is_respected_on_a_terminal(source):
    text = on_a_terminal(source, NO_COLOR="1")
    assert not colours(text)
    assert "HARMONY" in text


def test_a_rebalancing_fits_and_tells_long_names_apart():
    models = [replace(planted((40, 30, 20), seed=i)[0], model=f"{'long-' * 12}{i}") for i in (1, 2)]
    split = bh.partition(models[0], "declared:subject")
    text = str(bh.rebalance(models, split, draws=20, permutations=50))
    assert max(map(columns_of, text.splitlines())) <= 80
    names = [line.split()[0] for line in text.splitlines() if line.lstrip().startswith("long-")]
    assert {name.rstrip(":")[-1] for name in names} == {"1", "2"}  # no end is cut off
