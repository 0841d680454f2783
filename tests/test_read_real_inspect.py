"""Real Inspect AI logs against the figures of their manifest."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import ReadOptions, SourceFile, inspect_ai, read_sources

pytestmark = pytest.mark.real_data

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "logs"
(READER,) = inspect_ai.READERS
VALUES = {"C": 1.0, "I": 0.0}


def _manifest() -> list[dict[str, str]]:
    path = LOGS / "MANIFEST.tsv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def _scores(row: dict[str, str]) -> dict[str, list[float]]:
    """Return the values that the manifest counts ("scores match=C:3, match=I:1"), by scorer."""
    counted = re.search(r"scores ([^;]+);", row["note"])
    found: dict[str, list[float]] = {}
    for name, value, count in re.findall(r"(\w+)=([^:]+):(\d+)", counted[1] if counted else ""):
        number = VALUES[value] if value in VALUES else float(value)
        found.setdefault(name, []).extend([number] * int(count))
    return found


ROWS = _manifest()
LOGGED = [row for row in ROWS if row["format+version"].startswith("Inspect AI")]
SCORED = [row for row in LOGGED if _scores(row)]
EMPTY = [row for row in LOGGED if row["items"] == "0" and "invalid JSON" not in row["note"]]
UNSCORED = [row for row in LOGGED if row["items"] != "0" and not _scores(row)]


def _path(row: dict[str, str]) -> str:
    return row["path"]


def _read(path: str) -> Evaluation:
    file = SourceFile(LOGS / path)
    assert READER.sniff(file)
    (found,) = READER.read(file, ReadOptions())
    return found


def test_the_manifest_is_here_or_everything_is_skipped(shared_data: Path) -> None:
    assert (len(SCORED), len(EMPTY), len(UNSCORED)) == (20, 5, 2)


@pytest.mark.parametrize("row", SCORED, ids=_path)
def test_samples_and_scores_are_as_the_manifest_states(row: dict[str, str]) -> None:
    found = _read(row["path"])
    ((name, values),) = _scores(row).items()
    # The manifest counts samples: every item once for each of its epochs.
    assert found.metadata["samples"] == int(row["items"]) == len(values)
    assert len(found) == found.source.items_read == int(row["items"]) / found.metadata["epochs"]
    assert (found.benchmark, found.model) == (row["task"], row["model"])
    assert found.score_name == name
    assert found.scores is not None
    assert found.scores.mean() == pytest.approx(np.mean(values))
    assert not any("the log states" in n for n in found.notes)
    assert any("cancelled" in n for n in found.notes) == ("status cancelled" in row["note"])


@pytest.mark.parametrize("row", EMPTY, ids=_path)
def test_logs_without_samples_are_refused_truly(row: dict[str, str]) -> None:
    with pytest.raises(InputError, match="no samples in this Inspect log"):
        _read(row["path"])


@pytest.mark.parametrize("row", UNSCORED, ids=_path)
def test_logs_without_scores_are_refused_truly(row: dict[str, str]) -> None:
    with pytest.raises(InputError, match=f"none of {row['items']} samples has a score"):
        _read(row["path"])


def test_files_of_other_formats_are_left_alone(shared_data: Path) -> None:
    own = {row["path"] for row in LOGGED}
    paths = [r["path"] for r in ROWS if r["path"] not in own and (LOGS / r["path"]).is_file()]
    assert len(paths) > 200
    assert not [p for p in paths if READER.sniff(SourceFile(LOGS / p))]


@pytest.mark.parametrize("suffix", ["eval", "json.gz"])
def test_recorded_top_tokens_are_distributions_of_the_answer(
    shared_data: Path, suffix: str
) -> None:
    name = f"smollm2-135m-instruct_arc-easy-letter-40.{suffix}"
    (found,) = read_sources([shared_data / "logs" / "local-inspect" / name]).evaluations
    assert found.source.format == "Inspect AI"
    assert len(found) == 40
    assert found.scores is not None
    assert found.scores.mean() == 0.325
    view = found.predictive["next"]
    assert view.token_ids is not None
    assert found.gold is not None
    assert Counter(found.gold.tolist()).keys() <= {0, 1, 2, 3}
    assert 0.06 < view.rest.min() < view.rest.max() < 0.24
    assert any("by the letter answered" in n for n in found.notes)
