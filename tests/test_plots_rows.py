"""Rows of subdomains: names never cover each other and stand near their rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchharmony.plots.measure import text_width
from benchharmony.plots.rows import rows_of, spread
from benchharmony.plots.style import ONE_COLUMN, SCREEN, TWO_COLUMNS


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 300), min_size=1, max_size=20))
def test_places_keep_their_distance_and_stay_inside(wanted):
    placed = spread(sorted(wanted), 14.0, 7.0, 293.0)
    assert np.diff(placed).min(initial=14.0) >= 14.0 - 1e-9
    assert min(placed) >= 7.0 - 1e-9
    assert max(placed) <= 293.0 + 1e-9


def test_places_apart_already_are_kept_and_crowded_ones_are_centred():
    assert spread([10, 50, 90], 14, 0, 100) == [10, 50, 90]
    assert spread([50, 50], 14, 0, 100) == [43, 57]
    assert spread([5, 5, 80], 10, 0, 100) == [0, 10, 80]


def test_no_shift_of_a_label_is_nearer():
    wanted = [20.0, 22.0, 25.0, 70.0]
    placed = np.array(spread(wanted, 14, 0, 200))
    best = ((placed - wanted) ** 2).sum()
    rng = np.random.default_rng(0)
    for _ in range(300):
        other = placed + rng.normal(0, 1, 4)
        if np.diff(other).min() >= 14:
            assert ((other - wanted) ** 2).sum() >= best - 1e-9


@pytest.mark.parametrize("size", [SCREEN, TWO_COLUMNS, ONE_COLUMN])
def test_rows_are_as_high_as_their_weights(size):
    weights = [0.6, 0.3, 0.06, 0.02, 0.02]
    rows = rows_of([f"subdomain number {i}" for i in range(5)], weights, size)
    heights = np.array(rows.bottom) - np.array(rows.top)
    assert heights / heights.sum() == pytest.approx(weights)
    assert rows.top[1:] == rows.bottom[:-1]
    assert rows.bottom[-1] == pytest.approx(rows.height, abs=0.01)
    assert np.diff(rows.at).min() >= size.line - 1e-9
    widest = max(text_width(name, size.font) for name in rows.names)
    assert rows.width + widest < size.width


def test_a_square_names_the_rows_that_fit_the_largest_first():
    weights = np.r_[[0.02] * 40, [0.2]]
    rows = rows_of([f"S{i}" for i in range(41)], weights.tolist(), ONE_COLUMN, square=True)
    named = [n for n in rows.names if n]
    assert rows.width == rows.height
    assert "S40" in named
    assert len(named) == int(rows.height / ONE_COLUMN.line)
    at = [a for a, n in zip(rows.at, rows.names, strict=True) if n]
    assert np.diff(at).min() >= ONE_COLUMN.line - 1e-9
