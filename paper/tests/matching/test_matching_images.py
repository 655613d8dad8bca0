"""Keypoints, the images that they lie in, and sets of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn_paper.matching.images import ImageFile, tar_images
from ehnn_paper.matching.keypoints import Keypoints, KeypointSet

from .keypoint_files import Image, encoded, made, points, write, write_tar

pytestmark = pytest.mark.usefixtures("no_data")


def test_keypoints_must_be_finite_distinct_and_float32() -> None:
    with pytest.raises(ValueError, match=r"keypoint 'y' of 'a' must be finite, got \[nan, 0.0\]"):
        Keypoints("a", "duck", torch.tensor([[0.0, 0.0], [float("nan"), 0.0]]), ("x", "y"))
    with pytest.raises(ValueError, match="distinct, got 'x' twice"):
        Keypoints("a", "duck", torch.zeros(2, 2), ("x", "x"))
    with pytest.raises(ValueError, match=r"float32 of shape \[2, 2\]"):
        Keypoints("a", "duck", torch.zeros(3, 2), ("x", "y"))


def test_a_choice_of_a_choice_remembers_the_rows_of_all_keypoints() -> None:
    whole = made("vwxyz")
    chosen = whole.select(torch.tensor([4, 2, 0])).select(torch.tensor([2, 0]))
    assert chosen.names == ("v", "z")
    assert chosen.whole is whole
    assert chosen.rows is not None
    assert torch.equal(whole.points[chosen.rows], chosen.points)


def test_images_are_read_from_a_tar_without_unpacking(tmp_path: Path) -> None:
    files = {f"{i}.png": encoded(seed=i) for i in range(3)}
    index = tar_images(write_tar(tmp_path / "some.tar", files))
    for name, data in files.items():
        assert torch.equal(index[name].read(), ImageFile(write(tmp_path / name, data)).read())
    assert {p.name for p in tmp_path.iterdir()} == {"some.tar", *files}


def test_a_tar_that_is_cut_short_or_none_is_named(tmp_path: Path) -> None:
    whole = write_tar(tmp_path / "some.tar", {"a.png": encoded()}).read_bytes()
    with pytest.raises(ValueError, match=r"cut\.tar is not a whole, uncompressed tar file"):
        tar_images(write(tmp_path / "cut.tar", whole[:5000]))
    with pytest.raises(ValueError, match=r"none\.tar is not a whole, uncompressed tar file"):
        tar_images(write(tmp_path / "none.tar", b"not a tar file" * 100))


def test_reading_resizes_cuts_out_and_turns_upright(tmp_path: Path) -> None:
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, :40] = 255  # the left half is white
    path = tmp_path / "half.png"
    Image.fromarray(pixels).save(path)
    assert ImageFile(path).read().shape == (3, 256, 256)
    assert ImageFile(path, box=(0, 0, 40, 40)).read().min() == 255
    assert ImageFile(path, box=(40, 0, 80, 40)).read().max() == 0
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90° clockwise: the left half is then the upper one
    turned = tmp_path / "turned.png"
    Image.fromarray(pixels).save(turned, exif=exif)
    assert ImageFile(turned).size() == (40, 80)
    assert ImageFile(turned).read()[:, :100].min() == 255


def test_pixels_of_other_kinds_are_scaled_or_refused(tmp_path: Path) -> None:
    """Pillow alone would cut 16 bits and fractions off, and show what is transparent."""
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    Image.fromarray(ramp).save(tmp_path / "deep.png")
    deep = ImageFile(tmp_path / "deep.png").read()
    assert (int(deep.min()), int(deep.max())) == (0, 255)
    assert 120 < float(deep.float().mean()) < 135
    clear = np.zeros((16, 16, 4), np.uint8)
    clear[:, 8:, 3] = 255
    Image.fromarray(clear).save(tmp_path / "clear.png")
    seen = ImageFile(tmp_path / "clear.png").read()
    assert int(seen[:, :, 0].min()) == 255
    assert int(seen[:, :, -1].max()) == 0
    Image.fromarray(ramp.astype(np.float32) / 65535).save(tmp_path / "float.tiff")
    with pytest.raises(ValueError, match=r"float.tiff: pixels are floating-point numbers"):
        ImageFile(tmp_path / "float.tiff").read()


def test_an_image_that_does_not_decode_is_named_and_skipped_only_if_asked(tmp_path: Path) -> None:
    good = ImageFile(write(tmp_path / "good.jpg", encoded(kind="JPEG")))
    cut = ImageFile(write(tmp_path / "cut.jpg", encoded(kind="JPEG")[:2000]))
    absent = ImageFile(tmp_path / "absent.jpg")
    items = [Keypoints(i, "duck", points(3), tuple("xyz"), image) for i, image in
             (("good", good), ("cut", cut), ("absent", absent))]  # fmt: skip
    found = KeypointSet("mine", {"train": tuple(items), "test": ()})
    with pytest.raises(ValueError, match=r"image 'cut': cannot read the image in .*cut\.jpg"):
        found.readable()
    with pytest.warns(UserWarning, match="skipped: image '(cut|absent)'"):
        left = found.readable(skip_bad=True)
    assert [k.id for k in left.items()] == ["good"]


def test_a_set_gives_items_by_category_and_split() -> None:
    items = tuple(made("xyz", str(i), "duck" if i % 2 else "car") for i in range(10))
    found = KeypointSet("mine", {"train": items[:6], "test": items[6:]})
    assert found.categories == ("car", "duck")
    assert [k.id for k in found.items("duck", "test")] == ["7", "9"]
    with pytest.raises(ValueError, match=r"category must be one of .*'goose'"):
        found.items("goose")
    with pytest.raises(ValueError, match=r"split must be one of .*'dev'"):
        found.items("duck", "dev")
    held = found.with_validation(1)
    assert [len(held.items(split=s)) for s in ("train", "valid", "test")] == [4, 2, 4]
    assert {k.id for k in held.items()} == {k.id for k in items}
    with pytest.raises(ValueError, match="count must be from 1 to 2"):
        found.with_validation(3)
