"""From what a user names to files: directories, globs, URLs and archives of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.registry import readers
from benchharmony.readers.source import SKIPPED_SUFFIXES, SourceFile
from benchharmony.readers.unpacked import is_tar, is_zip, unpack


class Finder:
    """The files of some sources; those behind URLs are called by their address, not by their copy.

    Parameters
    ----------
    progress : callable, optional
        Called with the name of each remote file before it is fetched.

    Attributes
    ----------
    problems : list of Problem
        Remote files that could not be fetched.
    notes : list of str
        What was fetched.
    """

    def __init__(self, progress: Callable[[str], None] | None = None) -> None:
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self._progress = progress
        self._names: dict[str, str] = {}
        self._folders: list[TemporaryDirectory[str]] = []

    def files(self, sources: Iterable[str | Path]) -> Iterator[Path]:
        """Yield the files of the sources, each once.

        Raises
        ------
        InputError
            When a source does not exist or cannot be reached.
        """
        seen: set[str] = set()
        for source in sources:
            for path in self._expand(source):
                resolved = os.path.realpath(path)  # unlike Path.resolve, it bears links in a circle
                if resolved not in seen:
                    seen.add(resolved)
                    yield from self._unpacked(path)

    def close(self) -> None:
        """Remove what was unpacked."""
        for folder in self._folders:
            folder.cleanup()

    def _unpacked(self, path: Path) -> list[Path]:
        """Return the files of an archive that no reader takes as it is, or the file itself."""
        file = SourceFile(path)
        try:
            is_archive = is_tar(file) or (
                is_zip(file) and not any(r.sniff(file) for r in readers())
            )
        except (OSError, EOFError):
            return [path]
        if not is_archive:
            return [path]
        folder = TemporaryDirectory(prefix="benchharmony-")
        self._folders.append(folder)
        try:
            # Named after the archive: readers take a model from the name of a folder.
            found = unpack(file, Path(folder.name) / Path(file.name).stem.removesuffix(".tar"))
        except InputError as error:
            self.problems.append(error.problem)
            return []
        if not found:
            self.problems.append(Problem(str(path), "an archive without a file that may be a log"))
        outer = self.name_of(path)
        self._names |= {str(p): name.replace(str(path), outer, 1) for p, name in found.items()}
        return sorted(found)

    def _expand(self, source: str | Path) -> list[Path]:
        from benchharmony.readers.remote import fetch, is_remote, local_path

        # A name with colons may be that of a file here; os.path bears addresses of any length.
        if not isinstance(source, str) or not is_remote(source) or os.path.lexists(source):
            return _expand(source)
        local = local_path(source)
        if local is not None:
            return _expand(local)
        fetched = fetch(source, self._progress)
        self.problems += fetched.problems
        self.notes += fetched.notes
        self._names |= {str(path): name for path, name in fetched.names.items()}
        return sorted(fetched.names)

    def name_of(self, path: Path) -> str:
        """Return what to call a file."""
        return self._names.get(str(path), str(path))

    def renamed_text(self, text: str) -> str:
        """Return a text in which copies of remote files are called by their address."""
        for path, name in self._names.items():
            if path in text:
                text = text.replace(path, name)
        return text

    def renamed_problem(self, problem: Problem) -> Problem:
        """Return a problem in which copies of remote files are called by their address."""
        if not self._names:
            return problem
        return replace(
            problem,
            path=self.renamed_text(problem.path),
            reason=self.renamed_text(problem.reason),
        )

    def renamed(self, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation in which copies of remote files are called by their address."""
        if not self._names:
            return evaluation
        source = replace(
            evaluation.source,
            files=tuple(map(self.renamed_text, evaluation.source.files)),
            problems=tuple(map(self.renamed_problem, evaluation.source.problems)),
        )
        notes = tuple(map(self.renamed_text, evaluation.notes))
        return replace(evaluation, source=source, notes=notes)


def _expand(source: str | Path) -> list[Path]:
    if not str(source).strip():
        raise InputError("''", "an empty name of a source; give a file, a directory or a glob")
    path = Path(source)
    if path.is_dir():
        return sorted(
            p
            for p in path.rglob("*")
            if p.is_file()
            and p.suffix.lower() not in SKIPPED_SUFFIXES
            and not any(part.startswith(".") for part in p.relative_to(path).parts)
        )
    if path.exists():
        return [path]
    matches = sorted(Path(p) for p in glob.glob(str(source), recursive=True))
    if not matches:
        raise InputError(str(source), "no such file or directory")
    return [file for match in matches for file in (_expand(match) if match.is_dir() else [match])]
