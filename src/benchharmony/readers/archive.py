"""Members of a zip archive as bytes, within limits: logs come as zips, and zips can be bombs.

Python's ``zipfile`` before 3.14 lists members that are compressed with Zstandard (method 93, what
Inspect AI writes now) but cannot open them; those are decompressed here.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from types import TracebackType
from typing import BinaryIO, Self

import pyarrow as pa

from benchharmony.errors import InputError
from benchharmony.readers.source import SourceFile

ZIP_MAGIC = b"PK\x03\x04"
#: What is compressed otherwise is refused: no harness writes it.
_STORED_OR_DEFLATED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZSTANDARD = 93
_LOCAL_HEADER_BYTES = 30
_ENCRYPTED = 0x1
_CHUNK = 1 << 20

#: A member larger than this is refused, as is an archive of more than that in all.
MAX_MEMBER_BYTES = 512 << 20
MAX_TOTAL_BYTES = 32 << 30

#: What zipfile, zlib and Arrow raise on damaged or forged archives.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    pa.ArrowException,
)


class Archive:
    """A zip archive, open for reading; use it in a ``with`` statement.

    Raises
    ------
    InputError
        When the file is no whole zip archive.
    """

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._stream = _seekable(file)
        self._size = self._stream.seek(0, os.SEEK_END)
        self._left = MAX_TOTAL_BYTES
        try:
            self._zip = zipfile.ZipFile(self._stream)
        except _DAMAGE as error:
            self._stream.close()
            raise InputError(
                str(file), f"a zip archive that is damaged or cut off ({_reason(error)})"
            ) from None
        # A name that occurs twice was written again: the last one holds.
        self._members = {info.filename: info for info in self._zip.infolist()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        self._stream.close()

    @property
    def names(self) -> list[str]:
        """Names of the members, in the order of the archive."""
        return list(self._members)

    def head(self, name: str, size: int) -> bytes:
        """Return the first bytes of a member.

        Raises
        ------
        InputError
            When the member cannot be decompressed.
        """
        try:
            return self._bytes(self._members[name], size)
        except _DAMAGE as error:
            raise self._fault(name, _reason(error)) from None

    def read(self, name: str) -> bytes:
        """Return a whole member.

        Raises
        ------
        InputError
            When it is damaged, encrypted, larger than 512 MiB, or the archive holds more than
            32 GiB in all.
        """
        info = self._members[name]
        if info.file_size > min(MAX_MEMBER_BYTES, self._left):
            raise self._fault(name, f"{info.file_size} bytes are more than is read of one archive")
        self._left -= info.file_size
        try:
            # One byte more than stated, so that a member that lies about its size is found.
            data = self._bytes(info, info.file_size + 1)
        except _DAMAGE as error:
            raise self._fault(name, _reason(error)) from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._fault(name, "its size or checksum is not what the archive states")
        return data

    def _bytes(self, info: zipfile.ZipInfo, size: int) -> bytes:
        if info.flag_bits & _ENCRYPTED:
            raise ValueError("encrypted")
        if info.compress_type in _STORED_OR_DEFLATED:
            with self._zip.open(info) as member:
                return member.read(size)
        if info.compress_type != _ZSTANDARD:
            raise ValueError(f"compression method {info.compress_type} is not read")
        if info.compress_size > self._size:
            raise ValueError("longer than the archive")
        self._stream.seek(info.header_offset)
        header = self._stream.read(_LOCAL_HEADER_BYTES)
        if len(header) < _LOCAL_HEADER_BYTES or not header.startswith(ZIP_MAGIC):
            raise ValueError("no member where the archive states one")
        skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        self._stream.seek(skipped, io.SEEK_CUR)
        return _zstandard(self._stream.read(info.compress_size), size)

    def _fault(self, name: str, why: str) -> InputError:
        return InputError(str(self._file), f"member {name!r} cannot be read: {why}")


def _seekable(file: SourceFile) -> BinaryIO:
    if file.compression is None:
        return file.path.open("rb")
    try:
        with file.open() as stream:
            data = stream.read(MAX_MEMBER_BYTES + 1)
    except (OSError, EOFError) as error:
        raise InputError(str(file), f"cannot be decompressed ({_reason(error)})") from None
    if len(data) > MAX_MEMBER_BYTES:
        raise InputError(str(file), "a compressed zip archive of more than 512 MiB; unpack it once")
    return io.BytesIO(data)


def _zstandard(data: bytes, size: int) -> bytes:
    parts, left = [], size
    with pa.input_stream(pa.py_buffer(data), compression="zstd") as stream:
        while left > 0:
            part = stream.read(min(left, _CHUNK))
            if not part:
                break
            parts.append(part)
            left -= len(part)
    return b"".join(parts)


def _reason(error: BaseException) -> str:
    return str(error).split("\n")[0] or type(error).__name__
