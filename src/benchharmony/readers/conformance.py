"""What every reader must do, as a test that authors of plug-ins run over their own examples.

::

    from benchharmony.readers.conformance import assert_conforms

    def test_my_reader():
        assert_conforms(READER, ["examples/one.mylog", "examples/two.mylog"])
"""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

#: Small files of other formats, which no other reader may claim.
_FOREIGN: tuple[tuple[str, bytes], ...] = (
    ("empty.log", b""),
    ("table.csv", b"id,correct\na,1\nb,0\n"),
    ("rows.jsonl", b'{"id": 1, "correct": true}\n{"id": 2, "correct": false}\n'),
    ("rows.json", b'[{"id": 1, "correct": true}]'),
    ("cut.json", b'{"here": {"there": '),
    ("prose.txt", "Some words and no log \u00e9\u4e16\n".encode()),
    ("noise.bin", bytes(random.Random(0).randrange(256) for _ in range(2000))),
    ("zip.zip", b"PK\x03\x04" + b"\0" * 60),
    ("zeros.bin", b"\0" * 1000),
)
#: Where an example is cut off, as a share of its length, and how many of its bytes are changed.
_CUTS = (0.1, 0.5, 0.9, 0.99)
_FLIPS = (1, 3, 20)
#: Errors that the caller of a reader turns into a worded line.
_WORDED = (BenchharmonyError, OSError, EOFError)


def assert_conforms(
    reader: Reader, examples: Sequence[str | Path], *, options: ReadOptions | None = None
) -> None:
    """Raise :class:`AssertionError` with every complaint about a reader; see :func:`complaints`."""
    found = complaints(reader, examples, options=options)
    if found:
        raise AssertionError(f"reader {reader.name!r}: " + "; ".join(found))


def complaints(
    reader: Reader, examples: Sequence[str | Path], *, options: ReadOptions | None = None
) -> list[str]:
    """Return what a reader does not do as it must.

    Parameters
    ----------
    reader : Reader
        The reader.
    examples : sequence of str or Path
        Files of its format, each in a folder with the companions that it needs.
    options : ReadOptions, optional
        What a caller must say so that the examples are read.

    Returns
    -------
    list of str
        Empty where all is well. A reader must take its examples and nothing else, give
        evaluations that are the same every time, leave all files alone, and meet files that are
        cut off or damaged with worded errors only.
    """
    options = options or ReadOptions()
    found = list(_about_names(reader))
    if not examples:
        found.append("no example was given")
    for example in map(Path, examples):
        found += [f"{example.name}: {words}" for words in _about_example(reader, example, options)]
        found += [f"{example.name}: {words}" for words in _about_damage(reader, example, options)]
    found += _about_others(reader)
    return found


def _about_names(reader: Reader) -> Iterator[str]:
    for what in ("name", "description", "example"):
        text = getattr(reader, what)
        if not isinstance(text, str) or "\n" in text or (what != "example" and not text.strip()):
            yield f"its {what} is not one line of text"


def _about_example(reader: Reader, example: Path, options: ReadOptions) -> Iterator[str]:
    before = _state_of(example.parent)
    try:
        taken = reader.sniff(SourceFile(example))
    except Exception as error:
        yield f"sniff raises {type(error).__name__}"
        return
    if taken is not True:
        yield f"sniff returns {taken!r} and not True"
    try:
        first, again = (list(reader.read(SourceFile(example), options)) for _ in range(2))
    except Exception as error:
        yield f"read raises {type(error).__name__}: {error}"
        return
    if not first:
        yield "read returns no evaluation"
    for evaluation in first:
        yield from _about_evaluation(evaluation)
    if not all(isinstance(e, Evaluation) for e in first) or not _same(first, again):
        yield "two readings of one file differ"
    if _state_of(example.parent) != before:
        yield "read changes or writes files"


def _about_evaluation(evaluation: object) -> Iterator[str]:
    if not isinstance(evaluation, Evaluation):
        yield f"read returns a {type(evaluation).__name__} and not an Evaluation"
        return
    if not evaluation.benchmark.strip() or not evaluation.model.strip():
        yield "an evaluation without a name of its benchmark or model"
    held = (evaluation.scores, evaluation.option_logprobs, evaluation.predictive or None)
    if all(part is None for part in held):
        yield "an evaluation without scores, options and distributions"
    source = evaluation.source
    if source.items_read < len(evaluation):
        yield f"items_read is {source.items_read} for {len(evaluation)} items"
    for problem in source.problems:
        if "\n" in str(problem) or not problem.reason.strip():
            yield "a problem is not worded in one line"
            break
    with tempfile.TemporaryDirectory() as folder:
        try:
            evaluation.save(Path(folder) / "e.parquet")
            Evaluation.load(Path(folder) / "e.parquet")
        except Exception as error:
            yield f"an evaluation cannot be saved and loaded ({type(error).__name__}: {error})"


def _same(first: Sequence[Evaluation], again: Sequence[Evaluation]) -> bool:
    if len(first) != len(again):
        return False
    return all(
        (a.name, a.item_ids, a.score_name) == (b.name, b.item_ids, b.score_name)
        and _equal(a.scores, b.scores)
        and _equal(a.option_logprobs, b.option_logprobs)
        for a, b in zip(first, again, strict=True)
    )


def _equal(a: object, b: object) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True))


def _about_damage(reader: Reader, example: Path, options: ReadOptions) -> Iterator[str]:
    """Try the example cut off and with bytes changed, in a copy of its folder."""
    data = example.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / example.parent.name / example.name
        with contextlib.suppress(OSError):
            copy.parent.mkdir(parents=True)
            for beside in example.parent.iterdir():
                if beside.is_file():
                    shutil.copyfile(beside, copy.parent / beside.name)
        for words, damaged in _damages(data):
            copy.write_bytes(damaged)
            file = SourceFile(copy)
            try:
                if reader.sniff(file):
                    list(reader.read(file, options))
            except _WORDED as error:
                if "\n" in str(error):
                    yield f"{words}: its error has several lines"
            except Exception as error:
                yield f"{words}: raises {type(error).__name__}: {str(error)[:100]}"


def _damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    for share in _CUTS:
        yield f"cut off at {share:.0%}", data[: int(len(data) * share)]
    draw = random.Random(len(data))
    for count in _FLIPS:
        changed = bytearray(data)
        for _ in range(count if data else 0):
            changed[draw.randrange(len(data))] = draw.randrange(256)
        yield f"{count} bytes changed", bytes(changed)


def _about_others(reader: Reader) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in _FOREIGN:
            path = Path(folder) / name
            path.write_bytes(data)
            try:
                taken = reader.sniff(SourceFile(path))
            except Exception as error:
                yield f"sniff raises {type(error).__name__} on {name}"
                continue
            if taken:
                yield f"sniff claims {name}, which is of another format"


def _state_of(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in sorted(folder.iterdir()):
        facts = path.stat()
        found[path.name] = (facts.st_size, facts.st_mtime_ns)
    return found
