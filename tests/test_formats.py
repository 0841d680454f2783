"""Every format by its example: recognised, in the table of the documentation, hard to break."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from benchharmony.cli import main
from benchharmony.errors import BenchharmonyError
from benchharmony.readers import ReadOptions, SourceFile, read_sources, readers
from benchharmony.readers.conformance import complaints
from benchharmony.readers.registry import read_as, read_recognised, readers_named
from format_examples import Example, write_companions, write_examples, write_more

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import formats_table

NAMES = [r.name for r in readers()]


@pytest.fixture(scope="module")
def examples(tmp_path_factory) -> dict[str, Example]:
    return write_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def companions(tmp_path_factory) -> dict[str, Path]:
    return write_companions(tmp_path_factory.mktemp("companions"))


def test_every_reader_has_an_example(examples, companions):
    assert sorted([*examples, *companions]) == sorted(NAMES)
    assert all(r.example for r in readers()), [r.name for r in readers() if not r.example]


def test_the_table_in_the_documentation_is_the_made_one():
    assert formats_table.table_in_document() == formats_table.made_table()


def test_an_example_is_read_by_its_own_reader(examples, tmp_path):
    for name, example in {**examples, **write_more(tmp_path)}.items():
        found = read_recognised(SourceFile(example.path), example.options)
        assert {e.source.format for e in found} == {name}


def test_companions_are_refused_with_advice(companions):
    for name, path in companions.items():
        assert next(r for r in readers() if r.sniff(SourceFile(path))).name == name
        (problem,) = read_sources([path]).unused
        assert problem.line is None
        assert len(problem.reason) > 20


#: Readers that take a file of the conformance test, because it is of their format.
TAKES_FOREIGN = {"CSV table": "table.csv", "JSON table": "rows.json", "JSONL table": "rows.jsonl"}


@pytest.mark.parametrize("name", [n for n in NAMES if "table" not in n or "rrow" in n])
def test_our_readers_conform(examples, name):
    if name in examples:
        (reader,) = (r for r in readers() if r.name == name)
        example = examples[name]
        assert complaints(reader, [example.path], options=example.options) == []


@pytest.mark.parametrize("name", ["Parquet table", *TAKES_FOREIGN])
def test_readers_of_tables_conform_but_for_the_tables_among_the_others(examples, name):
    (reader,) = (r for r in readers() if r.name == name)
    found = complaints(reader, [examples[name].path])
    claims = [c for c in found if c.startswith("sniff claims")]
    assert claims == found
    taken = TAKES_FOREIGN.get(name)
    assert claims == ([f"sniff claims {taken}, which is of another format"] if taken else [])


def forced(name: str, path: Path) -> str | None:
    """Return why a file cannot be read as a format; None where it can."""
    try:
        assert read_as(name, SourceFile(path), ReadOptions(allow_pickle=True))
    except BenchharmonyError as error:
        return str(error)
    return None


def test_a_forced_format_gives_its_own_reason_and_never_a_traceback(examples, companions):
    paths = [e.path for e in examples.values()] + list(companions.values())
    refused = read = 0
    for path in paths:
        for reader in readers():
            words = forced(reader.name, path)
            if words is None:
                read += 1
            else:
                refused += 1
                assert f": read as {reader.name}: " in words
                assert "\n" not in words
    assert read >= len(examples)
    assert refused > 500


def test_names_of_formats_are_told_apart(capsys, tmp_path):
    assert [r.name for r in readers_named("Inspect-AI")] == ["Inspect AI"]
    assert len(readers_named("lm-eval")) == 4
    assert [r.name for r in readers_named("npz")] == ["npz"]
    (tmp_path / "t.csv").write_text("id,correct\na,1\n")
    assert main(["check", str(tmp_path / "t.csv"), "--format-in", "owl"]) == 2
    assert "no format 'owl'; the formats are: 'benchharmony'" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "t.csv"), "--format-in", "HELM run"]) == 2
    assert "read as HELM run: " in capsys.readouterr().err


def test_formats_lists_every_format_with_an_example(capsys):
    assert main(["formats"]) == 0
    out = capsys.readouterr().out
    for reader in readers():
        assert reader.name in out
    assert out.count("e.g. ") == len(readers())


def test_columns_are_refused_or_told_where_they_mean_nothing(examples, capsys):
    path = str(examples["Inspect AI"].path)
    assert main(["check", path, "--column", "owl=x"]) == 2
    assert "no column role 'owl'; the roles are: item_id, score" in capsys.readouterr().err
    result = read_sources([path], ReadOptions({"score": "right"}))
    assert "--column has no effect: it is for tables, and these are Inspect AI" in result.notes[0]


# Compression, encodings, cut-off files


def test_examples_are_read_through_gzip_and_zstd(examples, tmp_path):
    for name, example in examples.items():
        data = example.path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            continue
        for suffix, packed in (
            (".gz", gzip.compress(data)),
            (".zst", pa.compress(data, codec="zstd", asbytes=True)),
        ):
            folder = tmp_path / f"{name}{suffix}"
            folder.mkdir()
            for beside in example.path.parent.iterdir():
                if beside.is_file() and beside != example.path:
                    (folder / beside.name).write_bytes(beside.read_bytes())
            path = folder / f"{example.path.name}{suffix}"
            path.write_bytes(packed)
            plain = read_recognised(SourceFile(example.path), example.options)
            again = read_recognised(SourceFile(path), example.options)
            assert [len(e) for e in plain] == [len(e) for e in again], name


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_texts_are_read_in_any_marked_encoding(examples, tmp_path, encoding, ends):
    read = 0
    for name, example in examples.items():
        try:
            text = example.path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        if "\0" in text or name == "pickle":
            continue
        folder = tmp_path / "".join(c for c in name if c.isalnum())
        folder.mkdir()
        for beside in example.path.parent.iterdir():
            if beside.is_file() and beside != example.path:
                (folder / beside.name).write_bytes(beside.read_bytes())
        mark = "\ufeff" if encoding == "utf-16-be" else ""
        path = folder / example.path.name
        path.write_bytes((mark + text.replace("\n", ends)).encode(encoding))
        found = read_recognised(SourceFile(path), example.options)
        assert {e.source.format for e in found} == {name}
        read += 1
    assert read > 10


def test_lines_of_a_cut_off_gzip_are_read_as_far_as_it_goes(tmp_path):
    rows = "".join(f'{{"id": {i}, "correct": {i % 2}, "x": "{i * 7919}"}}\n' for i in range(5000))
    whole = gzip.compress(rows.encode())
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    (found,) = read_sources([path]).evaluations
    assert 1000 < len(found) < 4000
    (problem,) = found.source.problems
    assert "the compressed file is damaged or cut off" in problem.reason
    assert problem.line == len(found)
    path = tmp_path / "t.csv.gz"
    lines = "".join(f"{i * 7919},{i % 2}\n" for i in range(5000))
    table = gzip.compress(f"id,correct\n{lines}".encode())
    path.write_bytes(table[: len(table) // 2])
    (problem,) = read_sources([path]).unused
    assert "cut off" in problem.reason
    assert "bytes of its content" in problem.reason
