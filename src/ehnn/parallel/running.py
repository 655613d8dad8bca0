"""A running estimate of the global term, for training by samples. Approximate."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.hypergraph.pairs import OwnSums
from ehnn.nn import Layer

from .sampled import SampledPairs
from .sampled_overlap import SampledOverlap


class RunningPools(nn.Module):
    r"""A model whose global terms (𝓘 = 0) on a `Sample` are averages over mini-batches. **Approximate.**

    A mini-batch estimates a layer's sum over all sources from its own seeds alone, :math:`\hat m_t`. Here

    .. math:: m_t = m_{t-1} + w_t (\hat m_t - m_{t-1}), \qquad w_t = \max(1 - \text{decay}, 1 / t)

    replaces it, with the gradient of :math:`\hat m_t`. If the parameters do not change, m is unbiased, and
    its variance falls to (1 − decay) / (1 + decay) of that of one mini-batch. If they change, m lags about
    1 / (1 − decay) steps behind. A softmax is the ratio of two such sums. On a whole Hypergraph the model is
    exact and nothing is estimated.

    The averages are parameters without gradients, so they are saved, resumed and copied with the others, one
    for each run; only training changes them.

    Args:
        model: of layers with ``global_interaction``. On a `Sample` it uses the running estimates from now on,
            also when it is called by itself.
        decay: weight of the past, in [0, 1).

    Shapes: those of ``model``.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 3))
    >>> model = RunningPools(ehnn.nn.Stack(3, 2, ehnn.nn.EHNNMLP, width=8), decay=0.9)
    >>> model(h).shape  # a whole hypergraph: exact
    torch.Size([4, 2])
    """

    def __init__(self, model: nn.Module, decay: float = 0.9) -> None:
        super().__init__()
        if not 0 <= decay < 1:
            raise ValueError(f"decay must be in [0, 1), got {decay!r}")
        self.model, self.decay = model, decay
        layers = [
            m for m in model.modules() if isinstance(m, Layer) and getattr(m, "global_interaction", False)
        ]
        # Sums, denominators and shifts of the heads, and the number of mini-batches seen.
        sizes = [m.d_out + 2 * int(getattr(m, "heads", 0)) + 1 for m in layers]
        self.averages = nn.ParameterList([nn.Parameter(torch.zeros(k), requires_grad=False) for k in sizes])
        for place, layer in enumerate(layers):
            layer.register_forward_pre_hook(_Hook(self, place))

    def forward(self, *inputs: Any) -> Tensor:
        return self.model(*inputs)

    def extra_repr(self) -> str:
        return f"decay={self.decay}"


class _Hook:
    """Gives a layer the running pool. It is an object, so that a copied model uses its own averages."""

    def __init__(self, pools: RunningPools, place: int) -> None:
        self.pools, self.place = pools, place

    def __call__(self, layer: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        x, overlap = inputs
        if not isinstance(overlap, SampledOverlap):
            return None
        assert isinstance(overlap.source_to_graph, SampledPairs)
        average, pools = self.pools.averages[self.place], self.pools
        pool = _RunningPairs(overlap.source_to_graph, average, 1 - pools.decay, pools.training)
        return x, dataclasses.replace(overlap, source_to_graph=pool)


class _RunningPairs(OwnSums):
    """The pool of a sample, whose sums follow a running average."""

    now: SampledPairs
    average: Tensor
    least: float
    learns: bool

    def __init__(self, now: SampledPairs, average: Tensor, least: float, learns: bool) -> None:
        super().__init__(now.num_rows, now.num_cols, now.ptr, now.index, now.t_ptr, now.t_index, now.t_perm)
        for name, value in (("now", now), ("average", average), ("least", least), ("learns", learns)):
            object.__setattr__(self, name, value)

    @property
    def lengths(self) -> Tensor:
        return self.now.lengths

    def reduce_sum(self, x: Tensor) -> Tensor:
        """The running estimate of `ehnn.ops.segment_sum`."""
        return self._follow(self.now.reduce_sum(x), None)

    def reduce_softmax(self, x: Tensor, logits: Tensor) -> Tensor:
        """The running estimate of `ehnn.ops.segment_softmax_sum`."""
        top = logits.detach().amax(0)
        weight = (logits - top).exp().unsqueeze(-1)
        both = self._follow(self.now.softmax_sums(x, weight), top)
        return both[..., :-1] / both[..., -1:].clamp(min=torch.finfo(x.dtype).tiny)

    def _follow(self, estimate: Tensor, shift: Tensor | None) -> Tensor:
        """The average, with the gradient of ``estimate``; sums of a softmax are multiples of exp(shift)."""
        size, kept = estimate.numel(), self.average.detach().to(estimate.dtype)
        past, level, seen = kept[:size].reshape(estimate.shape), kept[size:-1], kept[-1]
        if shift is not None:
            last = level[: shift.shape[0]]
            level = torch.where(seen > 0, torch.maximum(shift, last - _FALL), shift)
            past = past * (last - level).exp().unsqueeze(-1)
            estimate = estimate * (shift - level).exp().unsqueeze(-1)
        now = estimate.detach()
        past = torch.where(seen > 0, past, now)
        if self.learns:
            past = past + (1 / (seen + 1)).clamp(min=self.least) * (now - past)
            with torch.no_grad():
                self.average.copy_(torch.cat([past.flatten(), level, seen.reshape(1) + 1]))
        return past + (estimate - now)


_FALL = 10.0
"""How far the shift may fall in a step, so that what is kept does not overflow."""
