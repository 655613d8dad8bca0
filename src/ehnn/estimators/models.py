"""Models by name, for each kind of output: rows for nodes, hypergraphs or candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.optional import suggest
from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, Block, EHNNTransformer, Layer, Readout, Stack, pairs_path
from ehnn.nn.dropout import Dropout
from ehnn.nn.named import NAMED, Named

from .room import WAYS, way_of

Factory = Callable[[int, int], nn.Module]
"""``factory(d_in, d_out)`` gives a module with ``module(h) -> [rows, d_out]``."""


OPTIONS: dict[str, dict[str, Any]] = {
    "ehnn-transformer": {"heads": 4, "dropout": 0.2},
    "ehnn-mlp": {"dropout": 0.2},
    "ehnn-transformer+": {"heads": 4, "dropout": 0.2},
    "ehnn-mlp+": {"dropout": 0.2},
    "all-deep-sets": {"aggregation": "sum"},
    "cegat": {"heads": 4},
    "han": {"heads": 4},
}
"""Defaults of further arguments of models by name; none for the others."""


def find(name: Any) -> Named:
    """The model called ``name``; a ValueError with the known names otherwise."""
    if isinstance(name, str) and name in NAMED:
        return NAMED[name]
    raise ValueError(
        f"model must be one of auto, {', '.join(NAMED)}, or a factory (d_in, d_out) -> nn.Module, "
        f"got {name!r}{suggest(name, ('auto', *NAMED))}"
    )


@dataclass(frozen=True)
class NetworkSpec:
    """What an estimator's network is made from: the name or factory, sizes, and residual connections.

    Residual connections (``residual``) keep a node's own features. They help if these are informative. If the
    hyperedges are more informative, the model overfits.
    """

    model: str | Factory
    width: int = 64
    dropout: float = 0.5
    options: Mapping[str, Any] | None = None
    residual: bool = False

    @property
    def is_ehnn(self) -> bool:
        """Whether it is one of our networks, which can be residual and see roles and weights."""
        return isinstance(self.model, str) and find(self.model).kind in (EHNNMLP, EHNNTransformer)

    @property
    def may_be_residual(self) -> bool:
        """Whether ``residual`` changes it: it is one of our networks, and its name does not say so."""
        return self.is_ehnn and not find(self.model).block.get("residual", False)

    def residual_is_read(self, given: bool | None) -> bool:
        """Whether the network is as ``given`` says, because it can be both or is so anyway."""
        if not isinstance(self.model, str):
            return False
        return self.may_be_residual or bool(given) == find(self.model).block.get("residual", False)

    @property
    def pairs(self) -> int:
        """Pairs of layers nodes → all → nodes, of one of our networks."""
        return find(self.model).pairs

    def way(self, h: Hypergraph, device: torch.device) -> str:
        """How it is trained on ``h``, from the memory that is free on ``device``: one of `room.WAYS`."""
        if not self.is_ehnn:
            return WAYS[0]
        kind = "ehnn-mlp" if find(self.model).kind is EHNNMLP else "ehnn-transformer"
        return way_of(h, kind, self.width, self.pairs, device)

    def all_options(self) -> dict[str, Any]:
        """The model's own arguments: its defaults, then those given."""
        find(self.model)
        return {**OPTIONS.get(str(self.model), {}), **(self.options or {})}

    def layer(self) -> Callable[[int, int], Layer]:
        """Makes a layer of a stacked model."""
        return find(self.model).layer(**self.all_options())

    def prepare(self, h: Hypergraph) -> Hypergraph:
        """``h`` as the model wants it."""
        if not isinstance(self.model, str):
            return h
        known = find(self.model)
        if h.edge_x is not None and not known.stacked:
            raise ValueError(
                f"model {self.model!r} does not read hyperedge features; drop them: h.replace(edge_x=None)"
            )
        return known.prepare(h)

    def nodes(self, d_in: int, d_out: int, edge_features: bool = False, skip: bool = False) -> nn.Module:
        """``model(h) -> [num_nodes, d_out]``; ``skip`` as in `WithSkip`, for layers."""
        if not isinstance(self.model, str):
            return Given(self.model, d_in, d_out)
        known = find(self.model)
        try:
            if not known.stacked:
                options = self.all_options()
                return known.make(d_in, d_out, width=self.width, dropout=self.dropout, options=options)
            path = pairs_path(known.pairs)
            stack = self.stack(d_in, d_out, ("all", "nodes", *path[1:]) if edge_features else path)
            return WithSkip(stack, d_in, d_out, self.width, self.dropout) if skip else stack
        except TypeError as error:
            raise ValueError(f"options of model {self.model!r}: {error}") from error

    def stack(self, d_in: int, d_out: int, path: Sequence[str]) -> Stack:
        """Layers along ``path``."""
        known = find(self.model)
        try:
            block = Block(self.layer(), **{"dropout": self.dropout} | dict(known.block))
            block = replace(block, residual=True) if self.residual else block
            return Stack(d_in, d_out, block, width=self.width, path=path)
        except TypeError as error:
            raise ValueError(f"options of model {self.model!r}: {error}") from error

    @property
    def has_path(self) -> bool:
        """Whether it is a stack of layers, which can go along other families."""
        return isinstance(self.model, str) and find(self.model).stacked

    def hypergraphs(
        self, d_in: int, d_out: int, edge_features: bool, path: Sequence[str] | None
    ) -> nn.Module:
        """``model(h) -> [num_members, d_out]``."""
        if not isinstance(self.model, str):
            return Given(self.model, d_in, d_out)
        start = "all" if edge_features else "nodes"
        if path is not None:
            return self.stack(d_in, d_out, path)
        if self.model.startswith("ehnn-"):
            return self.stack(d_in, d_out, (start, "all", "all", "graph"))
        return Pooled(self.nodes(d_in, self.width, edge_features), self.width, d_out)


class Given(nn.Module):
    """A module from a user's factory, in the form ``model(h, x)``."""

    def __init__(self, factory: Factory, d_in: int, d_out: int) -> None:
        super().__init__()
        if not callable(factory):
            find(factory)
        self.module = factory(d_in, d_out)
        if not isinstance(self.module, nn.Module):
            raise ValueError(f"the model factory must return an nn.Module, got {type(self.module).__name__}")

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        return self.module(h)


class WithSkip(nn.Module):
    """A stack from nodes to nodes, plus a small MLP on the features of each node itself.

    Means over hyperedges weaken a node's own features; the second path keeps them. Use it for few, reliable
    features, such as structural ones; with many noisy features it overfits.
    """

    def __init__(self, stack: Stack, d_in: int, d_out: int, width: int, dropout: float) -> None:
        super().__init__()
        self.stack = stack
        self.own = nn.Sequential(nn.Linear(d_in, width), nn.ReLU(), Dropout(dropout), nn.Linear(width, d_out))

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        x = h.features(self.stack.path[0]) if x is None else x
        return self.stack(h, x) + self.own(x[: h.num_nodes])


class Pooled(nn.Module):
    """Rows of nodes, pooled to a row per hypergraph: mean and (scaled) sum, then a linear map."""

    def __init__(self, encoder: nn.Module, width: int, d_out: int) -> None:
        super().__init__()
        self.encoder, self.mean, self.sum = encoder, Readout(width, d_out, kind="mean"), Readout(width, d_out)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        rows, overlap = self.encoder(h, x).relu(), h.overlap("nodes", "graph")
        return self.mean(rows, overlap) + self.sum(rows / 32, overlap)
