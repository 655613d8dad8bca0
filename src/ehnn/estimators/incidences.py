"""Labels of a node within a hyperedge."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import is_missing, short
from ehnn.hypergraph import Hypergraph
from ehnn.io.named import in_order
from ehnn.tables import TableData
from ehnn.tables.frames import is_frame

from .auto_incidences import AutoIncidences
from .base import Estimator, Self, all_or_nothing
from .explain.asking import INCIDENCES, MOST, answer, incidence_numbers, limits, places_of
from .explain.explanation import Explanations
from .explain.rows import IncidenceQuestions
from .features import check_features
from .finite import finite_outputs
from .from_tables import asked_of, logits_of, reader_of
from .inputs import as_hypergraph, incidence_lines
from .judging import judging_labels
from .kinds import Classifies
from .labels import as_list, has_names, plain
from .portfolio.outputs import Output
from .targets import check_columns, targets_from, with_columns
from .weights import check_weights, counted, in_order_of, row_weights, score_weights


@dataclass(eq=False, repr=False, kw_only=True)
class IncidenceClassifier(Classifies, Estimator):
    """Predict a class for each node *within each hyperedge*, such as sender or receiver of a message.

    Rows are incidences, the (node, hyperedge) pairs, in the order of ``as_hypergraph(h).index``, or the rows
    of a DataFrame of pairs. ``y`` of `fit` is a class for each of them, or a mapping from (node, hyperedge)
    to the class; None or NaN: no label. Whole hyperedges may be without labels. `predict` returns
    ``[num_incidences]`` classes, and `predict_proba` ``[num_incidences, classes]``.

    The models read the labels of the node in other hyperedges, features, degrees and orders compared with
    those of the other members, and how similar the node is to them. If a tenth of the incidences without a
    label are in partly labelled hyperedges, they read the known labels of the other members too.

    `predict` reads the labels of `fit` again in any hypergraph that has the same nodes and hyperedges, in any
    order. Hyperedges are found by name where both hypergraphs have names. Otherwise they are found as sets of
    nodes, and copies of a set in their order. A renamed hyperedge is a new one.

    The only ``model`` is ``"auto"``.

    >>> mails = {"m1": ["ann", "bob"], "m2": ["ann", "cy", "bob"], "m3": ["ann", "dan"], "m4": ["ann", "eve"]}
    >>> label = {(v, e): "sender" if v == "ann" else "receiver" for e in ("m1", "m2", "m3") for v in mails[e]}
    >>> model = IncidenceClassifier(budget="fast").fit(mails, label)
    >>> model.predict(mails)[-2:].tolist()
    ['sender', 'receiver']

    See `Estimator` for the parameters.
    """

    _auto: ClassVar[Any] = AutoIncidences

    @all_or_nothing
    def fit(self: Self, h: Any, y: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """Learn from the labelled incidences of ``h``, in any form that `as_hypergraph` takes.

        What `ehnn.tables.read` gives has the labels too, and `predict` then takes files and DataFrames.

        Args:
            h, y: the hypergraph, and a label for each incidence.
            sample_weight: a number for each row of ``y``, or by (node, hyperedge), as it must be where ``y``
                is.
            validation: a boolean for each incidence, or by (node, hyperedge): its label compares the members
                and is not trained on. By default some labelled hyperedges are drawn. Give it where new
                hyperedges differ from those drawn, such as copies of one hyperedge that stay together.
        """
        assert isinstance(self, IncidenceClassifier)
        if self.model != "auto":
            raise ValueError(f"model of IncidenceClassifier must be 'auto', got {self.model!r}")
        settings = self._auto_settings()
        self.reader_ = reader_of(h, type(self).__name__)
        graph = as_hypergraph(h).to("cpu")
        check_features(graph, self.features)
        graph = self._read(graph)
        check_weights(graph, self.model)
        lines = incidence_lines(h, graph)
        check_same_order(h, y=y, sample_weight=sample_weight)
        values = incidence_values(
            graph, h.y if y is None and isinstance(h, TableData) else self._given(y), lines
        )
        if not _by_name(y, lines):
            warn_of_order(h, graph)
        self.targets_ = with_columns(self._learn(values), y)
        target = self.targets_.encode(values)
        rows = incidence_weights(graph, y, sample_weight, lines)
        target, weight = counted(self.targets_, target, rows, self.class_weight)
        judging = None
        if validation is not None:
            labelled = self.targets_.labelled(target).numpy()
            if _by_name(validation, lines):
                chosen: Any = _of_pairs(graph, y, validation, lines, False, "validation")
            else:
                chosen = _of_incidences(np.asarray(validation), lines, graph)
            judging = judging_labels(chosen, labelled, "incidence")
        self.history_, self.best_epoch_ = [], 0
        self.n_features_in_ = 0 if graph.x is None else graph.x.shape[1]
        output = Output.of(self.targets_)
        self.model_ = AutoIncidences.fit(graph, output, target.numpy(), weight, settings, judging)
        return self

    def _read(self, graph: Hypergraph) -> Hypergraph:
        """``graph`` without features that are not to be read."""
        return graph.replace(x=None, edge_x=None) if self.features == "structural" else graph

    def _graph(self, h: Any) -> Hypergraph:
        return self._read(as_hypergraph(h).to("cpu"))

    def _logits(self, h: Any) -> Tensor:
        """``[rows, outputs]``."""
        self._check_fitted()
        asked = asked_of(self.reader_, h)
        if asked is not None:
            found = logits_of(asked, lambda graph: finite_outputs(self.model_.logits(self._graph(graph))))
            lines = asked.lines if is_frame(h) else None
        else:
            graph = self._graph(h)
            found, lines = finite_outputs(self.model_.logits(graph)), incidence_lines(h, graph)
        if lines is None:
            return found
        if (lines < 0).any():
            raise ValueError(f"row {int(np.argmin(lines))} (from 0) of the frame has no node or no hyperedge")
        return found[torch.from_numpy(lines)]

    def predict(self, h: Any) -> np.ndarray:
        """``[rows]`` classes, in the order of ``as_hypergraph(h).index`` or of the rows of a DataFrame."""
        logits = self._logits(h)
        return self.targets_.predict(self._decided(logits))

    def score(self, h: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy over the labelled incidences; ``y`` None: the labels of a table.

        ``h`` is as in `fit`, also where `predict` takes files; ``sample_weight`` is as in `fit`.
        """
        self._check_fitted()
        graph = self._graph(h)
        y = h.y if y is None and isinstance(h, TableData) else y
        lines = incidence_lines(h, graph)
        check_same_order(h, y=y, sample_weight=sample_weight)
        check_columns(self.targets_, y)
        target = self.targets_.encode(incidence_values(graph, self._given(y), lines), judged=True)
        given = incidence_weights(graph, y, sample_weight, lines)
        if lines is not None:
            target, given = target[lines], None if given is None else given[lines]
        weight = score_weights(given, self.targets_.labelled(target), "incidence")
        return self.targets_.score(self._decided(self._logits(h)), target, weight)

    def explain(
        self, h: Any, rows: Any, *, target: Any = None, most: int = MOST, neighbourhood: int = INCIDENCES
    ) -> Explanations:
        """What moved the predictions of ``rows``, by occlusion; see `NodeEstimator.explain`.

        Left out are other hyperedges of the node (and with them its label there), the other members of the
        hyperedge, and features of the node.

        Args:
            h: as in `predict`.
            rows: incidences: (node, hyperedge) by name, or by number where there are no names; or, where
                `fit` was given no table, their numbers among the rows of `predict`.
            target, most, neighbourhood: see `NodeEstimator.explain`.
        """
        self._check_fitted()
        sizes = limits(most, neighbourhood)
        asked = asked_of(self.reader_, h)
        graph = None if asked is not None else as_hypergraph(h)
        lines = None if graph is None else incidence_lines(h, graph)
        rows = rows if lines is None else places_of(rows, lines)
        return answer(
            rows, lambda part: IncidenceQuestions(self, part, *sizes), asked, graph, incidence_numbers, target
        )

    def _about(self) -> dict[str, Any]:
        return {"targets": self.targets_.about()}

    def _tensors(self) -> dict[str, Tensor]:
        return {}

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.targets_ = targets_from(about["targets"])


def _of_incidences(given: np.ndarray | None, lines: np.ndarray | None, h: Hypergraph) -> np.ndarray | None:
    """What is said of each row of a frame as what is said of each incidence: of equal rows the last."""
    if given is None or lines is None or given.shape != lines.shape:
        return given
    found = np.zeros(h.num_incidences, given.dtype)
    found[lines] = given
    return found


def check_same_order(frame: Any, **given: Any) -> None:
    """A ValueError where a Series has the index of a frame of pandas in another order."""
    index = getattr(frame, "index", None)
    for name, values in given.items():
        rows: Any = getattr(values, "index", None)
        if not is_frame(frame) or not hasattr(rows, "nlevels") or rows.nlevels != 1 or index is None:
            continue
        if not rows.equals(index) and rows.sort_values().equals(index.sort_values()):
            raise ValueError(
                f"{name} has the rows of the frame in another order: {name}.reindex(frame.index), or "
                f"{name}.to_numpy() if its order is that of the frame"
            )


def warn_of_order(given: Any, h: Hypergraph) -> None:
    """A warning where members of lists are not in the order of ``h.index``, in which labels are taken."""
    lists = given.values() if isinstance(given, Mapping) else given
    if not isinstance(given, (Mapping, list, tuple)) or "incidences" in given:
        return
    number = {name: i for i, name in enumerate(h.node_names or range(h.num_nodes))}
    nodes = [number[plain(v)] for members in lists for v in in_order(members)]
    if len(nodes) == h.num_incidences and nodes != h.index[0].tolist():
        warnings.warn(
            "y has a label per incidence by position, in the order of as_hypergraph(h).index, and members of "
            "hyperedges are given in another order; a mapping from (node, hyperedge) to labels is clear",
            stacklevel=4,
        )


def incidence_values(h: Hypergraph, y: Any, lines: np.ndarray | None = None) -> list[Any]:
    """A label for each incidence, in the order of ``h.index``, from a sequence or a mapping of pairs.

    ``lines``: the incidence that each entry of a sequence is of; None: they are in that order.
    """
    if _by_name(y, lines) and not isinstance(y, Mapping):
        y = _as_mapping(y)
    if not isinstance(y, Mapping):
        values, rows = as_list(y), h.num_incidences if lines is None else len(lines)
        if len(values) != rows:
            raise ValueError(f"y must have one row per incidence ({rows}), got {len(values)}")
        return values if lines is None else _by_incidence(h, values, lines)
    names = _pair_names(h)
    unknown = set(y) - set(names)
    if unknown:
        raise ValueError(f"y: {short(next(iter(unknown)))} is no (node, hyperedge) of the hypergraph")
    return [None if is_missing(y.get(name)) else y[name] for name in names]


def incidence_weights(h: Hypergraph, y: Any, given: Any, lines: np.ndarray | None) -> np.ndarray | None:
    """``[num_incidences]`` float32 of a ``sample_weight``; ``y`` and ``lines`` as in `incidence_values`."""
    if given is not None and _by_name(given, lines):
        return row_weights(_of_pairs(h, y, given, lines, 0.0, "sample_weight"), h.num_incidences)
    if given is not None and _by_name(y, lines):
        raise ValueError("sample_weight must be by (node, hyperedge), as y is: a mapping or a Series")
    return _of_incidences(row_weights(given, h.num_incidences if lines is None else len(lines)), lines, h)


def _of_pairs(
    h: Hypergraph, y: Any, given: Any, lines: np.ndarray | None, missing: Any, name: str
) -> list[Any]:
    """What is ``given`` by (node, hyperedge), in the order of ``h.index``.

    It must be there for each row of ``y``; elsewhere it is ``missing``.
    """
    pairs = _pair_names(h)
    rows = pairs if not _by_name(y, lines) else list(y) if isinstance(y, Mapping) else y.index.tolist()
    rows = dict.fromkeys(rows)
    found = dict(zip(rows, in_order_of(rows, given, name), strict=True))
    return [found.get(pair, missing) for pair in pairs]


def _as_mapping(y: Any) -> dict[Any, Any]:
    """Labels of a Series by its index; a ValueError where one (node, hyperedge) has two."""
    found: dict[Any, Any] = {}
    for pair, label in zip(y.index.tolist(), as_list(y), strict=True):
        if is_missing(label):
            continue
        if found.setdefault(pair, label) != label:
            raise ValueError(f"y: {short(pair)} has two labels, {short(found[pair])} and {short(label)}")
    return found


def _by_name(y: Any, lines: np.ndarray | None) -> bool:
    """Whether labels are given by (node, hyperedge); rows of a frame have names of their own."""
    return isinstance(y, Mapping) or (has_names(y) and (lines is None or y.index.nlevels == 2))


def _pair_names(h: Hypergraph) -> list[tuple[Any, Any]]:
    """(node, hyperedge) of each incidence, by name or number."""
    nodes = h.node_names or range(h.num_nodes)
    edges = h.edge_names or range(h.num_edges)
    return [(nodes[v], edges[e]) for v, e in h.index.T.tolist()]


def _by_incidence(h: Hypergraph, values: list[Any], lines: np.ndarray) -> list[Any]:
    """Labels of rows of a frame as those of incidences; equal rows must have the same."""
    found: list[Any] = [None] * h.num_incidences
    for row, (value, i) in enumerate(zip(values, lines.tolist(), strict=True)):
        if is_missing(value):
            continue
        if found[i] is not None and found[i] != value:
            raise ValueError(
                f"y: row {row} (from 0) of the frame says {short(value)} of a node in a hyperedge, and an "
                f"earlier row says {short(found[i])}"
            )
        found[i] = value
    return found
