"""From the columns of an evaluation's table back to the evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError, Problem
from benchharmony.evaluation import Evaluation, Source, clean_text
from benchharmony.predictive import PADDING, SUM_TOLERANCE, Predictive


def evaluation_of(
    table: Any, about: dict[str, Any], views: Mapping[str, Predictive] | None = None
) -> Evaluation:
    """Return the evaluation of a table and its description.

    Parameters
    ----------
    table : pyarrow.Table
    about : dict
        Its description, from the schema's metadata.
    views : mapping, optional
        Distributions to give it; those of the table otherwise.
    """
    names = set(table.schema.names)
    if "item_id" not in names:
        raise KeyError("item_id")

    def numbers(column: str) -> NDArray[np.float64] | None:
        return table[column].to_numpy() if column in names else None

    def texts(column: str) -> Any:
        if column in names and table[column].null_count:
            raise ValueError(f"{column} has empty cells")
        return table[column].to_pylist() if column in names else None

    read = {v["positions"]: predictive_of(table, v) for v in about["predictive"] if views is None}
    gold = table["gold"].fill_null(-1).to_numpy() if "gold" in names else None
    made = Evaluation.from_arrays(
        benchmark=about["benchmark"],
        model=about["model"],
        item_ids=texts("item_id"),
        scores=numbers("score"),
        score_name=about["score_name"],
        metrics={m: table[f"metric.{clean_text(m)}"].to_numpy() for m in about["metrics"]},
        predictive=read or None,
        option_logprobs=_read_options(table, about["option_width"]),
        gold=gold,
        groups={g: table[f"group.{clean_text(g)}"].to_pylist() for g in about["groups"]},
        texts=texts("text"),
        choices=texts("choices"),
        metadata=about["metadata"],
        notes=about["notes"],
        source=_read_source(about["source"]),
    )
    return made if views is None else replace(made, predictive=views)


def _read_source(about: dict[str, Any]) -> Source:
    return Source(
        format=about["format"],
        files=tuple(about["files"]),
        items_read=int(about["items_read"]),
        problems=tuple(Problem(**p) for p in about["problems"]),
    )


def _read_options(table: Any, width: int | None) -> NDArray[np.float64] | None:
    if width is None:
        return None
    column = table["option_logprobs"].combine_chunks()
    lengths = column.value_lengths().to_numpy()
    if (lengths > width).any():
        raise ValueError(f"more than {width} options")
    options = np.full((len(column), width), np.nan)
    options[np.arange(width) < lengths[:, None]] = column.flatten().to_numpy()
    return options


def predictive_of(table: Any, view: dict[str, Any]) -> Predictive:
    """Return the distributions that a description names, checked."""
    prefix = f"predictive.{clean_text(view['positions'])}"
    vocab_size = int(view["vocab_size"])
    logprobs = _read_matrix(table[f"{prefix}.logprobs"])
    if view["kind"] == "dense":
        predictive = Predictive(logprobs, None, np.zeros(len(logprobs)), vocab_size)
    else:
        ids = _read_matrix(table[f"{prefix}.token_ids"]).astype(np.int64)
        rest = table[f"{prefix}.rest"].to_numpy().astype(np.float64)
        predictive = Predictive(logprobs, ids, rest, vocab_size)
    _check(predictive, prefix)
    return predictive


def _read_matrix(column: Any) -> NDArray[Any]:
    width = column.type.list_size
    if column.null_count:
        raise ValueError("an empty row")
    matrix = np.empty((len(column), width), dtype=column.type.value_type.to_pandas_dtype())
    row = 0
    for chunk in column.chunks:
        matrix[row : row + len(chunk)] = chunk.flatten().to_numpy().reshape(-1, width)
        row += len(chunk)
    return matrix


def _check(predictive: Predictive, prefix: str) -> None:
    """Refuse what :class:`Predictive` would, without normalising again (that changes bits)."""
    logprobs, ids, rest = predictive.logprobs, predictive.token_ids, predictive.rest
    if ids is None:
        fits = logprobs.shape[1] == predictive.vocab_size
    else:
        fits = ids.shape == logprobs.shape and ids.min() >= PADDING
        fits = fits and ids.max() < predictive.vocab_size >= ids.shape[1]
    if not fits:
        raise BenchharmonyError(f"{prefix}: token ids do not fit the log-probabilities")
    off = np.abs(np.exp(logprobs).sum(axis=1, dtype=np.float64) + rest - 1)
    if not (off <= SUM_TOLERANCE).all():  # NaN fails too
        row = int(np.argmax(~(off <= SUM_TOLERANCE)))
        raise BenchharmonyError(f"{prefix}: row {row} is not a distribution")
