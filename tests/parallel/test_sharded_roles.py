"""Shards keep roles and weights.

`marks` of workers.py compares layers that read them on ranks with those of one process.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import ehnn
from ehnn.hypergraph.weighted import weights_of
from ehnn.parallel import Ranks, load_shard, partition, save_shards, shard
from ehnn.parallel.files import read_shard
from ehnn.parallel.shards import check, cut


@pytest.fixture
def h() -> ehnn.Hypergraph:
    directed = ehnn.Hypergraph.from_directed(
        [([0, 1], [2]), ([2], [3, 4]), ([5], [0, 3])], x=torch.ones(6, 2)
    )
    weight = torch.arange(1.0, directed.num_incidences + 1)
    return directed.replace(incidence_weight=weight, roles=directed.roles, num_roles=3)


def test_roles_and_weights_are_those_of_the_incidences(h: ehnn.Hypergraph) -> None:
    owners = partition(h, 2, "contiguous")
    found = {}
    for rank in range(2):
        part = cut(h, owners, rank)
        own = part["edge_ids"].tolist()
        ghosts = [(owners.edges == o).nonzero().squeeze(1)[r].item()
                  for o, r in zip(part["ghost_owner"], part["ghost_row"], strict=True)]  # fmt: skip
        rows = torch.repeat_interleave(part["ptr"].diff()).tolist()
        for row, node, role, weight in zip(
            rows, part["index"], part["roles"], part["incidence_weight"], strict=True
        ):
            found[int(part["node_ids"][node]), [*own, *ghosts][row]] = int(role), float(weight)
    assert h.roles is not None
    assert h.incidence_weight is not None
    pairs = zip(*h.index.tolist(), strict=True)
    values = zip(h.roles.tolist(), h.incidence_weight.tolist(), strict=True)
    assert found == dict(zip(pairs, values, strict=True))


def test_files_keep_them(h: ehnn.Hypergraph, tmp_path: Path) -> None:
    h = h.replace(edge_weight=torch.arange(1.0, 4.0))
    save_shards(h, partition(h, 1, "contiguous"), tmp_path)
    part = load_shard(tmp_path, Ranks())
    assert part.num_roles == 3
    assert torch.equal(part.roles, h.roles)
    assert torch.equal(part.incidence_weight, h.incidence_weight)
    assert torch.equal(part.edge_weight, h.edge_weight)


@pytest.mark.filterwarnings("ignore:incidence_weight does not act between two hyperedges")
@pytest.mark.parametrize("source", ["nodes", "edges", "all"])
@pytest.mark.parametrize("target", ["nodes", "edges", "all", "graph"])
def test_groups_orders_and_weights_are_those_of_one_process(
    h: ehnn.Hypergraph, source: str, target: str
) -> None:
    h = h.replace(edge_weight=torch.arange(1.0, 4.0))
    here = shard(h, partition(h, 1, "contiguous"), Ranks()).overlap(source, target)
    there = h.overlap(source, target)
    assert here.num_roles == there.num_roles
    for name in ("sizes", "source_orders", "target_orders"):
        assert torch.equal(getattr(here, name).expand(), getattr(there, name).expand()), name
    assert torch.equal(here.group_target, there.group_target)
    local = getattr(here.source_to_group, "inner", here.source_to_group)
    assert torch.equal(local.index, there.source_to_group.index)
    ones = torch.ones(len(local), dtype=torch.float64)
    found, expected = (
        ones if w is None else w.double() for w in map(weights_of, (local, there.source_to_group))
    )
    assert torch.equal(found, expected)


def test_damaged_roles_are_noticed(h: ehnn.Hypergraph, tmp_path: Path) -> None:
    save_shards(h, partition(h, 1, "contiguous"), tmp_path)
    tensors = read_shard(tmp_path, 0, 1)
    for change, message in [
        ({"roles": tensors["roles"] + 3}, "roles must be below 3"),
        ({"roles": tensors["roles"][1:]}, "roles must have one row per incidence"),
        ({"num_roles": torch.tensor(0)}, "num_roles must be a positive integer"),
        ({"incidence_weight": tensors["incidence_weight"][1:]}, "incidence_weight must have one"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(tensors | change, 0, 1)
