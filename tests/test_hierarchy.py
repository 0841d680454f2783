"""The tree of supported splits and the reason of every stop."""

import json

import numpy as np
import pytest

from benchharmony.errors import BenchharmonyError
from benchharmony.hierarchy import Limits, split_again


def by_halves(rows):
    """Split rows in the middle: 0..n/2 and the rest."""
    return (np.arange(len(rows)) >= len(rows) / 2).astype(int)


def planted(rates, each=100, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(len(rates) * each) < np.repeat(rates, each)).astype(float)


def test_two_levels_are_found_where_two_are_planted():
    tree = split_again(planted([0.9, 0.5, 0.1, 0.1]), by_halves)
    left, right = tree.children
    assert [child.size for child in left.children] == [100, 100]
    assert right.children == ()
    assert "not supported" in right.reason
    assert tree.leaf_labels(400).tolist() == [0] * 100 + [1] * 100 + [2] * 200


def test_even_scores_are_not_split():
    tree = split_again(planted([0.5] * 4), by_halves)
    assert tree.children == ()
    assert tree.p_value is not None
    assert tree.p_value > 0.05


def test_deeper_nodes_pay_for_their_size():
    scores = planted([0.9, 0.5, 0.1, 0.1])
    tree = split_again(scores, by_halves)
    # The least p-value of 2000 draws, times n / n_node = 2.
    assert tree.children[0].p_value == pytest.approx(2 / 2001)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(depth=0), "depth limit of 0"),
        (Limits(child_items=300), "too few items"),
    ],
)
def test_limits_stop_with_their_reason(limits, reason):
    assert reason in split_again(planted([0.9, 0.1, 0.9, 0.1]), by_halves, limits=limits).reason


def test_small_children_and_no_offer_stop():
    scores = planted([0.9, 0.1])
    few = split_again(scores, lambda rows: (np.arange(len(rows)) < 5).astype(int))
    assert "a child would have 5 items" in few.reason
    assert "offers no split" in split_again(scores, lambda rows: None).reason
    assert "offers no split" in split_again(scores, np.zeros_like).reason


def test_a_given_first_split_is_used_and_tested():
    scores = planted([0.9, 0.1])
    given = np.repeat([1, 0], 100)
    tree = split_again(scores, lambda rows: None, labels=given)
    assert [child.score < 0.5 for child in tree.children] == [True, False]
    shuffled = np.random.default_rng(0).permutation(given)
    assert split_again(scores, lambda rows: None, labels=shuffled).children == ()


def test_every_item_is_in_one_leaf_and_the_tree_is_plain_values():
    tree = split_again(planted([0.9, 0.5, 0.1, 0.3]), by_halves)
    assert (tree.leaf_labels(400) >= 0).all()
    assert sum(node.size for node in tree.walk() if not node.children) == 400
    assert json.loads(json.dumps(tree.to_dict()))["size"] == 400


def test_labels_with_gaps_are_refused():
    with pytest.raises(BenchharmonyError, match="without gaps"):
        split_again(planted([0.5, 0.5]), lambda rows: np.full(len(rows), 1))
