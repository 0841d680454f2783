"""Results of a run on disk, written as they come, so that a killed run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchharmony.collect.work import Outcome, View, WorkItem
from benchharmony.errors import BenchharmonyError

_PLAN = "plan.json"


class ShardStore:
    """Shards of one run: a directory with the run's settings and one file per stretch of items.

    Parameters
    ----------
    directory : Path
        Where they lie; made when the run starts.
    plan : mapping
        Everything that shapes the numbers: a run is resumed only under the same plan.
    """

    def __init__(self, directory: Path, plan: Mapping[str, Any]) -> None:
        self.directory = directory
        self.plan = json.loads(json.dumps(plan))

    def start(self, *, resume: bool) -> dict[int, Outcome]:
        """Return the outcomes that are already there, by item number.

        Raises
        ------
        BenchharmonyError
            When there are shards but ``resume`` is false, or their settings are others.
        """
        path = self.directory / _PLAN
        if path.exists():
            if not resume:
                raise BenchharmonyError(
                    f"{self.directory}: shards of an unfinished run; go on with --resume, or "
                    "delete the directory to start anew"
                )
            self._check_plan(json.loads(path.read_text()))
            return self.load()
        self.directory.mkdir(parents=True, exist_ok=True)
        _write(path, json.dumps(self.plan, indent=1).encode())
        return {}

    def write(self, outcomes: Mapping[int, Outcome]) -> None:
        """Write a shard; it is there whole or not at all."""
        if not outcomes:
            return
        name = f"shard-{min(outcomes):08d}-{len(outcomes)}.npz"
        partial = self.directory / f"{name}.partial"
        with partial.open("wb") as stream:
            np.savez(stream, **_arrays(outcomes))
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(self.directory / name)

    def load(self) -> dict[int, Outcome]:
        """Return every outcome of every complete shard, by item number."""
        found: dict[int, Outcome] = {}
        for path in sorted(self.directory.glob("shard-*.npz")):
            with np.load(path, allow_pickle=False) as arrays:
                found.update(_outcomes(dict(arrays)))
        return found

    def remove(self) -> None:
        """Delete the shards: the run is complete."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _check_plan(self, other: Mapping[str, Any]) -> None:
        differing = [k for k in self.plan if self.plan[k] != other.get(k)]
        if differing:
            key = differing[0]
            was, now = (json.dumps(p.get(key))[:60] for p in (other, self.plan))
            raise BenchharmonyError(
                f"{self.directory}: the unfinished run had other settings ({key}: {was}, now "
                f"{now}); use the same ones to resume, or another -o"
            )


def fingerprint(items: Sequence[WorkItem]) -> str:
    """Return a hash of every text the items are made of."""
    digest = hashlib.sha256()
    for item in items:
        generation = item.generation
        parts = (
            *(item.item_id, item.presented, item.question, item.prompt),
            *(text for pair in item.pairs for text in pair),
            *(item.answer or ()),
            *((generation.prompt, *generation.stop) if generation else ()),
        )
        digest.update("\0".join(parts).encode("utf-8", "surrogatepass") + b"\1")
    return digest.hexdigest()


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data)
    partial.replace(path)


def _arrays(outcomes: Mapping[int, Outcome]) -> dict[str, Any]:
    numbers = sorted(outcomes)
    facts = [
        [o.generated, o.truncated, o.problem, list(o.greedy), list(o.n_tokens)]
        for o in (outcomes[i] for i in numbers)
    ]
    logprobs = [outcomes[i].logprobs for i in numbers]
    arrays: dict[str, Any] = {
        "numbers": np.array(numbers, dtype=np.int64),
        "facts": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8),
        "counts": np.array([len(x) for x in logprobs], dtype=np.int64),
        "logprobs": np.array([v for x in logprobs for v in x], dtype=np.float64),
    }
    for name in sorted({name for o in outcomes.values() for name in o.views}):
        have = [i for i in numbers if name in outcomes[i].views]
        views = [outcomes[i].views[name] for i in have]
        arrays[f"{name}/numbers"] = np.array(have, dtype=np.int64)
        arrays[f"{name}/logprobs"] = np.stack([v.logprobs for v in views])
        arrays[f"{name}/rest"] = np.array([v.rest for v in views])
        arrays[f"{name}/positions"] = np.array([v.n_positions for v in views], dtype=np.int64)
        ids = [v.token_ids for v in views if v.token_ids is not None]
        if ids:
            arrays[f"{name}/ids"] = np.stack(ids)
    return arrays


def _outcomes(arrays: Mapping[str, Any]) -> dict[int, Outcome]:
    numbers = arrays["numbers"].tolist()
    facts = json.loads(arrays["facts"].tobytes())
    logprobs = np.split(arrays["logprobs"], np.cumsum(arrays["counts"])[:-1])
    views: dict[int, dict[str, View]] = {i: {} for i in numbers}
    for name in _view_names(arrays):
        ids = arrays.get(f"{name}/ids")
        for row, i in enumerate(arrays[f"{name}/numbers"].tolist()):
            views[i][name] = View(
                None if ids is None else ids[row],
                arrays[f"{name}/logprobs"][row],
                float(arrays[f"{name}/rest"][row]),
                int(arrays[f"{name}/positions"][row]),
            )
    return {
        i: Outcome(tuple(logs.tolist()), tuple(greedy), tuple(tokens), views[i], text, cut, problem)
        for i, logs, (text, cut, problem, greedy, tokens) in zip(
            numbers, logprobs, facts, strict=True
        )
    }


def _view_names(arrays: Iterable[str]) -> list[str]:
    return [key.removesuffix("/rest") for key in arrays if key.endswith("/rest")]
