"""Groups of sources that meet a target in the same way: by 𝓘, or with roles by the matrix M."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, lexsort, pairs_from_sorted, pointer
from ehnn.hypergraph.products import common_columns

from .families import FamilyRows
from .orders import Orders
from .role_counts import distinct_vectors

Groups = tuple[SparsePattern, Orders, SparsePattern | None]
"""Groups × sources, the size 𝓘 or matrix M of each group, targets × groups (None if group j is target j)."""


def groups_of(sources: FamilyRows, targets: FamilyRows, max_pairs: int) -> Groups:
    """The groups of two families; a matrix M[r, s] = |i_r ∩ j_s| for each where a family has roles."""
    if sources.roles is not None or targets.roles is not None:
        target, source, code, table = _matrices(sources, targets, max_pairs)
        table = table.reshape(-1, sources.num_roles, targets.num_roles)
        shape = targets.pairs.num_rows, sources.pairs.num_rows
        source_to_group, code, group_to_target = _grouped(target, source, code, table.shape[0], shape)
        return source_to_group, Orders.at(table, code), group_to_target
    if sources.is_nodes:
        return _unit_groups(targets.pairs)
    if targets.is_nodes:
        return _unit_groups(sources.pairs.transpose())
    return _sized_groups(targets.pairs, sources.pairs, max_pairs)


def orders_of(rows: FamilyRows, with_roles: bool) -> Orders:
    """The order of each row; ``with_roles`` as a vector of role counts, ``[distinct, R]``."""
    pairs = rows.pairs
    if with_roles:
        roles = torch.zeros_like(pairs.index) if rows.roles is None else rows.roles
        counts = torch.bincount(
            pairs.rows * rows.num_roles + roles, minlength=pairs.num_rows * rows.num_roles
        )
        key = counts.nonzero().squeeze(1)
        row, count = torch.div(key, rows.num_roles, rounding_mode="floor"), counts[key]
        table, index = distinct_vectors(row, key % rows.num_roles, count, pairs.num_rows, rows.num_roles)
        return Orders.at(table, index)
    if rows.is_nodes:
        return Orders.constant(1, pairs.num_rows, pairs.ptr.device)
    return Orders.of(pairs.lengths)


def _unit_groups(pairs: SparsePattern) -> Groups:
    """Groups of targets × sources pairs that all have 𝓘 = 1: the targets that meet any source."""
    met = pairs.lengths > 0
    if bool(met.all()):
        return pairs, Orders.constant(1, pairs.num_rows, pairs.ptr.device), None
    target = met.nonzero().squeeze(1)
    number = met.cumsum(0) - 1
    ptr = torch.cat([pairs.ptr[target], pairs.ptr[-1:]])
    source_to_group = dataclasses.replace(
        pairs, num_rows=target.shape[0], ptr=ptr, t_index=number[pairs.t_index]
    )
    sizes = Orders.constant(1, target.shape[0], ptr.device)
    return source_to_group, sizes, _group_to_target(target, pairs.num_rows)


def _sized_groups(targets: SparsePattern, sources: SparsePattern, max_pairs: int) -> Groups:
    """Groups of targets and sources that share nodes, by a sparse product."""
    target, source, size = common_columns(targets, sources, max_pairs)
    base = int(size.max()) + 1 if size.numel() else 1
    source_to_group, size, group_to_target = _grouped(
        target, source, size, base, (targets.num_rows, sources.num_rows)
    )
    return source_to_group, Orders.of(size), group_to_target


def _grouped(
    target: Tensor, source: Tensor, code: Tensor, codes: int, shape: tuple[int, int]
) -> tuple[SparsePattern, Tensor, SparsePattern | None]:
    """Pairs with equal (target, code) form a group: groups × sources, the code of each, targets × groups."""
    num_targets, num_sources = shape
    key, source = lexsort(target * codes + code, source, num_sources)
    first = torch.ones(key.shape[0] + 1, dtype=torch.bool, device=key.device)
    torch.ne(key[1:], key[:-1], out=first[1:-1])
    ptr = first.nonzero().squeeze(1)
    group = key[ptr[:-1]]
    target, code = torch.div(group, max(codes, 1), rounding_mode="floor"), group % max(codes, 1)
    source_to_group = pairs_from_sorted(ptr, source, num_sources)
    one_each = target.shape[0] == num_targets and torch.equal(target, arange_like(target))
    return source_to_group, code, None if one_each else _group_to_target(target, num_targets)


def _group_to_target(target: Tensor, num_targets: int) -> SparsePattern:
    """Targets × groups, for groups sorted by ``target``."""
    number = torch.arange(target.shape[0] + 1, device=target.device)
    ptr = pointer(target, num_targets)
    return SparsePattern.unchecked(
        num_targets, target.shape[0], ptr, number[:-1], number, target, number[:-1]
    )


# ---------------------------------------------------------------------- roles


def _matrices(
    sources: FamilyRows, targets: FamilyRows, max_pairs: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Target, source and number of M of every pair that meets, and ``[distinct, R · S]`` the matrices.

    Beside nodes M has a single 1, at the role of the node, so the incidences are all there is. Between
    hyperedges it comes from one sparse product of (target, s) × nodes with nodes × (source, r).
    """
    if sources.is_nodes or targets.is_nodes:
        sets = targets if sources.is_nodes else sources
        assert sets.roles is not None
        met = torch.bincount(sets.roles, minlength=sets.num_roles) > 0
        values, code = met.nonzero().squeeze(1), (met.cumsum(0) - 1)[sets.roles]
        one_hot = torch.nn.functional.one_hot(values, sets.num_roles)
        row, node = sets.pairs.rows, sets.pairs.index
        return (*((row, node) if sources.is_nodes else (node, row)), code, one_hot)
    R, S = sources.num_roles, targets.num_roles
    marked_target, marked_source, count = common_columns(marked(targets), marked(sources), max_pairs)
    target, s = torch.div(marked_target, S, rounding_mode="floor"), marked_target % S
    source, r = torch.div(marked_source, R, rounding_mode="floor"), marked_source % R
    num_sources = max(sources.pairs.num_rows, 1)
    key, pair = torch.unique(target * num_sources + source, return_inverse=True)
    _check_table(key.shape[0], R * S, max_pairs)
    table, code = distinct_vectors(pair, r * S + s, count, key.shape[0], R * S)
    return torch.div(key, num_sources, rounding_mode="floor"), key % num_sources, code, table


def marked(rows: FamilyRows) -> SparsePattern:
    """(hyperedge, role) × nodes: the row of role r of hyperedge i is i · R + r."""
    if rows.roles is None:
        return rows.pairs
    pairs, R = rows.pairs, rows.num_roles
    row = pairs.rows * R + rows.roles
    order = torch.argsort(row, stable=True)  # nodes stay ascending within a row
    return pairs_from_sorted(pointer(row, pairs.num_rows * R), pairs.index[order], pairs.num_cols)


def _check_table(pairs: int, entries: int, max_pairs: int) -> None:
    """The table of matrices has at most a row for each pair."""
    if min(pairs, max_pairs) * entries > 16 * max_pairs:
        raise ValueError(
            f"{pairs:,} pairs of hyperedges may have as many overlap matrices of {entries} entries, more "
            f"than 16 · max_pairs={max_pairs:,} numbers; raise max_pairs if there is memory for them"
        )
