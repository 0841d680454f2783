"""Response matrices: wide tables, bare numbers, arrays, lists; which side is which."""

from __future__ import annotations

import gzip
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import benchharmony as bh
from benchharmony.errors import BenchharmonyError
from benchharmony.readers import ReadOptions, SourceFile, matrix_files, read_sources

VALUES = np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 0]])  # two models, six items
MODELS = ["owl", "elk"]
ITEMS = [f"q{i}" for i in range(6)]
TOPICS = ["sea", "sea", "sky", "sky", "sea", "sky"]


def read(folder, name, content, **options):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = read_sources([path], ReadOptions(**options))
    if not result.evaluations:
        raise BenchharmonyError(str(result.unused[0]))
    return result.evaluations


def scores_of(found):
    return np.array([e.scores for e in found])


def test_items_in_rows_with_groups_and_questions(tmp_path):
    table = pd.DataFrame(VALUES.T, columns=MODELS)
    table.insert(0, "item_id", ITEMS)
    table["topic"] = TOPICS
    table["question"] = [f"What is {i}?" for i in ITEMS]
    table["level"] = [1, 2, 3, 1, 2, 3]
    for name, content in (
        ("irt.csv", table.to_csv(index=False)),
        ("irt.tsv", table.to_csv(index=False, sep="\t")),
        ("irt.jsonl", table.to_json(orient="records", lines=True)),
        ("irt.json", table.to_json(orient="records")),
        ("irt.parquet", table.to_parquet()),
    ):
        found = read(tmp_path, name, content)
        assert [e.model for e in found] == MODELS
        assert {e.benchmark for e in found} == {"irt"}
        np.testing.assert_array_equal(scores_of(found), VALUES)
        assert found[0].item_ids == tuple(ITEMS)
        assert found[0].groups["topic"] == tuple(TOPICS)
        assert found[0].groups["level"] == ("1", "2", "3", "1", "2", "3")
        assert found[1].texts[5] == "What is q5?"
        assert "the columns are models" in found[0].notes[0]


def test_models_in_rows_with_facts(tmp_path):
    table = pd.DataFrame(VALUES, columns=ITEMS)
    table.insert(0, "model", MODELS)
    table.insert(1, "family", ["bird", "deer"])
    found = read(tmp_path, "irt.csv", table.to_csv(index=False))
    assert [e.model for e in found] == MODELS
    assert found[0].item_ids == tuple(ITEMS)
    assert found[1].metadata == {"family": "deer"}
    np.testing.assert_array_equal(scores_of(found), VALUES)
    assert "the rows are models" in found[0].notes[0]


@pytest.mark.parametrize("flip", [False, True])
def test_an_index_of_pandas_names_the_rows(tmp_path, flip):
    table = pd.DataFrame(VALUES, index=MODELS, columns=ITEMS)
    table = table.T if flip else table
    for name, content in (("irt.csv", table.to_csv()), ("irt.parquet", table.to_parquet())):
        found = read(tmp_path, name, content)
        assert [e.model for e in found] == MODELS
        assert found[0].item_ids == tuple(ITEMS)
        np.testing.assert_array_equal(scores_of(found), VALUES)


def test_frames_are_matrices_too():
    table = pd.DataFrame(VALUES.T, columns=MODELS).assign(item_id=ITEMS)
    for frame in (table, pl.from_pandas(table)):
        found = bh.read(frame, benchmark="irt")
        assert [(e.benchmark, e.model) for e in found] == [("irt", "owl"), ("irt", "elk")]
        np.testing.assert_array_equal(scores_of(found), VALUES)


def test_graded_scores_are_read_where_an_id_column_says_what_the_rows_are(tmp_path):
    text = "item_id,owl,elk\na,0.5,1\nb,0.25,0\n"
    found = read(tmp_path, "t.csv", text)
    assert scores_of(found).tolist() == [[0.5, 0.25], [1, 0]]
    averages = "model,mmlu,arc\nowl,0.5,0.7\nelk,0.4,0.9\n"
    with pytest.raises(BenchharmonyError, match="no column is named like a score"):
        read(tmp_path, "averages.csv", averages)
    with pytest.raises(BenchharmonyError, match="no column is named like a score"):
        read(tmp_path, "task.csv", "task,owl,elk\nmmlu,0.5,0.7\narc,0.4,0.9\n")
    with pytest.raises(BenchharmonyError, match="no column is named like a score"):
        read(tmp_path, "metrics.csv", "id,bleu,rouge_l\na,0.5,0.7\nb,0.4,0.9\n")
    with pytest.raises(BenchharmonyError, match="no column is named like a score"):
        read(tmp_path, "flags.csv", "id,is_long,won\na,0,1\nb,1,0\n")
    forced = read(tmp_path, "averages.csv", averages, format="response matrix")
    assert [e.model for e in forced] == ["owl", "elk"]
    assert scores_of(forced).tolist() == [[0.5, 0.7], [0.4, 0.9]]


def test_a_table_with_a_score_is_no_matrix(tmp_path):
    (found,) = read(tmp_path, "t.csv", "id,correct,long,short\na,1,0,1\nb,0,1,1\n")
    assert found.score_name == "correct"
    with pytest.raises(BenchharmonyError, match="no matrix of responses"):
        read(tmp_path, "t.csv", "id,correct,long\na,1,0\n", format="response matrix")


def test_empty_cells_and_cells_that_are_no_score_are_counted(tmp_path):
    text = "item_id,owl,elk,ant\na,1,,\nb,0,yes,\nc,wrong?,1,\nd,NaN,1,nan\ne,1,0,\n"
    owl, elk = read(tmp_path, "t.csv", text)
    assert (owl.item_ids, elk.item_ids) == (("a", "b", "e"), ("b", "c", "d", "e"))
    assert [p.item for p in owl.source.problems] == ["c"]
    assert "'wrong?', which is no score" in owl.source.problems[0].reason
    assert (owl.source.items_read, elk.source.items_read) == (4, 4)
    assert any("1 of 5 items have an empty cell" in n for n in owl.notes)
    assert elk.scores.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model,q1,q2\nowl,1,0\nowl,0,1\n", "1 names of models repeat, the first is 'owl'"),
        ("1,0,7\n0,1,1\n", "has 7 on item '2'; scores must lie in"),
    ],
)
def test_matrices_that_cannot_be_used_say_why(tmp_path, text, reason):
    with pytest.raises(BenchharmonyError, match=reason):
        read(tmp_path, "t.csv", text)


def test_items_that_repeat_are_left_out_and_named(tmp_path):
    text = "item_id,owl,elk,topic\na,1,0,x\nb,?,0,x\na,0,1,y\nc,1,1,y\nd,1,1,y\n"
    owl, elk = read(tmp_path, "t.csv", text)
    assert (owl.item_ids, elk.item_ids) == (("a", "c", "d"), ("a", "b", "c", "d"))
    assert owl.scores.tolist() == [1, 1, 1]
    assert elk.groups["topic"] == ("x", "x", "y", "y")
    reasons = [(p.item, p.reason) for p in owl.source.problems]
    assert reasons[0] == ("a", "the item id of an earlier one, which is kept")
    assert reasons[1] == ("b", "its cell holds '?', which is no score")
    assert (owl.source.items_read, elk.source.items_read) == (5, 4)


def test_rows_of_another_length_are_left_out(tmp_path):
    first, second = read(tmp_path, "t.csv", "1,0,1\n0,1\n1,1,1\n")
    assert len(first) == len(second) == 3
    assert [(p.line, p.reason) for p in first.source.problems] == [
        (2, "2 cells where the first row has 3")
    ]
    (alone,) = read(tmp_path, "t.csv", "1,0,1\n")
    assert len(alone) == 3


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
def test_bare_numbers_have_models_on_the_shorter_side(tmp_path, separator):
    for values in (VALUES, VALUES.T):
        lines = [separator.join(f"{v:.1f}" for v in row) for row in values]
        found = read(tmp_path, "irt.csv", "\r\n".join(lines))
        np.testing.assert_array_equal(scores_of(found), VALUES)
        assert [e.model for e in found] == ["model 1", "model 2"]
        assert found[0].item_ids == tuple("012345")
    side = "columns"
    assert f"the {side}, the shorter side" in found[0].notes[0]


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("header", [False, True])
def test_rows_and_columns_that_count_are_names(tmp_path, index, header):
    wide = np.vstack([VALUES, VALUES, 1 - VALUES])[:5]
    text = pd.DataFrame(wide).to_csv(index=index, header=header)
    found = read(tmp_path, "irt.csv", text)
    np.testing.assert_array_equal(scores_of(found), wide)
    assert found[0].item_ids == tuple("012345")


def test_a_header_longer_than_the_head_is_read_whole(tmp_path):
    n = 20_000
    header = ",".join(["model"] + [f"item {i}" for i in range(n)])
    rows = [",".join([m] + [str((i + k) % 2) for i in range(n)]) for k, m in enumerate(MODELS)]
    found = read(tmp_path, "wide.csv", "\n".join([header, *rows]) + "\n")
    assert [len(e) for e in found] == [n, n]
    assert found[1].item_ids[-1] == f"item {n - 1}"


def test_arrays_with_and_without_names(tmp_path):
    np.savez(tmp_path / "bare.npz", Y=VALUES.T)
    np.savez(
        tmp_path / "named.npz",
        responses=VALUES.T.astype(bool),
        models=np.array(MODELS),
        item_ids=np.array(ITEMS),
        topic=np.array(TOPICS),
    )
    np.save(tmp_path / "bare.npy", VALUES.astype(np.int8))
    for name in ("bare.npz", "named.npz", "bare.npy"):
        result = read_sources([tmp_path / name])
        np.testing.assert_array_equal(scores_of(result.evaluations), VALUES)
    (owl, _) = read_sources([tmp_path / "named.npz"]).evaluations
    assert (owl.model, owl.item_ids) == ("owl", tuple(ITEMS))
    assert owl.groups["topic"] == tuple(TOPICS)


def test_arrays_of_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "o.npy", np.array([[1, None]], dtype=object))
    np.savez(tmp_path / "o.npz", responses=np.array([[1, None]], dtype=object))
    for name in ("o.npy", "o.npz"):
        result = read_sources([tmp_path / name])
        assert result.evaluations == ()
        assert "Python objects" in result.unused[0].reason
        assert "allow_pickle" not in result.unused[0].reason


def test_lists_of_lists_and_pickled_matrices(tmp_path):
    np.testing.assert_array_equal(
        scores_of(read(tmp_path, "m.json", json.dumps(VALUES.tolist()))), VALUES
    )
    for value in (VALUES, VALUES.astype(bool), VALUES.tolist()):
        found = read(tmp_path, "m.pkl", pickle.dumps(value), allow_pickle=True)
        np.testing.assert_array_equal(scores_of(found), VALUES)
    with pytest.raises(BenchharmonyError, match="row 2 of the matrix is no list of 2 numbers"):
        read(tmp_path, "m.json", "[[1,0],[1]]")
    with pytest.raises(BenchharmonyError, match="row 1 of the matrix holds 'x'"):
        read(tmp_path, "m.json", '[[1,"x"],[1,0]]')


def test_lines_of_py_irt(tmp_path):
    lines = [
        json.dumps({"subject_id": m, "responses": dict(zip(ITEMS, map(int, row), strict=True))})
        for m, row in zip(MODELS, VALUES, strict=True)
    ]
    lines[1] = lines[1].replace('"q0": 0, ', "").replace('"q1": 0', '"q1": "?"')
    content = gzip.compress(("\n".join([*lines, "{}"]) + "\n").encode())
    owl, elk = read(tmp_path, "irt.jsonl.gz", content)
    assert owl.item_ids == tuple(ITEMS)
    assert elk.item_ids == ("q2", "q3", "q4", "q5")
    assert [p.item for p in elk.source.problems] == ["q1"]
    assert owl.source.problems[0].line == 3


def test_texts_that_only_look_like_numbers_are_no_matrix(tmp_path):
    for text in ("an,an\n", "1\n0\n1\n", "", "e e e", "id,correct\na,1\n", "1,a\n"):
        (tmp_path / "t").write_text(text)
        assert not matrix_files.sniff(SourceFile(tmp_path / "t"))


@pytest.mark.real_data
def test_the_real_matrix_without_names(shared_data):
    folder = shared_data / "logs" / "psn-irt"
    result = read_sources([folder])
    stated = (0.806, 0.857, 0.789, 0.845, 0.231, 0.821, 0.4, 0.77, 0.763, 0.604, 0.316, 0.752)
    assert {len(e) for e in result.evaluations} == {41871}
    assert [round(e.scores.mean(), 3) for e in result.evaluations] == list(stated)
    assert [p.path.rpartition("/")[2] for p in result.unused] == ["dataset_analysis.csv"]


@pytest.mark.real_data
def test_real_tables_of_text_properties_are_no_matrix(shared_data):
    path = shared_data / "logs" / "truthfulqa-audit" / "truthfulqa_style_audit.csv.gz"
    assert "no column is named like a score" in read_sources([path]).unused[0].reason


def test_settings_that_never_change_are_no_responses(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"prompt": "say", "fewshot_num": 0, "original_task": True}
    path.write_text("".join(json.dumps({**row, "pred": f"p{i}"}) + "\n" for i in range(5)))
    with pytest.raises(BenchharmonyError):
        bh.read(path)
