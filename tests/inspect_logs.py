"""Small Inspect AI logs written for the tests, in each layout that a log is stored in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchharmony.readers import SourceFile
from harness_logs import write_json
from zips import write_zip, write_zstandard_zip

Sample = dict[str, Any]
Log = dict[str, Any]

LAYOUTS = ("river.eval", "river.zstd.eval", "river.json", "river.json.gz")


def sample(item: Any, value: Any, epoch: int = 1, **more: Any) -> Sample:
    """Return a sample as it is stored, scored by ``match``."""
    base: Sample = {
        "id": item,
        "epoch": epoch,
        "input": f"Where does river {item} end?",
        "choices": ["in a sea", "in a lake", "in a desert"],
        "target": "B",
        "messages": [{"role": "user", "content": "never read"}],
        "output": {"model": "owl", "choices": []},
        "scores": {"match": {"value": value, "answer": "B"}},
        "metadata": {"region": "north" if str(item) < "c" else "south", "note": "x" * 99},
    }
    return base | more


def run(samples: Iterable[Sample], *, accuracy: float | None = None, **more: Any) -> Log:
    """Return a whole log; ``accuracy`` is what it states about ``match``."""
    stated = {} if accuracy is None else {"accuracy": {"name": "accuracy", "value": accuracy}}
    base: Log = {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": "r",
            "created": "2026-01-02T03:04:05+00:00",
            "task": "rivers",
            "dataset": {"name": "rivers", "sample_ids": ["a", "b", "c", "d"]},
            "model": "pond/owl-7b",
            "packages": {"inspect_ai": "0.3.0"},
        },
        "plan": {"name": "plan", "config": {"temperature": 0.5}},
        "results": {"scores": [{"name": "match", "scorer": "match", "metrics": stated}]},
    }
    return base | more | {"samples": list(samples)}


def four() -> list[Sample]:
    """Return four samples, not in the order of the run; three of them right."""
    return [sample(item, "CCIC"["abcd".index(item)]) for item in "dbac"]


def members_of(log: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Return a log as the members of an archive."""
    header = {k: v for k, v in log.items() if k != "samples"}
    start = {k: header[k] for k in ("version", "eval", "plan") if k in header}
    files: list[tuple[str, Any]] = [("_journal/start.json", start)]
    # Named by place: an id that is junk is no name of a member.
    files += [(f"samples/{k}_epoch_1.json", s) for k, s in enumerate(log["samples"])]
    files += [("summaries.json", []), ("header.json", header)]
    return [(name, json.dumps(value).encode()) for name, value in files]


def write_log(path: Path, log: Mapping[str, Any]) -> SourceFile:
    """Write a log in the layout that the name of the file asks for."""
    if path.name.endswith(".zstd.eval"):
        return write_zstandard_zip(path, members_of(log))
    if path.suffix == ".eval":
        return write_zip(path, members_of(log))
    return write_json(path, log)


def tokens(*listed: Mapping[str, float], more: int = 1) -> Any:
    """Return an output with top tokens of probabilities as listed, one mapping a place."""
    places = [
        {
            "token": next(iter(row), ""),
            "logprob": -0.5,
            "top_logprobs": [
                {"token": t, "logprob": math.log(p) if p > 0 else p, "bytes": []}
                for t, p in row.items()
            ],
        }
        for row in listed
    ]
    return {"choices": [{"message": {}, "logprobs": {"content": places * more}}]}
