"""``ehnn match``."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from typer.testing import CliRunner

from ehnn_paper.commands.match import match
from ehnn_paper.matching.feature_cache import weights_hash
from ehnn_paper.matching.pair_model import PairModel
from ehnn_paper.matching.positional import make_model
from ehnn_paper.matching.storage import save_matcher
from ehnn_paper.matching.vgg import WEIGHTS, load_vgg16

app = typer.Typer()
app.command()(match)
OPTIONS = {"refine": 0, "width": 8}
POINTS = {"beak": [30, 20], "eye": [50, 25], "tail": [10, 60], "foot": [40, 70]}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a VGG16 of small random weights."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "vision").mkdir()
    generator = np.random.default_rng(0)
    widths = (3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
    arrays = {}
    for i, (d_in, d_out) in enumerate(pairwise(widths)):
        scale = (2 / (9 * d_in)) ** 0.5
        arrays[f"conv{i}.weight"] = (scale * generator.standard_normal((d_out, d_in, 3, 3))).astype(
            np.float16
        )
        arrays[f"conv{i}.bias"] = np.zeros(d_out, np.float16)
    np.savez(folder / "vision" / WEIGHTS, **arrays)
    return folder


@pytest.fixture(scope="module")
def checkpoint(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    torch.manual_seed(0)
    model = PairModel(make_model("ehnn-mlp+", 1024, 512, **OPTIONS))
    about = {
        "model": "ehnn-mlp+",
        "dataset": "willow",
        "options": OPTIONS,
        "channels": 1024,
        "whole_channels": 512,
    }
    backbone = weights_hash(load_vgg16(data_dir=weights))
    save_matcher(folder, model.state_dict(), {**about, "backbone": backbone})
    return folder


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A.png and its copy B.png, 100 × 80, with keypoints."""
    pixels = np.random.default_rng(1).integers(0, 255, (80, 100, 3), dtype=np.uint8)
    for name in ("A.png", "B.png"):
        Image.fromarray(pixels).save(tmp_path / name)
    write(tmp_path, POINTS, dict(reversed(POINTS.items())))
    return tmp_path


def write(folder: Path, a: object, b: object) -> None:
    entries = [{"image": "A.png", "keypoints": a}, {"image": "B.png", "keypoints": b}]
    (folder / "points.json").write_text(json.dumps({"images": entries}))


def call(images: Path, checkpoint: Path, weights: Path, a: str = "A.png", more: tuple[str, ...] = ()):
    arguments = [str(images / a), str(images / "B.png"), "--keypoints", str(images / "points.json")]
    arguments += ["--checkpoint", str(checkpoint), "--data-dir", str(weights)]
    arguments += ["--out", str(images / "m.png"), "--json", str(images / "m.json")]
    return CliRunner().invoke(app, [*arguments, *more])


def test_matches_go_to_json_and_a_picture(images: Path, checkpoint: Path, weights: Path) -> None:
    result = call(images, checkpoint, weights)
    assert result.exit_code == 0, result.output
    told = json.loads((images / "m.json").read_text())
    assert (told["model"], told["trained_on"]) == ("ehnn-mlp+", "willow")
    assert {row["a"] for row in told["matches"]} == set(POINTS)
    assert {row["b"] for row in told["matches"]} == set(POINTS)
    assert told["right"] == sum(row["a"] == row["b"] for row in told["matches"])
    assert all(row["at_a"] == POINTS[row["a"]] and 0 <= row["probability"] <= 1 for row in told["matches"])
    with Image.open(images / "m.png") as picture:
        assert picture.size[0] > 500
        # Two images of 100 × 80 side by side, as they are and not made square.
        assert 2.0 < picture.size[0] / picture.size[1] < 2.7


def test_nothing_is_overwritten(images: Path, checkpoint: Path, weights: Path) -> None:
    (images / "m.json").write_text("mine")
    result = call(images, checkpoint, weights)
    assert (result.exit_code, (images / "m.json").read_text()) == (2, "mine")
    assert "m.json exists" in " ".join(result.output.split()).replace("\n", "")
    assert call(images, checkpoint, weights, more=("--force",)).exit_code == 0
    before = (images / "A.png").read_bytes()
    result = call(images, checkpoint, weights, more=("--force", "--out", str(images / "A.png")))
    assert (result.exit_code, (images / "A.png").read_bytes()) == (2, before)
    assert "one of the files that are read" in " ".join(result.output.split())


def test_more_keypoints_on_one_image_stay_unmatched(images: Path, checkpoint: Path, weights: Path) -> None:
    write(images, list(POINTS.values()), list(POINTS.values())[:2])
    result = call(images, checkpoint, weights)
    assert result.exit_code == 0, result.output
    told = json.loads((images / "m.json").read_text())
    assert (len(told["matches"]), len(told["unmatched_a"]), told["unmatched_b"]) == (2, 2, [])
    assert "right" not in told  # lists have no names to compare


@pytest.mark.parametrize(
    ("a", "told"),
    [
        ({"beak": [30, 20]}, "must have at least 2 keypoints, got 1"),
        ({"beak": [30, 20], "eye": [500, 20]}, "must lie in the image"),
        ("beak", "must be an object or a list"),
    ],
)
def test_bad_keypoints_are_named(images: Path, checkpoint: Path, weights: Path, a: object, told: str) -> None:
    write(images, a, POINTS)
    result = call(images, checkpoint, weights)
    assert result.exit_code == 2
    assert told in result.output


def test_missing_things_are_named(images: Path, checkpoint: Path, weights: Path, tmp_path: Path) -> None:
    (images / "C.png").write_bytes(b"")
    assert "must have one entry for" in call(images, checkpoint, weights, "C.png").output
    assert "matcher.safetensors is not there" in call(images, images, weights).output
    assert "vgg16_imagenet_fp16.npz" in call(images, checkpoint, tmp_path).output
    (images / "points.json").write_text("{}")
    assert '"images"' in call(images, checkpoint, weights).output
    (images / "A.png").write_bytes(b"no image")
    write(images, POINTS, POINTS)
    assert "cannot read the image" in call(images, checkpoint, weights).output


def test_an_entry_is_not_that_of_another_image_of_the_same_name(
    images: Path, checkpoint: Path, weights: Path
) -> None:
    (images / "other").mkdir()
    (images / "other" / "A.png").write_bytes((images / "B.png").read_bytes())
    result = call(images, checkpoint, weights, more=("--json", str(images / "m.png")))
    assert "must be two files" in " ".join(result.output.split())
    arguments = [
        str(images / "A.png"),
        str(images / "other" / "A.png"),
        "--keypoints",
        str(images / "points.json"),
    ]
    arguments += ["--checkpoint", str(checkpoint), "--data-dir", str(weights)]
    result = CliRunner().invoke(
        app, [*arguments, "--out", str(images / "m.png"), "--json", str(images / "m.json")]
    )
    assert result.exit_code == 2
    assert "it has 0" in " ".join(result.output.split())
