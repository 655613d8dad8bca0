"""A user's own images and keypoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehnn_paper.matching.own_images import own_image, own_images

from .keypoint_files import Image, encoded, write

pytestmark = pytest.mark.usefixtures("no_data")


def own(folder: Path, *entries: Any) -> Path:
    return write(folder / "mine.json", json.dumps({"images": list(entries)}))


def test_own_images(tmp_path: Path) -> None:
    write(tmp_path / "photos" / "a.png", encoded((100, 50)))
    write(tmp_path / "b.jpg", encoded((64, 64), kind="JPEG"))
    path = own(
        tmp_path,
        {
            "image": "photos/a.png",
            "category": "duck",
            "keypoints": {"beak": [100, 25], "eye": [0, 0], "leg": None},
        },
        {"image": "b.jpg", "split": "test", "keypoints": [[32, 16], None, [64, 64]]},
    )
    found = own_images(path)
    a, b = found.items("duck", "train")[0], found.items("object", "test")[0]
    assert (a.names, a.points.tolist()) == (("beak", "eye"), [[256.0, 128.0], [0.0, 0.0]])
    assert (b.names, b.points.tolist()) == (("0", "2"), [[128.0, 64.0], [256.0, 256.0]])
    assert a.read_image().shape == (3, 256, 256)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"image": "a.png", "keypoints": [[1, 1], [101, 1]]},
            r"'1' of 'a.png' must lie in the image \(100 × 50\)",
        ),
        (
            {"image": "a.png", "keypoints": {"x": [float("nan"), 1], "y": [1, 1]}},
            "'x' of 'a.png' must lie in",
        ),
        ({"image": "a.png", "keypoints": [[1, 1]]}, "'a.png' must have at least 2 keypoints, got 1"),
        ({"image": "a.png", "keypoints": [[1, 1], [1, 2, 3]]}, r"must be \[x, y\], got \[1, 2, 3\]"),
        ({"image": "a.png", "keypoints": "here"}, "must be an object or a list"),
        ({"image": "bad.png", "keypoints": [[1, 1], [2, 2]]}, "image 'bad.png': cannot read the image"),
        ({"image": "none.png", "keypoints": [[1, 1], [2, 2]]}, "image 'none.png': "),
    ],
)
def test_a_bad_own_image_is_named_and_skipped_only_if_asked(tmp_path: Path, entry: Any, message: str) -> None:
    write(tmp_path / "a.png", encoded((100, 50)))
    write(tmp_path / "bad.png", b"not an image")
    path = own(tmp_path, {"image": "a.png", "keypoints": [[1, 1], [2, 2]]}, entry)
    with pytest.raises(ValueError, match=message):
        own_images(path)
    with pytest.warns(UserWarning, match=f"skipped: .*{message}"):
        assert len(own_images(path, skip_bad=True).items()) == 1


def test_json_that_is_not_understood(tmp_path: Path) -> None:
    for told, message in (
        ("[]", 'must hold {"images"'),
        ('{"images": [{"image": "a.png"}]}', r"images\[0\] lacks 'keypoints'"),
        ('{"images": [{"image": "a", "keypoints": [], "colour": 1}]}', "has the unknown 'colour'"),
        (
            '{"images": [{"image": "a", "keypoints": [], "split": "dev"}]}',
            "must be one of .* got 'dev'",
        ),
        ('{"images": [{"image": "a", "keypoints": {"x": [1, 1], "x": [2, 2]}}]}', "'x' stands twice"),
        ("{", "is not JSON"),
    ):
        with pytest.raises(ValueError, match=message):
            own_images(write(tmp_path / "mine.json", told))


def test_one_image_without_a_file_of_keypoints(tmp_path: Path) -> None:
    found = own_image(write(tmp_path / "a.png", encoded((100, 50))), [(50, 25), (0, 50)])
    assert found.points.tolist() == [[128.0, 128.0], [0.0, 256.0]]


def test_a_key_that_stands_twice_is_that_of_one_entry(tmp_path: Path) -> None:
    Image.new("RGB", (50, 50)).save(tmp_path / "a.png")
    good = '{"image": "a.png", "keypoints": {"p": [1, 2], "q": [9, 3]}}'
    bad = '{"image": "a.png", "keypoints": {"p": [1, 2], "p": [9, 3], "q": [3, 3]}}'
    path = tmp_path / "k.json"
    path.write_text(f'{{"images": [{good}, {bad}]}}')
    with pytest.raises(ValueError, match=r"images\[1\]: the key 'p' stands twice in 'a\.png'"):
        own_images(path)
    with pytest.warns(UserWarning, match="stands twice in 'a.png'"):
        assert len(own_images(path, skip_bad=True).items()) == 1
    path.write_text(f'{{"images": [{good.replace("[9, 3]", "[9, 1" + "0" * 400 + "]")}]}}')
    with pytest.raises(ValueError, match=r"keypoint 'q' of 'a\.png'"):
        own_images(path)
