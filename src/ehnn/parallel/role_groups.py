"""Groups of nodes and hyperedges with roles: a row for each (target, role)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import pairs_from_coo, selection
from ehnn.hypergraph.weighted import weighted, weights_of
from ehnn.overlap.orders import Orders

from .families import ShardFamily
from .pairs import PullPairs, PushPairs

if TYPE_CHECKING:
    from .shards import Shard


def role_groups(
    h: Shard, sources: ShardFamily, targets: ShardFamily, whole: SparsePattern
) -> tuple[SparsePattern, Orders, SparsePattern]:
    """Groups × sources, the matrix M of each group and targets × groups. A collective.

    ``whole`` is targets × sources. One end is nodes, so M has a single 1, at the role of the node.
    """
    sets = targets if isinstance(whole, PushPairs) else sources
    assert sets.roles is not None
    roles, R = h.ranks.distinct(sets.roles), sets.num_roles
    source_to_group: SparsePattern
    if isinstance(whole, PushPairs):
        source_to_group, keys = _pushed(whole, sets.roles, targets.orders)
    else:
        assert isinstance(whole, PullPairs)
        source_to_group, keys = _pulled(whole, sets.roles[sets.pairs.t_perm], R)
    shape = (1, R) if sets is targets else (R, 1)
    matrices = torch.nn.functional.one_hot(roles, R).reshape(-1, *shape)
    sizes = Orders.at(matrices, torch.searchsorted(roles, keys % R))
    target = torch.div(keys, R, rounding_mode="floor")
    return source_to_group, sizes, selection(target, whole.num_rows).transpose()


def _pushed(whole: PushPairs, roles: Tensor, counts: Tensor) -> tuple[PushPairs, Tensor]:
    """(own hyperedge, role) that occur on any rank; those of ghosts that occur here are sent to their owners.

    ``roles [pairs]`` and ``counts [rows, R]`` are of own hyperedges and ghosts.
    """
    R, own = counts.shape[1], whole.num_rows
    key = whole.inner.rows * R + roles
    keys = (counts[:own] > 0).flatten().nonzero().squeeze(1)
    here = keys.shape[0]
    every = torch.cat([keys, torch.unique(key[key >= own * R])])
    plan, _ = whole.plan.refined(every, here, R)
    return PushPairs(_regrouped(whole.inner, key, every), plan, counts.flatten()[keys]), keys


def _pulled(whole: PullPairs, roles: Tensor, R: int) -> tuple[PullPairs, Tensor]:
    """(own node, role) that occur, and the hyperedges of each; ``roles [pairs]`` in the order of nodes."""
    key = whole.inner.rows * R + roles
    keys = torch.unique(key)
    return PullPairs(_regrouped(whole.inner, key, keys), whole.plan), keys


def _regrouped(pairs: SparsePattern, key: Tensor, keys: Tensor) -> SparsePattern:
    """The pairs, each in the row of its ``key [pairs]`` among the ``keys``."""
    row, weights = torch.searchsorted(keys, key), weights_of(pairs)
    made, order = pairs_from_coo(row, pairs.index, keys.shape[0], pairs.num_cols, weights is not None)
    return weighted(made, None if weights is None else weights[order])
