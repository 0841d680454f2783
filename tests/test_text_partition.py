"""Partitions from texts: topics found, hostile and empty texts, embeddings, auto's preference."""

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation, partition
from benchharmony.choice import Choice
from benchharmony.text_partition import text_partition

WORDS = {
    name: words.split(",")
    for name, words in {
        "cooking": "onion,garlic,simmer,saucepan,oven,recipe,butter,knife,chop,roast",
        "sailing": "harbour,mast,keel,rudder,anchor,tide,sail,rope,deck,wind",
        "law": "court,statute,plaintiff,verdict,appeal,contract,judge,liable,tort,clause",
    }.items()
}


def topical(n=90, seed=0, **extra):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    names = list(WORDS)
    texts = [
        f"Which {' '.join(rng.choice(WORDS[names[t]], 6, replace=False))} is {rng.integers(999)}?"
        for t in truth
    ]
    e = Evaluation.from_arrays(
        benchmark="b", model="m", scores=rng.integers(0, 2, n), texts=texts, **extra
    )
    return e, truth


def agree(a, b):
    from sklearn.metrics import adjusted_rand_score

    return adjusted_rand_score(a, b)


def test_topics_are_found_from_words():
    e, truth = topical()
    made = partition(e, "text", k=3)
    assert agree(made.labels, truth) > 0.95
    assert made.kind == "text"
    assert any("not what the model does" in n for n in made.notes)


def test_the_order_of_the_items_changes_nothing():
    e, _ = topical()
    order = np.random.default_rng(1).permutation(len(e))
    assert agree(partition(e.take(order), "text").labels, partition(e, "text").labels[order]) == 1


def test_equal_texts_share_a_subdomain():
    e, _ = topical()
    twice = Evaluation.from_arrays(
        benchmark="b", model="m", scores=np.r_[e.scores, e.scores], texts=[*e.texts, *e.texts]
    )
    labels = partition(twice, "text", k=6).labels
    assert (labels[:90] == labels[90:]).all()


def test_options_are_read_too():
    e, truth = topical()
    moved = Evaluation.from_arrays(
        benchmark="b", model="m", scores=e.scores, texts=["Which one?"] * 90,
        choices=[(t, "none") for t in e.texts],
    )  # fmt: skip
    assert agree(partition(moved, "text", k=3).labels, truth) > 0.95


def test_auto_prefers_text_to_options_and_labels_to_text():
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 90))
    e, truth = topical(option_logprobs=logs)
    assert partition(e, "auto").kind == "text"
    e, _ = topical(option_logprobs=logs, groups={"subject": [str(t) for t in truth]})
    assert partition(e, "auto").kind == "declared:subject"


@pytest.mark.parametrize("texts", [None, ["", " "] * 45])
def test_no_texts_are_an_error_that_says_how_to_get_them(texts):
    e = Evaluation.from_arrays(benchmark="b", model="m", scores=[1, 0] * 45, texts=texts)
    with pytest.raises(BenchharmonyError, match="--items"):
        partition(e, "text")


def test_texts_without_a_common_word_are_an_error():
    texts = [f"xq{i}z" for i in range(40)]
    e = Evaluation.from_arrays(benchmark="b", model="m", scores=[1, 0] * 20, texts=texts)
    with pytest.raises(BenchharmonyError, match="no word occurs in two items"):
        partition(e, "text")


def test_odd_texts_do_no_harm():
    e, _ = topical()
    odd = list(e.texts)
    odd[:4] = ["\u202e\u2028", "a" * 100_000, "\ud800", "<script>alert(1)</script>"]
    made = partition(
        Evaluation.from_arrays(benchmark="b", model="m", scores=e.scores, texts=odd), "text", k=3
    )
    assert len(made) == 90


def test_any_embedding_can_stand_in():
    e, truth = topical()
    centres = np.eye(3)
    made = text_partition(e, Choice(k=3), embed=lambda texts: centres[truth] + 1e-3)
    assert agree(made.labels, truth) == 1
    with pytest.raises(BenchharmonyError, match="shape"):
        text_partition(e, Choice(), embed=lambda texts: np.ones(3))


def test_an_embedding_model_without_the_extra_is_an_error_in_words(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(BenchharmonyError, match=r"benchharmony\[embeddings\]"):
        partition(topical()[0], "text:any-model")
