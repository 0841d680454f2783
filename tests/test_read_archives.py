"""Members of zip archives, within limits."""

from __future__ import annotations

import contextlib
import gzip
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.readers import SourceFile, archive
from benchharmony.readers.archive import Archive
from zips import write_zip, write_zstandard_zip

MEMBERS = [("a.json", b"[1, 2]"), ("deep/b.json", b"x" * 5000), ("empty", b"")]


def members_of(file: SourceFile) -> list[tuple[str, bytes]]:
    with Archive(file) as opened:
        return [(name, opened.read(name)) for name in opened.names]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_stored_and_deflated_members_are_read(tmp_path: Path, method: int) -> None:
    assert members_of(write_zip(tmp_path / "a.zip", MEMBERS, method=method)) == MEMBERS


def test_zstandard_members_are_read(tmp_path: Path) -> None:
    file = write_zstandard_zip(tmp_path / "a.zip", MEMBERS)
    assert members_of(file) == MEMBERS
    with Archive(file) as opened:
        assert opened.head("deep/b.json", 7) == b"x" * 7


def test_a_gzipped_archive_is_read(tmp_path: Path) -> None:
    plain = write_zip(tmp_path / "a.zip", MEMBERS)
    packed = tmp_path / "a.zip.gz"
    packed.write_bytes(gzip.compress(plain.path.read_bytes()))
    assert members_of(SourceFile(packed)) == MEMBERS


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_a_name_written_twice_the_last_holds(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", [("a", b"old"), ("a", b"new")])
    assert members_of(file) == [("a", b"new")]


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    for lie in (-1000, 1000):
        file = write_zstandard_zip(tmp_path / "a.zip", [("b", b"x" * 5000)], lie=lie)
        with pytest.raises(InputError, match="size or checksum is not what the archive states"):
            members_of(file)


def test_members_past_the_limits_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_zip(tmp_path / "a.zip", MEMBERS)
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 4999)
    with pytest.raises(InputError, match=r"'deep/b.json' cannot be read: 5000 bytes are more"):
        members_of(file)
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 5000)
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 5005)
    with pytest.raises(InputError, match="5000 bytes are more"):
        members_of(file)


def test_compression_that_no_harness_writes_is_refused(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", MEMBERS, method=zipfile.ZIP_BZIP2)
    with pytest.raises(InputError, match="compression method 12 is not read"):
        members_of(file)


def test_a_file_cut_off_is_refused(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", MEMBERS)
    file.path.write_bytes(file.path.read_bytes()[:-30])
    with pytest.raises(InputError, match="damaged or cut off"):
        members_of(file)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.booleans(), st.integers(0, 500), st.binary(min_size=1, max_size=4))
def test_damage_ends_in_a_worded_error(
    tmp_path: Path, zstandard: bool, where: int, junk: bytes
) -> None:
    write = write_zstandard_zip if zstandard else write_zip
    file = write(tmp_path / "a.zip", MEMBERS)
    data = bytearray(file.path.read_bytes())
    data[where : where + len(junk)] = junk
    file.path.write_bytes(bytes(data))
    with contextlib.suppress(InputError):  # anything else fails the test
        members_of(SourceFile(file.path))
