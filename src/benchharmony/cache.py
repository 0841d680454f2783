"""Results on disk, found again by what they were made from.

An entry is one file under its key, written beside and renamed, so that it is there whole or not at
all and any number of processes may share a directory: two that compute the same entry write the
same bytes. Each file carries a checksum; one that fails it counts as missing and is written anew.
Entries hold numbers and text only, never code (no pickles).
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.writing import write_whole

#: Rises when entries of an older version could be misread.
SCHEMA = 1
_MAGIC = b"benchharmony cache 1\n"
_DIGEST = 32
#: Read by whoever finds the directory.
_NOTE = """\
Results of benchharmony, one file for each, kept so that they need not be computed again.
Nothing else is here, and all of it may be deleted at any time.
"""
#: The name that stands for the user's own cache directory.
USER = "user"


class Cache:
    """A directory of results.

    Parameters
    ----------
    folder : str or Path
        Made when the first entry is written; "user" is a folder of the user's cache directory
        (``~/.cache/benchharmony/results`` on Linux, where XDG_CACHE_HOME says nothing else).

    Attributes
    ----------
    found, made : int
        Results that were there, and that were computed since.

    Raises
    ------
    BenchharmonyError
        When there is something else of that name.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = user_folder() / "results" if str(folder) == USER else Path(folder)
        self.found = self.made = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise BenchharmonyError(f"{self.folder}: a file, not a directory to keep results in")

    def __repr__(self) -> str:
        return f"<Cache {self.folder}>"

    def get(self, key: str) -> bytes | None:
        """Return the content kept under a key; None where there is none or it is damaged."""
        try:
            data = self._path(key).read_bytes()
        except OSError:
            return None
        body = data[len(_MAGIC) + _DIGEST :]
        return body if data == _sealed(body) else None

    def put(self, key: str, body: bytes) -> None:
        """Keep content under a key.

        Raises
        ------
        BenchharmonyError
            When the directory cannot be written to.
        """
        note = self.folder / "README"
        if not note.exists():
            write_whole(note, _NOTE)
        write_whole(self._path(key), _sealed(body))

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key


def cache_of(given: Cache | str | Path | None) -> Cache | None:
    """Return the cache that a caller means: a directory, "user", one that is there, or none."""
    return given if given is None or isinstance(given, Cache) else Cache(given)


def user_folder() -> Path:
    """Return where the user's system keeps caches."""
    from platformdirs import user_cache_path

    return Path(user_cache_path("benchharmony", appauthor=False))


def _sealed(body: bytes) -> bytes:
    return _MAGIC + hashlib.blake2b(body, digest_size=_DIGEST).digest() + body


@cache
def made_by() -> tuple[Any, ...]:
    """Return what results depend on beside their input: this package's code and its libraries.

    The code itself counts, not only the version: between two releases it changes as well.
    """
    from importlib.metadata import PackageNotFoundError, version

    from benchharmony._version import __version__

    code = hashlib.blake2b(digest_size=_DIGEST)
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        code.update(path.relative_to(root).as_posix().encode() + b"\0")
        code.update(hashlib.blake2b(path.read_bytes(), digest_size=_DIGEST).digest())
    libraries = []
    for name in ("numpy", "scipy", "scikit-learn"):
        try:
            libraries.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            libraries.append(name)
    return (SCHEMA, __version__, code.hexdigest(), *libraries)
