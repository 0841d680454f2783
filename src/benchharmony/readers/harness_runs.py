"""What surrounds a harness log: names in paths, and the results file beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchharmony.errors import InputError
from benchharmony.readers.source import ReadOptions, SourceFile, to_float

_TIME = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl?")
_RESULTS_NAME = re.compile(r"results?[^/]*\.jsonl?(\.gz|\.zst|\.zstd)?")
#: A model's size in its name ("7b", "270m", "0.5B", "8x7b").
_SIZE = re.compile(r"(^|[-_.a-z])(\d+x)?\d+(\.\d+)?[bm](?![a-z0-9])", re.I)
_FAMILY = re.compile(
    r"^(gpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|phi|pythia|bloom|falcon|opt|t5|olmo|"
    r"deepseek|command|yi|smollm|palm|grok|o[134])[-_.\d]",
    re.I,
)
#: Names of the harness's ways to run a model, which are no models.
_BACKENDS = frozenset(
    """
    hf hf-auto hf-causal hf-causal-experimental hf-seq2seq hf-multimodal hf-trie huggingface
    gpt2 vllm vllm-vlm sglang gguf ggml local-completions local-chat-completions
    openai-completions openai-chat-completions anthropic-completions anthropic-chat dummy
    nemo_lm neuronx openvino mamba_ssm textsynth model_name none null
    """.split()  # noqa: SIM905 (one word a line would fill a screen)
)
_MODEL_KEYS = ("pretrained", "model", "engine", "path", "model_path", "base_model")
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Run:
    """Names and facts about one task of one run.

    Attributes
    ----------
    benchmark, model : str
    metadata : dict
        Settings of the run, as far as a results file tells.
    notes : tuple of str
    files : tuple of str
        Results files that were read for it.
    aggregates : dict of str to float
        What the results file says about the task, by metric (``"acc,none"``).
    """

    benchmark: str
    model: str
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    aggregates: dict[str, float] = field(default_factory=dict)


def run_of_samples(file: SourceFile, options: ReadOptions) -> Run:
    """Return names and facts for a samples file, from its path and the results beside it."""
    task, model, time = names_in_file_name(file.name)
    results, path, notes = _results_beside(file, task, time)
    run = run_of_results(results, task, file, options, model_in_name=model)
    files = () if path is None else (str(path),)
    return replace(run, notes=(*notes, *run.notes), files=files)


def run_of_results(
    results: Mapping[str, Any],
    task: str | None,
    file: SourceFile,
    options: ReadOptions,
    model_in_name: str | None = None,
) -> Run:
    """Return names and facts for a task of a results document (empty where there is none).

    The model is, in this order: what the results say, the name of the folder when it looks like
    a model, what the file name says, what the caller says, the backend's name, "unknown".
    """
    stated = _model_in_results(results)
    model = stated or model_of_directory(file.path.parent.name) or model_in_name or options.model
    notes: tuple[str, ...] = ()
    if model is None:
        model = _text(_mapping(results, "config").get("model"))
        if model is None or model.lower() in _BACKENDS:
            model = _UNKNOWN
            notes = ("the log does not say which model it is; name it with --model-name",)
        else:
            notes = (f"the log names no model, only the wrapper that ran it ({model})",)
    aggregates = _mapping(_mapping(results, "results"), task or "")
    return Run(
        benchmark=task or options.benchmark or file.path.name.split(".")[0] or _UNKNOWN,
        model=model,
        metadata=_metadata(results, task or ""),
        notes=notes,
        aggregates={k: to_float(v) for k, v in aggregates.items() if isinstance(v, (int, float))},
    )


def names_in_file_name(name: str) -> tuple[str | None, str | None, str | None]:
    """Return (task, model, time) as far as the name of a log tells them.

    ``samples_<task>_<time>.jsonl``, ``<model arguments>_<task>.jsonl`` (2023) and
    ``<task>_write_out_info.json`` (v0.3) are known; other names are taken as the task.
    """
    samples = _SAMPLES_NAME.fullmatch(name)
    if samples:
        return samples["task"], None, samples["time"]
    stem = re.sub(r"\.jsonl?$", "", name)
    if stem.endswith("_write_out_info"):
        return stem.removesuffix("_write_out_info").lstrip("_") or None, None, None
    arguments = re.match(r"(?P<key>\w+)=(?P<rest>.+)", stem)
    if arguments:
        # The task follows the first single underscore after the last argument; a slash in a
        # model's name was written as two underscores.
        ends = re.search(r"(?<!_)_(?!_)", stem[stem.rindex("=") :])
        cut = len(stem) if ends is None else stem.rindex("=") + ends.start()
        return stem[cut + 1 :] or None, _model_in_arguments(stem[:cut]), None
    return stem.removeprefix("samples_").strip("_") or None, None, None


def model_of_directory(name: str) -> str | None:
    """Return the model a folder is named after; None when it does not look like one.

    Folders written by the harness put two underscores for the slash (``org__model``); others
    count when they name a size (``llama2-7b``) or begin with a known family.
    """
    if re.fullmatch(r"[^_].*?[^_]__[^_].*", name):
        return name.replace("__", "/", 1)
    return name if _SIZE.search(name) or _FAMILY.match(name) else None


def _model_in_arguments(text: str) -> str | None:
    for part in text.split(","):
        key, _, value = part.partition("=")
        if key.strip() in _MODEL_KEYS and value:
            return value.replace("__", "/")
    return None


def _model_in_results(results: Mapping[str, Any]) -> str | None:
    named = _text(results.get("model_name"))
    if named and named.lower() not in _BACKENDS:
        return named
    arguments = _mapping(results, "config").get("model_args")
    if isinstance(arguments, str):
        return _model_in_arguments(arguments)
    if isinstance(arguments, dict):
        return next((t for k in _MODEL_KEYS if (t := _text(arguments.get(k)))), None)
    return None


def _results_beside(
    file: SourceFile, task: str | None, time: str | None
) -> tuple[Mapping[str, Any], Path | None, tuple[str, ...]]:
    """Return the results document that belongs to a samples file, its path, and what failed."""
    notes = []
    for path in _results_files(file.path.parent, time):
        try:
            document = SourceFile(path).read_json()
        except (InputError, OSError, EOFError) as error:
            notes.append(f"the results file beside it cannot be read: {error}")
            continue
        if isinstance(document, dict) and (
            task in _mapping(document, "results") or task in _mapping(document, "configs")
        ):
            return document, path, tuple(notes)
    return {}, None, tuple(notes)


def _results_files(folder: Path, time: str | None) -> Iterator[Path]:
    """Yield results files of the same run: the same time in the name, or ``results.json``."""
    try:
        found = sorted(p for p in folder.iterdir() if _RESULTS_NAME.fullmatch(p.name))
    except OSError:
        return
    for path in found:
        same_run = f"_{time}." in path.name if time else path.name.split(".")[0] == "results"
        if same_run and path.is_file():
            yield path


def _metadata(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    config = _mapping(results, "config")
    task_config = _mapping(_mapping(results, "configs"), task)
    arguments = config.get("model_args")
    shots = _first(_mapping(results, "n-shot").get(task), task_config.get("num_fewshot"))
    facts = {
        "num_fewshot": _first(shots, config.get("num_fewshot")),
        "harness_version": _text(results.get("lm_eval_version")),
        "harness_commit": _text(results.get("git_hash")),
        "task_version": _mapping(results, "versions").get(task),
        "backend": _text(config.get("model")),
        "parameters": config.get("model_num_parameters"),
        "revision": _text(_first(_argument(arguments, "revision"), config.get("model_revision"))),
        "precision": _precision(_first(config.get("model_dtype"), _argument(arguments, "dtype"))),
        "limit": config.get("limit"),
        "chat_template": None if results.get("chat_template") is None else True,
        "date": _date(results.get("date")),
    }
    return {k: v for k, v in facts.items() if isinstance(v, (str, int, float))}


def _argument(arguments: Any, key: str) -> Any:
    if isinstance(arguments, dict):
        return arguments.get(key)
    if isinstance(arguments, str):
        match = re.search(rf"(?:^|,){key}=([^,]*)", arguments)
        return match.group(1) if match else None
    return None


def _precision(value: Any) -> str | None:
    text = _text(value)
    return text.removeprefix("torch.") if text else None


def _date(value: Any) -> str | None:
    seconds = to_float(value)
    if not (math.isfinite(seconds) and 0 < seconds < 1e11):
        return _text(value)
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="seconds")


def _mapping(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _first(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
