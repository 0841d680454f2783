"""An annotated copy of lm-eval's results: H is added, and not one byte of the file is touched."""

import gzip
import json
from importlib import import_module

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import benchharmony as bh
from benchharmony import BenchharmonyError
from benchharmony.cli import main
from benchharmony.errors import InputError
from benchharmony.exports.lm_eval_results import annotate, check_new, write_annotated
from harness_logs import RESULTS, generated, write_lines

KEYS = ("harmony", "harmony_adjusted", "harmony_agreement", "harmony_k", "harmony_partition")
TIME = RESULTS.removeprefix("results_").removesuffix(".json")


def sample(i, **metrics):
    row = generated(i, **(metrics or {"acc": float(i % 3 > 0)}))
    row["doc"]["subject"] = ("art", "law")[i // 20]
    return row


def folder_of(tmp_path, tasks=("rivers", "birds"), results=None, text=None):
    """Write a run: samples of the tasks and the results file; return the results file."""
    for task in tasks:
        write_lines(tmp_path / f"samples_{task}_{TIME}.jsonl", [sample(i) for i in range(40)])
    path = tmp_path / RESULTS
    held = results or {t: {"alias": t, "acc,none": 0.65, "acc_stderr,none": 0.1} for t in tasks}
    path.write_text(text or json.dumps({"results": held, "model_name": "owl"}, indent=2))
    return path


def report(tmp_path, **options):
    found = bh.read(*sorted(tmp_path.glob("samples_*.jsonl")))
    return bh.report(
        found, partition="declared:subject", bootstrap=0, permutations=0, **options
    ).record


def without(text, keys=KEYS):
    """Return the document with the added keys taken out, as ordered pairs."""

    def kept(pairs):
        return [(k, v) for k, v in pairs if k.partition(",")[0] not in keys]

    return json.loads(text, object_pairs_hook=kept)


def test_h_is_under_each_task_named_as_the_harness_names_metrics(tmp_path):
    path = folder_of(tmp_path)
    record = report(tmp_path)
    made = annotate(record, path)
    assert sorted(made.tasks) == ["birds", "rivers"]
    entry = next(e for e in record["evaluations"] if e["benchmark"] == "rivers")
    rivers = json.loads(made.text)["results"]["rivers"]
    assert rivers["harmony,none"] == entry["harmony"]["value"]
    assert rivers["harmony_k,none"] == 2
    assert rivers["harmony_partition,none"] == "declared:subject"
    assert list(rivers) == ["alias", "acc,none", "acc_stderr,none", *(f"{k},none" for k in KEYS)]


# Set out in ways that a JSON writer would not give back: spaces, numbers, escapes, NaN, repeats.
LAYOUTS = {
    "as lm-eval": None,
    "compact": '{"results":{"rivers":{"alias":"rivers","acc,none":0.650}},"x":NaN}',
    "one line": '{"a": 1e-05, "results": {"rivers": {"acc,none": 6.5e-1, "z": "\\u00e9é"}}}',
    "one member": '{\n\t"results": {\n\t\t"rivers": {\n\t\t\t"acc,none": 0.65\n\t\t}\n\t}\n}\n',
    "empty task": '{"results": {"rivers": { }, "birds": {"acc,none": 0.65}}}  \n',
    "braces in text": '{"config": {"t": "{\\"results\\": {"}, "results": {"rivers": {"a}": "}{", "acc,none": 0.65 }}}',  # noqa: E501
    "windows": '\ufeff{\r\n  "results": {\r\n    "rivers": {\r\n      "acc,none": 0.65,\r\n      "b": 1\r\n    }\r\n  }\r\n}',  # noqa: E501
    "repeated": '{"results": 1, "results": {"rivers": {"acc,none": 1, "acc,none": 0.65}}}',
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_taking_the_added_keys_out_gives_the_same_file(tmp_path, layout):
    path = folder_of(tmp_path, ("rivers",), text=LAYOUTS[layout])
    before = path.read_bytes()
    made = annotate(report(tmp_path), path)
    after = made.text.encode()
    assert path.read_bytes() == before
    assert repr(without(made.text.lstrip("\ufeff"))) == repr(
        without(before.decode().lstrip("\ufeff"))
    )
    # Byte for byte: the original is what is left when one stretch a task is cut out.
    rest, cut = after, 0
    while rest != before:
        start = next(i for i in range(len(rest)) if rest[: i + 1] != before[: i + 1])
        length = len(after) - len(before)
        # The stretch may begin a little before the first difference, where both sides are alike.
        found = next(
            s for s in range(start, -1, -1) if rest[:s] + rest[s + length :] == before
        )  # fmt: skip
        rest, cut = rest[:found] + rest[found + length :], cut + 1
        assert cut == 1


def test_indents_and_places_are_those_of_the_file(tmp_path):
    text = annotate(report_of(tmp_path), tmp_path / RESULTS).text
    assert '"acc_stderr,none": 0.1,\n      "harmony,none": 0.' in text


def report_of(tmp_path):
    folder_of(tmp_path)
    return report(tmp_path)


SCALARS = st.none() | st.booleans() | st.floats() | st.text(max_size=6)
JUNK = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=4), SCALARS)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JUNK, st.sampled_from([None, 1, "\t"]))
def test_any_neighbours_survive(tmp_path_factory, junk, indent):
    folder = tmp_path_factory.mktemp("run")
    held = {"before": junk, "results": {"rivers": {"j": junk, "acc,none": 0.65}}, "after": junk}
    text = json.dumps(held, indent=indent)
    path = folder / RESULTS
    path.write_text(text)
    record = {"evaluations": [entry_of(folder / "samples.jsonl")]}
    made = annotate(record, path)
    assert repr(without(made.text)) == repr(without(text))
    assert json.loads(made.text)["results"]["rivers"]["harmony,none"] == 0.5


def entry_of(file, benchmark="rivers", value=0.5, score="acc", mean=0.65):
    return {
        "benchmark": benchmark,
        "score": {"name": score, "mean": mean},
        "harmony": {"value": value, "adjusted": 0.6, "agreement": 0.7},
        "partition": {"k": 2, "kind": "declared:subject"},
        "source": {"files": [str(file)]},
    }


@pytest.mark.parametrize(
    ("score", "mean", "held", "key"),
    [
        ("acc", 0.65, {"acc,none": 0.65}, "harmony,none"),
        ("exact_match", 0.2, {"exact_match,strict": 0.1, "exact_match,flex": 0.2}, "harmony,flex"),
        ("exact_match@strict", 0.2, {"exact_match,strict": 0.2, "x,flex": 1}, "harmony,strict"),
        ("f1", 0.2, {"acc,custom": 0.2}, "harmony,none"),
        ("acc", 0.65, {"acc": 0.65, "acc_stderr": 0.1}, "harmony"),
    ],
)
def test_the_filter_is_that_of_the_score(tmp_path, score, mean, held, key):
    path = tmp_path / RESULTS
    path.write_text(json.dumps({"results": {"rivers": held}}))
    entry = entry_of(tmp_path / "s.jsonl", score=score, mean=mean)
    text = annotate({"evaluations": [entry]}, path).text
    assert key in json.loads(text)["results"]["rivers"]


def test_the_harness_makes_its_table_of_the_copy(tmp_path):
    utils = pytest.importorskip("lm_eval.utils")
    held = {"rivers": {"alias": "rivers", "acc,none": 0.65, "acc_stderr,none": 0.1}}
    text = json.dumps(
        {"results": held, "versions": {"rivers": 1}, "n-shot": {"rivers": 0},
         "higher_is_better": {"rivers": {"acc": True}}, "group_subtasks": {}}
    )  # fmt: skip
    path = folder_of(tmp_path, ("rivers",), text=text)
    table = utils.make_table(json.loads(annotate(report(tmp_path), path).text))
    assert "harmony_adjusted" in table
    assert "declared:subject" in table


def test_tasks_without_h_are_told(tmp_path):
    path = folder_of(tmp_path, ("rivers", "birds", "moths"))
    record = report(tmp_path)
    record["evaluations"] = [e for e in record["evaluations"] if e["benchmark"] != "moths"]
    record["evaluations"][0]["harmony"]["value"] = None
    made = annotate(record, path)
    assert len(made.tasks) == 1
    assert "gets no HARMONY" in made.notes[0]
    assert "1 of 3 tasks are not in the report" in made.notes[1]
    assert "moths" in made.notes[1]


def test_only_the_samples_of_the_same_folder_count(tmp_path):
    record = report_of(tmp_path / "one")
    other = folder_of(tmp_path / "two")
    with pytest.raises(BenchharmonyError, match="no evaluation of its tasks from the same folder"):
        annotate(record, other)


def test_one_task_twice_is_refused(tmp_path):
    path = folder_of(tmp_path, ("rivers",))
    twice = [entry_of(tmp_path / "a.jsonl"), entry_of(tmp_path / "b.jsonl")]
    with pytest.raises(BenchharmonyError, match="2 evaluations of 'rivers'"):
        annotate({"evaluations": twice}, path)
    named = {**twice[1], "source": {"files": [str(tmp_path / "b.jsonl"), str(path)]}}
    assert annotate({"evaluations": [twice[0], named]}, path).tasks == ("rivers",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "no results file"),
        ('{"result": {}}', "no results file"),
        ('{"results": {"rivers": {"acc,none": 0.6', "no results file"),
        ('{"results": {"rivers": {"harmony,none": 0.6}}}', "has HARMONY already"),
        ("", "no results file"),
    ],
)
def test_files_that_are_no_results_are_refused_in_words(tmp_path, text, message):
    path = tmp_path / RESULTS
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        annotate({"evaluations": [entry_of(tmp_path / "s.jsonl")]}, path)


def test_nothing_is_replaced_without_being_asked(tmp_path):
    path = folder_of(tmp_path)
    record = report(tmp_path)
    new = tmp_path / "out" / "new.json"
    write_annotated(record, path, new)
    first = new.read_bytes()
    with pytest.raises(BenchharmonyError, match="exists; name another file, or add --overwrite"):
        write_annotated(record, path, new)
    assert new.read_bytes() == first
    write_annotated(record, path, new, overwrite=True)
    for overwrite in (False, True):
        with pytest.raises(BenchharmonyError, match="never written to"):
            check_new(path, tmp_path / "out" / ".." / RESULTS, overwrite=overwrite)
    with pytest.raises(BenchharmonyError, match="is a folder"):
        check_new(path, tmp_path)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(BenchharmonyError, match="never written to"):
        check_new(path, link, overwrite=True)


def test_the_command_writes_a_gzipped_copy(tmp_path, capsys):
    path = folder_of(tmp_path)
    packed = path.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    new = tmp_path / "out" / "results.json.gz"
    flags = ["--bootstrap", "0", "--permutations", "0", "--partition", "declared:subject"]
    assert main(["report", str(tmp_path), *flags, "--annotate", str(packed), str(new)]) == 0
    document = json.loads(gzip.decompress(new.read_bytes()))
    assert "harmony,none" in document["results"]["rivers"]
    assert f"written: {new}" in capsys.readouterr().err
    # The copy lies where a report looks for logs: it is no log and does no harm.
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("40 items") == 2


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_results_are_read_and_cut_off_ones_refused(tmp_path, ending):
    path = folder_of(tmp_path)
    text = path.read_text()
    packed = tmp_path / f"{RESULTS}{ending}"
    with pa.CompressedOutputStream(str(packed), {".gz": "gzip", ".zst": "zstd"}[ending]) as out:
        out.write(text.encode())
    record = report(tmp_path)
    assert without(annotate(record, packed).text) == without(text)
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(InputError):
        annotate(record, packed)


@pytest.mark.real_data
def test_a_real_results_file_is_kept_to_the_byte(shared_data, tmp_path):
    run = shared_data / "logs" / "local-lm-eval" / "gemma-3-270m"
    results = next(run.glob("results_mmlu*"))
    record = bh.report(
        bh.read(next(run.glob("samples_mmlu*"))), partition="declared:subject", bootstrap=0,
        permutations=0,
    ).record  # fmt: skip
    text = annotate(record, results).text
    before = gzip.decompress(results.read_bytes()).decode()
    added = text[text.index(',\n      "harmony,none"') : text.index('declared:subject"') + 17]
    assert added.count("\n") == 5
    assert text.replace(added, "", 1) == before


@pytest.mark.parametrize("fault", ["other tasks", "annotated already", "no results file"])
def test_a_file_that_does_not_fit_is_refused_before_anything_is_computed(
    fault, tmp_path, capsys, monkeypatch
):
    def refuse(*_, **__):
        raise AssertionError("computed before the refusal")

    monkeypatch.setattr(import_module("benchharmony.report.records"), "records_of", refuse)
    held = {"rivers": {"acc,none": 0.65, "harmony,none": 0.5}}
    path = folder_of(
        tmp_path,
        tasks=("rivers",),
        results={"lakes": {"acc,none": 0.65}} if fault == "other tasks" else held,
        text="[]" if fault == "no results file" else None,
    )
    page = tmp_path / "page.html"
    samples = str(next(tmp_path.glob("samples_*")))
    words = ["--html", str(page), "--annotate", str(path), str(tmp_path / "new.json")]
    assert main(["report", samples, *words]) == 2
    assert {
        "other tasks": "no evaluation of its tasks", "annotated already": "has HARMONY already",
        "no results file": "no results file of lm-eval",
    }[fault] in capsys.readouterr().err  # fmt: skip
    assert not page.exists()
