"""Minibatches for HAN: neighbours along metapaths, drawn by random walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn._utils.validation import as_count, as_index
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import pairs_from_coo

from ._structure import stars_of


@dataclass(frozen=True, eq=False)
class Block:
    """The input of one layer: for each metapath the neighbours (sources) of each target.

    Attributes:
        paths: ``SparsePattern`` of targets × sources, one for each metapath.
        place: ``[targets]`` the source that each target is, or None if target i is source i.
        pool: ``SparsePattern`` of batch members × targets, or None if there is one member.
        member: ``[targets]`` batch member of each target.
    """

    paths: tuple[SparsePattern, ...]
    place: Tensor | None
    pool: SparsePattern | None
    member: Tensor


@dataclass(frozen=True, eq=False)
class Sample:
    """A minibatch: ``nodes`` whose rows come out, ``inputs`` whose features go in, a block for each layer."""

    nodes: Tensor
    inputs: Tensor
    blocks: tuple[Block, ...]


def sample_blocks(
    h: Hypergraph,
    nodes: Tensor | Sequence[int],
    metapaths: Sequence[int],
    layers: int,
    fanout: int,
    generator: torch.Generator | None = None,
) -> Sample:
    """Neighbours of ``nodes`` for ``layers`` layers.

    Each target draws ``fanout`` random walks along each metapath: a step goes to a hyperedge of the node,
    drawn uniformly, then to a member of it, drawn uniformly. Repeated ends count once and a target is
    its own neighbour. ``generator`` is a CPU generator; without it, torch's global one.
    """
    as_count(fanout, "fanout", 1)
    nodes = as_index(nodes, "nodes", h.num_nodes).to(h.device)
    targets, blocks = nodes, []
    for _ in range(layers):
        targets, block = _block(h, targets, metapaths, fanout, generator)
        blocks.append(block)
    return Sample(nodes, targets, tuple(reversed(blocks)))


def _block(
    h: Hypergraph, targets: Tensor, metapaths: Sequence[int], fanout: int, generator: torch.Generator | None
) -> tuple[Tensor, Block]:
    """The sources of ``targets`` and the block between them."""
    rows = torch.arange(targets.shape[0], device=h.device)
    starts = targets.repeat_interleave(fanout)
    ends = [torch.cat([targets, _walk(h, starts, steps, generator)]) for steps in metapaths]
    sources, places = torch.unique(torch.cat(ends), return_inverse=True)
    every_row = torch.cat([rows, rows.repeat_interleave(fanout)])
    paths = tuple(
        pairs_from_coo(every_row, place, len(targets), len(sources))[0]
        for place in places.split(len(every_row))
    )
    member = h.node_batch[targets]
    pool = pairs_from_coo(member, rows, h.num_members, len(targets))[0] if h.num_members != 1 else None
    return sources, Block(paths, places[: len(targets)], pool, member)


def _walk(h: Hypergraph, nodes: Tensor, steps: int, generator: torch.Generator | None) -> Tensor:
    """The ends of random walks of ``steps`` V-E-V steps; nodes without hyperedges stay."""
    for _ in range(steps if h.num_incidences else 0):
        edges, found = _draw(stars_of(h), nodes, generator)
        ends, _ = _draw(h.incidence, edges, generator)
        nodes = torch.where(found, ends, nodes)
    return nodes


def _draw(pairs: SparsePattern, rows: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """A uniformly drawn column of each of ``rows``, and whether there is one (if not, any column)."""
    lengths = pairs.lengths[rows]
    uniform = torch.rand(rows.shape[0], generator=generator, dtype=torch.float64).to(rows.device)
    places = (pairs.ptr[rows] + (uniform * lengths).long()).clamp(max=len(pairs) - 1)
    return pairs.index[places], lengths > 0
