"""Sources behind a URL: fetched by fsspec into a cache, then read like files.

A source ``protocol://...`` (or a chain ``zip://...::https://...``) is a file, a folder or a glob of
any file system that fsspec knows. Its files are streamed to a folder of their own in the cache,
laid out as they lie there, so that what readers look for beside a file is found. A file is fetched
again when its size, time or tag has changed, or when the server states none of them but the size.

Addresses may hold credentials. They are never shown: what stands before ``@`` and what follows
``?`` is cut from every name and message.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from benchharmony.cache import user_folder
from benchharmony.errors import InputError, Problem
from benchharmony.readers.source import SKIPPED_SUFFIXES

#: The variable that says where fetched files are kept.
FOLDER_VARIABLE = "BENCHHARMONY_FETCHED"
_REMOTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*(://|::)")
_FACTS = ".fetched.json"
#: What file systems call the marks of a version of a file; a size alone is none.
_MARKS = (
    *("ETag", "etag", "e_tag", "md5Hash", "Content-MD5", "Digest", "sha", "blob_id", "oid"),
    *("LastModified", "last_modified", "mtime", "modified", "updated", "generation", "CRC"),
)
_LONGEST_NAME = 200
_SECONDS_TO_CONNECT, _SECONDS_OF_SILENCE = 30, 60
_DENIED = "access denied; are credentials set where its file system looks for them?"
#: Packages that fsspec asks for, by protocol.
_PACKAGES = {
    **dict.fromkeys(("http", "https"), "aiohttp"),
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "adlfs"),
    "hf": "huggingface_hub",
}


@dataclass
class Fetched:
    """The files of one remote source.

    Attributes
    ----------
    names : dict of Path to str
        Where each file lies in the cache, and what to call it.
    problems : list of Problem
        Files of a folder that could not be fetched.
    notes : list of str
        What is worth telling.
    """

    names: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_remote(source: str | Path) -> bool:
    """Whether a source is a URL; ``file://`` is one of a local file."""
    return isinstance(source, str) and _REMOTE.match(source) is not None


def local_path(source: str) -> Path | None:
    """Return the path that a ``file://`` URL names; None for any other."""
    if not source.lower().startswith("file://"):
        return None
    return Path(unquote(urlsplit(source).path))


def fetched_folder() -> Path:
    """Return where fetched files are kept, whether or not it exists."""
    told = os.environ.get(FOLDER_VARIABLE)
    return Path(told) if told else user_folder() / "fetched"


def shown_url(url: str) -> str:
    """Return a URL without credentials: no user, no password, no query, no fragment."""
    parts = []
    for link in url.split("::"):
        link = re.sub(r"(?<=://)[^/?#]*@", "", link)
        parts.append(re.split(r"[?#]", link, maxsplit=1)[0])
    return "::".join(parts)


def fetch(source: str, progress: Callable[[str], None] | None = None) -> Fetched:
    """Bring the files of a remote source into the cache.

    Parameters
    ----------
    source : str
        URL of a file, a folder or a glob.
    progress : callable, optional
        Called with the name of each file before it is fetched.

    Raises
    ------
    InputError
        When the source cannot be reached, is not there, or a package is missing.
    """
    with _Words(source):
        file_system, path = _open(source)
        paths, whole = _listed(file_system, path)
    root = fetched_folder() / hashlib.sha256(source.encode()).hexdigest()[:20]
    found = Fetched()
    cache = _Cache(root)
    for remote in paths:
        name = _name_of(source, path, remote, whole)
        if progress is not None:
            progress(f"fetching {name}")
        try:
            with _Words(source, name):
                where = cache.bring(file_system, remote, found, name)
        except InputError as error:
            if whole:
                raise
            found.problems.append(error.problem)
        else:
            found.names[where] = name
    cache.forget_others({*found.names})
    if cache.fetched:
        found.notes.append(
            f"{shown_url(source)}: fetched {cache.fetched} of {len(found.names)} files "
            f"({cache.size / 1e6:.1f} MB); they are kept in {root}"
        )
    if not found.names and not found.problems:
        raise InputError(shown_url(source), "no such file or directory, or an empty one")
    return found


def _open(source: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    options: dict[str, Any] = {}
    if source.lower().startswith(("http://", "https://")) and "::" not in source:
        import aiohttp

        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_SECONDS_TO_CONNECT, sock_read=_SECONDS_OF_SILENCE
        )
        options["client_kwargs"] = {"timeout": timeout}
    file_system, path = url_to_fs(source, **options)
    file_system.invalidate_cache()  # listings from earlier in this process may be out of date
    return file_system, str(path)


def _listed(file_system: Any, path: str) -> tuple[list[str], bool]:
    """Return the files that a path means, and whether it is one file."""
    if re.search(r"[*\[]", path) or ("?" in path and not path.startswith("http")):
        return sorted(p for p in map(str, file_system.glob(path)) if not p.endswith("/")), False
    # Of a web server everything is a file; a folder ends in a slash.
    is_file = not path.endswith("/") if path.startswith("http") else file_system.isfile(path)
    if is_file:
        return [path], True
    found = sorted(map(str, file_system.find(path)))
    if not found and not file_system.exists(path):
        raise FileNotFoundError(path)
    base = f"{path.rstrip('/')}/"
    return [p for p in found if p.startswith(base) and _is_wanted(p[len(base) :])], False


def _is_wanted(path: str) -> bool:
    parts = [p for p in path.split("/") if p]
    hidden = any(p.startswith(".") for p in parts)
    shown = bool(parts) and not hidden and not path.endswith("/")
    return shown and not path.lower().endswith(SKIPPED_SUFFIXES)


def _name_of(source: str, path: str, remote: str, whole: bool) -> str:
    """Return what to call a remote file: the source, or the address of a file within it."""
    if whole:
        return shown_url(source)
    if _REMOTE.match(remote):
        return shown_url(remote)
    protocol, chain = source.partition("://")[0], source.partition("::")[2]
    behind = f"::{chain}" if chain else ""
    return shown_url(f"{protocol}://{remote.lstrip('/')}{behind}")


class _Cache:
    """The folder of one source in the cache, and what is known of the files in it."""

    def __init__(self, root: Path) -> None:
        self.fetched, self.size = 0, 0
        self._root = root
        self._facts: dict[str, Any] = {}
        try:
            known = json.loads((root / _FACTS).read_text("utf-8"))
            self._facts = known if isinstance(known, dict) else {}
        except (OSError, ValueError):
            pass

    def bring(self, file_system: Any, remote: str, found: Fetched, name: str) -> Path:
        """Return where a file lies, after fetching it unless the same is there already."""
        where = self._root / _local_name(remote)
        key = str(where.relative_to(self._root))
        try:
            mark = _mark(file_system.info(remote))
        except (FileNotFoundError, PermissionError, ImportError):
            raise
        except Exception:
            # Servers that answer no questions about a file may still give it.
            mark = None
        if where.is_file() and mark is not None and self._facts.get(key) == mark:
            return where
        where.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._root, prefix=".part-")
        os.close(handle)
        try:
            file_system.get_file(remote, temporary)
            self.size += os.path.getsize(temporary)
            os.replace(temporary, where)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self.fetched += 1
        self._facts[key] = mark
        self._save()
        return where

    def forget_others(self, kept: set[Path]) -> None:
        """Remove what is no longer there, so that no reader finds it beside a file."""
        for path in self._root.rglob("*"):
            if path.is_file() and path not in kept and path.name != _FACTS:
                path.unlink(missing_ok=True)

    def _save(self) -> None:
        target = self._root / _FACTS
        handle, temporary = tempfile.mkstemp(dir=self._root, prefix=".part-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(self._facts, stream)
        os.replace(temporary, target)


def _mark(info: Mapping[str, Any]) -> str | None:
    """Return what tells a version of a file from another; None when only the size is known."""
    marks = {name: str(info[name]) for name in _MARKS if info.get(name)}
    return json.dumps([info.get("size"), marks], sort_keys=True) if marks else None


def _local_name(remote: str) -> Path:
    """Return a relative path with the parts of a remote one, none of which leads elsewhere."""
    bare = re.split(r"[?#]", _REMOTE.sub("", remote, count=1), maxsplit=1)[0]
    parts = [_part(p) for p in bare.replace("\\", "/").split("/") if p not in ("", ".")]
    return Path(*(parts or ["file"]))


def _part(part: str) -> str:
    part = part.rpartition("@")[2] or part  # a user's name belongs to the address only
    safe = quote(part, safe=" !#$&'()+,;=@[]{}~^%:") if "\0" in part or part == ".." else part
    safe = "%2E%2E" if safe == ".." else safe
    if len(safe.encode()) <= _LONGEST_NAME:
        return safe
    stem, dot, suffix = safe.rpartition(".")
    digest = hashlib.sha256(safe.encode()).hexdigest()[:12]
    return f"{(stem or safe)[:60]}-{digest}{dot}{suffix[:10]}"


class _Words:
    """Turns whatever a file system raises into one line without credentials."""

    def __init__(self, source: str, name: str | None = None) -> None:
        self._source = source
        self._name = name or shown_url(source)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, InputError) or not isinstance(error, Exception):
            return
        raise InputError(self._name, self._reason(error)) from None

    def _reason(self, error: Exception) -> str:
        if isinstance(error, ImportError):
            return self._missing(error)
        # fsspec says "not found" of whatever kept it from looking; the cause says what did.
        cause = error
        while isinstance(cause.__cause__, Exception):
            cause = cause.__cause__
        status = getattr(cause, "status", None)
        if isinstance(status, int) and status != 404:
            denied = _DENIED if status in (401, 403) else "cannot be fetched"
            return f"{denied} (the server answers {status})"
        if isinstance(cause, PermissionError):
            return _DENIED
        if isinstance(cause, FileNotFoundError) or status == 404:
            return "no such file or directory (404)"
        if isinstance(cause, TimeoutError):
            return f"no answer within {_SECONDS_OF_SILENCE} seconds"
        text = _without_secrets(str(cause).split("\n")[0], self._source)
        return f"cannot be fetched: {text[:300] or type(cause).__name__}"

    def _missing(self, error: ImportError) -> str:
        if (getattr(error, "name", None) or "").startswith("fsspec"):
            return "URLs need the extra: pip install 'benchharmony[remote]'"
        protocol = self._source.rpartition("::")[2].partition("://")[0].lower()
        package = _PACKAGES.get(protocol)
        advice = f"pip install {package}" if package else str(error).split("\n")[0][:200]
        return f"{protocol}:// needs a package that is not installed: {advice}"


def _without_secrets(text: str, source: str) -> str:
    for link in source.split("::"):
        text = text.replace(link, shown_url(link))
    text = re.sub(r"(?<=://)[^/\s@]*@", "", text)
    return re.sub(r"\?[^\s'\"]*", "?...", text)
