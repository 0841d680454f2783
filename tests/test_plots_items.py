"""Pictures of single items show what was computed, from a sample where there are many."""

import base64
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

from benchharmony import Evaluation, partition, predictive_similarity
from benchharmony.plots import places
from benchharmony.plots.item_map import item_map_spec
from benchharmony.plots.items import map_points, similarity_cells
from benchharmony.plots.places import item_places, sample_by_subdomain
from benchharmony.plots.raster import data_url
from benchharmony.plots.similarity import similarity_spec
from planted import planted


def decoded(url):
    """Return the colours of a picture, shape (height, width, 3)."""
    data = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    parts, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind = data[place + 4 : place + 8]
        content = data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + content)
        parts[kind] = content
        place += 12 + length
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert (rows[:, 0] == 0).all()
    return np.frombuffer(parts[b"PLTE"], np.uint8).reshape(-1, 3)[rows[:, 1:]]


def test_a_matrix_becomes_blocks_of_colour_cut_at_the_limits():
    pixels = decoded(data_url(np.array([[0.2, 0.6], [-5.0, 9.0]]), 0.2, 0.6))
    half = len(pixels) // 2
    dark, light = [0x44, 0x01, 0x54], [0xFD, 0xE7, 0x25]  # the ends of viridis
    assert (pixels[:half, :half] == dark).all()
    assert (pixels[:half, half:] == light).all()
    assert (pixels[half:, :half] == dark).all()
    assert (pixels[half:, half:] == light).all()


def test_few_items_are_compared_each_with_each():
    made, _ = planted((30, 20, 10))
    split = partition(made)
    cells = similarity_cells(made, split)
    rows = sample_by_subdomain(split, 480)
    expected = predictive_similarity(made.predictive["item"].take(rows), tau=split.tau)
    assert len(cells.matrix) == 60
    np.testing.assert_allclose(cells.matrix, expected, atol=1e-6)
    assert cells.bounds == [0, 30, 50]
    assert cells.labels == list(split.names)
    assert (np.sort(rows) == np.arange(60)).all()
    assert (np.diff(split.centrality[rows][:30]) <= 1e-12).all()  # nearest to the centre first


def test_many_items_are_sampled_and_cells_are_means_over_pairs():
    made, _ = planted((600, 400, 200))
    split = partition(made, k=3)
    cells = similarity_cells(made, split, cells=60)
    rows = sample_by_subdomain(split, 480)
    s = predictive_similarity(made.predictive["item"].take(rows), tau=split.tau)
    assert cells.sampled == len(rows) == 480
    assert len(cells.matrix) == 60
    own = s[:8, :8]
    assert cells.matrix[0, 0] == pytest.approx((own.sum() - 8) / 56)
    assert cells.matrix[0, 59] == pytest.approx(s[:8, 472:].mean())
    np.testing.assert_allclose(cells.matrix, cells.matrix.T, atol=1e-12)


def test_every_subdomain_is_drawn_however_small():
    made, _ = planted((1000, 6))
    split = partition(made, "declared:subject")
    cells = similarity_cells(made, split, cells=20)
    assert cells.bounds == [0, len(cells.matrix) - 1]


def test_nothing_to_compare_is_none():
    made = Evaluation.from_arrays(
        benchmark="b", model="m", scores=[0.0, 1.0] * 20, groups={"g": ["a", "b"] * 20}
    )
    split = partition(made, "declared:g")
    assert similarity_cells(made, split) is None
    assert map_points(made, split) is None
    assert item_places(split) is None


@pytest.fixture(scope="module")
def clustered():
    made, truth = planted((60, 50, 40))
    return made, truth, partition(made, k=3)


def agreement_with(found, truth):
    """Return the share of items nearest to the mean of their own group."""
    centres = np.array([found[truth == t].mean(axis=0) for t in range(3)])
    nearest = ((found[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return (nearest == truth).mean()


def test_groups_stand_apart_on_the_map(clustered):
    _, truth, split = clustered
    found = item_places(split)
    assert found.shape == (150, 2)
    assert found.min() >= 0
    assert found.max() <= 1
    assert agreement_with(found, truth) > 0.97
    np.testing.assert_array_equal(found, item_places(split))


def test_items_beyond_the_layout_stand_among_their_like(clustered, monkeypatch):
    _, truth, split = clustered
    whole = item_places(split)
    assert item_places(split) is whole  # kept while the partition is
    monkeypatch.setattr(places, "LAID_OUT", 60)
    fewer = item_places(replace(split))
    assert fewer.shape == whole.shape
    assert not np.array_equal(fewer, whole)
    assert agreement_with(fewer, truth) > 0.97


def test_declared_subdomains_are_placed_by_what_the_model_predicted(clustered):
    made, truth, _ = clustered
    points = map_points(made, partition(made, "declared:subject"))
    found = np.array([(p["x"], p["y"]) for p in points])
    assert agreement_with(found, truth) > 0.97


def test_points_of_a_map_carry_what_can_colour_them(clustered):
    made, truth, split = clustered
    points = map_points(made, split)
    assert [p["id"] for p in points] == list(made.item_ids)
    assert [p["declared"] for p in points] == [f"topic {t}" for t in truth]
    assert [p["correct"] for p in points] == made.scores.tolist()
    assert {p["subdomain"] for p in points} == set(split.names)
    for colour, groups in (("subdomain", 3), ("correct", 2), ("declared", 3)):
        spec = item_map_spec(points, colour)
        assert len(spec["encoding"]["color"]["scale"]["domain"]) == groups


def point(**given):
    return {"x": 0.1, "y": 0.2, "subdomain": "S1", "correct": None, "declared": None, "id": "i",
            **given}  # fmt: skip


def test_of_many_groups_the_largest_have_a_look_of_their_own():
    points = [point(declared=f"g{i}") for i in range(57) for _ in range(60 - i)]
    points.append(point())
    spec = item_map_spec(points, "declared")
    scale = spec["encoding"]["color"]["scale"]
    assert scale["domain"][:16] == [f"g{i}" for i in range(16)]
    assert scale["domain"][16] == "41 smaller groups or no label"
    shapes = spec["encoding"]["shape"]["scale"]["range"]
    assert len(set(zip(scale["range"], shapes, strict=True))) == 17


def test_scores_that_are_graded_are_shown_in_quarters():
    points = [point(correct=c) for c in (0.0, 0.1, 0.6, 0.99, 1.0, None)]
    domain = item_map_spec(points, "correct")["encoding"]["color"]["scale"]["domain"]
    assert domain == [
        "right", "score 0.75 to 1", "score 0.5 to 0.75", "score 0 to 0.25", "wrong", "no label",
    ]  # fmt: skip


def test_a_map_that_nothing_can_colour_is_none():
    assert item_map_spec([point()], "declared") is None
    assert item_map_spec([], "subdomain") is None


def test_the_heat_map_has_a_name_and_a_place_for_every_subdomain():
    spec = similarity_spec(np.eye(4) * 0.5 + 0.5, [0, 3], ["a", "b"])
    rows = spec["data"]["values"]
    assert [r["name"] for r in rows] == ["a", "b"]
    assert rows[0]["bottom"] == pytest.approx(0.75 * spec["height"], abs=0.02)
    assert spec["width"] == spec["height"]
