"""Long runs: killed and resumed, out of memory, items that fail, texts too long to read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import benchharmony.collect.run as collect_run
from benchharmony import Evaluation
from benchharmony.collect.command import add_arguments, collect
from benchharmony.errors import BenchharmonyError
from tiny_model import save_model

N = 22


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "Tiny-20K-chat", bos=True)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("items") / "winds.jsonl"
    rng = np.random.default_rng(3)
    words = ["wind", "river", "bridge", "stone", "water", "sand", "ship", "miller"]
    rows: list[dict[str, Any]] = [
        {
            "id": f"w{i}",
            "question": " ".join(rng.choice(words, rng.integers(2, 12))) + "?",
            "choices": [" ".join(rng.choice(words, rng.integers(1, 4))) for _ in range(3)],
            "answer": int(rng.integers(3)),
            "topic": str(rng.choice(["sea", "land"])),
        }
        for i in range(N)
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def arguments(model: Path, items: Path, output: Path, *more: str) -> list[str]:
    return [
        *("--model", str(model), "--items", str(items), "-o", str(output), "--device", "cpu"),
        *("--quiet", "--top-k", "30", "--batch-size", "4", "--threads", "1", *more),
    ]


def parsed(*args: Any) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments(*args))


KILLED = """
import os, signal, sys
from argparse import ArgumentParser
import benchharmony.collect.run as run
from benchharmony.collect.command import add_arguments, collect
run.SHARD_SECONDS = 0.0
plain, calls = run.run_batch, []
def dying(*args):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(*args)
run.can_pack = lambda *_: True
run.run_batch = dying
parser = ArgumentParser()
add_arguments(parser)
collect(parser.parse_args(sys.argv[1:]))
"""


def test_a_killed_run_resumes_to_the_same_file(
    model: Path, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = collect(parsed(model, items, tmp_path / "whole"))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments(model, items, tmp_path / "killed")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    shards = sorted((tmp_path / "killed").glob(".*.shards/shard-*.npz"))
    assert len(shards) == 3  # of 6 batches
    with pytest.raises(BenchharmonyError, match="--resume"):
        collect(parsed(model, items, tmp_path / "killed"))
    run_again: list[int] = []
    plain = collect_run.run_batch
    monkeypatch.setattr(
        collect_run, "run_batch", lambda m, p, o: (run_again.append(len(p)), plain(m, p, o))[1]
    )
    resumed = collect(parsed(model, items, tmp_path / "killed", "--resume"))
    assert sum(run_again) == N - 12
    assert resumed.read_bytes() == whole.read_bytes()
    assert not list((tmp_path / "killed").glob(".*"))


def test_a_half_written_shard_is_not_read(model: Path, items: Path, tmp_path: Path) -> None:
    args = parsed(model, items, tmp_path / "a")
    whole = collect(args)
    shards = tmp_path / "b" / ".winds__Tiny-20K-chat.shards"
    other = parsed(model, items, tmp_path / "b", "--resume")
    shards.mkdir(parents=True)
    (shards / "shard-00000000-4.npz.partial").write_bytes(b"PK half")
    assert collect(other).read_bytes() == whole.read_bytes()


def test_other_settings_are_not_resumed(
    model: Path, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(collect_run, "run_batch", stop)
    monkeypatch.setattr(collect_run, "can_pack", lambda *_: True)
    with pytest.raises(KeyboardInterrupt):
        collect(parsed(model, items, tmp_path))
    with pytest.raises(BenchharmonyError, match=r"other settings \(top_k: 30, now 8\)"):
        collect(parsed(model, items, tmp_path, "--resume", "--top-k", "8"))


def test_a_result_is_not_overwritten_unasked(model: Path, items: Path, tmp_path: Path) -> None:
    path = collect(parsed(model, items, tmp_path))
    with pytest.raises(BenchharmonyError, match="--overwrite"):
        collect(parsed(model, items, tmp_path))
    assert collect(parsed(model, items, tmp_path, "--resume")) == path
    assert collect(parsed(model, items, tmp_path, "--overwrite")) == path


@pytest.mark.parametrize(
    "words", ["CUDA out of memory. Tried", "DefaultCPUAllocator: can't allocate memory"]
)
def test_out_of_memory_halves_the_batch_and_goes_on(
    model: Path, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    whole = Evaluation.load(collect(parsed(model, items, tmp_path / "whole")))
    sizes: list[int] = []
    plain = collect_run.run_batch

    def tight(loaded: Any, plans: Any, options: Any) -> Any:
        sizes.append(len(plans))
        if len(plans) > 2:
            raise RuntimeError(words)
        return plain(loaded, plans, options)

    monkeypatch.setattr(collect_run, "run_batch", tight)
    tried = Evaluation.load(collect(parsed(model, items, tmp_path / "tight")))
    assert sizes.count(4) == 1  # learned at the first failure
    assert tried.item_ids == whole.item_ids
    np.testing.assert_allclose(tried.option_logprobs, whole.option_logprobs, atol=1e-4)


def test_an_item_that_fails_is_left_out_and_named(
    model: Path, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = collect_run.run_batch

    def picky(loaded: Any, plans: Any, options: Any) -> Any:
        if any(len(p.chains[0]) == longest for p in plans):
            raise ValueError("cannot read this")
        return plain(loaded, plans, options)

    lengths: list[int] = []
    monkeypatch.setattr(
        collect_run,
        "run_batch",
        lambda m, p, o: (lengths.extend(len(x.chains[0]) for x in p), plain(m, p, o))[1],
    )
    collect(parsed(model, items, tmp_path / "whole"))
    longest = max(lengths)
    bad = lengths.count(longest)
    monkeypatch.setattr(collect_run, "run_batch", picky)
    found = Evaluation.load(collect(parsed(model, items, tmp_path / "picky")))
    assert len(found) == N - bad
    assert found.source.items_read == N
    assert len(found.source.problems) == bad
    assert "cannot read this" in found.source.problems[0].reason
    assert found.source.problems[0].item not in found.item_ids


def test_a_question_of_ten_thousand_tokens_is_cut_at_its_start(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    rows = [
        {"id": "long", "question": "stone " * 10_000 + "?", "choices": ["a", "b"], "answer": 0},
        {"id": "short", "question": "stone?", "choices": ["a", "b"], "answer": 0},
        {"id": "far", "question": "?", "choices": ["wind " * 400, "b"], "answer": 1},
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = Evaluation.load(collect(parsed(model, path, tmp_path / "out")))
    assert found.item_ids == ("long", "short")
    assert found.metrics["truncated"].tolist() == [1.0, 0.0]
    assert found.metrics["item_positions"].tolist()[0] == 256  # what the model reads
    assert "1 of 2 items are longer than the 256 tokens" in found.notes[0]
    (problem,) = found.source.problems
    assert problem.item == "far"
    assert "does not fit the model" in problem.reason


def test_everything_a_report_needs_is_recorded(model: Path, items: Path, tmp_path: Path) -> None:
    positions = ("--positions", "item,answer,question,next")
    found = Evaluation.load(collect(parsed(model, items, tmp_path, *positions)))
    assert (found.benchmark, found.model) == ("winds", "Tiny-20K-chat")
    assert set(found.predictive) == {"item", "answer", "question", "next"}
    assert all(p.logprobs.shape == (N, 30) for p in found.predictive.values())
    for view in found.predictive.values():
        total = np.exp(view.logprobs.astype(np.float64)).sum(1) + view.rest
        np.testing.assert_allclose(total, 1, atol=1e-6)
    assert found.metadata["family"] == "Tiny"
    assert found.metadata["parameters"] > 10_000
    assert found.metadata["settings"]["top_k"] == 30
    assert found.metadata["settings"]["mean"] == "arithmetic"
    assert "torch" in found.metadata["packages"]
    assert str(tmp_path) not in json.dumps(dict(found.metadata))
    assert found.groups["topic"][0] in ("sea", "land")
    assert found.texts is not None
    assert found.choices is not None
    assert found.option_logprobs is not None
    best = found.option_logprobs.argmax(1)
    np.testing.assert_array_equal(found.metrics["acc"], best == found.gold)
    assert (found.metrics["option_tokens_2"] >= 1).all()


def test_a_score_that_is_not_there_costs_no_work(
    model: Path, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BenchharmonyError, match=r"no metric 'bleu' .*acc_norm.*--resume"):
        collect(parsed(model, items, tmp_path, "--score", "bleu"))
    monkeypatch.setattr(collect_run, "run_batch", None)  # not called again
    found = Evaluation.load(collect(parsed(model, items, tmp_path, "--resume", "--score", "acc")))
    assert found.score_name == "acc"


def test_open_ended_items_are_generated_and_scored(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "open.jsonl"
    first = {"id": "1", "question": "Who spoke of the river?", "answers": ["nobody at all"]}
    path.write_text(json.dumps(first) + "\n")
    args = ("--max-new-tokens", "6", "--top-k", "0")
    found = Evaluation.load(collect(parsed(model, path, tmp_path / "a", *args)))
    assert found.scores is not None
    assert found.scores.tolist() == [0.0]
    # What it says is taken as accepted: then it must be right.
    said = generated(model, "Question: Who spoke of the river?\nAnswer:", 6)
    path.write_text(json.dumps({**first, "answers": ["nobody at all", said]}) + "\n")
    found = Evaluation.load(collect(parsed(model, path, tmp_path / "b", *args)))
    assert found.scores is not None
    assert found.scores.tolist() == [1.0]
    assert found.predictive["answer"].is_dense


def generated(model: Path, prompt: str, count: int) -> str:
    """Return a greedy continuation, one plain forward pass a token."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    plain = AutoModelForCausalLM.from_pretrained(model)
    ids = tokenizer.encode(prompt)
    start = len(ids)
    for _ in range(count):
        ids.append(int(plain(torch.tensor([ids])).logits[0, -1].argmax()))
    text: str = tokenizer.decode(ids[start:], skip_special_tokens=True)
    return text.split("\n")[0]
