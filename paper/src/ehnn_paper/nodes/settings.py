"""What a row of the node classification table is made of, and the hyperparameters of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from ehnn._utils.optional import suggest
from ehnn.hypergraph import Hypergraph
from ehnn.nn import baselines
from ehnn.nn.named import NAMED, Named
from ehnn.training import TrainConfig


class SampledHAN(baselines.HAN):
    """HAN that reads the minibatch of a `SampledHypergraph`."""

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:  # type: ignore[override]
        return super().forward(h, x, sample=getattr(h, "sample", None))


@dataclass(frozen=True)
class Model(Named):
    """What a row of the table is made of.

    Attributes:
        sampled: trained by minibatches of sampled neighbours.
    """

    sampled: bool = False


def _row(name: str, **more: Any) -> Model:
    return Model(**vars(NAMED[name]) | more)


MODELS = {
    **{name: _row(name) for name in ("mlp", "cegcn", "cegat", "hnhn", "hgnn", "hcha")},
    **{name: _row(name) for name in ("hyper-gcn", "uni-gcn-ii", "han")},
    "han-minibatch": Model(SampledHAN, sampled=True),
    **{name: _row(name) for name in ("all-deep-sets", "all-set-transformer", "ehnn-mlp")},
    "ehnn-transformer": _row("ehnn-transformer", block={"residual": True}),
    **{f"{name}+": _row(name) for name in ("mlp", "hgnn")},
    "all-set-transformer+": _row("all-set-transformer", block={"activation": True, "residual": True}),
    **{name: _row(name) for name in ("ehnn-mlp+", "ehnn-transformer+")},
}
"""Rows of Table 2, and after them those of the recipes beyond the paper (``+``), ours and baselines.

The Transformer is residual, as in the release: ``x + Attn(LayerNorm(x))``. Two pairs of attention layers
without it average a node's own features away: on House the loss then stays at that of a coin for 100 epochs
and more.
"""


def find_model(name: str) -> Model:
    """The model called ``name``; a ValueError with the known names otherwise."""
    if name in MODELS:
        return MODELS[name]
    raise ValueError(f"unknown model {name!r}{suggest(name, MODELS)}. Known: {', '.join(MODELS)}")


@dataclass(frozen=True)
class Settings:
    """Hyperparameters of one model on one dataset.

    Attributes:
        width: hidden channels d.
        weight_decay, lr: of Adam; the decay is added to the gradient.
        options: further arguments of the layer (or of the whole model).
        dropout: between layers.
        input_dropout: of the features, for a layer in a stack.
        classifier_hidden: d_c.
        classifier_layers: 1 ignores d_c.
        stack: further arguments of the `Stack` of a layer.

    What the recipes beyond the paper add, nothing by default:

    Attributes:
        path: families that a stack runs through, in place of the pairs of the model.
        inputs: arguments of `PreparedNodes`, the task whose runs have their own features.
        train: further arguments of `TrainConfig`.
    """

    width: int = 256
    weight_decay: float = 0.0
    lr: float = 1e-3
    options: Mapping[str, Any] = field(default_factory=dict)
    dropout: float = 0.5
    input_dropout: float = 0.0
    classifier_hidden: int = 64
    classifier_layers: int = 1
    stack: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)

    def train_config(self, epochs: int, model: str = "ehnn-mlp") -> TrainConfig:
        """The paper's protocol with this learning rate and weight decay, and whatever ``train`` changes."""
        protocol: dict[str, Any] = {
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "clip_norm": 5.0,
            "optimizer": "adam",
            "checkpoint_every": 100,
            "cuda_graph": not find_model(model).sampled,
        }
        return TrainConfig(epochs=epochs, **(protocol | dict(self.train)))

    def to_dict(self) -> dict[str, Any]:
        """As JSON; what has its default beyond the paper's table is left out."""
        given = asdict(self) | {"options": dict(self.options)}
        beyond = ("path", "inputs", "train", "input_dropout", "stack")
        return {k: v for k, v in given.items() if k not in beyond or v not in (None, {}, 0.0)}
