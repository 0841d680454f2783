"""Every file that the manifest of the real logs lists: read as it states, or refused truly.

Each file is read alone, by whichever reader takes it, as a user would. (The tests of the formats
look closer, each at its own files.)
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from benchharmony.readers import ReadOptions, read_sources

pytestmark = [pytest.mark.real_data, pytest.mark.slow]

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "logs"

#: Files that hold no results of items, or none that can be a score: where, and the reason given.
REFUSED = (
    (r"_cb\.jsonl", "the file is empty"),
    (r"bigrefactor-2023/back\.jsonl", "aggregate results only"),
    (r"/results_[^/]*\.json", "aggregate results only"),
    (r"examples-gpt2_piaf_0_", "the file is empty"),
    (r"polymer_tg_prediction", "no per-item metric that lies in"),
    (r"helm-bbq-v1/.*/display_predictions", "read from scenario_state.json"),
    (r"helm-bbq-v1/.*/per_instance_stats", "read from scenario_state.json"),
    (r"helm-bbq-v1/.*/(?!scenario_state)", "give scenario_state.json of the same run"),
    (r"inverse-scaling/.*/args\.log", "no results"),
    (r"inverse-scaling/.*/data\.csv", "no model's results"),
    (r"QA-v2-gpt2-new/gpt2-medium\.csv", "without rows"),
    (r"psychometrics/naep-.*-(items|metadata|response-distributions)", "no results of a model"),
    (r"psn-irt/dataset_analysis", "no column is named like a score"),
    (r"truthfulqa_style_audit", "no column is named like a score"),
    (r"data_with_llm_scoring|log_valid|log_version_3\.txt|log_with_nan|no-samples", "no samples"),
    (r"log_tool_call_error|popularity_dPiJifoWe", r"samples has a score"),
    (r"log_invalid", "not valid JSON"),
)


def _manifest() -> list[dict[str, str]]:
    path = LOGS / "MANIFEST.tsv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def stated_scores(note: str) -> list[tuple[float, int]]:
    """Return the accuracies that a note states, one for each evaluation, and their digits."""
    several = re.search(r"accuracy per row ([\d. ]+)", note)
    if several:
        return [_number(n) for n in several[1].split()]
    texts = re.search(r"exact-text accuracy (\{.*?\})", note)
    if texts:
        return [_number(str(v)) for v in json.loads(texts[1]).values()]
    for pattern in (
        r"acc logged ([01]\.?\d*)",
        r"acc recomputed (?:from output_mapping )?([01]\.?\d*)",
        r"\bacc ([01]\.\d+)",
        r"\d+ rows; \S+ ([01]\.\d+)",
        r'logged \{"\w+": \{"(?:accuracy|mean)": ([\d.]+)',
    ):
        found = re.search(pattern, note)
        if found:
            return [_number(found[1])]
    return []


def _number(text: str) -> tuple[float, int]:
    return float(text), len(text.partition(".")[2])


def why_refused(path: str) -> str | None:
    return next((reason for where, reason in REFUSED if re.search(where, path)), None)


@pytest.mark.parametrize("row", _manifest(), ids=lambda row: row["path"])
def test_a_file_is_read_as_stated_or_refused_truly(row: dict[str, str]) -> None:
    result = read_sources([LOGS / row["path"]], ReadOptions(allow_pickle=True))
    reason = why_refused(row["path"])
    if not result.evaluations:
        (problem,) = result.unused
        assert reason is not None, problem.reason
        assert reason in problem.reason
        return
    assert reason is None, "expected to be refused"
    stated = stated_scores(row["note"])
    for i, found in enumerate(result.evaluations):
        # The manifest counts an item of an Inspect log once for each of its epochs.
        epochs = found.metadata.get("epochs", 1)
        assert found.source.items_read * epochs == int(row["items"])
        unkeyed = re.search(r"\((\d+) without\)", row["note"])
        assert found.source.items_left_out == (int(unkeyed[1]) if unkeyed else 0)
        if not stated:
            continue
        value, digits = stated[i] if len(stated) > 1 else stated[0]
        assert found.scores is not None
        assert found.scores.mean() == pytest.approx(
            value, abs=0.51 * 10 ** -min(max(digits, 3), 12)
        )
    if len(stated) > 1:
        assert len(result.evaluations) == len(stated)


def test_most_files_state_a_score_and_are_read(shared_data: Path) -> None:
    rows = _manifest()
    assert len(rows) > 500
    assert sum(bool(stated_scores(r["note"])) for r in rows) > 330
    assert sum(why_refused(r["path"]) is None for r in rows) > 370
