"""What a user is told when a run cannot start."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from benchharmony.collect.command import add_arguments, collect
from benchharmony.collect.model import family
from benchharmony.collect.progress import Progress, duration
from benchharmony.errors import BenchharmonyError


@pytest.fixture
def items(tmp_path: Path) -> str:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"question": "q", "choices": ["a", "b"], "answer": 0}) + "\n")
    return str(path)


def told(*args: str) -> str:
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(BenchharmonyError) as caught:
        collect(parser.parse_args(list(args)))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_nothing_to_run(items: str) -> None:
    assert "--model" in told("--items", items)
    assert "one of --items FILE and --task NAME" in told("--model", "x")
    assert "one of" in told("--model", "x", "--items", items, "--task", "y")


def test_a_wrong_items_file_is_told_before_the_model_is_loaded(tmp_path: Path) -> None:
    message = told("--model", str(tmp_path), "--items", str(tmp_path / "no.jsonl"))
    assert "no.jsonl: no such file" in message


def test_missing_packages_are_named_in_one_line(
    items: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] in ("torch", "transformers"):
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'benchharmony[collect]'" in told("--model", "x", "--items", items)


def test_wrong_model_paths(items: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    assert "no such file or directory" in told("--model", "./nowhere", "--items", items)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no config.json" in told("--model", str(empty), "--items", items)
    (empty / "m.gguf").write_bytes(b"GGUF")
    assert "--gguf m.gguf" in told("--model", str(empty), "--items", items)
    assert "cannot be loaded" in told("--model", str(empty / "m.gguf"), "--items", items)
    assert "no such file" in told("--model", str(empty), "--gguf", "z.gguf", "--items", items)


def test_a_hub_id_that_is_not_there(items: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    pytest.importorskip("torch")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    assert "cannot be loaded" in told("--model", "no-such-owner/no-such-model", "--items", items)


@pytest.mark.parametrize(
    "argv",
    [["--positions", "middle"], ["--top-k", "-1"], ["--batch-size", "0"], ["--mean", "median"]],
)
def test_wrong_values_are_usage_errors(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(SystemExit) as caught:
        parser.parse_args(argv)
    assert caught.value.code == 2
    assert argv[0] in capsys.readouterr().err


def test_the_command_is_imported_without_the_heavy_packages() -> None:
    code = (
        "import sys, benchharmony.collect.command as c;"
        "print([m for m in ('torch', 'transformers', 'lm_eval') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Owner/SmolLM2-135M-Instruct", "SmolLM2"),
        ("gemma-3-270m", "gemma-3"),
        ("owner/pythia-1.4b-deduped", "pythia"),
        ("Qwen2.5-Coder-1.5B-Instruct", "Qwen2.5-Coder"),
        ("gpt2", "gpt2"),
        ("7B", "llama"),
    ],
)
def test_family_is_the_name_before_the_size(name: str, wanted: str) -> None:
    assert family(name, "gpt2" if name == "gpt2" else "llama") == wanted


def test_progress_says_rate_and_time_left() -> None:
    progress = Progress("b / m", 100, 1000, quiet=True)
    progress.advance(20, 250)
    line = progress.line(progress._start + 10)
    assert "20/100 items, 2.0 items/s, 25 tokens/s, 30s left" in line
    assert [duration(s) for s in (9, 200, 7500)] == ["9s", "3m20s", "2h05m"]
