"""Result tables of the Inverse Scaling pipeline: three variants, with and without their items."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.evaluation import Evaluation
from benchharmony.readers import SourceFile, read_sources
from benchharmony.readers.inverse_scaling import READERS
from harness_logs import read_with, survives, write_bytes

#: Probability of the right option among two, the mass of both, and which is right.
PLAIN = ((0.75, 0.5, 0), (0.25, 0.25, 1), (0.9, 0.5, 1))
DATA = (
    ",prompt,classes,answer_index,topic\n"
    "0,\"Is ice cold,\nyes or no?\",\"[' yes', ' no']\",0,water\n"
    "1,Is fire cold?,\"[' yes', ' no']\",1,fire\n"
    "2,Is steam cold?,\"[' yes', ' no']\",1,water\n"
)


def classification() -> str:
    lines = ["index,loss,correct,total_logprob"]
    for k, (p, mass, _) in enumerate(PLAIN):
        lines.append(f"{k},{-math.log(p)},{int(p > 0.5)},{math.log(mass)}")
    return "\n".join(lines) + "\n"


def write(folder: Path, table: str, data: str | None = DATA, name: str = "owl.csv") -> SourceFile:
    if data is not None:
        write_bytes(folder / "cold" / "data.csv.gz", data.encode())
    return write_bytes(folder / "cold" / name, table.encode())


def read(folder: Path, table: str, data: str | None = DATA) -> Evaluation:
    (found,) = read_with(READERS, write(folder, table, data))
    return found


def test_both_options_follow_from_the_loss_and_the_mass(tmp_path: Path) -> None:
    found = read(tmp_path, classification())
    assert (found.benchmark, found.model) == ("cold", "owl")
    assert found.score_name == "correct"
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 1]
    assert found.gold is not None
    assert found.gold.tolist() == [0, 1, 1]
    assert found.option_logprobs is not None
    wanted = [[0.375, 0.125], [0.1875, 0.0625], [0.05, 0.45]]
    np.testing.assert_allclose(np.exp(found.option_logprobs), wanted, rtol=1e-12)
    np.testing.assert_array_equal(found.predicted_option == found.gold, found.scores == 1)
    np.testing.assert_allclose(found.metrics["p_correct"], [0.75, 0.25, 0.9], rtol=1e-12)
    assert found.choices == ((" yes", " no"),) * 3
    assert found.texts is not None
    assert found.texts[0] == "Is ice cold,\nyes or no?"


def test_without_items_the_order_of_the_options_is_not_made_up(tmp_path: Path) -> None:
    found = read(tmp_path, classification(), data=None)
    assert (found.option_logprobs, found.gold, found.texts) == (None, None, None)
    assert any("data.csv is not beside" in n for n in found.notes)
    short = "\n".join(DATA.split("\n")[:3]) + "\n"
    assert any("data.csv lacks items" in n for n in read(tmp_path, classification(), short).notes)


def test_a_loss_alone_is_a_graded_score(tmp_path: Path) -> None:
    table = f"index,loss\n0,{math.log(2)}\n1,{math.log(4)}\n2,0\n"
    data = ",prompt,completion\n0,A dog is an, animal\n1,A b,c\n2,A d,e\n"
    found = read(tmp_path, table, data)
    assert found.score_name == "p_correct"
    assert found.scores is not None
    np.testing.assert_allclose(found.scores, [0.5, 0.25, 1], rtol=1e-12)
    assert found.texts == ("A dog is an", "A b", "A d")
    assert found.choices is None
    assert any("not an accuracy" in n for n in found.notes)


def test_differences_of_log_odds_are_a_metric_and_not_the_score(tmp_path: Path) -> None:
    table = "index,logodds_difference,correct,total_logprob\n0,-0.5,1,-1\n1,2.5,0,-1\n2,0,1,-1\n"
    found = read(tmp_path, table)
    assert found.scores is not None
    assert found.scores.tolist() == [1, 0, 1]
    assert found.metrics["logodds_difference"].tolist() == [-0.5, 2.5, 0]
    assert found.option_logprobs is None
    assert found.gold is not None


def test_rows_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    table = classification() + "3,nan,1,-1\n4,0.1,7,-1\n,0.1,1,-1\n0,0.1,1,-1\n5,0."
    found = read(tmp_path, table)
    assert found.item_ids == ("0", "1", "2")
    assert found.source.items_read == 8
    reasons = {p.line or 0: p.reason for p in found.source.problems}
    assert sorted(reasons) == [5, 6, 7, 8, 9]
    assert "the loss 'nan'" in reasons[5]
    assert "correct is '7'" in reasons[6]
    assert "no index" in reasons[7]
    assert "earlier row" in reasons[8]
    assert "cut off" in reasons[9]


def test_a_broken_off_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a header without rows"):
        read(tmp_path, "index,loss,correct,total_logprob\n")


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, classification())
    arguments = b'{"dataset": "cold", "exp_dir": "x", "models": [], "use_gpu": true}{"dataset": 1}'
    write_bytes(tmp_path / "cold" / "args.log", arguments)
    result = read_sources([tmp_path])
    (found,) = result.evaluations
    assert found.source.format == "inverse scaling"
    assert found.metadata == {"dataset": "cold"}
    assert result.unused == ()
    for name in ("data.csv.gz", "args.log"):
        with pytest.raises(InputError, match=r"no .*results"):
            read_with(READERS, SourceFile(tmp_path / "cold" / name))


def test_options_are_never_evaluated_as_code(tmp_path: Path) -> None:
    data = DATA.replace("[' yes', ' no']", "[print('x'), 1]")
    found = read(tmp_path, classification(), data)
    assert (found.choices, found.option_logprobs) == (None, None)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damage_is_no_traceback(tmp_path: Path, data: st.DataObject) -> None:
    spoilt = []
    for whole in (classification(), DATA):
        start = data.draw(st.integers(0, len(whole)))
        size = data.draw(st.integers(0, 20))
        junk = data.draw(st.text(max_size=12) | st.sampled_from(['"', "\r", "\0", "[" * 300, "-1"]))
        spoilt.append((whole[:start] + junk + whole[start + size :]).encode("utf-8", "replace"))
    write_bytes(tmp_path / "cold" / "data.csv.gz", spoilt[1])
    survives(READERS, write_bytes(tmp_path / "cold" / "owl.csv", spoilt[0]))
    survives(READERS, SourceFile(tmp_path / "cold" / "data.csv.gz"))
