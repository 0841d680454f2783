"""Reading logs: which reader a file belongs to, and everything a set of sources holds."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

__all__ = ["ReadOptions", "ReadResult", "Reader", "SourceFile", "read_sources", "readers"]

#: Modules of this package that hold a ``READERS`` tuple, most specific format first: the first
#: reader whose ``sniff`` says yes reads the file.
_MODULES = (
    "own",
    "npz",
    "lm_eval",
    "lm_eval_forks",
    "naep",
    "helm",
    "lighteval",
    "mmlu_csv",
    "bbq",
    "mmlu_pro",
    "inverse_scaling",
    "every_eval_ever",
    "inspect_ai",
    "tables",
)

#: Files in a searched directory that nobody means as a log.
_SKIPPED_SUFFIXES = (".md", ".py", ".yaml", ".yml", ".txt", ".html", ".png", ".svg", ".ipynb")


@dataclass(frozen=True)
class ReadResult:
    """What a set of sources held.

    Attributes
    ----------
    evaluations : tuple of Evaluation
        In the order of the sources, files of a directory by name.
    unused : tuple of Problem
        Files that could not be used, each with the reason.
    notes : tuple of str
        What was merged or skipped, in words.
    """

    evaluations: tuple[Evaluation, ...]
    unused: tuple[Problem, ...]
    notes: tuple[str, ...]


@cache
def readers() -> tuple[Reader, ...]:
    """Return every reader: plug-ins (entry point ``benchharmony.readers``) first, then ours."""
    found: list[Reader] = [p.load() for p in entry_points(group="benchharmony.readers")]
    for module in _MODULES:
        found.extend(import_module(f"{__name__}.{module}").READERS)
    return tuple(found)


def read_sources(
    sources: Iterable[str | Path],
    options: ReadOptions | None = None,
    *,
    score: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> ReadResult:
    """Read every evaluation of files, directories and globs.

    Parameters
    ----------
    sources : iterable of str or Path
        Files, directories (searched through) or glob patterns.
    options : ReadOptions, optional
        Column names and default names for tables.
    score : str, optional
        Metric to use as score; an evaluation without it is not used, and named.
    progress : callable, optional
        Called with each file name before it is read.

    Raises
    ------
    InputError
        When a source does not exist.
    """
    options = options or ReadOptions()
    evaluations: list[Evaluation] = []
    unused: list[Problem] = []
    for path in _files(sources):
        if progress is not None:
            progress(str(path))
        try:
            evaluations.extend(_read_file(SourceFile(path), options))
        except InputError as error:
            unused.append(error.problem)
        except BenchharmonyError as error:
            unused.append(Problem(str(path), str(error)))
        except (OSError, EOFError) as error:
            unused.append(Problem(str(path), f"cannot be read to its end: {_reason(error)}"))
    if score is not None:
        evaluations = list(_with_score(evaluations, score, unused))
    kept, notes = _without_repeats(evaluations)
    used = {file for e in evaluations for file in e.source.files}
    return ReadResult(
        tuple(kept), tuple(p for p in unused if p.path not in used or p.line), tuple(notes)
    )


def _read_file(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    if not file.head.strip():
        raise InputError(str(file), "the file is empty")
    for reader in readers():
        if reader.sniff(file):
            found = reader.read(file, options)
            if not found:
                raise InputError(str(file), f"no usable item in it (read as {reader.name})")
            return [_with_format(e, reader, file) for e in found]
    raise InputError(
        str(file), "not a format this version knows; `benchharmony formats` lists them"
    )


def _with_format(evaluation: Evaluation, reader: Reader, file: SourceFile) -> Evaluation:
    source = evaluation.source
    files = source.files if str(file) in source.files else (str(file), *source.files)
    return replace(evaluation, source=replace(source, format=reader.name, files=files))


def _files(sources: Iterable[str | Path]) -> Iterator[Path]:
    seen: set[str] = set()
    for source in sources:
        for path in _expand(source):
            resolved = os.path.realpath(path)  # unlike Path.resolve, it bears links in a circle
            if resolved not in seen:
                seen.add(resolved)
                yield path


def _expand(source: str | Path) -> list[Path]:
    if not str(source).strip():
        raise InputError("''", "an empty name of a source; give a file, a directory or a glob")
    path = Path(source)
    if path.is_dir():
        return sorted(
            p
            for p in path.rglob("*")
            if p.is_file()
            and p.suffix.lower() not in _SKIPPED_SUFFIXES
            and not any(part.startswith(".") for part in p.relative_to(path).parts)
        )
    if path.exists():
        return [path]
    matches = sorted(Path(p) for p in glob.glob(str(source), recursive=True))
    if not matches:
        raise InputError(str(source), "no such file or directory")
    return [file for match in matches for file in (_expand(match) if match.is_dir() else [match])]


def _with_score(
    evaluations: list[Evaluation], score: str, unused: list[Problem]
) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        try:
            yield evaluation.with_score(score)
        except BenchharmonyError as error:
            unused.append(Problem(evaluation.source.files[0], str(error)))


def _without_repeats(evaluations: list[Evaluation]) -> tuple[list[Evaluation], list[str]]:
    """Keep the first of evaluations that hold the same results of the same model."""
    kept: dict[str, Evaluation] = {}
    notes = []
    for evaluation in evaluations:
        key = _content_key(evaluation)
        if key in kept:
            notes.append(
                f"{evaluation.source.files[0]}: same results as {kept[key].source.files[0]} "
                f"({evaluation.name}), reported once"
            )
        else:
            kept[key] = evaluation
    return list(kept.values()), notes


def _content_key(evaluation: Evaluation) -> str:
    digest = hashlib.sha256()
    for text in (evaluation.benchmark, evaluation.model, evaluation.score_name):
        digest.update(text.encode() + b"\0")
    digest.update("\0".join(evaluation.item_ids).encode())
    arrays: list[Any] = [evaluation.scores, evaluation.option_logprobs]
    for view in evaluation.predictive.values():
        arrays += [view.logprobs, view.token_ids]
    for array in arrays:
        digest.update(b"-" if array is None else array.tobytes())
    return digest.hexdigest()


def _reason(error: BaseException) -> str:
    return str(error).split("\n")[0] or type(error).__name__
