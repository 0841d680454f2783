"""Reading logs: which reader a file belongs to, and everything a set of sources holds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.columns import ROLES
from benchharmony.readers.finding import Finder
from benchharmony.readers.registry import (
    loaded,
    read_as,
    read_recognised,
    readers,
    readers_named,
)
from benchharmony.readers.source import Reader, ReadOptions, SourceFile
from benchharmony.readers.written import has_items

__all__ = [
    "InputError",
    "Problem",
    "ReadOptions",
    "ReadResult",
    "Reader",
    "SourceFile",
    "read_sources",
    "readers",
]

#: Readers that heed ``ReadOptions.columns`` have names that end so.
TABLE_FORMATS = ("table", "matrix", "dataset on disk")


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


def read_sources(
    sources: Iterable[str | Path],
    options: ReadOptions | None = None,
    *,
    score: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> ReadResult:
    """Read every evaluation of files, directories, globs and URLs.

    Parameters
    ----------
    sources : iterable of str or Path
        Files, directories (searched through), glob patterns, or URLs of any of these.
    options : ReadOptions, optional
        Column names and default names for tables.
    score : str, optional
        Metric to use as score; an evaluation without it is not used, and named.
    progress : callable, optional
        Called with each file name before it is read.

    Raises
    ------
    InputError
        When a source does not exist or cannot be reached.
    BenchharmonyError
        When the options name a format or a column role that does not exist.
    """
    options = options or ReadOptions()
    _check(options)
    with closing(Finder(progress)) as finder:
        return _read_found(finder, sources, options, score, progress)


def _read_found(
    finder: Finder,
    sources: Iterable[str | Path],
    options: ReadOptions,
    score: str | None,
    progress: Callable[[str], None] | None,
) -> ReadResult:
    evaluations: list[Evaluation] = []
    unused: list[Problem] = []
    sources = list(sources)
    named = {os.path.abspath(source) for source in sources}
    for path in finder.files(sources):
        if progress is not None:
            progress(finder.name_of(path))
        try:
            is_named = os.path.abspath(finder.name_of(path)) in named
            evaluations.extend(_read_file(SourceFile(path), options, is_named))
        except InputError as error:
            unused.append(error.problem)
        except BenchharmonyError as error:
            unused.append(Problem(str(path), str(error)))
        except (OSError, EOFError) as error:
            unused.append(Problem(str(path), f"cannot be read to its end: {_reason(error)}"))
    if score is not None:
        evaluations = list(_with_score(evaluations, score, unused))
    kept, repeats = _without_repeats(evaluations)
    notes = [*loaded().broken, *finder.notes, *_unheeded(options, evaluations), *repeats]
    used = {file for e in evaluations for file in e.source.files}
    unused = [*finder.problems, *(p for p in unused if p.path not in used or p.line)]
    return ReadResult(
        tuple(finder.renamed(e) for e in kept),
        tuple(map(finder.renamed_problem, unused)),
        tuple(map(finder.renamed_text, notes)),
    )


def _check(options: ReadOptions) -> None:
    """Refuse what would else be ignored without a word."""
    if options.format is not None:
        readers_named(options.format)
    for role in options.columns:
        if role not in ROLES:
            raise BenchharmonyError(f"no column role {role!r}; the roles are: {', '.join(ROLES)}")


def _unheeded(options: ReadOptions, evaluations: list[Evaluation]) -> list[str]:
    """Tell where columns were named and no source has columns to choose from."""
    if not options.columns or not evaluations:
        return []
    formats = {e.source.format for e in evaluations}
    if any(name.endswith(TABLE_FORMATS) for name in formats):
        return []
    return [f"--column has no effect: it is for tables, and these are {', '.join(sorted(formats))}"]


def _read_file(file: SourceFile, options: ReadOptions, is_named: bool) -> list[Evaluation]:
    if not file.head.strip():
        raise InputError(str(file), "the file is empty")
    if options.format is not None:
        return read_as(options.format, file, options)
    if not is_named and has_items(file):
        raise InputError(str(file), "items that benchharmony wrote; name the file to read it")
    return read_recognised(file, options)


def _with_score(
    evaluations: list[Evaluation], score: str, unused: list[Problem]
) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        try:
            yield evaluation.with_score(score)
        except BenchharmonyError as error:
            unused.append(Problem(evaluation.source.files[0], str(error)))


def _without_repeats(evaluations: list[Evaluation]) -> tuple[list[Evaluation], list[str]]:
    """Keep the first of evaluations that hold the same results of the same model.

    Recorded probabilities are results too: partitions are made of them.
    """
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
