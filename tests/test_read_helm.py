"""HELM run directories: joint and separate multiple choice, generation, files alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import SourceFile, read_sources
from benchharmony.readers.helm import READERS
from benchharmony.readers.helm_files import split_name
from harness_logs import JUNK, read_with, replaced, survives, write_bytes, write_json

RUN = "rivers:region=all,method=multiple_choice_joint,model=lake_otter-1"
#: Question, options, index of the right one, the letter that the model gave.
RIVERS = (
    ("Which river is longer?", ("Loire", "Rhine"), 1, "B"),
    ("Which river reaches the Black Sea?", ("Danube", "Oder"), 0, " A "),
    ("Which river crosses Turin?", ("Arno", "Po"), 1, "A"),
    ("Which river crosses Seville?", ("Guadalquivir", "Ebro"), 0, "It is A"),
)


def instance(k: int) -> dict[str, Any]:
    question, choices, gold, _ = RIVERS[k]
    kind = ["long", "short"][k // 2]
    return {
        "input": {"text": question},
        "references": [
            {"output": {"text": c}, "tags": (["correct"] if i == gold else []) + [kind, "A"]}
            for i, c in enumerate(choices)
        ],
        "split": "test",
        "id": f"id{k}",
    }


def joint() -> dict[str, Any]:
    states = [
        {
            "instance": instance(k),
            "train_trial_index": 0,
            "output_mapping": dict(zip("AB", river[1], strict=True)),
            "request": {"model": "lake/otter-1"},
            "result": {"success": True, "completions": [{"text": river[3], "logprob": 0}]},
        }
        for k, river in enumerate(RIVERS)
    ]
    adapter = {"method": "multiple_choice_joint", "model": "lake/otter-1"}
    return {"adapter_spec": adapter, "request_states": states}


def statistics(name: str, values: list[float]) -> list[dict[str, Any]]:
    return [
        {
            "instance_id": f"id{k}",
            "train_trial_index": 0,
            "stats": [
                {"name": {"name": "num_output_tokens", "split": "test"}, "count": 1, "sum": 1},
                {"name": {"name": name, "split": "test"}, "count": 1, "sum": v, "mean": v},
            ],
        }
        for k, v in enumerate(values)
    ]


def displayed(name: str, values: list[float]) -> list[dict[str, Any]]:
    return [
        {"instance_id": f"id{k}", "predicted_text": "A", "stats": {"num_output_tokens": 1, name: v}}
        for k, v in enumerate(values)
    ]


def scored(text: str, logprobs: list[float], prompt: str = "Q:") -> dict[str, Any]:
    """Return a result that echoes a prompt and the option, one token a character of the option."""
    tokens = [{"text": prompt, "logprob": -9.0}, {"text": " " + text[0], "logprob": logprobs[0]}]
    tokens += [{"text": c, "logprob": v} for c, v in zip(text[1:], logprobs[1:], strict=True)]
    return {"success": True, "completions": [{"text": f"{prompt} {text}", "tokens": tokens}]}


def separate(calibrated: bool = False) -> dict[str, Any]:
    """Return options scored one by one: the longer one has the better value per token only."""
    options = {"ab": [-1.0, -1.0], "cdef": [-0.75, -0.75, -0.75, -0.75]}
    item = {
        "input": {"text": "Which is it?"},
        "references": [
            {"output": {"text": t}, "tags": ["correct"] if t == "cdef" else []} for t in options
        ],
        "id": "id0",
    }
    states = []
    for k, (text, values) in enumerate(options.items()):
        state = {"instance": item, "reference_index": k, "train_trial_index": 0}
        states.append(state | {"request_mode": "original", "result": scored(text, values)})
        if calibrated:
            without = [v - 2.0 if text == "ab" else v for v in values]
            result = scored(text, without, "Answer:")
            states.append(state | {"request_mode": "calibration", "result": result})
    method = "multiple_choice_separate_" + ("calibrated" if calibrated else "original")
    return {"adapter_spec": {"method": method}, "request_states": states}


def write_run(folder: Path, **documents: Any) -> SourceFile:
    for name, document in documents.items():
        write_json(folder / RUN / f"{name}.json", document)
    return SourceFile(folder / RUN / f"{next(iter(documents))}.json")


def read(folder: Path, **documents: Any) -> Evaluation:
    (found,) = read_with(READERS, write_run(folder, **documents))
    return found


def test_joint_multiple_choice(tmp_path: Path) -> None:
    found = read(tmp_path, scenario_state=joint())
    assert found.benchmark == "rivers:region=all,method=multiple_choice_joint"
    assert found.model == "lake/otter-1"
    assert found.item_ids == ("id0", "id1", "id2", "id3")
    assert found.scores is not None
    # What is no letter of the options is wrong, whatever it says.
    assert found.scores.tolist() == [1, 1, 0, 0]
    assert found.score_name == "exact_match"
    assert found.gold is not None
    assert found.gold.tolist() == [1, 0, 1, 0]
    assert found.choices == tuple(r[1] for r in RIVERS)
    assert found.texts == tuple(r[0] for r in RIVERS)
    # The tags that all options share are columns; those of one letter are not.
    assert found.groups == {"tag1": ("long", "long", "short", "short")}
    assert found.option_logprobs is None
    assert any("judged here" in n for n in found.notes)


def test_logged_metrics_come_first_and_a_mismatch_is_told(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        scenario_state=joint(),
        per_instance_stats=statistics("exact_match", [1, 1, 1, 0]),
        display_predictions=displayed("quasi_exact_match", [1, 1, 0.5, 0]),
    )
    assert found.scores is not None
    assert found.scores.tolist() == [1, 1, 1, 0]
    assert set(found.metrics) == {"exact_match", "quasi_exact_match"}
    assert any("differs from the logged one on 1 of 4 items" in n for n in found.notes)


def test_a_directory_is_one_evaluation_and_no_file_is_left_over(tmp_path: Path) -> None:
    spec = {"name": RUN, "scenario_spec": {"class_name": "x.Rivers"}, "adapter_spec": {}}
    write_run(
        tmp_path,
        scenario_state=joint(),
        run_spec=spec | {"groups": ["rivers"]},
        scenario={"name": "rivers", "description": "", "tags": [], "definition_path": ""},
        instances=[instance(k) for k in range(4)],
        per_instance_stats=statistics("exact_match", [1, 1, 0, 0]),
        display_predictions=displayed("exact_match", [1, 1, 0, 0]),
        display_requests=[{"instance_id": "id0", "request": {"prompt": "Q"}}],
        stats=[{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 0.5}],
    )
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert found.source.format == "HELM run"
    assert len(found.source.files) == 8
    assert result.unused == ()
    assert result.notes == ()
    assert found.metadata["groups"] == ["rivers"]
    assert found.metadata["scenario"] == "x.Rivers"


def test_separate_options_are_judged_per_token(tmp_path: Path) -> None:
    found = read(tmp_path, scenario_state=separate())
    assert found.option_logprobs is not None
    assert found.option_logprobs.tolist() == [[-2.0, -3.0]]
    assert found.scores is not None
    assert found.scores.tolist() == [1]
    assert found.gold is not None
    assert found.gold.tolist() == [1]


def test_calibrated_options_are_judged_against_the_option_alone(tmp_path: Path) -> None:
    found = read(tmp_path, scenario_state=separate(calibrated=True))
    assert found.option_logprobs is not None
    assert found.option_logprobs.tolist() == [[-2.0, -3.0]]
    assert found.scores is not None
    assert found.scores.tolist() == [0]


def test_an_option_without_its_request_leaves_its_item_out(tmp_path: Path) -> None:
    state = separate()
    del state["request_states"][1]
    with pytest.raises(InputError, match="not every option was scored"):
        read(tmp_path, scenario_state=state)


def test_letter_probabilities_are_used_where_all_were_recorded(tmp_path: Path) -> None:
    state = joint()
    for k, request in enumerate(state["request_states"]):
        top = {" A": -0.25 - k, "A": -4.0, "B": -1.5, "x": -9.0}
        request["result"]["completions"][0]["tokens"] = [{"text": "A", "top_logprobs": top}]
    found = read(tmp_path, scenario_state=state)
    assert found.option_logprobs is not None
    assert found.option_logprobs.tolist() == [[-0.25 - k, -1.5] for k in range(3)] + [[-3.25, -1.5]]


def test_trials_are_averaged_and_perturbed_copies_left_aside(tmp_path: Path) -> None:
    state = joint()
    again = json.loads(json.dumps(state["request_states"][0])) | {"train_trial_index": 1}
    again["result"]["completions"][0]["text"] = "A"
    copy = json.loads(json.dumps(state["request_states"][1]))
    copy["instance"]["perturbation"] = {"name": "typos"}
    state["request_states"] += [again, copy]
    found = read(tmp_path, scenario_state=state)
    assert found.scores is not None
    assert found.scores.tolist() == [0.5, 1, 0, 0]
    assert any("perturbed copies of 1 instances" in n for n in found.notes)


def test_failed_requests_are_left_out_and_named(tmp_path: Path) -> None:
    state = joint()
    state["request_states"][1]["result"] = {"success": False, "completions": []}
    state["request_states"][2]["result"] = {"success": True, "completions": []}
    state["request_states"].append("no state")
    found = read(tmp_path, scenario_state=state)
    assert found.item_ids == ("id0", "id3")
    assert found.source.items_read == 5
    assert {(p.item, p.reason) for p in found.source.problems} == {
        (None, "request state without an instance"),
        ("id1", "the request to the model failed"),
        ("id2", "no completion of the model"),
    }


def test_generation_takes_the_metric_that_helm_displays(tmp_path: Path) -> None:
    state = joint()
    for request in state["request_states"]:
        del request["output_mapping"]
    found = read(
        tmp_path,
        scenario_state=state,
        per_instance_stats=statistics("exact_match", [0, 0, 0, 0]),
        display_predictions=displayed("f1_score", [0.5, 1, 0, 0.25]),
    )
    assert found.score_name == "f1_score"
    assert found.choices is None
    assert found.scores is not None
    assert found.scores.tolist() == [0.5, 1, 0, 0.25]


@pytest.mark.parametrize("kind", ["display_predictions", "per_instance_stats"])
def test_results_without_a_scenario_state_are_read_alone(tmp_path: Path, kind: str) -> None:
    rows = {
        "display_predictions": displayed("exact_match", [1, 0, 0, 0]),
        "per_instance_stats": statistics("exact_match", [1, 0, 0, 0]),
    }[kind]
    found = read(tmp_path, **{kind: rows, "instances": [instance(k) for k in range(4)]})
    assert found.model == "lake_otter-1"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 0, 0]
    assert found.texts == tuple(r[0] for r in RIVERS)


def test_other_files_alone_are_refused_with_a_reason(tmp_path: Path) -> None:
    file = write_run(tmp_path, instances=[instance(0)])
    with pytest.raises(InputError, match="without the model's answers"):
        read_with(READERS, file)
    file = write_run(tmp_path, display_predictions=displayed("f1", [1.0]), scenario_state=joint())
    with pytest.raises(InputError, match=r"read from scenario_state\.json beside it"):
        read_with(READERS, file)


def test_summaries_of_a_suite_are_refused_with_a_reason(tmp_path: Path) -> None:
    write_run(tmp_path, scenario_state=joint())
    table = {"title": "Rivers", "header": [{"value": "Model"}], "rows": [[{"value": 0.5}]]}
    write_json(tmp_path / "groups" / "rivers.json", [table])
    write_json(tmp_path / "groups" / "json" / "rivers.json", table)
    write_json(tmp_path / "run_specs.json", [{"name": RUN, "scenario_spec": {}}])
    result = read_sources([tmp_path])
    assert len(result.evaluations) == 1
    assert sorted(p.reason.split(";")[0] for p in result.unused) == [
        "aggregate results, no per-item records",
        "aggregate results, no per-item records",
        "settings of runs, without results",
    ]


def test_the_model_is_no_part_of_the_benchmark() -> None:
    assert split_name("mmlu:subject=law,model=a_b,groups=x") == (
        "mmlu:subject=law,groups=x",
        {"subject": "law", "model": "a_b", "groups": "x"},
    )
    assert split_name("imdb") == ("imdb", {})


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(junk=JUNK, where=st.integers(0, 120), second=st.booleans())
def test_junk_anywhere_is_no_traceback(tmp_path: Path, junk: Any, where: int, second: bool) -> None:
    state = separate(calibrated=True) if second else joint()
    broken, _ = replaced(state, junk, where)
    stats, _ = replaced(statistics("exact_match", [1, 0, 0, 0]), junk, where // 4)
    spec, _ = replaced({"name": RUN, "adapter_spec": {"model": "m"}, "groups": ["x"]}, junk, where)
    documents = {"scenario_state": broken, "per_instance_stats": stats, "run_spec": spec}
    survives(READERS, write_run(tmp_path, **documents))
    (tmp_path / RUN / "scenario_state.json").unlink()
    survives(READERS, SourceFile(tmp_path / RUN / "per_instance_stats.json"))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(tmp_path: Path, share: float) -> None:
    data = json.dumps(joint()).encode()
    file = write_bytes(tmp_path / "scenario_state.json", data[: math.floor(share * len(data))])
    with pytest.raises(InputError, match="cut off"):
        read_with(READERS, file)
