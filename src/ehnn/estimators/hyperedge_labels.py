"""Labels and numbers of hyperedges: those of the nodes of the dual hypergraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from ehnn.hypergraph import Hypergraph, dual

from .auto import MatchedRows
from .base import Self
from .doubts import warn_of_other_writing
from .explain.asking import INCIDENCES, MOST, Questions
from .explain.explanation import Explanation, Explanations
from .explain.rows import NodeQuestions
from .inputs import as_hypergraph
from .kinds import Classifies, Regresses
from .new_hyperedges import NewHyperedges, new_hyperedges
from .nodes import NodeEstimator
from .storage import hypergraph_about, hypergraph_from, hypergraph_tensors, plain_name
from .weights import check_weights


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgeEstimator(NodeEstimator):
    """What `HyperedgeClassifier` and `HyperedgeRegressor` share.

    Rows are hyperedges, in the order of ``as_hypergraph(h).edge_names``, or by number where there are none.
    Where `NodeEstimator` says node, read hyperedge. The models work on the dual hypergraph, whose nodes are
    the hyperedges and whose hyperedges are the nodes. So hyperedges that share a node are co-members, and
    ``edge_x`` has the features of rows.

    `predict` may be given new hyperedges alone: they are predicted together with the hyperedges of `fit`.
    Nodes are found by name, or by number without names.
    """

    _row: ClassVar[str] = "hyperedge"
    _other: ClassVar[str] = "node"
    known_: ClassVar[Hypergraph | None] = None  # set by fit: the dual hypergraph

    def fit(self: Self, h: Any, y: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """`NodeEstimator.fit` with a label for each hyperedge."""
        with _names_of_the_user():
            return super().fit(h, y, sample_weight, validation)

    def _logits(self, h: Any) -> Tensor:
        with _names_of_the_user():
            return super()._logits(h)

    def _rows_of(self, h: Any) -> Hypergraph:
        return dual(as_hypergraph(h))

    def _remember(self, graph: Hypergraph) -> None:
        vars(self)["known_"] = graph if self.hypergraph is None and self.reader_ is None else None

    def _new(self, graph: Hypergraph) -> NewHyperedges | None:
        known = self.known_
        if known is None and self.reader_ is not None and self.reader_.known is not None:
            known = dual(self.reader_.known)
        return None if known is None else new_hyperedges(known, graph.to("cpu"))

    def _data_logits(self, h: Any) -> Tensor:
        graph = self._rows_of(h)
        found = self._new(graph)
        if found is None:
            return super()._data_logits(h)
        check_weights(graph, self.model)
        warn_of_other_writing(found.known.node_names, graph.node_names, self._row)
        warn_of_other_writing(found.known.edge_names, graph.edge_names, self._other)
        return found.of_all(lambda whole, *numbers: self._row_logits(whole, MatchedRows.of(*numbers)))

    def explain(
        self,
        h: Any,
        rows: Any = None,
        *,
        target: Any = None,
        most: int = MOST,
        neighbourhood: int = INCIDENCES,
    ) -> Explanations:
        """`NodeEstimator.explain` of hyperedges."""
        with _names_of_the_user():
            return super().explain(h, rows, target=target, most=most, neighbourhood=neighbourhood)

    def _questions(self, graph: Hypergraph, sizes: tuple[int, int]) -> Questions:
        found = self._new(graph)
        if found is None:
            return super()._questions(graph, sizes)

        def make(whole: Hypergraph, *numbers: np.ndarray) -> NodeQuestions:
            return NodeQuestions(self, whole, *sizes, MatchedRows.of(*numbers))

        return _NewQuestions(found, make)

    def _about(self) -> dict[str, Any]:
        if self.known_ is None:
            return super()._about()
        names = self.known_.edge_names
        kept = None if names is None else [plain_name(name) for name in names]
        return super()._about() | {"known": hypergraph_about(self.known_) | {"edge_names": kept}}

    def _tensors(self) -> dict[str, Tensor]:
        return super()._tensors() | ({} if self.known_ is None else hypergraph_tensors(self.known_))

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._restore(about, tensors)
        told = about.get("known")
        if told is not None:  # not in older files
            names = told["edge_names"]
            found = hypergraph_from(told, tensors)
            vars(self)["known_"] = found.replace(edge_names=None if names is None else tuple(names))


_SIDES = {"edge_x": "x", "x": "edge_x", "hyperedge features": "node features"}
_SIDE = re.compile(r"hyperedge features|\bedge_x\b|\bx\b(?= must|=None|$)")


@contextmanager
def _names_of_the_user() -> Iterator[None]:
    """Errors about the dual hypergraph, in which the features of nodes and hyperedges have changed sides."""
    try:
        yield
    except ValueError as error:
        told = _SIDE.sub(lambda match: _SIDES[match[0]], str(error))
        if told == str(error):
            raise
        raise ValueError(told) from error


@dataclass
class _NewQuestions:
    """Explains hyperedges that are asked about, each in the hypergraph in which it is predicted."""

    found: NewHyperedges
    make: Callable[..., NodeQuestions]
    made: dict[int, NodeQuestions] = field(default_factory=dict)

    def explain(self, row: int, target: Any) -> Explanation:
        known, place = self.found.known.num_nodes, int(self.found.places[row])
        parts = [] if place >= 0 else self.found.parts()
        number = next((i for i, part in enumerate(parts) if row in part), -1)  # -1: those of fit
        if number not in self.made:
            whole = self.found.of_fit() if number < 0 else self.found.with_rows(parts[number])
            self.made[number] = self.make(*whole)
        at = place if number < 0 else known + int(np.searchsorted(parts[number], row))
        return self.made[number].explain(at, target)


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgeClassifier(Classifies, HyperedgeEstimator):
    """Predict a class for each hyperedge (set): one of several classes, or several yes/no labels.

    ``y`` of `fit` is a label for each hyperedge in order, None where it is not known, or a mapping from names
    (or numbers) of hyperedges to labels. `predict` returns ``[num_edges]`` classes, and `predict_proba`
    ``[num_edges, classes]`` with its columns in the order of ``classes_``.

    >>> edges = {"a": [0, 1, 2], "b": [1, 2, 3], "c": [7, 8, 9], "d": [8, 9], "e": [0, 3], "f": [7, 9]}
    >>> labels = {"a": "left", "b": "left", "c": "right", "d": "right"}
    >>> HyperedgeClassifier(budget="fast").fit(edges, labels).predict(edges)[4:].tolist()
    ['left', 'right']

    See `Estimator`, `NodeEstimator` and `HyperedgeEstimator` for the parameters.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgeRegressor(Regresses, HyperedgeEstimator):
    """Predict a number for each hyperedge (set), or several numbers.

    ``y`` of `fit` is as in `HyperedgeClassifier`, with numbers. `predict` returns ``[num_edges]`` numbers, or
    ``[num_edges, c]``. ``score`` is R².

    >>> edges = [[0, 1, 2], [0, 2], [1, 2], [3, 4, 5], [3, 5], [4, 5]]
    >>> model = HyperedgeRegressor(budget="fast").fit(edges, [3.0, 2.0, 2.0, 3.0, None, None])
    >>> model.predict(edges).shape  # a number for each hyperedge
    (6,)

    See `Estimator`, `NodeEstimator` and `HyperedgeEstimator` for the parameters.
    """
