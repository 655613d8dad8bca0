"""The attention of an EHNN-Transformer by the order of the sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNTransformer, Stack
from ehnn.overlap import Overlap

from .parts import amount, mapping

Shares = dict[int, tuple[float, float]]
"""By source order: the share of attention that its sources get, and what they would get if it were even."""


@dataclass(frozen=True)
class LayerAttention:
    """Attention in one layer, the mean over its heads.

    Attributes:
        name: which layer.
        meeting: over the sources that a target shares 𝓘 ≥ 1 nodes with.
        everywhere: over all sources (𝓘 = 0).
        evenness: by target order: entropy of the local weights over its largest value, 1 where even.
    """

    name: str
    meeting: Shares
    everywhere: Shares
    evenness: dict[int, float]


@dataclass(frozen=True)
class Attention:
    layers: list[LayerAttention]

    @classmethod
    def read(cls, value: Any) -> Attention:
        """From the output of `attention_by_order`."""
        return cls([_read_layer(mapping(layer)) for layer in mapping(value).get("layers", [])])


def _read_layer(found: Any) -> LayerAttention:
    meeting, everywhere = (_read_shares(found.get(key)) for key in ("meeting", "everywhere"))
    evenness = {int(k): amount(v) for k, v in mapping(found.get("evenness") or {}).items()}
    return LayerAttention(str(found.get("name")), meeting, everywhere, dict(sorted(evenness.items())))


def _read_shares(value: Any) -> Shares:
    found: Shares = {}
    for order, shares in mapping(value or {}).items():
        if len(shares) != 2:
            raise ValueError(f"order {order} must have its share and an even one, got {shares!r}")
        found[int(order)] = (amount(shares[0]), amount(shares[1]))
    return dict(sorted(found.items()))


# ---------------------------------------------------------------------- measuring


@torch.no_grad()
def attention_by_order(model: Any, h: Hypergraph) -> dict[str, Any]:
    """How the EHNN-Transformer layers of a model spread their attention over the orders of their sources.

    Args:
        model: a module called as ``model(h)``, such as a `Stack`, or a fitted estimator, called as
            ``model.predict(h)``.
        h: the hypergraph to look at.

    Returns:
        ``{"layers": [{"name", "meeting", "everywhere", "evenness"}]}``, ready for ``run.json``; see
        `LayerAttention`. Empty where the model has no such layer. A share is Σ_i α_ij over the sources i
        of one order (Eq. 11), averaged over heads and over the targets that have more than one source;
        sigmoid weights are divided by their sum first.

    >>> import ehnn
    >>> h = Hypergraph.from_edges([[0, 1], [0, 1, 2]], x=torch.ones(3, 2))
    >>> model = Stack(2, 4, ehnn.nn.EHNNTransformer, path=("nodes", "edges"))
    >>> [layer["name"] for layer in attention_by_order(model, h)["layers"]]
    ['layer 1, nodes → edges']
    """
    net: nn.Module = getattr(model, "model_", model)
    names = _names(net)
    found: list[dict[str, Any]] = []

    def look(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        assert isinstance(layer, EHNNTransformer)
        found.append({"name": names[layer], **_layer(layer, *inputs[:2])})

    hooks = [layer.register_forward_pre_hook(look) for layer in names]
    training = {module: module.training for module in net.modules()}
    try:
        if names:
            net.eval()
            model(h) if net is model else model.predict(h)
    finally:
        for module, mode in training.items():
            module.training = mode
        for hook in hooks:
            hook.remove()
    return {"layers": found} if found else {}


def _names(model: nn.Module) -> dict[EHNNTransformer, str]:
    """The layers, numbered, with their ends where a Stack says them."""
    layers = [module for module in model.modules() if isinstance(module, EHNNTransformer)]
    names = {layer: f"layer {place}" for place, layer in enumerate(layers, 1)}
    for stack in (module for module in model.modules() if isinstance(module, Stack)):
        for layer, (source, target) in zip(stack.layers, pairwise(stack.path), strict=True):
            if isinstance(layer, EHNNTransformer):
                names[layer] += f", {source} → {target}"
    return names


def _layer(layer: EHNNTransformer, x: Tensor, overlap: Overlap) -> dict[str, Any]:
    x = layer.phi1(x, overlap.source_orders)
    query = _split(layer, layer.query(overlap.sizes))  # [1 + distinct 𝓘, heads, c]; the first is 𝓘 = 0
    group, source = overlap.source_to_group.rows, overlap.source_to_group.index
    *everywhere, local = layer.key(x).split(layer.d_out, 1)  # of 𝓘 = 0, if any, and of 𝓘 ≥ 1
    key = _split(layer, local)
    logits = (key[source] * query[1:][overlap.sizes.index[group]]).sum(-1)
    weight = _weights(logits / math.sqrt(key.shape[-1]), group, overlap.num_groups, layer.attention)
    found: dict[str, Any] = {"meeting": _shares(weight, group, source, overlap), "everywhere": {}}
    found["evenness"] = _evenness(weight, group, overlap)
    if everywhere:
        key = _split(layer, everywhere[0])
        logits = torch.einsum("shc,hc->sh", key, query[0]) / math.sqrt(key.shape[-1])
        member = overlap.source_batch
        weight = _weights(logits, member, overlap.num_members, layer.attention)
        everything = torch.arange(overlap.num_sources, device=x.device)
        found["everywhere"] = _shares(weight, member, everything, overlap)
    return found


def _split(layer: EHNNTransformer, x: Tensor) -> Tensor:
    return x.double().reshape(x.shape[0], layer.heads, -1)


def _weights(logits: Tensor, row: Tensor, rows: int, attention: str) -> Tensor:
    """``[pairs, heads]`` that sum to 1 over the pairs of each row."""
    if attention == "sigmoid":
        weight = logits.sigmoid()
    else:
        place = row.unsqueeze(1).expand_as(logits)
        top = logits.new_full((rows, logits.shape[1]), -math.inf).scatter_reduce(0, place, logits, "amax")
        weight = (logits - top[row]).exp()
    total = weight.new_zeros(rows, weight.shape[1]).index_add(0, row, weight)
    return weight / total[row].clamp(min=1e-300)


def _shares(weight: Tensor, row: Tensor, source: Tensor, overlap: Overlap) -> Shares:
    """Over the rows that have a choice: those with more than one source."""
    size = torch.bincount(row)
    if not bool((size > 1).any()):
        return {}
    choice = (size > 1)[row]
    values, order = overlap.source_orders.values, overlap.source_orders.index[source]
    both = torch.stack([weight.mean(1), 1 / size[row].double()], 1) * choice.unsqueeze(1)
    sums = both.new_zeros(values.shape[0], 2).index_add(0, order, both) / (size > 1).sum()
    return {k: (share, even) for k, (share, even) in zip(values.tolist(), sums.tolist(), strict=True) if even}


def _evenness(weight: Tensor, group: Tensor, overlap: Overlap) -> dict[int, float]:
    size = torch.bincount(group, minlength=overlap.num_groups)
    plogp = torch.special.entr(weight).mean(1)
    entropy = plogp.new_zeros(overlap.num_groups).index_add(0, group, plogp)
    choice = size > 1
    even = (entropy[choice] / size[choice].double().log()).clamp(max=1)
    values = overlap.target_orders.values
    order = overlap.target_orders.index[overlap.group_target[choice]]
    count = torch.bincount(order, minlength=values.shape[0])
    mean = even.new_zeros(values.shape[0]).index_add(0, order, even) / count.clamp(min=1)
    return {k: m for k, m, n in zip(values.tolist(), mean.tolist(), count.tolist(), strict=True) if n}
