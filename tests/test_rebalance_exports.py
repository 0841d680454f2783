"""Files of a rebalanced benchmark, its document and text, and the command that writes them."""

import dataclasses
import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import benchharmony as bh
from benchharmony import BenchharmonyError
from benchharmony.cli import main
from benchharmony.rebalance import rebalance
from benchharmony.rebalancing.export import export, file_name, lm_eval_samples, pruned_lines
from benchharmony.rebalancing.result import document
from benchharmony.rebalancing.text import to_text
from rebalancing import benchmark

FAST = {"draws": 20, "permutations": 20}
HOSTILE = "a/../../b\x1b[31m\u202e[bold]"


@pytest.fixture(scope="module")
def made():
    models, split = benchmark([50, 20, 10], [[0.95, 0.1, 0.1], [0.5, 0.8, 0.8]])
    return rebalance(models, split, **FAST)


def lines_of(path):
    # Not splitlines: it would split at the U+2028 inside the questions.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def write_items(path, ids, *, opened=open):
    with opened(path, "wt", encoding="utf-8") as out:
        for i in ids:
            out.write(json.dumps({"id": i, "question": f"what is {i}?\u2028é"}) + "\n")


def test_keep_and_drop_lists_share_the_items_out(made, tmp_path):
    written, notes = export(made, tmp_path)
    assert {p.name for p in written} == {"planted-keep.jsonl", "planted-drop.jsonl"}
    assert any("--items" in note for note in notes)
    kept = lines_of(tmp_path / "planted-keep.jsonl")
    dropped = lines_of(tmp_path / "planted-drop.jsonl")
    ids = [k["item_id"] for k in kept] + [d["item_id"] for d in dropped]
    assert sorted(ids) == [f"q{i:04d}" for i in range(80)]
    names = {k["item_id"] for k in kept}
    assert all(d["nearest_kept"] in names and d["reason"] for d in dropped)
    assert all(0 <= d["similarity"] <= 1 for d in dropped)


def test_the_result_writes_itself_and_warns_of_what_it_cannot(made, tmp_path):
    with pytest.warns(bh.BenchharmonyWarning, match="no lm-eval sample list"):
        written = made.export(tmp_path)
    assert all(p.is_file() for p in written)
    made.plot(tmp_path / "curve.json")
    assert json.loads((tmp_path / "curve.json").read_text())["vconcat"]


@pytest.mark.parametrize("opened", [open, gzip.open])
def test_the_pruned_copy_holds_the_kept_lines_byte_for_byte(made, tmp_path, opened):
    source = tmp_path / ("items.jsonl" if opened is open else "items.jsonl.gz")
    write_items(source, [f"q{i:04d}" for i in reversed(range(90))], opened=opened)
    data, notes = pruned_lines(made, source)
    with opened(source, "rb") as raw:
        whole = raw.read().split(b"\n")
    assert data.split(b"\n")[:-1] == [
        line for line in whole if line and json.loads(line)["id"] in set(made.kept)
    ]
    assert any("10 items were not evaluated" in note for note in notes)


def test_samples_are_places_in_the_file_in_ascending_order(made, tmp_path):
    source = tmp_path / "items.jsonl"
    order = [f"q{i:04d}" for i in np.random.default_rng(0).permutation(90)]
    write_items(source, order)
    source.write_text("\n" + source.read_text(encoding="utf-8"), encoding="utf-8")  # a blank line
    samples = lm_eval_samples(made, items=source, task="my_task")
    assert list(samples) == ["my_task"]
    assert samples["my_task"] == sorted(samples["my_task"])
    assert {order[place] for place in samples["my_task"]} == set(made.kept)


def test_items_of_another_benchmark_are_refused_and_nothing_is_written(made, tmp_path):
    source = tmp_path / "items.jsonl"
    write_items(source, ["other 1", "other 2"])
    with pytest.raises(BenchharmonyError, match="first id kept"):
        export(made, tmp_path / "out", items=source)
    assert not (tmp_path / "out").exists()


def test_items_without_ids_are_known_by_their_place(tmp_path):
    (evaluation,), _ = benchmark([30, 10], [0.5, 0.5])
    evaluation = dataclasses.replace(evaluation, item_ids=tuple(map(str, range(40))))
    result = rebalance(evaluation, bh.partition(evaluation, "declared:subject"), **FAST)
    source = tmp_path / "items.jsonl"
    source.write_text("".join(f'{{"question": "{i}"}}\n' for i in range(40)), encoding="utf-8")
    kept = sorted(map(int, result.kept))
    assert lm_eval_samples(result, items=source) == {"planted": kept}
    assert lm_eval_samples(result) == {"planted": kept}
    assert [json.loads(x)["question"] for x in pruned_lines(result, source)[0].splitlines()] == [
        str(i) for i in kept
    ]


def test_files_that_do_not_fit_are_refused_with_their_line(made, tmp_path):
    source = tmp_path / "items.jsonl"
    with pytest.raises(BenchharmonyError, match="no such file"):
        pruned_lines(made, source)
    write_items(source, ["other 1", "other 2"])
    with pytest.raises(BenchharmonyError, match="first id kept: 'q0"):
        pruned_lines(made, source)
    with pytest.raises(BenchharmonyError, match="kept items are not in this file"):
        lm_eval_samples(made, items=source)
    source.write_text('{"id": "q0000"}\n{"id": \n', encoding="utf-8")
    with pytest.raises(BenchharmonyError, match=r"items\.jsonl:2: not valid JSON"):
        pruned_lines(made, source)
    with pytest.raises(BenchharmonyError, match="not the harness's document numbers"):
        lm_eval_samples(made)


def test_weights_give_every_subdomain_the_same_weight(tmp_path):
    (evaluation,), split = benchmark([50, 20, 10], [0.5] * 3)
    result = rebalance(evaluation, split, strategy="weights")
    export(result, tmp_path)
    weights = {r["item_id"]: r["weight"] for r in lines_of(tmp_path / "planted-weights.jsonl")}
    w = np.array([weights[i] for i in evaluation.item_ids])
    assert w.mean() == pytest.approx(1)
    assert np.bincount(split.labels, w) == pytest.approx([80 / 3] * 3)
    assert np.average(evaluation.scores, weights=w) == pytest.approx(
        result.models[0].post_stratified.score
    )


@pytest.mark.parametrize("name", [HOSTILE, "..", "/etc/passwd", "", "\ud800", "x" * 300, "é"])
def test_file_names_stay_inside_the_folder(name):
    safe = file_name(name)
    assert safe
    assert len(safe) <= 80
    assert "/" not in safe
    assert not safe.startswith(".")
    assert safe.isascii()


def test_the_document_is_strict_json(made):
    def refuse(name):
        raise AssertionError(name)

    text = json.dumps(document([made]), allow_nan=False)
    entry = json.loads(text, parse_constant=refuse)["benchmarks"][0]
    assert json.loads(text)["schema"] == "benchharmony/rebalance/1"
    assert entry["n_kept"] + entry["n_dropped"] == entry["n_items"] == 80
    assert {m["model"] for m in entry["models"]} == {"model 0", "model 1"}
    assert entry["settings"]["seed"] == 0
    point = entry["models"][0]["curve"][3]
    assert {"removed", "fraction", "values", "random", "within", "effect"} == set(point)


def test_the_text_fits_80_columns_and_is_safe():
    (evaluation,), _ = benchmark([30, 10], [0.5, 0.5])
    evaluation = dataclasses.replace(
        evaluation, benchmark=HOSTILE, model=HOSTILE * 9,
        groups={HOSTILE: (HOSTILE,) * 30 + ("b",) * 10},
    )  # fmt: skip
    result = rebalance(evaluation, bh.partition(evaluation, f"declared:{HOSTILE}"), **FAST)
    text = to_text(document([result]))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]" in text
    assert max(map(len, text.splitlines())) <= 80
    assert str(result) == text


def test_long_names_give_way_and_no_number_does(made):
    renamed = dataclasses.replace(
        made, models=tuple(dataclasses.replace(m, model=m.model + "-long" * 9) for m in made.models)
    )
    plain = to_text(document([made])).splitlines()
    long = to_text(document([renamed])).splitlines()
    assert max(map(len, long)) <= 80
    for model in made.models:
        row = next(line for line in plain if f"{model.effect.shift:+.3f}" in line)
        wanted = row.split()[2:]
        assert any(line.split()[-len(wanted) :] == wanted and "\u2026" in line for line in long)


def test_the_text_says_what_was_found(made):
    text = to_text(document([made]))
    effect = made.models[0].effect
    assert f"{effect.before:.3f}" in text
    assert f"{effect.shift:+.3f}" in text
    assert "strategy redundancy, by answer similarity" in text
    assert len(made.rank_changes) == 1
    assert "model 1 passes model 0" in text


@pytest.fixture
def log(tmp_path):
    """Write a table of 0/1 scores with subjects: what the command reads."""
    (evaluation,), _ = benchmark([60, 25, 15], [0.9, 0.3, 0.3])
    path = tmp_path / "results.csv"
    rows = zip(evaluation.item_ids, evaluation.scores, evaluation.groups["subject"], strict=True)
    path.write_text(
        "item_id,score,subject\n" + "".join(f"{i},{s:g},{g}\n" for i, s, g in rows),
        encoding="utf-8",
    )
    return path


def test_the_command_shows_and_exports(log, tmp_path, capsys):
    items = tmp_path / "items.jsonl"
    write_items(items, [f"q{i:04d}" for i in range(100)])
    code = main([
        "rebalance", str(log), "--partition", "declared:subject", "--strategy", "balance",
        "--cap", "15", "--items", str(items), "--export", str(tmp_path / "out"),
        "--task", "tiny", "--bootstrap", "50",
    ])  # fmt: skip
    seen = capsys.readouterr()
    assert code == 0, seen.err
    assert "45 of 100 items kept; strategy balance, by text similarity" in seen.out
    samples = json.loads((tmp_path / "out" / "results-samples.json").read_text())
    assert len(samples["tiny"]) == 45
    assert len((tmp_path / "out" / "results-pruned.jsonl").read_text().split("\n")) == 46


def test_the_commands_json_is_the_document(log, capsys):
    args = ["rebalance", str(log), "--partition", "declared:subject", "--strategy", "balance"]
    code = main([*args, "--keep", "random", "--format", "json", "--bootstrap", "50"])
    assert code == 0
    record = json.loads(capsys.readouterr().out)
    assert record["benchmarks"][0]["n_kept"] == 51  # sizes 18, 18, 15


def test_models_with_distributions_share_a_partition(tmp_path, capsys):
    models, _ = benchmark([60, 30, 20], [[0.9, 0.3, 0.3], [0.4, 0.6, 0.6]])
    for evaluation in models:
        evaluation.save(tmp_path / f"{evaluation.model}.parquet")
    code = main(["rebalance", str(tmp_path), "--format", "json", "--bootstrap", "50"])
    seen = capsys.readouterr()
    assert code == 0, seen.err
    (entry,) = json.loads(seen.out)["benchmarks"]
    assert entry["settings"]["partition"] == "shared"
    assert entry["settings"]["similarity_models"] == ["model 0", "model 1"]
    assert {m["effect"]["removed"] for m in entry["models"]} == {entry["n_dropped"]}


def test_the_command_refuses_in_one_line(log, capsys):
    assert main(["rebalance", str(log), "--partition", "declared:subject"]) == 2
    assert "benchharmony collect" in capsys.readouterr().err
    assert main(["rebalance", str(log), "--strategy", "weights", "--cap", "3",
                 "--partition", "declared:subject"]) == 2  # fmt: skip
    assert "removes nothing" in capsys.readouterr().err


TASK = """
task: tiny_choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: ["yes", "no"]
doc_to_target: 0
metric_list: [{{metric: acc}}]
"""


@pytest.mark.slow
def test_lm_eval_evaluates_exactly_the_kept_items(made, tmp_path):
    """Round trip with the harness itself, its model that answers at random, and a local task."""
    pytest.importorskip("lm_eval")
    source = tmp_path / "items.jsonl"
    order = [f"q{i:04d}" for i in np.random.default_rng(0).permutation(90)]
    write_items(source, order)
    (tmp_path / "tiny.yaml").write_text(TASK.format(file=source), encoding="utf-8")
    export(made, tmp_path, items=source, task="tiny_choice")
    subprocess.run(
        [
            sys.executable, "-m", "lm_eval", "--model", "dummy", "--tasks", "tiny_choice",
            "--include_path", str(tmp_path), "--samples", str(tmp_path / "planted-samples.json"),
            "--log_samples", "--output_path", str(tmp_path / "out"),
        ],
        check=True, capture_output=True, timeout=600,
        env={**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1",
             "HF_DATASETS_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    (log,) = (tmp_path / "out").rglob("samples_tiny_choice_*.jsonl")
    rows = lines_of(log)
    assert {row["doc"]["id"] for row in rows} == set(made.kept)
    assert len(rows) == len(made.kept)
    # The log's own numbers are right too, which they are only for an ascending list.
    assert all(order[row["doc_id"]] == row["doc"]["id"] for row in rows)
