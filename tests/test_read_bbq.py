"""BBQ prediction files: one evaluation for each prediction column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.readers import read_sources
from benchharmony.readers.bbq import READERS
from harness_logs import JUNK, read_with, replaced, survives, write_bytes, write_lines

NAME = "preds_Pets.jsonl"
#: Right option, and what the two prompt formats answered.
ANSWERS = ((0, "the cat", "The dog"), (2, "Not known ", "a parrot"), (1, "the dog", "the dog"))


def rows() -> list[dict[str, Any]]:
    return [
        {
            "example_id": 10 + k,
            "category": "Pets",
            "context_condition": ["ambig", "disambig", "ambig"][k],
            "additional_metadata": {"subcategory": "None", "source": "somewhere"},
            "context": "A cat and a dog were in the kitchen.",
            "question": f"Who broke vase {k}?",
            "ans0": "The cat",
            "ans1": "The dog",
            "ans2": "Not known",
            "label": right,
            "owl-2b_pred_race": race,
            "owl-2b_pred_arc": arc,
        }
        for k, (right, race, arc) in enumerate(ANSWERS)
    ]


def test_every_prediction_column_is_an_evaluation(tmp_path: Path) -> None:
    write_lines(tmp_path / f"{NAME}.gz", rows())
    race, arc = read_sources([tmp_path]).evaluations
    assert (race.benchmark, race.model) == ("BBQ Pets (race)", "owl-2b")
    assert (arc.benchmark, arc.metadata["prompt_format"]) == ("BBQ Pets (arc)", "arc")
    assert race.source.format == "BBQ predictions"
    assert race.item_ids == ("10", "11", "12")
    assert race.scores is not None
    assert race.scores.tolist() == [1, 1, 1]  # case and outer spaces do not count
    assert race.notes == ()
    assert arc.scores is not None
    assert arc.scores.tolist() == [0, 0, 1]
    assert arc.notes == ("1 of 3 answers are no option's text and count as wrong",)
    assert race.gold is not None
    assert race.gold.tolist() == [0, 2, 1]
    assert race.choices == (("The cat", "The dog", "Not known"),) * 3
    assert race.texts is not None
    assert race.texts[0] == "A cat and a dog were in the kitchen.\nWho broke vase 0?"


def test_conditions_are_declared_columns(tmp_path: Path) -> None:
    doubled = rows() + [row | {"example_id": row["example_id"] + 50} for row in rows()]
    found = read_with(READERS, write_lines(tmp_path / NAME, doubled))[0]
    assert found.groups == {"context_condition": ("ambig", "disambig", "ambig") * 2}


def test_items_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    bad = [rows()[0] | {"label": 3}, rows()[0] | {"ans1": ""}, rows()[1], "{"]
    records: list[Any] = [*rows(), *bad]
    del records[2]["owl-2b_pred_race"]
    race, arc = read_with(READERS, write_lines(tmp_path / NAME, records))
    assert (len(race), len(arc)) == (2, 3)
    assert race.source.items_read == arc.source.items_read == 7
    assert [(p.line, p.reason.split("(")[0].strip()) for p in race.source.problems] == [
        (3, "no text in owl-2b_pred_race"),
        (4, "the label '3' is none of 0, 1 and 2"),
        (5, "not three options ans0, ans1 and ans2 with text"),
        (6, "the example_id of an earlier line, which is kept"),
        (7, "not valid JSON"),
    ]


def test_a_file_without_a_usable_item_is_refused(tmp_path: Path) -> None:
    file = write_lines(tmp_path / NAME, [row | {"label": -1} for row in rows()])
    with pytest.raises(InputError, match="the label '-1' is none"):
        read_with(READERS, file)


def test_items_without_predictions_are_left_alone(tmp_path: Path) -> None:
    plain = [{k: v for k, v in row.items() if "pred" not in k} for row in rows()]
    file = write_lines(tmp_path / NAME, plain)
    assert not any(r.sniff(file) for r in READERS)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(junk=JUNK, where=st.integers(0, 45), cut=st.floats(0.3, 1))
def test_junk_and_cuts_are_no_traceback(tmp_path: Path, junk: Any, where: int, cut: float) -> None:
    spoilt, _ = replaced(rows(), junk, where)
    lines = spoilt if isinstance(spoilt, list) else [spoilt]
    data = "\n".join(json.dumps(line) for line in [*rows()[:1], *lines]).encode()
    survives(READERS, write_bytes(tmp_path / NAME, data[: int(cut * len(data))]))
