"""Batches of image pairs: what a gallery shows, what processes make, what is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ehnn_paper.matching.augment import with_copies
from ehnn_paper.matching.collate import collate
from ehnn_paper.matching.evaluation import evaluation_pairs, harder
from ehnn_paper.matching.feature_cache import FeatureStore
from ehnn_paper.matching.gallery import Gallery, GalleryIndex
from ehnn_paper.matching.loading import Batches, Loader, drawn
from ehnn_paper.matching.packing import unpack
from ehnn_paper.matching.pair_model import Look, PairModel, split_look
from ehnn_paper.matching.pairs import PairSampler
from ehnn_paper.matching.task import MatchingData

from .painted import Colours, painted_set


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    found = FeatureStore(tmp_path / "store", Colours(), dtype=torch.float32)
    found.fill(painted_set().items())
    return found


def test_a_gallery_shows_what_collate_looks_up(store: FeatureStore) -> None:
    images = painted_set()
    gallery = Gallery.of_features(images.items(), store)
    pairs = PairSampler(images, "train").batch_of_pairs(0, 5)
    shown, wanted = drawn(pairs, gallery.places).show(gallery), collate(pairs, store)
    for side, other in ((shown.a, wanted.a), (shown.b, wanted.b)):
        assert torch.equal(side.features, other.features)
        assert torch.equal(side.whole, other.whole)
        assert torch.equal(side.edges, other.edges)
    assert torch.equal(shown.target, wanted.target)
    assert shown.known_sizes == wanted.sizes


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_the_same_from_any_number_of_processes(workers: int) -> None:
    images = painted_set()
    batches = Batches(PairSampler(images, "train", seed=3), 2, GalleryIndex.of(images.items()))
    loader = Loader(batches, workers)
    for steps in (range(3), range(3, 5)):
        found = [unpack(packed) for packed in loader(steps)]
        assert len(found) == len(steps)
        for step, one in zip(steps, found, strict=True):
            wanted = drawn(batches.sampler.batch_of_pairs(step, 2), batches.places)
            assert torch.equal(one.batch.a.points, wanted.batch.a.points)
            assert torch.equal(one.batch.target, wanted.batch.target)
            assert torch.equal(one.rows[1], wanted.rows[1])
            assert one.batch.categories == wanted.batch.categories


def test_a_backbone_that_is_trained_sees_turned_keypoints_where_they_were(store: FeatureStore) -> None:
    images = painted_set()
    pairs = harder(evaluation_pairs(images.with_validation(3), 1, 3, 0, ())["test"], "rotated")
    data = MatchingData.of(images, Gallery.of_images(images.items()), {"rotated": pairs})
    model = PairModel(torch.nn.Identity(), Colours())

    def look(at: Look) -> tuple[torch.Tensor, torch.Tensor]:
        return split_look(model(at), at, 3)

    seen = data.gallery.seen(look, data.sets["rotated"])
    shown, wanted = data.fixed["rotated"][0].show(seen), collate(pairs, store)
    torch.testing.assert_close(shown.b.features, wanted.b.features)
    torch.testing.assert_close(shown.b.whole, wanted.b.whole)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_gallery_of_images_holds_each_in_its_place(workers: int) -> None:
    images = list(painted_set().items())
    gallery = Gallery.of_images(images, workers=workers)
    assert gallery.images is not None
    assert len(gallery.images) == len({k.id for k in images})
    for k in images[::7]:
        assert torch.equal(gallery.images[gallery.places.number[k.image_content]], k.read_image())


def test_evaluation_pairs_are_fixed_and_of_their_split() -> None:
    images = painted_set().with_validation(3)
    first, second = evaluation_pairs(images, 2, 5, 3), evaluation_pairs(images, 2, 5, 3)
    assert {k: len(v) for k, v in first.items()} == {"valid": 4, "test": 10, "rotated": 6, "2 outliers": 6}
    held = {k.id for k in images.items(split="valid")}
    assert {k.id for p in first["valid"] for k in (p.a, p.b)} <= held
    for kind, pairs in first.items():
        assert all(torch.equal(p.b.points, q.b.points) for p, q in zip(pairs, second[kind], strict=True))
    assert all(len(p.a) == 8 and int((p.target < 0).sum()) == 2 for p in first["2 outliers"])
    with pytest.raises(ValueError, match="kind must be one of"):
        harder([], "upside down")


def test_copies_of_one_photograph_with_one_name_keep_their_own_pixels() -> None:
    """Two objects on one image: their copies share a name and differ in how they are turned."""
    pytest.importorskip("PIL")
    images = painted_set()
    one = images.items(split="train")[0]
    other = replace(one, points=one.points.flip(0), names=one.names[::-1])
    both = replace(images, splits={"train": (one, other), "test": ()})
    items = with_copies(both, 2).items()
    gallery = Gallery.of_images(items)
    for k, number in zip(items, gallery.places.images(items).tolist(), strict=True):
        assert gallery.images is not None
        assert torch.equal(gallery.images[number], k.read_image())
    same = replace(one, id="the same under another name")
    assert Gallery.of_images([one, same]).places.images([one, same]).tolist() == [0, 0]
