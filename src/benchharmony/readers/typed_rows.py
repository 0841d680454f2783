"""Rows of a samples log, decoded without what nobody reads: faster than ``json.loads``.

Most of a row is its prompt, repeated for every option, and hashes. A type made from the first row
of a file tells the decoder which parts to pass over; those that may be needed after all stay bytes
until they are. A row that does not fit the type is decoded whole, so the outcome is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from benchharmony.readers.declared import NESTED
from benchharmony.readers.source import decode

#: Parts that are needed seldom or never.
_LEFT = frozenset(("resps", "doc_hash", "prompt_hash", "target_hash", "raw_model_response"))


class Request(msgspec.Struct, gc=False):
    """One request of a row: its context, not decoded yet, and its continuation."""

    arg_0: msgspec.Raw = msgspec.Raw(b"null")
    arg_1: Any = None


class Record(msgspec.Struct, gc=False):
    """A JSON object as a mapping, the parts that were left as bytes decoded when asked for.

    The fields of its subclasses are named after places, so that any key can be one.
    """

    places: ClassVar[dict[str, str]] = {}
    keys = Mapping.keys
    values = Mapping.values

    def __getitem__(self, name: str) -> Any:
        value = getattr(self, self.places[name])
        return whole(value) if type(value) is msgspec.Raw else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a key."""
        return self[name] if name in self.places else default

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield keys and values; lists and objects that were left as bytes stay so."""
        for name, place in self.places.items():
            value = getattr(self, place)
            left = type(value) is msgspec.Raw and not _is_container(value)
            yield name, whole(value) if left else value


# A struct can't inherit from an abstract class.
Mapping.register(Record)


def _is_container(value: msgspec.Raw) -> bool:
    return memoryview(value)[0] in b"[{"


def row_decoder() -> Callable[[bytes], Any]:
    """Return a decoder of the lines of one file; the first row says how the others look.

    It returns rows as mappings. A line that is no JSON raises ValueError in the words of
    :func:`~benchharmony.readers.source.decode`.
    """
    typed: Callable[[bytes], Any] | None = None
    waiting = True

    def decoded(line: bytes) -> Any:
        nonlocal typed, waiting
        if typed is not None:
            try:
                return typed(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return decode(line)
        value = decode(line)
        if waiting and isinstance(value, dict):
            waiting = False
            typed = _typed(value)
        return value

    return decoded


def _typed(row: dict[str, Any]) -> Callable[[bytes], Any] | None:
    """Return a decoder of rows that look like this one; None where a key can be no field."""
    try:
        return msgspec.json.Decoder(_record_type(row, _type_in_row)).decode
    except (TypeError, ValueError):
        return None


def _record_type(
    record: dict[str, Any], type_of: Callable[[str, Any], Any]
) -> type[msgspec.Struct]:
    """Return a type of objects with these keys and no others."""
    places = {name: f"field_{i}" for i, name in enumerate(record)}
    return msgspec.defstruct(
        "Record",
        [(places[name], type_of(name, value)) for name, value in record.items()],
        bases=(Record,),
        namespace={"places": places},
        rename={place: name for name, place in places.items()},
        forbid_unknown_fields=True,
        gc=False,
    )


def _type_in_row(name: str, value: Any) -> Any:
    if name in _LEFT:
        return msgspec.Raw
    if name == "doc" and isinstance(value, dict):
        return _record_type(value, _type_in_doc)
    if name == "arguments" and isinstance(value, dict) and value:
        return dict[str, Request]
    if name == "arguments" and _is_list_of_pairs(value):
        return list[tuple[msgspec.Raw, Any]]
    return Any


def _type_in_doc(name: str, value: Any) -> Any:
    return msgspec.Raw if isinstance(value, (list, dict)) and name not in NESTED else Any


def _is_list_of_pairs(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    )


def whole(value: Any) -> Any:
    """Return a part of a row, decoded now where it was left as bytes."""
    return decode(bytes(value)) if isinstance(value, msgspec.Raw) else value
