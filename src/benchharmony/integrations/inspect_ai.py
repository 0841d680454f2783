"""HARMONY as a metric of Inspect AI: computed with the scores, kept in the log, shown beside them.

.. code-block:: python

    from inspect_ai import Task
    from inspect_ai.scorer import accuracy, match
    from benchharmony.integrations.inspect_ai import harmony

    Task(dataset=..., scorer=match(), metrics=[accuracy(), harmony("subject")])
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.induced import MIN_ITEMS
from benchharmony.metric import BANDWIDTH

try:
    from inspect_ai.scorer import metric, value_to_float
except ImportError:
    raise ImportError(
        "benchharmony.integrations.inspect_ai needs Inspect AI: pip install 'benchharmony[inspect]'"
    ) from None

#: What the metric gives, in the order of Inspect's table.
MEASURES = ("harmony", "harmony_adjusted", "harmony_agreement", "harmony_groups")

_logger = logging.getLogger(__name__)


@metric  # type: ignore[untyped-decorator, unused-ignore]
def harmony(
    group: str = "subject",
    *,
    bandwidth: float = BANDWIDTH,
    to_float: Callable[[Any], float] | None = None,
) -> Callable[[list[Any]], dict[str, float]]:
    """HARMONY over the groups that the samples' metadata declare.

    Gives ``harmony`` (raw H), ``harmony_adjusted`` (without what sampling noise does),
    ``harmony_agreement`` and ``harmony_groups`` (their number). A number that is undefined is
    NaN, with a warning in Inspect's own log (save for fewer than 20 samples): a metric that raised
    would lose the run's scores.

    Parameters
    ----------
    group : str
        Key of the samples' metadata. Samples without it form a group of their own.
    bandwidth : float
        b of the masses.
    to_float : callable, optional
        From a score's value to a number in [0, 1]; Inspect's own by default (C, I, P, N).
    """
    said: set[str] = set()

    def tell(words: str, items: int) -> None:
        # Inspect also asks while a run goes on: the first samples say nothing of the whole.
        if items >= MIN_ITEMS and words not in said:
            said.add(words)
            _logger.warning("HARMONY over %r: %s", group, words)

    def compute(scores: list[Any]) -> dict[str, float]:
        try:
            found, notes = _measured(scores, group, bandwidth, to_float or value_to_float())
        except BenchharmonyError as error:
            tell(f"undefined: {error}", len(scores))
            return dict.fromkeys(MEASURES, math.nan)
        for note in notes:
            tell(note, len(scores))
        return found

    return compute


def _measured(
    scores: list[Any], group: str, bandwidth: float, to_float: Callable[[Any], float]
) -> tuple[dict[str, float], tuple[str, ...]]:
    from benchharmony.harmony import harmony as harmony_of
    from benchharmony.partition import declared

    labels = [(s.sample_metadata or {}).get(group) for s in scores]
    if all(label is None for label in labels):
        keys = Counter(k for s in scores for k in s.sample_metadata or {})
        there = ", ".join(repr(k) for k, _ in keys.most_common(8)) or "none"
        raise BenchharmonyError(f"no sample has this key in its metadata; keys there: {there}")
    evaluation = Evaluation.from_arrays(
        benchmark="task",
        model="model",
        scores=[to_float(s.score.value) for s in scores],
        groups={group: labels},
    )
    split = declared(evaluation, group)
    result = harmony_of(evaluation, split, bandwidth=bandwidth)
    if result.undefined is not None:
        raise BenchharmonyError(result.undefined)
    values = (result.value, result.adjusted, result.agreement, float(split.k))
    found = {
        name: math.nan if value is None else float(value)
        for name, value in zip(MEASURES, values, strict=True)
    }
    return found, split.notes
