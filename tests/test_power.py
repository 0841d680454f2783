"""Power against simulation, and the words that `benchharmony power` answers with."""

import argparse
import json
import math

import numpy as np
import pytest
from scipy.stats import chi2

from benchharmony import power as p
from benchharmony.errors import BenchharmonyError


def simulated(spread, sizes, mean, draws=20_000):
    """Return how often the chi-square test rejects, true performances normal, scores 0/1."""
    rng = np.random.default_rng(0)
    sizes = np.asarray(sizes)
    truth = np.clip(mean + spread * rng.standard_normal((draws, len(sizes))), 0, 1)
    means = rng.binomial(sizes, truth) / sizes
    overall = (means * sizes).sum(axis=1, keepdims=True) / sizes.sum()
    x = (sizes * (means - overall) ** 2).sum(axis=1) / (overall * (1 - overall))[:, 0]
    return (x > chi2.isf(0.05, len(sizes) - 1)).mean()


@pytest.mark.parametrize("spread", [0.03, 0.06, 0.12])
@pytest.mark.parametrize("sizes", [[50] * 20, [300, 100, 50, 30, 20], [400, 100, 100]])
def test_power_is_that_of_simulated_tests(spread, sizes):
    assert p.power_to_detect(spread, sizes, 0.6) == pytest.approx(
        simulated(spread, sizes, 0.6), abs=0.025
    )


def test_no_spread_is_detected_at_the_level_of_the_test():
    assert p.power_to_detect(0.0, [30] * 8, 0.5) == pytest.approx(0.05, abs=1e-6)


def test_detectable_spread_is_where_the_power_is_reached():
    sizes = [120, 80, 60, 40]
    spread = p.detectable_spread(sizes, 0.7)
    assert p.power_to_detect(spread, sizes, 0.7) == pytest.approx(0.8, abs=1e-3)


def test_more_items_detect_less():
    assert p.detectable_spread([1000] * 5, 0.6) < p.detectable_spread([100] * 5, 0.6) / 3


def test_equal_sizes_by_hand():
    # X / (1 + n t^2 / pq) is chi-square with k - 1 = 1 degree of freedom.
    noise = 0.25
    t = 0.2
    expected = chi2.sf(3.841459 / (1 + 50 * t**2 / noise), 1)
    assert p.power_to_detect(t, [50, 50], 0.5) == pytest.approx(expected, abs=1e-6)


def test_items_needed_invert_the_detectable_spread():
    items = p.items_needed(0.05, [1] * 10, 0.6)
    assert p.detectable_spread(np.full(10, items / 10), 0.6) == pytest.approx(0.05, abs=1e-3)


def test_two_subdomains_can_be_alike_by_chance_whatever_the_items():
    assert p.items_needed(0.05, [1, 1], 0.5, power=0.9999) is None


def test_tiny_subdomains_show_nothing():
    assert math.isinf(p.detectable_spread([1, 1], 0.5))
    assert "no spread" in p.unseen_sentence([1, 1], 0.5)
    assert "All scores are alike" in p.unseen_sentence([50, 50], 1.0)


def test_graded_scores_need_fewer_items():
    binary = p.detectable_spread([50] * 6, 0.6)
    assert p.detectable_spread([50] * 6, 0.6, dispersion=0.25) == pytest.approx(
        binary / 2, rel=0.01
    )


def asked(*words):
    parser = argparse.ArgumentParser()
    p.add_arguments(parser)
    return parser.parse_args(words)


def test_command_answers_in_words_and_json(capsys):
    assert p.run(asked("--items", "300", "--spread", "0.05")) == 0
    text = capsys.readouterr().out
    assert "would go unseen" in text
    assert "takes" in text
    p.run(asked("--sizes", "100,100,50", "--format", "json"))
    found = json.loads(capsys.readouterr().out)
    assert found["detectable_spread"] == pytest.approx(p.detectable_spread([100, 100, 50], 0.6))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--sizes", "1,x"],
        ["--items", "5"],
        ["--items", "100", "--mean", "1.2"],
        ["--items", "100", "--power", "0.01"],
        ["--items", "100", "--spread", "-1"],
        ["--sizes", "10,0"],
    ],
)
def test_bad_questions_are_refused_in_one_line(words):
    with pytest.raises(BenchharmonyError) as caught:
        p.run(asked(*words))
    assert "\n" not in str(caught.value)
