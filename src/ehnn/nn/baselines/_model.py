"""What the node models share: one interface, ``model(h) -> [num_nodes, d_out]``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.roles import refuse_roles

from ..dropout import Dropout
from ..layer import check_hypergraph
from ..products import check_dtype


class NodeModel(nn.Module):
    """Convolutions ``conv(x, h)`` one after another, with an activation and dropout between them.

    ``model(h)`` reads ``h.x [num_nodes, d_in]``, or ``x`` where given, and returns ``[num_nodes, d_out]``.
    No module keeps statistics of what it has seen, so parameters of many runs can be stacked and run
    at once with ``torch.func.functional_call`` under ``vmap``.
    """

    activation: Callable[[Tensor], Tensor] = staticmethod(torch.relu)
    reads_edge_weight = False

    def __init__(self, d_in: int, d_out: int, *, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        for name, value in (("d_in", d_in), ("d_out", d_out), ("width", width), ("layers", layers)):
            as_count(value, name, 1)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout!r}")
        self.d_in, self.d_out = d_in, d_out
        # One for each place: a seeded mask is a function of its module.
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers + 2))
        self.convs = nn.ModuleList()

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        x = self.features(h, x)
        for i, conv in enumerate(self.convs):
            x = self.dropouts[i](self.activation(x)) if i else x
            x = conv(x, h)
        return x

    def features(self, h: Hypergraph, x: Tensor | None) -> Tensor:
        """The node features that the model reads, after a check that they fit."""
        check_hypergraph(self, h)
        refuse_roles(h.roles, type(self).__name__)
        self._warn_of_weights(h)
        return node_features(h, x, self.d_in, next(self.parameters()))

    def _warn_of_weights(self, h: Hypergraph) -> None:
        given = {"edge_weight": not self.reads_edge_weight, "incidence_weight": True}
        for name, ignored in given.items():
            if ignored and getattr(h, name) is not None:
                warnings.warn(f"{type(self).__name__} ignores {name}", stacklevel=4)


class Propagation(nn.Module):
    r"""A convolution of the form :math:`P X \Theta + b`; a subclass gives the product with P.

    Θ is drawn as Glorot and Bengio do, b starts at 0.

    Shapes: ``conv(x [num_nodes, d_in], h)`` → ``[num_nodes, d_out]``.
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.theta = nn.Linear(d_in, d_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(d_out))
        nn.init.xavier_uniform_(self.theta.weight)

    def forward(self, x: Tensor, h: Hypergraph) -> Tensor:
        return self.propagate(self.theta(x), h) + self.bias

    def propagate(self, x: Tensor, h: Hypergraph) -> Tensor:
        """``P x``: ``[num_nodes, d] → [num_nodes, d]``."""
        raise NotImplementedError


def node_features(h: Hypergraph, x: Tensor | None, d_in: int, weight: Tensor) -> Tensor:
    """``x [num_nodes, d_in]``, or ``h.x``; a ValueError if shape or dtype do not fit."""
    x = h.features("nodes") if x is None else x
    if tuple(x.shape) != (h.num_nodes, d_in):
        raise ValueError(f"x must be [num_nodes, d_in] = [{h.num_nodes}, {d_in}], got {list(x.shape)}")
    check_dtype(x, weight)
    return x


def steps(d_in: int, width: int, d_out: int, layers: int) -> list[tuple[int, int]]:
    """Channels (in, out) of each of ``layers`` layers, ``width`` between them."""
    widths = [d_in, *[width] * (layers - 1), d_out]
    return list(pairwise(widths))
