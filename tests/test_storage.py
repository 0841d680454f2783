"""What is saved comes back bit for bit; what is not ours, damaged or newer is refused in words."""

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony import BenchharmonyError, Evaluation, Predictive
from benchharmony.errors import InputError, Problem
from benchharmony.evaluation import Source
from benchharmony.readers.own import READERS
from benchharmony.readers.source import ReadOptions, SourceFile
from benchharmony.storage import METADATA_KEY, to_table

OWN = READERS[0]


def top_k(n=3, k=4, vocab=50, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    ids = np.argsort(rng.random((n, vocab)), axis=1)[:, :k]
    p = rng.dirichlet(np.ones(k + 1), n)
    return Predictive.top_k(ids, np.log(p[:, :k]).astype(dtype), p[:, k], vocab)


def full():
    """Return an evaluation that uses every field, with every awkward value."""
    padded = Predictive.top_k(
        [[4, 7, -1], [1, -1, -1], [0, 2, 5]],
        np.log([[0.5, 0.25, 1.0], [0.5, 1.0, 1.0], [0.5, 0.2, 0.1]]),
        [0.25, 0.5, 0.2],
        9,
    )
    dense = Predictive.dense(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]))
    return Evaluation.from_arrays(
        benchmark="bänch\u2028mark",
        model="org/model, 7B",
        item_ids=["a", "b\n", "c"],
        scores=[1.0, 0.0, 0.3],
        score_name="exact_match",
        metrics={"acc": [1.0, math.nan, 0.0], "f1.x": [-3.5, math.inf, 0.1 + 0.2]},
        predictive={"next": dense, "answer": padded, "item": top_k()},
        option_logprobs=[[-1.5, -math.inf], [-0.1], [0.25, -2.0, -1 / 3]],
        gold=[1, -1, 2],
        groups={"subject": ["x", None, "y"], "level": [None, None, None]},
        texts=["why?", "", "x\x00y"],
        choices=[["yes", "no"], [], [""]],
        metadata={"parameters": 7e9, "nested": {"a": [1, None, "ü"]}, "nan": math.nan},
        notes=["first", "second"],
        source=Source("a format", ("f.json", "g.json"), 5, (Problem("f.json", "why", 3, "z"),)),
    )


def assert_same(one, two):
    assert (one.benchmark, one.model, one.score_name) == (two.benchmark, two.model, two.score_name)
    assert one.item_ids == two.item_ids
    assert one.groups == two.groups
    assert list(one.groups) == list(two.groups)
    assert one.texts == two.texts
    assert one.choices == two.choices
    assert one.notes == two.notes
    assert one.source == two.source
    assert json.dumps(one.metadata) == json.dumps(two.metadata)
    pairs = [(one.scores, two.scores), (one.gold, two.gold)]
    pairs += [(one.option_logprobs, two.option_logprobs)]
    assert list(one.metrics) == list(two.metrics)
    pairs += [(one.metrics[m], two.metrics[m]) for m in one.metrics]
    assert list(one.predictive) == list(two.predictive)
    for positions, view in one.predictive.items():
        other = two.predictive[positions]
        assert view.vocab_size == other.vocab_size
        pairs += [(getattr(view, a), getattr(other, a)) for a in ("logprobs", "token_ids", "rest")]
    for left, right in pairs:
        assert (left is None) == (right is None)
        if left is not None:
            assert left.dtype == right.dtype
            assert left.shape == right.shape
            assert left.tobytes() == right.tobytes()


def test_every_field_comes_back_bit_for_bit(tmp_path):
    evaluation = full()
    evaluation.save(tmp_path / "e.parquet")
    loaded = Evaluation.load(tmp_path / "e.parquet")
    assert_same(evaluation, loaded)
    assert not loaded.predictive["item"].logprobs.flags.writeable


@pytest.mark.parametrize(
    "fields",
    [
        {"scores": [1, 0]},
        {"scores": None, "predictive": np.full((2, 3), 1 / 3)},
        {"scores": None, "option_logprobs": [[-1.0], [-2.0]]},
        {"scores": [1, 0], "gold": [-1, -1]},
    ],
)
def test_fields_that_are_absent_stay_absent(tmp_path, fields):
    evaluation = Evaluation.from_arrays(benchmark="b", model="m", **fields)
    evaluation.save(tmp_path / "e.parquet")
    assert_same(evaluation, Evaluation.load(tmp_path / "e.parquet"))


def test_a_selection_of_items_keeps_its_width(tmp_path):
    evaluation = full().take([1])  # one option of three columns
    evaluation.save(tmp_path / "e.parquet")
    loaded = Evaluation.load(tmp_path / "e.parquet")
    assert loaded.option_logprobs.shape == (1, 3)
    assert_same(evaluation, loaded)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.text(), min_size=1, max_size=5, unique=True),
    k=st.integers(1, 6),
    dtype=st.sampled_from([np.float32, np.float64]),
    metadata=st.dictionaries(st.text(), st.none() | st.floats() | st.text() | st.booleans()),
    seed=st.integers(0, 99),
)
def test_any_text_and_number_comes_back(tmp_path_factory, texts, k, dtype, metadata, seed):
    evaluation = Evaluation.from_arrays(
        benchmark=texts[0],
        model=texts[-1],
        item_ids=range(len(texts)),
        scores=np.random.default_rng(seed).random(len(texts)),
        texts=texts,
        groups={texts[0]: texts},
        choices=[texts] * len(texts),
        predictive={texts[0]: top_k(len(texts), k, 20, seed, dtype)},
        metadata=metadata,
    )
    path = tmp_path_factory.mktemp("s") / "e.parquet"
    evaluation.save(path)
    assert_same(evaluation, Evaluation.load(path))


def test_rows_are_readable_by_others(tmp_path):
    full().save(tmp_path / "e.parquet")
    table = pq.read_table(tmp_path / "e.parquet")
    row = table.to_pylist()[1]
    assert row["item_id"] == "b\n"
    assert row["gold"] is None
    assert row["option_logprobs"] == [-0.1]
    assert row["choices"] == []
    assert row["group.subject"] is None
    assert row["predictive.answer.token_ids"] == [1, -1, -1]
    assert table.schema.field("predictive.item.logprobs").type.value_type == pa.float32()
    about = json.loads(table.schema.metadata[METADATA_KEY])
    assert about["schema"] == "benchharmony/evaluation/1"
    assert about["predictive"][0] == {"positions": "next", "kind": "dense", "vocab_size": 3}


def test_a_failed_save_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "e.parquet"
    full().save(path)
    before = path.read_bytes()

    def full_disk(table, where, **kwargs):
        where.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(BenchharmonyError, match=r"e\.parquet: cannot be written: No space left"):
        full().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["e.parquet"]


def test_saving_into_a_missing_folder_is_said_in_words(tmp_path):
    with pytest.raises(BenchharmonyError, match="cannot be written: No such file or directory"):
        full().save(tmp_path / "no" / "e.parquet")


def test_metadata_that_json_cannot_hold_is_refused(tmp_path):
    evaluation = replace(full(), metadata={"when": object()})
    with pytest.raises(BenchharmonyError, match=r"metadata cannot be saved.*a object"):
        evaluation.save(tmp_path / "e.parquet")
    replace(full(), metadata={"n": np.float32(0.5), "m": np.arange(2)}).save(tmp_path / "e.parquet")
    assert Evaluation.load(tmp_path / "e.parquet").metadata == {"n": 0.5, "m": [0, 1]}


def rewritten(path, change):
    """Write a file whose description was changed by a function."""
    table = to_table(full())
    about = json.loads(table.schema.metadata[METADATA_KEY])
    change(about)
    metadata = {METADATA_KEY: json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def test_a_newer_schema_is_refused_with_the_version_it_takes(tmp_path):
    path = tmp_path / "new.parquet"
    rewritten(path, lambda about: about.update(schema="benchharmony/evaluation/2", version="9.1.0"))
    with pytest.raises(InputError) as refused:
        Evaluation.load(path)
    message = str(refused.value)
    assert message.startswith(f"{path}: written in schema benchharmony/evaluation/2")
    assert "upgrade to benchharmony 9.1.0 or later" in message
    assert OWN.sniff(SourceFile(path))
    with pytest.raises(InputError):
        OWN.read(SourceFile(path), ReadOptions())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.update(schema="benchharmony/report/1"), "not an evaluation"),
        (lambda a: a.update(schema=3), "metadata cannot be read"),
        (lambda a: a.pop("schema"), "metadata cannot be read"),
        (lambda a: a.pop("source"), "damaged"),
        (lambda a: a.update(option_width=1), "damaged"),
        (lambda a: a["metrics"].append("gone"), "damaged"),
        (lambda a: a["predictive"][1].update(vocab_size=6), "token ids do not fit"),
        (lambda a: a["predictive"][1].update(kind="dense"), "token ids do not fit"),
        (lambda a: a["predictive"][2].update(positions="next"), "damaged"),
        (lambda a: a["source"].update(problems=[{"x": 1}]), "damaged"),
        (lambda a: a.update(metadata=[1, 2]), "damaged"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(tmp_path, change, message):
    path = tmp_path / "odd.parquet"
    rewritten(path, change)
    with pytest.raises(InputError, match=message):
        Evaluation.load(path)


def test_distributions_that_do_not_sum_to_one_are_refused(tmp_path):
    table = to_table(full())
    name = "predictive.answer.rest"
    table = table.set_column(table.schema.get_field_index(name), name, pa.array([0.25, 0.9, 0.2]))
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"predictive\.answer: row 1 is not a distribution"):
        Evaluation.load(tmp_path / "e.parquet")


def test_empty_cells_are_refused(tmp_path):
    table = to_table(full()).set_column(0, "item_id", pa.array(["a", None, "c"]))
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(InputError, match="item_id has empty cells"):
        Evaluation.load(tmp_path / "e.parquet")


def test_what_is_not_ours_is_not_claimed(tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"item_id": ["a"], "score": [1.0]}), other)
    (tmp_path / "text.parquet").write_bytes(b"PAR1 not really")
    (tmp_path / "empty.parquet").write_bytes(b"")
    for name in ("other", "text", "empty"):
        assert not OWN.sniff(SourceFile(tmp_path / f"{name}.parquet"))
    with pytest.raises(InputError, match="but not one that benchharmony wrote"):
        Evaluation.load(other)
    with pytest.raises(InputError, match="not a whole Parquet file"):
        Evaluation.load(tmp_path / "text.parquet")
    with pytest.raises(InputError, match="no such file"):
        Evaluation.load(tmp_path / "missing.parquet")


def test_any_damaged_byte_is_noticed_or_harmless(tmp_path):
    """Cut and flipped files give an error in words, never a traceback or other numbers."""
    path = tmp_path / "e.parquet"
    evaluation = full()
    evaluation.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    bad = tmp_path / "bad.parquet"
    for cut in rng.integers(0, len(whole), 30):
        bad.write_bytes(whole[:cut])
        assert not OWN.sniff(SourceFile(bad))
        with pytest.raises(InputError):
            Evaluation.load(bad)
    for place in rng.integers(4, len(whole), 100):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        bad.write_bytes(flipped)
        try:
            Evaluation.load(bad)
        except InputError:
            continue


def test_a_damaged_page_fails_its_checksum(tmp_path):
    path = tmp_path / "e.parquet"
    Evaluation.from_arrays(benchmark="b", model="m", scores=np.linspace(0, 1, 1000)).save(path)
    column = pq.ParquetFile(path).metadata.row_group(0).column(1)
    assert column.path_in_schema == "score"
    whole = bytearray(path.read_bytes())
    whole[column.data_page_offset + column.total_compressed_size - 40] ^= 1
    path.write_bytes(whole)
    with pytest.raises(InputError, match="CRC"):
        Evaluation.load(path)


def test_the_reader_reads_plain_and_compressed_files(tmp_path):
    path = tmp_path / "e.parquet"
    evaluation = full()
    evaluation.save(path)
    packed = tmp_path / "e.parquet.gz"
    with pa.output_stream(str(packed), compression="gzip") as stream:
        stream.write(path.read_bytes())
    for file in (SourceFile(path), SourceFile(packed)):
        assert OWN.sniff(file)
        (found,) = OWN.read(file, ReadOptions())
        assert_same(evaluation, found)


@pytest.mark.slow
def test_a_benchmark_of_real_size_comes_back_in_row_groups(tmp_path):
    n, k = 14_042, 1_024
    views = {p: top_k(200, k, 49_152, s) for p, s in (("item", 1), ("answer", 2))}
    rows = np.resize(np.arange(200), n)
    evaluation = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=np.resize([1.0, 0.0], n),
        predictive={p: v.take(rows) for p, v in views.items()},
    )
    path = tmp_path / "e.parquet"
    evaluation.save(path)
    loaded = Evaluation.load(path)
    assert pq.ParquetFile(path).num_row_groups > 1
    assert_same(evaluation, loaded)
