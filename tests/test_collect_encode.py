"""Tokens of contexts and continuations, by lm-eval's conventions."""

from __future__ import annotations

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("transformers")

from benchharmony.collect.encode import Encoder
from benchharmony.collect.positions import plan_item
from benchharmony.collect.work import ItemError, WorkItem
from tiny_model import build_tokenizer


@pytest.fixture(scope="module", params=[False, True], ids=["no-bos", "bos"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return Encoder(build_tokenizer(bos=request.param), 40)


def test_space_at_the_end_of_a_context_moves_to_the_continuation(encoder: Encoder) -> None:
    assert encoder.pair(("Answer: ", "wind")) == encoder.pair(("Answer:", " wind"))


def test_an_empty_context_is_the_start_token(encoder: Encoder) -> None:
    head, tail = encoder.pair(("", "the wind"))
    assert head == [encoder.tokenizer.bos_token_id]
    assert encoder.tokenizer.decode(tail) == "the wind"
    # and is not doubled when the text starts with it
    assert encoder.pair(("", "<s>the wind")) == (head, tail)


def test_white_space_alone_is_an_empty_context(encoder: Encoder) -> None:
    head, tail = encoder.pair(("  ", "wind"))
    assert head == [encoder.tokenizer.bos_token_id]
    assert encoder.tokenizer.decode(tail) == "  wind"


def test_an_option_without_tokens_is_an_error_of_its_item(encoder: Encoder) -> None:
    with pytest.raises(ItemError, match="no token of its own"):
        encoder.pair(("Answer:", ""))
    with pytest.raises(ItemError, match="no token of its own"):
        encoder.pair(("", ""))


def test_an_option_longer_than_the_model_reads_is_an_error_of_its_item(encoder: Encoder) -> None:
    with pytest.raises(ItemError, match="does not fit the model, which reads 40"):
        encoder.pair(("Answer:", " wind" * 50))


def test_preparing_changes_nothing(encoder: Encoder) -> None:
    item = one_item("Question: the wind?", "Question: the wind?\nAnswer:", " a river")
    plain = plan_item(item, encoder, ("item", "answer"))
    encoder.prepare([item])
    assert plan_item(item, encoder, ("item", "answer")) == plain


def test_a_long_context_is_cut_at_its_start(encoder: Encoder) -> None:
    context = "Question: " + "stone " * 60 + "?\nAnswer:"
    plan = plan_item(one_item(context, context, " a river"), encoder, ("item", "answer", "next"))
    assert plan.truncated
    assert all(len(chain) == 40 for chain in plan.chains)
    whole = encoder.text(context + " a river")
    assert plan.chains[0] == whole[-41:-1]
    assert [token for _, _, token in plan.targets] == whole[len(encoder.text(context)) :]


def test_positions_are_those_before_each_token(encoder: Encoder) -> None:
    prompt = "Question: the wind?\nAnswer:"
    item = one_item("Question: the wind?", prompt, " a river")
    plan = plan_item(item, encoder, ("item", "answer", "next", "question"))
    n_item, n_prompt = len(encoder.text("Question: the wind?")), len(encoder.text(prompt))
    assert [at for _, at in plan.views["item"]] == list(range(n_item - 1))
    assert plan.views["answer"][0] == plan.views["next"][0] == (0, n_prompt - 1)
    assert len(plan.views["answer"]) == plan.pair_tokens[0]


def test_a_text_of_one_token_is_read_behind_the_start_token(encoder: Encoder) -> None:
    plan = plan_item(one_item("?", "?", " a"), encoder, ("item",))
    (place,) = plan.views["item"]
    assert plan.chains[place[0]] == [encoder.tokenizer.bos_token_id]


def one_item(presented: str, prompt: str, option: str) -> WorkItem:
    return WorkItem(
        item_id="i",
        text=presented,
        presented=presented,
        question=presented,
        pairs=((prompt, option),),
        n_options=1,
        prompt=prompt,
        answer=(prompt, option),
        gold=0,
    )
