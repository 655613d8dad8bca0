"""Dot plots: the best competitor is found and highlighted, models far behind stay in the picture."""

from pathlib import Path

import numpy as np
import pytest

from ehnn_paper.dots import BEST, LOOKS, competitors, draw_dots, draw_lead

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
pytest.importorskip("matplotlib", reason="needs matplotlib")
VALUES = {
    "gmn": {"car": 40.0, "duck": 50.0},
    "ngm-v2": {"car": 80.0, "duck": 90.0},
    "nhgm-v2+": {"car": 99.0, "duck": 99.0},
    "ehnn-mlp": {"car": 85.0, "duck": 95.0},
}


def pixels_of(path: Path, colour: str) -> int:
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    with Image.open(path) as image:
        return int((np.abs(np.asarray(image.convert("RGB")).astype(int) - wanted).max(-1) <= 6).sum())


def test_our_models_are_no_competitors():
    assert competitors(VALUES) == ["gmn", "ngm-v2"]


@pytest.mark.parametrize("draw", [draw_dots, draw_lead])
def test_ehnn_and_the_best_competitor_are_highlighted(draw, tmp_path):
    path = draw(VALUES, tmp_path / "dots.png", "F1, %", least=-20.0)
    assert pixels_of(path, LOOKS["ehnn-mlp"][0]) > 100
    without = draw({"gmn": VALUES["gmn"]}, tmp_path / "other.png", "F1, %", least=-20.0)
    assert pixels_of(without, LOOKS["ehnn-mlp"][0]) == 0
    assert pixels_of(path, BEST[0]) > 100


def test_no_category_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must hold a model with a category"):
        draw_dots({}, tmp_path / "none.png", "F1, %")
