"""Declared groups from a second table: keys, mismatches on both sides, repeats, formats."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from benchharmony import BenchharmonyError, Evaluation
from benchharmony.cli import main
from benchharmony.errors import InputError
from benchharmony.group_table import join_groups, read_groups

IDS = [f"q{i}" for i in range(12)]
SUBJECTS = ["algebra", "botany", "history"]


def log(ids=IDS, **more):
    return Evaluation.from_arrays(
        benchmark=more.pop("benchmark", "b"), model=more.pop("model", "m"), item_ids=ids,
        scores=np.arange(len(ids)) % 2, **more,
    )  # fmt: skip


def rows(ids=IDS):
    return [{"id": i, "subject": SUBJECTS[n % 3], "level": n % 2} for n, i in enumerate(ids)]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def csv(path, table, sep=","):
    heads = list(table[0])
    lines = [sep.join(str(r[h]) for h in heads) for r in table]
    return write(path, "\n".join([sep.join(heads), *lines, ""]))


def as_jsonl(path, table):
    return write(path, "".join(json.dumps(r) + "\n" for r in table))


WRITERS = {
    "csv": csv,
    "tsv": lambda path, table: csv(path, table, "\t"),
    "jsonl": as_jsonl,
    "json": lambda path, table: write(path, json.dumps(table)),
    "parquet": lambda path, table: (pd.DataFrame(table).to_parquet(path), path)[1],
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_table_gives_the_same_columns(tmp_path, kind):
    table = read_groups(WRITERS[kind](tmp_path / f"subjects.{kind}", rows()), "id")
    (joined,), notes = join_groups([log()], table)
    assert joined.groups["subject"] == tuple(SUBJECTS * 4)
    assert joined.groups["level"] == ("0", "1") * 6
    assert notes == ()
    assert joined.notes == ()


def test_a_compressed_table_and_numbers_as_ids(tmp_path):
    numbers = rows(list(range(12)))
    path = tmp_path / "subjects.csv.gz"
    path.write_bytes(gzip.compress(csv(tmp_path / "s.csv", numbers).read_bytes()))
    pd.DataFrame(numbers).to_parquet(tmp_path / "s.parquet")
    for file in (path, tmp_path / "s.parquet"):
        (joined,), _ = join_groups([log([str(i) for i in range(12)])], read_groups(file))
        assert joined.groups["subject"] == tuple(SUBJECTS * 4)


def test_what_matches_on_neither_side_is_counted_and_named(tmp_path):
    table = read_groups(csv(tmp_path / "s.csv", rows([*IDS[4:], "x1", "x2", "x3", "x4"])), "id")
    (joined,), notes = join_groups([log()], table)
    assert joined.groups["subject"][:4] == (None,) * 4
    assert joined.groups["subject"][4] == "algebra"
    assert "4 of 12 items are not in it (q0, q1, q2, ...)" in joined.notes[-1]
    assert "4 of 12 rows match no item (x1, x2, x3, ...)" in notes[-1]


def test_a_key_twice_is_an_error_with_both_lines(tmp_path):
    path = csv(tmp_path / "s.csv", [*rows(), rows()[3], rows()[5]])
    with pytest.raises(InputError, match=r"s\.csv:14: 2 values of 'id'.*'q3' \(also in line 5\)"):
        read_groups(path, "id")


def test_ids_of_several_benchmarks_are_told_apart_by_a_column(tmp_path):
    table = [{"benchmark": b, **r} for b in ("b", "c") for r in rows()]
    for row in table[12:]:
        row["subject"] = f"other {row['subject']}"
    made, notes = join_groups(
        [log(), log(benchmark="c"), log(benchmark="d")],
        read_groups(csv(tmp_path / "s.csv", table), "id"),
    )
    assert made[0].groups["subject"][0] == "algebra"
    assert made[1].groups["subject"][0] == "other algebra"
    assert "benchmark" not in made[0].groups
    assert made[2].groups == {}
    assert "d / m: none of its item ids occurs" in notes[0]


def test_labels_of_the_log_can_be_the_key(tmp_path):
    table = csv(tmp_path / "s.csv", [
        {"subject": "algebra", "field": "science"},
        {"subject": "botany", "field": "science"},
        {"subject": "history", "field": "humanities"},
    ])  # fmt: skip
    (joined,), _ = join_groups(
        [log(groups={"subject": SUBJECTS * 4})], read_groups(table, "subject")
    )
    assert joined.groups["field"] == ("science", "science", "humanities") * 4
    assert joined.groups["subject"] == tuple(SUBJECTS * 4)


def test_labels_that_the_table_lacks_are_named_once(tmp_path):
    table = csv(tmp_path / "s.csv", [{"subject": s, "field": "x"} for s in SUBJECTS[1:]])
    (joined,), _ = join_groups(
        [log(groups={"subject": SUBJECTS * 4})], read_groups(table, "subject")
    )
    assert "4 of 12 items are not in it (algebra)" in joined.notes[-1]


def test_questions_can_be_the_key(tmp_path):
    texts = [f"Which river is number {i}?" for i in range(12)]
    table = [{"question": f"which  RIVER is number {i}?", "bank": "ab"[i % 2]} for i in range(12)]
    e = log([f"z{i}" for i in range(12)], texts=[f"Question: {t}\nA. x\nB. y" for t in texts],
            choices=[["x", "y"]] * 12)  # fmt: skip
    (joined,), notes = join_groups(
        [e], read_groups(as_jsonl(tmp_path / "s.jsonl", table), "question")
    )
    assert joined.groups["bank"] == ("a", "b") * 6
    assert notes == ()


def test_labels_of_the_log_give_way_and_that_is_told(tmp_path):
    table = read_groups(csv(tmp_path / "s.csv", rows()), "id")
    (joined,), _ = join_groups([log(groups={"subject": ["x", "y"] * 6})], table)
    assert joined.groups["subject"] == tuple(SUBJECTS * 4)
    assert "replaces the log's own labels of 'subject'" in joined.notes[-1]


def test_columns_that_are_no_groups_and_rows_without_a_key_are_told(tmp_path):
    table = [{**r, "text": f"text {i}", "empty": ""} for i, r in enumerate(rows())]
    table[2]["id"] = ""
    found = read_groups(csv(tmp_path / "s.csv", table), "id")
    assert set(found.columns) == {"subject", "level"}
    whole = " ".join(found.notes)
    assert "'text' has another value in each row" in whole
    assert "'empty' is empty" in whole
    assert "1 rows have no 'id'" in whole


@pytest.mark.parametrize(
    ("text", "on", "message"),
    [
        (None, None, "no such file"),
        ("id,subject\na,x\nb,x\n", "qid", "no column 'qid' to join on; columns there: 'id'"),
        ("name,subject\na,x\nb,x\n", None, "say which with --on"),
        ("id,note\na,x\nb,y\n", "id", "no column of groups beside 'id'"),
        ("only prose\n", None, "no table"),
        ("{not json\n", None, "not valid JSON"),
        ("[]", None, "no row"),
        ("PAR1 and then nothing", None, "not a whole Parquet file"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_in_words(tmp_path, text, on, message):
    path = tmp_path / "s.csv"
    if text is not None:
        write(path, text)
    with pytest.raises(InputError, match=message) as error:
        read_groups(path, on)
    assert str(path) in str(error.value)


def test_a_table_of_other_items_is_refused_with_both_sides_ids(tmp_path):
    table = read_groups(csv(tmp_path / "s.csv", rows([f"x{i}" for i in range(12)])), "id")
    with pytest.raises(BenchharmonyError, match=r"none of its item ids.*first here: 'q0'.*'x0'"):
        join_groups([log()], table)


def test_the_flags_reach_a_report(tmp_path, capsys):
    log().save(tmp_path / "run.parquet")
    table = csv(tmp_path / "s.csv", rows([*IDS[1:], "x"]))
    assert main([
        "report", str(tmp_path / "run.parquet"), "--groups", str(table), "--on", "id",
        "--partition", "declared:subject", "--format", "json",
    ]) == 0  # fmt: skip
    out, err = capsys.readouterr()
    entry = json.loads(out)["evaluations"][0]
    assert entry["partition"]["kind"] == "declared:subject"
    assert any("1 of 12 items are not in it (q0)" in w for w in entry["warnings"])
    assert "1 of 12 rows match no item (x)" in err


def test_on_without_groups_is_refused(tmp_path, capsys):
    log().save(tmp_path / "run.parquet")
    assert main(["check", str(tmp_path), "--on", "id"]) == 2
    assert "--on names a column of --groups" in capsys.readouterr().err


def test_benchmarks_of_two_names_become_one(tmp_path, capsys):
    log().save(tmp_path / "a.parquet")
    log(benchmark="b-letters", model="n").save(tmp_path / "b.parquet")
    assert main(["check", str(tmp_path), "--rename", "b=b-*"]) == 0
    assert "b / n: 12 items" in capsys.readouterr().out
    assert main(["check", str(tmp_path), "--rename", "b=c*"]) == 2
    assert "--rename b=c*: no benchmark matches; there: b, b-letters" in capsys.readouterr().err
    assert main(["check", str(tmp_path), "--rename", "b"]) == 2
    assert "--rename takes NAME=PATTERN" in capsys.readouterr().err
