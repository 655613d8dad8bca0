"""Shared by the node classification tests: a small dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ehnn import Hypergraph


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache and an address that nothing answers at."""
    monkeypatch.delenv("EHNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EHNN_MIRROR", "http://127.0.0.1:9/nothing")


@pytest.fixture
def h() -> Hypergraph:
    """Two classes of 20 nodes, hyperedges within each class, noisy features, two nodes without label."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(40) // 20
    x = torch.nn.functional.one_hot(y, 6).float() + torch.randn(40, 6, generator=generator)
    edges = [list(range(i, 40 if i >= 20 else 20, 3)) for i in (0, 1, 2, 20, 21, 22)]
    y[[3, 30]] = -1
    return Hypergraph.from_edges(edges, num_nodes=40, x=x, y=y)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A folder with a small Zoo of 24 animals: id, features…, label; node, hyperedge."""
    folder = tmp_path / "data" / "zoo"
    folder.mkdir(parents=True)
    rows = [f"{i} {i % 3} {i // 3 % 2} {1 + i % 3}" for i in range(24)]
    edges = [f"{i} {24 + i % 3}" for i in range(24)] + [f"{i} {27 + i // 12}" for i in range(24)]
    (folder / "zoo.content").write_text("\n".join(rows) + "\n")
    (folder / "zoo.edges").write_text("\n".join(edges) + "\n")
    return tmp_path / "data"
