"""Inside other tools, run for real: a metric of Inspect AI, and lm-eval ending in one command."""

import json
import logging
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import benchharmony as bh
from benchharmony.cli import main

SUBJECTS = ("art", "law", "sea")
#: Right answers of each ten items, by subject.
RIGHT = (9, 8, 3)


def is_right(i):
    return (i // 3) % 10 < RIGHT[i % 3]


@pytest.fixture(scope="module")
def inspect_log(tmp_path_factory):
    """Run a task of 60 samples with Inspect's mock model and return its log and the file."""
    pytest.importorskip("inspect_ai")
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import accuracy, match

    from benchharmony.integrations.inspect_ai import harmony

    folder = tmp_path_factory.mktemp("inspect")
    samples = [
        Sample(
            id=f"s{i}", input=f"Which shore is number {i}?", target="yes",
            metadata={"subject": SUBJECTS[i % 3], "level": "same"},
        )
        for i in range(60)
    ]  # fmt: skip
    outputs = []
    for i in range(60):
        output = ModelOutput.from_content("mockllm/model", "yes" if is_right(i) else "no")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        outputs.append(output)
    task = Task(
        dataset=MemoryDataset(samples, name="shores"), scorer=match(), name="shores",
        metrics=[accuracy(), harmony("subject"), harmony("level"), harmony("depth")],
    )  # fmt: skip
    (log,) = eval(
        task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=str(folder),
        display="none", max_samples=1, max_connections=1,
    )  # fmt: skip
    assert log.status == "success", log.error
    return log, folder


def metrics_of(log):
    return {name: m.value for name, m in log.results.scores[0].metrics.items()}


@pytest.mark.slow
def test_inspects_metric_is_the_reports_harmony(inspect_log):
    log, folder = inspect_log
    found = metrics_of(log)
    (evaluation,) = bh.read(folder)
    assert evaluation.scores.tolist() == [float(is_right(i)) for i in range(60)]
    split = bh.partition(evaluation, "declared:subject")
    result = bh.harmony(evaluation, split)
    assert found["accuracy"] == pytest.approx(evaluation.scores.mean())
    assert found["harmony"] == pytest.approx(result.value)
    assert found["harmony_adjusted"] == pytest.approx(result.adjusted)
    assert found["harmony_agreement"] == pytest.approx(result.agreement)
    assert found["harmony_groups"] == 3


@pytest.mark.slow
def test_groups_that_say_nothing_do_not_lose_the_run(inspect_log):
    values = list(metrics_of(inspect_log[0]).items())
    undefined = [v for name, v in values if name.startswith("harmony")][4:]
    assert len(undefined) == 8
    assert all(map(math.isnan, undefined))


@pytest.mark.slow
def test_inspects_log_is_reported_in_one_command(inspect_log, capsys):
    assert main(["report", str(inspect_log[1]), "--bootstrap", "50", "--permutations", "50"]) == 0
    assert "shores / mockllm/model" in capsys.readouterr().out


@pytest.mark.slow
def test_inspect_finds_the_metric_by_name_when_it_scores_a_log_again(inspect_log):
    from inspect_ai import score
    from inspect_ai._util.registry import registry_info
    from inspect_ai.scorer import match

    from benchharmony.integrations.inspect_ai import harmony

    assert registry_info(harmony("subject")).name == "benchharmony/harmony"
    again = score(inspect_log[0], match(), action="overwrite", display="none")
    assert metrics_of(again)["harmony"] == metrics_of(inspect_log[0])["harmony"]


@pytest.mark.slow
def test_samples_without_the_key_are_a_group_of_their_own_and_that_is_told(caplog):
    pytest.importorskip("inspect_ai")
    from inspect_ai.scorer import SampleScore, Score

    from benchharmony.integrations.inspect_ai import harmony

    scores = [
        SampleScore(
            score=Score(value="CI"[i % 2]),
            sample_metadata={"subject": "ab"[i // 10]} if i < 20 else None,
        )
        for i in range(30)
    ]
    with caplog.at_level(logging.WARNING):
        found = harmony("subject")(scores)
    assert found["harmony_groups"] == 3
    assert "10 items have no 'subject' label" in caplog.text
    assert all(math.isnan(v) for v in harmony("subject")([]).values())
    wild = [
        SampleScore(score=Score(value=7.0), sample_metadata={"subject": i % 2}) for i in range(40)
    ]
    assert all(math.isnan(v) for v in harmony("subject")(wild).values())
    assert "scores must lie in [0, 1]" in caplog.text


def test_without_inspect_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['inspect_ai'] = None\nimport benchharmony.integrations.inspect_ai"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'benchharmony[inspect]'" in done.stderr


TASK = """
task: shores
dataset_path: json
dataset_kwargs:
  data_files:
    test: {items}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list:
  - metric: acc
metadata:
  version: 1.0
"""


@pytest.mark.slow
def test_lm_eval_ends_in_one_command(tmp_path, capsys):
    """The recipe of docs/integrations.md, with a random model of a few thousand weights."""
    pytest.importorskip("lm_eval")
    from tiny_model import save_model

    rng = np.random.default_rng(0)
    items = tmp_path / "shores.jsonl"
    words = ("river", "stone", "cloud", "old town", "bridge", "miller")
    rows = [
        {"id": f"q{i}", "question": f"Which {words[i % 6]} is number {i}?",
         "choices": [f"the {w}" for w in rng.permutation(words)[:4]], "answer": int(i % 4),
         "subject": SUBJECTS[i % 3]}
        for i in range(48)
    ]  # fmt: skip
    items.write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "shores.yaml").write_text(TASK.format(items=items))
    model = save_model(tmp_path / "model")
    out = tmp_path / "out"
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "hub"), "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", "--model", "hf", "--model_args",
         f"pretrained={model},dtype=float32", "--tasks", "shores", "--include_path",
         str(tmp_path / "tasks"), "--device", "cpu", "--log_samples", "--output_path", str(out)],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (results,) = out.rglob("results_*.json")
    new = tmp_path / "results_with_harmony.json"
    assert main([
        "report", str(out), "--partition", "declared:subject", "--bootstrap", "50",
        "--permutations", "50", "--format", "json", "--annotate", str(results), str(new),
    ]) == 0  # fmt: skip
    (entry,) = json.loads(capsys.readouterr().out)["evaluations"]
    assert entry["n_items"] == 48
    assert {s["label"] for s in entry["subdomains"]} == set(SUBJECTS)
    logged = json.loads(results.read_text())["results"]["shores"]
    assert entry["score"]["mean"] == pytest.approx(logged["acc,none"])
    annotated = json.loads(new.read_text())["results"]["shores"]
    assert annotated["harmony,none"] == entry["harmony"]["value"]
    assert {k: v for k, v in annotated.items() if not k.startswith("harmony")} == logged


def small_report():
    evaluation = bh.Evaluation.from_arrays(
        benchmark="shores", model="owl", scores=[float(is_right(i)) for i in range(60)],
        groups={"subject": [SUBJECTS[i % 3] for i in range(60)]},
    )  # fmt: skip
    return bh.report(evaluation, partition="declared:subject", bootstrap=0, permutations=0)


@pytest.mark.slow
def test_mlflow_gets_numbers_and_the_record(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow")
    from benchharmony.exports import mlflow as exports

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    report = small_report()
    with mlflow.start_run() as run:
        exports.log(report)
    found = mlflow.get_run(run.info.run_id).data.metrics
    h = report.record["evaluations"][0]["harmony"]["value"]
    assert found["harmony/shores/harmony"] == h
    assert found["harmony/shores/score"] == pytest.approx(2 / 3)
    (kept,) = tmp_path.rglob("harmony/report.json")
    assert json.loads(kept.read_text())["schema"] == "benchharmony/report/1"


@pytest.mark.slow
def test_wandb_gets_numbers_and_a_table(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    from benchharmony.exports import wandb as exports

    monkeypatch.setenv("WANDB_SILENT", "true")
    report = small_report()
    with pytest.raises(bh.BenchharmonyError, match="no run is active"):
        exports.log(report)
    run = wandb.init(mode="offline", dir=str(tmp_path), project="test")
    try:
        exports.log(report)
        h = report.record["evaluations"][0]["harmony"]["value"]
        assert run.summary["harmony/shores/harmony"] == h
        assert "harmony/report" in dict(run.summary)
    finally:
        run.finish()


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_tracker_is_worded(monkeypatch, name):
    from importlib import import_module

    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(bh.BenchharmonyError, match=f"pip install {name}"):
        import_module(f"benchharmony.exports.{name}").log(small_report())
