"""Partition noise apart from item noise."""

import numpy as np
import pytest

from benchharmony.errors import BenchharmonyError
from benchharmony.refit import refit_noise
from benchharmony.uncertainty import item_noise

RNG = np.random.default_rng(0)
LABELS = np.repeat(np.arange(5), 200)
SCORES = (RNG.random(1000) < np.repeat([0.4, 0.5, 0.6, 0.7, 0.8], 200)).astype(float)


def test_a_partition_that_never_moves_adds_no_noise():
    noise = refit_noise(SCORES, LABELS, lambda rows: LABELS[rows])
    assert noise.partition_sd == pytest.approx(0.0)
    assert noise.shift == pytest.approx(0.0)
    assert noise.agreement == pytest.approx(1.0)
    assert noise.k_range == (5, 5)


def test_item_noise_is_that_of_the_bootstrap():
    noise = refit_noise(SCORES, LABELS, lambda rows: LABELS[rows], draws=400)
    assert noise.item_sd == pytest.approx(item_noise(SCORES, LABELS).adjusted, rel=0.2)


def test_a_partition_that_moves_adds_noise():
    def moving(rows):
        start = int(rows[0]) * 37 % 200 + int(rows[5])
        return np.minimum(np.searchsorted([200 + start, 500 + 2 * start], rows), 2)

    noise = refit_noise(SCORES, LABELS, moving)
    assert noise.partition_sd > 0.005
    assert noise.agreement < 0.8
    assert noise.k_range == (3, 3)


def test_draws_without_a_partition_are_counted():
    noise = refit_noise(SCORES, LABELS, lambda rows: None if rows[0] > 0 else LABELS[rows])
    assert 0 < noise.failed < 20
    assert np.isfinite(noise.partition_sd)
    nothing = refit_noise(SCORES, LABELS, lambda rows: None)
    assert nothing.failed == 20
    assert np.isnan(nothing.partition_sd)


def test_rows_are_ascending_and_distinct():
    def check(rows):
        assert (np.diff(rows) > 0).all()
        assert len(rows) == 700
        return LABELS[rows]

    refit_noise(SCORES, LABELS, check)


@pytest.mark.parametrize("options", [{"share": 1.0}, {"draws": 1}])
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(BenchharmonyError, match="refit"):
        refit_noise(SCORES, LABELS, lambda rows: LABELS[rows], **options)
