"""Tasks of lm-evaluation-harness: the numbers are its own, item by item."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("lm_eval")

from benchharmony import Evaluation
from benchharmony.collect.command import add_arguments, collect
from benchharmony.collect.encode import Encoder
from benchharmony.collect.model import load_model
from benchharmony.collect.tasks import TaskOptions, load_task
from benchharmony.errors import BenchharmonyError
from tiny_model import save_model

WORDS = ["wind", "river", "bridge", "stone", "water", "sand", "ship", "miller", "storm"]
METRICS = """
metric_list:
  - metric: acc
  - metric: acc_norm
"""
TASKS = {
    "winds": """
output_type: multiple_choice
doc_to_text: "{{passage}}\\nQuestion: {{question}}\\nAnswer:"
doc_to_target: gold
doc_to_choice: choices
"""
    + METRICS,
    "lettered": """
output_type: multiple_choice
description: "Questions about {{topic}}.\\n\\n"
doc_to_text: "{{question}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nC. {{choices[2]}}\\nAnswer:"
doc_to_target: gold
doc_to_choice: ["A", "B", "C"]
num_fewshot: 2
fewshot_split: test
"""
    + METRICS,
    "spaced": """
output_type: multiple_choice
doc_to_text: "{{question}} "
target_delimiter: ""
doc_to_target: gold
doc_to_choice: choices
"""
    + METRICS,
    "unprompted": """
output_type: multiple_choice
doc_to_text: ""
target_delimiter: ""
doc_to_target: gold
doc_to_choice: choices
"""
    + METRICS,
    "spoken": """
output_type: generate_until
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: said
generation_kwargs:
  until: ["\\n", "river"]
  max_gen_toks: 9
metric_list:
  - metric: exact_match
    ignore_case: true
""",
    "last_word": """
output_type: loglikelihood
doc_to_text: "{{question}}"
doc_to_target: " {{said}}"
metric_list:
  - metric: acc
""",
    "rolling": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: question
metric_list:
  - metric: word_perplexity
""",
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("tasks")
    rng = np.random.default_rng(5)
    rows = []
    for i in range(14):
        few = list(rng.choice(WORDS, 3, replace=False))
        rows.append(
            {
                "question": " ".join(rng.choice(WORDS, rng.integers(3, 9))) + "?",
                "passage": " ".join(rng.choice(WORDS, 12)) + ".",
                "choices": [few[0], f"{few[1]} and {few[2]}", "no " * (1 + i % 3) + few[2]],
                "gold": int(rng.integers(3)),
                "topic": ["sea", "land"][i % 2],
                "said": few[0],
            }
        )
    data = where / "rows.jsonl"
    data.write_text("".join(json.dumps(r) + "\n" for r in rows))
    for name, body in TASKS.items():
        head = (
            f"task: {name}_tiny\ndataset_path: json\ntest_split: test\ndataset_kwargs:\n"
            f"  cache_dir: {where / 'cache'}\n  data_files:\n    test: {data}\n"
        )
        (where / f"{name}.yaml").write_text(head + body)
    group = "group: both_tiny\ntask:\n  - winds_tiny\n  - lettered_tiny\n"
    (where / "both.yaml").write_text(group)
    return where


@pytest.fixture(scope="module", params=[False, True], ids=["no-bos", "bos"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Short enough that some prompts must be cut.
    where = tmp_path_factory.mktemp("models") / "tiny"
    return save_model(where, bos=request.param, max_length=90)


def reference(model: Path, tasks: Path, name: str) -> list[dict[str, Any]]:
    """Return the per-item records of lm-eval itself."""
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    harness = HFLM(pretrained=str(model), device="cpu", dtype="float32", batch_size=4)
    found = lm_eval.simple_evaluate(
        model=harness,
        tasks=[name],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    return sorted(found["samples"][name], key=lambda s: s["doc_id"])


def collected(model: Path, tasks: Path, name: str, output: Path, *more: str) -> Evaluation:
    parser = ArgumentParser()
    add_arguments(parser)
    argv = ["--model", str(model), "--task", name, "--include-path", str(tasks), "--quiet"]
    argv += ["-o", str(output), "--device", "cpu", "--batch-size", "4", "--top-k", "16", *more]
    return Evaluation.load(collect(parser.parse_args(argv)))


@pytest.mark.parametrize("name", ["winds", "lettered", "spaced", "unprompted", "last_word"])
def test_log_likelihoods_and_scores_are_those_of_lm_eval(
    model: Path, tasks: Path, tmp_path: Path, name: str
) -> None:
    found = collected(model, tasks, f"{name}_tiny", tmp_path)
    records = reference(model, tasks, f"{name}_tiny")
    assert len(found) == len(records) == 14
    assert found.option_logprobs is not None
    for i, record in enumerate(records):
        wanted = [float(r[0]) for r in record["filtered_resps"]]
        np.testing.assert_allclose(found.option_logprobs[i], wanted, atol=1e-4)
        for metric in record["metrics"]:
            assert found.metrics[metric][i] == record[metric], (i, metric)
    assert found.scores is not None
    assert found.score_name == "acc"


def test_generated_answers_are_those_of_lm_eval(model: Path, tasks: Path, tmp_path: Path) -> None:
    found = collected(model, tasks, "spoken_tiny", tmp_path)
    records = reference(model, tasks, "spoken_tiny")
    assert found.scores is not None
    assert found.scores.tolist() == [r["exact_match"] for r in records]
    assert set(found.predictive) == {"item", "answer"}


def test_texts_generated_are_those_of_lm_eval(model: Path, tasks: Path) -> None:
    from benchharmony.collect.generate import generate

    benchmark = load_task("spoken_tiny", TaskOptions(include_path=str(tasks)))
    loaded = load_model(str(model), device="cpu")
    encoder = Encoder(loaded.tokenizer, loaded.max_length)
    texts = generate(loaded, encoder, [i.generation for i in benchmark.items if i.generation])
    wanted = [r["filtered_resps"][0] for r in reference(model, tasks, "spoken_tiny")]
    assert texts == wanted


def test_pairs_are_encoded_as_lm_eval_does(model: Path) -> None:
    from lm_eval.models.huggingface import HFLM

    harness = HFLM(pretrained=str(model), device="cpu", dtype="float32")
    loaded = load_model(str(model), device="cpu")
    encoder = Encoder(loaded.tokenizer, loaded.max_length)
    for pair in [
        ("Question: wind?\nAnswer:", " the river"),
        ("Question: wind?\nAnswer: ", "the river"),
        ("Question: wind?\nAnswer:\n\n", " river"),
        ("<s>Question:", " stone"),
        ("wat", "er"),
        ("a", "\u00e9\U0001f30a"),
    ]:
        assert encoder.pair(pair) == harness._encode_pair(*pair), pair
    assert encoder.prefix_token == harness.prefix_token_id


def test_a_group_is_one_benchmark_with_a_column_for_its_tasks(
    model: Path, tasks: Path, tmp_path: Path
) -> None:
    found = collected(model, tasks, "both_tiny", tmp_path)
    assert len(found) == 28
    assert set(found.groups["task"]) == {"winds_tiny", "lettered_tiny"}
    assert set(found.groups["topic"]) == {"sea", "land"}


def test_texts_of_items_leave_out_shots_cues_and_show_options(tasks: Path) -> None:
    item = load_task("lettered_tiny", TaskOptions(include_path=str(tasks))).items[0]
    lines = item.presented.split("\n")
    assert [x[:2] for x in lines[1:]] == ["A.", "B.", "C."]  # once, and no "Answer:"
    assert item.prompt.count("Answer:") == 3
    assert item.answer is not None
    assert item.gold is not None
    assert item.answer[1].strip() == item.choices[item.gold].strip()  # the text, no letter
    item = load_task("winds_tiny", TaskOptions(include_path=str(tasks))).items[0]
    assert item.presented.split("\n")[2].startswith("A. ")
    assert "gold" not in item.groups


def test_tasks_that_cannot_be_run_are_told(tasks: Path) -> None:
    options = TaskOptions(include_path=str(tasks))
    with pytest.raises(BenchharmonyError, match="neither options nor an answer"):
        load_task("rolling_tiny", options)
    with pytest.raises(BenchharmonyError, match="close names: winds_tiny"):
        load_task("wind_tiny", options)
    with pytest.raises(BenchharmonyError, match="no such directory"):
        load_task("winds_tiny", TaskOptions(include_path=str(tasks / "absent")))


def test_a_document_that_breaks_the_task_is_left_out(tasks: Path, tmp_path: Path) -> None:
    rows = (tasks / "rows.jsonl").read_text().splitlines()[:3]
    broken = json.loads(rows[1])
    broken["gold"] = 9
    empty = {**broken, "gold": 0, "choices": []}
    (tmp_path / "rows.jsonl").write_text(
        "\n".join([rows[0], json.dumps(broken), json.dumps(empty), rows[2]]) + "\n"
    )
    text = (tasks / "winds.yaml").read_text()
    text = text.replace(str(tasks), str(tmp_path)).replace("winds_tiny", "broken_tiny")
    (tmp_path / "broken.yaml").write_text(text)
    benchmark = load_task("broken_tiny", TaskOptions(include_path=str(tmp_path)))
    assert [i.item_id for i in benchmark.items] == ["0", "3"]
    reasons = [p.reason for p in benchmark.problems]
    assert "not one of its 3 options" in reasons[0]
    assert "no options" in reasons[1]
