"""Partitions, their files, and ranks that die."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import ehnn
from ehnn import parallel
from ehnn.parallel import Ranks
from ehnn.parallel.files import read_shard, shard_name
from ehnn.testing import random_hypergraph

sys.path.insert(0, str(Path(__file__).parent))
from launching import begin, end, launch, outputs, wait_for


def planted(groups: int = 4, size: int = 30) -> ehnn.Hypergraph:
    """Groups of nodes whose hyperedges hardly leave them, in shuffled order."""
    members = [random_hypergraph(size, 2 * size, (2, 5), seed=i) for i in range(groups)]
    h = ehnn.batch(members)
    h = ehnn.Hypergraph.from_incidence(h.index, h.num_nodes, h.num_edges)
    return h.permute_nodes(torch.randperm(h.num_nodes, generator=torch.Generator().manual_seed(0)))


def test_growing_finds_planted_groups() -> None:
    h = planted()
    found = parallel.cut_report(h, parallel.partition(h, 4, "growing"))
    plain = parallel.cut_report(h, parallel.partition(h, 4, "contiguous"))
    assert found.ghosts < 0.2 * plain.ghosts
    assert found.imbalance < 1.25
    assert sum(found.nodes) == h.num_nodes
    assert sum(found.incidences) == h.num_incidences


def test_kahypar_if_installed() -> None:
    pytest.importorskip("mtkahypar")
    h = planted()
    found = parallel.cut_report(h, parallel.partition(h, 4, "mtkahypar"))
    assert found.ghosts <= parallel.cut_report(h, parallel.partition(h, 4, "growing")).ghosts + 5


@pytest.mark.parametrize("n", [0, 1, 2])
def test_partitions_of_tiny_hypergraphs(n: int) -> None:
    h = random_hypergraph(n, 3, (0, n), seed=0)
    p = parallel.partition(h, 5, "growing")
    report = parallel.cut_report(h, p)
    assert p.nodes.shape[0] == n
    assert sum(report.edges) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: parallel.partition(h, 0), "ranks must be a positive integer, got 0"),
        (lambda h: parallel.partition(h, 2, "metis"), "method must be one of"),
        (lambda h: parallel.given_partition(h, [0, 2, 0], 2), "nodes must be below 2, got 2"),
        (lambda h: parallel.given_partition(h, [0], 2), "nodes must have 3 entries, got 1"),
        (lambda h: parallel.shard(h, parallel.partition(h, 2), Ranks()), "for 2 ranks, but 1 are running"),
        (lambda h: parallel.balanced([1], 0), "ranks must be a positive integer, got 0"),
    ],
)
def test_bad_input(call: Callable[[ehnn.Hypergraph], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(ehnn.Hypergraph.from_edges([[0, 1], [2]]))


def test_layers_that_read_indices_are_refused() -> None:
    h = random_hypergraph(8, 5, (1, 3), seed=0, d_node=4)
    s = parallel.shard(h, parallel.partition(h, 1), Ranks())
    with pytest.raises(ValueError, match="cannot run partition-parallel"):
        s.index  # noqa: B018


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    h = random_hypergraph(20, 12, (1, 4), seed=0, d_node=3)
    parallel.save_shards(h, parallel.partition(h, 2, "growing"), tmp_path / "a")
    other = random_hypergraph(20, 12, (1, 4), seed=1, d_node=3)
    parallel.save_shards(other, parallel.partition(other, 2, "growing"), tmp_path / "b")
    return tmp_path


def test_damaged_files_are_named(saved: Path) -> None:
    a, name = saved / "a", shard_name(1, 2)
    assert {p.name for p in a.iterdir()} == {"partition.json", shard_name(0, 2), name}
    whole = (a / name).read_bytes()
    (a / name).write_bytes(whole[:-9])
    with pytest.raises(ValueError, match=f"{name} must have {len(whole)} bytes, got {len(whole) - 9}"):
        read_shard(a, 1, 2)
    (a / name).write_bytes(whole[:-1] + b"\x7f")
    with pytest.raises(ValueError, match=f"{name} does not have the checksum"):
        read_shard(a, 1, 2)
    (a / name).write_bytes((saved / "b" / name).read_bytes())
    with pytest.raises(ValueError, match=f"{name} is from another partition"):
        read_shard(a, 1, 2)
    (a / name).unlink()
    with pytest.raises(ValueError, match=f"{name} cannot be read"):
        read_shard(a, 1, 2)
    with pytest.raises(ValueError, match="holds 2 shards, but 3 ranks"):
        read_shard(a, 0, 3)
    (a / "partition.json").write_text("{}")
    with pytest.raises(ValueError, match=r"partition\.json is not a manifest"):
        read_shard(a, 0, 2)


def test_every_rank_hears_of_a_bad_file_and_a_dead_rank_stops_the_others(saved: Path) -> None:
    (saved / "a" / shard_name(1, 2)).unlink()
    launch(2, saved, ("bad_files", {"directory": str(saved / "a"), "message": shard_name(1, 2)}))
    process = begin(2, saved, ("forever", {"directory": str(saved)}))
    try:
        assert wait_for(lambda: (saved / "alive-0").exists() and (saved / "alive-1").exists(), 60)
        os.kill(pids_in(saved)[1], signal.SIGKILL)
        assert wait_for(lambda: process.poll() is not None, 120), "rank 0 went on without rank 1"
    finally:
        end(process)
    assert "Error" in outputs(2, saved)


def pids_in(directory: Path) -> list[int]:
    import json

    return json.loads((directory / "pids").read_text())


def test_balanced_batches_cover_everything_once() -> None:
    costs = [50, 1, 1, 1, 20, 20, 7, 3]
    parts = [parallel.BalancedBatches(costs, 4, rank, 2, seed=3) for rank in range(2)]
    seen = [i for part in parts for items in part.epoch(1) for i in items]
    assert sorted(seen) == list(range(8))
    assert [len(list(part.epoch(0))) for part in parts] == [2, 2] == [len(part) for part in parts]
    assert list(parts[0].epoch(1)) == list(parts[0].epoch(1))
    loads = [sum(costs[i] for i in places) for places in parallel.balanced(costs, 2)]
    assert max(loads) - min(loads) <= 3


def test_a_hyperedge_goes_where_most_of_its_nodes_are() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1, 4], [0, 3, 4], [1, 2, 3, 4], [], []], num_nodes=5)
    found = parallel.given_partition(h, [0, 0, 1, 1, 1], 2)
    assert found.edges.tolist() == [0, 1, 1, 1, 0]  # empty ones take turns
