"""Small harness logs written for the tests, in the layouts met in the wild."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import Reader, ReadOptions, SourceFile, lm_eval

Row = dict[str, Any]

SAMPLES = "samples_planets_2025-06-30T19-40-09.461247.jsonl"
RESULTS = "results_2025-06-30T19-40-09.461247.json"

#: Two options an item; the right one, the log-likelihoods, and whether that is right.
PLANETS = (
    ("Which planet is nearest to the sun?", ("Mercury", "Venus"), 0, (-1.0, -2.0)),
    ("Which planet has the most mass?", ("Saturn", "Jupiter"), 1, (-1.5, -0.5)),
    ("Which planet turns on its side?", ("Uranus", "Mars"), 0, (-3.0, -2.5)),
    ("Which planet has been called red?", ("Neptune", "Mars"), 1, (-4.0, -0.25)),
)
ACCURACY = 0.75


def rows_2025(spoil: Callable[[int, Row], None] | None = None) -> list[Row]:
    """Rows as lm-eval writes them since 2025: numbers as text, hashes, filters."""
    rows = []
    for i, (question, choices, gold, values) in enumerate(PLANETS):
        row: Row = {
            "doc_id": i,
            "doc": {"question": question, "choices": list(choices), "gold": gold},
            "target": str(gold),
            "arguments": {
                f"gen_args_{k}": {"arg_0": f"Q: {question}\nA:", "arg_1": f" {c}"}
                for k, c in enumerate(choices)
            },
            "resps": [[[str(v), "False"]] for v in values],
            "filtered_resps": [[str(v), "False"] for v in values],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": "00",
            "prompt_hash": "01",
            "target_hash": "02",
            "acc": float(values.index(max(values)) == gold),
        }
        if spoil is not None:
            spoil(i, row)
        rows.append(row)
    return rows


def generated(doc_id: int, **metrics: Any) -> Row:
    """Return a row of a generation task."""
    row: Row = {
        "doc_id": doc_id,
        "doc": {"question": f"How much is {doc_id} and {doc_id}?", "answer": str(2 * doc_id)},
        "target": str(2 * doc_id),
        "arguments": {"gen_args_0": {"arg_0": "Q:", "arg_1": {"until": ["\n"]}}},
        "resps": [[" 4"]],
        "filtered_resps": [" 4"],
    }
    return row | metrics


def write_lines(path: Path, rows: Iterable[Any]) -> SourceFile:
    """Write JSON Lines; text that is already a line goes in as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return write_bytes(path, ("\n".join(lines) + "\n").encode())


def write_json(path: Path, document: Any) -> SourceFile:
    """Write one JSON document."""
    return write_bytes(path, json.dumps(document).encode())


def write_bytes(path: Path, data: bytes) -> SourceFile:
    """Write a file, compressed when its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return SourceFile(path)


def read_with(
    readers: Sequence[Reader], file: SourceFile, options: ReadOptions | None = None
) -> list[Evaluation]:
    """Read a file with the first of the readers that takes it."""
    reader = next(r for r in readers if r.sniff(file))
    return reader.read(file, options or ReadOptions())


def read_samples(folder: Path, rows: Iterable[Any], name: str = SAMPLES) -> Evaluation:
    """Write the lines of a samples log and read them."""
    return read_with(lm_eval.READERS, write_lines(folder / name, rows))[0]


def survives(readers: Sequence[Reader], file: SourceFile) -> bool:
    """Whether reading ends in evaluations or a worded error; anything else is raised."""
    for reader in readers:
        if reader.sniff(file):
            try:
                return bool(reader.read(file, ReadOptions()))
            except BenchharmonyError:
                return False
    return False


#: Values that no reader expects where they stand.
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["True", "-1.5", "1", "A", "nan", "\ud800", "none", "2" * 400]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "label", "arg_0", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def replaced(value: Any, junk: Any, where: int) -> tuple[Any, int]:
    """Return a copy with the value at one place of the tree replaced."""
    if where == 0:
        return junk, -1
    where -= 1
    if isinstance(value, dict):
        out: Any = {}
        for key, inner in value.items():
            out[key], where = replaced(inner, junk, where) if where >= 0 else (inner, -1)
        return out, where
    if isinstance(value, list):
        out = []
        for inner in value:
            new, where = replaced(inner, junk, where) if where >= 0 else (inner, -1)
            out.append(new)
        return out, where
    return value, where
