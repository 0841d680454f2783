"""Zip and tar archives of a folder of results, and files compressed in other ways."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import tarfile
import tempfile
from pathlib import Path

import pytest

from benchharmony.readers import read_sources, unpacked
from harness_logs import RESULTS, SAMPLES, rows_2025, write_bytes, write_json, write_lines
from inspect_logs import four, members_of, run
from zips import write_zip, write_zstandard_zip

TABLE = b"id,correct,subject\na,1,sea\nb,0,sea\nc,1,sky\nd,1,sky\n"


@pytest.fixture
def folder(tmp_path):
    """Return a folder of a log with its results, a table, and files that are no logs."""
    runs = tmp_path / "runs"
    write_lines(runs / "owl" / SAMPLES, rows_2025())
    results = {"results": {"planets": {}}, "versions": {}, "model_name": "owl-7b"}
    write_json(runs / "owl" / RESULTS, results)
    write_bytes(runs / "table.csv.gz", TABLE)
    write_bytes(runs / "README.md", b"nothing")
    write_bytes(runs / ".hidden" / "x.csv", TABLE)
    return runs


def members(folder):
    paths = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return [(str(p.relative_to(folder.parent)), p.read_bytes()) for p in paths]


def pack(path: Path, files, method="w") -> Path:
    with tarfile.open(path, method) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("kind", ["zip", "zstd.zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"])
def test_an_archive_is_read_like_the_folder(folder, tmp_path, kind):
    path = tmp_path / f"all.{kind}"
    if kind == "zip":
        write_zip(path, members(folder))
    elif kind == "zstd.zip":
        write_zstandard_zip(path, members(folder))
    else:
        pack(path, members(folder), {"tar": "w"}.get(kind, f"w:{kind[-3:].lstrip('.t')}"))
    left = set(os.listdir(tempfile.gettempdir()))
    result = read_sources([path])
    assert result.unused == ()
    table, log = sorted(result.evaluations, key=lambda e: e.benchmark, reverse=True)
    assert (log.benchmark, log.model) == ("planets", "owl-7b")
    assert set(log.source.files) == {
        f"{path}/runs/owl/{SAMPLES}",
        f"{path}/runs/owl/{RESULTS}",
    }
    assert table.benchmark == "table"
    assert table.source.files == (f"{path}/runs/table.csv.gz",)
    new = set(os.listdir(tempfile.gettempdir())) - left
    assert not [n for n in new if n.startswith("benchharmony-")]


def test_archives_that_a_reader_takes_are_not_unpacked(tmp_path):
    write_zip(tmp_path / "river.eval", members_of(run(four(), accuracy=0.75)))
    (found,) = read_sources([tmp_path]).evaluations
    assert found.source.format == "Inspect AI"
    assert found.source.files == (str(tmp_path / "river.eval"),)


def test_archives_in_a_searched_folder_are_read_too(folder, tmp_path):
    write_zip(tmp_path / "in" / "one.zip", members(folder))
    write_bytes(tmp_path / "in" / "more.csv", TABLE.replace(b"b,0", b"b,1"))
    result = read_sources([tmp_path / "in"])
    assert len(result.evaluations) == 3
    assert result.unused == ()


def test_problems_name_the_archive(tmp_path):
    path = write_zip(tmp_path / "a.zip", [("x/t.csv", b"id,correct\na,1\nb,?\n"), ("y", b"?")]).path
    result = read_sources([path])
    (found,) = result.evaluations
    assert found.source.problems[0].path == f"{path}/x/t.csv"
    assert [p.path for p in result.unused] == [f"{path}/y"]


def test_a_model_named_after_its_folder_is_never_named_after_ours(tmp_path):
    sheet = b"0,1,2,3,4,5,correct\nq,w,x,y,z,A,True\nr,w,x,y,z,B,False\n"
    path = write_zip(tmp_path / "owl-7b.zip", [("rivers.csv", sheet)]).path
    assert read_sources([path]).evaluations[0].model == "owl-7b"
    path = pack(tmp_path / "elk-7b.tar.gz", [("rivers.csv", sheet)], "w:gz")
    assert read_sources([path]).evaluations[0].model == "elk-7b"


@pytest.mark.parametrize("name", ["../up.csv", "/abs.csv", "a/../../up.csv", "a/./../b.csv"])
def test_no_member_is_put_outside(tmp_path, name):
    files = [(name, TABLE), ("in.csv", TABLE.replace(b"b,0", b"b,1"))]
    for path in (write_zip(tmp_path / "a.zip", files).path, pack(tmp_path / "a.tar", files)):
        result = read_sources([path])
        assert [e.source.files for e in result.evaluations] == [(f"{path}/in.csv",)]
    assert not list(tmp_path.rglob("up.csv"))
    assert not Path("/abs.csv").exists()


def test_links_and_devices_are_passed_over(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"link{kind.decode()}.csv")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    (problem,) = read_sources([path]).unused
    assert "without a file that may be a log" in problem.reason


def test_large_and_damaged_archives_are_refused(folder, tmp_path, monkeypatch):
    tar = pack(tmp_path / "a.tar.gz", members(folder), "w:gz")
    data = tar.read_bytes()
    tar.write_bytes(data[: len(data) // 2])
    assert "damaged or cut off" in read_sources([tar]).unused[0].reason
    zipped = write_zip(tmp_path / "a.zip", members(folder)).path
    data = zipped.read_bytes()
    zipped.write_bytes(data[:-30])
    assert "damaged or cut off" in read_sources([zipped]).unused[0].reason
    monkeypatch.setattr(unpacked, "MAX_UNPACKED_BYTES", 100)
    whole = write_zip(tmp_path / "b.zip", members(folder)).path
    assert "unpack it and give the folder" in read_sources([whole]).unused[0].reason


@pytest.mark.parametrize(("suffix", "codec"), [("bz2", bz2), ("xz", lzma)])
def test_bzip2_and_xz_are_read_through(tmp_path, suffix, codec):
    path = tmp_path / f"planets.csv.{suffix}"
    path.write_bytes(codec.compress(TABLE))
    (found,) = read_sources([path]).evaluations
    assert (found.benchmark, len(found)) == ("planets", 4)
    path.write_bytes(codec.compress(TABLE * 400)[:-60])
    (problem,) = read_sources([path]).unused
    assert "\n" not in problem.reason
