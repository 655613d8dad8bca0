"""Features that stay in the file of a shard."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ehnn.hypergraph import Hypergraph
from ehnn.parallel import Ranks, StreamedFeatures, load_shard, partition, save_shards
from ehnn.testing import random_hypergraph


def saved(folder: Path, h: Hypergraph) -> Path:
    save_shards(h, partition(h, 1, "contiguous"), folder)
    return folder


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_products_and_gradients_are_those_of_features_in_memory(tmp_path: Path, rows: int) -> None:
    h = random_hypergraph(30, 20, (1, 4), seed=0, d_node=5, dtype=torch.float32)
    streamed = StreamedFeatures(saved(tmp_path, h), Ranks(), rows)
    weight = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    grad = torch.randn(30, 3, dtype=torch.float64)
    found = streamed.linear(weight)
    (own,) = torch.autograd.grad(found, weight, grad)
    torch.testing.assert_close(found, h.x.double() @ weight.t())
    torch.testing.assert_close(own, grad.t() @ h.x.double())


def peak(path: str = "/proc/self/status") -> tuple[int, int]:
    """Bytes of this process: now, and the most since the mark was reset."""
    lines = dict(line.split(":", 1) for line in Path(path).read_text().splitlines())
    return tuple(int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


def test_a_file_larger_than_what_memory_grows_by(tmp_path: Path) -> None:
    """The shard is checked, loaded without its features, and its features are read twice."""
    h = random_hypergraph(20_000, 2000, (1, 4), seed=0)
    folder = saved(tmp_path, h.replace(x=torch.ones(20_000, 1024)))
    size = sum(file.stat().st_size for file in folder.glob("shard-*"))
    weight = torch.ones(2, 1024, requires_grad=True)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the most starts again
        before, _ = peak()
    except OSError:
        pytest.skip("Linux alone tells the peak memory of a process")
    shard = load_shard(folder, Ranks(), features=False)
    found = StreamedFeatures(folder, Ranks(), rows=1024).linear(weight)
    found.sum().backward()
    grown = peak()[1] - before
    assert shard.x is None
    assert torch.equal(found, torch.full((20_000, 2), 1024.0))
    assert torch.equal(weight.grad, torch.full((2, 1024), 20_000.0))
    assert size > 80e6
    assert grown < size / 2


def test_what_cannot_be_streamed_is_named(tmp_path: Path) -> None:
    h = random_hypergraph(5, 4, (1, 3), seed=0)
    with pytest.raises(ValueError, match="has no features"):
        StreamedFeatures(saved(tmp_path / "none", h), Ranks())
    wide = h.replace(x=torch.ones(5, 2, dtype=torch.float64))
    with pytest.raises(ValueError, match="must be float32 to be streamed, got F64"):
        StreamedFeatures(saved(tmp_path / "wide", wide), Ranks())
