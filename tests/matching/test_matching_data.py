"""Keypoint datasets, pairs of images and what makes them harder."""

from __future__ import annotations

import io
import json
import os
import tarfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehnn.datasets import DataError
from ehnn.tasks.matching import pairs as pairing
from ehnn.tasks.matching.cmu_house import cmu_house, frame_pairs
from ehnn.tasks.matching.collate import collate
from ehnn.tasks.matching.images import ImageFile, tar_images
from ehnn.tasks.matching.keypoints import Keypoints, KeypointSet
from ehnn.tasks.matching.own_images import own_image, own_images
from ehnn.tasks.matching.pairs import PairSampler, make_pair, seeded
from ehnn.tasks.matching.transforms import rotate, rotate_image, turn_second, with_outliers
from ehnn.tasks.matching.voc import voc
from ehnn.tasks.matching.willow import willow

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
_DATA = os.environ.get("EHNN_DATA") or str(Path(__file__).resolve().parents[2].parent / "shared" / "data")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EHNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def real_data() -> Path:
    if not Path(_DATA, "vision").is_dir():
        pytest.skip(f"raw data not found at {_DATA}; set EHNN_DATA to the folder that holds it")
    return Path(_DATA)


def encoded(size: tuple[int, int] = (256, 256), seed: int = 0, kind: str = "PNG") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def points(n: int, seed: int = 0) -> torch.Tensor:
    return 256 * torch.rand(n, 2, generator=torch.Generator().manual_seed(seed))


def made(names: str, id: str = "a", category: str = "duck", seed: int = 0) -> Keypoints:
    return Keypoints(id, category, points(len(names), seed), tuple(names))


# Keypoints and images


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


# Sets


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


# Willow


def willow_packed(folder: Path, count: int = 22) -> Path:
    names = [f"Duck/{i:03}" for i in range(count)]
    records: list[Any] = [
        {"id": n, "size": [512, 128], "pts": [[2.0, 512.0, 256.0], [1.0, 64.0, 128.0]]} for n in names
    ]
    write(folder / "vision" / "willow_keypoints.json", json.dumps(records[::-1]))
    write_tar(folder / "vision" / "willow_256.tar", {f"{n}.jpg": encoded() for n in names})
    return folder


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
    with pytest.raises(ValueError, match=r"willow_256\.tar lacks Duck/021\.jpg"):
        willow(tmp_path)
    write(tmp_path / "vision" / "willow_keypoints.json", '[{"id": "Duck/000", "size": [1, 1]}]')
    with pytest.raises(ValueError, match="entry 0 must have 'pts' of type list"):
        willow(tmp_path)


def test_the_real_willow(real_data: Path) -> None:
    found = willow(real_data)
    counts = {c: len(found.items(c)) for c in found.categories}
    assert counts == {"Car": 40, "Duck": 50, "Face": 109, "Motorbike": 40, "Winebottle": 66}
    assert all(len(found.items(c, "train")) == 20 for c in found.categories)
    assert not torch.cat([k.outside() for k in found.items()]).any()
    few = [(k.id, len(k)) for k in found.items() if len(k) != 10]
    assert few == [("Face/image_0160", 8)]
    assert found.items("Face", "test")[3].read_image().float().std() > 10


# PASCAL VOC


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


def test_the_real_voc(real_data: Path) -> None:
    found = voc(real_data)
    assert [len(found.items(split=s)) for s in ("train", "test")] == [7020, 1682]
    assert len(found.categories) == 20
    train, test = (
        {k.id.split("/")[1].rsplit("_", 1)[0] for k in found.items(split=s)} for s in ("train", "test")
    )
    assert not train & test  # two objects of one photograph are never on both sides
    assert found.items("cow", "test")[0].read_image().float().std() > 5


# CMU house


def test_cmu_house(tmp_path: Path, real_data: Path) -> None:
    found = cmu_house(real_data)
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


# A user's own images


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
        ('{"images": [{"image": "a.png"}]}', "entry 0 of images must have 'image' and 'keypoints'"),
        ('{"images": [{"image": "a", "keypoints": [], "colour": 1}]}', "may have .* got 'colour'"),
        ('{"images": [{"image": "a", "keypoints": [], "split": "dev"}]}', "split of .* got 'dev'"),
        ('{"images": [{"image": "a", "keypoints": {"x": [1, 1], "x": [2, 2]}}]}', "'x' stands twice"),
        ("{", "is not JSON"),
    ):
        with pytest.raises(ValueError, match=message):
            own_images(write(tmp_path / "mine.json", told))


def test_one_image_without_a_file_of_keypoints(tmp_path: Path) -> None:
    found = own_image(write(tmp_path / "a.png", encoded((100, 50))), [(50, 25), (0, 50)])
    assert found.points.tolist() == [[128.0, 128.0], [0.0, 256.0]]


# Pairs


def test_intersection_and_all() -> None:
    a, b = made("wxyz", "a"), made("zaxw", "b", seed=1)
    pair = make_pair(a, b)
    assert (pair.a.names, pair.b.names, pair.target.tolist()) == (tuple("wxz"), tuple("zxw"), [2, 1, 0])
    pair = make_pair(a, b.select(torch.tensor([0, 1, 2])), "all")
    assert (len(pair.a), len(pair.b), pair.target.tolist()) == (4, 3, [-1, 2, -1, 0])


def test_shuffled_pairs_still_match_by_name() -> None:
    a, b = made("rstuvwxyz", "a"), made("zyxwvutsr", "b", seed=1)
    pair = make_pair(a, b, generator=seeded(0))
    assert [pair.b.names[i] for i in pair.target.tolist()] == list(pair.a.names)
    assert pair.a.names != a.names
    assert pair.b.names != b.names
    assert torch.equal(pair.b.points, b.points[[b.names.index(n) for n in pair.b.names]])


def test_pairs_without_common_keypoints_are_refused() -> None:
    with pytest.raises(ValueError, match="'a' and 'b' have no keypoint in common"):
        make_pair(made("xyz", "a"), made("uvw", "b"))
    assert make_pair(made("xyz", "a"), made("uvw", "b"), "all").target.tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match="must have keypoints, they have 3 and 0"):
        make_pair(made("xyz", "a"), made("", "b"), "all")
    with pytest.raises(ValueError, match="mode must be"):
        make_pair(made("xyz"), made("xyz"), "union")  # type: ignore[arg-type]


def sampled_set() -> KeypointSet:
    cars = [made("uvwxyz", f"car {i}", "car", i) for i in range(4)]
    ducks = [made("abcde", f"duck {i}", "duck", i) for i in range(3)]
    ducks += [made("ab", "duck 3", "duck"), made("axyz", "duck 4", "duck")]
    return KeypointSet("mine", {"train": (*cars, *ducks), "test": (cars[0], *ducks[3:])})


def test_batches_depend_on_seed_and_step_alone() -> None:
    def told(seed: int, step: int) -> list[Any]:
        batch = PairSampler(sampled_set(), "train", seed).batch_of_pairs(step, 8)
        return [(p.a.id, p.b.id, p.a.names, p.b.names, p.target.tolist()) for p in batch]

    assert told(0, 3) == told(0, 3)
    assert told(0, 3) != told(0, 4)
    assert told(0, 3) != told(1, 3)


def test_sampling_is_uniform_over_categories_and_leaves_out_poor_pairs() -> None:
    drawn = PairSampler(sampled_set()).batch_of_pairs(0, 600)
    assert 250 < sum(p.category == "car" for p in drawn) < 350
    assert all(p.a.category == p.b.category and p.a.id != p.b.id for p in drawn)
    assert {p.a.id for p in drawn} == {*(f"car {i}" for i in range(4)), *(f"duck {i}" for i in range(3))}
    ordered = {(p.a.id, p.b.id) for p in drawn if p.category == "car"}
    assert len(ordered) == 12  # every ordered pair of two different images


def test_categories_without_any_pair_are_named() -> None:
    with pytest.raises(ValueError, match=r"2 images of 'duck' hold no pair with 3 .* \(1 of them"):
        pairing.test_pairs(sampled_set(), "duck", 1, 0)
    with pytest.raises(ValueError, match="1 images of 'car' hold no pair"):
        pairing.test_pairs(sampled_set(), "car", 1, 0)
    with pytest.raises(ValueError, match="category must be one of"):
        pairing.test_pairs(sampled_set(), "goose", 1, 0)
    with pytest.raises(ValueError, match="the split 'test' of 'mine' has no images"):
        PairSampler(KeypointSet("mine", {"train": (), "test": ()}), "test")


def test_test_pairs_are_the_same_for_the_same_seed(real_data: Path) -> None:
    found = willow(real_data)
    first, again = (pairing.test_pairs(found, "Duck", 20, 0) for _ in range(2))
    assert [(p.a.id, p.b.id, p.target.tolist()) for p in first] == [
        (p.a.id, p.b.id, p.target.tolist()) for p in again
    ]
    test = {k.id for k in found.items("Duck", "test")}
    assert {p.a.id for p in first} | {p.b.id for p in first} <= test


# What makes pairs harder


def test_turning_points_keeps_distances_up_to_scale() -> None:
    k = made("vwxyz")
    turned = rotate(k, 30.0, 2.0)
    assert torch.allclose(
        torch.cdist(turned.points, turned.points), 2 * torch.cdist(k.points, k.points), rtol=1e-4
    )
    assert torch.allclose(rotate(rotate(k, 30.0, 2.0), -30.0, 0.5).points, k.points, atol=1e-3)
    quarter = rotate(Keypoints("a", "", torch.tensor([[256.0, 128.0]]), ("x",)), 90.0)
    assert torch.allclose(quarter.points, torch.tensor([[128.0, 256.0]]), atol=1e-4)  # y points down
    assert turned.whole is k  # what a backbone sees is that of the image as it was
    with pytest.raises(ValueError, match="scale must be positive, got 0"):
        rotate(k, 0.0, 0.0)


def test_turning_an_image_moves_its_pixels_with_its_points(tmp_path: Path) -> None:
    pixels = np.zeros((256, 256, 3), np.uint8)
    pixels[40:50, 180:190] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    k = Keypoints("a", "", torch.tensor([[185.0, 45.0]]), ("x",), ImageFile(tmp_path / "a.png"))
    for angle, scale in ((90.0, 1.0), (37.0, 1.0), (-120.0, 0.7), (15.0, 1.3)):
        turned = rotate_image(k, angle, scale)
        x, y = turned.points[0].int().tolist()
        assert turned.read_image()[:, y, x].min() > 200, (angle, scale)
        assert (turned.read_image() == 255).all(0).sum() < 300
        assert turned.content != k.content
    assert torch.equal(rotate_image(k, 0.0).read_image(), k.read_image())
    assert rotate_image(k, 180.0).read_image()[:, 208, 72].min() == 255


def test_random_turns_concern_the_second_image_alone() -> None:
    pairs = PairSampler(sampled_set()).batch_of_pairs(0, 50)
    turned = turn_second(pairs, seeded(0), 180.0, (0.5, 2.0))
    spread = [float(torch.pdist(t.b.points).max() / torch.pdist(p.b.points).max()) for t, p in
              zip(turned, pairs, strict=True)]  # fmt: skip
    assert 0.5 <= min(spread) < 0.8 < 1.3 < max(spread) <= 2.001
    assert all(t.a is p.a and t.target is p.target for t, p in zip(turned, pairs, strict=True))
    with pytest.raises(ValueError, match="scales must be positive and ascending"):
        turn_second(pairs, seeded(0), 180.0, (2.0, 0.5))


def test_outliers_match_nothing() -> None:
    pair = make_pair(made("uvwxyz", "a"), made("zyxwvu", "b", seed=1), generator=seeded(0))
    harder = with_outliers(pair, 3, seeded(1))
    assert (len(harder.a), len(harder.b)) == (9, 9)
    assert sorted(harder.target.tolist())[:3] == [-1, -1, -1]
    for name, row in zip(harder.a.names, harder.target.tolist(), strict=True):
        assert name.startswith("outlier") if row < 0 else harder.b.names[row] == name
    place = {name: i for i, name in enumerate(pair.b.names)}
    kept = [i for i, name in enumerate(harder.b.names) if name in place]
    names = [harder.b.names[i] for i in kept]
    assert torch.equal(harder.b.points[kept], pair.b.points[[place[n] for n in names]])


# Batches


def test_a_batch_puts_pairs_one_after_the_other(tmp_path: Path) -> None:
    image = ImageFile(write(tmp_path / "a.png", encoded()))
    a = Keypoints("a", "duck", points(5), tuple("vwxyz"), image)
    b = Keypoints("b", "duck", points(4, 1), tuple("zyxu"), image)
    pairs = [make_pair(a, b, "all"), make_pair(b, a)]
    batch = collate(pairs, images=True)
    assert batch.a.counts.tolist() == [5, 3]
    assert batch.b.counts.tolist() == [4, 3]
    assert batch.target.tolist() == [-1, -1, 2, 1, 0, 6, 5, 4]
    assert batch.categories == ("duck", "duck")
    assert batch.a.images is not None
    assert batch.a.images.shape == (2, 3, 256, 256)
    assert batch.a.features is None
    owner = batch.a.owner
    assert torch.equal(owner[batch.a.edges[0]], owner[batch.a.edges[1]])
    assert torch.equal(batch.a.points, torch.cat([p.a.points for p in pairs]))
    with pytest.raises(ValueError, match="at least one pair"):
        collate([])


def test_keypoints_travel_to_worker_processes(tmp_path: Path) -> None:
    import pickle

    k = willow(willow_packed(tmp_path, 3)).items()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(k.select(torch.tensor([1]))))
    assert torch.equal(again.read_image(), k.read_image())
    assert again.whole.content == k.content
