"""Readers of other packages: the documented example, the conformance test, broken ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchharmony import Evaluation
from benchharmony.cli import main
from benchharmony.errors import InputError
from benchharmony.readers import Reader, ReadOptions, read_sources, registry
from benchharmony.readers.conformance import assert_conforms, complaints

DOCS = Path(__file__).resolve().parents[1] / "docs" / "formats.md"
LOG = "#mylog 1\na 1\nb 0\nc 1\n"
TABLE = "id,correct\na,1\nb,0\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return what installs a package of one module with entry points, as pip would leave it."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def put(source: str, points: str, name: str) -> Path:
        (site / f"{name}.py").write_text(source)
        facts = site / f"{name}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[benchharmony.readers]\n{points}\n")
        registry.loaded.cache_clear()
        return site

    yield put
    registry.loaded.cache_clear()
    for name in [n for n in sys.modules if n.startswith("plugin_")]:
        del sys.modules[name]


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def documented():
    """Return the example of the documentation: its module, and its entry point."""
    text = DOCS.read_text("utf-8")
    section = text[text.index("## A reader of your own") :]
    module = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    point = re.search(
        r'\[project\.entry-points\."benchharmony\.readers"\]\n(\w+) = "\w+:(\w+)"', section
    )
    return module, f"{point[1]} = plugin_doc:{point[2]}"


def test_the_documented_example_is_read_like_any_format(install, tmp_path, capsys):
    module, point = documented()
    install(module, point, "plugin_doc")
    path = write(tmp_path, "a.log", LOG)
    (found,) = read_sources([path]).evaluations
    assert (found.benchmark, found.source.format) == ("mine", "mylog")
    assert found.scores.tolist() == [1, 0, 1]
    assert main(["formats"]) == 0
    assert "mylog" in capsys.readouterr().out
    assert main(["check", str(path), "--format-in", "mylog", "--model-name", "owl"]) == 0
    assert "mine / owl" in capsys.readouterr().out


def test_the_documented_example_works_in_a_process_of_its_own(install, tmp_path):
    module, point = documented()
    site = install(module, point, "plugin_doc")
    path = write(tmp_path, "a.log", LOG)
    done = subprocess.run(
        [sys.executable, "-m", "benchharmony", "check", str(path)],
        env={"PYTHONPATH": str(site), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "(mylog)" in done.stdout


def test_the_documented_example_conforms(install, tmp_path):
    module, point = documented()
    install(module, point, "plugin_doc")
    import plugin_doc

    folder = tmp_path / "examples"
    folder.mkdir()
    assert_conforms(plugin_doc.READER, [write(folder, "a.log", LOG)])


BROKEN = {
    "does not import": ("import nothing_of_this_name", "x = plugin_bad:READER"),
    "exits": ("raise SystemExit(3)", "x = plugin_bad:READER"),
    "has no such name": ("", "x = plugin_bad:READER"),
    "is no reader": ("READER = 7", "x = plugin_bad:READER"),
    "is a class": ("class READER: pass", "x = plugin_bad:READER"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_plugin_that_does_not_load_is_named_and_breaks_nothing(install, tmp_path, kind, capsys):
    source, point = BROKEN[kind]
    install(source, point, "plugin_bad")
    path = write(tmp_path, "t.csv", TABLE)
    result = read_sources([path])
    assert len(result.evaluations) == 1
    assert "plug-in x of plugin_bad is not used: " in result.notes[0]
    assert main(["formats"]) == 0
    assert "plug-in x of plugin_bad is not used" in "".join(capsys.readouterr())


READER = """
from benchharmony import Evaluation
from benchharmony.readers import Reader

def sniff(file):
    {sniff}

def read(file, options):
    {read}

READER = Reader("bad", "a broken one", sniff, read)
"""


@pytest.mark.parametrize(
    ("sniff", "read"),
    [
        ("raise RuntimeError('no')", "return []"),
        ("return 1 / 0", "return []"),
        ("raise SystemExit(1)", "return []"),
        ("return True", "raise KeyError('subject')"),
        ("return True", "raise SystemExit(1)"),
        ("return True", "return None"),
        ("return True", "return [7]"),
        ("return True", "return []"),
    ],
)
def test_a_plugin_that_fails_stands_in_nobodys_way(install, tmp_path, sniff, read):
    install(READER.format(sniff=sniff, read=read), "x = plugin_bad:READER", "plugin_bad")
    path = write(tmp_path, "t.csv", TABLE)
    (found,) = read_sources([path]).evaluations
    assert found.source.format == "CSV table"
    told = [n for n in found.notes if "another reader took the file first" in n]
    assert len(told) == (sniff == "return True")
    own = write(tmp_path, "a.log", "#own\n")
    (problem,) = read_sources([own]).unused
    assert "\n" not in problem.reason
    if "raise" in read:
        assert "plug-in x of plugin_bad failed" in problem.reason


def test_a_plugin_may_read_what_a_reader_of_ours_would(install, tmp_path):
    source = READER.format(
        sniff="return file.head.startswith(b'id,correct')",
        read="return [Evaluation.from_arrays(benchmark='b', model='m', scores=[1])]",
    )
    install(source, "x = plugin_bad:READER", "plugin_bad")
    (found,) = read_sources([write(tmp_path, "t.csv", TABLE)]).evaluations
    assert found.source.format == "bad"


# The conformance test finds what is wrong


def scored(**changes):
    facts = {"benchmark": "b", "model": "m", "scores": [1, 0], "item_ids": ["a", "b"]}
    return Evaluation.from_arrays(**(facts | changes))


def _count():
    _count.calls += 1
    return _count.calls


_count.calls = 0


def _raise(error):
    raise error


MINE = b"#mine"
GOOD = {"sniff": lambda f: f.head.startswith(MINE), "read": lambda f, o: [scored()]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"name": ""}, "its name is not one line"),
        ({"description": "a\nb"}, "its description is not one line"),
        ({"sniff": lambda f: True}, "sniff claims table.csv"),
        ({"sniff": lambda f: f.head[0] == MINE[0]}, "sniff raises IndexError on empty.log"),
        ({"sniff": lambda f: False}, "sniff returns False and not True"),
        ({"read": lambda f, o: []}, "read returns no evaluation"),
        ({"read": lambda f, o: [1]}, "returns a int and not an Evaluation"),
        ({"read": lambda f, o: _raise(KeyError("x"))}, "read raises KeyError"),
        ({"read": lambda f, o: [scored(scores=[1, 1 / _count()])]}, "two readings of one file"),
        ({"read": lambda f, o: [scored(benchmark=" ")]}, "without a name"),
        ({"read": lambda f, o: [f.path.with_name(f"{_count()}").write_text("x") and scored()]},
         "changes or writes files"),
        ({"read": lambda f, o: [scored()] if f.read_bytes().endswith(b"end\n") else 1 / 0},
         "cut off at 50%: raises ZeroDivisionError"),
        ({"read": lambda f, o: [scored()] if f.read_bytes().endswith(b"end\n")
          else _raise(InputError(str(f), "two\nlines"))}, "its error has several lines"),
    ],
)  # fmt: skip
def test_the_conformance_test_finds_what_is_wrong(tmp_path, changes, words):
    parts = {"name": "mine", "description": "mine", **GOOD} | changes
    path = tmp_path / "a.log"
    path.write_bytes(MINE + b" 1\n" + b"a line of the log\n" * 20 + b"end\n")
    found = complaints(Reader(**parts), [path])
    if words is None:
        assert found == []
        assert complaints(Reader(**parts), []) == ["no example was given"]
    else:
        assert any(words in c for c in found), found
        with pytest.raises(AssertionError, match="reader "):
            assert_conforms(Reader(**parts), [path])


def test_options_reach_the_reader(tmp_path):
    path = write(tmp_path, "a.log", "#mine\n")
    reader = Reader(
        "r", "r", GOOD["sniff"], lambda f, o: [scored(model=o.model)] if o.model else []
    )
    assert complaints(reader, [path], options=ReadOptions(model="owl")) == []
    assert complaints(reader, [path]) != []
