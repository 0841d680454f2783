"""The texts an own item becomes: as presented, as scored, as generated from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchharmony.collect.work import Generation, Pair

#: Labels of options; a benchmark with more options than letters gets numbers.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: The cue that ends a prompt and is no part of the item itself.
_CUE = re.compile(r"\s*\n\s*(?:the\s+)?(?:correct\s+)?answer(?:\s+is)?\s*:?\s*$|\s*\nA:\s*$", re.I)

#: Turns the text of one user turn into a chat prompt.
Template = Callable[[str], str]


def option_label(index: int) -> str:
    """Return "A", "B", ...; "27", "28", ... past the alphabet."""
    return LETTERS[index] if index < len(LETTERS) else str(index + 1)


def stem(question: str, context: str | None) -> str:
    """Return the context and the question, as every text of an item begins."""
    start = f"{context.strip()}\n" if context and context.strip() else ""
    return f"{start}Question: {question.strip()}"


def with_options(text: str, choices: Sequence[str]) -> str:
    """Return the text with a line ``A. option`` for each option."""
    return "\n".join(
        [text, *(f"{option_label(i)}. {choice.strip()}" for i, choice in enumerate(choices))]
    )


def without_cue(prompt: str) -> str:
    """Return a prompt without its closing ``Answer:`` line."""
    return _CUE.sub("", prompt)


def scored_pairs(
    base: str, choices: Sequence[str], style: str, template: Template | None
) -> tuple[Pair, ...]:
    """Return (context, continuation) for each option.

    Parameters
    ----------
    base : str
        The stem of the item.
    choices : sequence of str
        Texts of the options.
    style : {"cloze", "letters"}
        Whether the model is shown the question alone and each option's text is scored, or sees
        lettered options and each letter is scored.
    template : callable, optional
        Chat template; the continuation then starts without a space, as a turn does.
    """
    shown = with_options(base, choices) if style == "letters" else base
    prompt, space = closed(shown, template)
    texts = (
        [option_label(i) for i in range(len(choices))]
        if style == "letters"
        else [choice.strip() for choice in choices]
    )
    return tuple((prompt, space + text) for text in texts)


def closed(text: str, template: Template | None) -> tuple[str, str]:
    """Return the prompt that asks for the answer, and what separates the answer from it."""
    if template is not None:
        return template(text), ""
    return f"{text}\nAnswer:", " "


def generation(base: str, max_new_tokens: int, template: Template | None) -> Generation:
    """Return what to generate from; without a chat template the answer ends with its line."""
    prompt, _ = closed(base, template)
    return Generation(prompt, () if template is not None else ("\n",), max_new_tokens)
