"""What the page says in plain words: answers to its one question, explanations, and why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchharmony import verdict
from benchharmony.landscape import words as over_models
from benchharmony.page.safe import line


@dataclass(frozen=True)
class Answer:
    """The answer to "can the average be trusted?".

    Attributes
    ----------
    key : str
        Class of its colour: "yes", "but", "no" or "unclear".
    short : str
        A word or three, for tables.
    heading : str
        What stands above those that share it.
    meaning : str
        Why, in a sentence.
    rank : int
        Worst first.
    """

    key: str
    short: str
    heading: str
    meaning: str
    rank: int


YES = Answer(
    "yes",
    "yes",
    "You can trust the average",
    "Its subdomains score near it, so it stands for the whole.",
    5,
)
BUT = Answer(
    "but",
    "yes, but",
    "You can trust the average, but not for every subdomain",
    "Most subdomains score near it; those named clearly do not.",
    4,
)
NO = Answer(
    "no",
    "no",
    "Do not trust the average",
    "Its subdomains score differently, by more than chance. Quote them, not the average alone.",
    0,
)
DEPENDS = Answer(
    "no",
    "not for all models",
    "Do not compare models by the average",
    "It stands for the whole with some models and not with others.",
    1,
)
ARTEFACT = Answer(
    "unclear",
    "artefact",
    "The average was not tested: these subdomains are no topics",
    "They restate how the model answers, so they say nothing about parts of the benchmark.",
    2,
)
UNCLEAR = Answer(
    "unclear",
    "cannot tell",
    "Do not rely on the average yet: nothing shows that it stands for the whole",
    "There are too few items to say whether its subdomains score alike. Quote them beside it.",
    3,
)
NOT_JUDGED = Answer(
    "unclear", "not judged", "Not judged", "A verdict needs --bootstrap and --permutations.", 6
)
UNDEFINED = Answer(
    "unclear", "undefined", "HARMONY is undefined", "The details below say why.", 7
)  # fmt: skip

#: By the label of a report's verdict.
OF_EVALUATION = {
    verdict.REPRESENTATIVE: YES,
    verdict.EXCEPTIONS: BUT,
    verdict.UNEVEN: NO,
    verdict.TOO_FEW: UNCLEAR,
    verdict.ARTEFACT: ARTEFACT,
    verdict.UNDEFINED: UNDEFINED,
}
#: By the label of a landscape's verdict.
OF_BENCHMARK = {
    over_models.REPRESENTATIVE: YES,
    over_models.UNEVEN: NO,
    over_models.MIXED: DEPENDS,
    over_models.CANNOT_TELL: UNCLEAR,
}

#: What a variable of the artefact diagnostics asks, in words.
DIAGNOSTICS = {
    "predicted_option": "Do the subdomains restate which option the model predicted?",
    "correctness": "Do they restate which items it got right?",
    "confidence": "Do they restate how sure it was?",
    "n_options": "Do they restate how many options an item has?",
    "question_length": "Do they restate how long the question is?",
    "right_option": "Do they restate which option is right?",
}
#: What a null compares with.
NULLS = {
    "same_size": "random subdomains of the same sizes",
    "difficulty_matched": "random subdomains of the same sizes and the same model confidence",
    "cross_fitted": "the subdomains that other models make of the same items",
}

#: Words of the page, for who meets them for the first time.
GLOSSARY: tuple[tuple[str, str], ...] = (
    ("score", "The average over all items that everyone quotes."),
    (
        "subdomain",
        "A group of items: a topic that the benchmark declares, or items that the model reads "
        "alike.",
    ),
    (
        "HARMONY (H)",
        "How evenly the score is spread over the subdomains, from 0 to 1. Near 1 they perform "
        "alike and the average stands for them; near 0 a few of them carry it. Uneven sizes lower "
        "it too.",
    ),
    (
        "adjusted H",
        "H after taking out what chance alone does with this many items. The raw H is that of the "
        "paper and too low where subdomains are small.",
    ),
    (
        "agreement",
        "How close the subdomains lie to the average, from 0 to 1, whatever their sizes. The "
        "answer goes by this one: at 0.78 they differ from the average by about half a bandwidth.",
    ),
    ("k", "The number of subdomains."),
    (
        "share and mass",
        "A subdomain's share is its part of the items; its mass is its part in H, large where it "
        "is big and performs near the average.",
    ),
    (
        "[low, high]",
        "The interval in which the true value lies with the confidence given in the settings.",
    ),
)
#: The same for a landscape.
LANDSCAPE_GLOSSARY: tuple[tuple[str, str], ...] = (
    ("score", "The average over all items that everyone quotes; here its mean over the models."),
    (
        "subdomain",
        "A part of a benchmark: a topic that it declares, or items that models read alike.",
    ),
    (
        "H, mean over models",
        "HARMONY: how evenly a model's score is spread over the subdomains, from 0 to 1. Near 1 "
        "the average stands for them. Adjusted: chance taken out.",
    ),
    (
        "spread of H",
        "Standard deviation of H over models, chance taken out. Where it is large, the average "
        "says more about some models than about others, and comparing them by it misleads.",
    ),
    (
        "agreement",
        "How close the subdomains lie to the average, from 0 to 1, whatever their sizes. At 0.78 "
        "they differ from it by about half a bandwidth: from there on a model counts as even.",
    ),
    ("[low, high]", "An interval for models like these on items like these."),
)
#: What the numbers cannot show.
LIMITS = (
    "HARMONY does not show contamination, wrong answer keys or narrow coverage, and a low H can be "
    "honest difficulty rather than a fault of the benchmark."
)


def spread(subdomains: Sequence[dict[str, Any]], mean: float | None, least: int = 5) -> str:
    """Return a sentence on the lowest and the highest subdomain.

    Parameters
    ----------
    subdomains : sequence of dict
        With "label", "score", "weight" and "size".
    mean : float or None
        Of all items.
    least : int
        Smaller subdomains are passed over where others are there.
    """
    rows = [s for s in subdomains if s["size"] >= least] or list(subdomains)
    if len(rows) < 2 or mean is None:
        return ""
    low, high = min(rows, key=lambda s: s["score"]), max(rows, key=lambda s: s["score"])
    return (
        f"Behind the average of {mean:.2f}: {_named(low)} scores {low['score']:.2f} "
        f"({low['weight']:.0%} of the items), {_named(high)} {high['score']:.2f} "
        f"({high['weight']:.0%})."
    )


def _named(subdomain: dict[str, Any]) -> str:
    """Return a label; one that was only counted (S9) with the words of its items."""
    label, words = subdomain["label"], subdomain.get("keywords") or []
    if not words or not re.fullmatch(r"S\d+", label):
        return isolated(label)
    return f"{label} \u201c{', '.join(line(w, 20) for w in words[:3])}\u201d"


def why_over_models(entry: dict[str, Any]) -> str:
    """Return what the average of a benchmark hides, over its models.

    Parameters
    ----------
    entry : dict
        One benchmark of a landscape.
    """
    models = entry["n_models"]
    parts = [s for s in entry["subdomains"] if s["size"] >= 5] or entry["subdomains"]
    if len(parts) < 2:
        return ""
    low = min(parts, key=lambda s: s["score"]["mean"])
    high = max(parts, key=lambda s: s["score"]["mean"])
    below = round(low["below"] * models)
    whose = f"all {models}" if below == models else f"{below} of the {models}"
    return (
        f"Behind the average of {entry['score']['mean']:.2f}: on {isolated(low['label'])} "
        f"({low['weight']:.0%} of the items) the models score {low['score']['mean']:.2f}, and "
        f"{whose} lie below their own average there; on {isolated(high['label'])} "
        f"({high['weight']:.0%}) they score {high['score']['mean']:.2f}."
    )


def partition_words(split: dict[str, Any]) -> str:
    """Return where the subdomains come from, in words."""
    kind = split["kind"]
    if kind is None:
        return "no subdomains"
    if kind.startswith("declared:"):
        return f"declared by the column \u201c{line(kind[9:], 60)}\u201d"
    made = {
        "predictive": "items that the model reads alike (predictive similarity, as in the paper)",
        "shared": "items that the models read alike (one partition for all of them)",
        "responses": "items that models answer alike",
        "options": "items with similar option probabilities (not the paper's similarity)",
        "none": "nothing to make subdomains from",
    }
    if kind == "text" or kind.startswith("text:"):
        return (
            "items that share words" if kind == "text" else "items of similar meaning (sentences)"
        )
    words = made.get(kind, line(kind, 60))
    where = split.get("positions")
    return f"{words}, positions \u201c{line(where, 30)}\u201d" if where else words


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def isolated(name: object, limit: int = 60) -> str:
    """Return a name for inside a sentence; one written from right to left turns only itself."""
    text = line(name, limit)
    turns = any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    return f"\u2068{text}\u2069" if turns else text


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as a list in words, the last of many only counted."""
    some = [isolated(n) for n in names[:most]]
    if len(names) > most:
        return f"{', '.join(some)} and {len(names) - most:,} more"
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"
