"""An annotated copy of lm-evaluation-harness's ``results_*.json``: H under each task.

The added keys are put into the text of the file: every byte of the original stays as it is and
where it is, so that nothing which reads the file can be upset by a number written otherwise.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchharmony.errors import BenchharmonyError, InputError
from benchharmony.readers.source import SourceFile
from benchharmony.report.shown import shown
from benchharmony.writing import write_whole

if TYPE_CHECKING:
    from benchharmony.evaluation import Evaluation

#: How far a mean in the file may be from ours to be taken for the same.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Annotated:
    """A results file with H in it.

    Attributes
    ----------
    text : str
        The file's own text with keys added.
    tasks : tuple of str
        Those that have H now.
    notes : tuple of str
        Evaluations that could not be put in, and why.
    """

    text: str
    tasks: tuple[str, ...]
    notes: tuple[str, ...]


def annotate(record: dict[str, Any], results: str | Path) -> Annotated:
    """Return the text of a results file with H under each task of the report.

    Added under ``results.<task>``, named as the harness names its metrics (``metric,filter``):
    ``harmony``, ``harmony_adjusted``, ``harmony_agreement``, ``harmony_k`` and
    ``harmony_partition``.

    Parameters
    ----------
    record : dict
        Of a report on the samples that lie beside the file.
    results : path
        The results file; gzip and zstd are read through.

    Raises
    ------
    InputError
        When the file is missing, no results file, or annotated already.
    BenchharmonyError
        When the report has none of its tasks, or one task twice.
    """
    file = SourceFile(results)
    text = _text(file)
    places = _tasks(file, text)
    entries, notes = _entries(record, file, text, places)
    added: list[tuple[int, str]] = []
    for task, entry in entries.items():
        start, end = places[task]
        held = json.loads(text[start:end], strict=False)
        added.append(_addition(text, start, _values(entry, held)))
    parts, done = [], 0
    for place, more in sorted(added):
        parts += [text[done:place], more]
        done = place
    return Annotated("".join([*parts, text[done:]]), tuple(entries), tuple(notes))


def write_annotated(
    record: dict[str, Any], results: str | Path, new: str | Path, *, overwrite: bool = False
) -> Annotated:
    """Write the annotated copy to a new file (gzipped where its name ends in .gz).

    Raises
    ------
    BenchharmonyError
        As :func:`annotate`; and when the new file exists, unless it may be overwritten. The
        results file itself is never written to.
    """
    check_new(results, new, overwrite=overwrite)
    made = annotate(record, results)
    data = made.text.encode("utf-8", "surrogatepass")
    write_whole(new, gzip.compress(data, mtime=0) if str(new).endswith(".gz") else data)
    return made


def check_new(results: str | Path, new: str | Path, *, overwrite: bool = False) -> None:
    """Refuse, before anything is computed, a copy that would replace a file.

    Raises
    ------
    BenchharmonyError
        When the results file is missing, the copy is the results file, or exists and may not be
        overwritten.
    """
    if not Path(results).is_file():
        raise InputError(str(results), "no such file; --annotate takes a results file of lm-eval")
    target = Path(new)
    if not target.exists():
        return
    if target.is_dir():
        raise BenchharmonyError(f"{new}: is a folder; --annotate takes the name of the new file")
    if target.samefile(results):
        raise BenchharmonyError(
            f"{new}: is the results file itself, which is never written to; name another"
        )
    if not overwrite:
        raise BenchharmonyError(
            f"{new}: exists; name another file, or add --overwrite to replace it"
        )


def check_tasks(results: str | Path, evaluations: Iterable[Evaluation]) -> None:
    """Refuse, before anything is computed, a results file that these evaluations do not fit.

    Raises
    ------
    InputError
        When the file is no results file, or annotated already.
    BenchharmonyError
        When the evaluations have none of its tasks, or one task twice.
    """
    file = SourceFile(results)
    text = _text(file)
    there = [{"benchmark": e.benchmark, "source": {"files": e.source.files}} for e in evaluations]
    _own(there, file, text, _tasks(file, text))


def _text(file: SourceFile) -> str:
    """Return the text of the file as it is, a byte order mark included."""
    try:
        data = file.path.read_bytes()
        if file.compression == "gzip":
            data = gzip.decompress(data)
        elif file.compression == "zstd":
            data = pa.input_stream(pa.py_buffer(data), compression="zstd").read()
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(str(file), "not UTF-8 text, so no results file of lm-eval") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(str(file), f"cannot be read ({error}); is it cut off?") from None


def _tasks(file: SourceFile, text: str) -> dict[str, tuple[int, int]]:
    """Return where the object of each task begins and ends."""
    try:
        whole = dict(_members(text, _skip(text, 0)))
        start, _ = whole["results"]
        tasks = dict(_members(text, start))
    except (ValueError, KeyError, IndexError, RecursionError):
        raise InputError(
            str(file), "no results file of lm-eval: it is no JSON object with 'results'"
        ) from None
    return {name: at for name, at in tasks.items() if text[at[0]] == "{"}


def _members(text: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the members of the JSON object at a place: key, and where its value lies."""
    if text[start] != "{":
        raise ValueError("not an object")
    decoder = json.JSONDecoder(strict=False)
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise ValueError("no colon")
        begin = _skip(text, at + 1)
        _, end = decoder.raw_decode(text, begin)
        yield key, (begin, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    """Return the next place that is no white space."""
    found = re.compile(r"[^ \t\r\n\ufeff]").search(text, at)
    if found is None:
        raise ValueError("the text ends")
    return found.start()


def _own(
    entries: list[dict[str, Any]],
    file: SourceFile,
    text: str,
    places: Mapping[str, tuple[int, int]],
) -> dict[str, dict[str, Any]]:
    """Return the evaluation of each task that lies beside the file."""
    folder = file.path.resolve().parent
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        files = [Path(f).resolve() for f in entry["source"]["files"]]
        if entry["benchmark"] in places and any(f.parent == folder for f in files):
            found.setdefault(entry["benchmark"], []).append(entry)
    out = {}
    for task, those in found.items():
        own = [e for e in those if file.path.resolve() in map(_resolved, e["source"]["files"])]
        those = own or those
        if len(those) > 1:
            raise BenchharmonyError(
                f"--annotate {file}: the report has {len(those)} evaluations of {shown(task)!r} "
                "from this folder; report on the samples of one run"
            )
        start, end = places[task]
        held = json.loads(text[start:end], strict=False)
        if any(key.startswith("harmony,") or key == "harmony" for key in held):
            raise InputError(
                str(file), f"{task!r} has HARMONY already; annotate the file that lm-eval wrote"
            )
        out[task] = those[0]
    if not found:
        there = ", ".join(shown(t, 40) for t in list(places)[:5]) or "none"
        raise BenchharmonyError(
            f"--annotate {file}: the report has no evaluation of its tasks from the same folder "
            f"(tasks: {there}); give the samples that lie beside it as the source"
        )
    return out


def _entries(
    record: dict[str, Any], file: SourceFile, text: str, places: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the evaluation of each task that gets H, and what is left out."""
    found = _own(record["evaluations"], file, text, places)
    entries, notes = {}, []
    for task, entry in found.items():
        if entry["harmony"]["value"] is None:
            notes.append(f"{file}: {shown(task)} gets no HARMONY, which is undefined there")
        else:
            entries[task] = entry
    left = [t for t in places if t not in found]
    if left:
        named = ", ".join(shown(t, 40) for t in left[:3])
        notes.append(
            f"{file}: {len(left)} of {len(places)} tasks are not in the report and stay as they "
            f"are ({named}{', ...' if len(left) > 3 else ''})"
        )
    return entries, notes


def _resolved(path: str) -> Path:
    return Path(path).resolve()


def _values(entry: dict[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys to add, named with the filter of the score that was used."""
    h = entry["harmony"]
    suffix = _suffix(entry["score"], held)
    return {
        f"harmony{suffix}": h["value"],
        f"harmony_adjusted{suffix}": h["adjusted"],
        f"harmony_agreement{suffix}": h["agreement"],
        f"harmony_k{suffix}": entry["partition"]["k"],
        f"harmony_partition{suffix}": entry["partition"]["kind"],
    }


def _suffix(score: Mapping[str, Any], held: Mapping[str, Any]) -> str:
    """Return ",filter" as the file has it for the score; nothing where it names no filters."""
    metric, _, chosen = str(score["name"]).partition("@")
    filters = [
        key.partition(",")[2] for key in held if "," in key and key.partition(",")[0] == metric
    ]
    if not any("," in key for key in held):
        return ""  # harnesses before 0.4
    if chosen in filters:
        return f",{chosen}"
    near = [f for f in filters if _is_close(held[f"{metric},{f}"], score["mean"])]
    return f",{(near or filters or ['none'])[0]}"


def _is_close(value: Any, mean: float | None) -> bool:
    return isinstance(value, (int, float)) and mean is not None and abs(value - mean) < _CLOSE


def _addition(text: str, start: int, values: Mapping[str, Any]) -> tuple[int, str]:
    """Return the place after the last member of an object, and members set out as those."""
    written = [f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in values.items()]
    ends = [end for _, (_, end) in _members(text, start)]
    if not ends:
        return start + 1, ", ".join(written)
    before = re.compile(r"\s*,(\s*)").match(text, ends[0]) if len(ends) > 1 else None
    lead = before.group(1) if before else text[start + 1 : _skip(text, start + 1)] or " "
    return ends[-1], "".join(f",{lead}{item}" for item in written)
