"""Every reader there is: plug-ins first, then ours; chosen by content, or by name when told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from benchharmony.errors import BenchharmonyError, InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers.source import HEAD_BYTES, Reader, ReadOptions, SourceFile, decode

#: The entry point group that a package declares to add a format.
GROUP = "benchharmony.readers"
_LISTED = "`benchharmony formats` lists them"

#: Modules of this package that hold a ``READERS`` tuple, most specific format first: the first
#: reader whose ``sniff`` says yes reads the file.
_MODULES = (
    "own",
    "written",
    "pickles",
    "matrix_files",
    "npz",
    "lm_eval",
    "lm_eval_forks",
    "naep",
    "helm",
    "lighteval",
    "lighteval_old",
    "mmlu_csv",
    "bbq",
    "mmlu_pro",
    "inverse_scaling",
    "every_eval_ever",
    "inspect_ai",
    "zeroeval",
    "datasets_on_disk",
    "tables",
)


@dataclass(frozen=True)
class Registry:
    """The readers, and the plug-ins that could not be loaded.

    Attributes
    ----------
    readers : tuple of Reader
        Plug-ins first, then ours.
    plugins : frozenset of str
        Names of the readers that come from plug-ins.
    broken : tuple of str
        One line for each plug-in that gives no reader, with the reason.
    """

    readers: tuple[Reader, ...]
    plugins: frozenset[str]
    broken: tuple[str, ...]


@cache
def loaded() -> Registry:
    """Load every reader; a plug-in that fails is named and left out."""
    added: list[Reader] = []
    broken: list[str] = []
    for point in entry_points(group=GROUP):
        try:
            added.append(_guarded(_loaded(point), point))
        except (Exception, SystemExit) as error:  # whatever a stranger's package does
            broken.append(f"plug-in {_origin(point)} is not used: {_words(error)}")
    own = tuple(
        reader for module in _MODULES for reader in import_module(f"{__package__}.{module}").READERS
    )
    return Registry((*added, *own), frozenset(r.name for r in added), tuple(broken))


def readers() -> tuple[Reader, ...]:
    """Return every reader: plug-ins (entry point ``benchharmony.readers``) first, then ours."""
    return loaded().readers


def readers_named(name: str) -> tuple[Reader, ...]:
    """Return the readers that a name means: the whole name, or else its beginning.

    Upper and lower case are the same, and so are spaces, hyphens and underscores: "lm-eval" means
    every reader of lm-eval.

    Raises
    ------
    BenchharmonyError
        When there is none; the message lists the names.
    """
    wanted = _plain(name)
    exact = tuple(r for r in readers() if _plain(r.name) == wanted)
    found = exact or tuple(r for r in readers() if wanted and _plain(r.name).startswith(wanted))
    if not found:
        names = ", ".join(repr(r.name) for r in readers())
        raise BenchharmonyError(f"no format {name!r}; the formats are: {names}")
    return found


def read_with(reader: Reader, file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Read a file with one reader, and record which one it was.

    Raises
    ------
    InputError
        With the reader's own reason when the file is not usable.
    """
    found = reader.read(file, options)
    if not found:
        raise InputError(str(file), f"no usable item in it (read as {reader.name})")
    return [_with_format(e, reader, file) for e in found]


def read_recognised(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Read a file with the first reader that takes it.

    A plug-in that takes a file and fails stands in nobody's way: the next reader is asked, and
    what went wrong is a note.

    Raises
    ------
    InputError
        When no reader takes the file, or the one that does finds nothing usable.
    """
    failed: list[InputError] = []
    for reader in readers():
        if not reader.sniff(file):
            continue
        if reader.name not in loaded().plugins:
            return _with_notes(read_with(reader, file, options), failed)
        try:
            return _with_notes(read_with(reader, file, options), failed)
        except InputError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    raise InputError(str(file), f"not a format this version knows{_broken_json(file)}; {_LISTED}")


def _broken_json(file: SourceFile) -> str:
    """Return what is wrong with a file that begins like JSON and is none: that may be why."""
    if not file.head.lstrip().startswith((b"{", b"[")):
        return ""
    first = next((line for line in file.head.splitlines() if line.strip()), b"")
    try:
        if len(file.head) < HEAD_BYTES:
            decode(file.head)
        return ""
    except ValueError as error:
        try:
            decode(first)  # JSON Lines
        except ValueError:
            return f", and not valid JSON ({error})"
    return ""


def read_as(name: str, file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Read a file with the reader of a name, whether or not its content looks like it.

    Raises
    ------
    InputError
        With that reader's reason when the file is not of its format.
    """
    chosen = readers_named(name)
    reader = next((r for r in chosen if r.sniff(file)), chosen[0])
    try:
        return read_with(reader, file, options)
    except InputError as error:
        problem = error.problem
        raise InputError(
            problem.path, f"read as {reader.name}: {problem.reason}", problem.line
        ) from None
    except (BenchharmonyError, OSError, EOFError):
        raise
    except Exception as error:
        # A reader may rely on what it looks for in sniff, and this file has not passed that.
        if reader.sniff(file):
            raise
        raise InputError(
            str(file), f"read as {reader.name}: its content is not of that format ({_words(error)})"
        ) from None


def _with_notes(found: list[Evaluation], failed: list[InputError]) -> list[Evaluation]:
    notes = tuple(f"another reader took the file first: {f.problem.reason}" for f in failed)
    return [replace(e, notes=e.notes + notes) for e in found] if notes else found


def _with_format(evaluation: Evaluation, reader: Reader, file: SourceFile) -> Evaluation:
    source = evaluation.source
    files = source.files if str(file) in source.files else (str(file), *source.files)
    return replace(evaluation, source=replace(source, format=reader.name, files=files))


def _loaded(point: EntryPoint) -> Reader:
    found = point.load()
    if not isinstance(found, Reader):
        raise TypeError(f"it gives a {type(found).__name__}, not a benchharmony.readers.Reader")
    return found


def _guarded(reader: Reader, point: EntryPoint) -> Reader:
    """Return a plug-in's reader whose faults become worded errors, told with its name."""

    def sniff(file: SourceFile) -> bool:
        try:
            return bool(reader.sniff(file))
        except (Exception, SystemExit):
            # As good as "not mine": the file is offered to the others. The conformance test,
            # which authors run, tells of it.
            return False

    def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
        try:
            found = list(reader.read(file, options))
        except BenchharmonyError:
            raise
        except (Exception, SystemExit) as error:
            reason = f"plug-in {_origin(point)} failed: {_words(error)}"
            raise InputError(str(file), reason) from None
        for value in found:
            if not isinstance(value, Evaluation):
                kind = type(value).__name__
                reason = f"plug-in {_origin(point)} gave a {kind} in place of an Evaluation"
                raise InputError(str(file), reason)
        return found

    return replace(reader, sniff=sniff, read=read)


def _origin(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else point.module
    return f"{point.name} of {package}"


def _words(error: BaseException) -> str:
    text = str(error).split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
