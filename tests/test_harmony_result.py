"""HARMONY of an evaluation: the arrays' numbers, the warnings and the undefined cases."""

from dataclasses import replace

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation, harmony, harmony_score, partition
from benchharmony.artefacts import artefacts
from benchharmony.keywords import keywords
from planted import planted


def halves(first, second, n=100):
    return Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=[first] * n + [second] * n,
        groups={"half": ["a"] * n + ["b"] * n},
    )


def induced(evaluation, column):
    """Return the labels of a column as if they had been induced."""
    return replace(partition(evaluation, f"declared:{column}"), kind="predictive")


def test_the_result_is_the_formula_on_the_subdomains():
    made, truth = planted()
    result = harmony(made, partition(made))
    performance = [made.scores[truth == t].mean() for t in range(3)]
    assert result.value == pytest.approx(harmony_score([120, 90, 60], performance))
    assert result.mean == pytest.approx(made.scores.mean())
    assert result.worst == pytest.approx(min(performance))
    assert result.by_k[3] == pytest.approx(result.value)
    assert result.sensitivity[0.2] == pytest.approx(
        harmony_score([120, 90, 60], performance, bandwidth=0.2)
    )


def test_the_blind_spot_is_warned_of():
    made = halves(1.0, 0.0)
    result = harmony(made, partition(made, "declared:half"))
    assert result.value == pytest.approx(1)
    assert result.agreement == pytest.approx(np.exp(-25))
    assert any("which H cannot see" in note for note in result.notes)


def test_all_correct_is_told():
    made = halves(1.0, 1.0)
    result = harmony(made, partition(made, "declared:half"))
    assert result.value == pytest.approx(1)
    assert any("every item has the same score" in note for note in result.notes)


def test_few_items_and_one_label_are_undefined():
    few = halves(1.0, 0.0, n=9)
    result = harmony(few, partition(few, "declared:half"))
    assert result.value is None
    assert result.adjusted is None
    assert "fewer than 20" in result.undefined
    one = Evaluation.from_arrays(
        benchmark="b", model="m", scores=[1.0] * 30, groups={"t": ["a"] * 30}
    )
    assert "same 't' label" in harmony(one, partition(one, "declared:t")).undefined


def test_no_key_is_refused():
    made = Evaluation.from_arrays(
        benchmark="b", model="m", scores=None, predictive=np.full((30, 2), 0.5)
    )
    with pytest.raises(BenchharmonyError, match="no answer key"):
        harmony(made, partition(made))


def test_a_partition_of_other_items_is_refused():
    made, _ = planted()
    with pytest.raises(BenchharmonyError, match="partition is of 270 items, the evaluation of 10"):
        harmony(made.take(range(10)), partition(made))


def test_artefacts_see_a_partition_of_letters_and_not_one_of_topics():
    rng = np.random.default_rng(0)
    made, truth = planted()
    n = len(made)
    letter = rng.integers(0, 4, n)
    logs = np.log(0.02 + 0.9 * np.eye(4)[letter])
    with_options = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=made.scores,
        option_logprobs=logs,
        groups={"letter": letter, "topic": truth},
        texts=["word " * int(i) for i in rng.integers(1, 50, n)],
    )
    by_letter = artefacts(with_options, induced(with_options, "letter"))
    flagged = {a.name for a in by_letter if a.flag}
    assert flagged == {"predicted_option"}
    assert "not topics" in next(a.warning for a in by_letter if a.flag)
    by_topic = artefacts(with_options, induced(with_options, "topic"))
    assert {a.name for a in by_topic} == {"predicted_option", "correctness", "question_length"}
    assert not any(a.flag for a in by_topic if a.name != "correctness")


def test_confidence_and_option_counts_are_seen():
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.3, 0.95, 400)
    logs = np.log(np.column_stack([sure, 1 - sure - 0.01, np.full(400, 0.01)]))
    logs[:200, 2] = np.nan
    made = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=rng.integers(0, 2, 400),
        option_logprobs=logs,
        groups={
            "sure": np.digitize(np.maximum(sure, 1 - sure), [0.6, 0.7, 0.85]),
            "count": [2] * 200 + [3] * 200,
        },
    )
    found = {a.name: a.ami for a in artefacts(made, induced(made, "sure"))}
    assert found["confidence"] > 0.5
    found = {a.name: a.ami for a in artefacts(made, induced(made, "count"))}
    assert found["n_options"] == pytest.approx(1)


def test_keywords_tell_subdomains_apart():
    texts = ["the cell membrane divides"] * 5 + ["tax and inflation rise"] * 5 + ["a zebra"]
    labels = np.array([0] * 5 + [1] * 5 + [0])
    words = keywords(texts, labels)
    assert {"cell", "membrane"} <= set(words[0])
    assert "zebra" not in words[0]  # one odd item does not name a subdomain
    assert {"tax", "inflation"} <= set(words[1])
    assert keywords(["", "1 2"], np.array([0, 1])) == [(), ()]


def test_a_declared_column_that_is_the_key_is_flagged_and_a_topic_is_not():
    gold = np.arange(120) % 3
    made = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=np.arange(120) % 2,
        gold=gold,
        choices=[["a", "b", "c"]] * 120,
        groups={"answer kind": gold, "topic": np.arange(120) // 40},
    )
    (key,) = artefacts(made, partition(made, "declared:answer kind"))
    assert key.flag
    assert "which option is right" in key.warning
    (topic,) = artefacts(made, partition(made, "declared:topic"))
    assert not topic.flag
