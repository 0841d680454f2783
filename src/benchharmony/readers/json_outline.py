"""What the first bytes of a JSON document hold, without its end: enough to tell formats apart."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["object", "array", "string", "scalar"]

#: An unfinished string at the end of the bytes is one token too; otherwise every quote inside it
#: would start a search of its own.
_TOKEN = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]+',
    re.DOTALL,
)
_BOM = b"\xef\xbb\xbf"


def outline(head: bytes, depth: int = 3) -> dict[tuple[str, ...], Kind]:
    """Return the places of a JSON document that its first bytes show.

    Parameters
    ----------
    head : bytes
        The beginning of a document; it may stop anywhere, and need not be JSON.
    depth : int
        How many keys a path has at most.

    Returns
    -------
    dict of tuple of str to {"object", "array", "string", "scalar"}
        From the path of keys to the kind of value found there first, in the order of the
        document; ``"[]"`` stands for any element of an array, ``()`` for the whole.
    """
    found: dict[tuple[str, ...], Kind] = {}
    path: list[str] = []
    closers: list[bytes] = []
    expects_key = False
    for match in _TOKEN.finditer(head.removeprefix(_BOM)):
        token = match.group()
        if token == b":":
            expects_key = False
        elif token == b",":
            expects_key = bool(closers) and closers[-1] == b"}"
        elif token in (b"}", b"]"):
            if not closers or closers.pop() != token:
                break  # not JSON
            path.pop()
            expects_key = False
        elif expects_key and token.startswith(b'"'):
            path[-1] = token.strip(b'"').decode("utf-8", "replace")
        else:
            if len(path) <= depth:
                found.setdefault(tuple(path), _kind(token))
            if token in (b"{", b"["):
                closers.append(b"}" if token == b"{" else b"]")
                path.append("[]")
                expects_key = token == b"{"
            elif not closers:
                break  # a document of one scalar, or text that is not JSON
    return found


def _kind(token: bytes) -> Kind:
    if token == b"{":
        return "object"
    if token == b"[":
        return "array"
    return "string" if token.startswith(b'"') else "scalar"
