"""Rebalancing on the recorded distributions of real models, beside the checkout."""

import json

import pytest

from benchharmony.cli import main

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize("name", ["pubmedqa", "boolq", "mmlu"])
def test_two_real_models_are_pruned_alike_and_judged(shared_data, tmp_path, capsys, name):
    logs = sorted((shared_data / "distributions").glob(f"*__{name}.npz"))
    items = shared_data / "benchmarks" / f"{name}.jsonl.gz"
    code = main([
        "rebalance", *map(str, logs), "--score", "acc_norm", "--format", "json",
        "--fraction", "0.4", "--items", str(items), "--export", str(tmp_path), "--bootstrap", "100",
    ])  # fmt: skip
    seen = capsys.readouterr()
    assert code == 0, seen.err
    (entry,) = json.loads(seen.out)["benchmarks"]
    assert len(entry["models"]) == 2
    assert entry["settings"]["similarity"] == "answer"
    assert 0.35 < entry["n_dropped"] / entry["n_items"] <= 0.4
    assert all(s["after"] >= 1 for s in entry["subdomains"])
    for m in entry["models"]:
        evenness = [p["values"]["size_evenness"] for p in m["curve"]]
        assert evenness == sorted(evenness)
        e = m["effect"]
        assert e["exact"]
        assert e["by_sizes"] + e["by_choice"] == pytest.approx(e["shift"])
        assert 0 < e["p_random"] <= e["p_holm"] <= 1
    kept = set(entry["kept"])
    assert all(d["nearest_kept"] in kept for d in entry["dropped"])
    lines = (tmp_path / f"{name}-pruned.jsonl").read_bytes().splitlines()
    assert {json.loads(line)["id"] for line in lines} == kept
    samples = json.loads((tmp_path / f"{name}-samples.json").read_text())
    assert len(samples[name]) == len(kept)
