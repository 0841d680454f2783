"""Zip and tar archives of result files: unpacked once into a folder, then read like a folder."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from benchharmony.errors import InputError
from benchharmony.readers.archive import MAX_MEMBER_BYTES, ZIP_MAGIC, Archive
from benchharmony.readers.source import SKIPPED_SUFFIXES, SourceFile

#: Where a tar archive says that it is one.
_USTAR, _USTAR_AT = b"ustar", 257
#: Unpacked files take disk space: an archive of more is to be unpacked by whoever wants it.
MAX_UNPACKED_BYTES = 8 << 30
_MOST_FILES = 100_000
_LONGEST_PART = 200


def is_tar(file: SourceFile) -> bool:
    """Whether a file is a tar archive, compressed or not."""
    return file.head[_USTAR_AT : _USTAR_AT + len(_USTAR)] == _USTAR


def is_zip(file: SourceFile) -> bool:
    """Whether a file is a zip archive."""
    return file.head.startswith(ZIP_MAGIC)


def unpack(file: SourceFile, folder: Path) -> dict[Path, str]:
    """Unpack the result files of an archive.

    Parameters
    ----------
    file : SourceFile
        A zip or tar archive.
    folder : Path
        Where to put them, laid out as in the archive.

    Returns
    -------
    dict of Path to str
        The unpacked files, and what to call each: ``archive.zip/inner/path``.

    Raises
    ------
    InputError
        When the archive is damaged, or holds more than 8 GiB or 100,000 files.
    """
    found: dict[Path, str] = {}
    left = MAX_UNPACKED_BYTES
    for name, data in _members(file):
        left -= len(data)
        if left < 0 or len(found) >= _MOST_FILES:
            raise InputError(
                str(file),
                f"an archive of more than {MAX_UNPACKED_BYTES >> 30} GiB or {_MOST_FILES} files; "
                "unpack it and give the folder",
            )
        path = folder.joinpath(*(part[:_LONGEST_PART] for part in PurePosixPath(name).parts))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            reason = f"member {name[:_LONGEST_PART]!r} cannot be unpacked ({error.strerror})"
            raise InputError(str(file), reason) from None
        found[path] = f"{file}/{name}"
    return found


def _members(file: SourceFile) -> Iterator[tuple[str, bytes]]:
    if is_zip(file):
        with Archive(file) as archive:
            for name in archive.names:
                if _is_wanted(name):
                    yield name, archive.read(name)
        return
    try:
        with file.open() as stream, tarfile.open(fileobj=stream, mode="r|") as members:
            for member in members:
                # Links and devices are no results, and may lead anywhere.
                if not member.isreg() or not _is_wanted(member.name):
                    continue
                if member.size > MAX_MEMBER_BYTES:
                    raise InputError(str(file), f"member {member.name!r} is larger than 512 MiB")
                content = members.extractfile(member)
                if content is not None:
                    yield member.name, content.read()
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).split("\n")[0] or type(error).__name__
        raise InputError(
            str(file), f"a tar archive that is damaged or cut off ({reason})"
        ) from None


def _is_wanted(name: str) -> bool:
    """Whether a member is a file that may be a log, and whose name stays within the folder."""
    parts = PurePosixPath(name).parts
    plain = bool(parts) and name[-1:] != "/" and not name.startswith("/") and "\0" not in name
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return plain and not hidden and not name.lower().endswith(SKIPPED_SUFFIXES)
