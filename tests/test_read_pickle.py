"""Pickles: plain data comes out as pickle itself gives it, and nothing in a pickle is run."""

from __future__ import annotations

import collections
import gzip
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.cli import main
from benchharmony.errors import InputError
from benchharmony.readers import ReadOptions, SourceFile, pickle_data, pickles, read_sources
from benchharmony.readers.pickle_data import PickleFault, array_in, load_plain

ALLOWED = ReadOptions(allow_pickle=True)
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
#: What happens when code is imported, run, or a file or process is touched.
TOLD = ("import", "exec", "compile", "open", "os.", "subprocess.", "pickle.", "socket.", "ctypes.")

_heard: list[str] = []
_listening = False


def _hear(event: str, arguments: tuple) -> None:
    if _listening and event.startswith(TOLD):
        _heard.append(f"{event} {arguments[:1]}")


sys.addaudithook(_hear)
for _text in (0, "\xe9\u20ac"):  # the codecs of texts are loaded at their first use
    for _protocol in PROTOCOLS:
        load_plain(pickle.dumps([_text, b"\xff", 1 << 70, 1.5], _protocol))


@contextmanager
def nothing_is_run(*, but_opens: Path | None = None):
    """Fail when anything is imported, run or opened within, but for one file."""
    global _listening
    _heard.clear()
    _listening = True
    try:
        yield
    finally:
        _listening = False
    allowed = f"open {(str(but_opens),)}"
    assert [h for h in _heard if h != allowed] == []


def rows(n=8):
    return [
        {
            "id": i,
            "logits_options": np.array([i % 3, 1.5, -2.0], np.float32),
            "subject": "ab"[i % 2],
        }
        for i in range(n)
    ]


def write(folder: Path, value, name="owl_mmlu_10k_base_icl1.pkl", protocol=4) -> Path:
    path = folder / name
    data = value if isinstance(value, bytes) else pickle.dumps(value, protocol)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def refusal(path: Path, options=ALLOWED) -> str:
    file = SourceFile(path)
    assert pickles.sniff(file)
    with pytest.raises(InputError) as error, nothing_is_run(but_opens=path):
        pickles.read(file, options)
    return str(error.value)


# Plain data


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5) | st.integers(-9, 9), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.frozensets(st.text(max_size=3), max_size=3)
    ),
    max_leaves=12,
)


@given(PLAIN, st.sampled_from(PROTOCOLS))
def test_plain_data_is_what_pickle_itself_gives(value, protocol):
    data = pickle.dumps(value, protocol)
    with nothing_is_run():
        found = load_plain(data)
    assert found == pickle.loads(data)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["f2", "<f4", ">f8", "i1", "<i8", "u2", "?", "U3", "S2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_what_numpy_gives(protocol, kind, order):
    value = np.array([[1, 0, 3], [4, 5, 6]]).astype(kind, order=order)
    (found,) = load_plain(pickle.dumps([value], protocol))
    np.testing.assert_array_equal(array_in(found), value)
    assert array_in(found).dtype == value.dtype


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_scalars_and_mappings_are_read(protocol):
    value = [
        np.float32(1.5),
        np.bool_(True),
        collections.OrderedDict(a=1),
        collections.defaultdict(list, {"b": [2]}),
        {1, 2},
    ]
    found = load_plain(pickle.dumps(value, protocol))
    assert found == [1.5, True, {"a": 1}, {"b": [2]}, {1, 2}]


# What results look like


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["owl_mmlu_10k_base_icl1.pkl", "owl_mmlu_10k_base_icl1.pkl.gz"])
def test_records_of_option_logits_can_be_partitioned(tmp_path, protocol, name):
    path = write(tmp_path, rows(), name, protocol)
    (found,) = read_sources([path], ALLOWED).evaluations
    assert (found.model, found.benchmark, len(found)) == ("owl", "mmlu_10k", 8)
    assert found.scores is None
    assert found.option_logprobs[4].tolist() == [1.0, 1.5, -2.0]
    assert "usable for partitions only" in found.notes[0]
    assert set(found.groups["subject"]) == {"a", "b"}


def test_records_by_id_and_columns_are_read(tmp_path):
    by_id = {f"q{i}": {"correct": i % 2, "topic": "xy"[i // 4]} for i in range(8)}
    columns = {"id": list(by_id), "correct": np.arange(8) % 2, "note": "not a column"}
    for value in (by_id, columns):
        (found,) = read_sources([write(tmp_path, value, "r.pkl")], ALLOWED).evaluations
        assert found.item_ids == tuple(by_id)
        assert found.scores.tolist() == [0, 1] * 4


def test_records_that_are_none_are_named(tmp_path):
    path = write(tmp_path, [*[{"id": i, "correct": 1} for i in range(3)], "x", 7], "r.pkl")
    (found,) = read_sources([path], ALLOWED).evaluations
    assert [str(p.reason) for p in found.source.problems] == [
        "expected a record (a dict), found a str",
        "expected a record (a dict), found a int",
    ]


@pytest.mark.parametrize(
    "value", [7, "text", {}, [], {"a": [1], "b": [1, 2]}, {"a": 1}, [[1], [1, 2]]]
)
def test_other_plain_data_is_refused_with_what_it_is(tmp_path, value):
    assert len(refusal(write(tmp_path, value, "r.pkl"))) > 30


# Permission


def test_without_the_flag_a_pickle_is_refused_and_told_how(tmp_path, capsys):
    path = write(tmp_path, rows())
    assert "--allow-pickle" in refusal(path, ReadOptions())
    assert main(["check", str(path)]) == 2
    assert "without running anything" in capsys.readouterr().err
    assert main(["check", str(path), "--allow-pickle"]) == 0


def test_text_that_only_looks_a_little_like_a_pickle_is_none(tmp_path):
    for text in (b"correct\nyes\n", b"(a,b)\n1,2\n", b"[]\n", b"]\n", b"{}", b"id,correct\n1,0\n"):
        path = tmp_path / "t.csv"
        path.write_bytes(text)
        assert not pickles.sniff(SourceFile(path))


# Exploits


class _Calls:
    """Pickles as a call, which a loader makes."""

    def __init__(self, function, *arguments):
        self._call = (function, arguments)

    def __reduce__(self):
        return self._call


def _exploits(canary: Path):
    touch = f"touch {canary}"
    code = f"open({str(canary)!r}, 'w')"
    yield "os.system", pickle.dumps([_Calls(os.system, touch)], 2)
    yield "subprocess", pickle.dumps(_Calls(subprocess.call, ["touch", str(canary)]))
    yield "eval", pickle.dumps({"id": _Calls(eval, code)}, 0)
    yield "exec", pickle.dumps(_Calls(exec, code), 5)
    yield "open", pickle.dumps(_Calls(open, str(canary), "w"))
    yield "getattr", pickle.dumps(_Calls(getattr, [], "append"))
    # getattr(getattr(...)) built by hand: builtins.getattr, then os, then "system"
    yield (
        "chain",
        b"cbuiltins\ngetattr\n(cbuiltins\n__import__\n(S'os'\ntRS'system'\ntR"
        + (f"(S'{touch}'\ntR.".encode()),
    )
    yield "inst", f"(S'{touch}'\nios\nsystem\n.".encode()
    yield "obj", f"(cos\nsystem\nS'{touch}'\no.".encode()
    yield "newobj", b"\x80\x02csubprocess\nPopen\n" + f"(S'{touch}'\nt\x81.".encode()
    yield "stack global", b"\x80\x04\x8c\x05posix\x8c\x06system\x93" + b"\x8c\x01x\x85R."
    yield "dotted name", b"\x80\x04\x8c\x05numpy\x8c\x0fndarray.tofile.\x93."
    yield "numpy's own loader", b"\x80\x04\x8c\x05numpy\x8c\x04load\x93\x8c\x01x\x85R."
    yield "numpy exec", b"\x80\x04\x8c\x12numpy.testing._private\x8c\x09runstring\x93."
    yield "allowed name from elsewhere", b"\x80\x04\x8c\x02os\x8c\x07ndarray\x93."
    yield "build of a name", b"\x80\x02cnumpy\nndarray\n}(S'a'\nK\x01ub."
    yield "persistent id", b"\x80\x02Phello\n."
    yield "extension", b"\x80\x02\x82\x01."
    yield "out of band", b"\x80\x05\x97."
    yield "default factory", pickle.dumps(collections.defaultdict(os.getcwd, {"a": 1}))


def test_exploits_run_nothing_and_are_refused_in_words(tmp_path):
    canary = tmp_path / "canary"
    names = []
    for name, data in _exploits(canary):
        with pytest.raises(PickleFault) as error, nothing_is_run():
            load_plain(data)
        assert "\n" not in str(error.value), name
        names.append(name)
    assert len(names) == 20
    assert not canary.exists()
    # The first of them is real: the standard loader runs it.
    pickle.loads(next(_exploits(canary))[1])
    assert canary.exists()


def test_an_exploit_is_refused_at_the_command_line(tmp_path, capsys):
    path = write(tmp_path, pickle.dumps([_Calls(os.system, "touch canary")]))
    assert main(["check", "--allow-pickle", str(path)]) == 2
    told = capsys.readouterr().err
    assert "system' , which" in told.replace("',", "' ,")
    assert "nothing was run" in told
    assert told.count("\n") == 1


def _array_of(shape, code, state=None, data=b""):
    """Return a pickle of an array whose parts do not fit together."""
    state = state if state is not None else (1, shape, np.dtype(code), False, data)
    made = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    return made + pickle.dumps(state, 2)[2:-1] + b"b."


@pytest.mark.parametrize(
    "data",
    [
        _array_of((10**12,), "f8"),
        _array_of((2**63, 2**63), "f8"),
        _array_of((0,) * 40, "f8"),
        _array_of((-1,), "f8"),
        _array_of((3,), "f8", data=b"12345678"),
        _array_of((3,), "V8", data=b"12345678" * 3),
        _array_of((1,), "O", (1, (1,), np.dtype("O"), False, [1])),
        pickle.dumps(np.array([{"a": 1}, None], dtype=object)),
        pickle.dumps(np.zeros(2, dtype=[("a", "f4"), ("b", "i8")])),
        pickle.dumps(np.array(["2020-01-01"], "M8[D]")),
        b"\x80\x05\x96" + (2**62).to_bytes(8, "little") + b"x.",  # a huge bytearray
        b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"x.",  # huge bytes
        b"\x80\x04\x8d" + (2**63).to_bytes(8, "little") + b"x.",  # a huge text
        b"\x80\x02\x8b\xff\xff\xff\x7f1.",  # a number of two billion bytes
        b"L" + b"9" * 100_000 + b"L\n.",  # a number of 100,000 digits
        b"\x80\x02h\x05.",  # a memo that is not there
        b"\x80\x02(((((.",
        b"\x80\x02.",
        b"\x80\x02a.",
        b"\x80\x04]\x94(K\x01K\x02u.",
        b"\x80\x02",
    ],
)
def test_arrays_and_sizes_that_lie_are_refused(data):
    with pytest.raises(PickleFault) as error, nothing_is_run():
        load_plain(data)
    assert "\n" not in str(error.value)


def test_a_memo_index_far_off_costs_nothing():
    assert load_plain(b"\x80\x02Nr\xff\xff\xff\xff.") is None


def test_bombs_of_shared_values_are_not_walked(tmp_path, monkeypatch):
    monkeypatch.setattr(pickles, "_MOST_CELLS", 200_000)
    wide = {f"k{i}": 1 for i in range(3000)} | {"id": 1, "correct": 1}
    data = pickle.dumps([wide] * 30_000)  # some 100 KB that would be 90 million cells
    assert len(data) < 200_000
    assert "more than 200000 cells" in refusal(write(tmp_path, data))
    laughs = [0]
    for _ in range(200):
        laughs = [laughs, laughs]
    assert len(refusal(write(tmp_path, [{"id": 1, "x": laughs}]))) > 30
    cyclic: list = [{"id": 1, "correct": 1}]
    cyclic.append(cyclic)
    (found,) = read_sources([write(tmp_path, cyclic)], ALLOWED).evaluations
    assert len(found) == 1


def test_keys_that_would_be_slow_to_hash_are_refused():
    nested = b"\x80\x02)" + b"\x85" * 100_000  # a tuple in a tuple in a tuple ...
    with pytest.raises(PickleFault, match="a key of type tuple"):
        load_plain(b"\x80\x02}" + nested[2:] + b"Ns.")
    assert load_plain(nested + b".") is not None  # deep alone is harmless
    collide = {2**61 - 1 + i * (2**61 - 1): 1 for i in range(3)}  # all hash to 0
    with pytest.raises(PickleFault, match="a key of type int"):
        load_plain(pickle.dumps(collide))


def test_a_flood_of_containers_is_refused(monkeypatch):
    monkeypatch.setattr(pickle_data, "_MAX_CONTAINER_BYTES", 1 << 20)
    with pytest.raises(PickleFault, match="more containers"):
        load_plain(b"\x80\x04" + b"\x8f" * 5_000 + b".")
    monkeypatch.setattr(pickle_data, "MAX_BYTES", 1 << 10)
    with pytest.raises(PickleFault, match="a pickle of more than"):
        load_plain(b"\x80\x04" + b"]" * 2_000 + b".")


def test_a_torch_file_is_named_as_one(tmp_path):
    import zipfile

    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({}))
    assert "torch.load" in refusal(path)


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=3), st.booleans())
def test_damaged_pickles_are_refused_or_read_but_never_run(at, put, cut):
    data = bytearray(DAMAGED[at % len(DAMAGED)])
    at %= len(data)
    data[at : at + len(put)] = put
    with nothing_is_run(), suppress(PickleFault):
        load_plain(bytes(data[: at + 1] if cut else data))


DAMAGED = [pickle.dumps(rows(3), p) for p in PROTOCOLS]


@pytest.mark.real_data
def test_real_pickles_of_option_logits(shared_data):
    folder = shared_data / "logs" / "llm-uncertainty-bench"
    path = folder / "Qwen-7B_cosmosqa_10k_base_icl1.pkl.gz"
    (found,) = read_sources([path], ALLOWED).evaluations
    assert (found.model, found.benchmark, len(found)) == ("Qwen-7B", "cosmosqa_10k", 10_000)
    assert set(found.n_options) == {6}
    assert found.scores is None
    top = found.option_logprobs.max(axis=1, keepdims=True)
    assert int(((found.option_logprobs == top).sum(axis=1) > 1).sum()) == 24  # as counted there


def test_a_decimal_of_a_model_size_is_no_boundary(tmp_path):
    path = write(tmp_path, rows(), name="owl-1_8B_mmlu_10k_base_icl1.pkl")
    (made,) = read_sources([path], ALLOWED).evaluations
    assert (made.model, made.benchmark) == ("owl-1.8B", "mmlu_10k")
