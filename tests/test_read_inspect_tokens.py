"""Top tokens that an Inspect run recorded become distributions of its first token, or do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchharmony.evaluation import Evaluation
from benchharmony.readers.inspect_ai import READERS
from benchharmony.readers.inspect_tokens import LEAST_REST, NOMINAL_VOCABULARY
from benchharmony.similarity import jeffreys
from harness_logs import read_with
from inspect_logs import run, sample, tokens, write_log

ROWS: tuple[dict[str, float], ...] = (
    {"B": 0.5, "A": 0.25, "The": 0.125},
    {"A": 0.75, "B": 0.125},
    {"The": 0.9, "A": 0.05, "C": 0.03},
)


def read_outputs(folder: Path, outputs: list[Any]) -> Evaluation:
    samples = [sample(i, "C", output=o) for i, o in zip("abcd", outputs, strict=False)]
    (found,) = read_with(READERS, write_log(folder / "a.eval", run(samples)))
    return found


def test_first_tokens_become_next_distributions(tmp_path: Path) -> None:
    found = read_outputs(tmp_path, [tokens(row, {"x": 1.0}) for row in ROWS])
    assert list(found.predictive) == ["next"]
    view = found.predictive["next"]
    assert view.vocab_size == NOMINAL_VOCABULARY
    number = {token: k for k, token in enumerate(["A", "B", "C", "The"])}
    assert view.token_ids is not None
    for i, row in enumerate(ROWS):
        given = view.token_ids[i] >= 0
        seen = dict(zip(view.token_ids[i][given], np.exp(view.logprobs[i][given]), strict=True))
        assert seen == pytest.approx({number[t]: p for t, p in row.items()})
    np.testing.assert_allclose(view.rest, [0.125, 0.125, 0.02], atol=1e-12)
    assert any("the 3 likeliest first tokens" in n and "0.91 of" in n for n in found.notes)


def test_distributions_of_letters_are_told_to_be_that(tmp_path: Path) -> None:
    letters = [{"B": 0.75, " A": 0.125}, {"ĠC": 0.875, "no": 0.125}]
    found = read_outputs(tmp_path, [tokens(row) for row in letters])
    assert any("by the letter answered, not by topic" in n for n in found.notes)
    words = [{"Sea": 0.75, "D": 0.125}, {"Lake": 0.875}]
    found = read_outputs(tmp_path, [tokens(row) for row in words])
    assert found.predictive
    assert not any("letter" in n for n in found.notes)


def test_certain_items_stay_at_a_finite_distance(tmp_path: Path) -> None:
    found = read_outputs(tmp_path, [tokens({"A": 1.0, "B": -9999.0}), tokens({"B": 1.0})])
    view = found.predictive["next"]
    np.testing.assert_allclose(view.rest, LEAST_REST, rtol=1e-5)
    assert np.isfinite(jeffreys(view)).all()


def test_equal_texts_of_different_tokens_are_one_outcome(tmp_path: Path) -> None:
    output = tokens({"A": 0.5})
    place = output["choices"][0]["logprobs"]["content"][0]
    place["top_logprobs"] *= 2
    place["top_logprobs"][1] = {"token": "A", "logprob": float(np.log(0.25))}
    view = read_outputs(tmp_path, [output, tokens({"B": 0.75})]).predictive["next"]
    np.testing.assert_allclose(np.exp(view.logprobs[0, 0]), 0.75)


@pytest.mark.parametrize(
    ("outputs", "why"),
    [
        ([tokens(ROWS[0]), {"choices": []}], "1 of 2 items have none"),
        ([tokens(ROWS[0], more=40), tokens(ROWS[1], more=60)], "have 50 tokens"),
        ([tokens({"A": 0.25}), tokens({"B": 0.25})], "hold 0.25 of the probability"),
        ([tokens({"A": 0.9, "B": 0.8}), tokens({"B": 0.9})], "sum to 1.7, which is more than 1"),
        ([tokens({"A": 2.0}), tokens({"B": 0.9})], "which is above 0"),
    ],
)
def test_what_is_not_safe_to_use_is_left_out_with_a_note(
    tmp_path: Path, outputs: list[Any], why: str
) -> None:
    found = read_outputs(tmp_path, outputs)
    assert not found.predictive
    assert any(n.startswith("recorded top tokens are not used") and why in n for n in found.notes)
