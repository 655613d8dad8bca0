"""Labels and numbers of whole hypergraphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from ehnn._utils.moved import renamed_argument
from ehnn._utils.validation import as_count, as_index
from ehnn.hypergraph import Hypergraph, batch
from ehnn.hypergraph.roles import refuse_roles
from ehnn.tables.frames import is_frame

from .auto import AutoGraphs, widths_of
from .base import Estimator, Self, all_or_nothing
from .explain.asking import MOST, limits
from .explain.candidates import Columns
from .explain.explanation import Explanations
from .explain.hypergraphs import GraphQuestions
from .features import Features, check_features
from .finite import finite_outputs
from .inputs import as_hypergraph
from .judging import judging_labels
from .kinds import Classifies, Regresses
from .labels import as_list
from .models import NetworkSpec
from .portfolio.outputs import Output
from .supervised import Supervised, train_and_valid
from .targets import Targets, check_columns, targets_from, with_columns
from .weights import counted, in_order_of, row_weights, score_weights, warn_unread


@dataclass(eq=False, repr=False, kw_only=True)
class HypergraphEstimator(Estimator):
    """What `HypergraphClassifier` and `HypergraphRegressor` share.

    Args:
        batch_size: hypergraphs per training step.
        path: the families along which the layers go; the last must be ``"graph"``. None: for EHNN
            ``("nodes", "all", "all", "graph")``, where the second layer sees the sizes of overlaps between
            hyperedges; for others the model's own way, nodes to nodes, and a pooled readout. It is of models
            made of layers (EHNN and AllSet), and refused with others.
    """

    dropout: float = 0.0
    epochs: int = 200
    patience: int | None = 50
    batch_size: int = 32
    path: Sequence[str] | None = None
    _auto: ClassVar[Any] = AutoGraphs
    columns_ = cast(Any, None)  # set by fit: `Columns` of its features, for explanations

    def _learn(self, values: list[Any], rows: np.ndarray | None = None) -> Targets:
        raise NotImplementedError

    def _given(self, y: Any, own: bool = False) -> Any:
        raise NotImplementedError

    def _unread(self) -> dict[str, str]:
        stacked = self.model != "auto" and self._network().has_path
        return super()._unread() | ({} if stacked else {"path": "one of layers, such as 'ehnn-mlp',"})

    @renamed_argument("hypergraphs", "h")
    @all_or_nothing
    def fit(self: Self, h: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Self:
        """Train on hypergraphs with a label each.

        Args:
            h: a list of hypergraphs, each in any form that `as_hypergraph` takes, or a batch.
            y: a label per hypergraph, missing where unknown.
            sample_weight: a weight for each hypergraph; by name where it and ``y`` have names.
            validation: a boolean for each hypergraph, by name where it and ``y`` have names: its label
                compares members and chooses the epoch, and is not trained on. By default some are drawn.
        """
        assert isinstance(self, HypergraphEstimator)
        network = self._network_to_fit()
        as_count(self.batch_size, "batch_size", 1)
        if self.path is not None and (not self.path or self.path[-1] != "graph"):
            raise ValueError(f"path must end in 'graph', got {self.path!r}")
        given = [h] if isinstance(h, Hypergraph) else h
        for one in given if isinstance(given, list) else ():
            if isinstance(one, Hypergraph) and (
                one.edge_weight is not None or one.incidence_weight is not None
            ):
                warn_unread(one, type(self).__name__)
                break
        members, values = as_members(h), as_list(self._given(y), "labels of hypergraphs")
        if len(values) != len(members):
            raise ValueError(f"y must have one row per hypergraph ({len(members)}), got {len(values)}")
        given_weight = row_weights(in_order_of(y, sample_weight), len(values))
        self.targets_ = with_columns(self._learn(values, given_weight), y)
        by_class = getattr(self, "class_weight", None)
        target, weight = counted(self.targets_, self.targets_.encode(values), given_weight, by_class)
        judging = None
        if validation is not None:
            chosen = in_order_of(y, validation, "validation")
            judging = judging_labels(chosen, self.targets_.labelled(target).numpy(), "hypergraph")
        if self.model == "auto":
            return self._fit_auto(members, target, weight, judging)
        return self._fit_network(network, members, target, weight, judging)

    def _fit_network(
        self: Self, network: NetworkSpec, members: list[Hypergraph], target: Tensor,
        weight: np.ndarray | None, judging: np.ndarray | None,
    ) -> Self:  # fmt: skip
        assert isinstance(self, HypergraphEstimator)
        whole = batch(members)
        self.features_, self.columns_ = Features.learn(whole, self.features), Columns.of(whole)
        self.n_features_in_ = self.features_.channels
        seed, device = int(self.random_state), self._device()
        parts = train_and_valid(self.targets_, target, judging, self.validation_fraction, seed)
        generator = torch.Generator().manual_seed(seed % 2**63)
        batches: list[list[tuple[Hypergraph, Tensor]]] = []
        weights: list[list[Tensor]] = []
        for rows in parts:
            chosen = rows.nonzero().squeeze(1)
            chosen = chosen[torch.randperm(chosen.shape[0], generator=generator)]
            chunks = [c for c in chosen.split(int(self.batch_size)) if len(c)]
            ready = [
                network.prepare(self.features_.apply(batch(members[i] for i in c.tolist()))) for c in chunks
            ]
            weights.append([] if weight is None else [torch.from_numpy(weight)[c].to(device) for c in chunks])
            batches.append([(b.to(device), target[c].to(device)) for b, c in zip(ready, chunks, strict=True)])
        of_train, of_valid = weights
        task = Supervised(batches[0], batches[1], self.targets_, seed, of_train or None, of_valid or None)
        self._train(self._make, task, bool(batches[1]))
        return self

    def _fit_auto(
        self: Self, members: list[Hypergraph], target: Tensor, weight: np.ndarray | None,
        judging: np.ndarray | None,
    ) -> Self:  # fmt: skip
        assert isinstance(self, HypergraphEstimator)
        settings = self._auto_settings()
        settings["network"]["batch_size"] = self.batch_size
        check_features(members[0], self.features, spectral=False)
        self.history_, self.best_epoch_ = [], 0
        read = self._read(members)
        self.n_features_in_ = widths_of(read[0])[0]
        _check_alike(read)
        self.columns_ = Columns.of(batch(h.replace(incidence_x=None) for h in read))
        output = Output.of(self.targets_)
        self.model_ = AutoGraphs.fit(read, output, target.numpy(), weight, settings, judging)
        return self

    def _read(self, members: list[Hypergraph]) -> list[Hypergraph]:
        """The hypergraphs without features that are not to be read."""
        return [h.replace(x=None) for h in members] if self.features == "structural" else members

    def _make(self) -> nn.Module:
        features = self.features_
        return self._network().hypergraphs(
            features.channels, self.targets_.num_outputs, features.edge_width > 0, self.path
        )

    def _logits(self, h: Any) -> Tensor:
        """``[hypergraphs, outputs]``."""
        self._check_fitted()
        members, network = as_members(h), self._network()
        if isinstance(self.model_, AutoGraphs):
            return finite_outputs(self.model_.logits(self._read(members)))
        chunks = [members[i : i + self.batch_size] for i in range(0, len(members), self.batch_size)]
        found = [self._outputs(network.prepare(self.features_.apply(batch(c))), network) for c in chunks]
        return torch.cat(found) if found else torch.zeros(0, self.targets_.num_outputs)

    @renamed_argument("hypergraphs", "h")
    def predict(self, h: Any) -> np.ndarray:
        """``[hypergraphs]`` classes or numbers; ``[hypergraphs, c]`` where there are several for each."""
        logits = self._logits(h)
        return self.targets_.predict(self._decided(logits))

    @renamed_argument("hypergraphs", "h")
    def score(self, h: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy (the share with all labels right), or R² of numbers, over the labelled hypergraphs.

        ``y`` and ``sample_weight`` are as in `fit`.
        """
        logits = self._logits(h)
        values = as_list(self._given(y), "labels of hypergraphs")
        if len(values) != logits.shape[0]:
            raise ValueError(f"y must have one row per hypergraph ({logits.shape[0]}), got {len(values)}")
        check_columns(self.targets_, y)
        target = self.targets_.encode(values, judged=True)
        weight = score_weights(in_order_of(y, sample_weight), self.targets_.labelled(target), "hypergraph")
        return self.targets_.score(self._decided(logits), target, weight)

    @renamed_argument("hypergraphs", "h")
    def explain(self, h: Any, rows: Any = None, *, target: Any = None, most: int = MOST) -> Explanations:
        """What moved the predictions of hypergraphs with the numbers ``rows``: one or several; None: all.

        Occlusion, as in `NodeEstimator.explain`, of the ``most`` largest hyperedges, of nodes with the most
        hyperedges, and of features of nodes that are furthest from their mean in `fit`, which a feature then
        takes in all nodes.
        """
        self._check_fitted()
        members = self._read(as_members(h))
        columns = self.columns_ if self.columns_ is not None else Columns.of(batch(members))
        questions = GraphQuestions(self, members, columns, limits(most, 1)[0])
        asked = [rows] if isinstance(rows, (int, np.integer)) else rows
        wanted = range(len(members)) if asked is None else as_index(asked, "rows", len(members)).tolist()
        return Explanations([questions.explain(row, target) for row in wanted])

    def _about(self) -> dict[str, Any]:
        kept = {"targets": self.targets_.about()}
        return kept | {"features": self.features_.about()} if isinstance(self.model_, nn.Module) else kept

    def _tensors(self) -> dict[str, Tensor]:
        kept = self.features_.tensors() if isinstance(self.model_, nn.Module) else {}
        if self.columns_ is not None:
            kept |= {
                f"columns.{k}": torch.from_numpy(getattr(self.columns_, k)) for k in ("mean", "deviation")
            }
        return kept

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.targets_ = targets_from(about["targets"])
        if "features" in about:  # a model of its own, not model="auto"
            self.features_ = Features.restore(about["features"], tensors)
            self.n_features_in_ = self.features_.channels
        if "columns.mean" in tensors:  # not in older files
            mean, deviation = (tensors[f"columns.{k}"].numpy() for k in ("mean", "deviation"))
            self.columns_ = Columns(mean, deviation)


@dataclass(eq=False, repr=False, kw_only=True)
class HypergraphClassifier(Classifies, HypergraphEstimator):
    """Predict a class for each whole hypergraph: one of several classes, or several yes/no labels.

    Give `fit` a list of hypergraphs and a label for each. `predict` returns ``[num_hypergraphs]`` classes,
    and `predict_proba` ``[num_hypergraphs, classes]`` with its columns in the order of ``classes_``.

    >>> pairs, triples = [[[0, 1], [1, 2]]] * 6, [[[0, 1, 2], [1, 2, 3]]] * 6
    >>> model = HypergraphClassifier(budget="fast").fit([*pairs, *triples], ["pairs"] * 6 + ["triples"] * 6)
    >>> model.predict([[[0, 1, 2], [0, 2, 3]]]).tolist()
    ['triples']

    See `Estimator` and `HypergraphEstimator` for the parameters.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class HypergraphRegressor(Regresses, HypergraphEstimator):
    """Predict a number for each whole hypergraph, or several numbers.

    Give `fit` a list of hypergraphs and a number for each. `predict` returns ``[num_hypergraphs]`` numbers,
    or ``[num_hypergraphs, c]``. ``score`` is R².

    >>> pairs, triples = [[[0, 1], [1, 2]]] * 6, [[[0, 1, 2], [1, 2, 3]]] * 6
    >>> model = HypergraphRegressor(budget="fast").fit([*pairs, *triples], [2.0] * 6 + [3.0] * 6)
    >>> model.predict([[[0, 1, 2], [0, 2, 3]]]).shape  # a number for each hypergraph
    (1,)

    See `Estimator` and `HypergraphEstimator` for the parameters.
    """


def _check_alike(members: list[Hypergraph]) -> None:
    """A ValueError where hypergraphs have different channels of features."""
    widths = [widths_of(h) for h in members]
    other = next((i for i, found in enumerate(widths) if found != widths[0]), None)
    if other is not None:
        raise ValueError(
            f"all hypergraphs must have the same channels of (x, edge_x), got {widths[0]} in the first and "
            f"{widths[other]} in hypergraph {other} (from 0)"
        )


def as_members(hypergraphs: Any) -> list[Hypergraph]:
    """A list of hypergraphs, or a batch, as Hypergraphs with features alone."""
    if isinstance(hypergraphs, Hypergraph):
        hypergraphs = hypergraphs.unbatch()
    if is_frame(hypergraphs):
        raise ValueError(
            "a list of hypergraphs is expected, got a DataFrame; of one with a column that says which "
            "hypergraph: [part for _, part in frame.groupby('graph')]"
        )
    if isinstance(hypergraphs, Mapping):
        raise ValueError("a list of hypergraphs is expected, got a mapping: give list(hypergraphs.values())")
    if isinstance(hypergraphs, (str, bytes)) or not isinstance(hypergraphs, Iterable):
        raise ValueError(f"a list of hypergraphs or a batch is expected, got {type(hypergraphs).__name__}")
    nothing = dict.fromkeys(("y", "edge_weight", "incidence_weight", "node_names", "edge_names"))
    members = [as_hypergraph(h).to("cpu").replace(**nothing) for h in hypergraphs]
    for h in members:
        refuse_roles(h.roles, "an estimator of hypergraphs")
    return members
