"""Splits: disjoint, whole, seeded, labelled nodes only, never empty."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn.datasets import random_split


@given(st.lists(st.integers(-1, 3), min_size=4, max_size=60), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_parts_are_a_partition_of_the_labelled_nodes(labels, seed):
    y = torch.tensor(labels)
    labelled = (y >= 0).nonzero().squeeze(1)
    if len(labelled) < 4:
        with pytest.raises(ValueError, match="part is empty"):
            random_split(y, seed=seed)
        return
    parts = random_split(y, seed=seed)
    assert torch.equal(torch.cat(parts).sort().values, labelled)
    assert [len(p) for p in parts[:2]] == [len(labelled) // 2, len(labelled) // 4]
    assert all(torch.equal(a, b) for a, b in zip(parts, random_split(y, seed=seed), strict=True))


def test_seed_generator_and_global_state():
    state = torch.get_rng_state()
    a, b = random_split(100, seed=1), random_split(100, seed=2)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(a[0], b[0])
    generator = torch.Generator().manual_seed(1)
    assert torch.equal(random_split(100, generator=generator)[0], a[0])
    assert not torch.equal(random_split(100, generator=generator)[0], a[0])
    with pytest.raises(ValueError, match="not both"):
        random_split(100, seed=1, generator=generator)


def test_every_node_is_as_likely_in_every_part():
    parts = [random_split(20, seed=seed) for seed in range(80)]
    for place, share in enumerate((0.5, 0.25, 0.25)):
        times = torch.bincount(torch.cat([part[place] for part in parts]), minlength=20) / 80
        # The standard deviation of a node's share over 80 seeds is at most 0.056.
        assert (times - share).abs().max() < 0.25
    assert len({tuple(part[2].tolist()) for part in parts}) == 80


def test_other_kinds_of_labels():
    assert [len(p) for p in random_split(np.array([0, 1, 0, 1, -1]))] == [2, 1, 1]
    assert [len(p) for p in random_split([0.0, 1.0, float("nan"), 1.0, 2.0])] == [2, 1, 1]
    assert [len(p) for p in random_split(100, (0.29, 0.01, 0.7))] == [29, 1, 70]


@pytest.mark.parametrize(
    "fractions", [(0.5, 0.5), (0.5, 0.5, 0.0), (0.9, 0.2, -0.1), (0.1, 0.1, 0.1), (1, 1, 1)]
)
def test_bad_fractions(fractions):
    with pytest.raises(ValueError, match="three positive numbers that add up to 1"):
        random_split(100, fractions)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (3, "the valid part is empty: 3 labelled nodes"),
        (0, "the train part is empty"),
        (torch.full((9,), -1), "the train part is empty: 0 labelled nodes"),
        (-1, "must not be negative"),
        (torch.zeros(4, 2), r"got shape \(4, 2\)"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        random_split(y)
