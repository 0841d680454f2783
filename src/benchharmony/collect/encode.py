"""From texts to tokens, by the conventions of lm-evaluation-harness.

The conventions are those of its ``TemplateLM._encode_pair`` and ``HFLM`` (version 0.4.13):
white space at the end of a context moves to the continuation; context and continuation are
encoded together and split where the context's own encoding ends; the tokenizer adds its own
special tokens, except to a text that already starts with the first of them; an empty context is
the beginning-of-sequence token (or the end-of-sequence one); what does not fit is cut at the left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchharmony.collect.work import ItemError, Pair, WorkItem

#: Texts encoded in one call of a tokenizer.
_CHUNK = 1000


class Encoder:
    """Encodes texts, each once.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        Of the model.
    max_length : int
        Longest input of the model, in tokens.
    """

    def __init__(self, tokenizer: Any, max_length: int) -> None:
        self.tokenizer = tokenizer
        self.max_length = max_length
        bos = tokenizer.bos_token_id
        self.prefix_token: int | None = bos if bos is not None else tokenizer.eos_token_id
        self._prefix_text = "" if self.prefix_token is None else tokenizer.decode(self.prefix_token)
        self._known: dict[tuple[str, bool], list[int]] = {}

    def prepare(self, items: Iterable[WorkItem]) -> None:
        """Encode all texts of some items at once, which is faster than one by one."""
        wanted: dict[str, None] = {}
        for item in items:
            pairs = [*item.pairs, *([item.answer] if item.answer else [])]
            for context, continuation in pairs:
                if context:
                    wanted.update(dict.fromkeys((context.rstrip(), context + continuation)))
            wanted.update(dict.fromkeys((item.presented, item.question, item.prompt)))
        plain = [
            t for t in wanted if t and not self._has_prefix(t) and (t, True) not in self._known
        ]
        for start in range(0, len(plain), _CHUNK):
            chunk = plain[start : start + _CHUNK]
            for text, ids in zip(chunk, self.tokenizer(chunk)["input_ids"], strict=True):
                self._known[text, True] = list(ids)

    def forget(self) -> None:
        """Drop what :meth:`prepare` encoded."""
        self._known.clear()

    def text(self, text: str, *, special: bool = True) -> list[int]:
        """Return the tokens of a text, not cut."""
        special = special and not self._has_prefix(text)
        key = (text, special)
        if key not in self._known:
            self._known[key] = list(self.tokenizer.encode(text, add_special_tokens=special))
        return self._known[key]

    def pair(self, pair: Pair) -> tuple[list[int], list[int]]:
        """Return the tokens of a context and of its continuation, neither empty, not cut.

        Raises
        ------
        ItemError
            When the continuation has no token of its own or does not fit the model.
        """
        context, continuation = pair
        if context == "":
            head, tail = self._after_nothing(continuation)
        else:
            spaces = len(context) - len(context.rstrip())
            if spaces:
                context, continuation = context[:-spaces], context[-spaces:] + continuation
            head = self.text(context)
            tail = self.text(context + continuation)[len(head) :]
        if not head:
            head = self._prefix()
        if not tail:
            raise ItemError(
                f"the option {continuation.strip()!r} has no token of its own behind its context"
            )
        if len(tail) > self.max_length:
            raise ItemError(
                f"an option of {len(tail)} tokens does not fit the model, which reads "
                f"{self.max_length}"
            )
        return head, tail

    def _after_nothing(self, continuation: str) -> tuple[list[int], list[int]]:
        ids = self.text(continuation, special=False)
        prefix = self._prefix()
        return (ids[:1], ids[1:]) if ids[:1] == prefix else (prefix, ids)

    def _prefix(self) -> list[int]:
        if self.prefix_token is None:
            raise ItemError("the context is empty and the model has no token to start from")
        return [self.prefix_token]

    def _has_prefix(self, text: str) -> bool:
        return bool(self._prefix_text) and text.startswith(self._prefix_text)
