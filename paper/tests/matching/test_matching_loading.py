"""Batches that are made by other processes, packed, and used without another look at their structure."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph import pairs as pairs_module
from ehnn_paper.matching import spline
from ehnn_paper.matching.association import associate
from ehnn_paper.matching.features import read_at
from ehnn_paper.matching.gallery import Gallery, GalleryIndex
from ehnn_paper.matching.loading import Batches, Loader, drawn
from ehnn_paper.matching.loss import permutation_loss
from ehnn_paper.matching.models import make_matcher
from ehnn_paper.matching.order_codes import codes_of
from ehnn_paper.matching.packing import pack, unpack
from ehnn_paper.matching.pairs import PairSampler

from .matching_examples import CHANNELS, WHOLE, random_batch
from .painted import painted_set

MODELS = ("ehnn-mlp", "ehnn-transformer", "nhgm-v2", "pca-gm")


def test_what_is_packed_comes_back_equal() -> None:
    shared = torch.arange(5)
    value = {
        "ints": shared,
        "again": (shared, shared[1:]),
        "floats": [torch.rand(2, 3), torch.rand(3, dtype=torch.float64)],
        "none": torch.zeros(0, 4, dtype=torch.int64),
        "strided": torch.arange(12).reshape(3, 4).T,
        "mask": torch.tensor([True, False, True]),
        "number": torch.tensor(7),
        "rest": ("name", 3, None),
    }
    packed = pickle.loads(pickle.dumps(pack(value)))
    found = unpack(packed)
    torch.testing.assert_close(found["floats"], value["floats"], rtol=0, atol=0)
    for name in ("ints", "again", "none", "strided", "mask", "number"):
        torch.testing.assert_close(found[name], value[name], rtol=0, atol=0)
    assert found["rest"] == value["rest"]
    assert found["ints"] is found["again"][0]
    assert len(packed.data) == 8 * 4 + 4 * (8 + 4 + 12 + 4) + 4 * 8 + 16  # with gaps, and ``shared`` once
    every = [found["ints"], found["again"][1], *found["floats"], found["strided"], found["number"]]
    assert all(t.data_ptr() % 16 == every[0].data_ptr() % 16 for t in every if t.dtype == torch.int64)


def test_encodings_of_orders_are_shared_by_all_batches() -> None:
    found = [unpack(pack(associate(random_batch([(4, 5), (3, 3)], seed)).prepare())) for seed in (0, 1)]
    first, second = (a.overlap for a in found)
    assert first.source_orders.codes is second.source_orders.codes
    assert first.source_orders.codes is codes_of((1, 2, 3), torch.device("cpu"))
    assert first.target_orders.codes is not first.source_orders.codes
    for overlap in (first, second):
        for orders in (overlap.source_orders, overlap.target_orders, overlap.sizes, overlap.sizes_and_pool):
            assert tuple(orders.values.tolist()) == orders.codes.orders  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MODELS)
def test_a_packed_batch_trains_the_same_and_asks_the_device_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model: Any = make_matcher(name, CHANNELS, WHOLE)
    batch = random_batch([(5, 6), (4, 4), (7, 3)])
    wanted = _gradients(model, batch, model.associate(batch))
    _gradients(model, batch, model.associate(batch).prepare())  # which makes the encodings of orders
    batch = replace(batch, a=replace(batch.a, known_owner=batch.a.owner))
    moved, association = unpack(pack((batch, model.associate(batch).prepare())))
    monkeypatch.setattr(spline, "on_gpu", lambda t: True)
    if name != "nhgm-v2":  # which turns the incidences itself
        monkeypatch.setattr(pairs_module, "_split", _refuse)
        for pairs in _all_pairs(association.overlap):
            assert {"split", "t_split"} <= set(vars(pairs))
    with _NoQuestions():
        found = _gradients(model, moved, association)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def _gradients(model: Any, batch: Any, association: Any) -> list[Tensor]:
    loss = permutation_loss(model(batch, association), batch, association.candidates)
    return [loss.detach(), *torch.autograd.grad(loss, list(model.parameters()))]


def _all_pairs(overlap: Any) -> list[SparsePattern]:
    """What the layers sum over."""
    orders = (overlap.source_orders, overlap.target_orders, overlap.sizes_and_pool)
    return [
        overlap.source_to_group,
        overlap.source_to_graph,
        overlap.graph_to_target,
        *(o.pairs for o in orders),
    ]


def _refuse(*_: Any) -> None:
    raise AssertionError("the structure was counted again")


class _NoQuestions(TorchDispatchMode):
    """Refuses what would wait for a GPU: values that the host reads, tensors made from its numbers."""

    _WAIT = ("_local_scalar_dense", "nonzero", "unique", "masked_select", "bincount", "equal", "lift_fresh")

    def __torch_dispatch__(self, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(fn).split(".")[1]
        assert not any(name.startswith(word) or name == f"_{word}2" for word in self._WAIT), name
        return fn(*args, **(kwargs or {}))


@pytest.mark.parametrize("workers", [0, 1])
def test_the_association_is_made_by_the_workers(workers: int) -> None:
    images = painted_set()
    places = GalleryIndex.of(images.items())
    sampler = PairSampler(images, "train", seed=1)
    found = unpack(next(iter(Loader(Batches(sampler, 3, places, (2,)), workers)(range(1)))))
    wanted = associate(drawn(sampler.batch_of_pairs(0, 3), places).batch, (2,))
    assert found.association is not None
    assert torch.equal(found.association.structure.incidence.index, wanted.structure.incidence.index)
    assert torch.equal(found.association.candidates.grid, wanted.candidates.grid)
    assert torch.equal(found.association.to_nodes.index, wanted.structure.incidence.transpose().index)
    gallery = Gallery(places, torch.rand(places.total, 3), torch.rand(len(places.number), 2))
    assert found.show(gallery).a.features.shape == (len(found.batch.a.points), 3)  # type: ignore[union-attr]


def test_a_batch_grows_linearly_with_its_hyperedges() -> None:
    def bytes_and_hyperedges(pairs: int) -> tuple[int, int]:
        batch = random_batch([(8, 8)] * pairs)
        association = associate(batch).prepare()
        return len(pack(association).data), association.structure.num_edges

    small, large = bytes_and_hyperedges(2), bytes_and_hyperedges(16)
    assert large[0] / large[1] == pytest.approx(small[0] / small[1], rel=0.1)


def test_reading_scales_cells_before_it_mixes_them() -> None:
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand(2, 5, 4, 8, generator=generator)
    points = torch.tensor([[100.0, 30.0], [-9.0, 300.0], [16.0, 32.0]])
    found = read_at([maps], points, torch.tensor([1, 2]))
    scaled = torch.nn.functional.normalize(maps, dim=1)
    # The centre of cell (0, 0), and beyond the lower left corner.
    torch.testing.assert_close(found[2], scaled[1, :, 0, 0])
    torch.testing.assert_close(found[1], scaled[1, :, 3, 0])
    grid = (points[:1] / 128 - 1).reshape(1, 1, 1, 2)
    wanted = torch.nn.functional.grid_sample(scaled[:1], grid, align_corners=False, padding_mode="border")
    torch.testing.assert_close(found[0], wanted.flatten())


def test_frozen_structures_survive_packing() -> None:
    association = associate(random_batch([(3, 4)])).prepare()
    found = unpack(pack(association))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.structure.incidence.num_rows = 3
