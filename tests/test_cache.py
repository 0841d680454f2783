"""Results that are kept: found again by what they were made from, and never wrong."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation, landscape, report
from benchharmony import cache as caching
from benchharmony.cache import Cache
from benchharmony.cli import main
from benchharmony.kept import (
    packed_group,
    packed_partition,
    unpacked_group,
    unpacked_partition,
)
from benchharmony.partition import partition
from benchharmony.report.settings import Settings
from planted import planted

QUICK = Settings(bootstrap=60, permutations=60, k_max=5)


@pytest.fixture(autouse=True)
def same_code(monkeypatch):
    """Hold the code still: a test run may meet a file of the package being edited."""
    monkeypatch.setattr(caching, "made_by", lambda: ("held",))


def some(n=3):
    return [
        replace(
            planted((40, 30, 30), seed=i, texts=[f"q {j}" for j in range(100)])[0],
            model=f"m{i}",
            notes=("\ud800 is no character",),
        )
        for i in range(n)
    ]


def entries(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "README")


def made(evaluations, folder, settings=QUICK, **how):
    cache = Cache(folder)
    result = report(evaluations, settings=settings, cache=cache, **how)
    return result, cache.found, cache.made


# --- the store ---------------------------------------------------------------------------------


def test_what_is_put_is_got_and_nothing_else(tmp_path):
    cache = Cache(tmp_path / "new" / "c")
    assert cache.get("ab12") is None
    assert not (tmp_path / "new").exists()
    cache.put("ab12", b"content")
    assert cache.get("ab12") == b"content"
    assert cache.get("ab13") is None
    assert "may be deleted" in (tmp_path / "new" / "c" / "README").read_text()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"",
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: data.replace(b"cache 1", b"cache 9"),
    ],
)
def test_a_damaged_entry_counts_as_missing(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put("ab12", b"content of some length")
    (path,) = entries(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("ab12") is None
    cache.put("ab12", b"content of some length")
    assert cache.get("ab12") == b"content of some length"


def test_a_file_is_no_cache_and_the_users_own_has_a_name(tmp_path, monkeypatch):
    (tmp_path / "f").write_text("")
    with pytest.raises(BenchharmonyError, match="f: a file, not a directory"):
        Cache(tmp_path / "f")
    with pytest.raises(BenchharmonyError, match="cannot be written"):
        Cache(tmp_path / "f" / "below").put("ab", b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert Cache("user").folder == tmp_path / "xdg" / "benchharmony" / "results"


def _write_often(folder, times):
    cache = Cache(folder)
    for _ in range(times):
        cache.put("ab12", b"x" * 200_000)


def test_two_writers_and_a_reader_never_meet_half_an_entry(tmp_path):
    start = multiprocessing.get_context("spawn").Process
    writers = [start(target=_write_often, args=(tmp_path, 100)) for _ in range(2)]
    for writer in writers:
        writer.start()
    cache, seen = Cache(tmp_path), set()
    while any(writer.is_alive() for writer in writers):
        try:
            data = (tmp_path / "ab" / "ab12").read_bytes()
        except FileNotFoundError:
            continue
        seen.add(len(data))
        assert cache.get("ab12") == b"x" * 200_000
    assert all(writer.exitcode == 0 for writer in writers)
    assert cache.get("ab12") == b"x" * 200_000
    assert len(seen) <= 1
    assert len(entries(tmp_path)) == 1  # no temporary file is left


# --- to bytes and back -------------------------------------------------------------------------


def same(a, b):
    """Whether two partitions are equal in every bit and type."""
    for name in ("labels", "centrality", "embedding"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        assert x is None or (x.dtype == y.dtype and x.tobytes() == y.tobytes())
    assert list(a.labels_by_k) == list(b.labels_by_k)
    assert all((a.labels_by_k[k] == b.labels_by_k[k]).all() for k in a.labels_by_k)
    assert all(b.labels_by_k[k].dtype == np.int64 for k in b.labels_by_k)
    assert list(a.silhouette_by_k.items()) == list(b.silhouette_by_k.items())
    plain = ("kind", "names", "positions", "tau", "unguarded_k", "engine", "engine_error",
             "undefined", "notes")  # fmt: skip
    assert [getattr(a, n) for n in plain] == [getattr(b, n) for n in plain]
    assert json.dumps(dict(a.settings)) == json.dumps(dict(b.settings))
    return True


@pytest.mark.parametrize("kind", ["predictive", "declared:subject", "text", "options", "auto"])
def test_a_partition_comes_back_the_same(kind):
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(list("abcdefgh"), 12) + "word") for _ in range(100)]
    e = replace(
        planted((40, 30, 30), texts=words)[0],
        option_logprobs=np.log(rng.dirichlet(np.ones(4), 100)),
    )
    split = partition(e, kind, k_range=(2, 5))
    assert same(split, unpacked_partition(packed_partition(split)))


def test_an_undefined_partition_and_numbers_that_are_none_come_back():
    split = partition(planted((4, 3))[0])
    assert split.undefined
    assert same(split, unpacked_partition(packed_partition(split)))
    odd = replace(split, silhouette_by_k={2: float("nan")}, engine_error=float("inf"), tau=0.1)
    again = unpacked_partition(packed_partition(odd))
    assert np.isnan(again.silhouette_by_k[2])
    assert (again.engine_error, again.tau) == (float("inf"), 0.1)


def test_partitions_of_a_group_are_stored_once_and_keep_their_tau():
    one = partition(planted((300, 200))[0], k=2)
    group = [replace(one, tau=t) for t in (0.5, 0.25, 0.125)]
    data = packed_group((group, {"kind": "shared", "sentences": ["é"]}))
    assert len(data) < 1.2 * len(packed_partition(one))
    back, found = unpacked_group(data)
    assert [p.tau for p in back] == [0.5, 0.25, 0.125]
    assert all(same(a, b) for a, b in zip(group, back, strict=True))
    assert found == {"kind": "shared", "sentences": ["é"]}


# --- reports -----------------------------------------------------------------------------------


def test_a_hit_equals_a_miss_equals_none(tmp_path):
    plain = report(some(), settings=QUICK)
    first, found, new = made(some(), tmp_path)
    assert (found, new) == (0, 6)  # a partition and a record each
    second, found, new = made(some(), tmp_path)
    assert (found, new) == (6, 0)
    assert plain.to_dict() == first.to_dict() == second.to_dict()
    assert plain.render("json") == first.render("json") == second.render("json")
    for a, b in zip(plain.splits, second.splits, strict=True):
        assert same(a.partition, b.partition)
        assert a.evaluation.item_ids == b.evaluation.item_ids


@pytest.mark.parametrize("how", [{"refit": 2}, {"tree": True}, {"partition": "declared:subject"}])
def test_a_hit_equals_a_miss_whatever_is_asked_for(tmp_path, how):
    settings = replace(QUICK, **how)
    plain = report(some(1), settings=settings)
    made(some(1), tmp_path, settings)
    again, _, new = made(some(1), tmp_path, settings)
    assert new == 0
    assert again.to_dict() == plain.to_dict()


@pytest.mark.parametrize("kind", ["shared", "responses"])
def test_partitions_of_many_models_are_kept_too(tmp_path, kind):
    rng = np.random.default_rng(1)
    models = [
        replace(e, scores=(rng.random(100) < 0.3 + 0.05 * i).astype(float), groups={})
        for i, e in enumerate(some(9))
    ]
    settings = replace(QUICK, partition=kind, k=3)
    plain = landscape(models, settings=settings, repeats=2).to_dict()
    cache = Cache(tmp_path)
    first = landscape(models, settings=settings, repeats=2, cache=cache).to_dict()
    second = landscape(models, settings=settings, repeats=2, cache=cache).to_dict()
    assert (cache.found, cache.made) == (1, 1)
    assert json.dumps(plain) == json.dumps(first) == json.dumps(second)


CHANGES = {
    # what changes: (how, partitions computed anew, records computed anew) of one evaluation
    "nothing": (lambda e: e, 0, 0),
    "a score": (lambda e: replace(e, scores=1 - e.scores), 0, 1),
    "a text": (lambda e: replace(e, texts=("other", *e.texts[1:])), 1, 1),
    "a label": (lambda e: replace(e, groups={"subject": e.groups["subject"][::-1]}), 1, 1),
    "an id": (lambda e: replace(e, item_ids=("other", *e.item_ids[1:])), 1, 1),
    "the model's name": (lambda e: replace(e, model="other"), 1, 1),
    "a note": (lambda e: replace(e, notes=("other",)), 0, 1),
    "the file": (lambda e: replace(e, source=replace(e.source, files=("other",))), 0, 1),
    "a distribution": (lambda e: replace(e, predictive=some(2)[1].predictive), 1, 1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_only_what_a_change_touches_is_computed_again(tmp_path, what):
    change, partitions, records = CHANGES[what]
    made(some(1), tmp_path)
    changed = [change(e) for e in some(1)]
    again, _, new = made(changed, tmp_path)
    assert new == partitions + records
    assert again.to_dict() == report(changed, settings=QUICK).to_dict()


@pytest.mark.parametrize(
    ("setting", "new"),
    [
        ({"bandwidth": 0.2}, 1), ({"bootstrap": 61}, 1), ({"level": 0.9}, 1), ({"refit": 2}, 1),
        ({"tau": 0.7}, 2), ({"k": 3}, 2), ({"seed": 1}, 2), ({"partition": "text"}, 2),
        ({"min_share": 0.1}, 2), ({"engine": "matrix-free"}, 2), ({"k_max": 4}, 2),
    ],
)  # fmt: skip
def test_a_setting_that_matters_is_part_of_the_key(tmp_path, setting, new):
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(["red", "blue", "green", "dog", "cat"], 6)) for _ in range(100)]
    models = [replace(e, texts=tuple(texts)) for e in some(1)]
    made(models, tmp_path)
    assert made(models, tmp_path, replace(QUICK, **setting))[2] == new


def test_other_code_or_libraries_are_part_of_the_key(tmp_path, monkeypatch):
    made(some(1), tmp_path)
    monkeypatch.setattr(caching, "made_by", lambda: ("changed",))
    assert made(some(1), tmp_path)[2] == 2


def test_what_made_a_result_names_version_code_and_libraries(monkeypatch):
    monkeypatch.undo()
    schema, version, code, *libraries = caching.made_by()
    assert isinstance(schema, int)
    assert version.count(".") == 2
    assert len(code) == 64
    assert [name.split()[0] for name in libraries] == ["numpy", "scipy", "scikit-learn"]


def test_the_other_models_of_a_benchmark_are_part_of_the_key(tmp_path):
    """The cross-fitted null of one model is made from the partitions of the others."""
    made(some(2), tmp_path)
    assert made(some(3), tmp_path)[1:] == (2, 4)  # the two partitions stay, every record is new


def test_a_damaged_or_foreign_entry_is_computed_again_and_mended(tmp_path):
    plain = report(some(1), settings=QUICK).to_dict()
    made(some(1), tmp_path)
    whole = {p: p.read_bytes() for p in entries(tmp_path)}
    for path in whole:
        path.write_bytes(whole[path][:-7])
    again, found, new = made(some(1), tmp_path)
    assert (found, new) == (0, 2)
    assert again.to_dict() == plain
    assert {p: p.read_bytes() for p in entries(tmp_path)} == whole
    for path in whole:  # whole files, but not of results
        Cache(tmp_path).put(path.name, b"[1, 2]")
    again, found, new = made(some(1), tmp_path)
    assert (found, new) == (0, 2)
    assert again.to_dict() == plain


def test_a_failure_is_not_kept(tmp_path):
    without = Evaluation.from_arrays(benchmark="b", model="m", scores=[0.0, 1.0] * 30)
    models = [*some(1), without]
    settings = replace(QUICK, partition="predictive")
    first, _, new = made(models, tmp_path, settings)
    assert new == 3
    second, found, new = made(models, tmp_path, settings)
    assert (found, new) == (2, 1)
    assert first.to_dict() == second.to_dict()
    assert "no predictive distributions" in second.to_dict()["evaluations"][1]["error"]


def test_a_file_left_on_disk_has_the_key_of_the_same_in_memory(tmp_path):
    (whole,) = some(1)
    whole = replace(whole, notes=())
    whole.save(tmp_path / "e.parquet")
    made([whole], tmp_path / "c")
    lazily = Evaluation.load(tmp_path / "e.parquet", lazily=True)
    assert made([lazily], tmp_path / "c")[1:] == (2, 0)


def test_processes_keep_results_too(tmp_path):
    first, _, new = made(some(), tmp_path, jobs=2)
    assert new == 6
    second, found, _ = made(some(), tmp_path)
    assert found == 6
    assert first.render("json") == second.render("json")


# --- killed in the middle ----------------------------------------------------------------------

_RUN = """
import sys
sys.path.insert(0, {tests!r})
import benchharmony.cache as caching
caching.made_by = lambda: ("held",)
from test_cache import QUICK, report, some
report(some(16), settings=QUICK, cache={folder!r})
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    script = _RUN.format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", script])
    while len(entries(tmp_path)) < 3 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
    there = sum(Cache(tmp_path).get(p.name) is not None for p in entries(tmp_path))
    assert 3 <= there < 32
    resumed, found, new = made(some(16), tmp_path)
    assert (found, new) == (there, 32 - there)
    assert resumed.render("json") == report(some(16), settings=QUICK).render("json")


# --- the command line --------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path):
    (one,) = some(1)
    path = tmp_path / "e.parquet"
    replace(one, notes=()).save(path)
    return path


def test_the_flag_keeps_and_says_what_was_kept(tmp_path, log, capsys, monkeypatch):
    monkeypatch.delenv("BENCHHARMONY_CACHE", raising=False)
    common = ["report", str(log), "--format", "json", "--bootstrap", "60", "--permutations", "60"]
    assert main(common) == 0
    plain = capsys.readouterr()
    keep = [*common, "--cache", str(tmp_path / "c")]
    assert main(keep) == 0
    first = capsys.readouterr()
    assert main(keep) == 0
    second = capsys.readouterr()
    assert plain.out == first.out == second.out
    assert "kept" not in first.err
    assert f"2 of 2 results were kept in {tmp_path / 'c'}" in second.err


def test_the_variable_turns_it_on_and_a_flag_off(tmp_path, log, capsys, monkeypatch):
    monkeypatch.setenv("BENCHHARMONY_CACHE", str(tmp_path / "c"))
    common = ["report", str(log), "--bootstrap", "60", "--permutations", "60"]
    assert main([*common, "--no-cache"]) == 0
    assert not (tmp_path / "c").exists()
    assert main(common) == 0
    assert len(entries(tmp_path / "c")) == 2
    with pytest.raises(SystemExit):
        main([*common, "--cache", "x", "--no-cache"])
    (tmp_path / "file").write_text("")
    assert main([*common, "--cache", str(tmp_path / "file")]) == 2
    assert "a file, not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["0", "-1", "two"])
def test_jobs_are_a_number_from_one(log, value, capsys):
    with pytest.raises(SystemExit):
        main(["report", str(log), "--jobs", value])
    assert "a whole number from 1" in capsys.readouterr().err
