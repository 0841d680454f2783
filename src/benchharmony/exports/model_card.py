"""The ``model-index`` of a Hugging Face model card: H beside the score that everyone quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.report.shown import shown
from benchharmony.writing import write_whole

#: The hub shows a source only with an address: that of the method.
_PAPER = "https://arxiv.org/abs/2509.25671"
_DIGITS = 4
_EXTRA = "--model-card needs PyYAML: pip install 'benchharmony[model-card]'"


def model_indices(record: dict[str, Any], *, task: str = "text-generation") -> dict[str, Any]:
    """Return the metadata of a model card for each model of a report, by model.

    Parameters
    ----------
    record : dict
        Of a report.
    task : str
        Task type of the hub; its leaderboards call all of language modelling "text-generation".

    Returns
    -------
    dict of str to dict
        ``{"model-index": [...]}`` as ``huggingface_hub.ModelCardData`` parses it. A benchmark
        without scores is left out, and so is an undefined H.
    """
    results: dict[str, list[dict[str, Any]]] = {}
    for entry in record["evaluations"]:
        metrics = _metrics(entry, record["settings"])
        if metrics:
            results.setdefault(shown(entry["model"]), []).append(
                {
                    "task": {"type": task},
                    "dataset": {
                        "type": _slug(entry["benchmark"]),
                        "name": shown(entry["benchmark"]),
                    },
                    "metrics": metrics,
                    "source": {
                        "name": f"HARMONY, by benchharmony {record['version']}",
                        "url": _PAPER,
                    },
                }
            )
    return {
        model: {"model-index": [{"name": model, "results": found}]}
        for model, found in results.items()
    }


def write_model_cards(record: dict[str, Any], path: str | Path) -> list[Path]:
    """Write the metadata as YAML: a file for one model, a folder for several.

    Parameters
    ----------
    record : dict
        Of a report.
    path : path
        A file; or, for reports of several models, a folder, which gets a ``<model>.yaml`` each.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    BenchharmonyError
        When PyYAML is missing, no evaluation has a score, or a file is asked for several models.
    """
    cards = model_indices(record)
    target = Path(path)
    check_models(path, cards)
    if not is_folder(path):
        write_whole(target, _yaml(next(iter(cards.values()))))
        return [target]
    written: list[Path] = []
    for model, card in cards.items():
        file = _free(target, model, written)
        write_whole(file, _yaml(card))
        written.append(file)
    return written


def check_card(path: str | Path) -> None:
    """Refuse, before anything is read, to write metadata over a card itself.

    Raises
    ------
    BenchharmonyError
        For a Markdown file, or when PyYAML is missing.
    """
    if find_spec("yaml") is None:
        raise BenchharmonyError(_EXTRA)
    if Path(path).suffix.lower() in (".md", ".markdown"):
        raise BenchharmonyError(
            f"--model-card {path}: writes the metadata alone, which would replace a card; name a "
            ".yaml file and put it between the '---' lines of the card"
        )


def is_folder(path: str | Path) -> bool:
    """Return whether a path stands for a folder of cards: it ends so, or is one."""
    return str(path).endswith("/") or Path(path).is_dir()


def check_models(path: str | Path, models: Iterable[str]) -> None:
    """Refuse cards that the models of a report do not fit.

    Parameters
    ----------
    path : path
        As for :func:`write_model_cards`.
    models : iterable of str
        Of the evaluations that have scores.

    Raises
    ------
    BenchharmonyError
        When there is no model, or one file for several.
    """
    number = len({shown(model) for model in models})
    if not number:
        raise BenchharmonyError("--model-card: no evaluation of this report has scores")
    if number > 1 and not is_folder(path):
        raise BenchharmonyError(
            f"--model-card {path}: a card is of one model and the report of {number}; "
            f"name a folder ({path}/) for a file each"
        )


def _metrics(entry: dict[str, Any], settings: dict[str, Any]) -> list[dict[str, Any]]:
    score, h, split = entry["score"], entry["harmony"], entry["partition"]
    if score["mean"] is None:
        return []
    name = shown(score["name"])
    metrics = [_metric(_slug(name), name, score["mean"], ci=score["ci"])]
    if h["value"] is not None:
        how = {"partition": shown(split["kind"]), "subdomains": split["k"]}
        if split.get("positions"):
            how["positions"] = split["positions"]
        how["bandwidth"] = settings["bandwidth"]
        metrics += [
            _metric("harmony", "HARMONY", h["value"], **how),
            _metric(
                "harmony_adjusted", "HARMONY, noise-adjusted", h["adjusted"], ci=h["ci"], **how
            ),
        ]
    return [m for m in metrics if m["value"] is not None]


def _metric(kind: str, name: str, value: float | None, **arguments: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": kind, "value": _rounded(value), "name": name}
    bounds = arguments.pop("ci", None)
    if bounds:
        arguments["interval"] = [_rounded(b) for b in bounds]
    if arguments:
        made["args"] = arguments
    return made


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), _DIGITS)


def _slug(name: str) -> str:
    """Return a name as the hub writes those of datasets and metrics."""
    return re.sub(r"[^a-z0-9._/]+", "-", name.casefold()).strip("-./") or "unnamed"


def _free(folder: Path, model: str, taken: list[Path]) -> Path:
    """Return a file in the folder named after a model, which names of others do not share."""
    base = _slug(model).replace("/", "__")[:100]
    names = [f"{base}.yaml", *(f"{base}-{i}.yaml" for i in range(2, len(taken) + 3))]
    return next(folder / name for name in names if folder / name not in taken)


def _yaml(card: dict[str, Any]) -> str:
    try:
        import yaml
    except ImportError:
        raise BenchharmonyError(_EXTRA) from None
    return str(yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=1000))
