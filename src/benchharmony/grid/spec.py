"""The YAML file of a study: models, benchmarks, settings.

::

    name: my study
    models:
      - Qwen/Qwen3-0.6B-Base            # an id, or a mapping:
      - {model: ./my-model, name: mine-1B, family: mine, parameters: 1e9}
    benchmarks:
      - {task: arc_easy, size: 2376}    # a task of lm-evaluation-harness
      - {items: my-items.jsonl}         # own items
    collect: {dtype: bfloat16, batch_size: 32}        # options of benchharmony collect
    report: {partition: predictive, k_rule: stability}  # settings of benchharmony report
    landscape: {keep: common}
    estimate: {flops: 3e13}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, InputError
from benchharmony.models import ModelInfo, describe_name, parse_number
from benchharmony.report.settings import Settings

#: Options of ``benchharmony collect`` that a study may set, for all cells or in one entry.
_COLLECT = (
    "dtype", "device", "threads", "num_fewshot", "prompt", "limit", "max_new_tokens", "mean",
    "top_k", "batch_size", "batch_tokens", "positions", "chat_template", "trust_remote_code",
)  # fmt: skip
_MODEL = ("model", "name", "revision", "gguf", "family", "parameters", "tokens", "checkpoint")
_BENCHMARK = ("task", "items", "name", "include_path", "size", "tokens_per_item")
_LANDSCAPE = ("keep", "matched_items", "repeats")
_TOP = ("name", "models", "benchmarks", "collect", "report", "landscape", "estimate")
#: Floating point operations a second and tokens of an item that an estimate takes for granted.
FLOPS, TOKENS_PER_ITEM = 3e13, 400.0


@dataclass(frozen=True)
class StudyModel:
    """One model of a study; ``options`` are those of ``collect`` for it alone."""

    model: str
    name: str
    info: ModelInfo
    revision: str | None = None
    gguf: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyBenchmark:
    """One benchmark of a study: a task of lm-eval or a file of items."""

    name: str
    task: str | None = None
    items: str | None = None
    include_path: str | None = None
    size: int | None = None
    tokens_per_item: float = TOKENS_PER_ITEM
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """What a study file asks for."""

    name: str
    models: tuple[StudyModel, ...]
    benchmarks: tuple[StudyBenchmark, ...]
    collect: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    landscape: Mapping[str, Any] = field(default_factory=dict)
    flops: float = FLOPS


def read_study(path: str | Path) -> Study:
    """Read and check a study file.

    Raises
    ------
    InputError
        When the file cannot be read, is no YAML, or says something that is not understood; names
        the line, or the place in the file.
    """
    try:
        import yaml
    except ImportError:
        raise BenchharmonyError(
            "a study file needs the extra grid: pip install 'benchharmony[grid]'"
        ) from None
    try:
        text = Path(path).read_text(encoding="utf-8")
        raw = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"cannot be read ({error})") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).split("\n")[0]
        raise InputError(
            str(path), f"no YAML: {reason}", None if mark is None else mark.line + 1
        ) from None
    try:
        return _study(raw, Path(path).parent)
    except ValueError as error:
        raise InputError(str(path), str(error)) from None


def _study(raw: Any, base: Path) -> Study:
    top = _mapping(raw, "the file", _TOP)
    models = [_model(m, f"models[{i}]") for i, m in enumerate(_list(top, "models"))]
    benchmarks = [
        _benchmark(b, f"benchmarks[{i}]", base) for i, b in enumerate(_list(top, "benchmarks"))
    ]
    for what, names in (("model", [m.name for m in models]),
                        ("benchmark", [b.name for b in benchmarks])):  # fmt: skip
        repeated = next((n for n in names if names.count(n) > 1), None)
        if repeated is not None:
            raise ValueError(f"two {what}s are called {repeated!r}; give one of them a name:")
    known = tuple(f.name for f in fields(Settings))
    estimate = _mapping(top.get("estimate") or {}, "estimate", ("flops",))
    return Study(
        name=str(top.get("name") or "study"),
        models=tuple(models),
        benchmarks=tuple(benchmarks),
        collect=_mapping(top.get("collect") or {}, "collect", _COLLECT),
        settings=Settings(**_mapping(top.get("report") or {}, "report", known)),
        landscape=_mapping(top.get("landscape") or {}, "landscape", _LANDSCAPE),
        flops=_number(estimate.get("flops", FLOPS), "estimate.flops"),
    )


def _model(raw: Any, where: str) -> StudyModel:
    given = {"model": raw} if isinstance(raw, str) else raw
    entry = _mapping(given, where, (*_MODEL, *_COLLECT))
    identity = entry.get("model") or entry.get("gguf")
    if not identity:
        raise ValueError(f"{where}: no model")
    name = str(entry.get("name") or str(identity).rstrip("/").rsplit("/", 1)[-1])
    own = ModelInfo(
        name,
        None if entry.get("family") is None else str(entry["family"]),
        _optional(entry.get("parameters"), f"{where}.parameters"),
        _optional(entry.get("tokens"), f"{where}.tokens"),
        None if entry.get("checkpoint") is None else str(entry["checkpoint"]),
        "study file",
    )
    return StudyModel(
        model=str(identity),
        name=name,
        info=describe_name(name, own),
        revision=None if entry.get("revision") is None else str(entry["revision"]),
        gguf=None if entry.get("gguf") is None else str(entry["gguf"]),
        options={k: v for k, v in entry.items() if k in _COLLECT},
    )


def _benchmark(raw: Any, where: str, base: Path) -> StudyBenchmark:
    given = {"task": raw} if isinstance(raw, str) else raw
    entry = _mapping(given, where, (*_BENCHMARK, *_COLLECT))
    task, items = entry.get("task"), entry.get("items")
    if bool(task) == bool(items):
        raise ValueError(f"{where}: one of task and items is needed")
    size = entry.get("size")
    if items:
        items = str(base / str(items))  # an absolute path stays what it is
        size = _lines(items, where) if size is None else size
    include = entry.get("include_path")
    return StudyBenchmark(
        name=str(entry.get("name") or task or Path(str(items)).name.split(".")[0]),
        task=None if not task else str(task),
        items=items,
        include_path=None if include is None else str(base / str(include)),
        size=None if size is None else int(_number(size, f"{where}.size")),
        tokens_per_item=_number(
            entry.get("tokens_per_item", TOKENS_PER_ITEM), f"{where}.tokens_per_item"
        ),
        options={k: v for k, v in entry.items() if k in _COLLECT},
    )


def _lines(path: str, where: str) -> int:
    import gzip

    try:
        opener: Any = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as stream:
            return sum(1 for line in stream if line.strip())
    except (OSError, EOFError) as error:
        raise ValueError(f"{where}: {path} cannot be read ({error})") from None


def _mapping(value: Any, where: str, known: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: a mapping is expected, got {value!r}")
    unknown = [k for k in value if k not in known]
    if unknown:
        raise ValueError(f"{where}: {unknown[0]!r} is not known here; known: {', '.join(known)}")
    return dict(value)


def _list(top: Mapping[str, Any], key: str) -> list[Any]:
    value = top.get(key)
    if not isinstance(value, list) or not value:
        raise ValueError(f"{key}: a list of at least one is expected")
    return value


def _optional(value: Any, where: str) -> float | None:
    return None if value is None else _number(value, where)


def _number(value: Any, where: str) -> float:
    try:
        return parse_number(str(value))
    except ValueError:
        raise ValueError(f"{where}: {value!r} is not a positive number") from None
