"""Plots of one evaluation: the record's numbers, at every size, whatever the labels say."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import benchharmony as bh
from benchharmony import BenchharmonyError, Evaluation
from benchharmony.plots import ONE_COLUMN, SCREEN, TWO_COLUMNS, save_for_print
from benchharmony.plots.evaluation import (
    evaluation_specs,
    folders_of,
    items_of,
    masses_spec,
    save_report,
    silhouette_spec,
    subdomain_spec,
)
from benchharmony.plots.naming import subdomain_names
from benchharmony.plots.overview import overview_spec
from planted import planted

QUICK = {"bootstrap": 50, "permutations": 20}
SIZES = (SCREEN, TWO_COLUMNS, ONE_COLUMN)
HOSTILE = "\u202e<script>alert(1)</script>\n\x00\ud800 {{x}} " + "long " * 300


def many_groups(k):
    rng = np.random.default_rng(0)
    groups = rng.choice(k, 12 * k, p=rng.dirichlet(np.full(k, 0.5)))
    labels = [f"{HOSTILE}{g}" if g % 3 == 0 else f"high school subject number {g}" for g in groups]
    return Evaluation.from_arrays(
        benchmark=HOSTILE, model=HOSTILE, scores=rng.random(len(groups)) < 0.6,
        groups={"subject": labels}, item_ids=[f"{HOSTILE}{i}" for i in range(len(groups))],
        predictive=rng.dirichlet(np.ones(12), len(groups)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def report():
    return bh.report([planted()[0]], **QUICK)


@pytest.fixture(scope="module")
def entry(report):
    return report.record["evaluations"][0]


@pytest.fixture(scope="module")
def crowd():
    return bh.report(many_groups(57), partition="declared:subject", **QUICK)


@pytest.fixture(scope="module")
def drawn(report, crowd):
    """Return each report's only entry with what the plots of its items show."""
    return [(made.record["evaluations"][0], items_of(made.splits[0])) for made in (report, crowd)]


def rows_in(spec):
    return spec["data"]["values"]


def test_bars_are_the_subdomains_best_first(entry):
    rows = rows_in(subdomain_spec(entry))
    assert [r["score"] for r in rows] == sorted(s["score"] for s in entry["subdomains"])[::-1]
    for r in rows:
        s = entry["subdomains"][r["index"]]
        assert (r["label"], r["items"], r["score"], r["mass"]) == (
            s["label"], s["size"], s["score"], s["mass"],
        )  # fmt: skip
        assert [r["low"], r["high"]] == s["ci"]
        whole = rows[-1]["bottom"] - rows[0]["top"]
        assert (r["bottom"] - r["top"]) / whole == pytest.approx(s["weight"], abs=1e-3)


def test_the_band_is_the_bandwidth_that_h_used():
    made = bh.report(planted()[0], bandwidth=0.25, **QUICK).record["evaluations"][0]
    spec = subdomain_spec(made)
    (band,) = [v for part in spec["layer"] for v in part.get("data", {}).get("values", [])
               if "from" in v]  # fmt: skip
    mean = made["score"]["mean"]
    assert band == {"from": pytest.approx(mean - 0.25), "to": pytest.approx(mean + 0.25)}
    places = {r["score"]: r["place"] for r in rows_in(spec)}
    for score, place in places.items():
        inside = abs(score - mean) <= 0.25
        assert (place == "within the band") == inside
        assert inside or (place == "above the band") == (score > mean)


def test_masses_stand_beside_shares_and_the_even_line(entry):
    spec = masses_spec(entry)
    masses = {r["index"]: r["mass"] for r in rows_in(spec)}
    assert masses == {i: s["mass"] for i, s in enumerate(entry["subdomains"])}
    (even,) = [v["even"] for part in spec["layer"] for v in part.get("data", {}).get("values", [])
               if "even" in v]  # fmt: skip
    assert even == pytest.approx(1 / 3)


def test_the_curve_over_k_is_the_record_and_marks_what_was_chosen(entry):
    rows = rows_in(silhouette_spec(entry))
    assert {str(r["k"]): r["silhouette"] for r in rows} == entry["partition"]["silhouette_by_k"]
    assert {str(r["k"]): r["H"] for r in rows} == entry["harmony"]["by_k"]
    assert [r["k"] for r in rows if r["chosen"]] == [entry["partition"]["k"]]


def test_what_an_evaluation_lacks_is_not_drawn(drawn):
    whole, declared = (evaluation_specs(*pair) for pair in drawn)
    assert set(whole) == {
        "subdomains", "masses", "by-k", "similarity", "map-by-subdomain", "map-by-correct",
        "map-by-declared",
    }  # fmt: skip
    assert set(declared) == set(whole) - {"by-k"}  # placed by what the model predicted
    unrecorded = replace(planted()[0], predictive={})
    bare = bh.report(unrecorded, partition="declared:subject", **QUICK)
    few = evaluation_specs(bare.record["evaluations"][0], items_of(bare.splits[0]))
    assert set(few) == {"subdomains", "masses"}
    unscored = replace(planted()[0], scores=None)
    two = bh.report([planted()[0], unscored], **QUICK)
    partitioned = evaluation_specs(two.record["evaluations"][1], items_of(two.splits[1]))
    assert set(partitioned) == {"similarity", "map-by-subdomain", "map-by-declared"}


def test_induced_subdomains_are_named_by_their_words():
    entry = {"subdomains": [{"label": "S1", "keywords": ["court", "law", "jury", "trial"]},
                            {"label": "S2", "keywords": []},
                            {"label": "law", "keywords": ["court"]}]}  # fmt: skip
    assert subdomain_names(entry) == ["S1 court, law, jury", "S2", "law"]


@pytest.mark.parametrize("size", SIZES)
def test_hostile_labels_are_short_safe_and_apart(drawn, size):
    for spec in evaluation_specs(*drawn[1], size).values():
        text = json.dumps(spec, allow_nan=False, ensure_ascii=False)
        assert not set("\u202e\x00\ud800\n") & set(text)
        rows = [v for v in spec["data"]["values"] if v.get("name")]
        assert len({v["name"] for v in rows}) == len(rows)
        assert np.diff(sorted(v["at"] for v in rows)).min(initial=size.line) >= size.line - 0.02


@pytest.mark.parametrize("size", SIZES)
def test_every_plot_is_valid_and_as_wide_as_it_should_be(drawn, size):
    altair = pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    for entry, items in drawn:
        specs = evaluation_specs(entry, items, size)
        specs["overview"] = overview_spec({"evaluations": [entry, {**entry, "model": "b"}]}, size)
        for stem, spec in specs.items():
            if size is SCREEN:  # the schema is the same for all, and slow to check
                altair.Chart.from_dict(spec)
            svg = vl_convert.vegalite_to_svg(spec)
            width = float(re.search(r'width="([\d.]+)"', svg)[1])
            assert 0.8 * size.width <= width <= 1.07 * size.width, stem
            assert "<script" not in svg


def test_print_leaves_titles_to_the_caption(entry):
    assert "title" in subdomain_spec(entry, SCREEN)
    assert "title" not in subdomain_spec(entry, ONE_COLUMN)


def test_the_overview_keeps_the_lowest_of_many():
    many = bh.report([planted(seed=s)[0] for s in range(4)], partition="declared:subject", **QUICK)
    rows = rows_in(overview_spec(many.record, most=2))
    adjusted = sorted(e["harmony"]["adjusted"] for e in many.record["evaluations"])
    assert [r["adjusted"] for r in rows] == adjusted[1::-1]


def test_each_evaluation_has_a_folder_whatever_its_name():
    names = [("b", "m"), ("B", "M"), ("../../etc", "passwd"), ("\u6f22", "con"), ("", "")]
    entries = [{"benchmark": b, "model": m} for b, m in names]
    made = folders_of(entries)
    assert len({m.lower() for m in made}) == len(made)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", m) and not m.startswith(".") for m in made)
    assert folders_of(entries[:1]) == ["."]


def test_a_report_is_drawn_for_papers(report, tmp_path):
    pytest.importorskip("vl_convert")
    told = []
    two = bh.report([planted()[0], replace(planted(seed=1)[0], model="other")],
                    partition="declared:subject", **QUICK)  # fmt: skip
    paths = save_report(two.record, [], tmp_path, told.append)
    assert told == ["planted / model", "planted / other"]
    names = {str(p.relative_to(tmp_path)) for p in paths}
    assert {"overview-1col.svg", "planted--other/masses-2col.pdf"} <= names
    assert len(names) == 3 * 2 * (1 + 2 * 2)
    svg = (tmp_path / "planted--model" / "subdomains-1col.svg").read_text(encoding="utf-8")
    assert "topic 0</text>" in svg
    assert 'width="3.3in"' in svg


def test_nothing_to_draw_is_said(tmp_path):
    with pytest.raises(BenchharmonyError, match="nothing to plot"):
        save_report({"evaluations": [{"subdomains": []}]}, [], tmp_path)


def test_a_plot_that_cannot_be_drawn_is_one_line(tmp_path):
    pytest.importorskip("vl_convert")
    with pytest.raises(BenchharmonyError, match=r"bad-1col\.svg: the plot cannot be drawn"):
        save_for_print(lambda size: {"bad": {"mark": 7}}, tmp_path)
