"""NumPy archives of token-level outputs: views become positions, options give the scores."""

import io
import zipfile

import numpy as np
import pytest

from benchharmony.errors import InputError
from benchharmony.readers.npz import READERS
from benchharmony.readers.source import ReadOptions, SourceFile

NPZ = READERS[0]


def view(name, n=4, k=3, vocab=10, seed=0):
    """Return the three arrays of a view, its log-probabilities in half precision."""
    rng = np.random.default_rng(seed)
    p = -np.sort(-rng.dirichlet(np.ones(vocab), n), axis=1)[:, :k]
    ids = np.argsort(rng.random((n, vocab)), axis=1)[:, :k].astype(np.uint16)
    return {
        f"{name}_ids": ids,
        f"{name}_logprobs": np.log(p).astype(np.float16),
        f"{name}_rest": (1 - p.sum(axis=1)).astype(np.float32),
    }


def plain():
    """Return arrays of four items: tied, right, wrong, and right only per character."""
    nan = np.nan
    return {
        "item_ids": np.array(["a", "b", "c", "d"]),
        "subject": np.array(["x", "", "y", "x"]),
        "gold": np.array([0, 2, 1, 1], np.int16),
        "option_logprobs": np.array(
            [[-2, -2, nan], [-3, -2, -1], [-1, -2, nan], [-4, -6, -9]], np.float32
        ),
        "option_n_chars": np.array([[1, 1, 0], [1, 1, 1], [1, 1, 0], [2, 12, 3]], np.int16),
        "letter_option_logprobs": np.array(
            [[-1, 0, nan], [-3, -2, -1], [-1, -2, nan], [-4, -6, -9]], np.float32
        ),
        "vocab_size": np.array(10, np.int32),
        **view("letter"),
        **view("best_mean"),
        **view("cloze"),
        **view("gold_mean", seed=1),
    }


def packed(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def write(folder, arrays, name="tiny__set.npz"):
    path = folder / name
    path.write_bytes(packed(**arrays) if isinstance(arrays, dict) else arrays)
    return SourceFile(path)


def read(folder, arrays, name="tiny__set.npz", **options):
    file = write(folder, arrays, name)
    assert NPZ.sniff(file)
    (found,) = NPZ.read(file, ReadOptions(**options))
    return found


def test_views_become_positions(tmp_path):
    arrays = plain()
    found = read(tmp_path, arrays)
    assert list(found.predictive) == ["answer", "next", "next_letter", "best_mean"]
    answer = found.predictive["answer"]
    assert answer.token_ids.tolist() == arrays["gold_mean_ids"].tolist()
    assert answer.vocab_size == 10
    np.testing.assert_allclose(answer.logprobs, arrays["gold_mean_logprobs"], atol=2e-3)
    np.testing.assert_allclose(np.exp(answer.logprobs).sum(axis=1) + answer.rest, 1, atol=1e-6)


def test_scores_and_metrics_come_from_the_options(tmp_path):
    found = read(tmp_path, plain())
    assert found.score_name == "acc"
    assert found.scores.tolist() == [1, 1, 0, 0]  # ties go to the lowest index
    assert found.metrics["acc_norm"].tolist() == [1, 1, 0, 1]
    assert found.metrics["acc_letter"].tolist() == [0, 1, 0, 0]
    assert found.gold.tolist() == [0, 2, 1, 1]
    assert found.n_options.tolist() == [2, 3, 2, 3]
    assert found.groups == {"subject": ("x", None, "y", "x")}


def test_no_subject_no_group(tmp_path):
    assert read(tmp_path, plain() | {"subject": np.full(4, "")}).groups == {}


@pytest.mark.parametrize(
    ("name", "model", "benchmark"),
    [
        ("tiny__set.npz", "tiny", "set"),
        ("tiny__set__item.npz", "tiny", "set"),
        ("tiny__a__b.npz", "tiny", "a__b"),
        ("set.npz", "mine", "set"),
    ],
)
def test_names_come_from_the_file_name(tmp_path, name, model, benchmark):
    found = read(tmp_path, plain(), name, model="mine")
    assert (found.model, found.benchmark) == (model, benchmark)
    assert found.source.files == (str(tmp_path / name),)


def item_file(scores):
    arrays = {
        k: v for k, v in plain().items() if not k.startswith(("letter", "best", "cl", "gold_"))
    }
    return arrays | view("predictive") | {"scores": np.array(scores, np.float32)}


def test_the_item_file_brings_item_positions_and_its_own_scores(tmp_path):
    found = read(tmp_path, item_file([1, 1, 0, 1]), "tiny__set__item.npz")
    assert list(found.predictive) == ["item"]
    assert found.score_name == "acc_norm"
    assert found.scores.tolist() == [1, 1, 0, 1]
    assert found.notes == ()


def test_scores_that_the_options_contradict_are_kept_and_told(tmp_path):
    found = read(tmp_path, item_file([0, 1, 0, 1]))
    assert found.score_name == "score"
    assert found.scores.tolist() == [0, 1, 0, 1]
    assert "on 1 of 4 items" in found.notes[0]


def test_repeated_ids_and_unscored_items_are_problems(tmp_path):
    arrays = item_file([1, 1, np.nan, 1]) | {"item_ids": np.array(["a", "a", "c", "d"])}
    found = read(tmp_path, arrays)
    assert found.item_ids == ("a", "d")
    assert found.predictive["item"].token_ids.tolist() == arrays["predictive_ids"][[0, 3]].tolist()
    assert [(p.line, p.item, p.reason) for p in found.source.problems] == [
        (2, "a", "the item id of an earlier record, which is kept"),
        (3, "c", "no score and no gold option"),
    ]
    assert found.source.items_read == 4


def test_missing_arrays_are_named_with_those_that_are_there(tmp_path):
    arrays = plain()
    del arrays["item_ids"], arrays["cloze_ids"]
    with pytest.raises(
        InputError, match=r"without the arrays item_ids, cloze_ids; it has: best_mean"
    ):
        read(tmp_path, arrays)
    with pytest.raises(InputError, match="without the arrays item_ids, option_logprobs"):
        read(tmp_path, {"weights": np.ones(3)})
    with pytest.raises(InputError, match="without the arrays vocab_size"):
        read(tmp_path, {k: v for k, v in plain().items() if k != "vocab_size"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold": np.zeros(3, int)}, r"gold has shape \(3,\) for 4 items"),
        ({"cloze_rest": np.zeros(())}, r"cloze_rest has shape \(\)"),
        ({"item_ids": np.zeros((2, 2))}, "item_ids is not a list"),
        ({"item_ids": np.array([])}, "item_ids is not a list"),
        ({"gold": np.full(4, 7)}, "item 'a' has 7, which is not one of its options"),
        ({"gold": np.full(4, "A")}, "do not fit together"),
        ({"vocab_size": np.array(2)}, "3 tokens a row but a vocabulary of 2"),
        ({"vocab_size": np.array([1, 2])}, "do not fit together"),
        ({"cloze_rest": np.full(4, 0.9)}, "not 1"),
        ({"cloze_logprobs": np.full((4, 3), np.nan)}, "must be numbers"),
        ({"option_logprobs": np.zeros(4)}, "do not fit together"),
        ({"scores": np.full(4, 3.0)}, r"scores must lie in \[0, 1\]"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_words(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, plain() | change)


def test_python_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    arrays = plain() | {"subject": np.array([Trap(), 1, 2, 3], dtype=object)}
    with pytest.raises(InputError, match="arrays of Python objects"):
        read(tmp_path, arrays)


def test_any_damage_is_said_in_words(tmp_path):
    whole = packed(**plain())
    rng = np.random.default_rng(0)
    for cut in rng.integers(60, len(whole), 40):
        with pytest.raises(InputError, match="damaged"):
            read(tmp_path, whole[:cut])
    for place in rng.integers(60, len(whole), 200):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        try:
            read(tmp_path, bytes(flipped))
        except InputError:
            continue


def test_a_header_that_claims_terabytes_is_refused(tmp_path):
    header = b"\x93NUMPY\x01\x00v\x00" + (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }".ljust(117) + b"\n"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("item_ids.npy", header)
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path, buffer.getvalue())


def test_an_encrypted_archive_is_refused(tmp_path):
    whole = bytearray(packed(item_ids=np.array(["a"])))
    whole[6] |= 1  # the flag in the local header and in the central directory
    whole[whole.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path, bytes(whole))


def test_other_zips_are_not_claimed(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", "{}")
    for content in (buffer.getvalue(), b"PK\x03\x04", b"PK", b"text"):
        assert not NPZ.sniff(write(tmp_path, content))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "score", "accuracy"),
    [
        # What lm-eval logged for the same model, task and items: logs/MANIFEST.tsv.
        ("gemma-3-270m__arc_easy", "acc", 0.5890),
        ("gemma-3-270m__boolq", "acc", 0.5983),
        ("gemma-3-270m__mmlu", "acc_letter", 0.2480),
        ("gemma-3-270m__openbookqa", "acc", 0.2000),
        ("gemma-3-270m__pubmedqa", "acc", 0.3960),
        ("smollm2-135m-instruct__arc_easy", "acc", 0.5030),
        ("smollm2-135m-instruct__boolq", "acc", 0.3933),
        ("smollm2-135m-instruct__mmlu", "acc_letter", 0.2273),
        ("smollm2-135m-instruct__openbookqa", "acc", 0.2020),
        ("smollm2-135m-instruct__pubmedqa", "acc", 0.4360),
    ],
)
def test_recorded_archives_give_the_logged_accuracy(shared_data, name, score, accuracy):
    file = SourceFile(shared_data / "distributions" / f"{name}.npz")
    (found,) = NPZ.read(file, ReadOptions())
    assert round(float(found.metrics[score].mean()), 4) == accuracy
    assert set(found.predictive) == {"answer", "next", "next_letter", "best_mean"}
    assert ("subject" in found.groups) == (found.benchmark == "mmlu")
    assert found.source.problems == ()


@pytest.mark.real_data
def test_recorded_item_files_hold_item_positions_of_fifteen_subjects(shared_data):
    for file in sorted((shared_data / "distributions").glob("*__item.npz")):
        (found,) = NPZ.read(SourceFile(file), ReadOptions())
        assert found.predictive["item"].logprobs.shape == (1500, 1024)
        assert len(set(found.groups["subject"])) == 15
        assert found.score_name == "acc_norm"
