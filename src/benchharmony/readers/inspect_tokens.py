"""Top tokens that an Inspect run recorded, as predictive distributions of its first token.

A log holds the text of the 1 to 20 likeliest tokens, without ids and without the size of the
vocabulary. Outcomes are the texts themselves, numbered in sorted order; the remaining probability
is spread over a vocabulary of a nominal 100,000. Its true size hardly matters: on a recorded run,
the divergences of all pairs under 49,152 and under 151,936 tokens have a rank correlation of 0.999
(under 10 tokens against 49,152: 0.69, so that the tokens seen are no stand-in for the vocabulary).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchharmony.predictive import PADDING, SUM_TOLERANCE, Predictive
from benchharmony.readers.inspect_log import InspectSample

#: Positions of these distributions: the next token after the prompt.
POSITIONS = "next"

NOMINAL_VOCABULARY = 100_000
#: Less than this on average, and the recorded tokens do not tell the distribution.
LEAST_LISTED_MASS = 0.5
#: A longer answer (median) reasons first: its first token is not the answer.
LONGEST_ANSWER = 32
#: Log-probabilities are logged in single precision: remaining mass below this is rounding, and
#: none at all would make any two items with different tokens infinitely far apart.
LEAST_REST = 1e-6
#: Some providers write -9999 for tokens without a value.
_PLACEHOLDER = -1000.0


def top_token_view(samples: Sequence[InspectSample]) -> tuple[Predictive | None, list[str]]:
    """Return the distributions of the first generated token, and what is worth telling.

    Parameters
    ----------
    samples : sequence of InspectSample
        One per item, in the order of the evaluation.

    Returns
    -------
    Predictive or None
        None where the run recorded none, or they are not safe to use; the note says which.
    list of str
    """
    found = [s.top_tokens for s in samples if s.top_tokens is not None]
    if not found:
        return None, []
    refusal = "recorded top tokens are not used: "
    if len(found) < len(samples):
        without = len(samples) - len(found)
        return None, [f"{refusal}{without} of {len(samples)} items have none"]
    length = float(np.median([n for _, n in found]))
    if length > LONGEST_ANSWER:
        return None, [
            f"{refusal}answers have {length:g} tokens (median), and the first of a text that long "
            "is not the answer"
        ]
    listed = [{t: v for t, v in tokens.items() if v > _PLACEHOLDER} for tokens, _ in found]
    highest = max((v for row in listed for v in row.values()), default=0.0)
    if highest > SUM_TOLERANCE:
        return None, [f"{refusal}one has a log-probability of {highest:g}, which is above 0"]
    mass = np.array([np.exp(list(row.values())).sum() for row in listed])
    if mass.mean() < LEAST_LISTED_MASS:
        return None, [f"{refusal}they hold {mass.mean():.2f} of the probability on average"]
    if mass.max() > 1 + SUM_TOLERANCE:
        return None, [f"{refusal}those of one item sum to {mass.max():.4g}, which is more than 1"]
    view = _view(listed, mass)
    return view, _notes(samples, listed, mass, view.vocab_size)


def _view(listed: list[dict[str, float]], mass: NDArray[np.float64]) -> Predictive:
    number = {token: k for k, token in enumerate(sorted({t for row in listed for t in row}))}
    width = max(map(len, listed))
    ids = np.full((len(listed), width), PADDING, dtype=np.int64)
    logprobs = np.full((len(listed), width), -np.inf)
    for i, row in enumerate(listed):
        ids[i, : len(row)] = [number[token] for token in row]
        logprobs[i, : len(row)] = list(row.values())
    vocabulary = max(NOMINAL_VOCABULARY, len(number) + 1)
    rest = np.maximum(1 - mass, LEAST_REST)
    return Predictive.top_k(ids, logprobs, rest, vocabulary)


def _notes(
    samples: Sequence[InspectSample],
    listed: list[dict[str, float]],
    mass: NDArray[np.float64],
    vocabulary: int,
) -> list[str]:
    most = max(map(len, listed))
    notes = [
        f"{POSITIONS!r} distributions are the {most} likeliest first tokens that the run recorded "
        f"({mass.mean():.2f} of the probability on average), the rest spread over a nominal "
        f"vocabulary of {vocabulary}"
    ]
    on_letters = np.mean([_letter_mass(s, row) for s, row in zip(samples, listed, strict=True)])
    if on_letters > LEAST_LISTED_MASS:
        notes.append(
            f"{on_letters:.2f} of that probability is on letters of options: subdomains from "
            f"{POSITIONS!r} group items by the letter answered, not by topic; --partition text or "
            "declared:COLUMN does not"
        )
    return notes


def _letter_mass(sample: InspectSample, row: dict[str, float]) -> float:
    letters = {chr(ord("A") + k) for k in range(len(sample.choices))}
    # "Ġ" and "▁" are how tokenizers write a leading space.
    hits = [v for token, v in row.items() if token.strip(" Ġ▁(") in letters]
    return float(np.exp(hits).sum())
