"""Every Eval Ever: instance rows, epochs, several evaluations in a file, the aggregate file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import SourceFile, read_sources
from benchharmony.readers.every_eval_ever import READERS
from harness_logs import (
    JUNK,
    PLANETS,
    read_with,
    replaced,
    survives,
    write_bytes,
    write_json,
    write_lines,
)

NAME = "0a1b_samples.jsonl"
RUN = "planets/sky_comet-1b/1700000000"


def rows(**changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "schema_version": "0.2.1",
            "evaluation_id": RUN,
            "model_id": "sky/comet-1b",
            "evaluation_name": "choice",
            "sample_id": f"p{k}",
            "interaction_type": "single_turn",
            "input": {
                "raw": question,
                "reference": [choices[gold] if k % 2 else "AB"[gold]],
                "choices": list(choices),
            },
            "output": {"raw": ["x"]},
            "answer_attribution": [],
            "evaluation": {"score": [1.0, 0.5, 0.0, 1][k], "is_correct": k != 2},
            "metadata": {"zone": ["inner", "inner", "outer", "outer"][k]},
        }
        | changes
        for k, (question, choices, gold, _) in enumerate(PLANETS)
    ]


def aggregate(score: float = 0.625, **config: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.2.1",
        "evaluation_id": RUN,
        "model_info": {"name": "comet", "id": "sky/comet", "developer": "sky"},
        "evaluation_results": [
            {
                "evaluation_name": "choice",
                "metric_config": config,
                "score_details": {"score": score},
            }
        ],
        "detailed_evaluation_results": {"file_path": NAME},
    }


def read(folder: Path, records: list[Any]) -> list[Evaluation]:
    return read_with(READERS, write_lines(folder / NAME, records))


def test_scores_texts_key_and_groups(tmp_path: Path) -> None:
    (found,) = read(tmp_path, rows())
    assert (found.benchmark, found.model) == ("planets/choice", "sky/comet-1b")
    assert found.item_ids == ("p0", "p1", "p2", "p3")
    assert found.score_name == "score"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0.5, 0, 1]
    assert found.metrics["is_correct"].tolist() == [1, 1, 0, 1]
    assert found.gold is not None
    assert found.gold.tolist() == [p[2] for p in PLANETS]  # by letter and by text
    assert found.choices == tuple(p[1] for p in PLANETS)
    assert found.texts == tuple(p[0] for p in PLANETS)
    assert found.groups == {"zone": ("inner", "inner", "outer", "outer")}
    assert found.notes == ()


def test_the_aggregate_file_is_compared_and_belongs_to_the_run(tmp_path: Path) -> None:
    write_lines(tmp_path / "instance_level_data" / NAME, rows())
    write_json(tmp_path / "other.json", aggregate() | {"evaluation_id": "another"})
    write_json(tmp_path / "run.json", aggregate(0.9))
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert found.source.format == "Every Eval Ever instances"
    assert found.metadata["developer"] == "sky"
    assert any("states a score of 0.9, the rows here give 0.625" in n for n in found.notes)
    assert [Path(p.path).name for p in result.unused] == ["other.json"]
    assert NAME in result.unused[0].reason


def test_a_score_that_falls_or_leaves_the_unit_interval_is_not_taken(tmp_path: Path) -> None:
    write_json(tmp_path / "0a1b.json", aggregate(lower_is_better=True))
    (found,) = read(tmp_path, rows())
    assert found.score_name == "is_correct"
    (tmp_path / "0a1b.json").unlink()
    (found,) = read(tmp_path, rows(evaluation={"score": 7, "is_correct": True}))
    assert found.score_name == "is_correct"
    assert any("is_correct is used" in n for n in found.notes)
    assert found.metrics["score"].tolist() == [7, 7, 7, 7]


def test_rows_of_one_sample_are_averaged_and_other_questions_are_not(tmp_path: Path) -> None:
    again = rows()[0] | {"evaluation": {"score": 0, "is_correct": False}}
    other = rows()[1] | {"sample_id": "p0"}
    (found,) = read(tmp_path, [*rows(), again, other])
    assert found.item_ids == ("p0", "p1", "p2", "p3", "p0#2")
    assert found.scores is not None
    assert found.scores.tolist() == [0.5, 0.5, 0, 1, 0.5]
    assert any("1 samples have several rows" in n for n in found.notes)


def test_names_and_models_of_one_file_are_apart(tmp_path: Path) -> None:
    records = [*rows(), *rows(evaluation_name="planets"), *rows(model_id="sky/other")]
    found = read(tmp_path, records)
    assert [(e.benchmark, e.model) for e in found] == [
        ("planets/choice", "sky/comet-1b"),
        ("planets", "sky/comet-1b"),
        ("planets/choice", "sky/other"),
    ]


def test_rows_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    records: list[Any] = [*rows(), rows()[0] | {"evaluation": None}, "{", rows()[0]]
    records[1] = rows()[1] | {"evaluation": {"score": None}}
    records[2]["error"] = "too slow"
    del records[6]["sample_id"]
    (found,) = read(tmp_path, records)
    assert found.item_ids == ("p0", "p2", "p3")
    assert found.source.items_read == 7
    assert [(p.line, p.item) for p in found.source.problems] == [
        (2, "p1"),
        (5, "p0"),
        (6, None),
        (7, None),
    ]
    assert any("1 of 3 samples were scored in spite of an error" in n for n in found.notes)


def test_an_aggregate_file_alone_is_refused(tmp_path: Path) -> None:
    file = write_json(tmp_path / "run.json", aggregate())
    with pytest.raises(InputError, match=r"aggregate results only.*0a1b_samples\.jsonl"):
        read_with(READERS, file)


def test_rows_longer_than_the_head_are_recognised(tmp_path: Path) -> None:
    long = [row | {"messages": [{"content": "x" * 100_000}]} for row in rows()]
    assert len(read(tmp_path, long)[0]) == 4


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(junk=JUNK, where=st.integers(0, 90), cut=st.floats(0.2, 1))
def test_junk_and_cuts_are_no_traceback(tmp_path: Path, junk: Any, where: int, cut: float) -> None:
    spoilt, _ = replaced(rows(), junk, where)
    lines = spoilt if isinstance(spoilt, list) else [spoilt]
    data = "\n".join(json.dumps(line) for line in [*rows()[:1], *lines]).encode()
    summary, _ = replaced(aggregate(), junk, where % 14)
    write_json(tmp_path / "0a1b.json", summary)
    survives(READERS, write_bytes(tmp_path / NAME, data[: int(cut * len(data))]))
    survives(READERS, SourceFile(tmp_path / "0a1b.json"))
