"""Headline and warnings of a rebalancing say the same about sizes and choice."""

import copy
import dataclasses
import html
import re

import numpy as np
import pytest

from benchharmony import Predictive
from benchharmony.page import rebalance_page
from benchharmony.rebalance import rebalance
from benchharmony.rebalancing.result import document
from rebalancing import benchmark

FAST = {"draws": 50, "permutations": 500}
HANGS = "The score hangs on the sizes of the subdomains"
NO_SIGN = "no sign of uneven sizes"


def wrong_alike(performance, models=1):
    """Return models whose wrong answers in the large subdomain look alike, so they go first."""
    evaluations, split = benchmark(
        [200, 60], [performance] * models, positions=["answer"], outcomes=20
    )
    p = np.exp(evaluations[0].predictive["answer"].logprobs.astype(float))
    wrong = (evaluations[0].scores == 0) & (split.labels == 0)
    p[wrong] = p[0] * 0.9 + p[wrong] * 0.1
    view = Predictive.dense(p / p.sum(axis=1, keepdims=True))
    return [dataclasses.replace(e, predictive={"answer": view}) for e in evaluations], split


def words(page):
    """Return the text of a page without styles, scripts and marks of direction."""
    seen = re.sub(r"<(style|script).*?</\1>", " ", page, flags=re.S)
    seen = html.unescape(re.sub("<[^>]+>", " ", seen))
    return " ".join(re.sub("[\u2066-\u2069]", "", seen).split())


def note_of(result):
    (note,) = [n for n in result.notes if "mattered which items" in n]
    return note


@pytest.fixture(scope="module")
def both():
    models, split = wrong_alike([0.4, 0.9])
    return rebalance(models, split, fraction=0.3, **FAST)


def test_where_sizes_and_choice_both_matter_the_page_says_what_each_does(both):
    effect = both.models[0].effect
    assert max(effect.p_sizes, effect.p_within, effect.p_holm) < 0.01
    page, note = words(rebalance_page(document([both]))), note_of(both)
    assert HANGS in page
    assert (
        f"The sizes alone move the score of model 0 by {effect.by_sizes:+.3f} (p = 0.002); "
        f"with the choice of the items it moves from {effect.before:.3f} to {effect.after:.3f} "
        f"({effect.shift:+.3f}, p < 0.001)."
    ) in page
    assert NO_SIGN not in page
    assert f"{effect.by_sizes:+.3f} the sizes (p = 0.002)" in note
    assert "only what the sizes do is a sign of uneven sizes" in note
    assert note in page
    assert NO_SIGN not in " ".join(str(both).split())


def test_where_only_the_choice_matters_neither_headline_nor_warning_blames_the_sizes():
    models, split = wrong_alike([0.5, 0.5])
    result = rebalance(models, split, fraction=0.3, **FAST)
    assert result.models[0].effect.p_sizes > 0.05
    page = words(rebalance_page(document([result])))
    assert HANGS not in page
    assert "The score moves with which items are dropped" in page
    assert NO_SIGN in note_of(result)


def test_the_warning_names_the_model_that_it_is_about():
    models, split = wrong_alike([0.4, 0.9], models=2)
    note = note_of(rebalance(models, split, fraction=0.3, **FAST))
    assert "for 1 of 2 models" in note
    assert "went, most for model 0:" in note


def with_effects(result, *effects):
    """Return the document with copies of its model, each with other numbers."""
    changed = document([result])
    (entry,) = changed["benchmarks"]
    (model,) = entry["models"]
    entry["models"] = []
    for i, effect in enumerate(effects):
        other = copy.deepcopy(model)
        other["model"] = f"model {i}"
        other["effect"].update(effect)
        entry["models"].append(other)
    return changed


def test_the_headline_names_a_model_whose_sizes_matter(both):
    """The other one moves further, but by the choice."""
    page = words(rebalance_page(with_effects(
        both,
        {"shift": 0.2, "by_sizes": 0.0, "by_choice": 0.2, "p_holm": 1e-6, "p_sizes": 0.9},
        {"shift": 0.1, "by_sizes": 0.06, "by_choice": 0.04, "p_holm": 1e-6, "p_sizes": 0.004},
    )))  # fmt: skip
    assert HANGS in page
    assert "The sizes alone move the score of model 1 by +0.060 (p = 0.008);" in page
    assert "2 of 2 models move by more than chance." in page


def test_one_small_p_of_many_models_is_no_headline(both):
    effects = [{"p_holm": 1e-6, "p_sizes": p} for p in (0.03, 0.5, 0.9)]
    page = words(rebalance_page(with_effects(both, *effects)))
    assert HANGS not in page
    assert "The score moves with which items are dropped" in page


def test_sizes_that_the_choice_makes_up_for_are_told(both):
    page = words(rebalance_page(with_effects(
        both, {"shift": -0.007, "by_sizes": -0.032, "by_choice": 0.025, "p_holm": 1.0,
               "p_sizes": 0.0001},
    )))  # fmt: skip
    assert "does not hang on over-represented items" in page
    assert "What the sizes alone do, -0.032, is more than chance (p < 0.001)" in page


def test_one_small_p_of_twenty_models_does_not_blame_the_sizes():
    models, split = benchmark([60, 20], [[0.5, 0.5]] * 20)
    made = document([rebalance(models, split, strategy="weights", **FAST)])
    for place, m in enumerate(made["benchmarks"][0]["models"]):
        m["post_stratified"]["p_value"] = 0.03 if place == 3 else 0.5
    assert HANGS not in words(rebalance_page(made))
    made["benchmarks"][0]["models"][3]["post_stratified"]["p_value"] = 0.0001
    assert HANGS in words(rebalance_page(made))
