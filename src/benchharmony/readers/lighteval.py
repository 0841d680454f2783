"""LightEval details: ``details_<task>_<time>.parquet``, one struct each for item and answer.

The structs are ``doc``, ``metric`` and ``model_response``.
Written by ``lighteval ... --save-details`` since 0.10; the names stood between double underscores
for a while. The results file of the run, beside the details or in the parallel ``results``
folder, names the model; on its own it is refused, as it holds no items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation
from benchharmony.readers.declared import label_columns
from benchharmony.readers.harness_evaluation import Log, build_evaluation
from benchharmony.readers.harness_rows import HarnessItem, row_metrics
from benchharmony.readers.harness_runs import Run
from benchharmony.readers.json_outline import outline
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_PARQUET_MAGIC = b"PAR1"
_STRUCTS = ("doc", "metric", "model_response")
#: Fields of the response that are read; the tokens are large and are not.
_RESPONSE_FIELDS = ("logprobs",)
_CUES = ("Question:", "Answer:")


def _columns(schema: pa.Schema) -> dict[str, str]:
    """Return the names that the three structs have in a file."""
    plain = {name.strip("_"): name for name in schema.names}
    return {
        struct: plain[struct]
        for struct in _STRUCTS
        if struct in plain and pa.types.is_struct(schema.field(plain[struct]).type)
    }


def parquet_of(file: SourceFile) -> pq.ParquetFile:
    """Open a Parquet file, decompressed where it is compressed as a whole."""
    source: Any = file.path if file.compression is None else pa.BufferReader(file.read_bytes())
    return pq.ParquetFile(source)


def _sniff_details(file: SourceFile) -> bool:
    if not file.head.startswith(_PARQUET_MAGIC):
        return False
    try:
        schema = parquet_of(file).schema_arrow
        return len({*_columns(schema)}) == len(_STRUCTS)
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return False


def _read_details(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    rows = _rows(file)
    if not rows:
        raise InputError(str(file), "no rows in these details")
    problems: list[Problem] = []
    items = list(_items(str(file), rows, problems))
    tasks = [_mapping(row.get("doc")).get("task_name") for row in rows]
    task = next((t for t in tasks if isinstance(t, str) and t), None)
    log = Log(str(file), items, problems=tuple(problems))
    return [build_evaluation(log, run_of_details(file, task, options))]


def _rows(file: SourceFile) -> list[dict[str, Any]]:
    """Return the rows, with the structs under their plain names."""
    try:
        parquet = parquet_of(file)
        names = _columns(parquet.schema_arrow)
        response = names["model_response"]
        wanted = [names["doc"], names["metric"]]
        found = parquet.read(columns=wanted + [f"{response}.{f}" for f in _RESPONSE_FIELDS])
        # Arrow data are used as they lie in a file: an offset that points outside would crash us.
        found.validate(full=True)
        listed = found.to_pylist()
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(
            str(file), f"not a whole Parquet file ({reason}); is it cut off?"
        ) from None
    return [{plain: row.get(name) for plain, name in names.items()} for row in listed]


def _items(path: str, rows: list[dict[str, Any]], problems: list[Problem]) -> Iterator[HarnessItem]:
    ids = [_mapping(row.get("doc")).get("id") for row in rows]
    numbered = len({str(i) for i in ids}) < len(ids) or any(i in (None, "") for i in ids)
    for number, row in enumerate(rows, start=1):
        doc = row.get("doc")
        if isinstance(doc, dict):
            row_id = str(number - 1) if numbered else str(doc.get("id"))
            yield _item(doc, row, row_id, number)
        else:
            problems.append(Problem(path, "no doc in this row", number))


def _item(doc: Mapping[str, Any], row: Mapping[str, Any], row_id: str, number: int) -> HarnessItem:
    texts = [c for c in _list(doc.get("choices")) if isinstance(c, str)]
    gold = doc.get("gold_index")
    right = gold if isinstance(gold, list) else [gold]
    logprobs = _list(_mapping(row.get("model_response")).get("logprobs"))
    scored = 2 <= len(logprobs) == len(texts)
    # In a generation task the choices are the accepted answers, and every one is right.
    chosen = scored or (len(texts) > 1 and len(right) < len(texts))
    metrics, parts = row_metrics(_mapping(row.get("metric")))
    specific = _mapping(doc.get("specific"))
    return HarnessItem(
        row_id=row_id,
        line=number,
        metrics=metrics,
        parts=parts,
        options=[_log_likelihood(v) for v in logprobs] if scored else None,
        continuations=tuple(texts) if scored else (),
        choices=tuple(t.strip() for t in texts) if chosen else None,
        gold_fields={"gold_index": right[0]} if right and right[0] is not None else {},
        columns={"task_name": doc.get("task_name"), **label_columns(specific)},
        text=_question(doc),
    )


def _log_likelihood(value: Any) -> float:
    """Return the number of an option, which some versions give with a flag behind it."""
    return to_float(value[0] if isinstance(value, list) and value else value)


def _question(doc: Mapping[str, Any]) -> str:
    query = doc.get("original_query") or doc.get("query")
    return without_cues(query) if isinstance(query, str) else ""


def without_cues(query: str) -> str:
    """Return a question without the words that introduce it and ask for the answer."""
    before, after = _CUES
    return query.strip().removeprefix(before).removesuffix(after).strip()


def run_of_details(file: SourceFile, task: str | None, options: ReadOptions) -> Run:
    """Return names and facts for a details file, from its path and the results of its run."""
    results, path = _results(file)
    config = _mapping(results.get("config_general"))
    model = config.get("model_name") or _mapping(config.get("model_config")).get("model_name")
    told = model if isinstance(model, str) and model else _model_of_path(file.path)
    aggregates = _mapping(_mapping(results.get("results")).get(task or ""))
    return Run(
        benchmark=_benchmark(task or "") or options.benchmark or "LightEval task",
        model=told or options.model or "unknown",
        metadata=_facts(config, task),
        files=() if path is None else (str(path),),
        aggregates={k: to_float(v) for k, v in aggregates.items() if not math.isnan(to_float(v))},
    )


def _benchmark(task: str) -> str:
    """Return a task's name without its number of examples ("suite|name|5" -> "suite|name")."""
    name, bar, last = task.rpartition("|")
    return name if bar and last.isdigit() else task


def _facts(config: Mapping[str, Any], task: str | None) -> dict[str, Any]:
    settings = _mapping(config.get("model_config"))
    facts = {k: settings.get(k) for k in ("revision", "dtype", "system_prompt")}
    facts["lighteval_version"] = config.get("lighteval_sha")
    shots = (task or "").rpartition("|")[2]
    facts["num_fewshot"] = int(shots) if shots.isdecimal() and len(shots) < 4 else None
    return {k: v for k, v in facts.items() if isinstance(v, (str, int, float)) and v != "?"}


def _results(file: SourceFile) -> tuple[Mapping[str, Any], Path | None]:
    """Return the results of the run: beside the details, or in the parallel folder.

    LightEval writes ``results/<model>/results_<time>.json`` and
    ``details/<model>/<time>/details_<task>_<time>.parquet``.
    """
    folder = file.path.parent
    time_of_details = file.name.removesuffix(".parquet").rpartition("_")[2]
    found = sorted(
        folder.glob("results*.json*"), key=lambda p: (time_of_details not in p.name, p.name)
    )
    parts = file.path.absolute().parts
    if "details" in parts[:-1]:
        at = len(parts) - 2 - parts[:-1][::-1].index("details")
        time, own = parts[-2], parts[at + 1 : -2]
        name = f"results_{time}.json"
        found.append(Path(*parts[:at], "results", *own, name))
    for path in found:
        try:
            document = SourceFile(path).read_json()
        except (InputError, OSError, EOFError):
            continue
        if isinstance(document, dict) and "config_general" in document:
            return document, path
    return {}, None


def _model_of_path(path: Path) -> str | None:
    """Return the model that ``details/<org>/<model>/<time>/`` names."""
    parts = path.absolute().parts[:-2]
    if "details" not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index("details")
    return "/".join(parts[at + 1 :]) or None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _sniff_results(file: SourceFile) -> bool:
    if b'"config_general"' not in file.head:
        return False
    found = outline(file.head, depth=2)
    return found.get(("config_general",)) == "object"


def _read_results(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    raise InputError(
        str(file),
        "aggregate results only, no per-item records; give the details_*.parquet of the run "
        "(lighteval --save-details writes it)",
    )


READERS = (
    Reader(
        "LightEval details",
        "LightEval details_<task>_<time>.parquet (--save-details)",
        _sniff_details,
        _read_details,
        "details/<org>/<model>/<time>/details_<task>_<time>.parquet",
    ),
    Reader(
        "LightEval results",
        "LightEval results_<time>.json: aggregates, refused without their details",
        _sniff_results,
        _read_results,
        "results/<org>/<model>/results_<time>.json",
    ),
)
