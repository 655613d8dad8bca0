"""What models of incidences share: ``model(h) -> [num_incidences, d_out]``."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.roles import refuse_roles
from ehnn.hypergraph.weighted import refuse_weights

from ..layer import check_hypergraph
from ._model import node_features


class IncidenceModel(nn.Module):
    """A row for each incidence, in the order of ``h.index``, from ``h.x [num_nodes, d_in]`` or ``x``."""

    def __init__(self, d_in: int, d_out: int, **counts: int) -> None:
        super().__init__()
        for name, value in {"d_in": d_in, "d_out": d_out, **counts}.items():
            as_count(value, name, 1)
        self.d_in, self.d_out = d_in, d_out

    def features(self, h: Hypergraph, x: Tensor | None) -> Tensor:
        """The node features that the model reads, after a check that they fit."""
        check_hypergraph(self, h)
        name = type(self).__name__
        refuse_roles(h.roles, name)
        refuse_weights(h.edge_weight, "edge_weight", name)
        refuse_weights(h.incidence_weight, "incidence_weight", name)
        return node_features(h, x, self.d_in, next(self.parameters()))
