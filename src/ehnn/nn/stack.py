"""Models that stack layers along a path of families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor, nn

from ehnn.hypergraph import FAMILIES, Hypergraph

from .dropout import Dropout
from .layer import Layer
from .norm import LayerNorm
from .products import Linear, check_dtype


class Stack(nn.Module):
    """Layers along a path of families, between an input map and a classifier.

    The path is data: ``("nodes", "all", "nodes")`` is the paper's V → V∪E → V pair and repeating it
    makes more pairs; ``("edges",) * 9`` is a stack of eight hyperedge-to-hyperedge layers; a path that
    ends in ``"graph"`` gives one row per hypergraph.

    Args:
        d_in, d_out: channels of the input features and of the output.
        layer: makes a layer from (d_in, d_out), for example ``EHNNMLP`` or
            ``partial(EHNNTransformer, heads=8)``.
        width: channels between the layers.
        path: the families, one more than there are layers.
        dropout: on the output of each layer.
        input_dropout: on the input features.
        residual: add to the output of a layer its input on the rows that both ends share: all of them for
            the same family, the nodes between ``"nodes"`` and ``"all"``. Dropout is on what the layer adds
            and not on what is kept: 0.5 on both would leave 1/16 of a node's own channels after four layers.
            Each layer then reads LayerNorm(x), as in x + Attn(LayerNorm(x)): a layer's output has the size of
            its input, so a sum that is handed on as it is grows, and some runs never leave the loss of a
            constant prediction.
        classifier: hidden widths of the classifier.
        norm: LayerNorm before the classifier, and before each layer of a residual stack.
        activation: ReLU after each layer, for layers that are linear.

    Shapes: a Hypergraph with features of the first family → ``[rows of the last family, d_out]``.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        layer: Callable[[int, int], Layer],
        *,
        width: int = 64,
        path: Sequence[str] = ("nodes", "all", "nodes"),
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        residual: bool = False,
        classifier: Sequence[int] = (),
        norm: bool = True,
        activation: bool = False,
    ) -> None:
        super().__init__()
        self.path, self.residual = tuple(path), residual
        self.activation = nn.ReLU() if activation else nn.Identity()
        if isinstance(path, str) or len(self.path) < 2:
            raise ValueError(f"path must name at least two families, got {path!r}")
        families = (*FAMILIES, "graph")
        unknown = [name for name in self.path if name not in families]
        if unknown:
            raise ValueError(f"path must be of the families {families}, got {unknown[0]!r}")
        if isinstance(layer, nn.Module):
            raise ValueError(f"layer must make layers, such as {type(layer).__name__}, got one that is made")
        self.input_dropout = Dropout(input_dropout)
        self.embed = Linear(d_in, width)
        self.layers = nn.ModuleList([layer(width, width) for _ in self.path[1:]])
        self.norms = nn.ModuleList(
            [LayerNorm(width) if norm and residual else nn.Identity() for _ in self.layers]
        )
        self.dropouts = nn.ModuleList([Dropout(dropout) for _ in self.layers])
        self.norm = LayerNorm(width) if norm else nn.Identity()
        self.classifier = _mlp([width, *classifier, d_out], dropout)

    def extra_repr(self) -> str:
        return f"path={self.path}, residual={self.residual}"

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """Logits; ``x`` stands in for the features of the first family of the path."""
        x = h.features(self.path[0]) if x is None else x
        self._check(x)
        x = self.embed(self.input_dropout(x))
        steps = zip(self.layers, self.norms, self.dropouts, pairwise(self.path), strict=True)
        for layer, norm, dropout, ends in steps:
            y = dropout(self.activation(layer(norm(x), h.overlap(*ends))))
            x = _with_shared_rows(y, x, *ends) if self.residual else y
        return self.classifier(self.norm(x))

    def _check(self, x: Tensor) -> None:
        """Raise a ValueError where the features do not fit the parameters."""
        weight = self.embed.weight
        if x.shape[-1] != weight.shape[-1]:
            raise ValueError(f"x must have d_in={weight.shape[-1]} channels, got {x.shape[-1]}")
        check_dtype(x, weight)


def _with_shared_rows(y: Tensor, x: Tensor, source: str, target: str) -> Tensor:
    """``y`` plus the rows of ``x`` that are rows of the target too."""
    if source == target:
        return y + x
    if {source, target} == {"nodes", "all"}:
        return y + nn.functional.pad(x, (0, 0, 0, max(y.shape[0] - x.shape[0], 0)))[: y.shape[0]]
    return y


def pairs_path(pairs: int, middle: str = "all") -> tuple[str, ...]:
    """The path of ``pairs`` V → middle → V pairs."""
    return ("nodes", *(middle, "nodes") * pairs)


def _mlp(widths: Sequence[int], dropout: float) -> nn.Sequential:
    parts: list[nn.Module] = []
    for a, b in pairwise(widths):
        parts += [Linear(a, b), nn.ReLU(), Dropout(dropout)]
    return nn.Sequential(*parts[:-2])
