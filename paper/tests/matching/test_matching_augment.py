"""More training data from the same images."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ehnn_paper.matching.augment import ANGLE, SCALES, mirror, thinned, with_copies
from ehnn_paper.matching.features import read_at
from ehnn_paper.matching.gallery import GalleryIndex
from ehnn_paper.matching.keypoints import Keypoints
from ehnn_paper.matching.loading import Batches
from ehnn_paper.matching.packing import unpack
from ehnn_paper.matching.pairs import Pair, PairSampler, make_pair, seeded

from .painted import painted_set

SIDES = ("L_Ear", "R_Ear", "Left_Leg", "Leg_Right_Back", "Nose", "Lower")


def colours_at(keypoints: Keypoints) -> torch.Tensor:
    """The colour of the image under each keypoint."""
    image = keypoints.read_image().float().unsqueeze(0)
    return read_at([image], keypoints.points, torch.tensor([len(keypoints)]))


def test_copies_show_the_same_under_their_keypoints() -> None:
    pytest.importorskip("PIL")
    images = painted_set()
    more = with_copies(images, 3)
    assert more.splits["test"] == images.splits["test"]
    train, first = more.items(split="train"), images.items(split="train")
    assert len(train) == 3 * len(first)
    assert train[: len(first)] == first
    assert len({k.id for k in train}) == len({k.content for k in train}) == len(train)
    for copy, original in zip(train[len(first) :], [*first, *first], strict=True):
        torch.testing.assert_close(colours_at(copy), colours_at(original), atol=0.1, rtol=0)
        assert copy.names == original.names  # no name tells a side
        assert (copy.category, copy.id.split(",")[0]) == (original.category, original.id)


def test_copies_are_the_same_for_the_same_seed_and_within_bounds() -> None:
    a, b, c = (with_copies(painted_set(), 2, seed).items(split="train") for seed in (0, 0, 1))
    assert [k.content for k in a] == [k.content for k in b]
    assert {k.content for k in a} != {k.content for k in c}
    first = len(a) // 2
    for copy, original in zip(a[first:], a[:first], strict=True):
        u, v = (k.points[1].double() - k.points[0] for k in (copy, original))
        assert SCALES[0] <= u.norm() / v.norm() <= SCALES[1]
        angle = torch.rad2deg(torch.atan2(u[1], u[0]) - torch.atan2(v[1], v[0]))
        assert abs(angle.item()) <= ANGLE + 1e-6
    with pytest.raises(ValueError, match="copies must be at least 1, got 0"):
        with_copies(painted_set(), 0)


def test_a_mirrored_image_exchanges_sides() -> None:
    keypoints = replace(painted_set().items()[0], names=SIDES)
    other = mirror(keypoints)
    assert other.names == ("R_Ear", "L_Ear", "Right_Leg", "Leg_Left_Back", "Nose", "Lower")
    torch.testing.assert_close(colours_at(other), colours_at(keypoints), atol=0.02, rtol=0)
    again = mirror(other)
    assert again.names == keypoints.names
    torch.testing.assert_close(again.points, keypoints.points)
    assert torch.equal(again.read_image(), keypoints.read_image())
    with pytest.raises(ValueError, match="has keypoints only"):
        mirror(replace(keypoints, image=None))


def test_copies_are_mirrored_where_names_tell_sides() -> None:
    images = painted_set()
    sided = {s: tuple(replace(k, names=SIDES) for k in items) for s, items in images.splits.items()}
    copies = with_copies(replace(images, splits=sided), 5).items(split="train")[12:]
    mirrored = [k.names[0] == "R_Ear" for k in copies]
    assert 0.2 < sum(mirrored) / len(mirrored) < 0.8


def test_a_thinned_pair_keeps_partners_together() -> None:
    a, b = painted_set().items("Duck", "train")[:2]
    generator = seeded(1)
    sizes = set()
    for _ in range(80):
        pair = thinned(make_pair(a, b, generator=generator), 0.3, generator)
        assert [pair.b.names[i] for i in pair.target.tolist()] == list(pair.a.names)
        assert len(pair.a) == len(pair.b)
        sizes.add(len(pair.a))
    assert sizes == {3, 4, 5, 6}
    whole = make_pair(a, b)
    assert thinned(whole, 0.0, generator) is whole
    outliers = Pair(whole.a, whole.b, torch.tensor([0, 1, 2, 3, 4, -1]))
    assert thinned(outliers, 0.9, generator) is outliers


def test_thinned_batches_depend_on_seed_and_step_alone() -> None:
    images = painted_set()
    batches = Batches(PairSampler(images, "train", seed=3), 6, GalleryIndex.of(images.items()), thin=0.4)
    first, again, other = (unpack(batches[step]).batch for step in (0, 0, 1))
    assert first.a.counts.tolist() == again.a.counts.tolist()
    assert first.a.counts.tolist() != other.a.counts.tolist()
    assert int(first.a.counts.min()) < 6
