"""Zip archives written for the tests, compressed the ways that logs are."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from benchharmony.readers import SourceFile

Members = Iterable[tuple[str, bytes]]


def write_zip(path: Path, members: Members, *, method: int = zipfile.ZIP_DEFLATED) -> SourceFile:
    """Write an archive with Python's own zipfile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return SourceFile(path)


def write_zstandard_zip(path: Path, members: Members, *, lie: int = 0) -> SourceFile:
    """Write an archive of Zstandard members; ``lie`` is added to the sizes that it states."""
    body, directory, count = b"", b"", 0
    for name, data in members:
        packed = pa.compress(data, codec="zstd", asbytes=True)
        facts = struct.pack(
            "<5H3I2H",
            *(63, 0, 93, 0, 33),
            *(zlib.crc32(data), len(packed), len(data) + lie),
            *(len(name.encode()), 0),
        )
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + facts
        directory += struct.pack("<3H2I", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + facts + name.encode() + packed
        count += 1
    end = struct.pack("<4H2IH", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\x05\x06" + end)
    return SourceFile(path)
