"""HAN (Wang et al., Heterogeneous Graph Attention Network, WWW 2019) on the star expansion."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import pairs_from_coo
from ehnn.hypergraph.products import MAX_PAIRS, common_columns
from ehnn.ops import segment_mean

from ._model import NodeModel
from ._structure import clique_with_loops, derived, node_pool
from .gat import GATHeads
from .han_sampling import Block, Sample, sample_blocks


class HANConv(nn.Module):
    r"""Attention over the neighbours along each metapath, then over the metapaths.

    .. math::
        z_i^\Phi &= \big\|_h\, \mathrm{ELU}\Big(\sum_{j \in N_i^\Phi} \alpha_{ij}^{\Phi,h} W_h^\Phi x_j\Big)
            && \text{(Eqs. 3 to 5)} \\
        y_i &= \sum_\Phi \beta_\Phi z_i^\Phi, \qquad
        \beta = \mathrm{softmax}_\Phi \Big(\frac{1}{|V|} \sum_i q^\top \tanh(W z_i^\Phi + b)\Big)
            && \text{(Eqs. 7 to 9)}

    with α GAT's additive attention of ``heads`` heads, and q and b of width ``semantic``. The mean over V is
    taken in each member of a batch by itself.

    Shapes: ``conv(x [sources, d_in], block)`` → ``[targets, d_out]``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> block = Block((clique_with_loops(h),), None, None, torch.zeros(4))  # the metapath V-E-V
    >>> HANConv(2, 8, metapaths=1, heads=4, semantic=16)(torch.ones(4, 2), block).shape
    torch.Size([4, 8])
    """

    def __init__(self, d_in: int, d_out: int, *, metapaths: int, heads: int, semantic: int) -> None:
        super().__init__()
        if d_out % as_count(heads, "heads", 1):
            raise ValueError(f"heads must divide the width {d_out}, got {heads}")
        self.paths = nn.ModuleList(GATHeads(d_in, d_out // heads, heads) for _ in range(metapaths))
        self.bias = nn.Parameter(torch.zeros(metapaths, d_out))
        self.project = nn.Linear(d_out, semantic)
        self.query = nn.Linear(semantic, 1, bias=False)

    def forward(self, x: Tensor, block: Block) -> Tensor:
        found = [path(x, pairs, block.place) for path, pairs in zip(self.paths, block.paths, strict=True)]
        z = torch.stack(
            [nn.functional.elu(y.flatten(1) + b) for y, b in zip(found, self.bias, strict=True)], 1
        )
        scores = self.query(torch.tanh(self.project(z))).squeeze(-1)
        return (self._weights(scores, block).unsqueeze(-1) * z).sum(1)

    def _weights(self, scores: Tensor, block: Block) -> Tensor:
        """``[targets, metapaths] → [targets or 1, metapaths]``: β."""
        if block.pool is None:
            return (scores.sum(0, keepdim=True) / max(scores.shape[0], 1)).softmax(1)
        return segment_mean(scores, block.pool).softmax(1).index_select(0, block.member)


class HAN(NodeModel):
    """HAN: `HANConv` layers and a linear classifier, in full batch or by samples.

    Nodes and hyperedges are the two types of the heterogeneous graph. A metapath from nodes to nodes is
    V-E-V, repeated: ``metapaths=(1,)`` has the one metapath V-E-V, with which attention over metapaths is
    trivially 1 and the layer is GAT on the clique expansion; ``(1, 2)`` adds V-E-V-E-V. A metapath E-V-E
    ends in hyperedges and reaches no label. Hyperedge features, weights, and the number of paths
    between two nodes are ignored; attention weights are not dropped out.

    Full batch, ``model(h)``: memory is linear in the pairs of nodes that a metapath joins. By samples,
    ``model(h, sample=model.sample(h, nodes, fanout=20))`` gives the rows of ``nodes`` from random walks along
    the metapaths: nothing of the size of the clique expansion is made.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))
    >>> model = HAN(2, 3)
    >>> model(h).shape, model(h, sample=model.sample(h, [0, 3], fanout=2)).shape
    (torch.Size([4, 3]), torch.Size([2, 3]))

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of each layer, all heads together.
        layers: the number of `HANConv` layers.
        dropout: of the input of each layer.
        heads: attention heads; they divide ``width``.
        metapaths: the number of V-E-V steps in each metapath.
        semantic: channels of the attention over metapaths.
        max_pairs: bound on the pairs of nodes that a metapath joins in full batch.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 1,
        dropout: float = 0.6,
        heads: int = 8,
        metapaths: Sequence[int] = (1,),
        semantic: int = 128,
        max_pairs: int = MAX_PAIRS,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.metapaths = tuple(as_count(steps, "a metapath", 1) for steps in metapaths)
        if not self.metapaths:
            raise ValueError("metapaths must name at least one number of V-E-V steps, got none")
        self.max_pairs = max_pairs
        self.convs.extend(
            HANConv(
                d_in if i == 0 else width,
                width,
                metapaths=len(self.metapaths),
                heads=heads,
                semantic=semantic,
            )
            for i in range(layers)
        )
        self.classifier = nn.Linear(width, d_out)

    def forward(self, h: Hypergraph, x: Tensor | None = None, sample: Sample | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits, or a row for each node of the sample.

        ``x [num_nodes, d_in]`` replaces ``h.x``.
        """
        x = self.features(h, x)
        if sample is None:
            blocks: Sequence[Block] = [full_block(h, self.metapaths, self.max_pairs)] * len(self.convs)
        else:
            x, blocks = x.index_select(0, sample.inputs), sample.blocks
        for conv, block, dropout in zip(self.convs, blocks, self.dropouts, strict=False):
            x = conv(dropout(x), block)
        return self.classifier(x)

    def sample(
        self,
        h: Hypergraph,
        nodes: Tensor | Sequence[int],
        *,
        fanout: int,
        generator: torch.Generator | None = None,
    ) -> Sample:
        """A minibatch of ``nodes``: ``fanout`` random walks for each node, metapath and layer."""
        return sample_blocks(h, nodes, self.metapaths, len(self.convs), fanout, generator)


def full_block(h: Hypergraph, metapaths: tuple[int, ...], max_pairs: int = MAX_PAIRS) -> Block:
    """All neighbours of all nodes along each metapath, every node being its own neighbour."""
    paths = tuple(derived(h.incidence, _reach, steps, max_pairs) for steps in metapaths)
    return Block(paths, None, node_pool(h) if h.num_members != 1 else None, h.node_batch)


def _reach(incidence: SparsePattern, steps: int, max_pairs: int) -> SparsePattern:
    """``SparsePattern`` of nodes × nodes within ``steps`` V-E-V steps."""
    near = clique_with_loops(Hypergraph(incidence), max_pairs)
    reached = near
    for _ in range(steps - 1):
        reached = _compose(reached, near, max_pairs)
    return reached


def _compose(a: SparsePattern, b: SparsePattern, max_pairs: int) -> SparsePattern:
    """The pattern of the product of two patterns."""
    row, col, _ = common_columns(a, b.transpose(), max_pairs)
    return pairs_from_coo(row, col, a.num_rows, b.num_cols)[0]
