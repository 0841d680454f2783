"""A rebalanced benchmark as files: what is kept, what is dropped and why, and how to run it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, InputError
from benchharmony.readers.source import SourceFile, decode
from benchharmony.rebalancing.result import Rebalance
from benchharmony.writing import file_stem, write_whole

#: Fields that may hold an item's id in a benchmark file, most trusted first.
ID_FIELDS = ("id", "item_id", "question_id", "doc_id")


def export(
    result: Rebalance,
    folder: str | Path,
    *,
    items: str | Path | None = None,
    task: str | None = None,
) -> tuple[list[Path], list[str]]:
    """Write everything that the result and the benchmark file allow.

    Parameters
    ----------
    result : Rebalance
        Of one benchmark, whose name begins the names of the files.
    folder : path
        Made where it is missing.
    items : path, optional
        The benchmark's own JSON Lines file: gives a pruned copy, and places for lm-eval.
    task : str, optional
        Name of the lm-eval task; the benchmark's name by default.

    Returns
    -------
    written : list of Path
    notes : list of str
        What could not be written, and why.

    Raises
    ------
    InputError
        Where ``items`` asks for a pruned copy and none can be made; nothing is written then.
    """
    base = Path(folder) / file_name(result.benchmark)
    made: dict[str, bytes] = {"-keep.jsonl": _lines(keep_list(result))}
    notes: list[str] = []
    if result.strategy == "weights":
        made["-weights.jsonl"] = _lines(weight_list(result))
    else:
        made["-drop.jsonl"] = _lines(drop_list(result))
        notes = _for_the_harness(made, result, items, task)
    written = []
    for ending, data in made.items():  # all of it is there before the first file is
        path = base.with_name(base.name + ending)
        write_whole(path, data)
        written.append(path)
    return written, notes


def _for_the_harness(
    made: dict[str, bytes], result: Rebalance, items: str | Path | None, task: str | None
) -> list[str]:
    """Add the pruned copy, where it is asked for, and the sample list; return notes."""
    notes: list[str] = []
    if items is not None:
        made["-pruned.jsonl"], notes = pruned_lines(result, items)
    try:
        samples = lm_eval_samples(result, items=items, task=task)
    except BenchharmonyError as error:
        notes.append(f"no lm-eval sample list: {error}")
    else:
        made["-samples.json"] = (json.dumps(samples) + "\n").encode()
    return notes


def keep_list(result: Rebalance) -> Iterator[dict[str, Any]]:
    """Yield ``item_id, subdomain`` of the kept items."""
    for item, subdomain in zip(result.kept, result.kept_subdomains, strict=True):
        yield {"item_id": item, "subdomain": subdomain}


def drop_list(result: Rebalance) -> Iterator[dict[str, Any]]:
    """Yield ``place, item_id, subdomain, nearest_kept, similarity, reason`` of dropped items."""
    for d in result.dropped:
        yield dict(vars(d))


def weight_list(result: Rebalance) -> Iterator[dict[str, Any]]:
    """Yield ``item_id, weight``: weights of mean 1 under which every subdomain counts equally."""
    size = {s.label: s.before for s in result.sizes}
    share = len(result.kept) / len(size)
    for item, subdomain in zip(result.kept, result.kept_subdomains, strict=True):
        yield {"item_id": item, "weight": share / size[subdomain]}


def pruned_lines(result: Rebalance, items: str | Path) -> tuple[bytes, list[str]]:
    """Return the kept items' lines of a JSON Lines benchmark, byte for byte, and notes.

    Lines of items that were not evaluated are left out, and a note counts them.

    Raises
    ------
    InputError
        When the file is missing or holds none of the kept items.
    """
    places = _places(items)
    kept, dropped = set(result.kept), {d.item_id for d in result.dropped}
    wanted = {number for item, (_, number) in places.items() if item in kept}
    if not wanted:
        raise InputError(
            str(items),
            f"none of the {len(kept)} kept items is in this file (first id kept: "
            f"{result.kept[0]!r}; there: {next(iter(places), None)!r})",
        )
    lines = [line for number, line in SourceFile(items).lines() if number in wanted]
    notes = []
    others = sum(item not in kept and item not in dropped for item in places)
    if others:
        notes.append(f"{items}: {others} items were not evaluated and are left out of the copy")
    if len(wanted) < len(kept):
        notes.append(f"{items}: {len(kept) - len(wanted)} kept items are not in this file")
    return b"".join(x if x.endswith(b"\n") else x + b"\n" for x in lines), notes


def lm_eval_samples(
    result: Rebalance, *, items: str | Path | None = None, task: str | None = None
) -> dict[str, list[int]]:
    """Return what ``lm-eval --samples`` takes: the task's name and the places of the kept items.

    Places are those of the lines of ``items`` (the task's own data file) where it is given;
    otherwise the item ids must be the harness's document numbers. They ascend: the harness
    (0.4.13) numbers its log by them in this order and mislabels items otherwise.

    Raises
    ------
    BenchharmonyError
        When the places of the kept items cannot be told.
    """
    name = task or result.benchmark
    if items is not None:
        places = _places(items)
        missing = [i for i in result.kept if i not in places]
        if missing:
            raise InputError(
                str(items), f"{len(missing)} kept items are not in this file, as {missing[0]!r}"
            )
        return {name: sorted(places[i][0] for i in result.kept)}
    numbers = [i for i in result.kept if re.fullmatch(r"0|[1-9][0-9]{0,8}", i)]
    if len(numbers) < len(result.kept):
        other = next(i for i in result.kept if i not in set(numbers))
        raise BenchharmonyError(
            f"item ids such as {other!r} are not the harness's document numbers; give the task's "
            "data file with --items"
        )
    return {name: sorted(map(int, numbers))}


def _places(items: str | Path) -> dict[str, tuple[int, int]]:
    """Return (place among the items, line number) by item id; the first of repeated ids.

    Items without any id are known by their place, as the harness numbers them.
    """
    file = SourceFile(items)
    if not file.path.is_file():
        raise InputError(str(items), "no such file")
    records = []
    for place, (number, line) in enumerate(file.lines()):
        try:
            record = decode(line)
        except ValueError as error:
            raise InputError(str(items), f"not valid JSON ({error})", number) from None
        if not isinstance(record, Mapping):
            raise InputError(str(items), "expected a JSON object", number)
        records.append((place, number, _id(record)))
    named = any(item is not None for _, _, item in records)
    found: dict[str, tuple[int, int]] = {}
    for place, number, item in records:
        key = item if named else str(place)
        if key is not None:
            found.setdefault(key, (place, number))
    return found


def _id(record: Mapping[str, Any]) -> str | None:
    return next((str(record[f]) for f in ID_FIELDS if record.get(f) is not None), None)


def file_name(name: str) -> str:
    """Return a file name for a benchmark's name, whatever a log put into it."""
    return file_stem(name, otherwise="benchmark")


def _lines(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records)
