"""Inspect AI logs: items, scores, epochs, and what is told about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import ReadOptions, SourceFile, read_sources
from benchharmony.readers.inspect_ai import READERS
from harness_logs import JUNK, read_with, replaced, survives, write_bytes, write_json
from inspect_logs import LAYOUTS, Log, four, members_of, run, sample, tokens, write_log
from zips import write_zip


def read_log(folder: Path, log: Log, name: str = "river.json") -> Evaluation:
    (found,) = read_with(READERS, write_log(folder / name, log))
    return found


def scores_of(found: Evaluation) -> list[float]:
    assert found.scores is not None
    return list(map(float, found.scores))


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_holds_the_same_evaluation(tmp_path: Path, name: str) -> None:
    write_log(tmp_path / name, run(four(), accuracy=0.75))
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert not result.unused
    assert found.source.format == "Inspect AI"
    assert (found.benchmark, found.model) == ("rivers", "pond/owl-7b")
    assert found.item_ids == ("a", "b", "c", "d")
    assert found.score_name == "match"
    assert scores_of(found) == [1, 1, 0, 1]
    assert found.gold is not None
    assert found.gold.tolist() == [1, 1, 1, 1]
    assert found.choices == (("in a sea", "in a lake", "in a desert"),) * 4
    assert found.texts is not None
    assert found.texts[2] == "Where does river c end?"
    assert found.groups == {"region": ("north", "north", "south", "south")}
    assert not found.predictive
    assert found.notes == ()
    assert found.metadata["temperature"] == 0.5


def test_epochs_of_an_item_are_averaged(tmp_path: Path) -> None:
    samples = [sample("a", v, e) for e, v in enumerate("CIIC", start=1)]
    samples += [sample("b", "C", 2), sample("b", "C", 1)]
    samples += [sample("b", "?", 3, scores={}, error={"message": "no\nanswer in time"})]
    found = read_log(tmp_path, run(samples), "a.eval")
    assert found.item_ids == ("a", "b")
    assert scores_of(found) == [0.5, 1]
    assert found.source.items_read == 2
    assert not found.source.problems
    assert any("7 samples are 2 items in up to 4 epochs" in n for n in found.notes)
    assert any(
        "1 samples without a score" in n and "epoch 3" in n and "'no answer in time'" in n
        for n in found.notes
    )


def test_letters_words_and_numbers_are_scores(tmp_path: Path) -> None:
    values = ["C", "I", "P", "N", True, False, 0.25, "0.75", "yes", "No", 1]
    found = read_log(tmp_path, run(sample(i, v) for i, v in enumerate(values)))
    assert scores_of(found) == [1, 0, 0.5, 0, 1, 0, 0.25, 0.75, 1, 0, 1]
    assert any("P (partially correct) counts as 0.5 (1 samples)" in n for n in found.notes)
    assert any("N counts as 0 (1 samples)" in n for n in found.notes)


def test_samples_without_a_usable_score_are_named(tmp_path: Path) -> None:
    samples = [
        *four(),
        sample("e", "C", scores=None, error={"message": "out of memory"}),
        sample("f", "C", scores={}),
        sample("g", "Q"),
        sample("h", float("nan")),
        sample("a", "I"),
        sample(None, "C"),
    ]
    found = read_log(tmp_path, run(samples))
    assert scores_of(found) == [1, 1, 0, 1]
    assert found.source.items_read == 10
    reasons = {p.item: p.reason for p in found.source.problems}
    assert reasons["e"] == "the sample ended in an error: 'out of memory'"
    assert reasons["f"] == "no score in this sample"
    assert reasons["g"] == "match gave 'Q', which is neither C, I, P, N nor a number"
    assert set(reasons) == {"a", "e", "f", "g", "h", None}
    assert "twice" in reasons["a"]


def test_several_scorers_are_metrics_and_the_first_named_is_the_score(tmp_path: Path) -> None:
    def both(s: Any) -> Any:
        graded = {"value": {"depth": 0.5, "breadth": 7}}
        return s | {"scores": {"graded": graded, **s["scores"]}}

    log = run(map(both, four()))
    found = read_log(tmp_path, log)
    assert found.score_name == "match"
    assert list(found.metrics) == ["match", "graded.depth", "graded.breadth"]
    assert any("graded.depth, graded.breadth (--score chooses)" in n for n in found.notes)
    (other,) = read_sources([tmp_path], score="graded.depth").evaluations
    assert scores_of(other) == [0.5] * 4
    log["results"] = {"scores": [{"name": "graded"}, {"name": "match"}]}
    assert read_log(tmp_path, log).score_name == "graded.depth"
    (problem,) = read_sources([tmp_path], score="graded.breadth").unused
    assert "scores must lie in [0, 1]" in problem.reason


def test_no_scorer_in_the_unit_interval_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no scorer stays in \[0, 1\]; it has: match \(2 to 9\)"):
        read_log(tmp_path, run([sample("a", 2), sample("b", 9)]))


def test_logs_without_samples_or_scores_are_refused_with_the_status(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no samples in this Inspect log \(status 'canc"):
        read_log(tmp_path, run([], status="cancelled"))
    with pytest.raises(InputError, match="none of 1 samples has a score"):
        read_log(tmp_path, run([sample("a", "C", scores={})]))


def test_a_run_that_did_not_end_is_told(tmp_path: Path) -> None:
    found = read_log(tmp_path, run(four()[:2], status="cancelled"))
    assert any("status of the run is 'cancelled'" in n for n in found.notes)
    assert any("holds 2 of the run's 4 items" in n for n in found.notes)
    members = [m for m in members_of(run(four())) if m[0] != "header.json"]
    (found,) = read_with(READERS, write_zip(tmp_path / "b.eval", members))
    assert any("no header.json" in n for n in found.notes)
    assert len(found) == 4


def test_an_accuracy_that_is_not_the_stated_one_is_told(tmp_path: Path) -> None:
    found = read_log(tmp_path, run(four(), accuracy=0.5))
    assert any("states accuracy 0.5 for 'match'" in n and "is 0.75" in n for n in found.notes)


@pytest.mark.parametrize(
    "results",
    [
        {"scorers": [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}]},
        {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 0.5}}},
        {"scorer": "match", "metrics": {"accuracy": 0.5}},
    ],
)
def test_older_layouts_of_the_results_are_read(tmp_path: Path, results: Any) -> None:
    samples = [{**s, "score": s["scores"]["match"], "scores": None} for s in four()]
    found = read_log(tmp_path, run(samples, results=results))
    assert found.score_name == "match"
    assert scores_of(found) == [1, 1, 0, 1]
    assert any("states accuracy 0.5" in n for n in found.notes)


def test_messages_and_attachments_become_the_text(tmp_path: Path) -> None:
    key = "0123456789abcdef" * 2
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image"}]},
        {"role": "user", "content": f"attachment://{key}"},
    ]
    found = read_log(tmp_path, run([sample("a", "C", input=messages, attachments={key: "a map"})]))
    assert found.texts == ("Look:\na map",)


def test_targets_name_a_choice_by_letter_or_text(tmp_path: Path) -> None:
    targets = ["C", ["A"], "in a lake", ["A", "B"], "F", None]
    found = read_log(tmp_path, run(sample(i, "C", target=t) for i, t in enumerate(targets)))
    assert found.gold is not None
    assert found.gold.tolist() == [2, 0, 1, -1, -1, -1]
    open_ended = read_log(tmp_path, run([sample("a", "C", choices=None)]))
    assert open_ended.gold is None
    assert open_ended.choices is None


def test_unreadable_samples_of_an_archive_are_named(tmp_path: Path) -> None:
    members = [*members_of(run(four())), ("samples/e_epoch_1.json", b'{"id": "e"')]
    (found,) = read_with(READERS, write_zip(tmp_path / "a.eval", members))
    assert len(found) == 4
    assert [p.item for p in found.source.problems] == ["samples/e_epoch_1.json"]


def test_bare_nan_and_samples_that_are_no_objects_are_borne(tmp_path: Path) -> None:
    log = run(four(), stats={"time": float("nan")}) | {"samples": [*four(), 7]}
    found = read_log(tmp_path, log)
    assert len(found) == 4
    assert [p.line for p in found.source.problems] == [5]


def test_other_documents_and_archives_are_left_alone(tmp_path: Path) -> None:
    other = [
        write_json(tmp_path / "a.json", {"eval": {"task": "x"}, "samples": []}),
        write_json(tmp_path / "b.json", [run(four())]),
        write_zip(tmp_path / "c.zip", [("a.json", b"[]")]),
        write_bytes(tmp_path / "d.zip", b"PK\x03\x04"),
    ]
    for file in other:
        assert not any(r.sniff(file) for r in READERS)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(junk=JUNK, where=st.integers(0, 110), archive=st.booleans())
def test_junk_ends_in_a_worded_error_or_a_result(
    tmp_path: Path, junk: Any, where: int, archive: bool
) -> None:
    whole = run([sample(i, "C", output=tokens({"B": 0.5, "A": 0.25})) for i in "ab"], accuracy=1)
    log, _ = replaced(whole, junk, where)
    name = "a.json"
    if archive and isinstance(log, dict) and isinstance(log.get("samples"), list):
        name = "a.eval"
    survives(READERS, write_log(tmp_path / name, log))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(where=st.integers(0, 3000), junk=st.binary(max_size=3))
def test_cut_and_damaged_files_end_in_a_worded_error_or_a_result(
    tmp_path: Path, where: int, junk: bytes
) -> None:
    for name in ("a.eval", "a.json"):
        data = write_log(tmp_path / name, run(four())).path.read_bytes()
        survives(READERS, write_bytes(tmp_path / name, data[:where]))
        survives(READERS, write_bytes(tmp_path / name, data[:where] + junk + data[where + 3 :]))


def test_a_model_that_the_log_does_not_name_is_the_callers(tmp_path: Path) -> None:
    log = run(four())
    del log["eval"]["model"]
    file: SourceFile = write_log(tmp_path / "a.json", json.loads(json.dumps(log)))
    (found,) = read_with(READERS, file, ReadOptions(model="elk"))
    assert found.model == "elk"
