"""RedundantQA's data hold what its datasheet says, and its checks can fail."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchharmony.errors import InputError
from benchharmony.validation.redundantqa import (
    DOMAINS,
    ROLES,
    RedundantItem,
    composition_problems,
    gold_positions,
    item_problems,
    load_redundantqa,
    option_echo,
    option_lengths,
    overlap_gap,
    same_position_rate,
    word_overlap,
)

TOOL = Path(__file__).parents[1] / "tools" / "build_redundantqa.py"


@pytest.fixture(scope="module")
def items() -> list[RedundantItem]:
    return load_redundantqa()


def small_group() -> list[RedundantItem]:
    """One group, its options in order of length, the answer always the first."""
    options = ("Tin", "Lead", "Nickel", "Platinum")
    rows = [
        ("ref", "reference", "Which metal of the shop is sold as ore?", options),
        ("par1", "paraphrase", "What ore does this merchant have on offer?", options),
        ("par2", "paraphrase", "A trader keeps what?", ("Tin ingots", *options[1:])),
        ("dis1", "distractor", "Which metal of the shop is sold as wire?", ("Zinc", *options[1:])),
        ("dis2", "distractor", "Which metal of the shop is sold as foil?", ("Gold", *options[1:])),
    ]
    return [
        RedundantItem(f"x-01-{suffix}", question, choices, 0, "History", "x-01", role)
        for suffix, role, question, choices in rows
    ]


def changed(items: list[RedundantItem], index: int, **changes: object) -> list[RedundantItem]:
    copy = list(items)
    copy[index] = msgspec.structs.replace(copy[index], **changes)
    return copy


# --- the data --------------------------------------------------------------------------------


def test_the_file_holds_600_sound_items(items):
    assert len(items) == 600
    assert item_problems(items) == []
    assert composition_problems(items) == []


def test_each_domain_has_thirty_groups_of_five(items):
    for domain in DOMAINS:
        mine = [item for item in items if item.domain == domain]
        assert len(mine) == 150
        assert len({item.group for item in mine}) == 30


def test_gold_positions_are_balanced_overall_and_within_domains_and_roles(items):
    for key, counts in gold_positions(items).items():
        assert counts.sum() == {"all": 600, **{r: 120 * n for r, n in ROLES.items()}}.get(key, 150)
        assert counts.max() - counts.min() <= 1, key


def test_position_does_not_tell_paraphrases_from_distractors(items):
    rates = [same_position_rate(items, role) for role in ("paraphrase", "distractor")]
    assert rates == pytest.approx([0.25, 0.25], abs=0.02)


@pytest.mark.parametrize("key", ["all", *DOMAINS, *ROLES])
def test_length_does_not_give_the_answer_away(items, key):
    found = option_lengths([i for i in items if key in ("all", i.domain, i.role)])
    assert found.mean_rank == pytest.approx(2.5, abs=0.15)
    assert found.longest <= 0.30
    assert found.shortest <= 0.30


def test_no_answer_alone_repeats_a_word_of_its_question(items):
    assert option_echo(items)["gold"] == []


@pytest.mark.parametrize("kind", ["tfidf", "jaccard", "jaccard_question"])
def test_the_surface_ranks_distractors_above_paraphrases(items, kind):
    gap = overlap_gap(items, word_overlap(items, kind))
    assert gap.auc <= 0.02
    assert gap.auc_within <= 0.02
    assert gap.distractors_nearer >= 0.95, gap.exceptions


def test_reworded_paraphrases_are_hard_even_from_the_words_of_the_answer(items):
    # Paraphrases share an answer by design: the limit that the datasheet states.
    reworded = [item for item in items if not item.id.endswith("par1")]
    assert overlap_gap(items, word_overlap(items, "jaccard_gold")).auc < 0.85
    assert overlap_gap(reworded, word_overlap(reworded, "jaccard_gold")).auc < 0.75


def test_the_options_are_where_the_tool_puts_them():
    done = subprocess.run([sys.executable, str(TOOL), "--check"], check=False)
    assert done.returncode == 0, "run tools/build_redundantqa.py after an edit of the data"


# --- the checks can fail ---------------------------------------------------------------------


def test_a_sound_group_has_no_problem():
    group = small_group()
    assert item_problems(group) == []
    assert composition_problems(group) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": "x-01-foo"}, "the id is not"),
        ({"id": "x-01-dis1"}, "does not say reference"),
        ({"question": "Name the metal."}, "question mark"),
        ({"question": "Which  metal?"}, "stray space"),
        ({"choices": ("Tin", "tin", "Lead", "Iron")}, "repeated"),
        ({"choices": ("", "Tin", "Lead", "Iron")}, "empty"),
    ],
)
def test_an_unsound_item_is_named(changes, reason):
    problems = item_problems(changed(small_group(), 0, **changes))
    assert [reason in problem.reason for problem in problems] == [True]


@pytest.mark.parametrize(
    ("index", "changes", "reason"),
    [
        (4, {"id": "x-01-dis1"}, "id occurs twice"),
        (1, {"question": "which METAL of the shop is sold as ore?"}, "question occurs twice"),
        (1, {"role": "distractor"}, "one reference, two paraphrases"),
        (4, {"domain": "Biology"}, "more than one domain"),
        (4, {"choices": ("Zinc", "Lead", "Iron", "Nickel")}, "answer of another question"),
        (4, {"choices": ("tin", "Lead", "Iron", "Nickel")}, "answer of another question"),
        (1, {"choices": ("Tin ore", "Lead", "Iron", "Nickel")}, "first paraphrase must keep"),
        (2, {"choices": ("Tin", "Lead", "Iron", "Nickel")}, "the second not"),
    ],
)
def test_an_unsound_group_is_named(index, changes, reason):
    problems = composition_problems(changed(small_group(), index, **changes))
    assert [reason in problem.reason for problem in problems] == [True]


def test_option_lengths_count_ties_in_parts():
    shortest = option_lengths(small_group()[:1])
    assert (shortest.mean_rank, shortest.longest, shortest.shortest) == (1.0, 0.0, 1.0)
    tied = changed(small_group(), 0, choices=("Tin", "Ore", "Lead", "Iron"))[:1]
    assert option_lengths(tied).mean_rank == 1.5
    assert option_lengths(tied).shortest == 0.5


def test_echo_tells_the_answer_from_a_wrong_option():
    group = small_group()
    for answer, found in ((0, "gold"), (1, "wrong")):
        echoing = changed(group, 0, choices=("Ore", "Lead", "Iron", "Nickel"), answer=answer)[:1]
        assert option_echo(echoing)[found] == ["x-01-ref"]
    both = changed(group, 0, choices=("Ore", "Metal ore", "Iron", "Nickel"))[:1]
    assert option_echo(both) == {"gold": [], "wrong": []}


def test_word_overlap_is_the_jaccard_index():
    found = word_overlap(small_group(), "jaccard_question")
    # Of nine words, the reference and the first distractor share all but "ore" and "wire".
    assert found[0, 3] == pytest.approx(8 / 10)
    assert np.array_equal(np.diag(found), np.ones(5))
    with pytest.raises(KeyError):
        word_overlap(small_group(), "no such measure")


def test_overlap_gap_of_a_similarity_that_follows_meaning_or_surface():
    group = small_group()
    meaning = np.zeros((5, 5))
    meaning[0] = [1.0, 0.8, 0.7, 0.2, 0.1]
    found = overlap_gap(group, meaning)
    assert (found.auc, found.auc_within, found.distractors_nearer) == (1.0, 1.0, 0.0)
    assert found.exceptions == ("x-01",)
    surface = overlap_gap(group, -meaning)
    assert (surface.auc, surface.distractors_nearer, surface.exceptions) == (0.0, 1.0, ())
    mixed = meaning.copy()
    mixed[0, 3] = 0.75
    assert overlap_gap(group, mixed).auc == 0.75
    assert overlap_gap(group, np.ones((5, 5))).auc == 0.5
    fewer = [0, 2, 3, 4]
    without_first = overlap_gap([group[i] for i in fewer], mixed[np.ix_(fewer, fewer)])
    assert without_first.auc == 0.5


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=4))
def test_auc_depends_on_order_alone_and_turns_with_it(values):
    similarity = np.zeros((5, 5))
    similarity[0, 1:] = values
    auc = overlap_gap(small_group(), similarity).auc
    assert overlap_gap(small_group(), np.exp(similarity)).auc == auc
    assert overlap_gap(small_group(), -similarity).auc == pytest.approx(1 - auc)


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"id": "x"}',
        msgspec.json.encode(small_group()[0]).replace(b'"answer":0', b'"answer":4'),
        msgspec.json.encode(small_group()[0]).replace(b'"History"', b'"Geography"'),
        msgspec.json.encode(small_group()[0]).replace(b',"Platinum"', b""),
    ],
)
def test_a_line_that_is_not_an_item_is_named(tmp_path, line):
    path = tmp_path / "items.jsonl"
    path.write_bytes(msgspec.json.encode(small_group()[0]) + b"\n" + line + b"\n")
    with pytest.raises(InputError, match=r"items\.jsonl:2: "):
        load_redundantqa(path)
