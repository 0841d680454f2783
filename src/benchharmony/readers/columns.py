"""Which column of a table means what: guessed by name, or told by the caller."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError, InputError, Problem
from benchharmony.evaluation import clean_text

#: Names of each role in order of preference, compared without case, spaces and punctuation
#: ("Item ID" is ``item_id``). Documented in the user guide; extend, do not reorder.
NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": (
        *("item_id", "id", "question_id", "qid", "doc_id", "sample_id", "pair_id", "example_id"),
        *("instance_id", "problem_id", "task_item_id", "uid", "idx", "index"),
    ),
    "score": (
        *("score", "correct", "is_correct", "acc", "accuracy", "exact_match", "em", "right"),
        *("is_right", "correctness", "quasi_exact_match", "passed", "pass", "f1", "acc_norm"),
    ),
    "model": ("model", "model_name", "model_id", "llm"),
    "benchmark": (
        *("benchmark", "benchmark_name", "task", "task_name", "dataset", "dataset_name"),
        *("eval", "eval_name"),
    ),
    "gold": (
        *("gold", "gold_index", "gold_idx", "answer_index", "answer_idx", "answer_ix"),
        *("correct_index", "correct_idx", "correct_option_index", "correct_option", "is_gold"),
        *("gold_label", "answer_key", "correct_answer", "label", "target", "answer", "truth"),
        *("is_answer", "correct"),
    ),
    "text": ("question", "text", "prompt", "question_text", "query", "stem", "input"),
    "choices": ("choices", "options", "candidates", "answer_choices", "endings"),
    "option_logprobs": (
        *("option_logprobs", "option_loglikelihoods", "choice_logprobs", "loglikelihoods"),
        *("log_likelihoods", "option_logits", "choice_logits", "logits_options", "logits", "lls"),
    ),
    "option": (
        *("option", "choice_idx", "choice_index", "option_idx", "option_index", "option_id"),
        *("choice_id", "choice", "option_letter", "letter"),
    ),
    "option_logprob": (
        *("logprob", "loglikelihood", "log_likelihood", "option_logprob", "sum_logprob", "logp"),
        *("logit", "ll"),
    ),
    "option_text": ("option_text", "choice_text", "choice", "option", "continuation"),
}

#: Roles that a caller may set in ``ReadOptions.columns``; ``groups`` names declared columns.
ROLES = (*NAMES, "groups")

#: ``logprob_A``, ``logit_0``, ``choice1``: one column per option.
_OPTION_COLUMN = re.compile(r"(.*?)[ _.\-]*([a-z]|\d{1,2})", re.IGNORECASE)
_LOGPROB_PREFIXES = {
    *("logprob", "logprobs", "loglikelihood", "loglik", "logit", "logits", "ll", "lp"),
    *("optionlogprob", "choicelogprob", "optionlogit", "choicelogit", "logprobchoice"),
    *("logproboption", "optionloglikelihood", "choiceloglikelihood"),
}
_CHOICE_PREFIXES = {"", "choice", "option", "opt", "ans", "answer", "candidate", "ending"}

#: How many column names a message lists, and how much of each.
_SHOWN, _SHOWN_CHARS = 30, 40


@dataclass(frozen=True)
class Table:
    """A table as it was found, every column an Arrow column of the same length.

    Attributes
    ----------
    path : str
        The file, for messages.
    columns : dict of str to pyarrow.ChunkedArray
        By name, in the order of the source.
    lines : ndarray of int64, shape (n,)
        1-based line (text) or row (other sources) that each row starts at.
    decimal_comma : bool
        Whether "0,5" is a number here.
    opened : frozenset of str
        Columns from inside a struct ("metric.acc"): used only where the caller names them.
    problems : list of Problem
        Rows that were lost before this point.
    notes : list of str
        What is worth telling about the file.
    """

    path: str
    columns: dict[str, Any]
    lines: NDArray[np.int64]
    decimal_comma: bool = False
    opened: frozenset[str] = frozenset()
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class Roles:
    """What the columns of a table mean; None or empty where there is no such column.

    Attributes
    ----------
    item_id, model, benchmark, gold, text : str or None
        Names of columns.
    scores : tuple of str
        Columns that may hold the score, the preferred one first.
    score_told : bool
        Whether the caller named the score column.
    choices, option_logprobs : tuple of str
        One column of lists, or one column per option.
    option, option_logprob, option_text : str or None
        The columns of a table with one row per option.
    groups : tuple of str
        Columns that the caller declared as groups.
    """

    item_id: str | None = None
    model: str | None = None
    benchmark: str | None = None
    gold: str | None = None
    text: str | None = None
    scores: tuple[str, ...] = ()
    score_told: bool = False
    choices: tuple[str, ...] = ()
    option_logprobs: tuple[str, ...] = ()
    option: str | None = None
    option_logprob: str | None = None
    option_text: str | None = None
    groups: tuple[str, ...] = ()

    @property
    def used(self) -> set[str]:
        """Columns that have a meaning other than a metric or a group."""
        single = (self.item_id, self.model, self.benchmark, self.text, self.option_logprob)
        return {name for name in single if name} | {*self.choices, *self.option_logprobs}


def plain(name: str) -> str:
    """Return a column name without case, spaces and punctuation."""
    return "".join(c for c in name.casefold() if c.isalnum())


_PLAIN = {role: [plain(name) for name in names] for role, names in NAMES.items()}
_KNOWN = {name for names in _PLAIN.values() for name in names}


def is_known_name(name: str) -> bool:
    """Whether a column name is one of those that have a meaning."""
    return plain(name) in _KNOWN or _option_column(name, _LOGPROB_PREFIXES) is not None


def is_named_like(name: str, role: str) -> bool:
    """Whether a column name is one of a role's."""
    return plain(name) in _PLAIN[role]


def unique_names(names: Iterable[str]) -> list[str]:
    """Return names without repeats or gaps: a second "acc" becomes "acc (2)"."""
    seen: set[str] = set()
    counts: dict[str, int] = {}  # a header may hold one name forty thousand times
    result = []
    for name in names:
        base = clean_text(name) if name.strip() else "(unnamed)"
        unique = base
        while unique in seen:
            counts[base] = counts.get(base, 1) + 1
            unique = f"{base} ({counts[base]})"
        seen.add(unique)
        result.append(unique)
    return result


def assign_roles(table: Table, told: Mapping[str, str]) -> Roles:
    """Decide what each column means.

    Parameters
    ----------
    table : Table
        The table; its opened columns are not guessed.
    told : mapping of role to column name
        What the caller says; goes before any guess. ``choices``, ``option_logprobs`` and
        ``groups`` may name several columns, separated by commas.

    Raises
    ------
    BenchharmonyError
        For a role that does not exist.
    InputError
        For a column that does not exist.
    """
    names = list(table.columns)
    chosen = {role: _told(table.path, names, role, value) for role, value in told.items()}
    taken = table.opened.union(*chosen.values())
    free = [name for name in names if name not in taken]

    def one(role: str) -> str | None:
        columns = chosen.get(role) or _named(free, role)
        return columns[0] if columns else None

    return Roles(
        item_id=one("item_id"),
        model=one("model"),
        benchmark=one("benchmark"),
        gold=one("gold"),
        text=one("text"),
        scores=chosen.get("score") or _named(free, "score"),
        score_told="score" in chosen,
        choices=chosen.get("choices")
        or _named(free, "choices")[:1]
        or _option_columns(free, _CHOICE_PREFIXES),
        option_logprobs=chosen.get("option_logprobs")
        or _named(free, "option_logprobs")[:1]
        or _option_columns(free, _LOGPROB_PREFIXES),
        option=one("option"),
        option_logprob=one("option_logprob"),
        option_text=one("option_text"),
        groups=chosen.get("groups", ()),
    )


def _told(path: str, names: list[str], role: str, value: str) -> tuple[str, ...]:
    if role not in ROLES:
        raise BenchharmonyError(
            f"no column role {clean_text(role)!r}; the roles are: {', '.join(ROLES)}"
        )
    several = role in ("choices", "option_logprobs", "groups") and value not in names
    wanted = tuple(v.strip() for v in value.split(",")) if several else (value,)
    for name in wanted:
        if name not in names:
            raise InputError(
                path, f"no column {name!r} for the role {role}; {listed_columns(names)}"
            )
    return wanted


def listed_columns(names: list[str]) -> str:
    """Return "its columns are: ..." for a message, at most 30 of them."""
    shown = ", ".join(
        n if len(n) <= _SHOWN_CHARS else n[:_SHOWN_CHARS] + "..." for n in names[:_SHOWN]
    )
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"its columns are: {shown}{more}" if names else "it has no columns"


def _named(names: list[str], role: str) -> tuple[str, ...]:
    """Columns whose name is one of the role's, in the role's order."""
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(plain(name), name)
    return tuple(by_plain[p] for p in _PLAIN[role] if p in by_plain)


def _option_column(name: str, prefixes: set[str]) -> tuple[str, int] | None:
    """Return the prefix and position of a column of one option ("logit_B": ("logit", 1))."""
    match = _OPTION_COLUMN.fullmatch(name.strip())
    if match is None or plain(match[1]) not in prefixes:
        return None
    prefix, mark = plain(match[1]), match[2]
    if not prefix and not mark.isupper():  # a bare "a" or "1" says too little; "A" is an option
        return None
    if mark.isdigit():
        return f"{prefix}0", int(mark)
    return f"{prefix}a", ord(mark.lower()) - ord("a")


def _option_columns(names: list[str], prefixes: set[str]) -> tuple[str, ...]:
    """Columns of one option each: at least two, with no gap from A, 0 or 1 on."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        option = _option_column(name, prefixes)
        if option is not None:
            found.setdefault(option[0], {}).setdefault(option[1], name)
    for prefix, columns in found.items():
        positions = sorted(columns)
        start = positions[0]
        first_allowed = start == 0 or (start == 1 and prefix.endswith("0"))
        if len(positions) > 1 and first_allowed and positions[-1] - start == len(positions) - 1:
            return tuple(columns[p] for p in positions)
    return ()
