"""Rows of a samples log, decoded without what nobody reads: faster than ``json.loads``.

Most of a row is its prompt, repeated for every option, and hashes. A type made from the first row
of a file tells the decoder which parts to pass over; those that may be needed after all stay bytes
until they are. A row that does not fit the type is decoded whole, so the outcome is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from benchharmony.readers.source import decode

#: Parts that are needed seldom or never.
_LEFT = frozenset(("resps", "doc_hash", "prompt_hash", "target_hash", "raw_model_response"))


class Request(msgspec.Struct, gc=False):
    """One request of a row: its context, not decoded yet, and its continuation."""

    arg_0: msgspec.Raw = msgspec.Raw(b"null")
    arg_1: Any = None


def row_decoder() -> Callable[[bytes], Any]:
    """Return a decoder of the lines of one file; the first row says how the others look.

    It returns rows as dicts, in which parts that were not read are bytes. A line that is no JSON
    raises ValueError in the words of :func:`~benchharmony.readers.source.decode`.
    """
    typed: Callable[[bytes], Any] | None = None
    as_row: Callable[[Any], dict[str, Any]] = msgspec.structs.asdict
    waiting = True

    def decoded(line: bytes) -> Any:
        nonlocal typed, as_row, waiting
        if typed is not None:
            try:
                return as_row(typed(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return decode(line)
        value = decode(line)
        if waiting and isinstance(value, dict):
            waiting = False
            if not all(map(str.isidentifier, value)):
                as_row = partial(_renamed, tuple(value))
            typed = _typed(value)
        return value

    return decoded


def _renamed(names: tuple[str, ...], row: Any) -> dict[str, Any]:
    return dict(zip(names, msgspec.structs.astuple(row), strict=True))


def _typed(row: dict[str, Any]) -> Callable[[bytes], Any] | None:
    """Return a decoder of rows with these keys and no others; None where no type can be made."""
    plain = all(map(str.isidentifier, row))
    names = {name if plain else f"field_{i}": name for i, name in enumerate(row)}
    fields = [(field, _type_of(name, row[name])) for field, name in names.items()]
    try:
        made = msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(made).decode
    except (TypeError, ValueError):
        return None


def _type_of(name: str, value: Any) -> Any:
    if name in _LEFT:
        return msgspec.Raw
    if name == "arguments" and isinstance(value, dict) and value:
        return dict[str, Request]
    if name == "arguments" and _is_list_of_pairs(value):
        return list[tuple[msgspec.Raw, Any]]
    return Any


def _is_list_of_pairs(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    )


def whole(value: Any) -> Any:
    """Return a part of a row, decoded now where it was left as bytes."""
    return decode(bytes(value)) if isinstance(value, msgspec.Raw) else value
