"""How results become bytes and come back the same to the last bit: partitions, records, groups."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchharmony.subdomains import Partition

T = TypeVar("T")


@dataclass(frozen=True)
class Packing(Generic[T]):
    """A way to bytes and back.

    Attributes
    ----------
    pack : callable
        None for a value that is not worth keeping.
    unpack : callable
        Raises what it likes where the bytes are not its own.
    """

    pack: Callable[[T], bytes | None]
    unpack: Callable[[bytes], T]


def packed_partition(partition: Partition) -> bytes:
    """Return a partition as an uncompressed npz archive; labels for every k in the least width."""
    ks = sorted(partition.labels_by_k)
    arrays: dict[str, NDArray[Any]] = {
        "about": np.frombuffer(json.dumps(_about(partition), default=_plain).encode(), np.uint8),
        "labels": partition.labels,
        "silhouette_k": np.array(list(partition.silhouette_by_k), np.int64),
        "silhouette": np.array(list(partition.silhouette_by_k.values()), np.float64),
        "ks": np.array(ks, np.int64),
    }
    if ks:
        narrow = np.uint8 if max(ks) <= 256 else np.int64
        arrays["labels_by_k"] = np.array([partition.labels_by_k[k] for k in ks]).astype(narrow)
    for name in ("centrality", "embedding"):
        values = getattr(partition, name)
        if values is not None:
            arrays[name] = values
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def unpacked_partition(data: bytes) -> Partition:
    """Return what :func:`packed_partition` packed."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        about = json.loads(arrays["about"].tobytes())
        about["names"], about["notes"] = tuple(about["names"]), tuple(about["notes"])
        heights = zip(arrays["silhouette_k"].tolist(), arrays["silhouette"].tolist(), strict=True)
        ks = arrays["ks"].tolist()
        by_k = arrays["labels_by_k"] if ks else []
        return Partition(
            labels=arrays["labels"],
            silhouette_by_k=dict(heights),
            labels_by_k={k: row.astype(np.int64) for k, row in zip(ks, by_k, strict=True)},
            centrality=arrays.get("centrality"),
            embedding=arrays.get("embedding"),
            **about,
        )


def _about(partition: Partition) -> dict[str, Any]:
    plain = (
        "kind", "names", "positions", "tau", "unguarded_k", "engine", "engine_error", "undefined",
        "settings", "notes",
    )  # fmt: skip
    return {name: getattr(partition, name) for name in plain}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__}")


#: What one model of a benchmark gets, or what was found about all: partitions and JSON values.
Group = tuple[list[Partition], dict[str, Any]]


def packed_group(group: Group) -> bytes:
    """Return partitions of several models; equal ones, but for tau, are stored once."""
    places: dict[bytes, int] = {}
    models = []
    for partition in group[0]:
        data = packed_partition(replace(partition, tau=None))
        models.append((places.setdefault(data, len(places)), partition.tau))
    return msgspec.msgpack.encode((list(places), models, json.dumps(group[1], default=_plain)))


def unpacked_group(data: bytes) -> Group:
    """Return what :func:`packed_group` packed."""
    stored: tuple[list[bytes], Sequence[tuple[int, float | None]], str] = msgspec.msgpack.decode(
        data, type=tuple[list[bytes], list[tuple[int, float | None]], str]
    )
    distinct = [unpacked_partition(d) for d in stored[0]]
    return [replace(distinct[i], tau=tau) for i, tau in stored[1]], json.loads(stored[2])


def packed_record(record: dict[str, Any]) -> bytes | None:
    """Return JSON with all but ASCII escaped, as logs hold lone surrogates; None for a failure."""
    return None if record["error"] else json.dumps(record).encode()


def unpacked_record(data: bytes) -> dict[str, Any]:
    """Return what :func:`packed_record` packed."""
    record = json.loads(data)
    if not isinstance(record, dict) or "harmony" not in record:
        raise ValueError("no record of an evaluation")
    return record


def _unless_error(pack: Callable[[T], bytes]) -> Callable[[T | str], bytes | None]:
    """Pack results; a text says why there is none, and may be about this machine's memory."""
    return lambda value: None if isinstance(value, str) else pack(value)


PARTITION: Packing[Partition | str] = Packing(_unless_error(packed_partition), unpacked_partition)
GROUP: Packing[Group | str] = Packing(_unless_error(packed_group), unpacked_group)
RECORD: Packing[dict[str, Any]] = Packing(packed_record, unpacked_record)
