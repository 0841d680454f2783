"""Rows decoded without what nobody reads: the same items and the same problems as decoded whole."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.readers.lm_eval import log_of_rows
from benchharmony.readers.source import SourceFile
from benchharmony.readers.typed_rows import row_decoder


def row(i, **changes):
    """Return a row as lm-eval 0.4 writes it: four options, hashes, filtered responses."""
    calls = {
        f"gen_args_{o}": {"arg_0": f"Question: how many, {i}?\nAnswer:", "arg_1": f" {o}"}
        for o in range(4)
    }
    whole = {
        "doc_id": i,
        "doc": {"id": f"q-{i}", "choices": ["0", "1", "2", "3"], "answer": i % 4, "subject": "s"},
        "target": str(i % 4),
        "arguments": calls,
        "resps": [[[f"-{o}.5", "False"]] for o in range(4)],
        "filtered_resps": [[f"-{o}.5", "False"] for o in range(4)],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "ab" * 32,
        "prompt_hash": "cd" * 32,
        "target_hash": "ef" * 32,
        "acc": float(i % 2),
    }
    return {k: v for k, v in {**whole, **changes}.items() if v != "gone"}


def both(path):
    """Return items and problems of a file by the typed way and the other, as text (NaN too)."""
    found = []
    for decoder in (row_decoder(), None):
        problems = []
        log = log_of_rows(str(path), SourceFile(path).records(problems, decoder), problems)
        found.append([*map(repr, log.items), repr(log.others), repr(log.problems)])
    return found


def written(tmp_path, lines):
    path = tmp_path / "samples_t_2024-01-01T00-00-00.000000.jsonl"
    made = [x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines]
    path.write_bytes(b"\n".join(made) + b"\n")
    return path


LIST = [["Question: x?\nAnswer:", f" {o}"] for o in range(4)]
VARIANTS = {
    "plain": {},
    "no question in doc, the prompt's is used": {"doc": {"id": "q"}},
    "pairs in a list": {"arguments": LIST},
    "one flat pair": {"arguments": ["Question: x?", " 0"]},
    "a chat": {"arguments": [[[{"role": "user", "content": "x?"}], " 0"], ["y", " 1"]]},
    "a chat as text": {"arguments": [['[{"role": "user", "content": "x?"}]', " 0"], ["y", " 1"]]},
    "settings of a generation": {"arguments": {"gen_args_0": {"arg_0": "x", "arg_1": {"a": 1}}}},
    "no arguments": {"arguments": "gone"},
    "empty arguments": {"arguments": {}},
    "requests that are none": {"arguments": {"gen_args_0": 3, "gen_args_1": None}},
    "only responses": {"filtered_resps": "gone"},
    "filtered to one": {"filtered_resps": ["2"]},
    "a key that others lack": {"acc_norm": 1.0},
    "a metric that is none": {"acc": None},
    "another filter": {"filter": "strict-match"},
    "no id": {"doc_id": None},
    "names that are no identifiers": {"exact_match,strict": 1.0, "class": 0.5, "é": 1},
    "a lone surrogate": {"doc": {"question": "\ud800?", "id": "q"}},
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("what", VARIANTS)
def test_every_layout_gives_the_same_items(tmp_path, what, first):
    odd = row(7, **VARIANTS[what])
    lines = [odd, row(1), odd, row(2)] if first else [row(1), odd, row(2), odd]
    typed, general = both(written(tmp_path, lines))
    assert typed == general
    assert len(typed) > 3


CHOICES = ("choices", "options", "A", "B", "C", "opa", "opb", "mc1_targets")
NAMES = st.sampled_from([*CHOICES, "question", "metadata", "label", "answer", "target", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | st.text("aB 1é"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["choices", "labels", "text", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)
PARTS = st.sampled_from(["doc", "target", "arguments", "resps", "filtered_resps", "acc", "metrics"])


@given(
    st.lists(st.tuples(st.dictionaries(NAMES, VALUES), PARTS, VALUES), min_size=2, max_size=4),
)
def test_any_record_gives_the_same_items(tmp_path_factory, made):
    lines = [row(0)]
    for i, (doc, part, value) in enumerate(made, start=1):
        in_order = dict(sorted(doc.items()))  # columns follow the keys of the first row
        lines += [row(i, doc=in_order), row(i, **{part: value})]
    folder = tmp_path_factory.mktemp("rows")
    for some in (lines, lines[1:], lines[::-1]):
        typed, general = both(written(folder, some))
        assert typed == general


BROKEN = {
    "cut off": json.dumps(row(3)).encode()[:-40],
    "no object": b"[1, 2]",
    "bare NaN": json.dumps({**row(3), "acc": float("nan")}).encode(),
    "a trailing comma in what is passed over": json.dumps(row(3))
    .encode()
    .replace(b'"prompt_hash": "', b'"prompt_hash": ["x",], "y": "'),
    "bytes that are no text, in a prompt": json.dumps(row(3))
    .encode()
    .replace(b"how many", b"how \xff many"),
    "bytes that are no text, in a hash": json.dumps(row(3)).encode().replace(b"abab", b"ab\xffb"),
    "a wrong escape in a prompt": json.dumps(row(3)).encode().replace(b"how many", b"how \\x"),
    "nested deeply": b'{"doc_id": 1, "resps": ' + b"[" * 3000 + b"]" * 3000 + b"}",
    "a key twice": json.dumps(row(3)).encode()[:-1] + b', "acc": 0.25}',
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_lines_are_told_in_the_same_words(tmp_path, what):
    typed, general = both(written(tmp_path, [row(1), row(2), BROKEN[what], row(4)]))
    assert typed == general


def test_what_is_passed_over_is_not_decoded(tmp_path):
    decoder = row_decoder()
    decoder(json.dumps(row(0)).encode())
    kept = decoder(json.dumps(row(1)).encode())
    left = {name for name, value in kept.items() if isinstance(value, msgspec.Raw)}
    assert left == {"resps"}  # a hash is decoded where it is asked for, a list is not
    assert isinstance(kept["arguments"]["gen_args_0"].arg_0, msgspec.Raw)
    assert dict(kept["doc"].items())["choices"] == msgspec.Raw(b'["0", "1", "2", "3"]')
    assert kept["resps"] == row(1)["resps"]
    assert dict(kept["doc"]) == row(1)["doc"]
    assert list(kept) == list(row(1))


@pytest.mark.real_data
def test_real_logs_give_the_same_items(shared_data):
    files = sorted((shared_data / "logs").rglob("samples*.jsonl*"))
    assert len(files) > 20
    for path in files[:: max(1, len(files) // 25)]:
        typed, general = both(path)
        assert typed == general, path
