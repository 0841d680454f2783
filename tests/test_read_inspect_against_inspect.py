"""Our reading of Inspect logs against Inspect's own reader: the same items, the same scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchharmony.readers import read_sources

pytestmark = [pytest.mark.real_data, pytest.mark.slow]

FOLDERS = ("inspect-ai-tests", "every-eval-ever-inspect", "local-inspect")


def logs(folder: Path) -> list[Path]:
    found = (p for name in FOLDERS for p in (folder / name).rglob("*"))
    return sorted(p for p in found if p.suffix in (".eval", ".json"))


def means(samples: Sequence[Any], as_number: Any) -> dict[str, float]:
    """Return the mean over epochs of the first scorer's value, by item."""
    values: dict[str, list[float]] = {}
    for sample in samples:
        if sample.scores:
            first = next(iter(sample.scores.values()))
            values.setdefault(str(sample.id), []).append(as_number(first.value))
    return {item: sum(v) / len(v) for item, v in values.items()}


def test_items_and_scores_are_those_of_inspect_itself(shared_data: Path) -> None:
    log = pytest.importorskip("inspect_ai.log")
    as_number = pytest.importorskip("inspect_ai.scorer").value_to_float()
    paths = logs(shared_data / "logs")
    assert len(paths) > 20
    scored = 0
    for path in paths:
        theirs = means(log.read_eval_log(str(path)).samples or [], as_number)
        ours: dict[str, float] = {}
        for evaluation in read_sources([path]).evaluations:
            assert evaluation.scores is not None
            ours = dict(zip(evaluation.item_ids, evaluation.scores.tolist(), strict=True))
        assert ours == pytest.approx(theirs), path.name
        scored += bool(theirs)
    assert scored > 15
