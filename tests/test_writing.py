"""Files that are there whole or not at all; nothing else in their place is touched."""

import os
import stat

import pytest

from benchharmony.errors import BenchharmonyError
from benchharmony.writing import write_whole


def test_a_new_file_has_the_content_and_the_usual_rights(tmp_path):
    path = tmp_path / "made" / "report.txt"
    write_whole(path, "r\u00e9sum\u00e9 \ud800\n")
    assert path.read_bytes() == "r\u00e9sum\u00e9 ?\n".encode()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_an_interrupt_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "report.txt"
    path.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("benchharmony.writing.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["report.txt"]
    assert path.read_text() == "old"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to("real.txt")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_what_is_no_regular_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "through the pipe")
        assert os.read(reader, 100) == b"through the pipe"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_in_its_place_is_worded(tmp_path):
    with pytest.raises(BenchharmonyError, match="cannot be written"):
        write_whole(tmp_path, "text")
