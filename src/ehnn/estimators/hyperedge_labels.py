"""Labels and numbers of hyperedges: those of the nodes of the dual hypergraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ehnn.hypergraph import Hypergraph, dual

from .inputs import as_hypergraph
from .kinds import Classifies, Regresses
from .nodes import NodeEstimator


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgeEstimator(NodeEstimator):
    """What `HyperedgeClassifier` and `HyperedgeRegressor` share.

    Rows are hyperedges, in the order of ``as_hypergraph(h).edge_names``, or by number where there are none:
    where `NodeEstimator` says node, read hyperedge. The models work on the dual hypergraph, in which
    hyperedges are nodes: hyperedges that share a node are co-members, ``edge_x`` are features of rows, and
    the members of a hyperedge are known by identity.
    """

    _row: ClassVar[str] = "hyperedge"

    def _rows_of(self, h: Any) -> Hypergraph:
        return dual(as_hypergraph(h))


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgeClassifier(Classifies, HyperedgeEstimator):
    """Which class is a hyperedge of? One of several classes, or several yes/no labels.

    >>> edges = {"a": [0, 1, 2], "b": [1, 2, 3], "c": [7, 8, 9], "d": [8, 9], "e": [0, 3], "f": [7, 9]}
    >>> labels = {"a": "left", "b": "left", "c": "right", "d": "right"}
    >>> HyperedgeClassifier(budget="fast").fit(edges, labels).predict(edges)[4:].tolist()
    ['left', 'right']

    See `Estimator`, `NodeEstimator` and `HyperedgeEstimator` for the parameters.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgeRegressor(Regresses, HyperedgeEstimator):
    """What number goes with a hyperedge? One or several. ``score`` is R².

    >>> edges = [[0, 1, 2], [0, 2], [1, 2], [3, 4, 5], [3, 5], [4, 5]]
    >>> model = HyperedgeRegressor(budget="fast").fit(edges, [3.0, 2.0, 2.0, 3.0, None, None])
    >>> model.predict(edges).shape  # a number for each hyperedge
    (6,)

    See `Estimator`, `NodeEstimator` and `HyperedgeEstimator` for the parameters.
    """
