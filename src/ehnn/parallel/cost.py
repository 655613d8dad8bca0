"""The formula for the traffic of a layer, which tests compare with `Traffic`; and for the time of a step."""

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

    ``overlap`` is that of a shard, ``itemsize`` the bytes of a number.
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
    if isinstance(local, PushPairs):
        there, back = width * itemsize + heads * _LSE, (width + heads) * itemsize + heads * _LSE
        there, back = ghosts * there, sent * back
    else:
        row = (width + heads) * itemsize  # values and logits; the gradients of both
        there, back = sent * row, ghosts * row
    members = overlap.num_members
    pool = members * width * itemsize
    if not heads:
        return LayerTraffic((there, pool), (back, pool))
    # The largest log-sum-exp, then numerators and denominators together, in float64.
    return LayerTraffic((there, members * _LSE * (heads + width + heads)), (back, pool))


@dataclass(frozen=True)
class Machine:
    """What one rank can do.

    Attributes:
        flops: floating point operations per second in products of matrices.
        memory: bytes per second that elementwise steps and sums read and write.
        network: bytes per second that a rank sends.
        latency: seconds of a collective without data.

    >>> Machine(1e12, 1e11, 1e9).latency
    5e-05
    """

    flops: float
    memory: float
    network: float
    latency: float = 5e-5


@dataclass(frozen=True)
class StepCost:
    """Seconds of a training step of one rank, and the bytes of its activations.

    Attributes:
        products: seconds of products of matrices.
        passes: seconds of elementwise steps and sums.
        exchange: seconds of sending rows to other ranks.
        activations: bytes.

    >>> StepCost(1.0, 0.5, 0.25, 1000).seconds
    1.75
    """

    products: float
    passes: float
    exchange: float
    activations: int

    @property
    def seconds(self) -> float:
        """Nothing overlaps."""
        return self.products + self.passes + self.exchange


def step_cost(
    nodes: int,
    edges: int,
    incidences: int,
    ghosts: int,
    ranks: int,
    width: int,
    machine: Machine,
    itemsize: int = 4,
) -> StepCost:
    """A training step of a stack nodes → all → nodes of `EHNNMLP` on a rank with an even share.

    ``nodes``, ``edges``, ``incidences`` and ``ghosts`` are those of all ``ranks`` (`CutReport`), ``width``
    the channels, ``machine`` what a rank can do, ``itemsize`` the bytes of a number. Six φ run on nodes and
    three on hyperedges, with three products of width² each, forward and twice backward. Each φ reads and
    writes about 14 rows forward and as many backward. A sum reads a row per incidence, forward and backward.

    >>> step_cost(10**6, 10**6, 10**7, 0, 1, 64, Machine(1e12, 1e11, 1e9)).exchange
    0.0
    """
    rows = (6 * nodes + 3 * edges) / ranks
    products = 18 * width**2 * rows / machine.flops
    moved = (28 * rows + 4 * (incidences + nodes) / ranks) * width * itemsize
    sent = 4 * ghosts / ranks * width * itemsize  # two layers, forward and backward
    exchange = 0.0 if ranks == 1 else sent / machine.network + 12 * machine.latency
    return StepCost(products, moved / machine.memory, exchange, int(7 * rows * width * itemsize))
