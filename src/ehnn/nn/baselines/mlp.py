"""A multi-layer perceptron on the node features: the baseline that does not see the hypergraph."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph

from ..norm import LayerNorm
from ._model import NodeModel, steps


class MLP(NodeModel):
    r"""An MLP of each node's own features; the structure is ignored.

    .. math:: X^{(l+1)} = \sigma(X^{(l)} \Theta^{(l)} + b^{(l)})

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> MLP(2, 3)(Hypergraph.from_edges([[0, 1]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between the layers.
        layers: the number of linear maps.
        dropout: after each activation.
        norm: LayerNorm before each linear map but the first.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        norm: bool = False,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.convs.extend(
            _Pointwise(a, b, norm and i > 0) for i, (a, b) in enumerate(steps(d_in, width, d_out, layers))
        )


class _Pointwise(nn.Module):
    """A linear map of each row, in the form ``conv(x, h)``."""

    def __init__(self, d_in: int, d_out: int, norm: bool) -> None:
        super().__init__()
        self.norm = LayerNorm(d_in) if norm else nn.Identity()
        self.linear = nn.Linear(d_in, d_out)

    def forward(self, x: Tensor, h: Hypergraph) -> Tensor:
        return self.linear(self.norm(x))
