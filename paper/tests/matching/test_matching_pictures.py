"""Figures of matchings are whole PNG files that show what they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn_paper.matching.pictures import (
    MISSING,
    RIGHT,
    UNKNOWN,
    WRONG,
    draw_association,
    draw_matches,
)

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
pytest.importorskip("matplotlib", reason="needs matplotlib")


def pixels_of(path: Path, colour: str) -> int:
    """How many pixels are nearly of this colour."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    with Image.open(path) as image:
        found = np.asarray(image.convert("RGB")).astype(int)
    return int((np.abs(found - wanted).max(-1) <= 6).sum())


def scene(predicted: list[int], target: list[int] | None, path: Path) -> Path:
    image = torch.zeros(3, 64, 64, dtype=torch.uint8)
    points = torch.tensor([[10.0, 10.0], [30.0, 50.0], [50.0, 20.0]])
    truth = None if target is None else torch.tensor(target)
    draw_matches(image, image, points, points, torch.tensor(predicted), truth, path)
    return path


@pytest.mark.parametrize(
    ("predicted", "target", "colours"),
    [
        ([0, 1, 2], [0, 1, 2], {RIGHT}),
        ([1, 0, 2], [0, 1, 2], {RIGHT, WRONG}),
        ([1, 0, 2], [-1, -1, -1], {WRONG}),
        ([-1, 1, 2], [0, 1, 2], {RIGHT, MISSING}),
        ([-1, 1, 2], [-1, 1, 2], {RIGHT}),
        ([-1, 1, 2], None, {UNKNOWN}),
    ],
)
def test_matches_have_the_colours_of_what_they_are(
    predicted: list[int], target: list[int] | None, colours: set[str], tmp_path: Path
) -> None:
    path = scene(predicted, target, tmp_path / "new" / "matches.png")
    # Each kind is in the legend whatever its number: a line in the picture has far more pixels.
    shown = {c for c in (RIGHT, WRONG, MISSING, UNKNOWN) if pixels_of(path, c) > 400}
    assert shown == colours


def test_rows_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"predicted must be \[3\] rows from −1 to 2, got \[0, 1, 3\]"):
        scene([0, 1, 3], None, tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"target must be \[3\] rows"):
        scene([0, 1, 2], [0], tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_no_keypoints_are_an_empty_picture(tmp_path: Path) -> None:
    image, none = torch.zeros(3, 32, 32, dtype=torch.uint8), torch.zeros(0, dtype=torch.int64)
    draw_matches(image, image, torch.zeros(0, 2), torch.zeros(0, 2), none, none, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_the_association_hypergraph_shows_its_triangles(tmp_path: Path) -> None:
    points = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    pairs = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    lines, graph = torch.tensor([[0, 0], [4, 5]]), torch.tensor([[0, 1], [1, 2]])
    triangles = torch.tensor([[0], [4], [5]])
    none = torch.zeros(3, 0, dtype=torch.int64)
    draw_association(points, points, pairs, lines, none, tmp_path / "without.png", (graph, graph))
    draw_association(points, points, pairs, lines, triangles, tmp_path / "with.png")
    pale = "#D1E6F1"  # the first colour, translucent on white
    assert pixels_of(tmp_path / "with.png", pale) > 1000 + pixels_of(tmp_path / "without.png", pale)
    with pytest.raises(ValueError, match=r"edges3 must be \[3, ·\] rows of 9 pairs"):
        draw_association(points, points, pairs, lines, lines, tmp_path / "a.png")
