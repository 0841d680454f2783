"""Reader of NumPy archives of token-level outputs: one file per model and benchmark.

A file is named ``<model>__<benchmark>.npz`` (or ``...__item.npz``) and holds ``item_ids``,
``gold``, ``option_logprobs`` and the top tokens of next-token distributions as ``<view>_ids``,
``<view>_logprobs`` and ``<view>_rest``. Views become positions:

============  =============  ==================================================================
view          positions      distribution of
============  =============  ==================================================================
predictive    item           mean over the tokens of the item as presented
gold_mean     answer         mean over the tokens of the right option
cloze         next           next token after the question: the answer position
letter        next_letter    next token after the lettered prompt; knows about letters only
best_mean     best_mean      mean over the tokens of the option that the model prefers
============  =============  ==================================================================

Any other view keeps its name. Metrics are ``acc`` (highest log-likelihood), ``acc_norm`` (highest
per character) and ``acc_letter`` (highest of the lettered prompt), ties to the lowest index.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import Evaluation, Source
from benchharmony.predictive import Predictive
from benchharmony.readers.archive import ZIP_MAGIC
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

#: In the order in which an evaluation lists them.
_POSITIONS = {"predictive": "item", "gold_mean": "answer", "cloze": "next", "letter": "next_letter"}

_VIEW_PARTS = ("_ids", "_logprobs", "_rest")

#: What numpy and zipfile raise on damaged, forged or pickled arrays.
DAMAGE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    OverflowError,
    MemoryError,
    SyntaxError,
    RuntimeError,  # an encrypted member
    RecursionError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


def sniff(file: SourceFile) -> bool:
    """Whether a file is a zip whose first member is a NumPy array."""
    head = file.head[:1024]
    length = int.from_bytes(head[26:28], "little")
    return head.startswith(ZIP_MAGIC) and head[30 : 30 + length].endswith(b".npy")


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return the one evaluation of the archive.

    Raises
    ------
    InputError
        When the archive is damaged, holds pickled objects, lacks arrays, or no item is usable.
    """
    arrays = load_arrays(file)
    try:
        return [_evaluation(file, arrays, options)]
    except InputError:
        raise
    except BenchharmonyError as error:
        raise InputError(str(file), str(error)) from None
    except (ValueError, TypeError, IndexError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(str(file), f"its arrays do not fit together ({reason})") from None


def load_arrays(file: SourceFile) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive; arrays of Python objects are never loaded.

    Raises
    ------
    InputError
        When the archive is damaged or holds pickled objects.
    """
    if not file.head.startswith(ZIP_MAGIC):
        raise InputError(str(file), "not a NumPy archive (a zip of arrays)")
    where = file.path if file.compression is None else io.BytesIO(file.read_bytes())
    try:
        with np.load(where, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except DAMAGE as error:
        raise damaged(file, error) from None


def damaged(file: SourceFile, error: Exception) -> InputError:
    """Return the error of arrays that NumPy does not load."""
    # NumPy's own message advises to load pickled objects all the same, which nobody should.
    reason = str(error).split("\n")[0].partition(" when allow_pickle")[0]
    return InputError(
        str(file),
        f"damaged NumPy arrays, or arrays of Python objects ({reason or type(error).__name__})",
    )


def _evaluation(
    file: SourceFile, arrays: Mapping[str, NDArray[Any]], options: ReadOptions
) -> Evaluation:
    views = _views(arrays)
    _require(file, arrays, views)
    n = len(arrays["item_ids"])
    _check_lengths(file, arrays, views, n)
    metrics = _metrics(arrays)
    scores, score_name, notes = _score(arrays, metrics)
    rows, problems = _usable_rows(file, arrays["item_ids"], scores)
    picked = {name: a[rows] if a.shape[:1] == (n,) else a for name, a in arrays.items()}
    model, benchmark = _names(file, options)
    subjects = [str(s) or None for s in picked["subject"].tolist()] if "subject" in picked else []
    return Evaluation.from_arrays(
        benchmark=benchmark,
        model=model,
        item_ids=picked["item_ids"].tolist(),
        scores=None if scores is None else scores[rows],
        score_name=score_name,
        metrics={name: values[rows] for name, values in metrics.items()},
        predictive=_predictives(picked, views) or None,
        option_logprobs=picked.get("option_logprobs"),
        gold=picked.get("gold"),
        groups={"subject": subjects} if any(subjects) else None,
        notes=notes,
        source=Source("npz", (str(file),), n, tuple(problems)),
    )


def _views(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the names of the distributions, the positions that partitions use first."""
    found = [name.removesuffix("_rest") for name in arrays if name.endswith("_rest")]
    order = list(_POSITIONS)
    return sorted(found, key=lambda view: order.index(view) if view in order else len(order))


def _require(file: SourceFile, arrays: Mapping[str, NDArray[Any]], views: list[str]) -> None:
    needed = ["item_ids"] + [view + part for view in views for part in _VIEW_PARTS]
    if views:
        needed.append("vocab_size")
    if not views and "option_logprobs" not in arrays and "scores" not in arrays:
        needed.append("option_logprobs (or scores, or <view>_ids, <view>_logprobs, <view>_rest)")
    missing = [name for name in needed if name not in arrays]
    if missing:
        has = ", ".join(sorted(arrays)) or "none"
        raise InputError(
            str(file), f"a NumPy archive without the arrays {', '.join(missing)}; it has: {has}"
        )


def _check_lengths(
    file: SourceFile, arrays: Mapping[str, NDArray[Any]], views: list[str], n: int
) -> None:
    if arrays["item_ids"].ndim != 1 or n == 0:
        raise InputError(str(file), "item_ids is not a list of at least one id")
    per_item = ["subject", "gold", "scores", "option_logprobs", "option_n_chars"]
    per_item += ["letter_option_logprobs"] + [v + part for v in views for part in _VIEW_PARTS]
    for name in per_item:
        shape = arrays[name].shape if name in arrays else (n,)
        if shape[:1] != (n,):
            raise InputError(str(file), f"array {name} has shape {shape} for {n} items")


def _usable_rows(
    file: SourceFile, item_ids: NDArray[Any], scores: NDArray[Any] | None
) -> tuple[NDArray[np.int64], list[Problem]]:
    first: dict[str, int] = {}
    rows, problems = [], []
    for row, item in enumerate(map(str, item_ids.tolist())):
        if first.setdefault(item, row) != row:
            reason = "the item id of an earlier record, which is kept"
            problems.append(Problem(str(file), reason, row + 1, item))
        elif scores is not None and np.isnan(scores[row]):
            problems.append(Problem(str(file), "no score and no gold option", row + 1, item))
        else:
            rows.append(row)
    if not rows:
        raise InputError(str(file), f"no usable item; the first of {len(problems)}: {problems[0]}")
    return np.array(rows, dtype=np.int64), problems


def _metrics(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    gold = arrays.get("gold")
    options = arrays.get("option_logprobs")
    letters = arrays.get("letter_option_logprobs")
    if gold is None:
        return {}
    metrics = {}
    if options is not None:
        metrics["acc"] = _right(options, gold)
        if "option_n_chars" in arrays:
            # At least one character, so that padding (0, with NaN above it) divides cleanly.
            metrics["acc_norm"] = _right(options / np.maximum(arrays["option_n_chars"], 1), gold)
    if letters is not None:
        metrics["acc_letter"] = _right(letters, gold)
    return metrics


def _right(options: NDArray[Any], gold: NDArray[Any]) -> NDArray[np.float64]:
    """1 where the highest option is the gold one; NaN where there is no option or no gold."""
    known = (gold >= 0) & ~np.isnan(options).all(axis=1)
    best = np.argmax(np.where(np.isnan(options), -np.inf, options), axis=1)
    return np.where(known, (best == gold).astype(np.float64), np.nan)


def _score(
    arrays: Mapping[str, NDArray[Any]], metrics: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[Any] | None, str, list[str]]:
    """Return the scores, their name, and what is worth telling about them."""
    given = arrays.get("scores")
    if given is None:
        return metrics.get("acc"), "acc", []
    for name in ("acc_norm", "acc"):
        if name in metrics and np.array_equal(metrics[name], given):
            return metrics[name], name, []
    computed = metrics.get("acc_norm")
    if computed is None:
        return given, "score", []
    differ = int((computed != given).sum())
    note = f"logged scores differ from acc_norm of the log-likelihoods on {differ} of {len(given)}"
    return given, "score", [f"{note} items; the logged ones are used"]


def _predictives(arrays: Mapping[str, NDArray[Any]], views: list[str]) -> dict[str, Predictive]:
    return {
        _POSITIONS.get(view, view): Predictive.top_k(
            arrays[f"{view}_ids"],
            arrays[f"{view}_logprobs"],
            arrays[f"{view}_rest"],
            int(arrays["vocab_size"]),
        )
        for view in views
    }


def _names(file: SourceFile, options: ReadOptions) -> tuple[str, str]:
    parts = file.name.removesuffix(".npz").split("__")
    if parts[-1] == "item" and len(parts) > 2:
        parts = parts[:-1]
    if len(parts) > 1:
        return parts[0], "__".join(parts[1:])
    return options.model or "unknown", options.benchmark or parts[0]


READERS: tuple[Reader, ...] = (
    Reader(
        name="npz",
        description="NumPy archives <model>__<benchmark>.npz of token-level outputs",
        sniff=sniff,
        read=read,
        example="<model>__<benchmark>.npz",
    ),
)
