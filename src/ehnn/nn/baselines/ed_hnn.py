"""ED-HNN (Wang et al., Equivariant Hypergraph Diffusion Neural Operators, ICLR 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_mean

from ..dropout import Dropout
from ..norm import LayerNorm
from ._model import NodeModel, steps
from ._structure import incidences_of, members_of


class NormedMLP(nn.Module):
    """An MLP with LayerNorm before its first linear map and after each ReLU; of 0 layers, the identity.

    Shapes: ``[rows, d_in] → [rows, d_out]``.
    """

    def __init__(self, d_in: int, d_out: int, layers: int) -> None:
        super().__init__()
        widths = steps(d_in, d_out, d_out, layers) if layers else []
        self.norms = nn.ModuleList(LayerNorm(a) for a, _ in widths)
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in widths)

    def forward(self, x: Tensor, dropouts: Sequence[Any]) -> Tensor:
        for i, (norm, linear) in enumerate(zip(self.norms, self.linears, strict=True)):
            x = dropouts[i - 1](norm(x.relu())) if i else norm(x)
            x = linear(x)
        return x


class EDHNNConv(nn.Module):
    r"""One step of a learnt diffusion, in which a hyperedge may send a different message to each member.

    .. math::
        m_e = \frac{1}{|e|} \sum_{v \in e} \phi(x_v), \qquad
        x'_v = \psi\Big((1 - \alpha) \frac{1}{d_v} \sum_{e \ni v} \rho([x_v, m_e]) + \alpha x^{(0)}_v\Big)

    φ, ρ and ψ are MLPs of ``width`` channels; with 0 layers φ is the identity and ρ returns m_e. Weights of
    hyperedges and incidences are ignored. Memory is incidences × channels.

    Shapes: ``conv(x [num_nodes, d], h, first [num_nodes, d], dropouts)`` → ``[num_nodes, d]``; ``dropouts``
    has one for each hidden layer of φ, ρ and ψ.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> x, conv = torch.ones(4, 8), EDHNNConv(8, phi=2, rho=2, psi=2, alpha=0.5)
    >>> conv(x, h, x, [torch.nn.Identity()] * 3).shape
    torch.Size([4, 8])
    """

    def __init__(self, width: int, *, phi: int, rho: int, psi: int, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha
        self.phi, self.psi = NormedMLP(width, width, phi), NormedMLP(width, width, psi)
        self.rho = NormedMLP(2 * width, width, rho)
        self.hidden = [max(layers - 1, 0) for layers in (phi, rho, psi)]

    def forward(self, x: Tensor, h: Hypergraph, first: Tensor, dropouts: Sequence[Any]) -> Tensor:
        a, b = self.hidden[0], sum(self.hidden[:2])
        edges = segment_mean(self.phi(x, dropouts[:a]), members_of(h))
        sent = edges.index_select(0, h.incidence.rows)
        if len(self.rho.linears):
            both = torch.cat([x.index_select(0, h.incidence.index), sent], 1)
            sent = self.rho(both, dropouts[a:b])
        y = segment_mean(sent, incidences_of(h))
        return self.psi((1 - self.alpha) * y + self.alpha * first, dropouts[b:])


class EDHNN(NodeModel):
    """ED-HNN: a linear map, one `EDHNNConv` applied ``layers`` times with ReLU, an MLP as classifier.

    The authors add a hyperedge {v} for each node v that has none: `ehnn.hypergraph.with_self_loops`.

    >>> from ehnn import Hypergraph
    >>> EDHNN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of the convolution.
        layers: how often it is applied; all share its parameters.
        dropout: of the features, in the MLPs, and before each convolution and the classifier.
        phi, rho, psi: layers of the MLPs φ, ρ and ψ.
        alpha: share of the first representation.
        classifier_layers: linear maps of the classifier.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        phi: int = 2,
        rho: int = 2,
        psi: int = 2,
        alpha: float = 0.5,
        classifier_layers: int = 1,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        for name, value in (("phi", phi), ("rho", rho), ("psi", psi)):
            as_count(value, name)
        as_count(classifier_layers, "classifier_layers", 1)
        self.embed = nn.Linear(d_in, width)
        self.conv = EDHNNConv(width, phi=phi, rho=rho, psi=psi, alpha=alpha)
        inside = sum(self.conv.hidden)
        self.inside = nn.ModuleList(Dropout(dropout) for _ in range(inside * layers))
        last = steps(width, width, d_out, classifier_layers)
        self.classifier = nn.ModuleList(nn.Linear(a, b) for a, b in last)
        self.between = nn.ModuleList(Dropout(dropout) for _ in last[1:])

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        first = y = torch.relu(self.embed(self.dropouts[-1](self.features(h, x))))
        inside, count = list(self.inside), sum(self.conv.hidden)
        for i, dropout in enumerate(list(self.dropouts)[:-2]):
            y = torch.relu(self.conv(dropout(y), h, first, inside[i * count : (i + 1) * count]))
        y = self.classifier[0](self.dropouts[-2](y))
        for dropout, linear in zip(self.between, list(self.classifier)[1:], strict=True):
            y = linear(dropout(y.relu()))
        return y
