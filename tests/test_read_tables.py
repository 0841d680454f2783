"""Tables of results: what columns mean, what becomes an evaluation, what is left out and why."""

import contextlib
import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import BenchharmonyError, InputError
from benchharmony.readers.columns import NAMES, ROLES
from benchharmony.readers.source import ReadOptions, SourceFile
from tables import read, read_one, reader_of, write

# --- what the caller says ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "model"),
    [("gpt-4-0125-preview", "gpt-4-0125-preview"), ("org__m-7b", "org/m-7b"), ("runs", "unknown")],
)
def test_a_folder_that_is_named_after_a_model_names_it(tmp_path, folder, model):
    path = tmp_path / folder
    path.mkdir()
    text = "id,score\n1,1\n2,0\n3,1\n"
    assert read_one(path, text).model == model
    assert read_one(path, text, model="mine").model == "mine"
    assert read_one(path, "model,score\nown,1\nown,0\n").model == "own"


def test_the_caller_names_the_columns(tmp_path):
    text = "n,hit,score,correct,topic,who\n1,1,0,1,a,m\n2,0,1,1,b,m\n3,0,1,0,b,m\n"
    columns = {"item_id": "n", "score": "hit", "model": "who", "groups": "topic"}
    found = read_one(tmp_path, text, columns)
    assert found.item_ids == ("1", "2", "3")
    assert found.scores.tolist() == [1, 0, 0]
    assert found.model == "m"
    assert found.groups == {"topic": ("a", "b", "b")}
    assert found.metrics["score"].tolist() == [0, 1, 1]
    assert found.metrics["correct"].tolist() == [1, 1, 0]


def test_a_column_that_is_not_there_is_an_error_that_lists_those_that_are(tmp_path):
    with pytest.raises(
        InputError, match=r"no column 'hot' for the role score; its columns are: id, hit"
    ):
        read(tmp_path, "t.csv", "id,hit\n1,1\n", {"score": "hot"})
    with pytest.raises(InputError, match="no column 'nope' for the role groups"):
        read(tmp_path, "t.csv", "id,score,a\n1,1,x\n", {"groups": "a, nope"})


def test_a_role_that_does_not_exist_lists_the_roles(tmp_path):
    with pytest.raises(BenchharmonyError, match=r"no column role 'scores'; the roles are: item_id"):
        read(tmp_path, "t.csv", "id,hit\n1,1\n", {"scores": "hit"})


def test_a_named_score_is_never_replaced_by_a_guess(tmp_path):
    with pytest.raises(InputError, match="'points' holds 7"):
        read(tmp_path, "t.csv", "id,points,correct\n1,7,1\n", {"score": "points"})
    with pytest.raises(InputError, match="'note' holds no number"):
        read(tmp_path, "t.csv", "id,note,correct\n1,x,1\n", {"score": "note"})


def test_names_where_the_table_gives_none(tmp_path):
    found = read_one(tmp_path, "id,score\n1,1\n", benchmark="mmlu", model="my model")
    assert (found.benchmark, found.model) == ("mmlu", "my model")
    found = read_one(tmp_path, "id,score,model,task\n1,1,m,t\n", benchmark="mmlu", model="x")
    assert (found.benchmark, found.model) == ("t", "m")


# --- several evaluations, ids ------------------------------------------------------------------


def test_several_models_and_benchmarks_give_several_evaluations(tmp_path):
    text = (
        "Model Name,Dataset,Question ID,Is Correct\n"
        "m2,b1,1,1\nm1,b1,1,0\nm2,b2,1,0\nm1,b2,1,1\nm2,b1,2,0\nm1,b1,2,1\n"
    )
    found = read(tmp_path, "t.csv", text)
    assert [(e.model, e.benchmark) for e in found] == [
        ("m2", "b1"),
        ("m1", "b1"),
        ("m2", "b2"),
        ("m1", "b2"),
    ]
    assert [e.scores.tolist() for e in found] == [[1, 0], [0, 1], [0], [1]]
    assert all(e.source.items_left_out == 0 for e in found)


def test_problems_stay_with_their_evaluation(tmp_path):
    text = "model,id,score\na,1,1\nb,1,x\nb,2,0\n,3,1\nc,1,x\na,,1\na,1,0\nb,2,1\n1,2\n"
    a, b = read(tmp_path, "t.csv", text)
    assert {(p.line, p.item, p.reason) for p in b.source.problems} == {
        (3, "1", "score column 'score' holds 'x', which is no score"),
        (9, "2", "the item id of an earlier row, which is kept"),
    }
    # What belongs to no evaluation is told with the first: ragged, nameless, models without items.
    assert {(p.line, p.item, p.reason) for p in a.source.problems} == {
        (10, None, "2 cells where the header has 3"),
        (5, "3", "no model name in this row"),
        (6, "1", "score column 'score' holds 'x', which is no score"),
        (7, None, "no item id in this row"),
        (8, "1", "the item id of an earlier row, which is kept"),
    }
    assert (a.source.items_read, b.source.items_read) == (6, 3)


def test_the_first_usable_row_of_an_id_is_kept(tmp_path):
    found = read_one(tmp_path, "id,score\na,\na,0.5\na,1\n")
    assert found.scores.tolist() == [0.5]
    assert [p.line for p in found.source.problems] == [2, 4]


def test_items_without_an_id_column_are_numbered_within_each_model(tmp_path):
    text = "model,score\na,1\na,x\na,0\nb,1\nb,1\nb,0\n"
    a, b = read(tmp_path, "t.csv", text)
    assert a.item_ids == ("0", "2")
    assert b.item_ids == ("0", "1", "2")
    assert any("no item id column" in note for note in a.notes)


def test_ids_that_are_numbers_are_written_alike_in_every_format(tmp_path):
    rows = [{"id": 1.0, "score": 1}, {"id": 2, "score": 0}]
    lines = "\n".join(map(json.dumps, rows))
    assert read_one(tmp_path, lines, name="t.jsonl").item_ids == ("1", "2")
    assert read_one(tmp_path, "id,score\n 1 ,1\n2,0\n").item_ids == ("1", "2")


def test_no_usable_row_at_all(tmp_path):
    with pytest.raises(InputError, match=r"t\.csv:2: no usable row of 1; the first: no item id"):
        read(tmp_path, "t.csv", "id,score\n,1\n")


# --- other columns -----------------------------------------------------------------------------


def test_repeated_short_labels_become_groups(tmp_path):
    n = 12
    header = "id,score,subject,level,flag,loss,difficulty,note,prediction,split,year,choice"
    header += ",gold,pred_idx\n"
    rows = [
        f"{i},{i % 2},{'ab'[i % 2]},{i % 3 + 1},{i % 2},{i / 7},{'x' if i < 4 else ''},"
        f"{'long ' * 50}{i % 2},{'AB'[i % 2]},test,{1990 + i},{'AB'[i % 2]},"
        f"{'ABC'[i % 3]},{i % 3}\n"
        for i in range(n)
    ]
    found = read_one(tmp_path, header + "".join(rows))
    assert set(found.groups) == {"subject", "level"}
    assert found.groups["level"][:4] == ("1", "2", "3", "1")
    assert set(found.metrics) == {"score", "flag", "loss", "year", "pred_idx"}
    assert found.metadata == {"split": "test"}


def test_empty_cells_of_a_group_have_no_label(tmp_path):
    text = "id,score,topic\n1,1,a\n2,0,\n3,1,b\n4,1,a\n5,1,b\n6,0,b\n"
    assert read_one(tmp_path, text).groups["topic"] == ("a", None, "b", "a", "b", "b")


def test_facts_about_each_model_are_metadata_and_not_groups(tmp_path):
    text = "model,family,parameters,seed,id,score\n" + "".join(
        f"{m},{f},{p},007,{i},1\n"
        for m, f, p in (("a", "F", 7000000000), ("b", "G", 1.5))
        for i in range(4)
    )
    a, b = read(tmp_path, "t.csv", text)
    assert a.metadata == {"family": "F", "parameters": 7_000_000_000, "seed": "007"}
    assert b.metadata == {"family": "G", "parameters": 1.5, "seed": "007"}
    assert not a.groups


def test_titles_shared_by_many_models_are_no_groups(tmp_path):
    rows = "".join(f"m{m},{i},1,title {i}\n" for m in range(10) for i in range(6))
    assert not read(tmp_path, "t.csv", "model,id,score,title\n" + rows)[0].groups


# --- formats -----------------------------------------------------------------------------------

RECORDS = [
    {
        "id": 7,
        "question": "why\u2028so?",
        "choices": ["a", "b"],
        "answer": 1,
        "score": 1,
        "subject": "x",
    },
    {
        "id": 8,
        "question": "how",
        "choices": ["c", "d", "e"],
        "answer": 0,
        "score": 0.5,
        "subject": "y",
    },
    {"id": 9, "question": "who", "choices": ["c", "d"], "answer": 0, "score": 0, "subject": "x"},
    {"id": 10, "question": "what", "choices": ["c", "d"], "answer": 0, "score": 1, "subject": "y"},
]


def as_arrow_file(records):
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(records)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def as_arrow_stream(records):
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(records)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def as_parquet(records):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(records), sink)
    return sink.getvalue().to_pybytes()


FORMATS = {
    "CSV table": lambda r: "\n".join(
        ["id,question,choices,answer,score,subject"]
        + [
            f'{x["id"]},{x["question"]},"{x["choices"]}",{x["answer"]},{x["score"]},{x["subject"]}'
            for x in r
        ]
    ).encode(),
    "JSONL table": lambda r: "\n".join(json.dumps(x, ensure_ascii=False) for x in r).encode(),
    "JSON table": lambda r: json.dumps(r, indent=1).encode(),
    "Parquet table": as_parquet,
    "Arrow file": as_arrow_file,
    "Arrow stream": as_arrow_stream,
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_rows_in_every_format_give_the_same_evaluation(tmp_path, name):
    file = write(tmp_path, "mine.dat", FORMATS[name](RECORDS))
    reader = reader_of(file)
    assert reader.name.split()[0] == name.split()[0]
    (found,) = reader.read(file, ReadOptions())
    assert found.item_ids == ("7", "8", "9", "10")
    assert found.scores.tolist() == [1, 0.5, 0, 1]
    assert found.texts[0] == "why\u2028so?"
    assert found.choices[1] == ("c", "d", "e")
    assert found.gold.tolist() == [1, 0, 0, 0]
    assert found.groups == {"subject": ("x", "y", "x", "y")}
    assert (found.benchmark, found.source.items_read) == ("mine", 4)


@pytest.mark.parametrize("name", FORMATS)
def test_cut_off_files_are_read_in_part_or_refused_in_words(tmp_path, name):
    whole = FORMATS[name](RECORDS)
    for cut in range(1, len(whole), max(1, len(whole) // 60)):
        file = write(tmp_path, "t.dat", whole[:cut])
        reader = reader_of(file)
        if reader is not None:
            with contextlib.suppress(InputError):
                assert len(reader.read(file, ReadOptions())[0]) <= 4


def test_arrow_offsets_that_point_outside_are_refused(tmp_path):
    whole = as_arrow_stream([{"id": "a" * 1000, "score": 1}, {"id": "b" * 1003, "score": 0}])
    offsets = np.array([0, 1000, 2003], np.int32).tobytes()
    assert whole.count(offsets) == 1
    wild = whole.replace(offsets, np.array([0, 1 << 30, 2003], np.int32).tobytes())
    with pytest.raises(InputError, match="not a whole Arrow file"):
        read(tmp_path, "t.arrow", wild)


def test_text_that_is_not_utf8_in_parquet_is_refused(tmp_path):
    data = as_parquet([{"id": "abcdef", "score": 1}]).replace(b"abcdef", b"abc\xffef")
    with pytest.raises(InputError, match="not a whole Parquet file"):
        read(tmp_path, "t.parquet", data)


def test_json_lines_that_fail_are_problems_with_their_line(tmp_path):
    text = '{"id": 1, "score": 1}\nnot json\n\n[1]\n{"id": 2, "score": NaN}\n{"id": 3, "sco'
    found = read_one(tmp_path, text, name="t.jsonl")
    assert found.item_ids == ("1",)
    assert [p.line for p in found.source.problems] == [2, 4, 6, 5]
    assert "ends in the middle of this line" in found.source.problems[2].reason


def test_entries_of_a_json_list_that_are_no_objects(tmp_path):
    found = read_one(tmp_path, '[{"id": 1, "score": 1}, 3, null]', name="t.json")
    assert [(p.line, p.reason) for p in found.source.problems] == [
        (2, "expected a JSON object, found int"),
        (3, "expected a JSON object, found NoneType"),
    ]
    with pytest.raises(InputError, match="an empty list"):
        read(tmp_path, "t.json", "[ ]")


def test_columns_inside_objects_can_be_named_but_are_not_guessed(tmp_path):
    rows = [
        {"doc": {"id": f"q{i}"}, "metric": {"acc": i}, "n": {"score": {"x": 1}}} for i in (0, 1)
    ]
    for name, data in (("t.json", json.dumps(rows).encode()), ("t.parquet", as_parquet(rows))):
        with pytest.raises(InputError, match=r"its columns are: doc\.id, metric\.acc, n\.score\.?"):
            read(tmp_path, name, data)
        columns = {"item_id": "doc.id", "score": "metric.acc"}
        found = read_one(tmp_path, data, columns, name=name)
        assert found.item_ids == ("q0", "q1")
        assert found.scores.tolist() == [0, 1]


def test_an_id_inside_an_object_is_not_guessed(tmp_path):
    rows = [{"doc": {"id": "q"}, "acc": 1, "more": {"level": i % 2}} for i in range(4)]
    for name, data in (("t.json", json.dumps(rows).encode()), ("t.parquet", as_parquet(rows))):
        found = read_one(tmp_path, data, name=name)
        assert found.item_ids == ("0", "1", "2", "3")
        assert set(found.metrics) == {"acc"}
        assert not found.groups
        assert not found.metadata


def test_values_of_mixed_types_in_one_column(tmp_path):
    rows = [
        {"id": 1, "score": True, "subject": "x"},
        {"id": "b", "score": "1", "subject": 3},
        {"id": None, "score": 1, "subject": {"a": 1}},
        {"id": 2**80, "score": 0, "subject": ["x"]},
        {"id": "\ud800", "score": [1], "subject": None},
    ]
    found = read_one(tmp_path, json.dumps(rows), name="t.json")
    assert found.item_ids == ("1", "b", str(2**80))
    assert found.scores.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "content",
    [
        '{"status": "success", "eval": {"id": 1}, "score": 1}\n',
        '{"doc_id": 1, "target": "a", "arguments": [], "acc": 1}\n{}\n',
        '{"doc_id": 1, "resps": [], "acc": 1}\n{}\n',
        '{"item_id": 1, "logits": [[1, 2]], "score": 1}\n{}\n',
        '[{"doc_id": 1, "prompt_0": "a", "logit_0": 1, "acc": "True"}]',
        '{\n  "results": 1\n}',
        "[1, 2]",
        "{",
    ],
)
def test_other_formats_are_not_claimed_as_tables(tmp_path, content):
    assert reader_of(write(tmp_path, "t.json", content)) is None


def test_one_item_with_options_is_a_table(tmp_path):
    line = json.dumps({"id": 1, "choices": ["a", "b"], "answer": 0, "score": 1})
    assert len(read_one(tmp_path, line, name="t.jsonl")) == 1


def test_a_record_longer_than_the_head_is_seen(tmp_path):
    lines = "".join(
        json.dumps({"id": i, "question": "x" * 100_000, "score": 1}) + "\n" for i in (1, 2)
    )
    assert len(read_one(tmp_path, lines, name="t.jsonl")) == 2


def test_thousands_of_keys_are_refused(tmp_path):
    rows = [{"id": i, "score": 1, "words": {f"w{i}.{j}": 1 for j in range(200)}} for i in range(20)]
    assert len(read_one(tmp_path, json.dumps(rows), name="t.json")) == 20
    rows = [{"id": i, "score": 1} | {f"w{i}.{j}": 1 for j in range(200)} for i in range(20)]
    with pytest.raises(InputError, match="4002 different keys"):
        read(tmp_path, "t.json", json.dumps(rows))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
ROLE_NAMES = (
    *("id", "score", "model", "task", "gold", "choices", "option_logprobs", "option", "logprob"),
    *("text", "subject", "logit_0", "logit_1", "A", "B"),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from(ROLE_NAMES), json_values, max_size=8),
        min_size=1,
        max_size=6,
    )
)
def test_any_records_are_read_or_refused_in_words(tmp_path_factory, rows):
    file = write(tmp_path_factory.mktemp("f"), "t.json", json.dumps(rows))
    reader = reader_of(file)
    if reader is not None:
        with contextlib.suppress(InputError):
            for found in reader.read(file, ReadOptions()):
                lost = found.source.items_left_out
                assert found.source.items_read == len(found) + lost


# --- real files --------------------------------------------------------------------------------


@pytest.mark.real_data
def test_published_tables_have_the_accuracy_that_their_manifest_states(shared_data):
    logs = shared_data / "logs"
    with (logs / "MANIFEST.tsv").open(encoding="utf-8") as stream:
        rows = [r for r in csv.DictReader(stream, delimiter="\t") if "790 rows" in r["note"]]
    assert len(rows) == 8
    for row in rows:
        file = SourceFile(logs / row["path"])
        (found,) = reader_of(file).read(file, ReadOptions())
        model, accuracy = re.search(r"790 rows; (\S+) ([\d.]+)", row["note"]).groups()
        assert (found.model, len(found)) == (model, 790)
        assert round(float(found.scores.mean()), 4) == float(accuracy)


@pytest.mark.real_data
def test_no_log_of_another_format_is_read_as_a_table_by_mistake(shared_data):
    """Of all published logs, only real tables and complete JSONL results become evaluations."""
    logs = shared_data / "logs"
    read_from = set()
    for path in sorted(p for p in logs.rglob("*") if p.is_file()):
        file = SourceFile(path)
        reader = reader_of(file) if file.head.strip() else None
        if reader is not None:
            with contextlib.suppress(InputError):
                reader.read(file, ReadOptions())
                read_from.add(path.relative_to(logs).parts[0])
    assert read_from <= {"truthfulqa-audit", "latxa-gpt"}


def test_the_documentation_lists_every_name():
    page = (Path(__file__).parents[1] / "docs" / "tables.md").read_text(encoding="utf-8")
    for role, names in NAMES.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{role}` |")]
        listed = re.split(r"[,;|] ?", row.split("|")[2].split("; or ")[0].strip())
        assert listed == list(names), role
    assert "| `groups` |" in page
    assert set(ROLES) == {*NAMES, "groups"}
