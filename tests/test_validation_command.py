"""``benchharmony validate``: sources to a record, in every format, with errors in one line."""

import json

import numpy as np
import pytest

from benchharmony import Evaluation
from benchharmony.cli import main
from benchharmony.validation import SECTIONS
from benchharmony.validation.planted_partitions import plant_partition
from benchharmony.validation.redundantqa import load_redundantqa


@pytest.fixture
def planted_file(tmp_path):
    made, _ = plant_partition((30, 25, 25), (0.9, 0.6, 0.3), overlap=0.1, vocab_size=40)
    path = tmp_path / "planted.parquet"
    made.save(path)
    return path


def _redundant(meaning: bool) -> Evaluation:
    """Answers whose distributions follow the group's fact, or the wording, of 50 items."""
    items = load_redundantqa()[:25] + load_redundantqa()[150:175]
    rng = np.random.default_rng(0)
    centres: dict[object, np.ndarray] = {}
    rows = []
    for item in items:
        same = item.role != "distractor" if meaning else item.role != "paraphrase"
        key = (item.group, "fact") if same else item.id
        domain = centres.setdefault(item.domain, 3 * rng.standard_normal(30))
        own = centres.setdefault(key, rng.standard_normal(30))
        rows.append(domain + own + 0.1 * rng.standard_normal(30))
    p = np.exp(rows)
    return Evaluation.from_arrays(
        benchmark="redundantqa", model="m", scores=rng.integers(0, 2, len(items)),
        item_ids=[item.id for item in items],
        predictive={"answer": p / p.sum(axis=1, keepdims=True)},
    )  # fmt: skip


def _json(capsys, *arguments):
    assert main(["validate", *map(str, arguments), "--format", "json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def test_meaning_and_wording_are_told_apart(tmp_path, capsys):
    auc = {}
    for meaning in (True, False):
        path = tmp_path / f"{meaning}.parquet"
        _redundant(meaning).save(path)
        record = _json(capsys, path, "--sections", "similarities")
        (case,) = record["cases"]
        assert case["declared"] == "domain"
        by_name = {s["name"]: s for s in case["similarities"]}
        auc[meaning] = by_name["answer"]["ranking"]["all"]["auc"]
        assert by_name["answer"]["domains"]["ami"] > 0.9
        assert by_name["words (question)"]["ranking"]["all"]["auc"] < 0.05
        assert {m["name"] for m in case["not_computed"]} == {
            "sentence embeddings", "option likelihoods",
        }  # fmt: skip
    assert auc[True] > 0.95
    assert auc[False] < 0.05


def test_all_sections_in_every_format(planted_file, tmp_path, capsys):
    sections = ",".join(s for s in SECTIONS if s != "planted")
    small = [str(planted_file), "--sections", sections, "--sub-benchmarks", "12", "--k-max", "5"]
    record = _json(capsys, *small)
    assert record["schema"] == "benchharmony/validation/1"
    (case,) = record["cases"]
    assert case["similarities"][0]["domains"]["ami"] > 0.95
    assert case["recovery"][0]["fit"]["r"] > 0.95
    assert {r["rule"] for r in case["k_rules"]} >= {"silhouette, 1 - S", "eigengap", "declared"}
    wanted = [
        "--format",
        "md",
        "-o",
        str(tmp_path / "out.md"),
        "--record",
        str(tmp_path / "r.json"),
    ]
    assert main(["validate", *small, *wanted]) == 0
    assert json.loads((tmp_path / "r.json").read_text()) == record
    written = (tmp_path / "out.md").read_text()
    assert "rules for k" in written
    assert written.count("|---") > 5


def test_text_shows_the_tables(planted_file, capsys):
    assert main(["validate", str(planted_file), "--sections", "similarities,stability"]) == 0
    shown = capsys.readouterr().out
    assert "declared subdomains (domain, 3) found" in shown
    assert "agreement of partitions made again" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sections", "similarities"], "nothing to validate on"),
        (["--sections", "everything"], "--sections takes some of"),
        (["--k-min", "5", "--k-max", "3"], "--k-min"),
        (["no-such-file"], "no such file"),
    ],
)
def test_errors_are_one_line(arguments, words, capsys):
    assert main(["validate", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert words in lines[0]


def test_a_column_that_is_not_there_is_named(planted_file, capsys):
    assert main(["validate", str(planted_file), "--declared", "topic"]) == 2
    assert "columns there: 'domain'" in capsys.readouterr().err


def test_plots_show_every_point_and_cell(planted_file, capsys):
    from benchharmony.validation.plots import specs_of

    record = _json(capsys, planted_file, "--sections", "recovery,sensitivity",
                   "--sub-benchmarks", "12", "--k-max", "4")  # fmt: skip
    specs = specs_of(record)
    kinds = {name.split("-")[0]: spec for name, spec in specs.items()}
    assert set(kinds) == {"recovery", "sensitivity"}
    points = kinds["recovery"]["data"]["values"]
    assert len(points) == 2 * 2 * 12  # planted and recorded; induced and shuffled
    grid = record["cases"][0]["sensitivity"]["heat_map"]
    assert len(kinds["sensitivity"]["data"]["values"]) == len(grid["taus"]) * len(grid["ks"])
