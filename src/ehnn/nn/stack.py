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
        drop_kept: dropout on what is kept, too.
        norm: LayerNorm before the classifier, and before each layer of a residual stack.
        final_norm: LayerNorm before the classifier; None: as ``norm``.
        activation: ReLU after each layer, for layers that are linear.
        after_last: whether activation and dropout follow the last layer too, or stand between layers only.

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
        drop_kept: bool = False,
        classifier: Sequence[int] = (),
        norm: bool = True,
        final_norm: bool | None = None,
        activation: bool = False,
        after_last: bool = True,
    ) -> None:
        super().__init__()
        if drop_kept and not residual:
            raise ValueError("drop_kept=True needs residual=True: without, nothing is kept")
        self.path, self.residual, self.drop_kept = tuple(path), residual, drop_kept
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
        steps = len(self.layers)
        followed = steps if after_last else steps - 1
        self.activations = [activation and i < followed for i in range(steps)]
        self.dropouts = nn.ModuleList([Dropout(dropout if i < followed else 0.0) for i in range(steps)])
        self.norm = LayerNorm(width) if (norm if final_norm is None else final_norm) else nn.Identity()
        self.classifier = _mlp([width, *classifier, d_out], dropout)

    def extra_repr(self) -> str:
        told = f"path={self.path}, residual={self.residual}"
        told += ", drop_kept=True" if self.drop_kept else ""
        return told + (f", activations={self.activations}" if any(self.activations) else "")

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """Logits; ``x`` stands in for the features of the first family of the path."""
        x = h.features(self.path[0]) if x is None else x
        self._check(x)
        x = self.embed(self.input_dropout(x))
        parts = (self.layers, self.norms, self.activations, self.dropouts, pairwise(self.path))
        for layer, norm, activation, dropout, ends in zip(*parts, strict=True):
            y = layer(norm(x), h.overlap(*ends))
            y = y.relu() if activation else y
            if not self.residual:
                x = dropout(y)
            elif self.drop_kept:
                x = dropout(_with_shared_rows(y, x, *ends))
            else:
                x = _with_shared_rows(dropout(y), x, *ends)
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
