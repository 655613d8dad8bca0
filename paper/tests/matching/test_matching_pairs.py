"""Pairs of images, what makes them harder, and batches of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehnn_paper.matching import pairs as pairing
from ehnn_paper.matching.collate import collate
from ehnn_paper.matching.images import ImageFile
from ehnn_paper.matching.keypoints import Keypoints, KeypointSet
from ehnn_paper.matching.pairs import PairSampler, make_pair, seeded
from ehnn_paper.matching.transforms import rotate, rotate_image, turn_second, with_outliers
from ehnn_paper.matching.willow import willow

from .keypoint_files import Image, encoded, made, points, willow_packed, write

pytestmark = pytest.mark.usefixtures("no_data")


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


def test_test_pairs_are_the_same_for_the_same_seed(real_images: Path) -> None:
    found = willow(real_images)
    first, again = (pairing.test_pairs(found, "Duck", 20, 0) for _ in range(2))
    assert [(p.a.id, p.b.id, p.target.tolist()) for p in first] == [
        (p.a.id, p.b.id, p.target.tolist()) for p in again
    ]
    test = {k.id for k in found.items("Duck", "test")}
    assert {p.a.id for p in first} | {p.b.id for p in first} <= test


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
