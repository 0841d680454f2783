"""Which positions of which token sequences an item needs.

Each text of an item becomes a chain of input tokens. A position of a chain *predicts* the token
that follows it, so that the positions of a text are those before each of its tokens: its first
token is predicted only where the tokenizer starts with a special token (or where the text is a
single token, which is then read behind the model's start token).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchharmony.collect.encode import Encoder
from benchharmony.collect.work import ItemError, Pair, WorkItem

#: A position: index of the chain, index of the token in it.
Place = tuple[int, int]


@dataclass
class ItemPlan:
    """Token sequences of one item and what is read from them.

    Attributes
    ----------
    chains : list of list of int
        Input tokens; chains that share a beginning share its computation.
    targets : list of (pair, place, token)
        The log-probability of ``token`` at ``place`` belongs to pair number ``pair``.
    views : dict of positions to list of Place
        Positions whose distributions are averaged.
    pair_tokens : list of int
        Number of tokens of each pair's continuation.
    truncated : bool
        Whether a text was cut at its start.
    """

    chains: list[list[int]] = field(default_factory=list)
    targets: list[tuple[int, Place, int]] = field(default_factory=list)
    views: dict[str, list[Place]] = field(default_factory=dict)
    pair_tokens: list[int] = field(default_factory=list)
    truncated: bool = False


def plan_item(item: WorkItem, encoder: Encoder, positions: Sequence[str]) -> ItemPlan:
    """Return the sequences of an item and the positions read from them.

    Raises
    ------
    ItemError
        When the item has an option without tokens, or nothing to read a distribution from.
    """
    plan = ItemPlan()
    places = {}
    for number, pair in enumerate(item.pairs):
        places[pair], tokens = _add_pair(plan, encoder, pair)
        plan.pair_tokens.append(len(tokens))
        plan.targets.extend(
            (number, place, token) for place, token in zip(places[pair], tokens, strict=True)
        )
    for name in positions:
        plan.views[name] = _view(name, item, plan, encoder, places)
    return plan


def _view(
    name: str, item: WorkItem, plan: ItemPlan, encoder: Encoder, places: dict[Pair, list[Place]]
) -> list[Place]:
    if name == "item":
        return _add_text(plan, encoder, item.presented)
    if name == "question":
        return _add_text(plan, encoder, item.question)
    if name == "answer":
        if item.answer is None:
            raise ItemError("no gold answer, so no distribution for positions 'answer'")
        if item.answer not in places:
            places[item.answer] = _add_pair(plan, encoder, item.answer)[0]
        return places[item.answer]
    if item.pairs and item.pairs[0][0] == item.prompt:
        return places[item.pairs[0]][:1]
    chain, cut = _fitted(encoder.text(item.prompt.rstrip()) or encoder.pair(("", " "))[0], encoder)
    plan.truncated |= cut
    plan.chains.append(chain)
    return [(len(plan.chains) - 1, len(chain) - 1)]


def _add_pair(plan: ItemPlan, encoder: Encoder, pair: Pair) -> tuple[list[Place], list[int]]:
    head, tail = encoder.pair(pair)
    whole = (head + tail)[-(encoder.max_length + 1) :][:-1]
    plan.truncated |= len(whole) < len(head) + len(tail) - 1
    plan.chains.append(whole)
    number = len(plan.chains) - 1
    return [(number, len(whole) - len(tail) + j) for j in range(len(tail))], tail


def _add_text(plan: ItemPlan, encoder: Encoder, text: str) -> list[Place]:
    tokens = encoder.text(text)
    if len(tokens) < 2:  # nothing before it that would predict it
        tokens = [encoder.prefix_token or 0, *tokens]
    if len(tokens) < 2:
        raise ItemError("the text of the item has no token")
    chain, cut = _fitted(tokens[:-1], encoder)
    plan.truncated |= cut
    plan.chains.append(chain)
    number = len(plan.chains) - 1
    return [(number, j) for j in range(len(chain))]


def _fitted(tokens: list[int], encoder: Encoder) -> tuple[list[int], bool]:
    return tokens[-encoder.max_length :], len(tokens) > encoder.max_length
