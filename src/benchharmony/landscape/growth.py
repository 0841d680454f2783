"""Trends of every benchmark: over parameters by family, over tokens by checkpoint series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchharmony.landscape.draws import Measured, Values
from benchharmony.landscape.trends import series, trend
from benchharmony.models import ModelInfo

#: Numbers whose trends are given.
_NUMBERS = ("adjusted", "raw", "score")


def growth(
    groups: Mapping[str, Sequence[Measured]],
    values: Mapping[str, Values],
    observed: Mapping[str, Mapping[str, Any]],
    models: Mapping[str, ModelInfo],
    *,
    level: float,
    seed: int,
) -> dict[str, list[dict[str, Any]]]:
    """Return the trends over ``parameters`` and over ``tokens``, one entry per benchmark.

    Of several checkpoints of one model, the one with the most tokens counts for its size. A
    checkpoint series has two checkpoints or more.
    """
    out: dict[str, list[dict[str, Any]]] = {"parameters": [], "tokens": []}
    for benchmark, group in groups.items():
        infos = [models[m.evaluation.model] for m in group]
        for over, names in (("parameters", _families(infos)), ("tokens", _runs(infos))):
            x = [_log(getattr(i, over)) for i in infos]
            members = series(names, x)
            if over == "tokens":
                members = {name: rows for name, rows in members.items() if len(rows) > 1}
            if not members:
                continue
            sizes = np.array([np.nan if v is None else v for v in x])
            entry: dict[str, Any] = {"benchmark": benchmark, "over": over}
            for n in _NUMBERS:
                drawn = getattr(values[benchmark], n)
                entry[n] = trend(
                    members, sizes, observed[benchmark][n], drawn, level=level, seed=seed
                )
            out[over].append(entry)
    return out


def _families(infos: Sequence[ModelInfo]) -> list[str | None]:
    last: dict[tuple[str | None, float | None], float] = {}
    for i in infos:
        key = (i.family, i.parameters)
        last[key] = max(last.get(key, 0.0), i.tokens or 0.0)
    return [
        i.family if i.checkpoint is None or i.tokens == last[(i.family, i.parameters)] else None
        for i in infos
    ]


def _runs(infos: Sequence[ModelInfo]) -> list[str | None]:
    """Return the series of each checkpoint: its family at its size."""
    return [
        None
        if i.tokens is None
        else f"{i.family or 'unknown'}{size_words(i.parameters, before=' ')}"
        for i in infos
    ]


def size_words(parameters: float | None, *, before: str = "") -> str:
    """Return a number of parameters as people write it: 7B, 135M; empty where unknown."""
    if parameters is None:
        return ""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if parameters >= size:
            return f"{before}{parameters / size:.3g}{unit}"
    return f"{before}{parameters:.0f}"


def _log(value: float | None) -> float | None:
    return float(np.log10(value)) if value else None
