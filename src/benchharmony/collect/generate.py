"""Greedy generation for open-ended items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from benchharmony.collect.encode import Encoder
from benchharmony.collect.model import LoadedModel
from benchharmony.collect.work import Generation, ItemError

#: A stop text may be written with other tokens than the tokenizer would choose: look this many
#: tokens further back for it.
_LOOK_BACK = 2


def generate(loaded: LoadedModel, encoder: Encoder, wanted: Sequence[Generation]) -> list[str]:
    """Continue prompts greedily, those of equal settings together.

    Prompts that leave no room for the answer are cut at their start.

    Returns
    -------
    list of str
        The generated texts, up to the first stop text, in the order given.
    """
    texts: list[str] = [""] * len(wanted)
    kinds: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for i, generation in enumerate(wanted):
        kinds.setdefault((generation.stop, generation.max_new_tokens), []).append(i)
    for (stop, length), members in kinds.items():
        prompts = [wanted[i].prompt for i in members]
        for i, text in zip(members, _batch(loaded, encoder, prompts, stop, length), strict=True):
            texts[i] = text
    return texts


def _batch(
    loaded: LoadedModel,
    encoder: Encoder,
    prompts: Sequence[str],
    stop: tuple[str, ...],
    max_new_tokens: int,
) -> list[str]:
    room = encoder.max_length - max_new_tokens
    if room < 1:
        raise ItemError(
            f"{max_new_tokens} new tokens leave no room for a prompt in a model that reads "
            f"{encoder.max_length}; lower --max-new-tokens"
        )
    rows = [(encoder.text(p) or [encoder.prefix_token or 0])[-room:] for p in prompts]
    width = max(map(len, rows))
    padding = loaded.tokenizer.pad_token_id or 0
    ids = torch.tensor([[padding] * (width - len(r)) + r for r in rows], device=loaded.device)
    mask = torch.tensor([[0] * (width - len(r)) + [1] * len(r) for r in rows], device=loaded.device)
    made = loaded.model.generate(  # without gradients, by its own decorator
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=max_new_tokens,
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        pad_token_id=padding,
        use_cache=True,
        stopping_criteria=_stopping(loaded.tokenizer, stop, width),
    )
    answers = loaded.tokenizer.batch_decode(made[:, width:], skip_special_tokens=True)
    return [_before(text, stop) for text in answers]


def _before(text: str, stop: Sequence[str]) -> str:
    for mark in stop:
        if mark:
            text = text.split(mark)[0]
    return text


def _stopping(tokenizer: Any, stop: tuple[str, ...], width: int) -> Any:
    from transformers import StoppingCriteria, StoppingCriteriaList

    marks = [m for m in stop if m]
    longest = max((len(tokenizer.encode(m, add_special_tokens=False)) for m in marks), default=0)

    class _AtMark(StoppingCriteria):  # type: ignore[misc,unused-ignore]
        def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
            tails = tokenizer.batch_decode(input_ids[:, width:][:, -(longest + _LOOK_BACK) :])
            done = [any(m in tail for m in marks) for tail in tails]
            return torch.tensor(done, device=input_ids.device)

    return StoppingCriteriaList([_AtMark()] if marks else [])
