"""CSV and TSV as people and programs write them: delimiters, quotes, marks, broken rows."""

import contextlib
import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from tables import read, read_one, reader_of, write


def test_quotes_newlines_and_delimiters_inside_cells(tmp_path):
    found = read_one(
        tmp_path,
        'id,question,correct\n1,"a, ""b""\nc",True\r\n2,"d;\te",FALSE\n',
    )
    assert found.item_ids == ("1", "2")
    assert found.texts == ('a, "b"\nc', "d;\te")
    assert found.scores.tolist() == [1, 0]
    assert found.score_name == "correct"
    assert (found.benchmark, found.model) == ("t", "unknown")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_seen_in_the_header(tmp_path, delimiter):
    rows = [["id", "question, or; text\tthere", "score"], ["a", "x", "1"], ["b", "y", "0.5"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    assert read_one(tmp_path, text).scores.tolist() == [1, 0.5]


def test_known_names_outweigh_more_columns(tmp_path):
    found = read_one(tmp_path, "id;score;a,b,c,d\n1;1;p,q,r,s\n2;0;p,q,r,s\n")
    assert found.item_ids == ("1", "2")


def test_a_tab_table_may_have_commas_in_every_row(tmp_path):
    rows = "".join(f"{i}\tone, two, three\t1\n" for i in range(5))
    assert len(read_one(tmp_path, "id\ttext\tacc\n" + rows)) == 5


def test_decimal_commas_where_the_comma_is_no_delimiter(tmp_path):
    assert read_one(tmp_path, "id;score\n1;0,25\n2;1\n").scores.tolist() == [0.25, 1]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_byte_order_marks(tmp_path, encoding):
    text = "id,score\nä,1\n"
    data = ("\ufeff" + text).encode(encoding) if encoding == "utf-16-be" else text.encode(encoding)
    assert read_one(tmp_path, data).item_ids == ("ä",)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_a_missing_last_one(tmp_path, end, last):
    text = end.join(["id,score", "1,1", "2,0", "3,1"]) + (end if last else "")
    assert read_one(tmp_path, text).scores.tolist() == [1, 0, 1]


def test_unreadable_bytes_are_replaced_and_told(tmp_path):
    found = read_one(tmp_path, b"id,question,score\n1,caf\xe9,1\n2,ok,0\n")
    assert found.texts == ("caf\ufffd", "ok")
    assert any("UTF-8 text: 1 characters were replaced" in note for note in found.notes)


def test_rows_of_another_length_are_left_out_with_their_line(tmp_path):
    found = read_one(
        tmp_path,
        'id,question,score\n1,"two\nlines",1\n\n2,short\n3,"x\n\ny",0\n4,a,b,c\n5,e,?\n6,f,1\n',
    )
    assert found.item_ids == ("1", "3", "6")
    said = {(p.line, p.item): p.reason for p in found.source.problems}
    assert said == {
        (5, None): "2 cells where the header has 3",
        (9, None): "4 cells where the header has 3",
        (10, "5"): "score column 'score' holds '?', which is no score",
    }
    assert found.source.items_read == 6
    assert found.source.items_left_out == 3
    assert all(p.path.endswith("t.csv") for p in found.source.problems)


def test_a_quote_that_is_never_closed_is_told(tmp_path):
    found = read_one(tmp_path, 'id,question,score\n1,a,1\n2,"b,0\n3,c,1\n')
    assert found.item_ids == ("1",)
    assert "over 2 lines" in found.source.problems[0].reason
    assert any("odd number of quote marks" in note for note in found.notes)


def test_a_file_cut_off_in_mid_row(tmp_path):
    found = read_one(tmp_path, "id,question,score\n1,a,1\n2,b")
    assert found.item_ids == ("1",)
    assert [p.line for p in found.source.problems] == [3]


@pytest.mark.parametrize("text", ["id,score", "id,score\n", "id,score\r\n\r\n", "id,score\n,\n"])
def test_a_header_without_rows(tmp_path, text):
    with pytest.raises(InputError, match=r"t\.csv: a header but no rows"):
        read(tmp_path, "t.csv", text)


def test_only_broken_rows(tmp_path):
    with pytest.raises(InputError, match="no usable row: 3 cells where the header has 2"):
        read(tmp_path, "t.csv", "id,score\n1,1,1\n")


def test_numbers_instead_of_a_header(tmp_path):
    with pytest.raises(InputError, match="first line holds numbers"):
        read(tmp_path, "t.csv", "1.0,0.0,1.0\n0.0,1.0,1.0\n")


def test_one_column_is_enough(tmp_path):
    found = read_one(tmp_path, "score\n1\n0\n")
    assert found.item_ids == ("0", "1")
    assert any("no item id column" in note for note in found.notes)


def test_repeated_and_empty_column_names(tmp_path):
    found = read_one(tmp_path, ",id,acc,acc\n0,a,1,0.5\n1,b,0,0.7\n")
    assert found.scores.tolist() == [1, 0]
    assert found.metrics["acc (2)"].tolist() == [0.5, 0.7]


def test_gzip_is_opened(tmp_path):
    found = read_one(tmp_path, gzip.compress(b"id,score\n1,1\n"), name="mine.csv.gz")
    assert found.benchmark == "mine"


@pytest.mark.parametrize(
    "content",
    [
        b"just a sentence without any delimiter\nand another\n",
        b"\x80\x04\x95\x00\x00\x01\x00\x00,\x00",
        b"<html>,<body>\n",
        b"{,}\n",
        b"0,1,2,3,4,5,correct\nq,a,b,c,d,A,True\n",
        b"index,loss,correct,total_logprob\r\n0,0.5,1,-3\r\n",
        b"index,logodds_difference,loss,correct\n0,0.5,1,1\n",
        b"   \n",
    ],
)
def test_what_is_no_table_of_ours_is_not_claimed(tmp_path, content):
    assert reader_of(write(tmp_path, "t.csv", content)) is None


letters = st.sampled_from('a\n",;\t\u2028') | st.characters(
    codec="utf-8", exclude_characters="\0\r"
)
cells = st.text(letters, max_size=8).map(lambda t: '"' + t.replace('"', '""') + '"')


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.tuples(cells, st.sampled_from(["0", "1", "0.5", "x"])), min_size=1))
def test_every_row_is_an_item_or_a_problem_with_its_line(tmp_path_factory, rows):
    text = "question,score\n" + "".join(f"{q},{s}\n" for q, s in rows)
    folder = tmp_path_factory.mktemp("d")
    starts, line = [], 2
    for question, _ in rows:
        starts.append(line)
        line += 1 + question.count("\n")
    bad = [at for at, (_, score) in zip(starts, rows, strict=True) if score == "x"]
    try:
        found = read_one(folder, text)
    except InputError:
        assert len(bad) == len(rows)
        return
    assert [p.line for p in found.source.problems] == bad
    assert found.scores.tolist() == [float(s) for _, s in rows if s != "x"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(noise=st.binary(max_size=200), start=st.sampled_from([b"", b"id,score\n", b"id\tscore\r"]))
def test_any_bytes_are_read_or_refused_in_words(tmp_path_factory, noise, start):
    file = write(tmp_path_factory.mktemp("d"), "t.csv", start + noise)
    if file.compression is None and reader_of(file) is not None:
        with contextlib.suppress(InputError):
            read(file.path.parent, "t.csv", start + noise)
