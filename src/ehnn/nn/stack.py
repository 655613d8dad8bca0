"""Models that stack layers along a path of families."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.features import FAMILIES

from .dropout import Dropout
from .layer import Layer, check_hypergraph
from .norm import LayerNorm
from .products import Linear, check_dtype


@dataclass(frozen=True)
class Block:
    r"""Settings of each layer in a `Stack`: the layer, its norm, activation, dropout and residual connection.

    .. math:: x' = \mathrm{dropout}(\sigma(\mathrm{layer}(x))), \qquad\text{or, residual,}\qquad
        x' = x + \mathrm{dropout}(\sigma(\mathrm{layer}(\mathrm{LayerNorm}(x))))

    Args:
        layer: makes a layer from (d_in, d_out), for example ``EHNNMLP`` or
            ``partial(EHNNTransformer, heads=8)``.
        dropout: on the output of the layer.
        activation: σ is ReLU, for layers that are linear; otherwise the identity.
        residual: add the input of the layer on the rows that source and target share: all of them for the
            same family, the nodes between ``"nodes"`` and ``"all"``, none otherwise.
        norm: LayerNorm before the layer of a residual block. Without it features grow from layer to layer,
            and some runs never get below the loss of a constant prediction.
        drop_kept: apply dropout after the input is added, so to the input too. A rate of 0.5 then leaves
            1/16 of a node's own channels after four layers.
        after_last: apply activation and dropout to the output of the last layer of a stack too.

    >>> import ehnn
    >>> Block(ehnn.nn.EHNNMLP, dropout=0.5, residual=True).residual
    True
    """

    layer: Callable[[int, int], Layer]
    dropout: float = 0.0
    activation: bool = False
    residual: bool = False
    norm: bool = True
    drop_kept: bool = False
    after_last: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.layer, nn.Module):
            name = type(self.layer).__name__
            raise ValueError(f"layer must be a factory (d_in, d_out) -> Layer, got an instance of {name}")
        if self.drop_kept and not self.residual:
            raise ValueError("drop_kept=True needs residual=True: without, nothing is kept")


class Stack(nn.Module):
    """A network: a linear map, several layers, and a classifier.

    Each layer maps the rows of one family (nodes, hyperedges, all, …) to those of the next, along ``path``:
    ``("nodes", "all", "nodes")`` is the paper's V → V∪E → V pair and repeating it makes more pairs;
    ``("edges",) * 9`` is a stack of eight hyperedge-to-hyperedge layers; a path that ends in ``"graph"``
    gives one row per hypergraph.

    Args:
        d_in, d_out: channels of the input features and of the output.
        block: a `Block`, or a factory (d_in, d_out) -> layer, which stands for ``Block(factory)``.
        width: channels between the layers.
        path: the families, one more than there are layers.
        input_dropout: on the input features.
        classifier: hidden widths of the classifier, which has the dropout of the block.
        final_norm: LayerNorm before the classifier; None: as the block's ``norm``.
        former: arguments of `Block`, which version 0.1 took here (deprecated).

    >>> import ehnn, torch
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 5))
    >>> Stack(5, 3, ehnn.nn.EHNNMLP, width=16)(h).shape
    torch.Size([4, 3])
    >>> block = Block(ehnn.nn.EHNNMLP, dropout=0.5, residual=True)
    >>> Stack(5, 3, block, path=("nodes", "edges", "graph"))(h).shape
    torch.Size([1, 3])

    Shapes: a Hypergraph with features of the first family → ``[rows of the last family, d_out]``.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        block: Block | Callable[[int, int], Layer] | None = None,
        *,
        width: int = 64,
        path: Sequence[str] = ("nodes", "all", "nodes"),
        input_dropout: float = 0.0,
        classifier: Sequence[int] = (),
        final_norm: bool | None = None,
        **former: Any,
    ) -> None:
        super().__init__()
        self.block = block = _block(block, former)
        self.path = _checked(path)
        steps = len(self.path) - 1
        followed = steps if block.after_last else steps - 1
        self.input_dropout = Dropout(input_dropout)
        self.embed = Linear(d_in, width)
        self.layers = nn.ModuleList([block.layer(width, width) for _ in range(steps)])
        normed = block.norm and block.residual
        self.norms = nn.ModuleList([LayerNorm(width) if normed else nn.Identity() for _ in range(steps)])
        self.activations = [block.activation and i < followed for i in range(steps)]
        dropouts = [block.dropout if i < followed else 0.0 for i in range(steps)]
        self.dropouts = nn.ModuleList([Dropout(p) for p in dropouts])
        last = block.norm if final_norm is None else final_norm
        self.norm = LayerNorm(width) if last else nn.Identity()
        self.classifier = _mlp([width, *classifier, d_out], block.dropout)

    def extra_repr(self) -> str:
        shown = f"path={self.path}, residual={self.block.residual}"
        shown += ", drop_kept=True" if self.block.drop_kept else ""
        return shown + (f", activations={self.activations}" if any(self.activations) else "")

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """Logits; ``x`` replaces the features of the first family of the path."""
        check_hypergraph(self, h)
        x = h.features(self.path[0]) if x is None else x
        self._check(x)
        x = self.embed(self.input_dropout(x))
        for step, ends in enumerate(pairwise(self.path)):
            x = self._step(step, x, h, ends)
        return self.classifier(self.norm(x))

    def _step(self, step: int, x: Tensor, h: Hypergraph, ends: tuple[str, str]) -> Tensor:
        """A `Block`: ``[rows of the source, width] → [rows of the target, width]``."""
        dropout = self.dropouts[step]
        y = self.layers[step](self.norms[step](x), h.overlap(*ends))
        y = y.relu() if self.activations[step] else y
        if not self.block.residual:
            return dropout(y)
        if self.block.drop_kept:
            return dropout(_with_shared_rows(y, x, *ends))
        return _with_shared_rows(dropout(y), x, *ends)

    def _check(self, x: Tensor) -> None:
        """Raise a ValueError where the features do not fit the parameters."""
        weight = self.embed.weight
        if x.shape[-1] != weight.shape[-1]:
            raise ValueError(f"x must have d_in={weight.shape[-1]} channels, got {x.shape[-1]}")
        check_dtype(x, weight)


def _block(given: Block | Callable[[int, int], Layer] | None, former: dict[str, Any]) -> Block:
    """The block, with the arguments that the stack itself had in version 0.1."""
    known = {field.name for field in fields(Block)}
    unknown = [name for name in former if name not in known]
    if unknown:
        raise TypeError(f"Stack has no argument {unknown[0]!r}")
    given = former.pop("layer", None) if given is None else given
    if given is None:
        raise TypeError("Stack needs a block: a Block, or a factory of layers, such as EHNNMLP")
    block = given if isinstance(given, Block) else Block(given)
    if former:
        shown = ", ".join(f"{name}={value!r}" for name, value in former.items())
        warnings.warn(
            f"Stack(…, {shown}) is now Stack(…, Block(layer, {shown})); the old form goes with version 0.3",
            DeprecationWarning,
            stacklevel=3,
        )
    return replace(block, **former)


def _checked(path: Sequence[str]) -> tuple[str, ...]:
    """The path, if it is one of families."""
    if isinstance(path, str) or len(path) < 2:
        raise ValueError(f"path must name at least two families, got {path!r}")
    families = (*FAMILIES, "graph")
    unknown = [name for name in path if name not in families]
    if unknown:
        raise ValueError(f"path must be of the families {families}, got {unknown[0]!r}")
    return tuple(path)


def _with_shared_rows(y: Tensor, x: Tensor, source: str, target: str) -> Tensor:
    """``y`` plus the rows of ``x`` that are rows of the target too."""
    if source == target:
        return y + x
    if {source, target} == {"nodes", "all"}:
        return y + nn.functional.pad(x, (0, 0, 0, max(y.shape[0] - x.shape[0], 0)))[: y.shape[0]]
    return y


def pairs_path(pairs: int, middle: str = "all") -> tuple[str, ...]:
    """The path of a `Stack` that goes from nodes to ``middle`` and back, ``pairs`` times.

    >>> pairs_path(2)
    ('nodes', 'all', 'nodes', 'all', 'nodes')
    """
    return ("nodes", *(middle, "nodes") * pairs)


def _mlp(widths: Sequence[int], dropout: float) -> nn.Sequential:
    parts: list[nn.Module] = []
    for a, b in pairwise(widths):
        parts += [Linear(a, b), nn.ReLU(), Dropout(dropout)]
    return nn.Sequential(*parts[:-2])
