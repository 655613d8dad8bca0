"""Labels and numbers of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.roles import refuse_roles
from ehnn.tables import TableData
from ehnn.tables.later import Asked
from ehnn.training import Task

from .auto import AutoNodes, MatchedRows
from .base import Estimator, Self, all_or_nothing
from .doubts import (
    looks_like_row_numbers,
    warn_of_gaps,
    warn_of_order,
    warn_of_other_writing,
    warn_of_row_numbers,
)
from .explain.asking import INCIDENCES, MOST, Questions, answer, limits
from .explain.explanation import Explanations
from .explain.rows import NodeQuestions
from .features import ALL, Features, check_features
from .finite import finite_outputs
from .from_tables import asked_of, logits_of, reader_of
from .inputs import as_hypergraph, node_numbers
from .judging import judging_labels
from .kinds import Classifies, Regresses
from .labels import as_list, has_names
from .models import NetworkSpec
from .portfolio.outputs import Output
from .storage import hypergraph_about, hypergraph_from, hypergraph_tensors
from .supervised import SampledRows, Supervised, fan_out_of, train_and_valid
from .targets import Targets, check_columns, targets_from, with_columns
from .weights import (
    check_weights,
    counted,
    in_order_of,
    row_weights,
    score_weights,
    warn_unread,
)


@dataclass(eq=False, repr=False, kw_only=True)
class NodeEstimator(Estimator):
    """What `NodeClassifier` and `NodeRegressor` share.

    An EHNN model is trained in the first way that fits into free memory, which is ``way_`` after `fit`:
    ``"whole"``; ``"bounded"``, inside `ehnn.ops.bounded_memory`, with the same numbers in a third more time;
    ``"sampled"``, on mini-batches of `ehnn.parallel.sample`, which is approximate.

    Args:
        residual: whether each layer of an EHNN model adds its output to its input; refused with other models.
            None: both are trained, in twice the time, and the validation labels choose (``residual_``);
            without validation labels it is True.
        hypergraph: where it is given, ``fit``, ``predict`` and ``score`` take *nodes* (numbers or names) in
            place of a hypergraph, one row each. So scikit-learn's helpers can split the nodes:
            ``cross_val_score(NodeClassifier(hypergraph=h), np.arange(h.num_nodes), y)``. `save` keeps it,
            without its labels and the names of its hyperedges.
    """

    dropout: float = 0.2
    lr: float = 3e-3
    epochs: int = 300
    patience: int | None = 60
    residual: bool | None = None
    hypergraph: Any = None
    _row: ClassVar[str] = "node"
    _other: ClassVar[str] = "hyperedge"  # what rows are in

    def _learn(self, values: list[Any], rows: np.ndarray | None = None) -> Targets:
        raise NotImplementedError

    def _given(self, y: Any, own: bool = False) -> Any:
        raise NotImplementedError

    def _unread(self) -> dict[str, str]:
        read = self.model != "auto" and self._network().residual_is_read(self.residual)
        return super()._unread() | ({} if read else {"residual": "'ehnn-mlp' or 'ehnn-transformer'"})

    # ------------------------------------------------------------------ fit

    @all_or_nothing
    def fit(self: Self, h: Any, y: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """Train on the labelled nodes.

        Args:
            h: a hypergraph, in any form that `as_hypergraph` takes. What `ehnn.tables.read` gives has the
                labels too; `predict` then takes files and DataFrames, which are read in the same way and
                joined to those of fit by the names of nodes and sets.
            y: a label per node, missing where unknown; or a mapping (or a pandas Series with an index of
                its own, any but the default 0 … n−1 without a name) from some nodes to their labels. None:
                the labels of ``h``. A label per node is in the order of the nodes: by number where they are
                numbers from 0, else as in ``as_hypergraph(h).node_names``, where nodes of lists, mappings
                and frames stand in the order in which they first appear. `predict` keeps the same order.
            sample_weight: a weight for each row of ``y``, of its share in the loss and in the figures; by
                name where it has names. A label of weight 0 counts nowhere, as if it were missing.
            validation: a boolean for each row of ``y``, by name where it has names: its label compares
                members and chooses the epoch, and is not trained on. By default some labels are drawn. Give
                it where new rows differ from those drawn, such as those of the last month.
        """
        assert isinstance(self, NodeEstimator)
        network = self._network_to_fit()
        self.reader_ = reader_of(h, type(self).__name__)
        graph, nodes, values = self._labels(h, y)
        if self._row == "node":
            warn_of_gaps(h, graph)
        names = self._names_of_labels(y, graph)
        rows = row_weights(in_order_of(names, sample_weight), len(values))
        self.targets_ = with_columns(self._learn(values, rows), y)
        self._remember(graph)
        if nodes is not None and (rows is not None or len(nodes.unique()) < len(nodes)):
            # A node that is given twice counts twice.
            rows = np.bincount(nodes.numpy(), rows, graph.num_nodes).astype(np.float32)
        target = self._one_per_row(graph, nodes, self.targets_.encode(values))
        target, weight = counted(self.targets_, target, rows, getattr(self, "class_weight", None))
        judging = self._judging(graph, nodes, target, in_order_of(names, validation, "validation"))
        check_weights(graph, self.model)
        if self.model == "auto":
            return self._fit_auto(graph, target, weight, judging)
        return self._fit_network(network, graph, target, weight, judging)

    def _fit_network(
        self: Self, network: NetworkSpec, graph: Hypergraph, target: Tensor, weight: np.ndarray | None,
        judging: np.ndarray | None,
    ) -> Self:  # fmt: skip
        assert isinstance(self, NodeEstimator)
        if isinstance(self.model, str) and not network.is_ehnn:
            refuse_roles(graph.roles, f"model {self.model!r}")
        if not network.is_ehnn:
            warn_unread(graph, self.model)
        self.features_ = Features.learn(graph, self.features, bare=ALL, weights=network.is_ehnn)
        self.n_features_in_ = self.features_.channels
        seed = int(self.random_state)
        train, valid = train_and_valid(self.targets_, target, judging, self.validation_fraction, seed)
        whole = np.arange(graph.num_nodes)
        ready = network.prepare(self.features_.apply(graph.replace(y=None), network.is_ehnn, whole))
        ready = ready.to(self._device())
        parts = [self.targets_.hide(target, rows).to(ready.device) for rows in (train, valid)]
        checked = [(ready, parts[1])] if bool(valid.any()) else []
        given = None if weight is None else torch.from_numpy(weight).to(ready.device)
        self.way_ = network.way(ready, ready.device)
        if self.way_ == "sampled":
            fan_out = fan_out_of(network.pairs, ready.edge_x is not None)
            task: Task = SampledRows(ready, parts[0], parts[1], self.targets_, seed, given, fan_out)
        else:
            weights = None if given is None else [given]
            judging_weights = weights if checked else None
            task = Supervised([(ready, parts[0])], checked, self.targets_, seed, weights, judging_weights)
        self._train_choices(task, bool(checked))
        return self

    def _fit_auto(
        self: Self, graph: Hypergraph, target: Tensor, weight: np.ndarray | None, judging: np.ndarray | None
    ) -> Self:
        assert isinstance(self, NodeEstimator)
        settings = self._auto_settings()
        check_features(graph, self.features)
        graph = self._read(graph)
        self.history_, self.best_epoch_ = [], 0
        self.n_features_in_ = 0 if graph.x is None else graph.x.shape[1]
        output = Output.of(self.targets_)
        self.model_ = AutoNodes.fit(graph, output, target.numpy(), weight, settings, judging)
        return self

    def _read(self, graph: Hypergraph) -> Hypergraph:
        """``graph`` without features that are not to be read."""
        return graph.replace(x=None) if self.features == "structural" else graph

    def _train_choices(self, task: Task, validated: bool) -> None:
        """Train without and with residual connections, and keep the better; of equals, the first."""
        possible = self._network().may_be_residual
        choices = [possible and self.residual is not False]
        if possible and self.residual is None and validated:
            choices = [False, True]
        best: dict[str, Any] = {}
        for number, residual in enumerate(choices, 1):
            self.residual_ = residual
            turn = f"training {number} of {len(choices)}" if len(choices) > 1 else ""
            self._train(self._make, task, validated, "residual" if residual else "", turn=turn)
            valid = self.history_[self.best_epoch_ - 1].get("valid", 0.0)  # of one choice, if there is none
            if not best or valid > best["valid"]:
                names = ("residual_", "model_", "history_", "best_epoch_")
                best = {"valid": valid} | {name: getattr(self, name) for name in names}
        del best["valid"]
        vars(self).update(best)

    def _labels(self, h: Any, y: Any) -> tuple[Hypergraph, Tensor | None, list[Any]]:
        """The hypergraph, the nodes that ``values`` are for (None: all, in order), and the values."""
        if self.hypergraph is not None:
            return self._labels_of(h, y)
        graph = _named_rows(h) if isinstance(h, Asked) else self._rows_of(h).to("cpu")
        if graph.num_members != 1:
            raise ValueError(f"one hypergraph is expected, got a batch of {graph.num_members}")
        own = y is None
        if own:
            y = h.y if isinstance(h, TableData) else graph.y
        y = self._given(y, own)
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None "
                "and the hypergraph has no labels of its own"
            )
        warn_of_row_numbers(y, graph.node_names, self._row)
        if has_names(y):
            return graph, self._rows_of_index(graph, y), as_list(y)
        if isinstance(y, Mapping):
            return graph, node_numbers(graph, y, "y:", self._row), as_list(list(y.values()))
        values = as_list(y)
        if len(values) != graph.num_nodes:
            raise ValueError(f"y must have one row per {self._row} ({graph.num_nodes}), got {len(values)}")
        if not own and not isinstance(h, (Hypergraph, TableData, Asked)):
            warn_of_order(graph.node_names, self._row)
        return graph, None, values

    def _labels_of(self, rows: Any, y: Any) -> tuple[Hypergraph, Tensor, list[Any]]:
        """`_labels` of some rows of the stored ``hypergraph``."""
        graph = self._rows_of(self.hypergraph).to("cpu")
        given = as_list(rows, f"{self._row}s")
        nodes = node_numbers(graph, given, self._row, self._row)
        values = as_list(self._given(y))
        if has_names(y) and y.index.tolist() != given and set(y.index) == set(given):
            raise ValueError(f"y has the {self._row}s in another order: give y.loc[{self._row}s]")
        if len(values) != len(nodes):
            raise ValueError(f"y must have one row per {self._row} given ({len(nodes)}), got {len(values)}")
        return graph, nodes, values

    def _names_of_labels(self, y: Any, h: Hypergraph) -> Any:
        """What has the names of labels: ``y``, or the nodes of ``h`` where there is a label for each."""
        if self.hypergraph is not None or isinstance(y, Mapping) or has_names(y):
            return y
        return dict.fromkeys(h.node_names or range(h.num_nodes))

    def _rows_of_index(self, graph: Hypergraph, y: Any) -> Tensor:
        """The nodes that the index of a Series names."""
        try:
            return node_numbers(graph, y.index.tolist(), "y:", self._row)
        except ValueError as error:
            if not looks_like_row_numbers(y, graph.num_nodes):
                raise
            hint = f"the index of y seems to hold numbers of rows: give it the names of the {self._row}s"
            raise ValueError(f"{error}; {hint}, y.set_axis(names)") from error

    def _judging(
        self, h: Hypergraph, nodes: Tensor | None, target: Tensor, validation: Any
    ) -> np.ndarray | None:
        """``[num_nodes]`` booleans from those of rows; None where ``validation`` is."""
        if validation is None:
            return None
        labelled = self.targets_.labelled(target).numpy()
        if nodes is None:
            return judging_labels(validation, labelled, self._row)
        rows = judging_labels(validation, labelled[nodes.numpy()], "row of y")
        found = np.zeros(h.num_nodes, bool)
        found[nodes.numpy()] = rows
        if (both := np.flatnonzero(found[nodes.numpy()] != rows)).size:
            v = int(nodes[both[0]])
            name = v if h.node_names is None else h.node_names[v]
            raise ValueError(f"validation says True and False of {self._row} {name!r}, which y has twice")
        return found

    def _one_per_row(self, h: Hypergraph, nodes: Tensor | None, encoded: Tensor) -> Tensor:
        """A row per node of ``h`` from rows of ``nodes``."""
        if nodes is None:
            return encoded
        missing = -1 if encoded.dtype == torch.int64 else float("nan")
        target = encoded.new_full((h.num_nodes, *encoded.shape[1:]), missing)
        target[nodes] = encoded
        same = target[nodes].eq(encoded) | (target[nodes].isnan() & encoded.isnan())
        if not bool(same.all()):
            v = int(nodes[(~same).reshape(len(nodes), -1).any(1)][0])
            name = v if h.node_names is None else h.node_names[v]
            raise ValueError(f"{self._row} {name!r} has two different labels")
        return target

    def _make(self) -> nn.Module:
        features = self.features_
        own = features.kind in ("structural", ALL) and not features.width
        network = replace(self._network(), residual=self.residual_)
        return network.nodes(features.channels, self.targets_.num_outputs, features.edge_width > 0, own)

    # ------------------------------------------------------------------ predict

    def _logits(self, h: Any) -> Tensor:
        """``[num_nodes, outputs]``, or a row for each node asked for."""
        self._check_fitted()
        asked = asked_of(self.reader_, h)
        if asked is not None:
            for part in asked.parts[-1:]:  # the last one has what is new
                self._warn_of_nothing_known(self._rows_of(part.h))
            return logits_of(asked, lambda graph: self._row_logits(self._rows_of(graph)))
        if self.hypergraph is None:
            return self._data_logits(h)
        graph = self._rows_of(self.hypergraph)
        rows = node_numbers(graph, as_list(h, f"{self._row}s"), self._row, self._row)
        return self._row_logits(graph)[rows]

    def _remember(self, graph: Hypergraph) -> None:
        """Keep what predictions need of the hypergraph of fit, beside what the model has learned."""

    def _data_logits(self, h: Any) -> Tensor:
        """``[rows, outputs]`` of a hypergraph that is given in any form."""
        graph = self._rows_of(h)
        check_weights(graph, self.model)
        self._warn_of_nothing_known(graph)
        return self._row_logits(graph)

    def _warn_of_nothing_known(self, graph: Hypergraph) -> None:
        """A warning where degrees and orders are all that the model knows of the rows of a hypergraph."""
        model, row = self.model_, self._row
        if isinstance(model, AutoNodes):
            read = self._read(graph.to("cpu"))
            if (pair := model.fit_nodes.written_otherwise(read)) is not None:
                told = f"no {row} of fit is in this hypergraph; {pair[0]!r} of fit is {pair[1]!r} here"
                warnings.warn(f"{told}: names must have one type", stacklevel=5)
                return
            warn_of_other_writing(model.fit_nodes.names, read.node_names, row)
            warn_of_other_writing(model.fit_nodes.groups, read.edge_names, self._other)
            nothing = model.knows_nothing(read)
        else:
            nothing = self.features_.knows_nothing(graph)
        if nothing:
            warnings.warn(
                f"nothing in this hypergraph was there in fit, and {row}s have no features: degrees and "
                "orders are all that is known of them; features='structural' says that they are meant",
                stacklevel=5,
            )

    def _row_logits(self, graph: Hypergraph, matched: MatchedRows | None = None) -> Tensor:
        """``[num_nodes, outputs]``; what is ``matched`` with fit is found by names where it is None."""
        if isinstance(self.model_, AutoNodes):
            return finite_outputs(self.model_.logits(self._read(graph.to("cpu")), matched))
        network, places = self._network(), None if matched is None else matched.nodes
        ready = self.features_.apply(graph, network.is_ehnn, places, separately=self._row == "hyperedge")
        return self._outputs(network.prepare(ready), network)

    def _matched_in(self, graph: Hypergraph) -> MatchedRows | None:
        """What the model knows of ``graph`` from fit; None where it knows nothing of rows."""
        if isinstance(self.model_, AutoNodes):
            return self.model_.matched(graph)
        places = self.features_.places(graph)
        return None if places is None else MatchedRows.of(places, np.full(graph.num_edges, -1))

    def _rows_of(self, h: Any) -> Hypergraph:
        """The hypergraph whose nodes are the rows."""
        return as_hypergraph(h)

    def predict(self, h: Any) -> np.ndarray:
        """``[num_nodes]`` classes or numbers; ``[num_nodes, c]`` for several labels or numbers per node."""
        logits = self._logits(h)
        return self.targets_.predict(self._decided(logits))

    def score(self, h: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy (the share of nodes with all labels right), or R² of numbers, over the labelled nodes.

        ``h`` is as in `predict`, ``y`` and ``sample_weight`` are as in `fit`.
        """
        self._check_fitted()
        table = None if isinstance(h, TableData) else asked_of(self.reader_, h)
        h = h if table is None else table
        graph, nodes, values = self._labels(h, y)
        check_columns(self.targets_, y)
        target = self.targets_.encode(values, judged=True)
        given = in_order_of(self._names_of_labels(y, graph), sample_weight)
        weight = score_weights(given, self.targets_.labelled(target), self._row)
        logits = self._decided(self._logits(h))
        asked = logits if nodes is None or self.hypergraph is not None else logits[nodes]
        return self.targets_.score(asked, target, weight)

    def explain(
        self,
        h: Any,
        rows: Any = None,
        *,
        target: Any = None,
        most: int = MOST,
        neighbourhood: int = INCIDENCES,
    ) -> Explanations:
        """What moved the predictions of ``rows``: hyperedges, co-members and features.

        The method is occlusion: one thing at a time is left out and the prediction is made again. It serves
        every model, reads no gradients of what has none (votes, trees), and says what a user can check: the
        prediction without the thing. For a linear model of two classes it is exact: coefficient times
        (value − mean). Left out are the row's membership in one hyperedge; one co-member, from all
        hyperedges shared with the row; one feature, which takes its mean; and the row's own label, where it
        is known. Things that act only together, such as two hyperedges that say the same, each show little.

        In a large hypergraph this is done on the neighbourhood of the row: its nearest hyperedges, whole, up
        to ``neighbourhood`` incidences. Spectral coordinates are those of `fit`.

        Args:
            h: as in `predict`: a hypergraph, or a table if `fit` was given one.
            rows: nodes by name, or by number where there are no names. Where ``hypergraph`` is given, these
                are the first argument.
            target: the class to explain; None: the predicted class. Of several labels or numbers, the column,
                by number or by its name in the frame ``y``; None: the likeliest label, the first number.
            most: hyperedges, co-members and features that are tried, of each at most so many: the smallest
                hyperedges, co-members with known labels and most shared hyperedges, features furthest from
                their mean in standard deviations.
            neighbourhood: incidences; see above.
        """
        self._check_fitted()
        sizes = limits(most, neighbourhood)
        if self.hypergraph is not None:
            h, rows = self.hypergraph, h if rows is None else rows
        asked = asked_of(self.reader_, h)
        if asked is not None:
            return answer(
                rows, lambda graph: NodeQuestions(self, self._rows_of(graph), *sizes), asked, None,
                lambda *_: [], target,
            )  # fmt: skip
        return answer(
            rows, lambda graph: self._questions(graph, sizes), None, self._rows_of(h),
            lambda graph, wanted: node_numbers(graph, wanted, self._row, self._row).tolist(), target,
        )  # fmt: skip

    def _questions(self, graph: Hypergraph, sizes: tuple[int, int]) -> Questions:
        """What explains rows of ``graph``; ``sizes`` as from `limits`."""
        return NodeQuestions(self, graph, *sizes)

    # ------------------------------------------------------------------ saving

    def _about(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"targets": self.targets_.about()}
        if isinstance(self.model_, nn.Module):
            kept |= {"features": self.features_.about(), "residual": self.residual_}
        stored = None if self.hypergraph is None else hypergraph_about(as_hypergraph(self.hypergraph))
        return kept | {"hypergraph": stored}

    def _tensors(self) -> dict[str, Tensor]:
        kept = self.features_.tensors() if isinstance(self.model_, nn.Module) else {}
        return kept if self.hypergraph is None else kept | hypergraph_tensors(as_hypergraph(self.hypergraph))

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.targets_ = targets_from(about["targets"])
        if "features" in about:  # a model of its own, not model="auto"
            self.residual_ = bool(about.get("residual", False))
            self.features_ = Features.restore(about["features"], tensors)
            self.n_features_in_ = self.features_.channels
        if about.get("hypergraph") is not None:  # not in older files
            self.hypergraph = hypergraph_from(about["hypergraph"], tensors)


def _named_rows(asked: Asked) -> Hypergraph:
    """The rows of a table as nodes with names, in no hyperedge."""
    return Hypergraph.from_edges([], len(asked.names), node_names=[name for (name,) in asked.names])


@dataclass(eq=False, repr=False, kw_only=True)
class NodeClassifier(Classifies, NodeEstimator):
    """Predict a class for each node: one of several classes, or several yes/no labels.

    Give `fit` a hypergraph and labels of some nodes. `predict` returns ``[num_nodes]`` classes, and
    `predict_proba` ``[num_nodes, classes]`` with its columns in the order of ``classes_``.

    ``y`` of `fit` holds classes (text or integers; None or NaN: no label), or is a matrix of 0 and 1 (NaN or
    -1: missing). A class of -1 means no label, with a warning. It is a class if None or NaN mark missing
    labels, or if another label is negative. Labels of -1, 0 and 1 alone are an error. A tensor of integers
    has no NaN: there, -1 always means no label, with a warning where it may be a class.

    >>> edges = [["ann", "bob", "cy"], ["cy", "dan"], ["eve", "flo", "gus"], ["gus", "hal"]] * 2
    >>> model = NodeClassifier(model="ehnn-mlp", width=16, epochs=30, validation_fraction=0)
    >>> model = model.fit(edges, {"ann": "left", "dan": "left", "eve": "right", "hal": "right"})
    >>> model.classes_.tolist(), model.predict(edges).shape
    (['left', 'right'], (8,))

    See `Estimator` and `NodeEstimator` for the parameters.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class NodeRegressor(Regresses, NodeEstimator):
    """Predict a number for each node, or several numbers.

    ``y`` of `fit` has None or NaN where the number is not known. `predict` returns ``[num_nodes]`` numbers,
    or ``[num_nodes, c]``. They are standardised for training and given back on their own scale. ``score`` is
    R². See `Estimator` and `NodeEstimator` for the parameters.

    >>> edges = [[0, 1, 2], [0, 2], [1, 2], [3, 4, 5], [3, 5], [4, 5]]
    >>> model = NodeRegressor(budget="fast").fit(edges, [1.0, 1.0, None, 9.0, 9.0, None])
    >>> model.predict(edges).shape  # a number for each node
    (6,)
    """
