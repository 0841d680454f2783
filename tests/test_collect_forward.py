"""What the packed forward pass records is what a plain float64 computation gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchharmony.collect import forward, probe  # noqa: E402
from benchharmony.collect.encode import Encoder  # noqa: E402
from benchharmony.collect.forward import PassOptions, run_batch  # noqa: E402
from benchharmony.collect.items import ItemOptions, work_item  # noqa: E402
from benchharmony.collect.model import LoadedModel, load_model  # noqa: E402
from benchharmony.collect.positions import plan_item  # noqa: E402
from benchharmony.collect.work import POSITIONS, WorkItem  # noqa: E402
from tiny_model import save_model  # noqa: E402

RECORDS: list[dict[str, Any]] = [
    {
        "question": "Which wind blows over the long bridge?",
        "choices": ["the north wind", "the south wind and the sand", "no"],
        "answer": 1,
    },
    {
        "question": "Why do stones sink?",
        "context": "Ships float on water. Stones are heavier than the water they push away.",
        "choices": ["they are cold", "they are heavier"],
        "answer": 1,
    },
    {"question": "Who spoke of the green river?", "answers": ["the miller", "miller"]},
    {"question": "?", "choices": ["yes", "yes", "no", "a storm of sand"], "answer": 3},
]


@pytest.fixture(scope="module", params=[("llama", False), ("llama", True), ("gemma3", True)])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    kind, bos = request.param
    where = save_model(tmp_path_factory.mktemp(kind), kind, bos=bos)
    return load_model(str(where), device="cpu")


@pytest.fixture(scope="module")
def exact(loaded: LoadedModel) -> Any:
    """Return a function from tokens to their next-token log-probabilities in float64."""
    import copy

    double = copy.deepcopy(loaded.model).double()

    def logprobs(tokens: list[int]) -> np.ndarray:
        with torch.inference_mode():
            logits = double(torch.tensor([tokens])).logits[0]
        return logits.log_softmax(-1).numpy()

    return logprobs


def items() -> list[WorkItem]:
    return [work_item(str(i), r, i, ItemOptions()) for i, r in enumerate(RECORDS)]


def outcomes(loaded: LoadedModel, options: PassOptions, positions: Any = POSITIONS) -> Any:
    encoder = Encoder(loaded.tokenizer, loaded.max_length)
    return run_batch(loaded, [plan_item(i, encoder, positions) for i in items()], options)


def split(loaded: LoadedModel, context: str, continuation: str) -> tuple[list[int], int]:
    whole = loaded.tokenizer.encode(context + continuation)
    return whole, len(loaded.tokenizer.encode(context))


def expected_rows(loaded: LoadedModel, exact: Any, item: WorkItem) -> dict[str, np.ndarray]:
    """Return, for each position set, the log-probabilities at its positions."""
    prompt = loaded.tokenizer.encode(item.prompt)
    assert item.answer is not None
    whole, start = split(loaded, *item.answer)
    return {
        "item": exact(loaded.tokenizer.encode(item.presented))[:-1],
        "question": exact(loaded.tokenizer.encode(item.question))[:-1],
        "answer": exact(whole)[start - 1 : -1],
        "next": exact(prompt)[-1:],
    }


@pytest.mark.parametrize("packed", [True, False])
def test_option_log_likelihoods_are_those_of_each_option_alone(
    loaded: LoadedModel, exact: Any, packed: bool
) -> None:
    for item, outcome in zip(items(), outcomes(loaded, PassOptions(packed=packed)), strict=True):
        for pair, value, count in zip(item.pairs, outcome.logprobs, outcome.n_tokens, strict=True):
            whole, start = split(loaded, *pair)
            rows = exact(whole)[start - 1 : -1]
            tokens = whole[start:]
            assert count == len(tokens)
            assert value == pytest.approx(rows[np.arange(count), tokens].sum(), abs=1e-4)


def test_greedy_flags_are_those_of_the_argmax(loaded: LoadedModel, exact: Any) -> None:
    for item, outcome in zip(items(), outcomes(loaded, PassOptions()), strict=True):
        for pair, greedy in zip(item.pairs, outcome.greedy, strict=True):
            whole, start = split(loaded, *pair)
            best = exact(whole)[start - 1 : -1].argmax(-1)
            assert greedy == (best.tolist() == whole[start:])


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
@pytest.mark.parametrize("packed", [True, False])
def test_whole_distributions_match_float64(
    loaded: LoadedModel, exact: Any, mean: str, packed: bool
) -> None:
    found = outcomes(loaded, PassOptions(mean=mean, top_k=0, packed=packed))
    for item, outcome in zip(items(), found, strict=True):
        for name, rows in expected_rows(loaded, exact, item).items():
            wanted = np.exp(rows).mean(0) if mean == "arithmetic" else np.exp(rows.mean(0))
            wanted /= wanted.sum()
            got = np.exp(outcome.views[name].logprobs.astype(np.float64))
            assert np.abs(got - wanted).max() < 1e-5, (item.item_id, name)
            assert outcome.views[name].n_positions == len(rows)


def test_top_tokens_and_the_rest_make_one(loaded: LoadedModel, exact: Any) -> None:
    for item, outcome in zip(items(), outcomes(loaded, PassOptions(top_k=20)), strict=True):
        for name, rows in expected_rows(loaded, exact, item).items():
            view = outcome.views[name]
            p = np.exp(rows).mean(0)
            assert view.token_ids is not None
            assert len(set(view.token_ids.tolist())) == 20
            assert np.abs(np.exp(view.logprobs) - np.sort(p)[::-1][:20]).max() < 1e-5
            assert np.exp(view.logprobs.astype(np.float64)).sum() + view.rest == pytest.approx(
                1, abs=1e-6
            )


def test_small_blocks_give_the_same(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = outcomes(loaded, PassOptions(top_k=0))
    monkeypatch.setattr(forward, "BLOCK_NUMBERS", 3 * len(loaded.tokenizer))
    for a, b in zip(whole, outcomes(loaded, PassOptions(top_k=0)), strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-4)
        assert a.greedy == b.greedy
        for name in POSITIONS:
            np.testing.assert_allclose(
                np.exp(a.views[name].logprobs), np.exp(b.views[name].logprobs), atol=1e-6
            )


def test_positions_recorded_do_not_change_the_scores(loaded: LoadedModel) -> None:
    few, many = (outcomes(loaded, PassOptions(), p) for p in (("next",), POSITIONS))
    for a, b in zip(few, many, strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-4)
        assert set(a.views) == {"next"}


def test_a_model_that_packs_is_found_out(loaded: LoadedModel) -> None:
    assert probe.can_pack(loaded, 10)
    assert probe.can_pack(loaded, 60)  # beyond the window of the Gemma


def test_a_wrong_window_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gemma = load_model(str(save_model(tmp_path / "g", "gemma3", bos=True)), device="cpu")
    monkeypatch.setattr(LoadedModel, "window", property(lambda self: 4))
    assert not probe.can_pack(gemma, 60)


def test_a_model_without_outside_positions_reads_texts_alone(tmp_path: Path) -> None:
    """A model whose attention ignores the given mask must not be packed."""
    odd = load_model(str(save_model(tmp_path / "l", "llama")), device="cpu")
    inner = odd.model.model.forward

    def deaf(*args: Any, attention_mask: Any = None, **kwargs: Any) -> Any:
        return inner(*args, attention_mask=None, **kwargs)

    odd.model.model.forward = deaf
    assert not probe.can_pack(odd, 10)


def test_gpt2_with_learned_positions(tmp_path: Path) -> None:
    gpt2 = load_model(str(save_model(tmp_path / "gpt2", "gpt2")), device="cpu")
    packed = probe.can_pack(gpt2, 20)
    together = outcomes(gpt2, PassOptions(packed=packed))
    for a, b in zip(together, outcomes(gpt2, PassOptions(packed=False)), strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-4)
