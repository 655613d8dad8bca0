"""The formula for the traffic of a layer, which tests compare with `Traffic`."""

from __future__ import annotations

from dataclasses import dataclass

from .pairs import PullPairs, PushPairs
from .relation import ShardedOverlap

_LSE = 8
"""Bytes of a log-sum-exp, which is kept in float64."""


@dataclass(frozen=True)
class LayerTraffic:
    """Bytes of one rank in one ``forward`` or ``backward`` pass: (sent by all-to-all, given to
    all-reduce).

    >>> LayerTraffic((256, 64), (512, 64)).forward
    (256, 64)
    """

    forward: tuple[int, int]
    backward: tuple[int, int]


def layer_traffic(overlap: ShardedOverlap, width: int, heads: int = 0, itemsize: int = 4) -> LayerTraffic:
    """What `EHNNMLP` (``heads=0``) or `EHNNTransformer` sends, for nodes to others or others to nodes.

    ``overlap`` is that of a shard, ``itemsize`` the bytes of a number, which on the wire may be fewer
    (`Ranks`).
    All-to-all: ghost rows × width. All-reduce: members × width. Attention adds logits or a log-sum-exp per
    head. Nothing grows with nodes, hyperedges or incidences.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> part = ehnn.parallel.shard(h, ehnn.parallel.partition(h, 1, "contiguous"), ehnn.parallel.Ranks())
    >>> layer_traffic(part.overlap("nodes", "edges"), width=64).forward  # one rank sends nothing to others
    (0, 256)
    """
    local = overlap.source_to_group
    sent = len(local.plan.sends) if isinstance(local, (PushPairs, PullPairs)) else 0
    ghosts = local.plan.ghosts if isinstance(local, (PushPairs, PullPairs)) else 0
    wire = itemsize if overlap.ranks.wire is None else overlap.ranks.wire.itemsize
    if isinstance(local, PushPairs):
        there, back = width * wire + heads * _LSE, (width + heads) * wire + heads * _LSE
        there, back = ghosts * there, sent * back
    else:
        row = (width + heads) * wire  # values and logits; the gradients of both
        there, back = sent * row, ghosts * row
    members = overlap.num_members
    pool = members * width * itemsize
    if not heads:
        return LayerTraffic((there, pool), (back, pool))
    # The largest log-sum-exp, then numerators and denominators together, in float64.
    return LayerTraffic((there, members * _LSE * (heads + width + heads)), (back, pool))
