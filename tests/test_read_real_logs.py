"""Real harness and NAEP logs against the figures that their manifest states."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import ReadOptions, SourceFile, lm_eval, lm_eval_forks, naep, read_sources

pytestmark = pytest.mark.real_data

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "logs"
READERS = (*lm_eval.READERS, *lm_eval_forks.READERS, *naep.READERS)
OURS = re.compile(r"lm-eval|BigScience|own JSONL")
#: Models that the manifest knows from elsewhere; the logs do not name them.
UNNAMED = re.compile(r"not stated|see |calamita|tgpred")


def _manifest() -> list[dict[str, str]]:
    path = LOGS / "MANIFEST.tsv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = _manifest()
HARNESS = [row for row in ROWS if OURS.search(row["format+version"])]
RESULTS = [row for row in HARNESS if row["items"].isdigit() and row["items"] != "0"]
OTHERS = [row for row in ROWS if not OURS.search(row["format+version"])]
#: Its only metric is a mean absolute error, which is no score.
WITHOUT_SCORE = "polymer_tg_prediction"


def _path(row: dict[str, str]) -> str:
    return row["path"]


def _stated_accuracy(row: dict[str, str]) -> float | None:
    match = re.search(r"acc(?: logged| recomputed)? ([01]\.\d+)", row["note"])
    return float(match.group(1)) if match else None


@cache
def _read(path: str) -> tuple[Evaluation, ...]:
    file = SourceFile(LOGS / path)
    taking = [r for r in READERS if r.sniff(file)]
    assert len(taking) == 1, [r.name for r in taking]
    return tuple(taking[0].read(file, ReadOptions()))


def test_the_manifest_is_here_or_everything_is_skipped(shared_data: Path) -> None:
    assert len(HARNESS) > 80
    assert sum(_stated_accuracy(row) is not None for row in RESULTS) > 60


@pytest.mark.parametrize("row", RESULTS, ids=_path)
def test_items_scores_and_options_are_as_the_manifest_states(row: dict[str, str]) -> None:
    if WITHOUT_SCORE in row["path"]:
        with pytest.raises(InputError, match=r"it has: mae \(103\.\d+ to inf\)"):
            _read(row["path"])
        return
    found = _read(row["path"])
    for evaluation in found:
        unkeyed = re.search(r"\((\d+) without\)", row["note"])
        assert evaluation.source.items_read == int(row["items"])
        assert evaluation.source.items_left_out == int(unkeyed.group(1) if unkeyed else 0)
        assert len(evaluation) == int(row["items"]) - evaluation.source.items_left_out
        stated = _stated_accuracy(row)
        if stated is not None:
            assert evaluation.scores is not None
            assert evaluation.score_name == "acc"
            digits = len(str(stated).partition(".")[2])
            assert evaluation.scores.mean() == pytest.approx(
                stated, abs=0.51 * 10 ** -max(digits, 3)
            )
        has_options = evaluation.option_logprobs is not None
        assert has_options == (row["has option log-likelihoods"] == "y")
        assert not any("differs from the logged acc" in n for n in evaluation.notes)
        assert not any("the results file states" in n for n in evaluation.notes)


@pytest.mark.parametrize(
    "row", [r for r in RESULTS if "differ" in r["note"] and "FAKE" not in r["note"]], ids=_path
)
def test_options_and_ties_are_counted_as_the_manifest_counts_them(row: dict[str, str]) -> None:
    (found,) = _read(row["path"])
    per_item = re.search(r"options per item (\d+):(\d+)", row["note"])
    assert per_item is not None
    assert found.n_options is not None
    assert int((found.n_options == int(per_item.group(1))).sum()) == int(per_item.group(2))
    tied = re.search(r"(\d+) items with tied options", row["note"])
    options = found.option_logprobs
    assert options is not None
    # The manifest counts items where any two options share a value, not only the likeliest.
    different = np.array([len(np.unique(o[~np.isnan(o)])) for o in options])
    assert int((different < found.n_options).sum()) == int(tied.group(1) if tied else 0)


@pytest.mark.parametrize("row", RESULTS, ids=_path)
def test_the_model_is_named_where_the_log_names_it(row: dict[str, str]) -> None:
    if WITHOUT_SCORE in row["path"]:
        return
    model = _read(row["path"])[0].model
    stated = row["model"].removesuffix("-hf").lower()
    if UNNAMED.search(row["model"] + row["path"]) or "writeout" in row["path"]:
        assert model
    else:
        # The manifest shortens names: "pythia-1b-deduped step143000", "org__name".
        plain = re.sub(r"[^a-z0-9.]", "", model.lower().replace("-v1.1", ""))
        words = re.sub(r" step\d+$", "", stated)
        assert re.sub(r"[^a-z0-9.]", "", words) in plain


@pytest.mark.parametrize("row", [r for r in RESULTS if "0.4.13" in r["format+version"]], ids=_path)
def test_computed_metrics_equal_those_that_the_harness_logged(row: dict[str, str]) -> None:
    from benchharmony.readers.harness_scores import length_normalised, likeliest

    (found,) = _read(row["path"])
    assert found.option_logprobs is not None
    assert found.gold is not None
    np.testing.assert_array_equal(found.predicted_option == found.gold, found.metrics["acc"] == 1)
    if found.choices is None or "mmlu" in row["path"]:
        return  # scored by letters of one length, so that acc_norm is acc
    normalised = length_normalised(found.option_logprobs, found.choices)
    assert normalised is not None
    right = likeliest(normalised) == found.gold
    np.testing.assert_array_equal(right, found.metrics["acc_norm"] == 1)


@pytest.mark.parametrize(
    "row", [r for r in HARNESS if r["items"] == "-" and "tmp" not in r["path"]], ids=_path
)
def test_files_without_items_are_refused_with_a_true_reason(row: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"no per-item records|no results of a model"):
        _read(row["path"])


def test_formats_of_others_are_left_alone() -> None:
    taken = []
    for row in OTHERS:
        path = LOGS / row["path"]
        if path.is_file():
            file = SourceFile(path)
            taken += [f"{row['path']}: {r.name}" for r in READERS if r.sniff(file)]
    assert not taken


def test_declared_groups_of_real_logs(shared_data: Path) -> None:
    economics = _read("llm-psychometrics/naep-economics-responses-Phi-4-14B.jsonl")[0]
    assert len(set(economics.groups["classification"])) == 3
    history = _read("llm-psychometrics/naep-history-responses-Phi-4-14B.jsonl.gz")[0]
    assert {"classification", "grade", "difficulty"} <= set(history.groups)
    mmlu = next(r["path"] for r in RESULTS if "samples_mmlu_local" in r["path"])
    found = _read(mmlu)[0]
    assert len(set(found.groups["subject"])) == 15
    assert found.item_ids[0].startswith("mmlu:")


def test_the_same_run_met_twice_is_reported_once(shared_data: Path) -> None:
    found = read_sources([shared_data / "logs" / "eai-pr-bias-v042"])
    assert len(found.evaluations) == 2
    assert len(found.notes) == 1
    assert found.unused == ()
