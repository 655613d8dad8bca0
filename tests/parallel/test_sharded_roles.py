"""Shards keep roles and weights of incidences; layers on them refuse what they do not read.

`weights` of workers.py compares weighted layers on ranks with those of one process.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import ehnn
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


def test_files_keep_them_and_layers_refuse(h: ehnn.Hypergraph, tmp_path: Path) -> None:
    save_shards(h, partition(h, 1, "contiguous"), tmp_path)
    part = load_shard(tmp_path, Ranks())
    assert part.num_roles == 3
    assert torch.equal(part.roles, h.roles)
    assert torch.equal(part.incidence_weight, h.incidence_weight)
    with pytest.raises(ValueError, match="between hyperedges on a shard does not use incidence_weight"):
        part.overlap("edges", "edges")
    with pytest.raises(ValueError, match="a layer on a shard does not use edge_weight"):
        part.replace(edge_weight=torch.arange(3.0)).overlap("nodes", "edges")
    plain = h.replace(incidence_weight=None)
    with pytest.raises(ValueError, match="a layer on a shard does not take roles"):
        shard(plain, partition(plain, 1, "contiguous"), Ranks()).overlap("nodes", "edges")
    one = plain.replace(roles=torch.zeros_like(h.roles))
    assert shard(one, partition(one, 1, "contiguous"), Ranks()).overlap("nodes", "edges").num_targets == 3


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
