"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from benchharmony.errors import BenchharmonyError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file whole or not at all: to a temporary file beside it, then renamed.

    Links are followed. What is no regular file (``/dev/null``, a pipe) is written to and never
    replaced. Missing folders are made.

    Parameters
    ----------
    path : str or Path
        The file.
    content : str or bytes
        Text is written as UTF-8.

    Raises
    ------
    BenchharmonyError
        When the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.write(data)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data)
    except OSError as error:
        raise BenchharmonyError(f"{path}: cannot be written ({error.strerror})") from None


#: Names that Windows keeps for itself, whatever their ending.
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def file_stem(*names: str, longest: int = 80, otherwise: str = "unnamed") -> str:
    """Return a file name without its ending for names, whatever a log put into them.

    Letters, digits, dots, dashes and underscores of ASCII stay; the rest becomes underscores.
    Several names are parted by two dashes and share the length.
    """
    room = max((longest - 2 * (len(names) - 1)) // max(len(names), 1), 1)
    parts = [re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:room].strip("._-") for name in names]
    stem = "--".join(part or otherwise for part in parts)
    return f"_{stem}" if _RESERVED.match(stem) else stem


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes private files
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
