"""Items line up by id where ids agree, by question where they do not; what does not is told."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony import BenchharmonyError, Evaluation, read
from benchharmony.alignment import line_up, match
from benchharmony.cli import main
from benchharmony.item_keys import item_key, item_keys, normalised
from benchharmony.report import Settings
from benchharmony.splits import split_all

WORDS = ("river", "stone", "cloud", "maple", "copper", "violin", "harbour", "winter", "lantern")
QUESTIONS = tuple(
    f"Which {a} lies nearest to the {b} of {i}?"
    for i, (a, b) in enumerate((a, b) for a in WORDS for b in WORDS[:4])
)
OPTIONS = ("the red one", "the blue one", "the green one")


def log(ids=None, texts=QUESTIONS, choices="same", model="m", benchmark="b", **more):
    n = len(texts) if texts is not None else len(ids)
    return Evaluation.from_arrays(
        benchmark=benchmark,
        model=model,
        item_ids=ids,
        scores=(np.arange(n) % 3 > 0).astype(float),
        texts=texts,
        choices=[OPTIONS] * n if choices == "same" else choices,
        **more,
    )


def prompt(question, options=OPTIONS):
    """Set a question out as a harness that keeps whole prompts does."""
    listed = "\n".join(f"{'ABC'[i]}. {o}" for i, o in enumerate(options))
    return f"Question: {question}\n{listed}\nAnswer with the letter only."


# Keys


@pytest.mark.parametrize(
    "text",
    [
        "  What is a \u201cstone\u201d \u2013 and why?\n",
        "WHAT IS A \"STONE\" - AND WHY?",
        "Question: What is a \"stone\" - and why?",
        "Q: What is a \"stone\" - and why?\nAnswer:",
        "What is a \"stone\" - and why?\n(A) a river\n(B) a pebble\nAnswer:",
        "What is a \"stone\" - and why?\nChoices:\nA) a river\nB) a pebble\nAnswer with a letter.",
        "What is a \"stone\" - and why? 1. A river 2. A pebble",
    ],
)  # fmt: skip
def test_one_question_has_one_key_however_it_is_set_out(text):
    assert item_key(text, ["A  river ", "a pebble"]) == item_key(
        'What is a "stone" - and why?', ["a pebble", "a river"]
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("2 + 3?", ["5", "6"]), ("2 - 3?", ["5", "6"])),
        (("Which?", ["a", "b"]), ("Which?", ["a", "c"])),
        (("Which?", ["ab", "c"]), ("Which?", ["a", "bc"])),
        (("Which?", ["a", "a"]), ("Which?", ["a"])),
        (("Which? a", []), ("Which?", ["a"])),
        (("x\u00b2", ()), ("x3", ())),
    ],
)
def test_other_questions_have_other_keys(one, other):
    assert item_key(*one) != item_key(*other)


def test_a_passage_before_the_question_is_part_of_it_and_its_labels_are_not():
    bare = item_key("It rained.\nWhy is it wet?", ["a", "b"])
    assert item_key("Passage: It rained.\nQuestion: Why is it wet?", ["a", "b"]) == bare
    assert item_key("Context : It rained.\n  Q: Why is it wet?\nA. a\nB. b", ["a", "b"]) == bare
    assert item_key("Why is it wet?", ["a", "b"]) != bare


def test_keys_do_not_change_from_version_to_version():
    key = item_key("Which planet is nearest to the sun?", ["Mercury", "Venus"])
    assert key is not None
    assert key.hex() == "744ceb229aa0e31c8ac50ed258cb8085"


@pytest.mark.parametrize("text", ["", " \n\u3000"])
def test_no_question_has_no_key(text):
    assert item_key(text, ["a", "b"]) is None


def test_a_question_that_is_all_scaffold_keeps_it():
    assert item_key("Answer:") is not None


@given(st.text(max_size=40))
def test_normalising_twice_is_normalising_once(text):
    once = normalised(text)
    assert normalised(once) == once
    assert item_key(text) is None or len(item_key(text)) == 16


@given(st.text("ab .:()\n1?", max_size=30), st.lists(st.text("ab1 .", max_size=4), max_size=5))
def test_the_order_of_options_is_not_part_of_the_key(text, options):
    listed = [o for o in options if o.strip()]
    bare = item_key(text)
    if bare is not None and not any(o in text for o in listed):
        assert item_key(text, listed) == item_key(text, listed[::-1])


def test_keys_without_options_are_those_of_the_question_alone():
    whole = log(texts=[prompt(q) for q in QUESTIONS])
    bare = log(choices=None)
    assert item_keys(whole, options=False) == item_keys(bare)
    assert item_keys(whole) != item_keys(bare)


# Pairs


def test_equal_ids_and_questions_match_by_id():
    a, b = log(), log()
    found = match(a, b.take(np.arange(36)[::-1]))
    assert found.rows_a.tolist() == list(range(36))
    assert found.rows_b.tolist() == list(range(36))[::-1]
    assert (found.by_id, found.by_content) == (36, 0)


def test_without_questions_ids_are_all_there_is():
    found = match(log(ids=list("cax"), texts=None, choices=None), log(choices=None).take([0, 1]))
    assert len(found.rows_a) == 0
    a, b = log(list("caxb"), None, None), log(list("bca"), None, None)
    found = match(a, b)
    assert found.rows_a.tolist() == [0, 1, 3]
    assert found.rows_b.tolist() == [1, 2, 0]


def test_ids_of_another_kind_are_no_hindrance():
    order = np.random.default_rng(0).permutation(36)
    other = log([f"id{i}" for i in range(36)], [prompt(QUESTIONS[i]) for i in order])
    found = match(log(), other)
    assert found.by_content == 36
    assert order[found.rows_b].tolist() == list(range(36))


def test_ids_that_number_another_order_are_not_believed():
    order = np.random.default_rng(1).permutation(36)
    other = log(texts=[QUESTIONS[i] for i in order])
    found = match(log(), other)
    assert order[found.rows_b].tolist() == found.rows_a.tolist() == list(range(36))
    assert found.differ == ()


def test_an_id_of_two_questions_is_left_out_and_named():
    other = list(QUESTIONS)
    other[5], other[9] = "Who sings at night?", "What floats?"
    found = match(log(), log(texts=other))
    assert found.differ == ("5", "9")
    assert len(found.rows_a) == found.by_id == 34


def test_two_prompts_of_one_benchmark_still_match_by_id():
    reworded = [f"You are an expert. Say briefly: {q} Think first." for q in QUESTIONS]
    found = match(log(), log(texts=reworded))
    assert (len(found.rows_a), found.reworded, found.by_content) == (36, 36, 0)


def test_counters_of_two_different_sets_are_not_taken_for_one():
    other = [f"Say who saw {a} and {b}." for a in "abcdef" for b in "uvwxyz"]
    found = match(log(), log(texts=other))
    assert len(found.rows_a) == 0
    assert len(found.differ) == 36


def test_repeated_questions_need_ids():
    texts = (*QUESTIONS[:34], "Which is true?", "Which is true?")
    found = match(log(texts=texts), log([f"x{i}" for i in range(36)], texts))
    assert found.by_content == 34
    assert found.ambiguous == ("34", "35")
    assert match(log(texts=texts), log(texts=texts)).by_id == 36


def test_options_of_one_log_only_are_left_out_of_the_key():
    found = match(log(), log([f"x{i}" for i in range(36)], choices=None))
    assert found.by_content == 36


def test_equal_ids_need_equal_questions_across_benchmarks():
    bare = log(texts=None, ids=range(36), choices=None)
    assert len(match(bare, bare, trust_ids=False).rows_a) == 0
    assert match(log(), log(), trust_ids=False).by_id == 36
    empty = log(texts=[""] * 36)
    for other in (empty, empty.take(range(30))):
        assert len(match(empty, other, trust_ids=False).rows_a) == 0


# Groups


def test_the_lined_up_have_one_order_and_the_ids_of_the_first():
    order = np.random.default_rng(2).permutation(36)[:30]
    other = log([f"id{i}" for i in range(30)], [QUESTIONS[i] for i in order], model="n")
    lined = line_up([log(), other, log(model="o").take(range(1, 36))])
    assert len({e.item_ids for e in lined.evaluations}) == 1
    assert len({e.texts for e in lined.evaluations}) == 1
    ids = lined.evaluations[0].item_ids
    assert list(ids) == sorted(ids)
    whole = " ".join(lined.notes)
    assert f"{len(ids)} items are common to all models (up to 36 in one" in whole
    assert "30 items of n (memory) are matched with those of m (memory) by question" in whole
    rows = line_up([log(), other], order="first").evaluations[0].item_ids
    assert list(map(int, rows)) == sorted(map(int, rows))


def test_equal_items_need_no_note():
    lined = line_up([log(), log(model="n").take(np.arange(36)[::-1])])
    assert lined.notes == ()


def test_mismatches_are_counted_and_named():
    other = list(QUESTIONS)
    for i in range(5):
        other[i] = f"A stranger {i}?"
    (first, *_) = notes = line_up([log(), log(texts=other, model="n")]).notes
    assert "31 items are common" in first
    assert "5 ids of n (memory) stand for other questions" in notes[1]
    assert notes[1].endswith("(0, 1, 2, ...)")


def test_nothing_in_common_is_refused_in_words():
    strangers = log([f"x{i}" for i in range(3)], ["Who?", "When?", "How?"], model="n")
    with pytest.raises(BenchharmonyError, match=r"no item is common.*'0', of n: 'x0'"):
        line_up([log(), strangers])
    with pytest.raises(BenchharmonyError, match="--items to match by question"):
        line_up([log(), log(["x"], None, None, model="n")])


def test_models_of_two_harnesses_share_a_partition():
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1, 2], 12)
    order = rng.permutation(36)

    def seen(rows):
        p = np.exp(rng.normal(0, 0.2, (36, 20)) + 2 * np.eye(20)[truth])
        return (p / p.sum(1, keepdims=True))[rows]

    a = log(predictive=seen(np.arange(36)), model="a")
    b = log(
        [f"id{i}" for i in range(36)], [prompt(QUESTIONS[i]) for i in order], model="b",
        predictive=seen(order),
    )  # fmt: skip
    made = split_all([a, b], Settings(partition="shared", k=3))
    group = truth[[int(i) for i in made.splits[0].evaluation.item_ids]]
    labels = made.splits[0].partition.labels
    assert len(set(zip(group, labels.tolist(), strict=True))) == 3
    assert made.splits[1].evaluation.item_ids == made.splits[0].evaluation.item_ids
    assert any("by question" in note for note in made.splits[1].evaluation.notes)


def test_compare_lines_up_benchmarks_of_two_names_by_question(tmp_path, capsys):
    log(groups={"g": ["x", "y"] * 18}).save(tmp_path / "a.parquet")
    other = [prompt(q) for q in QUESTIONS[:30]]
    log([f"s{i}" for i in range(30)], other, model="n", benchmark="b-letters").save(
        tmp_path / "b.parquet"
    )
    arguments = ["compare", str(tmp_path), "--partition", "declared:g", "--format", "json"]
    assert main(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_items"], record["items_of_one_only"]) == (30, [6, 0])
    assert record["benchmark"] == "b = b-letters"
    assert any("by question" in w for w in record["warnings"])


@pytest.mark.real_data
def test_three_harnesses_on_one_benchmark_line_up(shared_data):
    logs = shared_data / "logs"
    found = read(logs / "local-lm-eval" / "smollm2-135m-instruct")
    lm_eval = next(e for e in found if e.benchmark == "arc_easy_local")
    with pytest.warns(UserWarning, match="reported once"):
        (inspect,) = read(logs / "local-inspect")
    (lighteval,) = read(logs / "local-lighteval")
    # Without ids: the questions alone, one set of them inside prompts.
    numbered = [
        Evaluation.from_arrays(
            benchmark="arc", model=str(i), scores=e.scores, texts=e.texts, choices=e.choices
        )
        for i, e in enumerate((lm_eval, inspect, lighteval))
    ]
    for other, by_id in ((1, inspect), (2, lighteval)):
        found = match(numbered[0], numbered[other])
        assert found.by_id + found.by_content == len(by_id)
        ids = [lm_eval.item_ids[i] for i in found.rows_a]
        assert ids == [by_id.item_ids[j] for j in found.rows_b]
    assert len(line_up(numbered).evaluations[0]) == 40
