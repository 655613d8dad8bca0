"""Willow, PASCAL VOC and the CMU house: as shared, in their original layout, and broken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn._utils.untrusted import read_arrays
from ehnn.datasets import DataError
from ehnn_paper.matching.cmu_house import cmu_house, frame_pairs
from ehnn_paper.matching.voc import voc
from ehnn_paper.matching.willow import willow

from .keypoint_files import Image, encoded, willow_packed, write, write_tar

pytestmark = pytest.mark.usefixtures("no_data")


def test_willow_scales_points_and_takes_the_first_20_for_training(tmp_path: Path) -> None:
    found = willow(willow_packed(tmp_path))
    assert [k.id for k in found.items("Duck", "train")] == [f"Duck/{i:03}" for i in range(20)]
    assert [k.id for k in found.items("Duck", "test")] == ["Duck/020", "Duck/021"]
    first = found.items("Duck", "train")[0]
    assert first.points.tolist() == [[1.0, 2.0], [256.0, 128.0], [128.0, 256.0]]
    assert first.names == ("0", "1", "2")
    assert first.read_image().shape == (3, 256, 256)


def test_willow_in_the_layout_of_its_archive(tmp_path: Path) -> None:
    from scipy.io import savemat

    folder = tmp_path / "vision" / "WILLOW-ObjectClass"
    for i, suffix in ((0, ".png"), (1, ".jpg")):
        write(folder / "Car" / f"car_{i}{suffix}", encoded((512, 128), kind="PNG" if i == 0 else "JPEG"))
        savemat(folder / "Car" / f"car_{i}.mat", {"pts_coord": np.array([[2.0, 512.0], [1.0, 64.0]])})
    found = willow(tmp_path).items("Car", "train")
    assert [k.id for k in found] == ["Car/car_0", "Car/car_1"]
    assert found[1].points.tolist() == [[1.0, 2.0], [256.0, 128.0]]
    assert found[1].read_image().shape == (3, 256, 256)
    write(folder / "Car" / "car_0.png", b"no image")
    with pytest.raises(ValueError, match=r"cannot read the image in .*car_0\.png"):
        willow(tmp_path)
    with pytest.warns(UserWarning, match=r"skipped: .*car_0\.png"):
        assert len(willow(tmp_path, skip_bad=True).items()) == 1


def test_missing_files_are_named_with_where_to_put_them(tmp_path: Path) -> None:
    for load, name in (
        (willow, "willow_256.tar"),
        (voc, "voc_keypoints.json"),
        (cmu_house, "cmu_house_points.npz"),
    ):
        with pytest.raises(DataError, match=f"lacks .*{name}.*Put .* at {tmp_path}/vision/"):
            load(tmp_path)


def test_willow_files_that_contradict_each_other(tmp_path: Path) -> None:
    willow_packed(tmp_path)
    write_tar(tmp_path / "vision" / "willow_256.tar", {"Duck/000.jpg": encoded()})
    with pytest.raises(ValueError, match=r"willow_256\.tar lacks 'Duck/021\.jpg'"):
        willow(tmp_path)
    write(tmp_path / "vision" / "willow_keypoints.json", '[{"id": "Duck/000", "size": [1, 1]}]')
    with pytest.raises(ValueError, match="entries\\[0\\] lacks 'pts'"):
        willow(tmp_path)


def test_the_real_willow(real_images: Path) -> None:
    found = willow(real_images)
    counts = {c: len(found.items(c)) for c in found.categories}
    assert counts == {"Car": 40, "Duck": 50, "Face": 109, "Motorbike": 40, "Winebottle": 66}
    assert all(len(found.items(c, "train")) == 20 for c in found.categories)
    assert not torch.cat([k.outside() for k in found.items()]).any()
    few = [(k.id, len(k)) for k in found.items() if len(k) != 10]
    assert few == [("Face/image_0160", 8)]
    assert found.items("Face", "test")[3].read_image().float().std() > 10


def test_voc_packed(tmp_path: Path) -> None:
    entry = {"image": "cat/1_1.jpg", "category": "cat", "split": "test", "part": "one.tar"}
    entry["keypoints"] = [["Nose", 1.5, 300.0], ["Tail", 0.0, 4.0]]  # type: ignore[assignment]
    write(tmp_path / "vision" / "voc_keypoints.json", json.dumps([entry]))
    with pytest.raises(DataError, match=r"'voc' lacks one\.tar"):
        voc(tmp_path)
    write_tar(tmp_path / "vision" / "one.tar", {"cat/1_1.jpg": encoded()})
    found = voc(tmp_path).items("cat", "test")[0]
    assert found.names == ("Nose", "Tail")
    assert found.points.tolist() == [[1.5, 300.0], [0.0, 4.0]]
    assert found.outside().tolist() == [True, False]
    assert found.id == "cat/1_1"


def voc_original(folder: Path) -> Path:
    images = {"2008_1": "train", "2008_2": "val", "2008_3": "val"}
    root = folder / "vision" / "VOC2011"
    for image in images:
        write(root / "JPEGImages" / f"{image}.jpg", encoded((100, 80), kind="JPEG"))
        flag = int(image == "2008_3")
        write(
            root / "Annotations" / f"{image}.xml",
            f"<annotation><object><name>cow</name><truncated>{flag}</truncated></object></annotation>",
        )
        write(
            folder / "vision" / "annotations" / "cow" / f"{image}_1.xml",
            f'<annotation><image>{image}</image><visible_bounds xmin="10" ymin="20" width="64" height="32"/>'
            '<keypoints><keypoint name="Nose" x="42" y="36" z="0" visible="1"/>'
            '<keypoint name="Tail" x="10" y="52" z="0" visible="1"/></keypoints></annotation>',
        )
    for split in ("train", "val"):
        names = [image for image, where in images.items() if where == split]
        write(root / "ImageSets" / "Main" / f"{split}.txt", "\n".join(names) + "\n")
    return folder


def test_voc_in_the_layout_of_its_archives(tmp_path: Path) -> None:
    found = voc(voc_original(tmp_path))
    assert [k.id for k in found.items("cow", "train")] == ["cow/2008_1_1"]
    assert [k.id for k in found.items("cow", "test")] == ["cow/2008_2_1"]  # the third one is truncated
    item = found.items("cow", "train")[0]
    assert item.points.tolist() == [[128.0, 128.0], [0.0, 256.0]]
    with Image.open(tmp_path / "vision" / "VOC2011" / "JPEGImages" / "2008_1.jpg") as image:
        crop = np.array(
            image.convert("RGB").crop((10, 20, 74, 52)).resize((256, 256), Image.Resampling.BICUBIC)
        )
    assert torch.equal(item.read_image(), torch.from_numpy(crop).permute(2, 0, 1))


def test_bad_voc_annotations_are_named(tmp_path: Path) -> None:
    path = voc_original(tmp_path) / "vision" / "annotations" / "cow" / "2008_1_1.xml"
    good = path.read_text()
    for bad, message in (
        (good.replace('x="42"', 'x="?"'), "<keypoint> must have a number 'x', got '\\?'"),
        (good.replace('width="64"', 'width="0"'), "must have a width and a height, got 0.0"),
        ("<annotation/>", "lacks <visible_bounds>"),
        (good[:50], "is not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + good, "refused: it defines entities"),
    ):
        path.write_text(bad)
        with pytest.raises(ValueError, match=f"2008_1_1.xml.*{message}"):
            voc(tmp_path)


def test_the_real_voc(real_images: Path) -> None:
    found = voc(real_images)
    assert [len(found.items(split=s)) for s in ("train", "test")] == [7020, 1682]
    assert len(found.categories) == 20
    train, test = (
        {k.id.split("/")[1].rsplit("_", 1)[0] for k in found.items(split=s)} for s in ("train", "test")
    )
    assert not train & test  # two objects of one photograph are never on both sides
    assert found.items("cow", "test")[0].read_image().float().std() > 5


def test_cmu_house(tmp_path: Path, real_images: Path) -> None:
    found = cmu_house(real_images)
    frames = found.items("house", "test")
    assert [len(frames), len(frames[0])] == [111, 30]
    assert not torch.cat([k.outside() for k in frames]).any()
    assert len(frame_pairs(found, 100)) == 11
    with pytest.raises(ValueError, match="has keypoints only, no image"):
        frames[0].read_image()
    (tmp_path / "vision").mkdir()
    np.savez(tmp_path / "vision" / "cmu_house_points.npz", points=np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"shape \[frames, 2, n\], got \(3, 4\)"):
        cmu_house(tmp_path)
    np.savez(tmp_path / "vision" / "cmu_house_points.npz", points=np.full((3, 2, 4), 1e300))
    with pytest.raises(ValueError, match=r"cmu_house_points\.npz: points must be finite"):
        cmu_house(tmp_path)


@pytest.mark.parametrize("bad", ["003.mat", "003.png"])
def test_what_is_left_out_of_willow_moves_nothing_between_the_splits(tmp_path: Path, bad: str) -> None:
    from scipy.io import savemat

    folder = tmp_path / "vision" / "WILLOW-ObjectClass" / "Duck"
    folder.mkdir(parents=True)
    for i in range(22):
        Image.new("RGB", (20, 10)).save(folder / f"{i:03}.png")
        savemat(folder / f"{i:03}.mat", {"pts_coord": np.arange(8.0).reshape(2, 4)})
    (folder / bad).write_bytes((folder / bad).read_bytes()[:30])
    with pytest.warns(UserWarning, match="skipped"):
        found = willow(tmp_path, skip_bad=True)
    assert [k.id for k in found.items(split="test")] == ["Duck/020", "Duck/021"]
    assert len(found.items(split="train")) == 19


def test_a_bad_annotation_of_voc_is_skipped_if_asked(tmp_path: Path) -> None:
    path = voc_original(tmp_path) / "vision" / "annotations" / "cow" / "2008_1_1.xml"
    whole = len(voc(tmp_path).items())
    path.write_text("junk")
    with pytest.raises(ValueError, match=r"2008_1_1\.xml is not XML"):
        voc(tmp_path)
    with pytest.warns(UserWarning, match=r"2008_1_1\.xml is not XML"):
        assert len(voc(tmp_path, skip_bad=True).items()) == whole - 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY\x01\x00junk"])
def test_a_broken_archive_of_arrays_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file of weights"):
        read_arrays(path, "weights")
    np.save(tmp_path / "b.npy", np.zeros(3))
    (tmp_path / "b.npy").rename(path)
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file of weights"):
        read_arrays(path, "weights")
