"""Item noise of H over models: its size, what models share, and subsets of the items."""

import numpy as np
import pytest

from benchharmony import Evaluation, harmony, partition
from benchharmony.landscape.draws import Measured, item_ids, resampled, subsampled
from planted_grid import planted_grid

OPTIONS = {"bandwidth": 0.1, "epsilon": 1e-12}


def measured(evaluations):
    out = []
    for e in evaluations:
        split = partition(e, "declared:subject")
        out.append(Measured(e, split, harmony(e, split)))
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("items", "target"), [(240, 0.85), (900, 0.92)])
def test_the_noise_is_that_of_new_items(items, target):
    """The bootstrap SD of adjusted H against its SD over freshly drawn items."""
    fresh = [measured(planted_grid([target], items=items, seed=s))[0] for s in range(200)]
    truth = np.std([m.result.adjusted for m in fresh])
    rng = np.random.default_rng(0)
    found = [resampled([m], 200, rng, **OPTIONS).adjusted.std() for m in fresh[:60]]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(truth, rel=0.2)


def test_equal_answers_share_all_their_noise_and_unlike_items_none():
    e = planted_grid([0.85], items=300)[0]
    same = measured([e, e])
    rng = np.random.default_rng(0)
    c = resampled(same, 300, rng, **OPTIONS).covariance("adjusted")
    assert c[0, 1] == pytest.approx(c[0, 0])
    other = Evaluation.from_arrays(
        benchmark=e.benchmark, model="other", item_ids=[f"other {i}" for i in e.item_ids],
        scores=e.scores, groups=e.groups,
    )  # fmt: skip
    c = resampled(measured([e, other]), 600, rng, **OPTIONS).covariance("adjusted")
    assert abs(c[0, 1]) < 0.3 * c[0, 0]


def test_a_subset_of_all_items_is_the_benchmark_itself():
    group = measured(planted_grid([0.85, 0.9], items=200))
    found = subsampled(group, 200, 3, np.random.default_rng(0), **OPTIONS)
    for i, m in enumerate(group):
        assert found.raw[i] == pytest.approx(m.result.value)
        assert found.adjusted[i] == pytest.approx(m.result.adjusted)
        assert found.score[i] == pytest.approx(m.result.mean)


def test_models_with_missing_items_keep_their_own():
    e = planted_grid([0.85], items=200)[0]
    group = measured([e, e.take(range(50, 200))])
    assert len(item_ids(group)) == 200
    found = subsampled(group, 200, 1, np.random.default_rng(0), **OPTIONS)
    assert found.score[1, 0] == pytest.approx(group[1].result.mean)


def test_graded_scores_have_less_noise_than_right_or_wrong():
    e = planted_grid([0.85], items=300)[0]
    mild = Evaluation.from_arrays(
        benchmark="b", model="m", scores=0.5 + 0.2 * (e.scores - 0.5), groups=e.groups
    )
    rng = np.random.default_rng(0)
    loud = resampled(measured([e]), 300, rng, **OPTIONS).score.std()
    calm = resampled(measured([mild]), 300, rng, **OPTIONS).score.std()
    assert calm == pytest.approx(0.2 * loud, rel=0.2)
