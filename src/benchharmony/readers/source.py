"""One file to read: its bytes (decompressed), its first bytes, and what was wrong with it."""

from __future__ import annotations

import codecs
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation

#: How much of a file a reader sees when it decides whether the file is its own.
HEAD_BYTES = 1 << 16

#: Files in a searched directory that nobody means as a log.
SKIPPED_SUFFIXES = (".md", ".py", ".yaml", ".yml", ".txt", ".html", ".png", ".svg", ".ipynb")

_Compression = Literal["gzip", "zstd", "bzip2", "xz"]
_MAGIC: tuple[tuple[bytes, _Compression], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
)
#: What decompressors raise where a file is damaged or cut off.
DECOMPRESSION = (EOFError, OSError)
_PART_BYTES, _BUFFER_BYTES = 1 << 24, 1 << 20
#: Where Python opens what is compressed so; some Pythons are built without one or the other.
_PYTHON_STREAMS = {
    "gzip": ("gzip", "GzipFile"),
    "bzip2": ("bz2", "BZ2File"),
    "xz": ("lzma", "LZMAFile"),
}
_COMPRESSED_SUFFIXES = (".gz", ".zst", ".zstd", ".bz2", ".xz")


@dataclass(frozen=True)
class ReadOptions:
    """What a caller may say about how to read.

    Attributes
    ----------
    columns : mapping of role to column name
        Overrides the guessed columns of tables: ``{"item_id": "qid", "score": "right"}``.
    benchmark, model : str or None
        Names to use where the source gives none.
    format : str or None
        Name of the reader to use, whatever the content looks like.
    allow_pickle : bool
        Whether pickles are read, as plain data (:mod:`benchharmony.readers.pickle_data`).
    """

    columns: dict[str, str] = field(default_factory=dict)
    benchmark: str | None = None
    model: str | None = None
    format: str | None = None
    allow_pickle: bool = False


class SourceFile:
    """A local file, decompressed on the fly (gzip, zstd, bzip2, xz, known by their first bytes)."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """File name without a compression suffix."""
        name = self.path.name
        for suffix in _COMPRESSED_SUFFIXES:
            name = name.removesuffix(suffix)
        return name

    @cached_property
    def compression(self) -> _Compression | None:
        """Return how the file is compressed; None where it is not."""
        with self.path.open("rb") as raw:
            first = raw.read(6)
        return next((kind for magic, kind in _MAGIC if first.startswith(magic)), None)

    def open(self) -> io.BufferedReader | io.BytesIO:
        """Open for reading: decompressed, marked UTF-16 as UTF-8, without a byte order mark."""
        stream = self._decompressed()
        first = stream.peek(3)[:3]
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            with stream:
                return io.BytesIO(stream.read().decode("utf-16", "replace").encode())
        if first == codecs.BOM_UTF8:
            stream.read(3)
        return stream

    def _decompressed(self) -> io.BufferedReader:
        if self.compression is None:
            return self.path.open("rb")
        if self.compression in _PYTHON_STREAMS:
            # Unlike Arrow's, Python's streams give what comes before a cut-off place.
            module, name = _PYTHON_STREAMS[self.compression]
            try:
                unpacked = getattr(import_module(module), name)(self.path)
            except ImportError:
                raise OSError(f"this Python was built without {self.compression}") from None
            return io.BufferedReader(_Raw(unpacked.read1, unpacked.close), _BUFFER_BYTES)
        stream: Any = pa.input_stream(str(self.path), compression="zstd")
        return io.BufferedReader(_Raw(stream.read, stream.close), _BUFFER_BYTES)

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, decompressed; less where the file is cut off before."""
        head = b""
        try:
            with self.open() as stream:
                while len(head) < HEAD_BYTES and (part := stream.read1(HEAD_BYTES - len(head))):
                    head += part
        except DECOMPRESSION:
            if not head:
                raise
        return head

    @cached_property
    def first_record(self) -> Any:
        """The first line's JSON value; None where the first line is not JSON."""
        line = next((x for x in self.head.split(b"\n") if x.strip()), b"")
        try:
            return decode(line)
        except ValueError:
            return None

    def read_bytes(self) -> bytes:
        """Return the whole file, decompressed; :class:`InputError` where it is cut off."""
        parts: list[bytes] = []
        try:
            with self.open() as stream:
                while part := stream.read1(_PART_BYTES):
                    parts.append(part)
        except DECOMPRESSION as error:
            size = sum(map(len, parts))
            raise InputError(
                str(self), f"{_cut(error)} after {size} bytes of its content"
            ) from None
        return b"".join(parts)

    def read_json(self) -> Any:
        """Return the file as one JSON value, or raise :class:`InputError`."""
        try:
            return decode(self.read_bytes())
        except ValueError as error:
            raise InputError(str(self), f"not valid JSON ({error}); is the file cut off?") from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (1-based number, line) for lines that are not blank; split at newlines only.

        ``str.splitlines`` would also split at U+0085 and U+2028, which occur inside strings.
        """
        with self.open() as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line

    def _lines(self, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
        """Yield lines as :meth:`lines` does; where the file is cut off, that is a problem."""
        last = 0
        try:
            for last, line in self.lines():
                yield last, line
        except DECOMPRESSION as error:
            if not last:
                raise
            problems.append(Problem(str(self), f"{_cut(error)} in or after this line", last))

    def records(
        self, problems: list[Problem], decoder: Callable[[bytes], Any] | None = None
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield (line number, object) of a JSON Lines file; lines that fail become problems.

        ``decoder`` takes the place of :func:`decode`, of which it must be a quicker form.
        """
        decoded = decoder or decode
        for number, line in self._lines(problems):
            try:
                value = decoded(line)
            except ValueError as error:
                cut = "" if line.endswith(b"\n") else "; the file ends in the middle of this line"
                problems.append(Problem(str(self), f"not valid JSON ({error}){cut}", number))
                continue
            if isinstance(value, Mapping):
                yield number, value
            else:
                kind = type(value).__name__
                problems.append(Problem(str(self), f"expected a JSON object, found {kind}", number))


def _cut(error: BaseException) -> str:
    words = str(error).split("\n")[0] or type(error).__name__
    return f"the compressed file is damaged or cut off ({words})"


class _Raw(io.RawIOBase):
    """A stream of another library as a raw Python stream, so that lines can be read from it."""

    def __init__(self, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        self._read, self._close = read, close

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._read(len(buffer))
        except (OSError, EOFError, MemoryError):
            raise
        except Exception as error:  # zlib.error, lzma.LZMAError: no kind of OSError
            raise OSError(str(error)) from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()


def decode(data: bytes) -> Any:
    """Decode one JSON value; bare NaN and Infinity, which logs do hold, are accepted.

    Raises
    ------
    ValueError
        When the bytes are not JSON.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(data.decode("utf-8-sig", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def to_float(value: Any) -> float:
    """Return a number that a log may hold as text ("-0.98", "True"); NaN where it is none."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in ("true", "false"):
            return float(text == "true")
        try:
            return float(text)
        except ValueError:
            return math.nan
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:  # a whole number of more than 308 digits
            return math.inf if value > 0 else -math.inf
    return math.nan


@dataclass(frozen=True)
class Reader:
    """A log format.

    Attributes
    ----------
    name : str
        What outputs call the format.
    description : str
        One line for ``benchharmony check`` and the documentation.
    sniff : callable
        ``sniff(file) -> bool``: whether the file is of this format, judged by its content.
        Must be cheap and must not raise.
    read : callable
        ``read(file, options) -> list of Evaluation``. Items that cannot be used go to
        ``Evaluation.source.problems``; a file without a usable item raises
        :class:`~benchharmony.errors.InputError`.
    example : str
        A file name, or the first characters, that this format typically has; for
        ``benchharmony formats``.
    """

    name: str
    description: str
    sniff: Callable[[SourceFile], bool]
    read: Callable[[SourceFile, ReadOptions], list[Evaluation]]
    example: str = ""
