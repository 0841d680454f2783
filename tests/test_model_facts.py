"""What is known about a model: the rule for names, the CSV, metadata, and which of them wins."""

import pytest

from benchharmony import BenchharmonyError, Evaluation
from benchharmony.models import describe, parse_name, parse_number, read_models

NAMES = [
    ("Qwen2.5-7B", "Qwen2.5", 7e9),
    ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen2.5-Instruct", 0.5e9),
    ("HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-Instruct", 135e6),
    ("EleutherAI/pythia-2.8b-deduped", "pythia-deduped", 2.8e9),
    ("meta-llama__Meta-Llama-3-8B", "Llama-3", 8e9),
    ("Llama-3.1-70B", "Llama-3", 70e9),
    ("Llama-3.2-1B", "Llama-3", 1e9),
    ("Llama-2-7b-hf", "Llama-2", 7e9),
    ("allenai/OLMo-2-1124-13B", "OLMo-2", 13e9),
    ("microsoft/Phi-3-mini-4k-instruct", "Phi-3-Instruct", 3.8e9),
    ("Phi-3-3.8B", "Phi-3", 3.8e9),
    ("google/gemma-3-270m", "gemma-3", 270e6),
    ("gemma-3-4b-it", "gemma-3-it", 4e9),
    ("gemma3-270m-q4_k_m.gguf", "gemma3", 270e6),
    ("Qwen3-30B-A3B", "Qwen3", 30e9),
    ("mistralai/Mixtral-8x7B-v0.1", "Mixtral", 46.7e9),
    ("Mistral-7B-v0.1 4-bit", "Mistral", 7e9),
    ("gpt2-xl", "gpt2", 1.5e9),
]


@pytest.mark.parametrize(("name", "family", "parameters"), NAMES)
def test_well_known_names(name, family, parameters):
    info = parse_name(name)
    assert (info.family, info.parameters, info.source) == (family, parameters, "name")


@pytest.mark.parametrize("name", ["OracleBaseline", "gemini-1.5-pro-preview-0409", "my model", ""])
def test_nothing_is_guessed_from_a_name_without_a_size(name):
    info = parse_name(name)
    assert (info.family, info.parameters, info.tokens, info.source) == (None, None, None, "")


def test_checkpoints_and_tokens():
    pythia = parse_name("EleutherAI/pythia-160m-deduped-step3000")
    assert pythia.checkpoint == "step3000"
    assert pythia.family == "pythia-deduped"
    assert pythia.tokens == 3000 * 2_097_152
    olmo = parse_name("OLMo-2-1124-7B-stage1-step1000-tokens5B")
    assert (olmo.checkpoint, olmo.tokens, olmo.family) == ("step1000", 5e9, "OLMo-2")
    assert olmo.parameters == 7e9


def test_checkpoints_of_one_model_share_their_family():
    families = {parse_name(f"pythia-1b step{s}").family for s in (512, 1000, 143000)}
    assert families == {"pythia"}


def write(tmp_path, text):
    path = tmp_path / "models.csv"
    path.write_text(text, encoding="utf-8")
    return path


def evaluation(model, **metadata):
    return Evaluation.from_arrays(benchmark="b", model=model, scores=[1, 0], metadata=metadata)


def test_csv_wins_over_metadata_and_metadata_over_the_name(tmp_path):
    path = write(tmp_path, "model,family,parameters,tokens\nQwen2.5-7B,Q,,18T\nother,,1e9,\n")
    found = describe([evaluation("Qwen2.5-7B", parameters=7.6e9)], read_models(path))["Qwen2.5-7B"]
    assert (found.family, found.parameters, found.tokens) == ("Q", 7.6e9, 18e12)
    assert found.source == "CSV, metadata"


def test_families_that_differ_in_case_only_are_one():
    found = describe([evaluation("SmolLM2-135M"), evaluation("smollm2-360m")])
    assert {m.family for m in found.values()} == {"SmolLM2"}


def test_a_model_that_nothing_is_known_of_has_no_facts():
    found = describe([evaluation("mystery")])["mystery"]
    assert (found.family, found.parameters, found.source) == (None, None, "")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("name,family\nx,y\n", 1, "no column 'model'"),
        ("model,parameters\na,7B\nb,seven\n", 3, "'seven'"),
        ("model,parameters\na,-7e9\n", 2, "not a positive number"),
        ("model,tokens\na,nan\n", 2, "not a positive number"),
        ("model\na\na\n", 3, "listed twice"),
        ("model,family\n,x\n", 2, "without a model name"),
    ],
)
def test_a_bad_csv_is_refused_with_its_line(tmp_path, text, line, says):
    path = write(tmp_path, text)
    with pytest.raises(BenchharmonyError, match=says) as caught:
        read_models(path)
    assert f"{path}:{line}: " in str(caught.value)


def test_a_missing_csv_is_an_error_in_words(tmp_path):
    with pytest.raises(BenchharmonyError, match="cannot be read"):
        read_models(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "value"), [("7B", 7e9), ("7e9", 7e9), ("7,000,000,000", 7e9), ("135m", 135e6)]
)
def test_numbers_as_people_write_them(text, value):
    assert parse_number(text) == value
