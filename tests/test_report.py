"""The report record and its views: contract keys, strict JSON, hostile text, undefined numbers."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import benchharmony as bh
from benchharmony import BenchharmonyError, Evaluation
from benchharmony.report import Settings
from benchharmony.report.shown import safe_markdown
from planted import planted

HOSTILE = "=cmd|<script>alert(1)</script>\x1b[31m\u202e|`x`\n[bold]b[/bold]"


@pytest.fixture(scope="module")
def made():
    evaluation, _ = planted(texts=[f"question about thing {i % 7}" for i in range(270)])
    return bh.report(evaluation)


@pytest.fixture(scope="module")
def hostile():
    return Evaluation.from_arrays(
        benchmark=HOSTILE,
        model=HOSTILE,
        scores=[1.0, 0.0, 1.0] * 10,
        groups={HOSTILE: [HOSTILE, "b", "c"] * 10},
        texts=[HOSTILE] * 30,
        item_ids=[f"{HOSTILE}{i}" for i in range(30)],
        notes=[HOSTILE],
    )


def no_nan(value):
    if isinstance(value, dict):
        return all(map(no_nan, value.values()))
    if isinstance(value, list):
        return all(map(no_nan, value))
    return not (isinstance(value, float) and not np.isfinite(value))


def test_the_record_holds_the_contract(made):
    record = made.to_dict()
    assert record["schema"] == "benchharmony/report/1"
    assert record["version"] == bh.__version__
    assert record["settings"] == Settings().to_dict()
    (entry,) = record["evaluations"]
    assert {"benchmark", "model", "n_items", "score", "harmony", "indices", "partition",
            "subdomains", "source", "warnings"} <= set(entry)  # fmt: skip
    assert {"value", "adjusted", "size_evenness", "agreement", "by_k", "sensitivity"} <= set(
        entry["harmony"]
    )
    assert set(entry["harmony"]["by_k"]) == {str(k) for k in range(2, 21)}
    assert set(entry["harmony"]["sensitivity"]["bandwidth"]) == {"0.05", "0.1", "0.2"}
    assert entry["partition"]["kind"] == "predictive"
    assert entry["partition"]["positions"] == "item"
    for name in ("label", "size", "weight", "score", "mass", "keywords", "examples"):
        assert all(name in s for s in entry["subdomains"])
    assert sum(s["size"] for s in entry["subdomains"]) == entry["n_items"] == 270
    assert sum(s["mass"] for s in entry["subdomains"]) == pytest.approx(1)


def test_the_numbers_are_those_of_the_formula(made):
    (entry,) = made.to_dict()["evaluations"]
    weights = [s["weight"] for s in entry["subdomains"]]
    performance = [s["score"] for s in entry["subdomains"]]
    assert entry["harmony"]["value"] == pytest.approx(bh.harmony_score(weights, performance))


def test_json_is_strict_and_round_trips(made):
    def refuse(name):
        raise AssertionError(name)

    assert json.loads(made.render("json"), parse_constant=refuse) == made.to_dict()
    assert no_nan(made.to_dict())


def test_the_same_input_gives_the_same_bytes_for_any_number_of_jobs(made):
    evaluations = [planted(seed=s)[0] for s in range(3)]
    one = bh.report(evaluations).render("json")
    assert bh.report(evaluations).render("json") == one
    assert bh.report(evaluations, jobs=2).render("json") == one


def test_examples_are_nearest_to_the_centre(made):
    evaluation, _ = planted(texts=[f"question about thing {i % 7}" for i in range(270)])
    split = bh.partition(evaluation)
    first = made.to_dict()["evaluations"][0]["subdomains"][0]["examples"][0]
    inside = np.flatnonzero(split.labels == 0)
    assert first == evaluation.item_ids[inside[split.centrality[inside].argmax()]]


def test_undefined_numbers_are_null_with_a_reason():
    few, _ = planted(sizes=(8, 8), performance=(0.5, 0.5))
    (entry,) = bh.report(few, partition="declared:subject").to_dict()["evaluations"]
    assert entry["harmony"]["value"] is None
    assert entry["harmony"]["adjusted"] is None
    assert entry["score"]["mean"] is not None
    assert any("fewer than 20 items" in w for w in entry["warnings"])


def test_an_evaluation_that_cannot_be_analysed_stays_in_the_report():
    good, _ = planted()
    bad = Evaluation.from_arrays(benchmark="bare", model="m", scores=[0.0, 1.0] * 20)
    report = bh.report([good, bad])
    first, second = report.to_dict()["evaluations"]
    assert first["harmony"]["value"] is not None
    assert second["harmony"]["value"] is None
    assert second["score"]["mean"] == 0.5
    assert second["score"]["ci"] is not None
    assert "nothing to make subdomains from" in second["warnings"][0]
    assert "bare" in report.render("text")
    asked = bh.report([good, bad], partition="declared:subject").to_dict()["evaluations"]
    assert "no declared column 'subject'" in asked[1]["error"]
    with pytest.raises(BenchharmonyError, match="no evaluation could be analysed"):
        bh.report(bad, partition="declared:subject")


def test_csv_has_a_row_per_evaluation_and_runs_nothing(hostile):
    good, _ = planted()
    report = bh.report([good, hostile], partition="auto")
    rows = list(csv.DictReader(io.StringIO(report.render("csv"))))
    assert rows[0]["benchmark"] == "planted"
    assert float(rows[0]["harmony"]) == report.to_dict()["evaluations"][0]["harmony"]["value"]
    assert rows[1]["benchmark"].startswith("'=")
    assert "\x1b" not in rows[1]["benchmark"]


@pytest.mark.parametrize("view", ["text", "md", "csv"])
def test_hostile_text_is_made_harmless(hostile, view):
    out = bh.report(hostile, partition=f"declared:{HOSTILE}").render(view)
    assert "\x1b" not in out
    assert "\u202e" not in out
    if view == "md":
        assert "<script>" not in out
        assert not any(line.startswith("[bold]") for line in out.splitlines())


def test_markdown_says_the_verdict_its_reason_and_its_notes():
    # Uneven sizes give a note; the subdomain that stands apart is named, with marks of Markdown.
    uneven, _ = planted(sizes=(600, 80), performance=(0.85, 0.5))
    named = tuple("a|b_c`<i>" if g == "topic 1" else "rest" for g in uneven.groups["subject"])
    named = replace(uneven, groups={"subject": named}, model="named")
    report = bh.report([uneven, named], partition="declared:subject", bootstrap=200)
    table, *sections = report.render("md").split("\n## ")
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert rows[0].endswith("| verdict |")
    for entry, row, section in zip(report.record["evaluations"], rows[2:], sections, strict=True):
        given = entry["verdict"]
        assert given["notes"]
        assert row.endswith(f"| {given['label']} |")
        lines = section.splitlines()
        assert safe_markdown(f"{given['label']}. {given['sentence']}", 1000) in lines
        assert all(safe_markdown(note, 1000) in lines for note in given["notes"])
    assert "<i>" not in "".join(sections)


def test_markdown_of_an_evaluation_without_a_verdict_has_a_dash(made):
    bare = Evaluation.from_arrays(benchmark="b", model="m", scores=[0.0, 1.0] * 20)
    assert bh.report([bare, planted()[0]]).record["evaluations"][0]["verdict"] is None
    assert "| - | - | - |" in bh.report([bare, planted()[0]]).render("md").splitlines()[2]


def test_rich_markup_in_names_is_shown_not_obeyed():
    made = Evaluation.from_arrays(
        benchmark="[red]b[/red]", model="[/]", scores=[0.0, 1.0] * 20,
        groups={"g": ["a", "b"] * 20},
    )  # fmt: skip
    assert "[red]b[/red] / [/]" in bh.report(made).render("text")


def test_notebook_table_is_escaped(hostile):
    out = bh.report(hostile, partition=f"declared:{HOSTILE}")._repr_html_()
    assert "<script>" not in out
    assert "<table>" in out


def test_text_fits_eighty_columns(made):
    many = bh.report([planted(seed=s)[0] for s in range(6)])
    for text in (made.render("text"), many.render("text")):
        assert max(map(len, text.splitlines())) <= 80
    assert "HARMONY 0." in made.render("text")
    assert "by uneven sizes" in made.render("text")
    assert "worst / best" in made.render("text")
    assert "--details" in many.render("text") or not many.to_dict()["evaluations"][0]["warnings"]


def test_to_frame(made):
    frame = made.to_frame()
    assert frame.loc[0, "harmony"] == made.to_dict()["evaluations"][0]["harmony"]["value"]


def test_unknown_names_are_worded(made):
    evaluation, _ = planted()
    with pytest.raises(BenchharmonyError, match="unexpected keyword argument 'bandwith'"):
        bh.report(evaluation, bandwith=0.1)
    with pytest.raises(BenchharmonyError, match="unknown format"):
        made.render("pdf")
    with pytest.raises(BenchharmonyError, match="no evaluation"):
        bh.report([])


def test_other_models_partitions_give_a_cross_fitted_null():
    (a, _), (b, _) = planted(seed=0), planted(seed=1)
    b = replace(b, model="other")
    report = bh.report([a, b]).to_dict()["evaluations"]
    nulls = [e["harmony"]["null"] for e in report]
    assert all(n["cross_fitted"]["p_value"] < 0.01 for n in nulls)
    assert all(n["cross_fitted"]["q_value"] is not None for n in nulls)
    (alone,) = bh.report(a).to_dict()["evaluations"]
    assert "cross_fitted" not in alone["harmony"]["null"]


def test_items_that_belong_together_widen_the_interval():
    rng = np.random.default_rng(0)
    passage = np.repeat(np.arange(60), 5)
    scores = np.repeat(rng.integers(0, 2, 60), 5)
    made = Evaluation.from_arrays(
        benchmark="b",
        model="m",
        scores=scores,
        groups={"subject": passage // 20, "passage": passage},
    )
    (alone,) = bh.report(made).to_dict()["evaluations"]
    (together,) = bh.report(made, clusters="passage").to_dict()["evaluations"]
    width = [e["score"]["ci"][1] - e["score"]["ci"][0] for e in (alone, together)]
    assert width[1] == pytest.approx(width[0] * np.sqrt(5), rel=0.15)
    with pytest.raises(BenchharmonyError, match="no column 'page'"):
        bh.report(made, clusters="page")


def test_partition_noise_and_tree_when_asked_for():
    evaluation, _ = planted()
    (entry,) = bh.report(evaluation, k=3, refit=3, tree=True).to_dict()["evaluations"]
    assert entry["harmony"]["partition_noise"]["agreement"] == pytest.approx(1, abs=0.05)
    assert entry["tree"]["size"] == 270
    assert [child["size"] for child in entry["tree"]["children"]] == [120, 90, 60]
    assert "1: 120 items" in bh.report(evaluation, k=3, tree=True).render("text")


def test_another_metric_can_be_the_score():
    evaluation, _ = planted(metrics={"acc_norm": np.full(270, 0.25)})
    (entry,) = bh.report(evaluation, score="acc_norm").to_dict()["evaluations"]
    assert entry["score"] == {**entry["score"], "mean": 0.25, "name": "acc_norm"}
    with pytest.raises(BenchharmonyError, match="no metric 'f1'"):
        bh.report(evaluation, score="f1")


@pytest.mark.parametrize(("rate", "warned"), [(0.25, True), (0.6, False)])
def test_a_score_that_guessing_could_give_is_said(rate, warned):
    rng = np.random.default_rng(0)
    n = 400
    gold = rng.integers(0, 4, n)
    right = rng.random(n) < rate
    chosen = np.where(right, gold, (gold + rng.integers(1, 4, n)) % 4)
    made = Evaluation.from_arrays(
        benchmark="b", model="m", scores=right.astype(float), gold=gold,
        option_logprobs=np.log(0.1 + 0.6 * np.eye(4)[chosen]),
        groups={"subject": [f"s{i % 4}" for i in range(n)]},
    )  # fmt: skip
    (entry,) = bh.report(made, partition="declared:subject", bootstrap=100).to_dict()["evaluations"]
    assert any("guessing among the options (0.25)" in w for w in entry["warnings"]) == warned
