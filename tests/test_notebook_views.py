"""Results in a notebook: escaped tables with a picture, frames of both libraries, charts."""

import sys
from dataclasses import replace

import pytest

import benchharmony as bh
from benchharmony import BenchharmonyError, Evaluation
from benchharmony.landscape import landscape
from benchharmony.report import Report
from planted import planted
from planted_grid import planted_grid

QUICK = {"bootstrap": 50, "permutations": 20}
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def made():
    return planted()[0]


@pytest.fixture(scope="module")
def report(made):
    return bh.report([made, replace(made, model="other")], **QUICK)


@pytest.fixture(scope="module")
def plane():
    grid = planted_grid([0.9, 0.8, 0.7], names=["Qwen2.5-1B", "Qwen2.5-3B", "Qwen2.5-7B"])
    return landscape(grid, partition="declared:subject", bootstrap=60, repeats=3)


def hostile():
    return Evaluation.from_arrays(
        benchmark=HOSTILE, model=HOSTILE, scores=[0.0, 1.0] * 30,
        groups={"g": [HOSTILE, "b"] * 30},
    )  # fmt: skip


def everything(evaluation, kind):
    split = bh.partition(evaluation, kind)
    return {
        "report": bh.report(evaluation, partition=kind, **QUICK),
        "partition": split,
        "result": bh.harmony(evaluation, split),
        "landscape": landscape([evaluation], partition=kind, bootstrap=60, repeats=2),
    }


@pytest.mark.parametrize("name", ["report", "partition", "result", "landscape"])
def test_a_result_shows_a_table_and_a_picture_and_runs_nothing(name):
    pytest.importorskip("vl_convert")
    markup = everything(hostile(), "declared:g")[name]._repr_html_()
    assert "<table>" in markup
    assert "<img src=x" not in markup
    assert "\u202e" not in markup
    pictures = markup.count('src="data:image/svg+xml;base64,')
    assert pictures == (0 if name == "partition" else 1)  # a declared one was not chosen over k
    assert markup.count("<img ") == pictures


def test_without_the_extra_there_is_the_table_alone(monkeypatch, report, made):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for result in (report, bh.partition(made)):
        markup = result._repr_html_()
        assert "<table>" in markup
        assert "<img" not in markup


def test_an_undefined_partition_says_why(made):
    few = made.take(list(range(10)))
    split = bh.partition(few)
    assert "fewer than 20 items" in split._repr_html_()
    assert "fewer than 20 items" in bh.harmony(few, split)._repr_html_()


def test_reprs_are_short(made, report, plane):
    split = bh.partition(made)
    for thing in (report, plane, split, bh.harmony(made, split)):
        assert len(repr(thing)) < 100
        assert "\n" not in repr(thing)


def test_frames_of_both_libraries_hold_the_same(report, plane, made):
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    split = bh.partition(made)
    calls = (
        lambda lib: report.to_frame(library=lib),
        lambda lib: report.to_frame("subdomains", library=lib),
        lambda lib: plane.to_frame(library=lib),
        lambda lib: plane.evaluations_frame(library=lib),
        lambda lib: split.to_frame(library=lib),
        lambda lib: bh.harmony(made, split).to_frame(library=lib),
    )
    for call in calls:
        one, other = call("pandas"), call("polars")
        assert list(one.columns) == other.columns
        assert len(one) == len(other) > 0
        assert one.iloc[0, 0] == other.row(0)[0]


def test_a_subdomain_is_a_row(report):
    frame = report.to_frame("subdomains")
    assert len(frame) == 6
    entry = report.record["evaluations"][1]
    last = frame.iloc[-1]
    assert last["model"] == "other"
    assert last["mass"] == entry["subdomains"][-1]["mass"]
    assert [last["score_low"], last["score_high"]] == entry["subdomains"][-1]["ci"]


def test_libraries_that_are_not_there_are_worded(report, monkeypatch):
    with pytest.raises(BenchharmonyError, match="library must be 'pandas' or 'polars'"):
        report.to_frame(library="arrow")
    with pytest.raises(BenchharmonyError, match="rows must be"):
        report.to_frame("items")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(BenchharmonyError, match="pip install polars"):
        report.to_frame(library="polars")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(BenchharmonyError, match=r"benchharmony\[plots\]"):
        report.plot_overview()


def test_charts_are_altair_charts(report, plane, made):
    altair = pytest.importorskip("altair")
    split = bh.partition(made)
    result = bh.harmony(made, split)
    for chart in (
        report.plot_overview(), report.plot_subdomains(1), report.plot_masses("other"),
        report.plot_by_k(-1), report.plot_similarity(), report.plot_map(colour="correct"),
        plane.plot_plane(), plane.plot_trends(), plane.plot_matched(), split.plot_by_k(),
        split.plot_map(), result.plot_subdomains(), result.plot_masses(),
    ):  # fmt: skip
        assert isinstance(chart, altair.TopLevelMixin)


def test_which_evaluation_is_asked_for_in_words(report, made):
    with pytest.raises(BenchharmonyError, match=r"no evaluation is of a model 'x'.*model, other"):
        report.plot_masses("x")
    with pytest.raises(BenchharmonyError, match="no evaluation 2: the report has 2"):
        report.plot_masses(2)
    twice = bh.report([made, made], partition="declared:subject", **QUICK)
    with pytest.raises(BenchharmonyError, match="2 evaluations are of a model 'model'"):
        twice.plot_masses("model")
    with pytest.raises(BenchharmonyError, match="nothing to plot: the subdomains were not chosen"):
        twice.plot_by_k()
    with pytest.raises(BenchharmonyError, match="nothing to plot"):
        bh.report(hostile(), partition="declared:g", **QUICK).plot_map()
    with pytest.raises(BenchharmonyError, match="holds no items"):
        Report(twice.record).plot_similarity()


def test_partitions_of_one_model_have_no_agreement(plane):
    with pytest.raises(BenchharmonyError, match="nothing to plot: no partitions of several models"):
        plane.plot_agreement("planted")


def test_long_tables_say_what_they_leave_out():
    from benchharmony.notebook.markup import table

    markup = table(["a"], [[i] for i in range(50)])
    assert markup.count("<tr>") == 41
    assert "and 10 more rows" in markup
