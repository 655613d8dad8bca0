"""Batches filled up with made-up pairs: few sizes, and the same answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ehnn_paper.matching.filling import FILLED, Frame, filled
from ehnn_paper.matching.loss import permutation_loss
from ehnn_paper.matching.packing import pack
from ehnn_paper.matching.pair_batch import NOT_COUNTED, PairBatch, Side, Sizes
from ehnn_paper.matching.positional import make_model

from .matching_examples import CHANNELS, WHOLE, random_batch


def without_features(batch: PairBatch) -> PairBatch:
    a, b = (replace(side, features=None, whole=None) for side in (batch.a, batch.b))
    return replace(batch, a=a, b=b)


def with_features(batch: PairBatch, like: PairBatch) -> PairBatch:
    """With the features of a smaller batch, and then some."""

    def more(side: Side, own: Side) -> Side:
        assert own.features is not None
        assert own.whole is not None
        torch.manual_seed(5)
        rows = torch.randn(len(side.points) - len(own.points), CHANNELS)
        whole = own.whole[-1:].expand(len(side.counts) - len(own.counts), WHOLE)
        return replace(side, features=torch.cat([own.features, rows]), whole=torch.cat([own.whole, whole]))

    return replace(batch, a=more(batch.a, like.a), b=more(batch.b, like.b))


def outcome(model: Any, batch: PairBatch, own: PairBatch) -> tuple[Tensor, list[Tensor]]:
    """What is said of the first candidates, and loss and gradients, those of the first keypoints too."""
    leaves = [side.features.detach().requires_grad_() for side in (batch.a, batch.b)]  # type: ignore[union-attr]
    sides = [replace(side, features=x) for side, x in zip((batch.a, batch.b), leaves, strict=True)]
    batch = replace(batch, a=sides[0], b=sides[1])
    association = model.associate(batch)
    log_p = model(batch, association)
    loss = permutation_loss(log_p, batch, association.candidates)
    *rows, features_a, features_b = torch.autograd.grad(loss, [*model.parameters(), *leaves])
    kept = features_a[: len(own.a.points)], features_b[: len(own.b.points)]
    assert not features_a[len(own.a.points) :].any()
    assert not features_b[len(own.b.points) :].any()
    return log_p.detach()[: own.sizes.candidates], [loss.detach(), *rows, *kept]


@pytest.mark.parametrize("name", FILLED)
def test_made_up_pairs_change_nothing(name: str) -> None:
    torch.manual_seed(0)
    model: Any = make_model(name, CHANNELS, WHOLE).double()
    batch = random_batch([(5, 6), (4, 4), (7, 7), (6, 3)], dtype=torch.float64)
    found = filled(without_features(batch))
    assert found is not None
    assert found.num_pairs > batch.num_pairs
    full = with_features(found, batch)
    wanted, want = outcome(model, batch, batch)
    said, got = outcome(model, full, batch)
    torch.testing.assert_close(said, wanted)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=40), st.integers(0, 3))
def test_a_filled_batch_has_the_sizes_of_its_frame(counts: list[int], seed: int) -> None:
    batch = without_features(random_batch([(n, n) for n in counts], seed))
    frame, found = Frame.of(batch), filled(batch)
    assert frame is not None
    assert found is not None
    assert found.num_pairs == batch.num_pairs + frame.pairs
    assert replace(found, known_sizes=None).sizes == replace(
        frame.sizes,
        width=found.known_sizes.width,  # type: ignore[union-attr]
    )
    for i, side in enumerate((found.a, found.b)):
        assert side.points.shape == (frame.points[i], 2)
        assert side.edges.shape == (2, frame.edges[i])
        assert side.triangles.shape == (3, frame.triangles[i])
        assert int(side.counts.sum()) == frame.points[i]
        for rows in (side.edges, side.triangles):
            owner = side.owner[rows]
            assert bool((owner == owner[0]).all())
            assert bool((owner[0].diff() >= 0).all())  # in the order of the pairs
            assert bool((rows.sort(0).values.diff(dim=0) > 0).all())  # corners are different
    own = len(batch.target)
    assert torch.equal(found.target[:own], batch.target)
    assert bool((found.target[own:] == NOT_COUNTED).all())
    assert torch.equal(found.a.counts[: batch.num_pairs], batch.a.counts)


def test_few_layouts_serve_many_batches() -> None:
    torch.manual_seed(0)
    drawn = torch.randint(3, 18, (100, 16)).tolist()
    made = [filled(without_features(random_batch([(n, n) for n in row], 1))) for row in drawn]
    layouts = {pack(batch).layout for batch in made if batch is not None}
    assert sum(batch is None for batch in made) <= 5
    assert len(layouts) <= 40


def test_a_batch_that_is_too_wide_has_no_frame() -> None:
    batch = random_batch([(3, 3)])
    assert Frame.of(replace(batch, known_sizes=Sizes(65, 9, 9, 1))) is None


def test_sides_that_differ_too_much_are_left_as_they_are() -> None:
    assert filled(without_features(random_batch([(40, 1), (40, 1), (40, 1)]))) is None
