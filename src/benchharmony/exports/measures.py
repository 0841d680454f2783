"""A report as flat numbers, for trackers that take a name and a number."""

from __future__ import annotations

import re
from typing import Any

#: Numbers of one evaluation: name and path in the record.
_MEASURES = (
    ("score", ("score", "mean")),
    ("harmony", ("harmony", "value")),
    ("harmony_adjusted", ("harmony", "adjusted")),
    ("agreement", ("harmony", "agreement")),
    ("size_evenness", ("harmony", "size_evenness")),
    ("weighted_sd", ("indices", "weighted_sd")),
    ("worst_subdomain", ("indices", "worst_subdomain")),
    ("k", ("partition", "k")),
    ("items", ("n_items",)),
)


def measures(record: dict[str, Any]) -> dict[str, float]:
    """Return every defined number, named ``benchmark/measure``.

    With several models the model is in the name, ``benchmark/model/measure``. Names hold only
    letters, digits, ``_ - . /`` and spaces, which every tracker takes; a name met twice gets
    `` 2``.
    """
    entries = record["evaluations"]
    several = len({e["model"] for e in entries}) > 1
    out: dict[str, float] = {}
    taken: set[str] = set()
    for entry in entries:
        parts = [entry["benchmark"], entry["model"]] if several else [entry["benchmark"]]
        base = "/".join(map(_plain, parts))
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base} {count}"
        taken.add(name)
        for measure, path in _MEASURES:
            value: Any = entry
            for key in path:
                value = value[key]
            if value is not None:
                out[f"{name}/{measure}"] = float(value)
    return out


def _plain(name: str) -> str:
    return re.sub(r"[^\w\-. ]+", "_", name, flags=re.ASCII)[:100].strip() or "unnamed"
