"""Formulas: the traffic of a layer, which tests compare with `Traffic`, and the time of a step."""

from __future__ import annotations

from dataclasses import dataclass

from .pairs import PullPairs, PushPairs
from .relation import ShardedOverlap

_LSE = 8
"""Bytes of a log-sum-exp, which is kept in float64."""
_EXCHANGES, _SUMS = 4, 8
"""Collectives of a step: all-to-all, and small sums over all ranks."""


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
    """The bytes that `EHNNMLP` (``heads=0``) or `EHNNTransformer` sends: from nodes to others, or to nodes.

    ``overlap`` is that of a shard. ``itemsize`` is the bytes of a number; on the wire they may be fewer
    (`Ranks`). All-to-all: ghost rows × width. All-reduce: members × width. Attention adds logits or a
    log-sum-exp per head. Nothing grows with nodes, hyperedges or incidences. With roles there is a ghost row
    for each hyperedge and role.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> part = ehnn.parallel.shard(h, ehnn.parallel.partition(h, 1, "contiguous"), ehnn.parallel.Ranks())
    >>> layer_traffic(part.overlap("nodes", "edges"), width=64).forward  # one rank sends nothing to others
    (0, 256)
    """
    pairs = overlap.source_sizes.slot_to_group if heads else overlap.source_to_group
    sent = len(pairs.plan.sends) if isinstance(pairs, (PushPairs, PullPairs)) else 0
    ghosts = pairs.plan.ghosts if isinstance(pairs, (PushPairs, PullPairs)) else 0
    wire = itemsize if overlap.ranks.wire is None else overlap.ranks.wire.itemsize
    if isinstance(pairs, PushPairs):
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


@dataclass(frozen=True)
class Machine:
    """Seconds of one rank; ``paper/benchmarks/cost_model.py`` finds them.

    Attributes:
        step: of a step without data.
        node, edge: for each node and hyperedge, per channel.
        node_product, edge_product: the same, per channel².
        pair: for each incidence, per channel.
        byte: for each byte that is sent to another rank, packing included: 1 / bandwidth.
        call: of a collective without data.

    >>> Machine(0.001, 1e-8, 1e-8, 1e-10, 1e-10, 1e-9, byte=1e-9).call
    0.0
    """

    step: float
    node: float
    edge: float
    node_product: float
    edge_product: float
    pair: float
    byte: float
    call: float = 0.0


@dataclass(frozen=True)
class StepSeconds:
    """Seconds of a training step of one rank: for its own work, and for the ``exchange`` with others.

    >>> StepSeconds(own=1.0, exchange=0.25).total
    1.25
    """

    own: float
    exchange: float

    @property
    def total(self) -> float:
        """The sum of both: an upper bound, since ranks also compute during an exchange."""
        return self.own + self.exchange


def step_terms(nodes: float, edges: float, incidences: float, width: int) -> tuple[float, ...]:
    """The factors of the first six numbers of a `Machine`, for the share of one rank.

    >>> step_terms(10, 5, 30, width=2)
    (1.0, 20.0, 10.0, 40.0, 20.0, 60.0)
    """
    rows = (nodes, edges, nodes * width, edges * width, incidences)
    return (1.0, *(float(width * count) for count in rows))


def step_seconds(
    nodes: int, edges: int, incidences: int, ghosts: int, ranks: int, width: int, machine: Machine,
    itemsize: int = 4,
) -> StepSeconds:  # fmt: skip
    """A training step of a stack nodes → all → nodes of `EHNNMLP` on a rank with an even share.

    ``nodes``, ``edges``, ``incidences`` and ``ghosts`` are those of all ``ranks`` (`CutReport`), ``width``
    the channels, ``machine`` what a rank needs, ``itemsize`` the bytes of a number on the wire. Two layers
    exchange ghosts, forward and backward (`layer_traffic`); about eight small sums go over all ranks.

    >>> machine = Machine(0.0, 1e-8, 1e-8, 1e-10, 1e-10, 1e-9, byte=1e-9)
    >>> step_seconds(10**6, 10**6, 10**7, 0, 1, 64, machine).exchange
    0.0
    >>> step_seconds(10**6, 10**6, 10**7, 10**5, 2, 64, machine).exchange
    0.0512
    """
    terms = step_terms(nodes / ranks, edges / ranks, incidences / ranks, width)
    speeds = (machine.step, machine.node, machine.edge, machine.node_product, machine.edge_product)
    own = sum(a * b for a, b in zip(terms, (*speeds, machine.pair), strict=True))
    if ranks == 1:
        return StepSeconds(own, 0.0)
    sent = _EXCHANGES * ghosts / ranks * width * itemsize
    return StepSeconds(own, sent * machine.byte + (_EXCHANGES + _SUMS) * machine.call)
