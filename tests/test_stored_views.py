"""Distributions that stay in their file: the same numbers, in this process and in others."""

import pickle

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation, Predictive
from benchharmony.stored_views import StoredViews, by_value
from planted import planted


def both(tmp_path, n=90):
    """Return an evaluation with a dense and a top-K view, and the same left in its file."""
    rng = np.random.default_rng(0)
    made, _ = planted((n // 3,) * 3, seed=1)
    ids = np.argsort(rng.random((n, 50)), axis=1)[:, :8]
    logs = np.log(rng.dirichlet(np.ones(9), n))
    answer = Predictive.top_k(ids, logs[:, :8], np.exp(logs[:, 8]), 50)
    whole = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=made.scores,
        predictive={"item": made.predictive["item"], "answer": answer},
        groups=made.groups,
        texts=[f"text {i}" for i in range(n)],
        option_logprobs=logs[:, :4],
    )
    whole.save(tmp_path / "e.parquet")
    return whole, Evaluation.load(tmp_path / "e.parquet", lazily=True)


def same(a: Predictive, b: Predictive) -> bool:
    ids = (a.token_ids is None and b.token_ids is None) or (a.token_ids == b.token_ids).all()
    return bool(ids and (a.logprobs == b.logprobs).all() and (a.rest == b.rest).all())


def test_the_numbers_are_those_of_a_whole_load(tmp_path):
    whole, lazily = both(tmp_path)
    assert isinstance(lazily.predictive, StoredViews)
    assert list(lazily.predictive) == ["item", "answer"]
    assert all(same(lazily.predictive[p], whole.predictive[p]) for p in ("item", "answer"))
    assert lazily.texts == whole.texts
    assert (lazily.scores == whole.scores).all()
    assert (lazily.option_logprobs == whole.option_logprobs).all()
    assert "next" not in lazily.predictive
    with pytest.raises(KeyError):
        lazily.predictive["next"]


def test_some_items_are_taken_without_reading(tmp_path):
    whole, lazily = both(tmp_path)
    rows = [5, 80, 2, 41]
    part = lazily.take(rows).take([3, 0])
    assert isinstance(part.predictive, StoredViews)
    assert same(part.predictive["answer"], whole.predictive["answer"].take([41, 5]))
    assert part.item_ids == ("41", "5")


def test_what_is_read_is_kept_only_while_it_is_used(tmp_path):
    _, lazily = both(tmp_path)
    held = lazily.predictive["item"]
    assert lazily.predictive["item"] is held
    del held
    assert not lazily.predictive._live


def test_a_pickle_holds_the_place_or_by_value_the_numbers(tmp_path):
    whole, lazily = both(tmp_path, n=3000)
    small = pickle.dumps(lazily.predictive)
    assert len(small) < 2000
    assert same(pickle.loads(small)["item"], whole.predictive["item"])
    with by_value():
        large = pickle.dumps(lazily)
    (tmp_path / "e.parquet").unlink()
    assert same(pickle.loads(large).predictive["item"], whole.predictive["item"])


def test_a_relative_path_survives_a_change_of_directory(tmp_path, monkeypatch):
    whole, _ = both(tmp_path)
    monkeypatch.chdir(tmp_path)
    lazily = Evaluation.load("e.parquet", lazily=True)
    monkeypatch.chdir("/")
    assert same(lazily.predictive["item"], whole.predictive["item"])


def test_a_file_that_changes_or_goes_is_an_error_in_words(tmp_path):
    _, lazily = both(tmp_path)
    planted((40, 40), seed=3)[0].save(tmp_path / "e.parquet")
    with pytest.raises(BenchharmonyError, match=r"e\.parquet: it was changed while it was in use"):
        lazily.predictive["item"]
    (tmp_path / "e.parquet").unlink()
    with pytest.raises(BenchharmonyError, match="cannot be read any more: No such file"):
        lazily.predictive["item"]


def test_damage_is_found_when_it_is_read(tmp_path):
    both(tmp_path, n=3000)
    path = tmp_path / "e.parquet"
    data = bytearray(path.read_bytes())
    at = data.index(b"text 2999") - 2000 if b"text 2999" in data else len(data) // 2
    for i in range(at, len(data) - 20_000):
        data[i] ^= 0xFF
    path.write_bytes(bytes(data))

    def read():
        return dict(Evaluation.load(path, lazily=True).predictive)

    with pytest.raises(BenchharmonyError, match=r"e\.parquet"):
        read()


def test_saving_again_gives_the_same_evaluation(tmp_path):
    whole, lazily = both(tmp_path)
    lazily.save(tmp_path / "again.parquet")
    again = Evaluation.load(tmp_path / "again.parquet")
    assert same(again.predictive["item"], whole.predictive["item"])
    assert again.groups == whole.groups
