"""Folders that Hugging Face datasets saved: read without it, all Arrow files as one table."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from benchharmony.readers import ReadOptions, SourceFile, datasets_on_disk, read_sources

ROWS = {
    "id": [f"q{i}" for i in range(8)],
    "correct": [True, False, True, True] * 2,
    "subject": ["sea", "sky"] * 4,
    "question": [f"What is {i}?" for i in range(8)],
}


def save(folder, tables, chosen=None, **state):
    """Write a folder as ``Dataset.save_to_disk`` does."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for i, table in enumerate(tables):
        name = f"data-{i:05d}-of-{len(tables):05d}.arrow"
        write_stream(folder / name, table)
        listed.append({"filename": name})
    facts = {"_data_files": listed, "_fingerprint": "0a1b", "_format_type": None, "_split": "test"}
    if chosen is not None:
        write_stream(folder / "indices.arrow", pa.table({"indices": pa.array(chosen, pa.uint64())}))
        facts["_indices_data_files"] = [{"filename": "indices.arrow"}]
    (folder / "state.json").write_text(json.dumps(facts | state, indent=2))
    info = {"citation": "", "description": "", "features": {}, "homepage": "", "license": ""}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    return folder


def write_stream(path, table):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def halves():
    table = pa.table(ROWS)
    return [table.slice(0, 5), table.slice(5)]


def read_one(source, **options):
    result = read_sources([source], ReadOptions(**options))
    (found,) = result.evaluations
    return found, result.unused


def test_the_files_of_a_folder_are_one_table(tmp_path):
    folder = save(tmp_path / "planets", halves())
    found, unused = read_one(folder)
    assert unused == ()
    assert (found.benchmark, len(found)) == ("planets", 8)
    assert found.item_ids == tuple(ROWS["id"])
    assert found.scores.tolist() == [1, 0, 1, 1] * 2
    assert set(found.groups["subject"]) == {"sea", "sky"}
    assert found.source.format == "Hugging Face dataset on disk"
    by_name, _ = read_one(folder / "state.json", columns={"score": "correct"})
    assert by_name.item_ids == found.item_ids


def test_splits_are_read_each_under_its_name(tmp_path):
    for split in ("dev", "test"):
        save(tmp_path / "planets" / split, [pa.table(ROWS)])
    (tmp_path / "planets" / "dataset_dict.json").write_text('{"splits": ["dev", "test"]}')
    result = read_sources([tmp_path])
    assert [e.benchmark for e in result.evaluations] == ["planets/dev", "planets/test"]
    assert result.unused == ()


def test_chosen_rows_are_taken_in_their_order(tmp_path):
    found, _ = read_one(save(tmp_path / "d", halves(), chosen=[6, 0, 1]))
    assert found.item_ids == ("q6", "q0", "q1")


def test_columns_that_differ_between_files_are_joined(tmp_path):
    first, second = halves()
    found, _ = read_one(save(tmp_path / "d", [first.drop(["subject"]), second]))
    assert len(found) == 8


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ({"_data_files": [{"filename": "gone.arrow"}]}, "'gone.arrow' is not beside it"),
        ({"_data_files": [{"filename": "../../etc/passwd"}]}, "no file beside it"),
        ({"_data_files": [{"filename": "/etc/passwd"}]}, "no file beside it"),
        ({"_data_files": []}, "without rows"),
        ({"_data_files": 7}, "without rows"),
        ({"_data_files": [{"filename": "dataset_info.json"}]}, "not a whole Arrow file"),
    ],
)
def test_states_that_lie_are_refused(tmp_path, spoil, reason):
    folder = save(tmp_path / "d", halves(), **spoil)
    result = read_sources([folder / "state.json"])
    assert reason in result.unused[0].reason


def test_rows_that_are_not_there_are_refused(tmp_path):
    folder = save(tmp_path / "d", halves(), chosen=[0, 99])
    assert "do not fit together" in read_sources([folder / "state.json"]).unused[0].reason


def test_other_files_of_the_folder_are_refused_alone(tmp_path):
    folder = save(tmp_path / "d", halves())
    for name in ("dataset_info.json", "data-00001-of-00002.arrow"):
        (problem,) = read_sources([folder / name]).unused
        assert "give its folder" in problem.reason
    (folder / "more.arrow").write_bytes((folder / "data-00000-of-00002.arrow").read_bytes())
    result = read_sources([folder])
    assert [len(e) for e in result.evaluations] == [5, 8]  # no state lists it: a table of its own


def test_what_datasets_itself_saves_is_read(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict(ROWS)
    rows.save_to_disk(str(tmp_path / "whole"), num_shards=2)
    rows.select([6, 0, 1]).save_to_disk(str(tmp_path / "some"))
    datasets.DatasetDict(test=rows).save_to_disk(str(tmp_path / "both"))
    result = read_sources([tmp_path])
    assert result.unused == ()
    found = {e.benchmark: e for e in result.evaluations}
    assert set(found) == {"both/test", "some", "whole"}
    assert found["whole"].item_ids == tuple(ROWS["id"])
    assert found["some"].item_ids == ("q6", "q0", "q1")
    shards = sorted((tmp_path / "whole").glob("*.arrow"))
    assert len(shards) == 2
    assert not datasets_on_disk.READERS[0].sniff(SourceFile(shards[0]))
