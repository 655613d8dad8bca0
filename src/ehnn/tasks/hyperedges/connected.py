"""Negatives that hang together in the known hypergraph: motifs and near-cliques, as AHP's tests have them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import repeat, starts

_TRIES = 50
_AT_ONCE = 2**22
"""Entries of hyperedges that are looked at together."""


@dataclass(frozen=True)
class Neighbours:
    """Pairs of nodes that share a hyperedge, without a list of them.

    ``members`` has the nodes of each hyperedge, ``edges`` the hyperedges of each node.
    """

    members: SparsePattern
    edges: SparsePattern

    def draw(self, node: Tensor, generator: torch.Generator) -> Tensor:
        """``[k] → [k]``: for each node, a random member of one of its hyperedges; any node if it has none."""
        n = self.members.num_cols
        alone = self.edges.lengths[node] == 0
        edge = _any(self.edges, torch.where(alone, 0, node), generator, alone)
        found = _any(self.members, edge, generator, alone)
        return torch.where(alone, torch.randint(n, node.shape, generator=generator), found)

    def share(self, a: Tensor, b: Tensor) -> Tensor:
        """``[k], [k] → [k]`` bool: whether a hyperedge has both nodes."""
        lengths = self.edges.lengths[a]
        groups = (lengths.cumsum(0) - lengths) // _AT_ONCE
        cuts = torch.bincount(groups).tolist() if len(a) else []
        return torch.cat([torch.zeros(0, dtype=torch.bool), *map(self._share, a.split(cuts), b.split(cuts))])

    def _share(self, a: Tensor, b: Tensor) -> Tensor:
        lengths = self.edges.lengths[a]
        pair = repeat(lengths, int(lengths.sum()))
        edge = self.edges.index[self.edges.ptr[a[pair]] + torch.arange(len(pair)) - starts(lengths)[pair]]
        n = self.members.num_cols
        codes = self.members.rows * n + self.members.index  # sorted
        wanted = edge * n + b[pair]
        place = torch.searchsorted(codes, wanted).clamp(max=max(len(codes) - 1, 0))
        found = torch.zeros(len(a), dtype=torch.bool)
        found[pair[codes[place] == wanted]] = True
        return found


def neighbours(h: Hypergraph) -> Neighbours:
    """The `Neighbours` of a hypergraph on the CPU."""
    return Neighbours(h.incidence, h.incidence.transpose())


def _any(pairs: SparsePattern, row: Tensor, generator: torch.Generator, empty: Tensor) -> Tensor:
    """A random column of each row; 0 where ``empty``."""
    u = torch.rand(row.shape, generator=generator, dtype=torch.float64)
    offset = (u * pairs.lengths[row]).long()
    return torch.where(empty, 0, pairs.index[(pairs.ptr[row] + offset).clamp(max=max(len(pairs) - 1, 0))])


def grow(
    node: Tensor, row: Tensor, kept: Tensor, beside: Neighbours, clique: bool, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """``node`` with new ones where it is not kept, each beside one of its set, and what is still open.

    ``row [entries]`` is the set of each entry, sorted. With ``clique`` a new node is beside *all* that are
    kept and not the one it replaces; where no such node is found, beside one of them is enough.
    """
    before, node, open_ = node, node.clone(), ~kept
    for attempt in range(_TRIES):
        places = open_.nonzero().squeeze(1)
        if not len(places):
            break
        node[places] = beside.draw(_settled(node, row, open_, places, generator), generator)
        again = repeats(node, row, ~open_)
        if clique:
            again[places] |= (node == before)[places]
        if clique and attempt < _TRIES // 2:
            again[places] |= ~_beside_all(node, row, kept, places, beside)
        open_ = again
    return node, open_


def _settled(node: Tensor, row: Tensor, open_: Tensor, places: Tensor, generator: torch.Generator) -> Tensor:
    """For each of ``places`` a random settled node of its set, or its own node if none is settled."""
    first = torch.argsort(row * 2 + open_.long(), stable=True)
    size = torch.bincount(row)
    settled = torch.bincount(row[~open_], minlength=len(size))
    mine = row[places]
    u = torch.rand(len(places), generator=generator, dtype=torch.float64)
    chosen = node[first[(starts(size)[mine] + (u * settled[mine]).long()).clamp(max=len(node) - 1)]]
    return torch.where(settled[mine] > 0, chosen, node[places])


def _beside_all(node: Tensor, row: Tensor, kept: Tensor, places: Tensor, beside: Neighbours) -> Tensor:
    """Whether the node of each place shares a hyperedge with every kept node of its set."""
    members = kept.nonzero().squeeze(1)
    counts = torch.bincount(row[members], minlength=int(row.max()) + 1)
    of = repeat(counts[row[places]], int(counts[row[places]].sum()))
    offset = torch.arange(len(of)) - starts(counts[row[places]])[of]
    other = members[starts(counts)[row[places[of]]] + offset]
    found = beside.share(node[places[of]], node[other])
    missing = torch.zeros(len(places), dtype=torch.long).index_add_(0, of, (~found).long())
    return missing == 0


def repeats(node: Tensor, row: Tensor, settled: Tensor) -> Tensor:
    """Entries whose node occurs earlier in the same set, settled entries first."""
    key = row * 2 + (~settled).long()
    first = torch.argsort(key, stable=True)
    base = int(node.max()) + 1 if node.numel() else 1
    code = (row * base + node)[first]
    order = torch.argsort(code, stable=True)
    again = torch.zeros(len(node), dtype=torch.bool)
    again[first[order[1:]]] = code[order][1:] == code[order][:-1]
    return again
