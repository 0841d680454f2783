"""The panel of indices and the decomposition of 1 - H, against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchharmony.indices import decompose, indices
from benchharmony.metric import harmony_score


def test_even_performance():
    panel = indices([0.5, 0.3, 0.2], [0.7, 0.7, 0.7])
    assert panel.weighted_sd == pytest.approx(0.0)
    assert panel.gini == pytest.approx(0.0)
    assert panel.min_max_ratio == 1.0
    assert panel.agreement == pytest.approx(1.0)


def test_panel_by_hand():
    panel = indices([0.5, 0.5], [0.8, 0.4])
    assert panel.weighted_sd == pytest.approx(0.2)
    assert panel.coefficient_of_variation == pytest.approx(1 / 3)
    # Mean absolute difference 0.2, over twice the mean 0.6.
    assert panel.gini == pytest.approx(1 / 6)
    assert panel.min_max_ratio == pytest.approx(0.5)
    assert (panel.worst_subdomain, panel.best_subdomain) == (0.4, 0.8)
    assert panel.agreement == pytest.approx(np.exp(-4))


def test_two_halves_fool_the_evenness_indices_but_not_the_others():
    panel = indices([0.5, 0.5], [1.0, 0.0])
    assert panel.renyi2_evenness == pytest.approx(1.0)
    assert panel.hill_evenness == pytest.approx(1.0)
    assert panel.agreement == pytest.approx(np.exp(-25))
    assert panel.weighted_sd == pytest.approx(0.5)
    assert panel.min_max_ratio == 0.0


def test_renyi_and_hill_of_known_masses():
    # Masses (0.4879, 0.4879, 0.0243), as in the design's worked example.
    panel = indices([1 / 3] * 3, [0.8, 0.8, 0.5])
    raw = np.array([np.exp(-1), np.exp(-1), np.exp(-4)])
    p = raw / raw.sum()
    assert panel.renyi2_evenness == pytest.approx(-np.log((p**2).sum()) / np.log(3))
    assert panel.hill_evenness == pytest.approx((np.exp(-(p * np.log(p)).sum()) - 1) / 2)


def test_undefined_indices_are_nan():
    panel = indices([0.5, 0.5], [0.0, 0.0])
    assert np.isnan([panel.coefficient_of_variation, panel.gini, panel.min_max_ratio]).all()
    alone = indices([1.0], [0.5])
    assert np.isnan([alone.renyi2_evenness, alone.hill_evenness]).all()
    assert np.isnan(decompose([1.0], [0.5]).total)


def test_equal_performance_loses_through_sizes_alone():
    parts = decompose([0.9, 0.1], [0.6, 0.6])
    assert parts.sizes == pytest.approx(1 - 0.4690, abs=1e-4)
    assert parts.performance == pytest.approx(0.0, abs=1e-9)


def test_equal_sizes_lose_through_the_subdomain_that_differs():
    parts = decompose([1 / 3] * 3, [0.8, 0.8, 0.5])
    assert parts.sizes == pytest.approx(0.0, abs=1e-12)
    assert parts.performance == pytest.approx(1 - 0.7196, abs=1e-4)
    # It deviates most; the other two, nearer the mean, offset it: their masses shrink too.
    assert parts.performance_parts[2] > parts.performance
    assert parts.performance_parts[0] == pytest.approx(parts.performance_parts[1])


def test_parts_against_a_fine_riemann_sum():
    w, psi = np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.6, 0.1])
    u = ((psi - w @ psi) / 0.1) ** 2
    edges = np.linspace(0, 1, 200_001)
    t = (edges[1:] + edges[:-1]) / 2
    p = w * np.exp(-t[:, None] * u)
    p /= p.sum(axis=1, keepdims=True)
    log_p = np.log(np.maximum(p, 1e-300))
    slope = p * (log_p - (p * log_p).sum(axis=1, keepdims=True))
    expected = -slope.mean(axis=0) * u / np.log(3)
    assert decompose(w, psi).performance_parts == pytest.approx(expected, abs=1e-4)


#: Below 1e-300 the mean itself may round to 0, where the Gini coefficient is undefined.
PERFORMANCE = st.just(0.0) | st.floats(1e-300, 1)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 1), PERFORMANCE), min_size=2, max_size=12),
    st.floats(0.02, 0.5),
)
def test_parts_add_up_and_ranges_hold(pairs, bandwidth):
    w, psi = np.array(pairs).T
    parts = decompose(w, psi, bandwidth=bandwidth)
    h = harmony_score(w, psi, bandwidth=bandwidth)
    assert parts.total == pytest.approx(1 - h)
    assert parts.sizes + parts.performance == pytest.approx(parts.total)
    assert parts.size_parts.sum() == pytest.approx(parts.sizes, abs=1e-9)
    assert parts.performance_parts.sum() == pytest.approx(parts.performance, abs=1e-9)
    panel = indices(w, psi, bandwidth=bandwidth)
    for value in (panel.renyi2_evenness, panel.hill_evenness, panel.agreement):
        assert -1e-9 <= value <= 1 + 1e-9
    if psi.max() > 0:
        assert 0 <= panel.gini < 1
        assert 0 <= panel.min_max_ratio <= 1
