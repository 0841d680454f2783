"""Datasets that Hugging Face ``datasets`` saved on disk: a folder of Arrow files.

``Dataset.save_to_disk`` writes ``state.json``, which lists the Arrow files, ``dataset_info.json``
and the files; ``DatasetDict.save_to_disk`` a folder of such folders with ``dataset_dict.json``.
They are read by the rules of tables, all Arrow files of a folder as one, without ``datasets``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile
from benchharmony.readers.tables import arrow_of, evaluations_of_table, is_arrow, table_of

_NAME = "Hugging Face dataset on disk"
_STATE, _INFO, _DICT = "state.json", "dataset_info.json", "dataset_dict.json"
#: Where a state lists the files of rows, and those of the rows chosen among them.
_FILES, _CHOSEN = "_data_files", ("_indices_data_files", "_indices_files")


def _sniff_state(file: SourceFile) -> bool:
    if b'"_data_files"' not in file.head:
        return False
    keys = {path[0] for path in outline(file.head, depth=1) if path}
    return {_FILES, "_fingerprint"} <= keys


def _read_state(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    state = file.read_json()
    shards = _listed(file, state, _FILES)
    if not shards:
        raise InputError(str(file), "a saved dataset without rows: its state lists no Arrow file")
    chosen = [s for name in _CHOSEN for s in _listed(file, state, name)]
    try:
        found = pa.concat_tables([arrow_of(s) for s in shards], promote_options="permissive")
        if chosen:
            rows = pa.concat_tables([arrow_of(s) for s in chosen]).column(0)
            found = found.take(rows)
        table = table_of(str(file), found)
    except (pa.ArrowException, IndexError, TypeError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(str(file), f"its Arrow files do not fit together ({reason})") from None
    folder = file.path.absolute().parent
    beside = [folder / _INFO, folder.parent / _DICT]
    return evaluations_of_table(
        table,
        options,
        benchmark=_benchmark(folder),
        format_name=_NAME,
        files=(str(file), *map(str, shards), *_as_named(file, beside), *map(str, chosen)),
    )


def _as_named(file: SourceFile, paths: list[Path]) -> list[str]:
    """Return the names of companions as the files of a searched folder are named."""
    up = file.path.parent
    return [
        str(up / p.name if p.parent == file.path.absolute().parent else up.parent / p.name)
        for p in paths
        if p.is_file()
    ]


def _listed(file: SourceFile, state: Any, name: str) -> list[SourceFile]:
    listed = state.get(name) if isinstance(state, Mapping) else None
    found = []
    for entry in listed if isinstance(listed, list) else []:
        named = entry.get("filename") if isinstance(entry, Mapping) else None
        if not isinstance(named, str) or Path(named).name != named:
            raise InputError(str(file), f"its state lists {str(named)[:80]!r}, no file beside it")
        path = file.path.parent / named
        if not path.is_file():
            raise InputError(str(file), f"its Arrow file {named!r} is not beside it")
        found.append(SourceFile(path))
    return found


def _benchmark(folder: Path) -> str:
    """Return the name of the folder, behind that of the whole where it is one split of it."""
    whole = folder.parent
    return f"{whole.name}/{folder.name}" if (whole / _DICT).is_file() else folder.name


def _sniff_others(file: SourceFile) -> bool:
    if is_arrow(file):
        return _is_shard(file)
    keys = {path[0] for path in outline(file.head, depth=1) if path}
    if keys == {"splits"}:
        return file.name == _DICT
    return {"features", "citation", "description"} <= keys and file.name == _INFO


def _is_shard(file: SourceFile) -> bool:
    """Whether the state beside an Arrow file lists it."""
    state = file.path.parent / _STATE
    if not state.is_file():
        return False
    beside = SourceFile(state)
    try:
        if not _sniff_state(beside):
            return False
        found = [
            s for name in (_FILES, *_CHOSEN) for s in _listed(beside, beside.read_json(), name)
        ]
    except (InputError, OSError, EOFError):
        return False
    return file.path.name in {s.path.name for s in found}


def _read_others(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    raise InputError(
        str(file), f"one file of a saved dataset; give its folder, or {_STATE} of the split"
    )


READERS: tuple[Reader, ...] = (
    Reader(
        name=_NAME,
        description="a folder that Hugging Face datasets saved (state.json and Arrow files), "
        "rows as in tables",
        sniff=_sniff_state,
        read=_read_state,
        example="my-results/test/state.json",
    ),
    Reader(
        name="Hugging Face dataset, other files",
        description="other files of such a folder: refused, they are read with their state.json",
        sniff=_sniff_others,
        read=_read_others,
        example="my-results/test/dataset_info.json",
    ),
)
