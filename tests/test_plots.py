"""Plots of a landscape: labels that keep clear, specifications that draw, names that do no harm."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchharmony import BenchharmonyError
from benchharmony.landscape import landscape
from benchharmony.plots import (
    landscape_specs,
    matrix_spec,
    plane,
    plane_spec,
    save,
    save_landscape,
    trends_spec,
)
from benchharmony.plots.labels import overlap, place_labels
from planted_grid import planted_grid

SUBJECT = {"partition": "declared:subject", "bootstrap": 60, "repeats": 3}
NAMES = ["Qwen2.5-0.5B", "Qwen2.5-3B", "Qwen2.5-14B", "Llama-3.2-1B", "Llama-3.1-8B", "mystery"]


@pytest.fixture(scope="module")
def record():
    grid = [
        e
        for i, name in enumerate(("one", "two", "three"))
        for e in planted_grid(
            np.linspace(0.7, 0.9, 6) + 0.03 * i, items=300, seed=i, names=NAMES, benchmark=name
        )
    ]
    return landscape(grid, **SUBJECT).record


def boxes(labels, texts):
    return [
        (p.centre[0] - 3.2 * len(t), p.centre[1] - 6.5, p.centre[0] + 3.2 * len(t),
         p.centre[1] + 6.5)
        for p, t in zip(labels, texts, strict=True)
    ]  # fmt: skip


def assert_clear(points, texts, width, height):
    placed = boxes(place_labels(points, texts, width, height), texts)
    for i, box in enumerate(placed):
        assert box[0] >= -1e-6
        assert box[2] <= width + 1e-6
        assert box[1] >= -1e-6
        assert box[3] <= height + 1e-6
        for other in placed[:i]:
            assert overlap(box, other) < 1e-6


place = st.tuples(st.floats(20, 540), st.floats(20, 380))


@settings(max_examples=25, deadline=None)
@given(st.lists(place, min_size=1, max_size=15))
def test_labels_of_any_points_keep_clear_of_each_other_and_inside(points):
    assert_clear(points, [f"benchmark {i}" for i in range(len(points))], 560, 400)


def test_labels_of_one_spot_keep_clear_too():
    assert_clear([(300, 200)] * 12, [f"benchmark {i}" for i in range(12)], 560, 400)


def test_a_lonely_label_sits_beside_its_point():
    (label,) = place_labels([(300, 200)], ["benchmark"], 560, 400)
    assert label.away < 14


def values_of(spec):
    return spec["data"]["values"]


def test_the_plane_shows_every_benchmark_at_its_numbers(record):
    rows = {r["benchmark"]: r for r in values_of(plane_spec(record))}
    for entry in record["benchmarks"]:
        row, h = rows[entry["benchmark"]], entry["harmony"]["adjusted"]
        assert row["mean"] == h["mean"]
        assert row["sd"] ** 2 == pytest.approx(h["variance"])
        assert (row["low"], row["high"]) == tuple(h["ci"])
        assert row["verdict"] == entry["verdict"]["label"]


def test_trends_keep_families_in_order_of_their_smallest_size(record):
    spec = trends_spec(record)
    panel = spec["vconcat"][0]["hconcat"][0]
    points = panel["layer"][-1]["encoding"]["color"]["scale"]["domain"]
    assert points == ["Qwen2.5", "Llama-3"]  # the unknown model has no size
    sizes = {r["model"]: r["x"] for r in values_of(panel)}
    assert sizes["Qwen2.5-0.5B"] == 0.5e9
    fitted = panel["layer"][1]["data"]["values"]
    assert {r["family"] for r in fitted} == {"Qwen2.5"}  # two sizes are not fitted


def test_only_the_last_checkpoint_of_a_model_stands_for_its_size():
    names = [f"pythia-1b-step{s}" for s in (1000, 4000, 16000)] + ["pythia-160m-step16000"]
    made = landscape(planted_grid([0.8] * 4, names=names), **SUBJECT).record
    shown = {r["model"] for r in values_of(trends_spec(made)["vconcat"][0]["hconcat"][0])}
    assert shown == {"pythia-1b-step16000", "pythia-160m-step16000"}
    tokens = values_of(trends_spec(made, "tokens")["vconcat"][0]["hconcat"][0])
    assert {r["model"] for r in tokens} == set(names[:3])


def test_no_known_size_is_an_error_in_words():
    made = landscape(planted_grid([0.9, 0.8]), **SUBJECT).record
    with pytest.raises(BenchharmonyError, match="parameters of no model"):
        trends_spec(made)
    assert "trends-parameters" not in landscape_specs(made)


def test_specifications_are_strict_json_without_anything_to_load(record):
    for spec in landscape_specs(record).values():
        text = json.dumps(spec, allow_nan=False)
        assert text.count("http") == 1  # the name of the schema
        assert '"url"' not in text


def test_a_matrix_leaves_undefined_cells_empty_and_numbers_equal_names():
    found = {"models": ["a", "a", "b"], "agreement": [[1, None, 0.2], [None, None, None],
                                                      [0.2, None, 1]]}  # fmt: skip
    cells = values_of(matrix_spec("b", found))
    assert len(cells) == 4
    assert {c["a"] for c in cells} == {"a (1)", "b"}


HOSTILE = "\u202e<script>alert(1)</script>\n" + "x" * 5000


def test_hostile_names_are_made_safe_and_short():
    made = landscape(planted_grid([0.9, 0.8, 0.7], benchmark=HOSTILE), **SUBJECT).record
    text = json.dumps(plane_spec(made), ensure_ascii=False)
    assert "\u202e" not in text
    assert "\n" not in text
    assert len(text) < 10_000


def test_every_plot_is_drawn_in_both_sizes_of_print(record, tmp_path):
    pytest.importorskip("vl_convert")
    paths = save_landscape(record, tmp_path / "plots")
    names = {p.name for p in paths}
    assert {"plane-1col.svg", "plane-2col.pdf", "plane-matched-1col.svg"} <= names
    assert "trends-parameters-2col.png" in names
    assert len(names) == 3 * 2 * 3  # three plots, two sizes, three formats
    for stem, inches in (("plane-1col", 3.3), ("plane-2col", 6.9)):
        svg = (tmp_path / "plots" / f"{stem}.svg").read_text()
        assert "one</text>" in svg
        assert "three</text>" in svg
        assert f'width="{inches}in"' in svg
        png = (tmp_path / "plots" / f"{stem}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        assert abs(int.from_bytes(png[16:20]) - inches * 300) <= 2
        pdf = (tmp_path / "plots" / f"{stem}.pdf").read_bytes()
        box = re.search(rb"/MediaBox \[0 0 ([\d.]+)", pdf)
        assert float(box[1]) == pytest.approx(inches * 72, abs=0.5)
        assert b"/Font" in pdf  # text is text


def test_on_a_screen_a_png_has_two_pixels_for_one(record, tmp_path):
    pytest.importorskip("vl_convert")
    save(plane_spec(record), tmp_path / "plane.png")
    png = (tmp_path / "plane.png").read_bytes()
    assert 1200 <= int.from_bytes(png[16:20]) <= 1640


def test_endings_may_be_capitals(record, tmp_path):
    pytest.importorskip("vl_convert")
    assert save(plane_spec(record), tmp_path / "p.SVG").read_bytes().startswith(b"<svg")
    assert save(plane_spec(record), tmp_path / "p.PDF").read_bytes().startswith(b"%PDF")


def test_charts_are_altair_charts(record):
    altair = pytest.importorskip("altair")
    assert isinstance(plane(record), altair.LayerChart)


def test_without_the_extra_the_error_names_it(record, monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(BenchharmonyError, match=r"benchharmony\[plots\]"):
        plane(record)
    with pytest.raises(BenchharmonyError, match=r"benchharmony\[plots\]"):
        save(plane_spec(record), tmp_path / "p.svg")
    with pytest.raises(BenchharmonyError, match=r"\.svg or \.png"):
        save(plane_spec(record), tmp_path / "p.gif")
