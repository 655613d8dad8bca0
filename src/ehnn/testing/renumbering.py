"""Random renumberings of the nodes and hyperedges of a hypergraph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph


@dataclass(frozen=True)
class Renumbering:
    """One permutation of the nodes and one of the hyperedges; ``what`` says which of them moves."""

    what: str
    nodes: Tensor
    edges: Tensor
    trial: str

    def apply(self, h: Hypergraph) -> Hypergraph:
        return h.permute_nodes(self.nodes).permute_edges(self.edges)

    def of_rows(self, h: Hypergraph, family: str) -> Tensor:
        """``[rows]`` the new index of each row of the family of ``h``."""
        if family == "incidences":
            node, edge = h.index.cpu()
            return torch.argsort(torch.argsort(self.edges[edge] * h.num_nodes + self.nodes[node]))
        both = torch.cat([self.nodes, self.edges + len(self.nodes)])
        return {"nodes": self.nodes, "edges": self.edges, "all": both}[family]

    def __str__(self) -> str:
        moved = [("nodes", self.nodes), ("hyperedges", self.edges)]
        shown = "\n".join(f"  perm of the {k}: {_short(p)}" for k, p in moved if k in self.what.split())
        return f"a permutation of the {self.what} ({self.trial})\n{shown}"


def renumberings(h: Hypergraph, trials: int, seed: int) -> Iterator[Renumbering]:
    """Three renumberings for each trial: of the nodes, of the hyperedges, and of both."""
    if trials < 1:
        raise ValueError(f"trials must be at least 1, got {trials}")
    generator = torch.Generator().manual_seed(seed)
    for i in range(trials):
        name = f"trial {i + 1} of {trials}, seed {seed}"
        nodes, edges = (_permutation(size, generator) for size in (h.num_nodes, h.num_edges))
        still_nodes, still_edges = torch.arange(h.num_nodes), torch.arange(h.num_edges)
        yield Renumbering("nodes", nodes, still_edges, name)
        yield Renumbering("hyperedges", still_nodes, edges, name)
        yield Renumbering("nodes and hyperedges", nodes, edges, name)


def _permutation(size: int, generator: torch.Generator) -> Tensor:
    """A random permutation, never the identity if there is another."""
    perm = torch.randperm(size, generator=generator)
    return perm.roll(1) if torch.equal(perm, torch.arange(size)) else perm


def _short(perm: Tensor, limit: int = 20) -> str:
    values = ", ".join(map(str, perm[:limit].tolist()))
    return f"[{values}, … {len(perm)} in all]" if len(perm) > limit else f"[{values}]"
