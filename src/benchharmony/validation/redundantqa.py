"""RedundantQA: 600 items with known redundancy, and the checks that its data must pass.

Each of 120 groups holds a reference question, two paraphrases (same fact asked in other words)
and two distractors (nearly the same words, another question with another answer). A similarity
that follows meaning ranks the paraphrases nearer to the reference; one that follows the surface
ranks the distractors nearer. The idea of the benchmark is from "The Flaw of Averages" (arXiv
2509.25671); the items are this project's own. The datasheet is ``docs/redundantqa.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchharmony.errors import InputError, Problem

__all__ = [
    "DOMAINS",
    "ROLES",
    "OptionLengths",
    "OverlapGap",
    "RedundantItem",
    "composition_problems",
    "gold_positions",
    "item_problems",
    "load_redundantqa",
    "option_echo",
    "option_lengths",
    "overlap_gap",
    "same_position_rate",
    "word_overlap",
]

DOMAINS = ("Biology", "History", "Economics", "Popular Culture")
#: How many items of each role a group has.
ROLES = {"reference": 1, "paraphrase": 2, "distractor": 2}
N_CHOICES = 4
#: Which paraphrase keeps the words of its reference's answer: a similarity that reads the answer
#: is judged on the others apart.
_KEEPS = {"par1": True, "par2": False}

_WORD = re.compile(r"\w+")
#: Words too common to give an answer away; used by :func:`option_echo` alone.
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a about after all an and another any are as at be been before by called did do does each "
        "for from had has have he her his how if in into is it its many more most much no of off "
        "on one or other out over s that the their them they this through to two under up was "
        "were what when where which who whom whose with without"
    )
)


class RedundantItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One multiple-choice item.

    Attributes
    ----------
    id : str
        Group and role, as ``"bio-01-par2"``.
    question : str
        The question, without its options.
    choices : tuple of str
        The four options.
    answer : int
        0-based index of the correct option.
    domain : str
        One of :data:`DOMAINS`.
    group : str
        The five items about one reference question share it.
    role : {"reference", "paraphrase", "distractor"}
        What the item is to its group.
    """

    id: str
    question: str
    choices: tuple[str, str, str, str]
    answer: int
    domain: Literal["Biology", "History", "Economics", "Popular Culture"]
    group: str
    role: Literal["reference", "paraphrase", "distractor"]

    @property
    def gold(self) -> str:
        """The text of the correct option."""
        return self.choices[self.answer]

    @property
    def text(self) -> str:
        """The question and its options, for measures of the surface."""
        return " ".join((self.question, *self.choices))


def load_redundantqa(path: str | Path | None = None) -> list[RedundantItem]:
    """Read the items, in the order of the file.

    Parameters
    ----------
    path : str or Path, optional
        Another JSONL file of the same form; the file of the package by default.

    Returns
    -------
    list of RedundantItem
        600 items for the file of the package.

    Raises
    ------
    InputError
        When a line is not an item; names the file and the line.
    """
    if path is None:
        name = "redundantqa.jsonl"
        raw = (files(__package__) / "data" / name).read_bytes()
    else:
        name = str(path)
        raw = Path(path).read_bytes()
    decoder = msgspec.json.Decoder(RedundantItem)
    items: list[RedundantItem] = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            item = decoder.decode(line)
        except msgspec.DecodeError as error:
            raise InputError(name, f"not a RedundantQA item: {error}", number) from None
        if not 0 <= item.answer < N_CHOICES:
            raise InputError(name, f"answer is {item.answer}; give an index from 0 to 3", number)
        items.append(item)
    return items


# --- structure -------------------------------------------------------------------------------


def item_problems(items: Iterable[RedundantItem]) -> list[Problem]:
    """Find what is wrong with single items: options that repeat, stray space, an odd id.

    Returns
    -------
    list of Problem
        Empty when every item is sound.
    """
    return [
        Problem("RedundantQA", reason, item=item.id)
        for item in items
        for reason in _item_reasons(item)
    ]


def _item_reasons(item: RedundantItem) -> Iterable[str]:
    if not re.fullmatch(re.escape(item.group) + r"-(ref|par[12]|dis[12])", item.id):
        yield "the id is not the group followed by -ref, -par1, -par2, -dis1 or -dis2"
    elif item.id[len(item.group) + 1 :][:3] != item.role[:3]:
        yield f"the id does not say {item.role}"
    if not item.question.endswith("?"):
        yield "the question does not end with a question mark"
    if len({_fold(choice) for choice in item.choices}) < N_CHOICES:
        yield "an option is repeated"
    texts = (item.question, *item.choices)
    if any(not text or text != " ".join(text.split()) for text in texts):
        yield "a text is empty or has stray space"


def composition_problems(items: Sequence[RedundantItem]) -> list[Problem]:
    """Find what is wrong with the whole: ids, questions, groups, answers inside a group.

    Returns
    -------
    list of Problem
        Empty when ids and questions are unique; every group has one domain and the roles of
        :data:`ROLES`; the distractors' answers differ from each other's and from those of the
        reference and the paraphrases; and ``-par1`` words its answer as the reference does
        while ``-par2`` does not.
    """
    found = []
    for what, values in (
        ("id", [item.id for item in items]),
        ("question", [_fold(item.question) for item in items]),
    ):
        repeated = [value for value, count in Counter(values).items() if count > 1]
        found += [Problem("RedundantQA", f"{what} occurs twice: {value}") for value in repeated]
    for group, members in _groups(items).items():
        found += [Problem("RedundantQA", reason, item=group) for reason in _group_reasons(members)]
    return found


def _group_reasons(members: Sequence[RedundantItem]) -> Iterable[str]:
    if Counter(member.role for member in members) != Counter(ROLES):
        yield "a group needs one reference, two paraphrases and two distractors"
        return
    if len({member.domain for member in members}) != 1:
        yield "the items of a group are in more than one domain"
    asked = {_fold(m.gold) for m in members if m.role != "distractor"}
    others = [_fold(m.gold) for m in members if m.role == "distractor"]
    if len(set(others)) < len(others) or asked & set(others):
        yield "a distractor has the answer of another question of its group"
    reference = _fold(_only(members, "reference")[0].gold)
    if {m.id[-4:]: _fold(m.gold) == reference for m in _only(members, "paraphrase")} != _KEEPS:
        yield "the first paraphrase must keep the words of the reference's answer, the second not"


def _groups(items: Iterable[RedundantItem]) -> dict[str, list[RedundantItem]]:
    groups: dict[str, list[RedundantItem]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return groups


def _fold(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


# --- what would let a guesser win ------------------------------------------------------------


def gold_positions(items: Iterable[RedundantItem]) -> dict[str, NDArray[np.int64]]:
    """Count the correct option's position, by domain and by role.

    Returns
    -------
    dict of str to (4,) array
        Keys are the domains, the roles and ``"all"``; counts over positions A to D.
    """
    counts = {key: np.zeros(N_CHOICES, dtype=np.int64) for key in ("all", *DOMAINS, *ROLES)}
    for item in items:
        for key in ("all", item.domain, item.role):
            counts[key][item.answer] += 1
    return counts


def same_position_rate(items: Iterable[RedundantItem], role: str) -> float:
    """Share of a role's items whose gold position is their reference's (chance: 0.25)."""
    same = []
    for members in _groups(items).values():
        reference = _only(members, "reference")[0]
        same += [member.answer == reference.answer for member in _only(members, role)]
    return float(np.mean(same))


@dataclass(frozen=True)
class OptionLengths:
    """How far the length of an option, in characters, gives the answer away.

    Attributes
    ----------
    mean_rank : float
        Mean rank of the correct option, 1 the shortest, 4 the longest, ties averaged
        (chance: 2.5).
    longest, shortest : float
        Share of items where the correct option is the longest / the shortest; of m options that
        tie, each counts 1/m, so that chance is 0.25.
    """

    mean_rank: float
    longest: float
    shortest: float


def option_lengths(items: Iterable[RedundantItem]) -> OptionLengths:
    """Compare the length of correct options with that of the others in their item."""
    ranks: list[float] = []
    longest: list[float] = []
    shortest: list[float] = []
    for item in items:
        lengths = np.array([len(choice) for choice in item.choices])
        ranks.append(rankdata(lengths)[item.answer])
        for extreme, shares in ((lengths.max(), longest), (lengths.min(), shortest)):
            tied = lengths == extreme
            shares.append(tied[item.answer] / tied.sum())
    return OptionLengths(float(np.mean(ranks)), float(np.mean(longest)), float(np.mean(shortest)))


def option_echo(items: Iterable[RedundantItem]) -> dict[str, list[str]]:
    """Find items where one option alone repeats a content word of the question.

    A word in the correct option alone may give it away; in one wrong option alone it misleads.

    Returns
    -------
    dict of str to list of str
        ``"gold"`` and ``"wrong"``: ids of the items where only the correct option, or only one
        wrong option, holds a word of the question. By chance there are three times as many of
        the second kind.
    """
    echo: dict[str, list[str]] = {"gold": [], "wrong": []}
    for item in items:
        asked = _words(item.question) - _FUNCTION_WORDS
        holders = [i for i, choice in enumerate(item.choices) if asked & _words(choice)]
        if len(holders) == 1:
            echo["gold" if holders[0] == item.answer else "wrong"].append(item.id)
    return echo


# --- surface against meaning -----------------------------------------------------------------


def word_overlap(items: Sequence[RedundantItem], kind: str) -> NDArray[np.float64]:
    """Word overlap of every pair of items.

    Parameters
    ----------
    items : sequence of RedundantItem
        n items.
    kind : {"tfidf", "jaccard", "jaccard_question", "jaccard_gold"}
        Cosine of TF-IDF vectors of question and options; Jaccard index of the word sets of
        question and options, of the question alone, of the correct option alone.

    Returns
    -------
    (n, n) array
        In [0, 1].

    Raises
    ------
    KeyError
        When the kind is not one of these.
    """
    if kind == "tfidf":
        # Imported here: scikit-learn is slow to load, and nothing else in this module needs it.
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectors = TfidfVectorizer(token_pattern=r"\w+").fit_transform([i.text for i in items])
        return np.asarray((vectors @ vectors.T).toarray(), dtype=np.float64)
    texts: dict[str, Callable[[RedundantItem], str]] = {
        "jaccard": lambda item: item.text,
        "jaccard_question": lambda item: item.question,
        "jaccard_gold": lambda item: item.gold,
    }
    words = [_words(texts[kind](item)) for item in items]
    return np.array([[len(a & b) / max(len(a | b), 1) for b in words] for a in words])


@dataclass(frozen=True)
class OverlapGap:
    """How a similarity to the reference ranks paraphrases against distractors.

    Attributes
    ----------
    auc : float
        Probability that a paraphrase is more similar to its reference than a distractor to its
        own, over all pairs of the two kinds, ties counting half.
    auc_within : float
        The same over pairs of one group, averaged over groups.
    distractors_nearer : float
        Share of groups where both distractors are strictly more similar than both paraphrases.
    exceptions : tuple of str
        The groups where they are not.
    """

    auc: float
    auc_within: float
    distractors_nearer: float
    exceptions: tuple[str, ...]


def overlap_gap(items: Sequence[RedundantItem], similarity: NDArray[np.float64]) -> OverlapGap:
    """Rank paraphrases against distractors by their similarity to the reference.

    Parameters
    ----------
    items : sequence of RedundantItem
        n items; each of their groups with its reference, a paraphrase and a distractor at least,
        so that the paraphrases that keep the answer's words can be left out.
    similarity : (n, n) array
        Greater is more similar.
    """
    row = {item.id: i for i, item in enumerate(items)}
    groups = _groups(items)
    paraphrase: list[NDArray[np.float64]] = []
    distractor: list[NDArray[np.float64]] = []
    for members in groups.values():
        reference = row[_only(members, "reference")[0].id]
        for role, values in (("paraphrase", paraphrase), ("distractor", distractor)):
            rows = [row[member.id] for member in _only(members, role)]
            values.append(similarity[reference, rows])
    pairs = list(zip(paraphrase, distractor, strict=True))
    nearer = [bool(d.min() > p.max()) for p, d in pairs]
    return OverlapGap(
        _auc(np.concatenate(paraphrase), np.concatenate(distractor)),
        float(np.mean([_auc(p, d) for p, d in pairs])),
        float(np.mean(nearer)),
        tuple(group for group, holds in zip(groups, nearer, strict=True) if not holds),
    )


def _auc(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    # Mann-Whitney: the rank sum of one sample says how often it exceeds the other.
    ranks = rankdata(np.concatenate([above, below]))[: len(above)]
    wins = ranks.sum() - len(above) * (len(above) + 1) / 2
    return float(wins / (len(above) * len(below)))


def _only(members: Iterable[RedundantItem], role: str) -> list[RedundantItem]:
    return [member for member in members if member.role == role]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
