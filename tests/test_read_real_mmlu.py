"""Real MMLU subject tables and MMLU-Pro outputs against the figures of their manifest."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from benchharmony.readers import SourceFile, mmlu_csv, mmlu_pro, read_sources

pytestmark = pytest.mark.real_data

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "logs"
READERS = (*mmlu_csv.READERS, *mmlu_pro.READERS)


def _manifest() -> list[dict[str, str]]:
    path = LOGS / "MANIFEST.tsv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = _manifest()
SUBJECTS = [row for row in ROWS if row["format+version"].startswith("hendrycks/test-style CSV")]

PRO = [row for row in ROWS if row["format+version"].startswith("MMLU-Pro own JSON")]


def _path(row: dict[str, str]) -> str:
    return row["path"]


def test_the_manifest_is_here_or_everything_is_skipped(shared_data: Path) -> None:
    assert len(SUBJECTS) == 171
    assert len(PRO) == 3


@pytest.mark.parametrize("row", SUBJECTS, ids=_path)
def test_items_and_accuracy_are_as_the_manifest_states(row: dict[str, str]) -> None:
    (found,) = read_sources([LOGS / row["path"]]).evaluations
    assert found.source.format == "MMLU subject CSV"
    assert found.source.items_read == len(found) == int(row["items"])
    stated = re.search(r"acc ([01]?\.\d+)", row["note"])
    assert stated is not None
    assert found.scores is not None
    assert found.scores.mean() == pytest.approx(float(stated.group(1)), abs=6e-5)
    assert found.benchmark == "mmlu_" + row["task"].removeprefix("MMLU ")
    assert found.gold is not None
    assert (found.gold >= 0).all()


@pytest.mark.parametrize("row", PRO, ids=_path)
def test_mmlu_pro_is_as_the_manifest_states(row: dict[str, str]) -> None:
    (found,) = read_sources([LOGS / row["path"]]).evaluations
    assert found.source.format == "MMLU-Pro outputs"
    assert found.model == row["model"]
    assert found.source.items_read == len(found) == int(row["items"])
    stated = re.search(r"acc ([01]?\.\d+) \(pred missing counted wrong: (\d+)\)", row["note"])
    assert stated is not None
    assert found.scores is not None
    assert found.scores.mean() == pytest.approx(float(stated.group(1)), abs=6e-5)
    assert any(n.startswith(f"{stated.group(2)} of ") for n in found.notes)
    assert len(set(found.groups["category"])) == 14
    assert found.n_options is not None
    assert (found.n_options.min(), found.n_options.max()) == (1, 10)


def test_files_of_other_formats_are_left_alone(shared_data: Path) -> None:
    own = {row["path"] for row in (*SUBJECTS, *PRO)}
    taken = []
    for row in ROWS:
        path = LOGS / row["path"]
        if row["path"] not in own and path.is_file():
            file = SourceFile(path)
            taken += [f"{row['path']}: {r.name}" for r in READERS if r.sniff(file)]
    assert not taken
