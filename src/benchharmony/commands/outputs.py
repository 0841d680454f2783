"""What a command was asked to write: refused early where it cannot or must not be written."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import discard_stdout, say

#: Flags that name one file to write, by their attribute.
_FILES = {
    "output": "--output", "html": "--html", "per_item": "--per-item", "junit": "--junit",
    "record": "--record", "plot": "--plot",
}  # fmt: skip
#: Flags that name a folder for files.
_FOLDERS = {"plots": "--plots", "export": "--export"}


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse, before anything is read, what could not be written.

    Raises
    ------
    BenchharmonyError
        For a directory where a file belongs or a file where a directory does, a place where
        nothing can be made, or two outputs of one name.
    """
    seen: dict[Path, str] = {}
    folders: dict[Path, str] = {}
    for flag, path in _folders(args):
        if path.exists() and not path.is_dir():
            raise BenchharmonyError(
                f"{flag} {path}: is a file; the files go to a directory, name one"
            )
        _check_place(flag, path, path.absolute())
        whole = Path(os.path.realpath(path))
        folders |= dict.fromkeys((whole, *whole.parents), flag)
    for flag, path in _asked(args):
        if path.is_dir():
            raise BenchharmonyError(
                f"{flag} {path}: cannot be written, it is a directory; name a file"
            )
        if path.exists() and not path.is_file():
            continue  # /dev/null, a pipe: several outputs may go there
        _check_place(flag, path, path.absolute().parent)
        whole = Path(os.path.realpath(path))
        if whole in seen:
            raise BenchharmonyError(f"{seen[whole]} and {flag} name the same file: {path}")
        seen[whole] = flag
        folders |= dict.fromkeys(whole.parents, flag)
    for whole, flag in seen.items():
        if whole in folders:
            raise BenchharmonyError(f"{flag} {whole}: {folders[whole]} needs a directory there")


def check_inputs_stay(args: argparse.Namespace, inputs: Iterable[str]) -> None:
    """Refuse to write over what was read.

    Raises
    ------
    BenchharmonyError
        When an output is one of the inputs.
    """
    read = {os.path.realpath(name) for name in inputs}
    for flag, path in _asked(args):
        if os.path.realpath(path) in read:
            raise BenchharmonyError(
                f"{flag} {path}: this file was read and would be written over; name another"
            )


class Writing:
    """Writes one output after the other: one that fails does not keep the others away.

    Parameters
    ----------
    quiet : bool
        Do not say what was written.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._failed: list[str] = []

    def __call__(self, write: Callable[[], object], *paths: object) -> None:
        """Write, then say where; a failure waits for :meth:`finish`."""
        try:
            write()
        except (BenchharmonyError, OSError) as error:
            self._failed.append(str(error))
            return
        if not self._quiet:
            for path in paths:
                say(f"written: {path}")

    def show(self, show: Callable[[], object]) -> None:
        """Print on stdout. A reader who has gone (``| head``) hides no failure of a file."""
        try:
            show()
            sys.stdout.flush()
        except BrokenPipeError:
            discard_stdout()

    def finish(self) -> None:
        """Say what could not be written.

        Raises
        ------
        BenchharmonyError
            When anything failed.
        """
        for error in self._failed[:-1]:
            say(f"benchharmony: {error}")
        if self._failed:
            raise BenchharmonyError(self._failed[-1])


def _check_place(flag: str, path: Path, folder: Path) -> None:
    there = next((p for p in (folder, *folder.parents) if p.exists()), Path("/"))
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise BenchharmonyError(f"{flag} {path}: cannot be written, no file can be made in {there}")


def _asked(args: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name, flag in _FILES.items():
        given = getattr(args, name, None)
        if given:
            yield flag, Path(given)
    card = getattr(args, "model_card", None)
    if card and not _is_folder(card):
        yield "--model-card", Path(card)
    if getattr(args, "annotate", None):
        yield "--annotate", Path(args.annotate[1])


def _folders(args: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name, flag in _FOLDERS.items():
        given = getattr(args, name, None)
        if given:
            yield flag, Path(given)
    card = getattr(args, "model_card", None)
    if card and _is_folder(card):
        yield "--model-card", Path(card)


def _is_folder(card: str) -> bool:
    from benchharmony.exports.model_card import is_folder

    return is_folder(card)
