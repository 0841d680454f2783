"""``benchharmony.read``: evaluations from files, directories, globs and data frames."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from benchharmony.errors import BenchharmonyError, BenchharmonyWarning
from benchharmony.evaluation import Evaluation


def read(
    *sources: Any,
    strict: bool = False,
    score: str | None = None,
    columns: dict[str, str] | None = None,
    benchmark: str | None = None,
    model: str | None = None,
    format: str | None = None,  # noqa: A002 (the word of the command line)
    allow_pickle: bool = False,
) -> list[Evaluation]:
    """Read evaluations of any known format.

    Parameters
    ----------
    *sources : str, Path, or a pandas or polars frame
        Files, directories (searched), glob patterns, URLs of these, or tables in memory.
    strict : bool
        Raise when a file cannot be used or an item was left out, instead of warning.
    score : str, optional
        Metric to use as score ("acc_norm", "exact_match", ...).
    columns : dict, optional
        Column of a table for a role: ``{"score": "right", "item_id": "qid"}``.
    benchmark, model : str, optional
        Names where a source gives none.
    format : str, optional
        Name of the format to read every file as, whatever its content looks like.
    allow_pickle : bool
        Read pickles too, as plain data; nothing in them is run.

    Returns
    -------
    list of Evaluation

    Raises
    ------
    BenchharmonyError
        When a source does not exist or nothing in the sources is usable; with ``strict``, at the
        first problem.
    """
    from benchharmony.frames import from_frame
    from benchharmony.readers import ReadOptions, read_sources

    options = ReadOptions(columns or {}, benchmark, model, format, allow_pickle)
    found: list[Evaluation] = []
    problems: list[str] = []
    for source in sources:
        if isinstance(source, (str, Path)):
            result = read_sources([source], options, score=score)
            found.extend(result.evaluations)
            problems += [*map(str, result.unused), *result.notes]
        else:
            made = from_frame(source, columns=columns, benchmark=benchmark, model=model)
            found.extend(e.with_score(score) for e in made) if score else found.extend(made)
    problems += [str(p) for e in found for p in e.source.problems]
    if not found:
        raise BenchharmonyError(problems[0] if problems else "nothing to read was given")
    if problems and strict:
        raise BenchharmonyError(problems[0])
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        warnings.warn(f"{problems[0]}{more}", BenchharmonyWarning, stacklevel=2)
    return found
