"""Real runs of HELM, LightEval, BBQ and Inverse Scaling against what their manifest states."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path

import pytest

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import (
    ReadOptions,
    SourceFile,
    bbq,
    every_eval_ever,
    helm,
    inverse_scaling,
    lighteval,
    read_sources,
)

pytestmark = pytest.mark.real_data

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "logs"
READERS = (
    *helm.READERS,
    *every_eval_ever.READERS,
    *lighteval.READERS,
    *bbq.READERS,
    *inverse_scaling.READERS,
)


def _manifest() -> list[dict[str, str]]:
    path = LOGS / "MANIFEST.tsv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = _manifest()
HELM = [r for r in ROWS if r["format+version"].startswith("HELM")]
STATES = [r for r in HELM if r["format+version"].endswith("scenario_state")]
BBQ = [r for r in ROWS if r["format+version"].startswith("BBQ")]
INVERSE = [r for r in ROWS if r["path"].startswith("inverse-scaling/")]
TABLES = [r for r in INVERSE if r["model"] != "-" and r["items"] != "0"]
MINE = re.compile(r"HELM|BBQ|inverse-scaling|run arguments")


def _path(row: dict[str, str]) -> str:
    return row["path"]


@cache
def _read(path: str) -> tuple[Evaluation, ...]:
    file = SourceFile(LOGS / path)
    taking = [r for r in READERS if r.sniff(file)]
    assert len(taking) == 1, [r.name for r in taking]
    return tuple(taking[0].read(file, ReadOptions()))


def test_the_manifest_is_here_or_everything_is_skipped(shared_data: Path) -> None:
    assert len(STATES) == 11


@pytest.mark.parametrize("row", STATES, ids=_path)
def test_helm_runs_have_the_items_and_accuracy_of_the_manifest(row: dict[str, str]) -> None:
    (found,) = _read(row["path"])
    assert len(found) == found.source.items_read == int(row["items"])
    assert found.benchmark == row["task"]
    assert found.model.replace("/", "_") == row["model"]
    stated = re.search(r"acc recomputed from output_mapping ([01]\.\d+)", row["note"])
    assert stated is not None
    assert found.scores is not None
    assert found.scores.mean() == pytest.approx(float(stated.group(1)), abs=1e-9)
    for metric in ("exact_match", "quasi_exact_match"):
        assert found.metrics[metric].mean() == pytest.approx(float(stated.group(1)), abs=1e-9)
    # HELM's own exact match is the one judged from the outputs, and its log-likelihoods are 0.
    assert found.notes == ()
    assert found.option_logprobs is None
    assert found.choices is not None
    assert all(len(c) == 3 for c in found.choices)
    assert len(found) == 1 or set(found.groups) == {"tag1", "tag2"}


@pytest.mark.parametrize("row", [r for r in HELM if r not in STATES], ids=_path)
def test_other_files_of_a_helm_run_are_refused(row: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"scenario_state\.json"):
        _read(row["path"])


def test_a_suite_of_helm_runs_leaves_no_file_over(shared_data: Path) -> None:
    found = read_sources([shared_data / "logs" / "helm-bbq-v1"])
    assert len(found.evaluations) == len(STATES)
    assert found.unused == ()
    assert found.notes == ()


def test_lighteval_details_have_the_accuracy_that_lighteval_states(shared_data: Path) -> None:
    result = read_sources([shared_data / "logs" / "local-lighteval"])
    (found,) = result.evaluations
    assert result.unused == ()
    assert len(found) == 60
    assert found.score_name == "acc"
    assert found.scores is not None
    assert found.scores.mean() == pytest.approx(32 / 60)
    assert found.notes == ()  # as the results file states, and as the log-likelihoods say
    assert found.n_options is not None
    assert set(found.n_options.tolist()) == {4}
    assert found.item_ids[0].startswith("arc_easy:")


@pytest.mark.parametrize("row", BBQ, ids=_path)
def test_bbq_predictions_have_the_accuracy_of_the_manifest(row: dict[str, str]) -> None:
    stated = re.search(r"exact-text accuracy (\{.*?\})", row["note"])
    assert stated is not None
    accuracy = json.loads(stated.group(1))
    found = {e.metadata["prediction_column"]: e for e in _read(row["path"])}
    assert found.keys() == accuracy.keys()
    for column, evaluation in found.items():
        assert len(evaluation) == evaluation.source.items_read == int(row["items"])
        assert evaluation.model == row["model"]
        assert evaluation.benchmark.startswith(row["task"])
        assert evaluation.scores is not None
        assert evaluation.scores.mean() == pytest.approx(accuracy[column], abs=5.1e-5)
        assert {"context_condition", "question_polarity"} <= set(evaluation.groups)


@pytest.mark.parametrize("row", TABLES, ids=_path)
def test_inverse_scaling_tables_are_as_the_manifest_states(row: dict[str, str]) -> None:
    (found,) = _read(row["path"])
    assert len(found) == found.source.items_read == int(row["items"])
    assert (found.benchmark, found.model) == (row["task"], row["model"])
    stated = re.search(r"acc logged ([01]\.\d+)", row["note"])
    assert found.score_name == ("correct" if stated else "p_correct")
    assert found.scores is not None
    if stated is not None:
        assert found.scores.mean() == pytest.approx(float(stated.group(1)), abs=5.1e-5)
    has_data = "boolq" not in row["path"]
    assert (found.texts is not None) == has_data
    # Both options are known where a table has the mass of both and the order of data.csv.
    two = "two options" in row["note"] and has_data
    assert (found.option_logprobs is not None) == two
    if two:
        assert found.gold is not None
        assert ((found.predicted_option == found.gold) == (found.scores == 1)).all()


@pytest.mark.parametrize("row", [r for r in INVERSE if r not in TABLES], ids=_path)
def test_other_files_of_inverse_scaling_are_refused(row: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"no model's results|no results;|without rows"):
        _read(row["path"])


def test_the_inverse_scaling_folder_leaves_only_the_broken_run_over(shared_data: Path) -> None:
    result = read_sources([shared_data / "logs" / "inverse-scaling"])
    assert len(result.evaluations) == len(TABLES)
    assert [Path(p.path).name for p in result.unused] == ["gpt2-medium.csv"]


def test_formats_of_others_are_left_alone() -> None:
    taken = []
    for row in ROWS:
        path = LOGS / row["path"]
        if path.is_file() and not MINE.search(row["format+version"]):
            file = SourceFile(path)
            taken += [f"{row['path']}: {r.name}" for r in READERS if r.sniff(file)]
    assert not taken
