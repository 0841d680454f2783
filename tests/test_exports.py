"""A report for other tools: tables, model cards, JUnit, step summaries, trackers' numbers."""

import io
import json
import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest

import benchharmony as bh
from benchharmony import BenchharmonyError, Evaluation
from benchharmony.cli import main
from benchharmony.exports.junit import junit
from benchharmony.exports.measures import measures
from benchharmony.exports.model_card import model_indices, write_model_cards
from benchharmony.exports.step_summary import step_summary
from benchharmony.exports.tables import parquet_of_report, table_of_items, write_items
from benchharmony.report import Report
from benchharmony.report.gate import gates
from benchharmony.report.views import rows
from benchharmony.storage import save

FAST = {"bootstrap": 50, "permutations": 50}
HOSTILE = "m</failure>|`*[x](y)\x00\x1b[31m\u202e\ud83d\ude00\nname"


def log(model="m", benchmark="b", n=60, uneven=True, ids=None, **more):
    group = np.arange(n) % 3
    score = np.where(uneven & (group == 2), np.arange(n) % 2, np.arange(n) % 5 > 0).astype(float)
    more.setdefault("groups", {"subject": np.array(["art", "law", "sea"])[group]})
    return Evaluation.from_arrays(
        benchmark=benchmark, model=model, item_ids=ids, scores=score, score_name="acc", **more
    )


def made(*evaluations, **options):
    return bh.report(evaluations or log(), partition="declared:subject", **FAST, **options)


def undefined(model="flat"):
    return log(model, groups={"subject": ["same"] * 60})


# Tables


def test_parquet_holds_the_columns_of_the_csv_with_types():
    report = made(log(), log("n", texts=None))
    found = pq.read_table(io.BytesIO(parquet_of_report(report.record)))
    assert found.column_names == list(rows(report.record)[0])
    assert found["harmony"].to_pylist() == [r["harmony"] for r in rows(report.record)]
    assert found["k"].to_pylist() == [3, 3]
    assert found["positions"].null_count == 2
    assert str(found.schema.field("positions").type) == "string"
    assert found.schema.metadata[b"record"] == b"benchharmony/report/1"


def test_every_item_has_its_subdomain_score_and_key():
    texts = [f"Question {i}?" for i in range(60)]
    report = made(log(texts=texts), log("n"))
    items = table_of_items(report)
    assert items.num_rows == 120
    assert items["model"].to_pylist() == ["m"] * 60 + ["n"] * 60
    assert items["subdomain"].to_pylist()[:4] == ["art", "law", "sea", "art"]
    assert items["score"].to_pylist()[:60] == log().scores.tolist()
    assert len(set(items["item_key"].to_pylist()[:60])) == 60
    assert items["item_key"].to_pylist()[60:] == [None] * 60
    labels = np.array(items["subdomain"].to_pylist()[:60])
    for subdomain in report.record["evaluations"][0]["subdomains"]:
        assert np.isclose(log().scores[labels == subdomain["label"]].mean(), subdomain["score"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_items_written_are_read_again_as_the_same_results(tmp_path, ending):
    path = tmp_path / f"items.{ending}"
    report = made(log(), log("n", uneven=False))
    write_items(report, path)
    again = bh.read(path)
    assert [e.model for e in again] == ["m", "n"]
    for one, other in zip(again, (log(), log("n", uneven=False)), strict=True):
        assert one.item_ids == other.item_ids
        assert one.scores.tolist() == other.scores.tolist()
        assert one.groups["subdomain"] == other.groups["subject"]


def test_items_without_a_partition_or_scores_are_there_all_the_same(tmp_path):
    bare = Evaluation.from_arrays(
        benchmark="b", model="bare", scores=None, option_logprobs=-np.arange(120.0).reshape(60, 2),
        groups={"subject": ["a", "b"] * 30},
    )  # fmt: skip
    items = table_of_items(made(log(), undefined(), bare)).to_pylist()
    assert items[60]["subdomain"] is None
    assert items[60]["score"] is not None
    assert items[120]["score"] is None


def test_csv_of_items_is_safe_for_spreadsheets_and_parquet_is_exact(tmp_path):
    ids = ["=1+1", *map(str, range(1, 60))]
    write_items(made(log(ids=ids)), tmp_path / "i.csv")
    write_items(made(log(ids=ids)), tmp_path / "i.parquet")
    assert "'=1+1" in (tmp_path / "i.csv").read_text()
    assert pq.read_table(tmp_path / "i.parquet")["item_id"][0].as_py() == "=1+1"


def test_items_go_to_known_kinds_of_file_and_need_the_evaluations(tmp_path):
    with pytest.raises(BenchharmonyError, match=r"\.csv or a \.parquet"):
        write_items(made(), tmp_path / "i.txt")
    with pytest.raises(BenchharmonyError, match="made from a record alone"):
        table_of_items(Report(made().record))


# Model cards


def card_of(path):
    from huggingface_hub import ModelCard

    return ModelCard(f"---\n{path.read_text(encoding='utf-8')}---\n# A model\n").data


def test_a_card_holds_h_beside_the_score_as_the_hub_parses_it(tmp_path):
    pytest.importorskip("huggingface_hub")
    report = made(log(), log(benchmark="B two: 'x'"))
    (path,) = write_model_cards(report.record, tmp_path / "card.yaml")
    data = card_of(path)
    assert data.model_name == "m"
    first = report.record["evaluations"][0]
    found = {(r.dataset_type, r.metric_type): r for r in data.eval_results}
    assert len(found) == 6
    assert found["b", "acc"].metric_value == round(first["score"]["mean"], 4)
    h = found["b", "harmony"]
    assert h.metric_value == round(first["harmony"]["value"], 4)
    assert h.metric_args == {"partition": "declared:subject", "subdomains": 3, "bandwidth": 0.1}
    assert found["b", "harmony_adjusted"].metric_args["interval"][1] <= 1
    assert h.task_type == "text-generation"
    assert found["b-two-x", "acc"].dataset_name == "B two: 'x'"
    # The hub writes the same again: nothing was lost on the way in.
    import yaml

    again = yaml.safe_load(data.to_yaml())["model-index"][0]
    assert len(again["results"]) == 2
    assert again == yaml.safe_load(path.read_text())["model-index"][0]


def test_hostile_names_stay_text(tmp_path):
    pytest.importorskip("huggingface_hub")
    hostile = log(HOSTILE, benchmark="x: [y]\n- name: z")
    (path,) = write_model_cards(made(hostile).record, tmp_path / "card.yaml")
    data = card_of(path)
    assert "\x1b" not in data.model_name
    assert data.eval_results[0].dataset_name == "x: [y] - name: z"


def test_several_models_need_a_folder(tmp_path):
    report = made(log("org/a"), log("org/b"), log("ORG/A"))
    with pytest.raises(BenchharmonyError, match="a card is of one model and the report of 3"):
        write_model_cards(report.record, tmp_path / "card.yaml")
    written = write_model_cards(report.record, f"{tmp_path}/cards/")
    assert [p.name for p in written] == ["org__a.yaml", "org__b.yaml", "org__a-2.yaml"]
    assert all(p.is_file() for p in written)


def test_an_undefined_h_is_not_in_the_card():
    ((_, card),) = model_indices(made(log(), undefined("m")).record).items()
    kinds = [[m["type"] for m in r["metrics"]] for r in card["model-index"][0]["results"]]
    assert kinds == [["acc", "harmony", "harmony_adjusted"], ["acc"]]


def test_without_yaml_nothing_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchharmony.exports.model_card.find_spec", lambda _: None)
    assert main(["report", "nowhere.jsonl", "--model-card", str(tmp_path / "c.yaml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "benchharmony[model-card]" in line


def test_without_yaml_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(BenchharmonyError, match=r"benchharmony\[model-card\]"):
        write_model_cards(made().record, tmp_path / "c.yaml")
    assert list(tmp_path.iterdir()) == []


# The bar


def test_the_bar_is_met_at_h_itself_and_never_by_an_undefined_h():
    record = made(log(), undefined()).record
    h = record["evaluations"][0]["harmony"]["value"]
    assert [g.met for g in gates(record, h)] == [True, False]
    just_above = gates(record, h + 1e-5)[0]
    assert not just_above.met
    assert float(just_above.words.removeprefix("HARMONY is ")) < h + 1e-5
    assert gates(record, 0.0)[1].words == "HARMONY is undefined"


def test_junit_has_a_test_per_evaluation_and_says_why():
    record = made(log(), log("even", uneven=False), undefined(), log(benchmark="c")).record
    bar = record["evaluations"][0]["harmony"]["value"] + 0.01
    root = ET.fromstring(junit(record, bar))
    assert root.attrib == {"name": "benchharmony", "tests": "4", "failures": "2", "errors": "1"}
    first, second = root.findall("testsuite")
    assert (first.get("name"), first.get("tests"), first.get("failures")) == ("b", "3", "1")
    assert second.get("name") == "c"
    cases = first.findall("testcase")
    assert [c.find("failure") is not None for c in cases] == [True, False, False]
    assert "under" in cases[0].find("failure").get("message")
    assert "lowest subdomains: sea" in cases[0].find("failure").text
    assert cases[2].find("error").get("message") == "HARMONY is undefined"
    assert "60 items, acc" in cases[1].find("system-out").text
    assert all(c.get("name") and c.get("classname") for c in root.iter("testcase"))


def test_hostile_names_leave_the_xml_whole():
    root = ET.fromstring(junit(made(log(HOSTILE, benchmark=HOSTILE)).record, 1.0))
    name = next(root.iter("testcase")).get("name")
    assert "</failure>" in name
    assert not re.search(r"[\x00-\x08\x1b\u202e]", name)


def test_a_summary_has_a_row_per_evaluation_and_folds_the_warnings():
    record = made(log("a_b|c"), undefined()).record
    text = step_summary(record, 0.2)
    assert "1 of 2 evaluations reach HARMONY 0.2." in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 4
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert r"a\_b\|c" in table[2]
    assert table[2].endswith("| met |")
    assert table[3].endswith("| **not met** |")
    assert "<details><summary>" in text
    assert "bar" not in step_summary(record)


def test_a_summary_stays_under_githubs_limit():
    record = made(log()).record
    entry = record["evaluations"][0]
    many = [{**entry, "model": f"m{i}" * 40, "warnings": [f"{i} {'w' * 600}"]} for i in range(3000)]
    text = step_summary({**record, "evaluations": many}, 0.5)
    assert len(text.encode()) < 1 << 20
    assert "2500 more evaluations" in text


# Trackers


def test_measures_are_flat_numbers_with_names_that_trackers_take():
    record = made(log(), log(benchmark="b:2?"), log(benchmark="b")).record
    found = measures(record)
    assert found["b/harmony"] == record["evaluations"][0]["harmony"]["value"]
    assert {"b_2_/score", "b 2/score"} <= set(found)
    assert all(isinstance(v, float) for v in found.values())
    assert all(re.fullmatch(r"[\w\-. /]+", name) for name in found)
    two = measures(made(log("x/y"), undefined("z")).record)
    assert "b/x_y/harmony" in two
    assert "b/z/harmony" not in two
    assert "b/z/score" in two


# The command


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "run.parquet"
    save(log(), path)
    return ["report", str(path), "--partition", "declared:subject", "--bootstrap", "50",
            "--permutations", "50"]  # fmt: skip


def test_one_run_writes_everything_it_was_asked_for(source, tmp_path, capsys, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    out = tmp_path / "out"
    assert main([
        *source, "--format", "parquet", "-o", f"{out}/r.parquet", "--per-item", f"{out}/i.csv",
        "--model-card", f"{out}/c.yaml", "--fail-under", "0.99", "--junit", f"{out}/j.xml",
        "--step-summary",
    ]) == 1  # fmt: skip
    assert sorted(p.name for p in out.iterdir()) == ["c.yaml", "i.csv", "j.xml", "r.parquet"]
    assert summary.read_text().startswith("# before\n## HARMONY\n")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert all(f"written: {out}/{name}" in printed.err for name in ("r.parquet", "i.csv", "j.xml"))
    assert pq.read_table(out / "r.parquet").num_rows == 1


def test_parquet_goes_through_a_pipe(source, capfdbinary):
    assert main([*source, "--format", "parquet"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"PAR1")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--junit", "j.xml"], "--junit turns --fail-under"),
        (["--per-item", "i.xlsx"], "i.xlsx: the items go to"),
        (["--model-card", "README.md"], "README.md: writes the metadata alone"),
        (["--step-summary"], "GITHUB_STEP_SUMMARY, which is not set"),
        (["--annotate", "none.json", "new.json"], "none.json: no such file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    capsys, monkeypatch, flags, message
):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert main(["report", "nowhere.jsonl", *flags]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "nowhere" not in printed.err


def test_a_summary_that_cannot_be_written_is_worded(source, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "s.md"))
    page = tmp_path / "page.html"
    assert main([*source, "--step-summary", "--html", str(page)]) == 2
    assert "s.md: cannot be written" in capsys.readouterr().err
    assert not page.exists()


def test_the_csv_has_intervals_and_the_verdict(source, capsys):
    assert main([*source, "--format", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    row = dict(zip(head.split(","), line.split(","), strict=False))
    assert float(row["score_low"]) < float(row["score"]) < float(row["score_high"])
    assert float(row["harmony_low"]) <= float(row["harmony_high"])
    assert row["verdict"]
    assert 0 < float(row["p_same_size"]) <= 1
    assert json.loads(row["k"]) == 3
