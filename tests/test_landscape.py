"""The mean-variance plane: planted values, who counts, what is refused, and the views."""

import csv
import io
import json

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Evaluation, read
from benchharmony.landscape import landscape
from benchharmony.models import ModelInfo
from planted_grid import planted_grid

SUBJECT = {"partition": "declared:subject", "bootstrap": 200, "repeats": 20}


def one(evaluations, **options):
    return landscape(evaluations, **{**SUBJECT, **options}).record["benchmarks"][0]


def test_planted_mean_and_variance_are_found():
    targets = np.linspace(0.75, 0.97, 12)
    found = one(planted_grid(targets, items=6000, seed=3))
    adjusted = found["harmony"]["adjusted"]
    assert adjusted["mean"] == pytest.approx(targets.mean(), abs=0.02)
    assert adjusted["variance"] == pytest.approx(targets.var(ddof=1), rel=0.4)
    assert adjusted["ci"][0] < targets.mean() < adjusted["ci"][1]
    assert adjusted["variance_ci"][0] < targets.var(ddof=1) < adjusted["variance_ci"][1]


def test_item_noise_is_taken_out_of_the_variance_of_adjusted_h_only():
    """Every model has the same true H: what spread there is, is noise."""
    found = one(planted_grid([0.9] * 15, items=300, seed=1))
    raw, adjusted = found["harmony"]["raw"], found["harmony"]["adjusted"]
    assert adjusted["noise_variance"] > 0.001
    assert adjusted["variance"] < 0.5 * raw["variance"]
    assert adjusted["variance_ci"][0] == 0.0
    assert raw["noise_variance"] == 0.0


def test_models_with_equal_answers_have_no_variance_and_keep_the_items_uncertainty():
    scores = planted_grid([0.85], items=300, seed=2)[0]
    copies = [
        Evaluation.from_arrays(
            benchmark="b", model=f"m{i}", scores=scores.scores, groups=scores.groups
        )
        for i in range(6)
    ]
    found = one(copies)["harmony"]["adjusted"]
    assert found["variance"] == pytest.approx(0, abs=1e-12)
    # Averaging copies gains nothing: the interval is as wide as the noise of one model's H.
    noise = landscape(copies, **SUBJECT).record["evaluations"][0]["adjusted_noise_sd"]
    assert found["ci"][1] - found["ci"][0] > 2 * noise


def test_a_model_apart_is_named_by_the_leave_one_out_band():
    names = [f"m{i}" for i in range(6)]
    found = one(planted_grid([0.95] * 5 + [0.68], items=1500, seed=4, names=names))
    band = found["leave_one_model_out"]["adjusted"]
    assert band["most"] == "m5"
    assert band["mean"][0] <= found["harmony"]["adjusted"]["mean"] <= band["mean"][1]
    assert band["mean"][1] - band["mean"][0] > 0.03


def test_bands_of_raw_h_keep_the_noise_that_its_variance_has():
    found = one(planted_grid([0.6, 0.7, 0.8, 0.9], items=60, seed=3))
    raw = found["harmony"]["raw"]["variance"]
    assert raw > 0
    low, high = found["leave_one_model_out"]["raw"]["variance"]
    assert 0 < low < raw < high


def test_a_family_is_left_out_whole():
    names = ["A-1B", "A-3B", "A-7B", "B-1B", "B-3B", "C-1B"]
    found = one(planted_grid([0.7, 0.7, 0.7, 0.95, 0.95, 0.95], items=1500, seed=5, names=names))
    band = found["leave_one_family_out"]["adjusted"]
    assert band["most"] == "A"
    assert band["mean"][1] > 0.9


@pytest.mark.parametrize("count", [1, 4, 5])
def test_few_models_are_a_warning(count):
    warnings = landscape(planted_grid([0.9] * count), **SUBJECT).record["warnings"]
    assert any("only" in w and f"{count} model" in w for w in warnings) == (count < 5)


def test_a_family_that_dominates_is_a_warning():
    names = ["A-1B", "A-3B", "A-7B", "A-9B", "B-1B", "C-1B"]
    warnings = landscape(planted_grid([0.9] * 6, names=names), **SUBJECT).record["warnings"]
    assert any("family A has 4 of 6 models" in w for w in warnings)


def test_one_model_has_a_place_but_no_interval():
    found = one(planted_grid([0.9]))
    assert found["harmony"]["adjusted"]["ci"] is None
    assert found["harmony"]["adjusted"]["variance"] is None
    assert found["verdict"]["label"] == "cannot tell"


def two_benchmarks():
    first = planted_grid([0.9] * 3, names=["a", "b", "c"], benchmark="one")
    return first + planted_grid([0.9] * 3, names=["b", "c", "d"], benchmark="two", seed=1)


def test_only_models_on_every_benchmark_count_unless_asked():
    made = landscape(two_benchmarks(), **SUBJECT).record
    assert [b["models"] for b in made["benchmarks"]] == [["b", "c"], ["b", "c"]]
    assert {(e["model"], e["benchmark"]) for e in made["left_out"]} == {("a", "one"), ("d", "two")}
    every = landscape(two_benchmarks(), keep="all", **SUBJECT).record
    assert [b["n_models"] for b in every["benchmarks"]] == [3, 3]
    assert every["left_out"] == []


def test_no_common_model_is_an_error_that_says_what_to_do():
    grid = planted_grid([0.9], names=["a"], benchmark="one")
    grid += planted_grid([0.9], names=["b"], benchmark="two")
    with pytest.raises(BenchharmonyError, match="--keep all"):
        landscape(grid, **SUBJECT)


def test_a_second_run_of_a_model_does_not_count_twice():
    grid = planted_grid([0.9, 0.8, 0.85], names=["a", "b", "a"])
    made = landscape(grid, **SUBJECT).record
    assert made["benchmarks"][0]["n_models"] == 2
    assert "another run" in made["left_out"][0]["reason"]


def test_an_evaluation_without_a_key_is_left_out_with_the_reason():
    keyless = Evaluation.from_arrays(
        benchmark="planted", model="keyless", scores=None, option_logprobs=np.zeros((600, 2)),
        groups={"subject": ["x", "y"] * 300},
    )  # fmt: skip
    made = landscape([*planted_grid([0.9, 0.8]), keyless], **SUBJECT).record
    assert made["left_out"][0]["model"] == "keyless"
    assert "no answer key" in made["left_out"][0]["reason"]
    assert any("no answer key" in w for w in made["warnings"])
    with pytest.raises(BenchharmonyError, match="no answer key"):
        landscape([keyless], **SUBJECT)


def test_the_size_matched_landscape_takes_the_size_out():
    """One process, two sizes: raw H differs by noise, cut to one size it does not."""
    targets = np.linspace(0.88, 0.97, 8)
    grid = planted_grid(targets, items=120, seed=6, benchmark="small")
    grid += planted_grid(targets, items=2400, seed=7, benchmark="large")
    made = landscape(grid, **SUBJECT).record
    small, large = (b["harmony"]["raw"]["mean"] for b in made["benchmarks"])
    cut = made["size"]["matched"]
    assert made["size"]["matched_items"] == 120
    assert large - small > 0.04
    assert abs(cut["large"]["raw"]["mean"] - cut["small"]["raw"]["mean"]) < (large - small) / 2
    assert cut["small"]["raw"]["mean"] == pytest.approx(small)


def test_h_goes_with_size_where_only_size_differs():
    grid = [
        e
        for i, n in enumerate((80, 160, 320, 640, 1280))
        for e in planted_grid([0.93] * 4, items=n, seed=i, benchmark=f"b{n}")
    ]
    found = landscape(grid, **SUBJECT).record["size"]["correlation"]
    assert found["raw"]["with_items"]["rho"] > 0.8
    assert found["raw"]["with_k"] is None  # one k


def test_the_seed_fixes_everything_and_jobs_change_nothing():
    grid = planted_grid([0.9, 0.8, 0.95, 0.85])
    first = landscape(grid, **SUBJECT).render("json")
    assert landscape(grid, jobs=2, **SUBJECT).render("json") == first
    assert landscape(grid, seed=1, **SUBJECT).render("json") != first


def test_verdicts_on_planted_extremes():
    even = one(planted_grid([0.995] * 8, items=3000, seed=8))
    assert even["verdict"]["label"] == "representative"
    uneven = one(planted_grid([0.68] * 8, items=3000, seed=9))
    assert uneven["verdict"]["label"] == "uneven: read the subdomains"
    mixed = one(planted_grid([0.995] * 4 + [0.68] * 4, items=3000, seed=10))
    assert mixed["verdict"]["label"] == "depends on the model"


def test_a_few_models_that_are_clearly_uneven_are_called_so():
    """The interval for other models is wide with three; what these are is no question."""
    found = one(planted_grid([0.72, 0.8, 0.68], items=6000, seed=11))
    assert found["verdict"]["label"] == "uneven: read the subdomains"
    wide, narrow = found["agreement"]["ci"], found["agreement"]["items_ci"]
    assert wide[1] - wide[0] > 3 * (narrow[1] - narrow[0])


HOSTILE = "=cmd|'/c calc'!A1\u202e\n<script>|x"


def test_views_hold_hostile_names_harmless():
    made = landscape(planted_grid([0.9, 0.8, 0.7], names=[HOSTILE, "b", "c"]), **SUBJECT)
    named = landscape(planted_grid([0.9] * 3, benchmark=HOSTILE), **SUBJECT)
    row = next(csv.DictReader(io.StringIO(named.render("csv"))))
    assert row["benchmark"].startswith("'=")
    for text in (made.render("text"), made.render("md"), named.render("text"), named.render("md")):
        assert "\u202e" not in text
    assert "<script>" not in named.render("md")
    assert "<script>" not in named._repr_html_()
    assert json.loads(made.render("json"))["models"][0]["model"] == HOSTILE


def test_text_fits_80_columns():
    names = [f"Some-Very-Long-Family-Name-{i}B-Instruct" for i in (1, 3, 7, 14)]
    grid = planted_grid([0.9] * 4, names=names, benchmark="a benchmark with a rather long name")
    text = landscape(grid, **SUBJECT).render("text")
    assert max(map(len, text.splitlines())) <= 80


def test_frames_have_a_row_per_benchmark_and_per_evaluation():
    made = landscape(two_benchmarks(), **SUBJECT)
    assert list(made.to_frame()["benchmark"]) == ["one", "two"]
    assert len(made.evaluations_frame()) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep": "some"}, "common or all"),
        ({"level": 1.5}, "level"),
        ({"bootstrap": 0}, "bootstrap"),
        ({"nonsense": 1}, "nonsense"),
        ({"matched_items": 1}, "common size"),
    ],
)
def test_bad_options_are_errors_in_words(options, says):
    with pytest.raises(BenchharmonyError, match=says):
        landscape(planted_grid([0.9, 0.8]), **{**SUBJECT, **options})


def test_no_evaluation_is_an_error():
    with pytest.raises(BenchharmonyError, match="no evaluation"):
        landscape([])


def test_models_given_in_python_are_used():
    names = ["x", "y", "z"]
    given = {n: ModelInfo(n, "F", 10.0 ** (9 + i), source="given") for i, n in enumerate(names)}
    made = landscape(planted_grid([0.9] * 3, names=names), models=given, **SUBJECT).record
    assert [m["family"] for m in made["models"]] == ["F"] * 3
    assert made["trends"]["parameters"][0]["adjusted"]["families"][0]["sizes"] == 3


def test_no_column_of_the_table_is_lost_at_80_columns():
    names = [f"Qwen2.5-{i}B" for i in (1, 3, 7, 14)]
    grid = planted_grid([0.9] * 4, items=12_000, names=names, benchmark="a_rather_long_task_name")
    entry = (made := landscape(grid, **SUBJECT)).record["benchmarks"][0]
    line = next(x for x in made.render("text").splitlines() if x.lstrip().startswith("a_rather"))
    h = entry["harmony"]["adjusted"]
    assert line.split()[-1] == f"{entry['agreement']['mean']:.2f}"
    assert f"{h['variance_ci'][0] ** 0.5:.2f}-{h['variance_ci'][1] ** 0.5:.2f}" in line


@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore::benchharmony.BenchharmonyWarning")
def test_the_naep_models_make_a_landscape(shared_data):
    found = [
        e
        for e in read(shared_data / "logs" / "llm-psychometrics")
        if not e.model.endswith("Baseline")
    ]
    made = landscape(found, partition="declared:classification", bootstrap=200, repeats=10)
    economics, history = made.record["benchmarks"]
    assert (economics["n_models"], economics["n_items"]) == (18, 93)
    assert (history["n_models"], history["n_items"]) == (18, 204)
    assert [m["family"] for m in made.record["models"]] == (
        ["Qwen2.5"] * 7 + ["Llama-3"] * 5 + ["Phi-3"] * 3 + ["OLMo-2"] * 2 + ["Phi-4"]
    )
    assert economics["verdict"]["label"] == "cannot tell"
    assert history["verdict"]["label"] == "representative"
    score = made.record["trends"]["parameters"][0]["score"]["common"]
    assert score["ci"][0] > 0  # larger models score higher
    shared = landscape(found, partition="shared", bootstrap=60, repeats=2).record
    assert all(b["verdict"]["label"] == "cannot tell" for b in shared["benchmarks"])
    assert shared["partitions"]["NAEP history"]["artefacts"]["predicted_option"] > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("items", "least"), [(600, 0.9), (2400, 0.9)])
def test_intervals_hold_the_planted_mean_and_variance_at_the_nominal_rate(items, least):
    """H over models is 0.70 + 0.28 Beta(4, 2): mean 0.887, variance 0.0025; 12 models a grid."""
    mean, variance = 0.70 + 0.28 * 4 / 6, 0.28**2 * 8 / (36 * 7)
    grids, held = 150, np.zeros(2)
    for seed in range(grids):
        targets = 0.70 + 0.28 * np.random.default_rng(1000 + seed).beta(4, 2, 12)
        options = {**SUBJECT, "repeats": 1}
        found = one(planted_grid(targets, items=items, seed=seed), **options)
        h = found["harmony"]["adjusted"]
        held += [
            h["ci"][0] <= mean <= h["ci"][1],
            h["variance_ci"][0] <= variance <= h["variance_ci"][1],
        ]
    assert (held / grids >= least).all(), held / grids


@pytest.mark.parametrize(("items", "warned"), [(180, True), (720, False)])
def test_few_items_a_subdomain_are_a_warning(items, warned):
    found = one(planted_grid([0.9] * 5, items=items), **SUBJECT)
    assert any("items a subdomain" in w for w in found["warnings"]) == warned
