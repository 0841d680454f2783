"""Files of a HELM run directory beside the one that is read: names, settings and metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchharmony.errors import InputError
from benchharmony.readers.helm_items import as_list, as_object, identity
from benchharmony.readers.source import ReadOptions, SourceFile, to_float

#: Every file that HELM writes into a run directory, without its suffix; the first three can hold
#: the results alone, the earlier the better.
RUN_FILES = (
    "scenario_state",
    "display_predictions",
    "per_instance_stats",
    "display_requests",
    "instances",
    "run_spec",
    "scenario",
    "stats",
)
_SUFFIXES = (".json", ".json.gz", ".json.zst")

#: Statistics of the request, not of the answer.
_BOOKKEEPING = re.compile(
    r"^(num_|inference_|training_|finish_reason_|estimated_|batch_size$|prompt_truncated$|max_prob$"
    r"|predicted_index$|logprob|log_prob|bits_per_byte$|perplexity$)"
)
#: Arguments of a run's name that say which model ran, not which benchmark.
_MODEL_ARGUMENTS = ("model", "model_deployment")


@dataclass(frozen=True)
class RunNames:
    """What a run is of: benchmark, model, and facts about its settings."""

    benchmark: str
    model: str
    metadata: dict[str, Any]


def beside(file: SourceFile) -> dict[str, SourceFile]:
    """Return the files of the run directory of a file, itself left out, by name without suffix."""
    found: dict[str, SourceFile] = {}
    for name in RUN_FILES:
        for suffix in _SUFFIXES:
            path = file.path.with_name(name + suffix)
            if path != file.path and path.is_file():
                found.setdefault(name, SourceFile(path))
    return found


def read_beside(file: SourceFile | None) -> Any:
    """Return the document of a file beside; None where there is none or it is damaged."""
    if file is None:
        return None
    try:
        return file.read_json()
    except (InputError, OSError, EOFError):
        return None


def names_of(
    file: SourceFile, spec: Mapping[str, Any], adapter: Mapping[str, Any], options: ReadOptions
) -> RunNames:
    """Return the names of a run: from its specification, else its directory, else the options.

    Parameters
    ----------
    file : SourceFile
        Any file of the run directory.
    spec : mapping
        ``run_spec.json``, or an empty object.
    adapter : mapping
        ``adapter_spec`` of the scenario state, or an empty object.
    options : ReadOptions
        Names to use where the run gives none.
    """
    adapter = {**as_object(spec.get("adapter_spec")), **adapter}
    name = (
        spec.get("name") if isinstance(spec.get("name"), str) else file.path.absolute().parent.name
    )
    benchmark, arguments = split_name(str(name))
    told = adapter.get("model") or arguments.get("model")
    if not isinstance(spec.get("name"), str) and "model" not in arguments:
        benchmark = ""  # a directory of another name says nothing
    keys = ("method", "max_train_instances", "num_train_trials", "model_deployment", "instructions")
    facts = {k: adapter[k] for k in keys if isinstance(adapter.get(k), (str, int, float))}
    scenario = as_object(spec.get("scenario_spec")).get("class_name")
    if isinstance(scenario, str):
        facts["scenario"] = scenario
    groups = [g for g in as_list(spec.get("groups")) if isinstance(g, str)]
    return RunNames(
        benchmark=benchmark or options.benchmark or "HELM run",
        model=told if isinstance(told, str) and told else options.model or "unknown",
        metadata=facts | ({"groups": groups} if groups else {}),
    )


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """Split a run's name, ``scenario:key=value,...``, into benchmark and arguments.

    The benchmark is the name without what names the model.

    >>> split_name("bbq:subject=all,model=org_m")
    ('bbq:subject=all', {'subject': 'all', 'model': 'org_m'})
    """
    scenario, _, rest = name.partition(":")
    arguments = {}
    for part in rest.split(",") if rest else []:
        key, _, value = part.partition("=")
        arguments[key] = value
    kept = [f"{k}={v}" if v else k for k, v in arguments.items() if k not in _MODEL_ARGUMENTS]
    return scenario + (":" + ",".join(kept) if kept else ""), arguments


def instance_metrics(rows: Iterable[Any]) -> dict[str, dict[str, float]]:
    """Return the metrics of each instance, averaged over train trials, by instance id.

    Parameters
    ----------
    rows : iterable
        Records of ``per_instance_stats.json`` (``stats`` is a list of statistics) or of
        ``display_predictions.json`` (``stats`` maps names to numbers). Records of perturbed copies
        and statistics of the request are left out.
    """
    values: dict[str, dict[str, list[float]]] = {}
    for number, row in enumerate(rows, start=1):
        record = as_object(row)
        if not record or record.get("perturbation"):
            continue
        own = values.setdefault(identity(record.get("instance_id"), number), {})
        for name, value in _statistics(record.get("stats")):
            if not _BOOKKEEPING.search(name) and math.isfinite(value):
                own.setdefault(name, []).append(value)
    return {
        instance: {name: math.fsum(v) / len(v) for name, v in own.items()}
        for instance, own in values.items()
    }


def _statistics(stats: Any) -> list[tuple[str, float]]:
    if isinstance(stats, dict):
        return [(str(name), to_float(value)) for name, value in stats.items()]
    found = []
    for stat in map(as_object, as_list(stats)):
        name = as_object(stat.get("name"))
        if isinstance(name.get("name"), str) and not name.get("perturbation"):
            found.append((str(name["name"]), _mean(stat)))
    return found


def _mean(stat: Mapping[str, Any]) -> float:
    if "mean" in stat:
        return to_float(stat["mean"])
    count = to_float(stat.get("count"))
    return to_float(stat.get("sum")) / count if count > 0 else math.nan
