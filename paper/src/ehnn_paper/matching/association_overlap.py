"""The overlap of an association hypergraph, without a search: its layout says everything."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn._utils.cached import keep
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import arange_like, repeat, shape_static, with_short
from ehnn.overlap import Orders, Overlap
from ehnn.overlap.source_sizes import SourceSizes

from .order_codes import codes_of
from .ordering import pointer_of, stable_sort


def candidates_overlap(h: Hypergraph, counts: dict[int, int]) -> Overlap:
    """``h.overlap("all", "nodes")`` of hyperedges sorted by order, ``counts[k]`` of each order k.

    What `ehnn.overlap` finds by sorting and counting, each time waiting for the device, is known here: the
    orders that occur, that every candidate meets at least itself, and that candidates are sorted by member.
    """
    n, members = h.num_nodes, h.num_members
    nodes, ends = torch.arange(n, device=h.device), torch.arange(n + 1, device=h.device)
    sources = torch.cat([h.node_batch, h.edge_batch])
    spread = SparsePattern.unchecked(
        n, members, ends, h.node_batch, pointer_of(h.node_batch, members), nodes, nodes
    )
    spread = with_short(spread, rows=True)
    ones, orders = _ones(ends), _by_order({1: n, **counts}, h.device)
    overlap = Overlap(
        _meetings(h.incidence, nodes, ends),
        ones,
        None,
        None if members == 1 else _grouped(sources, members),
        None if members == 1 else spread,
        orders,
        ones,
        sources,
        h.node_batch,
        members,
    )
    return keep(
        overlap,
        sizes_and_pool=_ones_then_zeros(n, members, h.device),
        source_sizes=SourceSizes(overlap.source_to_group, _ones(orders.pairs.ptr), None),
    )


def _meetings(incidence: SparsePattern, nodes: Tensor, ends: Tensor) -> SparsePattern:
    """Candidates × (candidates, then hyperedges): each meets itself first, then its hyperedges."""
    n = incidence.num_cols
    holder = repeat(incidence.t_lengths, len(incidence))
    place = arange_like(holder) + holder + 1
    ptr = incidence.t_ptr + ends
    index = holder.new_empty(n + len(incidence))
    index[ptr[:-1]] = nodes
    index[place] = incidence.t_index + n
    by_edge = torch.empty_like(place)
    by_edge[incidence.t_perm] = place
    met = SparsePattern.unchecked(
        n,
        n + incidence.num_rows,
        ptr,
        index,
        torch.cat([ends, incidence.ptr[1:] + n]),
        torch.cat([nodes, incidence.index]),
        torch.cat([ptr[:-1], by_edge]),
    )
    return with_short(met, columns=True)


def _grouped(member: Tensor, members: int) -> SparsePattern:
    """Members × rows."""
    values, order = stable_sort(member)
    back = torch.empty_like(order)
    back[order] = arange_like(order)
    ends = torch.arange(member.shape[0] + 1, device=member.device)
    pairs = SparsePattern.unchecked(
        members, member.shape[0], pointer_of(values, members), order, ends, member, back
    )
    return with_short(pairs, columns=True)


def _ones(ends: Tensor) -> Orders:
    """Order 1 for each of the rows that ``ends``, 0 to their number, counts; there is at least one."""
    rows = ends.shape[0] - 1
    pairs = SparsePattern.unchecked(
        rows, 1, ends, torch.zeros_like(ends[1:]), ends[::rows], ends[:-1], ends[:-1]
    )
    return Orders(ends[1:2], with_short(pairs, rows=True), codes_of((1,), ends.device))


def _by_order(counts: dict[int, int], device: torch.device) -> Orders:
    """Orders of rows that are sorted by order."""
    there = {order: count for order, count in counts.items() if count}
    numbers = [*there, *there.values()]
    if (
        shape_static(device) and not torch.compiler.is_compiling()
    ):  # a CUDA graph copies nothing from the host
        flat = torch.cat([torch.full((1,), number, device=device) for number in numbers])
    else:
        flat = torch.tensor(numbers, device=device)
    lengths = flat.reshape(2, -1)
    total = sum(there.values())
    ptr = torch.nn.functional.pad(lengths[1].cumsum(0), (1, 0))
    ends = torch.arange(total + 1, device=device)
    index = repeat(lengths[1], total)
    pairs = SparsePattern.unchecked(total, len(there), ends, index, ptr, ends[:-1], ends[:-1])
    return Orders(lengths[0], with_short(pairs, rows=True), codes_of(tuple(there), device))


def _ones_then_zeros(ones: int, zeros: int, device: torch.device) -> Orders:
    rows = torch.arange(ones + zeros + 1, device=device)
    index = (rows[:-1] < ones).long()
    order = (rows[:-1] + ones) % (ones + zeros)  # the zeros, then the ones
    ptr = torch.stack([rows[0], rows[zeros], rows[-1]])
    pairs = SparsePattern.unchecked(ones + zeros, 2, rows, index, ptr, order, order)
    return Orders(rows[:2], with_short(pairs, rows=True), codes_of((0, 1), device))
