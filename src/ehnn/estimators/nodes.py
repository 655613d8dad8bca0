"""Labels and numbers of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph

from .base import Estimator, Self
from .features import Features
from .inputs import as_hypergraph, node_numbers
from .kinds import Classifies, Regresses
from .labels import as_list, has_names
from .storage import hypergraph_about, hypergraph_from, hypergraph_tensors
from .supervised import Supervised, hold_out
from .targets import Targets, targets_from


@dataclass(eq=False, repr=False, kw_only=True)
class NodeEstimator(Estimator):
    """What `NodeClassifier` and `NodeRegressor` share.

    Args:
        residual: of EHNN models: whether nodes keep, from layer to layer, what they were; see `Plan`. None:
            both are trained, in twice the time, and the validation labels choose (``residual_``); where
            there are none, nodes keep what they were.
        hypergraph: where it is given, ``fit``, ``predict`` and ``score`` take *nodes* (numbers or names) in
            place of a hypergraph, one row each. So scikit-learn's helpers can split the nodes:
            ``cross_val_score(NodeClassifier(hypergraph=h), np.arange(h.num_nodes), y)``. `save` keeps it,
            without its labels and the names of its hyperedges.
    """

    # Chosen on validation nodes: experiments/defaults.py --choose
    dropout: float = 0.2
    lr: float = 3e-3
    epochs: int = 300
    patience: int | None = 60
    residual: bool | None = None
    hypergraph: Any = None

    def _learn(self, values: list[Any]) -> Targets:
        raise NotImplementedError

    # ------------------------------------------------------------------ fit

    def fit(self: Self, h: Any, y: Any = None) -> Self:
        """Train on the labelled nodes.

        Args:
            h: a hypergraph, in any form that `as_hypergraph` takes.
            y: a label per node, missing where unknown; or a mapping (or a pandas Series with an index of
                its own, that is, any but the default 0 … n−1) from some nodes to their labels. None: the
                labels of ``h``. A label per node is in the order of the nodes: by number where they are
                numbers from 0, else as in ``as_hypergraph(h).node_names``, where nodes of lists, mappings
                and frames stand in the order in which they first appear. `predict` keeps the same order.
        """
        assert isinstance(self, NodeEstimator)
        plan = self._plan()
        graph, nodes, values = self._labels(h, y)
        self.targets_ = self._learn(values)
        target = self._spread(graph, nodes, self.targets_.encode(values))
        self.features_ = Features.learn(graph, self.features)
        self.n_features_in_ = self.features_.channels
        train, valid = hold_out(self.targets_, target, self.validation_fraction, int(self.random_state))
        ready = plan.prepare(self.features_.apply(graph.replace(y=None))).to(self._device())
        parts = [self.targets_.hide(target, rows).to(ready.device) for rows in (train, valid)]
        checked = [(ready, parts[1])] if bool(valid.any()) else []
        task = Supervised([(ready, parts[0])], checked, self.targets_, int(self.random_state))
        self._train_choices(task, bool(checked))
        return self

    def _train_choices(self, task: Supervised, validated: bool) -> None:
        """Train without and with residual connections, and keep the better; of equals, the first."""
        possible = self._plan().can_be_residual
        choices = [possible and self.residual is not False]
        if possible and self.residual is None and validated:
            choices = [False, True]
        best: dict[str, Any] = {}
        for residual in choices:
            self.residual_ = residual
            self._train(self._make, task, validated, "residual" if residual else "")
            valid = self.history_[self.best_epoch_ - 1].get("valid", 0.0)  # of one choice, if there is none
            if not best or valid > best["valid"]:
                names = ("residual_", "model_", "history_", "best_epoch_")
                best = {"valid": valid} | {name: getattr(self, name) for name in names}
        del best["valid"]
        vars(self).update(best)

    def _labels(self, h: Any, y: Any) -> tuple[Hypergraph, Tensor | None, list[Any]]:
        """The hypergraph, the nodes that ``values`` are for (None: all, in order), and the values."""
        if self.hypergraph is not None:
            graph = as_hypergraph(self.hypergraph).to("cpu")
            nodes = node_numbers(graph, as_list(h, "nodes"))
            values = as_list(y)
            if len(values) != len(nodes):
                raise ValueError(f"y must have one row per node given ({len(nodes)}), got {len(values)}")
            return graph, nodes, values
        graph = as_hypergraph(h).to("cpu")
        if graph.num_members != 1:
            raise ValueError(f"one hypergraph is expected, got a batch of {graph.num_members}")
        y = graph.y if y is None else y
        if y is None:
            raise ValueError("y is None and the hypergraph has no labels of its own")
        if has_names(y):
            return graph, node_numbers(graph, y.index.tolist(), "y:"), as_list(y)
        if isinstance(y, Mapping):
            return graph, node_numbers(graph, y, "y:"), as_list(list(y.values()))
        values = as_list(y)
        if len(values) != graph.num_nodes:
            raise ValueError(f"y must have one row per node ({graph.num_nodes}), got {len(values)}")
        return graph, None, values

    @staticmethod
    def _spread(h: Hypergraph, nodes: Tensor | None, encoded: Tensor) -> Tensor:
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
            raise ValueError(f"node {name!r} has two different labels")
        return target

    def _make(self) -> nn.Module:
        features = self.features_
        own = features.kind == "structural"
        plan = replace(self._plan(), residual=self.residual_)
        return plan.nodes(features.channels, self.targets_.num_outputs, features.edge_width > 0, own)

    # ------------------------------------------------------------------ predict

    def _logits(self, h: Any) -> Tensor:
        """``[num_nodes, outputs]``, or a row for each node asked for."""
        self._check_fitted()
        if self.hypergraph is None:
            return self._outputs(self._plan().prepare(self.features_.apply(as_hypergraph(h))))
        graph = as_hypergraph(self.hypergraph)
        rows = node_numbers(graph, as_list(h, "nodes"))
        return self._outputs(self._plan().prepare(self.features_.apply(graph)))[rows]

    def predict(self, h: Any) -> np.ndarray:
        """``[num_nodes]`` classes or numbers; ``[num_nodes, c]`` for several labels or numbers per node."""
        logits = self._logits(h)
        return self.targets_.predict(logits)

    def score(self, h: Any, y: Any = None) -> float:
        """Accuracy (the share of nodes with all labels right), or R² of numbers, over the labelled nodes."""
        self._check_fitted()
        _, nodes, values = self._labels(h, y)
        target = self.targets_.encode(values)
        if not bool(self.targets_.labelled(target).any()):
            raise ValueError("there is nothing to score: not one node has a label")
        logits = self._logits(h)
        return self.targets_.score(
            logits if nodes is None or self.hypergraph is not None else logits[nodes], target
        )

    # ------------------------------------------------------------------ saving

    def _about(self) -> dict[str, Any]:
        kept = {"targets": self.targets_.about(), "features": self.features_.about()}
        stored = None if self.hypergraph is None else hypergraph_about(as_hypergraph(self.hypergraph))
        return kept | {"residual": self.residual_, "hypergraph": stored}

    def _tensors(self) -> dict[str, Tensor]:
        if self.hypergraph is None:
            return self.features_.tensors()
        return self.features_.tensors() | hypergraph_tensors(as_hypergraph(self.hypergraph))

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.residual_ = bool(about.get("residual", False))  # not in older files
        self.targets_ = targets_from(about["targets"])
        self.features_ = Features.restore(about["features"], tensors)
        self.n_features_in_ = self.features_.channels
        if about.get("hypergraph") is not None:  # not in older files
            self.hypergraph = hypergraph_from(about["hypergraph"], tensors)


@dataclass(eq=False, repr=False, kw_only=True)
class NodeClassifier(Classifies, NodeEstimator):
    """Which class is a node of? One of several classes, or several yes/no labels.

    ``y`` of `fit`: classes (text or integers; None, NaN or -1: no label), or a matrix of 0 and 1 (-1, NaN:
    missing). ``classes_`` has the classes in order, and the columns of ``predict_proba`` are theirs.

    >>> edges = [["ann", "bob", "cy"], ["cy", "dan"], ["eve", "flo", "gus"], ["gus", "hal"]] * 2
    >>> model = NodeClassifier(model="ehnn-mlp", width=16, epochs=30, validation_fraction=0)
    >>> model = model.fit(edges, {"ann": "left", "dan": "left", "eve": "right", "hal": "right"})
    >>> model.classes_.tolist(), model.predict(edges).shape
    (['left', 'right'], (8,))

    See `Estimator` and `NodeEstimator` for the parameters.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class NodeRegressor(Regresses, NodeEstimator):
    """What number goes with a node? One or several; None or NaN where it is not known.

    Numbers are standardised for training and given back on their own scale. ``score`` is R².
    See `Estimator` and `NodeEstimator` for the parameters.
    """
