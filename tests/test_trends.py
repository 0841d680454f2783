"""Trends with size and training: lines per family, tests, ranks, checkpoint series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.landscape import landscape
from benchharmony.landscape.trends import fit, rank_test, trend
from planted_grid import planted_grid

SUBJECT = {"partition": "declared:subject", "bootstrap": 200, "repeats": 1}
MEMBERS = {"A": np.arange(5), "B": np.arange(5, 9)}
X = np.log10([1e9, 2e9, 4e9, 8e9, 16e9, 1e9, 3e9, 9e9, 27e9])
QUIET = np.zeros((9, 9))


def noisy(values, sd=0.01, seed=0):
    return values[:, None] + np.random.default_rng(seed).normal(0, sd, (len(values), 200))


def test_exact_lines_are_found_exactly():
    values = np.where(np.arange(9) < 5, 0.2 + 0.05 * X, 0.9 - 0.03 * X)
    lines = fit(MEMBERS, X, values, QUIET)
    assert lines.slopes == pytest.approx([0.05, -0.03])
    assert lines.intercepts == pytest.approx([0.2, 0.9])
    assert lines.scatter == pytest.approx(0, abs=1e-20)
    assert lines.free == 5


def test_scatter_without_item_noise_is_the_analysis_of_covariance():
    """Against the textbook: pooled residual variance over Sxx, F for the interaction."""
    rng = np.random.default_rng(1)
    values = 0.5 + 0.1 * X + rng.normal(0, 0.05, 9)
    lines = fit(MEMBERS, X, values, QUIET)
    residual = 0.0
    for i, rows in enumerate(MEMBERS.values()):
        slope, cut = np.polyfit(X[rows], values[rows], 1)
        assert lines.slopes[i] == pytest.approx(slope)
        residual += ((values[rows] - slope * X[rows] - cut) ** 2).sum()
        sxx = ((X[rows] - X[rows].mean()) ** 2).sum()
        assert lines.covariance[i, i] == pytest.approx(lines.scatter / sxx)
    assert lines.scatter == pytest.approx(residual / 5)
    found = trend(MEMBERS, X, values, np.tile(values[:, None], 10))
    gap = lines.slopes[1] - lines.slopes[0]
    assert found["difference"]["f"] == pytest.approx(gap**2 / np.trace(lines.covariance))
    assert found["difference"]["df"] == [1, 5]


def test_item_noise_beyond_the_scatter_widens_the_interval():
    values = 0.5 + 0.1 * X
    calm = trend(MEMBERS, X, values, noisy(values, 0.001))["families"][0]["ci"]
    loud = trend(MEMBERS, X, values, noisy(values, 0.05))["families"][0]["ci"]
    assert loud[1] - loud[0] > 10 * (calm[1] - calm[0])


def test_noise_that_all_models_share_does_not_blur_a_slope():
    values = 0.5 + 0.1 * X
    shared = values[:, None] + np.random.default_rng(0).normal(0, 0.2, 200)
    ci = trend(MEMBERS, X, values, shared)["families"][0]["ci"]
    assert ci[1] - ci[0] < 1e-6


def test_families_with_fewer_than_three_sizes_are_shown_not_fitted():
    members = {"A": np.arange(5), "two": np.array([5, 6]), "same": np.array([7, 7, 7])}
    found = trend(members, X, 0.1 * X, noisy(0.1 * X))["families"]
    assert [f["slope"] is None for f in found] == [False, True, True]
    assert [f["sizes"] for f in found] == [5, 2, 1]


def test_no_family_to_fit_gives_no_common_slope():
    found = trend({"two": np.array([0, 1])}, X, 0.1 * X, noisy(0.1 * X))
    assert found["common"] is None
    assert found["difference"] is None


def test_different_slopes_are_told_apart_and_equal_ones_are_not():
    rng = np.random.default_rng(2)
    same = 0.5 + 0.1 * X + rng.normal(0, 0.004, 9)
    assert trend(MEMBERS, X, same, noisy(same, 0.001))["difference"]["p_value"] > 0.05
    other = same + np.where(np.arange(9) < 5, 0, -0.1 * X)
    assert trend(MEMBERS, X, other, noisy(other, 0.001))["difference"]["p_value"] < 0.01


def test_a_rank_test_of_few_models_is_exact():
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2.0, 3.0, 4.0])
    found = rank_test(x, x**3, noisy(x**3), 0.95, rng)
    assert found["rho"] == pytest.approx(1)
    assert found["p_value"] == pytest.approx(2 / 24)
    assert rank_test(x, np.full(4, 0.5), noisy(x), 0.95, rng) is None


def test_a_rank_test_of_many_models_agrees_with_scipy():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 14))
    y += 0.6 * x
    found, peer = rank_test(x, y, noisy(y), 0.95, rng), spearmanr(x, y)
    assert found["rho"] == pytest.approx(peer.statistic)
    assert found["p_value"] == pytest.approx(peer.pvalue, abs=0.02)


@given(st.floats(-2, 2), st.floats(0.1, 10))
def test_shifting_and_scaling_the_numbers_shifts_and_scales_the_slopes(shift, scale):
    values = np.sin(np.arange(9.0))
    drawn = noisy(values, 0.05)
    plain = trend(MEMBERS, X, values, drawn)
    moved = trend(MEMBERS, X, shift + scale * values, shift + scale * drawn)
    for a, b in zip(plain["families"], moved["families"], strict=True):
        assert b["slope"] == pytest.approx(scale * a["slope"])
        assert b["ci"] == pytest.approx([scale * v for v in a["ci"]])
        assert b["spearman"]["p_value"] == pytest.approx(a["spearman"]["p_value"])


SIZES = {"Qwen2.5": [0.5, 1.5, 3, 7, 14, 32, 72], "Llama-3": [1, 3, 8, 70], "Phi-3": [3.8, 7, 14]}
NAMES = [f"{family}-{size}B" for family, sizes in SIZES.items() for size in sizes]
LOGS = np.log10([size * 1e9 for sizes in SIZES.values() for size in sizes])


def grid(slope, *, seed, scatter=0.03, items=600):
    rng = np.random.default_rng(5000 + seed)
    h = 0.84 + slope * (LOGS - 9.8) + rng.normal(0, scatter, len(LOGS))
    return planted_grid(np.clip(h, 0.66, 0.99), items=items, seed=seed, names=NAMES)


def test_the_landscape_fits_families_in_order_of_their_smallest_size():
    found = landscape(grid(0.06, seed=0), **SUBJECT).record["trends"]["parameters"][0]
    assert [f["family"] for f in found["adjusted"]["families"]] == ["Qwen2.5", "Llama-3", "Phi-3"]
    assert found["adjusted"]["common"]["slope"] == pytest.approx(0.06, abs=0.05)
    assert found["score"]["common"]["p_value"] > 0.001  # planted scores do not grow


def test_checkpoints_are_a_series_over_tokens_and_one_size_over_parameters():
    steps = [1000, 4000, 16000, 64000]
    names = [f"pythia-1b-step{s}" for s in steps] + ["pythia-160m-step64000", "Qwen2.5-7B"]
    targets = [0.75, 0.8, 0.85, 0.9, 0.9, 0.9]
    made = landscape(planted_grid(targets, items=3000, names=names), **SUBJECT).record
    tokens = made["trends"]["tokens"][0]
    (series,) = tokens["adjusted"]["families"]
    assert series["family"] == "pythia 1B"
    assert series["slope"] == pytest.approx(0.05 / np.log10(4), rel=0.4)
    assert tokens["score"]["families"][0]["models"] == 4
    (pythia, qwen) = made["trends"]["parameters"][0]["adjusted"]["families"]
    assert (pythia["family"], pythia["models"], pythia["sizes"]) == ("pythia", 2, 2)
    assert qwen["models"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.0, 0.03])
def test_slopes_are_covered_and_equal_slopes_rejected_at_the_nominal_rate(scatter):
    slope, grids = 0.06, 120
    held, common, rejected = np.zeros(3), 0, 0
    for seed in range(grids):
        made = landscape(grid(slope, seed=seed, scatter=scatter), **SUBJECT).record
        found = made["trends"]["parameters"][0]["adjusted"]
        held += [f["ci"][0] <= slope <= f["ci"][1] for f in found["families"]]
        common += found["common"]["ci"][0] <= slope <= found["common"]["ci"][1]
        rejected += found["difference"]["p_value"] < 0.05
    assert (held / grids >= 0.91).all(), held / grids
    assert common / grids >= 0.91
    assert rejected / grids <= 0.09
