"""The command line: streams, exit codes, worded errors, nothing half-written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchharmony.cli import main
from benchharmony.commands import COMMANDS
from planted import planted


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("a", "b")):
        evaluation, _ = planted(seed=seed, sizes=(60, 50, 40))
        evaluation.take(np.arange(150)).save(folder / f"{name}.parquet")
    return folder


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def table(path: Path, rows: int = 40, score=lambda i: i % 2) -> str:
    lines = [f"{i},{score(i)},{'ab'[i % 4 // 2]}" for i in range(rows)]
    return write(path, "\n".join(["id,score,subject", *lines, ""]))


def test_report_prints_results_on_stdout_only(saved, capsys):
    assert main(["report", str(saved / "a.parquet")]) == 0
    out, err = capsys.readouterr()
    assert "planted" in out
    assert err == ""


def test_json_is_one_document_on_stdout(saved, capsys):
    assert main(["report", str(saved / "a.parquet"), "--format", "json", "--k", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "benchharmony/report/1"
    assert document["settings"]["k"] == 3
    assert document["evaluations"][0]["source"]["files"] == [str(saved / "a.parquet")]


def test_output_goes_to_a_file_and_leaves_no_other(saved, tmp_path, capsys):
    target = tmp_path / "new" / "report.csv"
    assert main(["report", str(saved), "--format", "csv", "-o", str(target)]) == 0
    assert target.read_text().startswith("benchmark,model,n_items")
    assert [p.name for p in target.parent.iterdir()] == ["report.csv"]
    assert capsys.readouterr().out == ""


def test_fail_under(saved, capsys):
    source = str(saved / "a.parquet")
    assert main(["report", source, "--fail-under", "0"]) == 0
    assert main(["report", source, "--fail-under", "1", "--format", "csv"]) == 1
    assert "--fail-under 1: planted / model: HARMONY is 0." in capsys.readouterr().err


def test_fail_under_counts_undefined_as_not_met(tmp_path, capsys):
    source = table(tmp_path / "few.csv", rows=10)
    assert main(["report", source, "--fail-under", "0.1"]) == 1
    assert "undefined" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.jsonl", "", "empty.jsonl: the file is empty"),
        ("head.csv", "id,score,subject\n", "a header but no rows"),
        ("prose.csv", "only prose, no log\n", "prose.csv"),
        ("cut.json", '{"results": {"mmlu": ', "cut.json"),
    ],
)
def test_unusable_files_are_worded_and_exit_with_2(tmp_path, capsys, name, text, message):
    assert main(["report", write(tmp_path / name, text)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere.jsonl"], "nowhere.jsonl: no such file or directory"),
        (["report", "{t}", "--column", "score"], "--column takes ROLE=NAME"),
        (["report", "{t}", "--column", "score=points"], "points"),
        (["report", "{t}", "--score", "f1"], "no metric 'f1'"),
        (["report", "{t}", "--partition", "declared:area"], "no declared column 'area'"),
        (["report", "{t}", "--partition", "predictive"], "no predictive distributions"),
        (["report", "{t}", "--k-min", "9", "--k-max", "3"], "k range"),
        (["report", "{t}", "--bandwidth", "0"], "bandwidth"),
        (["report", "{t}", "--seed", "-1"], "seed"),
        (["report", "{t}", "--level", "95"], "level"),
        (["report", "{t}", "--bootstrap", "-5"], "bootstrap"),
        (["report", "{t}", "--items", "none.jsonl"], "none.jsonl: no such file"),
    ],
)
def test_bad_usage_is_worded_and_exits_with_2(tmp_path, capsys, arguments, message):
    source = table(tmp_path / "t.csv")
    assert main([a.format(t=source) for a in arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_bad_flag_value_exits_with_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", "x", "--tau", "big"])
    assert stop.value.code == 2
    assert "a number or 'median'" in capsys.readouterr().err


def test_files_that_cannot_be_used_are_named_and_the_others_reported(tmp_path, capsys):
    table(tmp_path / "good.csv")
    write(tmp_path / "bad.jsonl", "")
    assert main(["report", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "bad.jsonl: the file is empty" in err
    assert "40 items" in out


def test_all_correct_and_one_item_logs(tmp_path, capsys):
    assert main(["report", table(tmp_path / "all.csv", score=lambda i: 1)]) == 0
    assert "same score" in capsys.readouterr().out
    assert main(["report", table(tmp_path / "one.csv", rows=1)]) == 0
    assert "fewer than 20 items" in capsys.readouterr().out


def test_check_tells_what_is_there_without_maths(saved, tmp_path, capsys):
    table(tmp_path / "t.csv")
    assert main(["check", str(saved), str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "planted / model: 150 items" in out
    assert "distributions item" in out
    assert "columns subject" in out


def test_items_join_texts_by_id(saved, tmp_path, capsys):
    lines = [json.dumps({"id": str(i), "question": f"topic{i // 60} word"}) for i in range(150)]
    items = write(tmp_path / "items.jsonl", "\n".join(lines))
    source = str(saved / "a.parquet")
    assert main(["report", source, "--items", items, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["evaluations"][0]["subdomains"][0]["keywords"]
    other = write(tmp_path / "other.jsonl", '{"id": "zzz", "question": "what"}')
    assert main(["report", source, "--items", other]) == 2
    assert "none of its 150 item ids" in capsys.readouterr().err


def two_models(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    lines = ["model,id,score,subject"]
    for model, rates in (("big", (0.9, 0.9)), ("small", (0.85, 0.3))):
        for i in range(300):
            topic = i % 2
            lines.append(f"{model},{i},{int(rng.random() < rates[topic])},{'ab'[topic]}")
    return write(tmp_path / "two.csv", "\n".join(lines) + "\n")


def test_compare_finds_the_subdomain_where_models_differ(tmp_path, capsys):
    source = two_models(tmp_path)
    assert main(["compare", source, "-a", "big", "-b", "small", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    a, b = sorted(document["subdomains"], key=lambda s: s["label"])
    assert (a["label"], b["label"]) == ("a", "b")
    assert b["q_value"] < 0.001 < a["q_value"]
    assert b["difference"] > 0.45
    assert document["score"]["ci"][0] > 0.2
    assert main(["compare", source]) == 0
    assert "big less small" in capsys.readouterr().out
    assert main(["compare", source, "-a", "big", "-b", "none"]) == 2
    assert "name them with -a and -b" in capsys.readouterr().err


def test_merge_makes_subtasks_one_benchmark(tmp_path, capsys):
    for name in ("mmlu_law", "mmlu_art"):
        table(tmp_path / f"{name}.csv", rows=30)
    assert main(["report", str(tmp_path), "--merge", "mmlu=mmlu_*", "--format", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["evaluations"]
    assert entry["benchmark"] == "mmlu"
    assert entry["n_items"] == 60
    assert main(["report", str(tmp_path), "--merge", "mmlu"]) == 2
    assert "NAME=PATTERN" in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--merge", "x=y*"]) == 2
    assert "no benchmark matches" in capsys.readouterr().err


def test_power_and_every_command_has_help(capsys):
    assert main(["power", "--items", "300", "--k", "10"]) == 0
    assert "spreads" in capsys.readouterr().out
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"benchharmony {command}" in capsys.readouterr().out


def test_demo_writes_what_it_says(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    for name in ("report.json", "report.csv", "report.md", "report.txt", "report.html"):
        assert name in out
        assert (tmp_path / "out" / name).stat().st_size > 1000
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert len({e["model"] for e in document["evaluations"]}) == 18


def test_formats_and_version(capsys):
    assert main(["formats"]) == 0
    assert "lm-eval" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0


def test_core_imports_without_extras_and_quickly():
    code = (
        "import sys, time; start = time.perf_counter(); import benchharmony; "
        "took = time.perf_counter() - start; "
        "heavy = {'torch', 'transformers', 'lm_eval', 'inspect_ai', 'ray', 'dask', 'altair', "
        "'pandas', 'polars', 'sklearn'} & set(sys.modules); print(took, sorted(heavy))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    _, _, heavy = out.stdout.strip().partition(" ")
    assert heavy == "[]"


def test_module_entry_point():
    out = subprocess.run(
        [sys.executable, "-m", "benchharmony", "report", "nowhere"], capture_output=True, text=True
    )
    assert out.returncode == 2
    assert out.stderr.strip() == "benchharmony: nowhere: no such file or directory"


def run_in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``benchharmony`` as a shell does, where streams are real."""
    call = f'"{sys.executable}" -m benchharmony {command}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", call],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


QUICK = "--bootstrap 0 --permutations 0 --partition declared:subject"


@pytest.fixture(scope="module")
def accented(tmp_path_factory):
    """Return a directory of two tables whose names no ASCII terminal can show."""
    folder = tmp_path_factory.mktemp("accented")
    for name in ("r\u00e9sum\u00e9-benchmark-of-a-long-name", "na\u00efve"):
        table(folder / f"{name}.csv", score=lambda i, n=name: i % 3 % 2 ^ (i % len(n) == 0))
    return folder


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_text_prints_under_any_locale(accented, encoding):
    done = run_in_shell(f"report {QUICK} --details {accented}", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"benchmark-of-a" in done.stdout


@pytest.mark.parametrize("form", ["json", "csv", "md"])
def test_machine_readable_results_are_utf_8_under_any_locale(accented, form):
    call = f"report {QUICK} --format {form} {accented}"
    plain = run_in_shell(call, PYTHONIOENCODING="utf-8")
    assert "r\u00e9sum\u00e9" in plain.stdout.decode("utf-8")
    assert run_in_shell(call, PYTHONIOENCODING="ascii").stdout == plain.stdout


@pytest.mark.parametrize("command", ["formats", "check {}", f"report {QUICK} {{}}"])
def test_a_reader_that_leaves_early_is_no_failure(accented, command):
    done = run_in_shell(f"{command.format(accented)} | true")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-"])
def test_closed_streams_are_borne(accented, streams):
    done = run_in_shell(f"report {QUICK} {accented} {streams}")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_worded(accented):
    done = run_in_shell(f"report {QUICK} {accented} > /dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith(b"benchharmony: ")
    assert b"Traceback" not in done.stderr


def test_links_in_a_circle_and_empty_names_are_worded(tmp_path, capsys):
    (tmp_path / "circle").symlink_to("circle")
    assert main(["report", str(tmp_path / "circle")]) == 2
    assert main(["report", ""]) == 2
    assert "empty name" in capsys.readouterr().err


def test_details_of_a_partition_without_tau(tmp_path, capsys):
    words = ("river bank water", "stock bond market", "cell gene protein")
    rows = [
        json.dumps({"id": i, "score": i % 2, "question": f"{words[i % 3]} number {i}"})
        for i in range(60)
    ]
    path = write(tmp_path / "texts.jsonl", "\n".join(rows))
    arguments = ["--partition", "text", "--bootstrap", "0", "--permutations", "0", "--details"]
    assert main(["report", path, *arguments]) == 0
    assert "partition: text, k = 3" in capsys.readouterr().out


@pytest.mark.parametrize("bar", ["nan", "2", "-1", "x"])
def test_a_gate_that_says_nothing_is_refused(saved, capsys, bar):
    with pytest.raises(SystemExit) as stopped:
        main(["report", str(saved), "--fail-under", bar])
    assert stopped.value.code == 2
    assert "--fail-under" in capsys.readouterr().err


def test_our_own_report_is_not_read_as_results(saved, tmp_path, capsys):
    path = str(tmp_path / "report.csv")
    options = ["--bootstrap", "0", "--permutations", "0", "--format", "csv", "-o", path]
    assert main(["report", str(saved), *options]) == 0
    assert main(["check", path]) == 2
    assert "written by benchharmony" in capsys.readouterr().err


def test_a_warning_says_why_items_are_left_out(tmp_path, capsys):
    path = table(tmp_path / "t.csv", score=lambda i: "" if i in (3, 4) else i % 2)
    arguments = ["--bootstrap", "0", "--permutations", "0", "--format", "json"]
    assert main(["report", path, *arguments]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["evaluations"]
    (said,) = [w for w in entry["warnings"] if "could not be used" in w]
    assert said.startswith("2 of 40 items")
    assert "'score' is empty, first in line 5" in said
