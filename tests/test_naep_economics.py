"""Real NAEP logs, from the raw files to H by a second route, and what option partitions are."""

import json
import math

import pytest

import benchharmony as bh
from benchharmony.artefacts import artefacts

pytestmark = pytest.mark.real_data
MODELS = (
    "Llama-3.1-70B", "Llama-3.1-8B", "Llama-3.2-1B", "Llama-3.2-3B", "Llama-3.3-70B", "OLMo-2-13B",
    "OLMo-2-7B", "Phi-3-14B", "Phi-3-3.8B", "Phi-3-7B", "Phi-4-14B", "Qwen2.5-0.5B",
    "Qwen2.5-1.5B", "Qwen2.5-14B", "Qwen2.5-32B", "Qwen2.5-3B", "Qwen2.5-72B", "Qwen2.5-7B",
)  # fmt: skip


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def harmony_from_raw(folder, model):
    """Compute H of the declared classification with the standard library alone."""
    key = {
        r["item_id"]: r["correct_option_index"]
        for r in lines(folder / "naep-economics-items.jsonl")
    }
    topic = {
        f"NAEP-{r['naep_id']}": r["classification"]
        for r in lines(folder / "naep-economics-metadata.jsonl")
    }
    right: dict[str, list[float]] = {}
    for row in lines(folder / f"naep-economics-responses-{model}.jsonl"):
        mean = [0.0] * 4
        for logits in row["logits"]:
            top = max(logits)
            odds = [math.exp(x - top) for x in logits]
            for i, x in enumerate(odds):
                mean[i] += x / sum(odds) / len(row["logits"])
        correct = float(mean.index(max(mean)) == key[row["item_id"]])
        right.setdefault(topic[row["item_id"]], []).append(correct)
    n = sum(map(len, right.values()))
    weight = [len(v) / n for v in right.values()]
    score = [sum(v) / len(v) for v in right.values()]
    mu = sum(w * s for w, s in zip(weight, score, strict=True))
    raw = [w * math.exp(-(((s - mu) / 0.1) ** 2)) for w, s in zip(weight, score, strict=True)]
    p = [x / sum(raw) for x in raw]
    return -sum(x * math.log(x + 1e-12) for x in p) / math.log(len(p)), mu


@pytest.mark.parametrize("model", MODELS)
def test_declared_harmony_is_confirmed_and_options_restate_the_letter(shared_data, model):
    folder = shared_data / "logs" / "llm-psychometrics"
    (evaluation,) = bh.read(folder / f"naep-economics-responses-{model}.jsonl")
    h, score = harmony_from_raw(folder, model)
    split = bh.partition(evaluation, "declared:classification")
    result = bh.harmony(evaluation, split)
    assert result.value == pytest.approx(h, abs=1e-9)
    assert result.mean == pytest.approx(score, abs=1e-12)
    by_option = bh.partition(evaluation, "options")
    flagged = {a.name for a in artefacts(evaluation, by_option) if a.flag}
    assert ("predicted_option" in flagged) == (by_option.undefined is None)
    # Two weak models are so unsure of every item that no admissible partition exists.
    assert (by_option.undefined is None) == (model not in ("Llama-3.2-1B", "Qwen2.5-0.5B"))
