"""Reader of per-subject MMLU tables as the benchmark's own evaluation script writes them.

One CSV file per subject: column ``0`` is the question, the next ones are its options, the last
numbered one is the key (a letter); ``correct`` or ``<model>_correct`` is whether the model was
right, ``<model>_choice<X>_probs`` its probability of option X where recorded.

A file is one evaluation, ``mmlu_<subject>``; ``--merge 'mmlu=mmlu_*'`` makes the whole benchmark
of a folder of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.readers.cells import labels_of, letter_index
from benchharmony.readers.columns import Table
from benchharmony.readers.delimited import header_of, read_delimited
from benchharmony.readers.source import Reader, ReadOptions, SourceFile, to_float

_CORRECT = "correct"
_PROBABILITY = re.compile(r"(?P<model>.+)_choice(?P<letter>[A-Z])_probs")
#: A question, two options and a key.
_FEWEST_NUMBERED = 4
#: How the logged probabilities of the options of an item may miss a sum of 1.
_SUM_TOLERANCE = 0.02

_Cells = list[str | None]


@dataclass(frozen=True)
class _Layout:
    """Which columns hold what: texts and key by number, and the models by their columns."""

    numbered: list[str]
    models: list[str]
    """Prefix of each ``..._correct`` column; empty where the column is plain ``correct``."""

    def correct(self, model: str) -> str:
        return f"{model}_{_CORRECT}" if model else _CORRECT


def sniff(file: SourceFile) -> bool:
    """Whether the header is ``0,1,...`` with a column that tells what was right."""
    found = header_of(file)
    return found is not None and _layout(found[1]) is not None


def _layout(header: Sequence[str]) -> _Layout | None:
    numbered: list[str] = []
    while str(len(numbered)) in header:
        numbered.append(str(len(numbered)))
    models = ["" for name in header if name == _CORRECT]
    models += [n.removesuffix(f"_{_CORRECT}") for n in header if n.endswith(f"_{_CORRECT}")]
    if len(numbered) < _FEWEST_NUMBERED or not models:
        return None
    return _Layout(numbered, list(dict.fromkeys(models)))


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return one evaluation for each model of the file (usually one).

    Raises
    ------
    InputError
        When no row tells whether the model was right.
    """
    table = read_delimited(file)
    layout = _layout(list(table.columns))
    if layout is None:
        raise InputError(str(file), "not the columns of an MMLU subject table (0, 1, ..., correct)")
    return [_evaluation(file, table, layout, model, options) for model in layout.models]


def _evaluation(
    file: SourceFile, table: Table, layout: _Layout, model: str, options: ReadOptions
) -> Evaluation:
    scores = np.array([to_float(cell) for cell in _cells(table, layout.correct(model))])
    problems = list(table.problems)
    for row in np.flatnonzero(~((scores >= 0) & (scores <= 1))).tolist():
        reason = f"column {layout.correct(model)!r} holds no score of 0 or 1 (True or False)"
        problems.append(Problem(str(file), reason, int(table.lines[row]), str(row)))
    kept = np.flatnonzero((scores >= 0) & (scores <= 1)).tolist()
    if not kept:
        raise InputError(str(file), f"no usable item; the first of {len(problems)}: {problems[0]}")
    columns = [_cells(table, name) for name in layout.numbered]
    questions, *texts, keys = ([cells[r] for r in kept] for cells in columns)
    choices = [tuple(t or "" for t in row) for row in zip(*texts, strict=True)]
    gold = [_gold(key, len(texts)) for key in keys]
    logprobs, notes = _option_logprobs(table, model, kept, len(texts))
    empty = sum(not all(row) for row in choices)
    if empty:
        notes.append(f"{empty} items have an empty option (the script drops the text 'None')")
    name, model_note = _model(file, model, options)
    subject = file.name.removesuffix(".csv").removesuffix("_test").removeprefix("mmlu_")
    return Evaluation.from_arrays(
        benchmark=f"mmlu_{subject}",
        model=name,
        item_ids=kept,
        scores=scores[kept],
        score_name="acc",
        option_logprobs=logprobs,
        gold=gold if any(g >= 0 for g in gold) else None,
        texts=[q or "" for q in questions],
        choices=choices,
        metadata={"subject": subject},
        notes=[*table.notes, *model_note, *notes],
        source=Source("MMLU subject CSV", (str(file),), len(kept) + len(problems), tuple(problems)),
    )


def _cells(table: Table, name: str) -> _Cells:
    return labels_of(table.columns[name], strip=False).to_list()


def _gold(key: str | None, n_options: int) -> int:
    index = letter_index(key.strip()) if key else None
    return index if index is not None and index < n_options else -1


def _model(file: SourceFile, prefix: str, options: ReadOptions) -> tuple[str, list[str]]:
    """Return the model's name, and a note where only the folder gives one."""
    if prefix or options.model:
        return prefix or str(options.model), []
    folder = file.path.resolve().parent.name
    name = folder.removeprefix("results_") or "unknown"
    return name, [f"model named after the folder {folder!r}; --model-name gives another name"]


def _option_logprobs(
    table: Table, model: str, kept: list[int], n_options: int
) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return logs of the recorded probabilities, where every item has one for every option."""
    names = [f"{model}_choice{chr(65 + k)}_probs" for k in range(n_options)]
    if not all(_PROBABILITY.fullmatch(n) and n in table.columns for n in names):
        return None, []
    columns = [[to_float(cell) for cell in _cells(table, n)] for n in names]
    values = np.array(columns, dtype=np.float64).T[kept]
    sums = np.where(np.isfinite(values) & (values >= 0), values, np.nan).sum(axis=1)
    bad = ~(np.abs(sums - 1) <= _SUM_TOLERANCE)
    if bad.any():
        line = int(table.lines[kept[int(np.argmax(bad))]])
        return None, [
            f"option probabilities are not used: {int(bad.sum())} of {len(kept)} items have none "
            f"that sum to 1, the first in line {line}"
        ]
    with np.errstate(divide="ignore"):
        logprobs: NDArray[np.float64] = np.log(values)
    return logprobs, []


READERS: tuple[Reader, ...] = (
    Reader(
        name="MMLU subject CSV",
        description="<subject>.csv with columns 0 to 5 and correct, as MMLU's own script writes",
        sniff=sniff,
        read=read,
        example="results_<model>/<subject>.csv: 0,1,2,3,4,5,correct",
    ),
)
