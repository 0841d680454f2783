"""Data frames in memory are read by the rules of table files, whatever library holds them."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from benchharmony import BenchharmonyError
from benchharmony.frames import from_frame

DATA = {
    "model": ["a"] * 4 + ["b"] * 4,
    "qid": [1, 2, 3, 4] * 2,
    "correct": [True, False, True, True, False, False, None, True],
    "subject": ["x", "x", "y", None] * 2,
    "option_logprobs": [[-1.0, -2.0], [-3.0, -0.5, -1.0]] * 4,
}


def pandas_frame():
    return pytest.importorskip("pandas").DataFrame(DATA)


def pandas_arrow():
    return pandas_frame().convert_dtypes(dtype_backend="pyarrow")


def pandas_categories():
    return pandas_frame().astype({"subject": "category", "model": "category"})


def pandas_indexed():
    return pandas_frame().set_index(["model", "qid"])


def polars_frame():
    return pytest.importorskip("polars").DataFrame(DATA)


def polars_categories():
    polars = pytest.importorskip("polars")
    return polars_frame().with_columns(polars.col("subject", "model").cast(polars.Categorical))


def arrow_table():
    return pa.table(DATA)


FRAMES = [pandas_frame, pandas_arrow, pandas_categories, pandas_indexed]
FRAMES += [polars_frame, polars_categories, arrow_table]


@pytest.mark.parametrize("make", FRAMES)
def test_every_kind_of_frame_gives_the_same_evaluations(make):
    a, b = from_frame(make(), benchmark="bench")
    assert (a.model, b.model, a.benchmark) == ("a", "b", "bench")
    assert a.item_ids == ("1", "2", "3", "4")
    assert a.scores.tolist() == [1, 0, 1, 1]
    assert b.item_ids == ("1", "2", "4")
    assert a.groups == {"subject": ("x", "x", "y", None)}
    assert a.option_logprobs[1].tolist() == [-3, -0.5, -1]
    (problem,) = b.source.problems
    assert (problem.line, problem.item) == (7, "3")
    assert b.source.format == "data frame"
    assert b.source.files == ()


def test_columns_can_be_named():
    (found,) = from_frame(
        pa.table({"n": ["p", "q"], "hit": [1, 0], "t": ["u", "v"]}),
        columns={"item_id": "n", "score": "hit", "groups": "t"},
        model="m",
    )
    assert found.name == "unknown / m"
    assert found.item_ids == ("p", "q")
    assert found.groups == {"t": ("u", "v")}


def test_pandas_columns_of_mixed_types():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [1, "b", np.nan, 2.5], 0: [1, "x", {}, None], "score": [True, "0", 1, np.nan]},
    )
    (found,) = from_frame(frame)
    assert found.item_ids == ("1", "b")
    assert found.scores.tolist() == [1, 0]
    assert [p.line for p in found.source.problems] == [3, 4]


def test_what_is_no_frame_is_said_in_words():
    for value in ([1, 2], "text", None, 3.5, np.ones(3), object()):
        with pytest.raises(BenchharmonyError, match=r"data frame: a .* cannot be read as a table"):
            from_frame(value)


def test_a_lazy_frame_is_asked_to_collect():
    polars = pytest.importorskip("polars")
    with pytest.raises(BenchharmonyError, match=r"call \.collect\(\)"):
        from_frame(polars.LazyFrame(DATA))


def test_an_empty_frame_and_one_without_a_score():
    with pytest.raises(BenchharmonyError, match="data frame: no rows"):
        from_frame(pa.table({"id": pa.array([], pa.string())}))
    with pytest.raises(BenchharmonyError, match="its columns are: id, x"):
        from_frame(pa.table({"id": ["a"], "x": ["b"]}))


def test_importing_the_module_imports_neither_pandas_nor_polars():
    code = (
        "import sys, benchharmony.frames\n"
        "raise SystemExit(bool({'pandas', 'polars'} & set(sys.modules)))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
