"""Files that a command was asked to write: refused early where they cannot or must not be."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchharmony.errors import BenchharmonyError

#: Flags that name one file to write, by their attribute.
_FILES = {
    "output": "--output", "html": "--html", "per_item": "--per-item", "junit": "--junit",
    "record": "--record",
}  # fmt: skip


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse, before anything is read, what could not be written.

    Raises
    ------
    BenchharmonyError
        For a directory, a place where no file can be made, or two outputs of one name.
    """
    seen: dict[Path, str] = {}
    for flag, path in _asked(args):
        if path.is_dir():
            raise BenchharmonyError(
                f"{flag} {path}: cannot be written, it is a directory; name a file"
            )
        if path.exists() and not path.is_file():
            continue  # /dev/null, a pipe: several outputs may go there
        there = next((p for p in path.absolute().parents if p.exists()), Path("/"))
        if not (there.is_dir() and os.access(there, os.W_OK)):
            raise BenchharmonyError(
                f"{flag} {path}: cannot be written, no file can be made in {there}"
            )
        whole = Path(os.path.realpath(path))
        if whole in seen:
            raise BenchharmonyError(f"{seen[whole]} and {flag} name the same file: {path}")
        seen[whole] = flag


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


def _asked(args: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name, flag in _FILES.items():
        given = getattr(args, name, None)
        if given:
            yield flag, Path(given)
