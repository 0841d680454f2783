"""The curve as a chart: its data are those of the record, and no ending surprises."""

import json

import pytest

from benchharmony import BenchharmonyError
from benchharmony.rebalance import rebalance
from benchharmony.rebalancing.plot import chart, write_plot
from benchharmony.rebalancing.result import document
from rebalancing import benchmark


@pytest.fixture(scope="module")
def record():
    models, split = benchmark([50, 20, 10], [[0.9, 0.4, 0.4], [0.5, 0.6, 0.6]])
    return document([rebalance(models, split, draws=20)])


def test_the_chart_holds_every_point_of_the_curve(record):
    (panel,) = chart(record)["vconcat"]
    values = panel["data"]["values"]
    entry = record["benchmarks"][0]
    assert len(values) == sum(3 * len(m["curve"]) for m in entry["models"])
    point = entry["models"][1]["curve"][4]
    (row,) = [
        v
        for v in values
        if v["model"] == "model 1" and v["quantity"] == "score"
        and v["fraction"] == point["fraction"]
    ]  # fmt: skip
    assert row["value"] == point["values"]["score"]
    assert row["random_low"] == point["random"]["score"]["low"]
    assert row["within_high"] == point["within"]["score"]["high"]
    fields = json.dumps(panel["spec"])
    assert all(name in fields for name in row if name not in ("model", "quantity"))


def test_a_specification_needs_no_extra(record, tmp_path):
    write_plot(record, tmp_path / "curve.json")
    assert json.loads((tmp_path / "curve.json").read_text()) == chart(record)
    with pytest.raises(BenchharmonyError, match=r"\.svg, \.png, \.pdf or \.json"):
        write_plot(record, tmp_path / "curve.gif")


def test_nothing_to_plot_is_said(record):
    (evaluation,), split = benchmark([30, 10], [0.5, 0.5])
    weights = document([rebalance(evaluation, split, strategy="weights")])
    with pytest.raises(BenchharmonyError, match="nothing to plot"):
        chart(weights)


def test_pictures(record, tmp_path):
    pytest.importorskip("vl_convert")
    write_plot(record, tmp_path / "curve.svg")
    assert "HARMONY" in (tmp_path / "curve.svg").read_text(encoding="utf-8")
    write_plot(record, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
