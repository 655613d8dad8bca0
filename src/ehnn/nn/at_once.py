"""An EHNN-MLP layer as one kernel: what the kernel needs of the layer, found once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from ehnn.ops import Mask
from ehnn.ops.cpu_layer import Kind, Signature, cpu_layer, cpu_layer_of_runs, in_vmap, plan_of
from ehnn.overlap import Overlap

from .memory import is_bounded
from .norm import EPSILON, LayerNorm
from .order import OrderEncoding
from .phi import OrderBias, Phi, hooks_of

if TYPE_CHECKING:
    from .mlp import EHNNMLP


class AtOnce:
    """Calls `cpu_layer` for an `EHNNMLP`, where that applies.

    To ask modules for thirty parameters by name takes as long as a product of small matrices. Here are the
    dictionaries in which they stand; they are read in every call, as long as the modules are the same.
    """

    def __init__(self, layer: EHNNMLP) -> None:
        called = list(layer._modules.values())
        self._phis = [m for m in called if type(m) is Phi]
        parts = [m for phi in self._phis for m in _parts(phi)]
        holders: list[nn.Module] = [layer, *self._phis]
        if isinstance(layer.bias, OrderBias):
            parts += [m for m in layer.bias.net.children() if type(m) is not nn.ReLU]
            holders += [layer.bias, layer.bias.net]
        self._holders, self._dictionaries = [m._modules for m in holders], [m._parameters for m in parts]
        self._held = [m for held in self._holders for m in held.values()]
        encodings: list[OrderEncoding] = [phi.encoding for phi in self._phis]
        if isinstance(layer.bias, OrderBias):
            encodings.append(layer.bias.encoding)
        others = [m for phi in self._phis for m in (phi.skip, phi.dropout1, phi.dropout2)]
        heard = (*called, *parts, *others, *encodings)
        self._hooks = [hooks for m in heard if m is not None for hooks in hooks_of(m)]
        self._norms = [m for m in parts if isinstance(m, LayerNorm)]
        usual = {type(m) for m in parts} <= {LayerNorm, nn.Linear} and all(m.is_as_built for m in self._phis)
        alike = len({(type(m), m.kind, m.dim) for m in encodings}) == 1
        self._as_built = usual and alike and len(self._phis) == 3
        if self._as_built:
            encoding, norm = layer.phi1.encoding, layer.phi1.norm is not None
            self._encoding = encoding
            self._signature = Signature(layer.d_out, encoding.dim, norm, layer.bias is not None)

    def knows(self, layer: EHNNMLP) -> bool:
        """Whether this is the layer, and none of its modules was replaced since."""
        now = [m for held in self._holders for m in held.values()]
        return self._holders[0] is layer._modules and self._held == now

    def __call__(self, layer: EHNNMLP, x: Tensor, overlap: Overlap) -> Tensor | None:
        """``layer(x, overlap)``; None where one kernel does not do."""
        if not self._as_built or any(self._hooks):  # who listens to a part wants it to be called
            return None
        if any(m.eps != EPSILON for m in self._norms):
            return None
        parameters = [p for d in self._dictionaries for p in (d.get("weight"), d.get("bias"))]
        masks, many = self._masks() if layer.training else (), in_vmap()
        places: list[int] | None = []
        if not many:
            places = self._signature.checked(parameters, x.dtype)
        elif masks or not self._signature.fits(parameters, x.dtype):
            places = None
        if masks is None or places is None:
            return None
        encoding, mean = self._encoding, layer.aggregation == "mean"
        bounded = is_bounded(x) or is_bounded(overlap.target_batch) or is_bounded(overlap.sizes.index)
        kind = Kind(
            layer.d_out, x.dtype, encoding.kind, mean, layer.scale, layer.global_interaction, not bounded
        )
        plan = plan_of(overlap, kind, partial(encoding.of, dtype=x.dtype) if encoding.dim else None)
        if plan is None:
            return None
        if many:
            return cpu_layer_of_runs(x, plan, self._signature, parameters)
        return cpu_layer(x, plan, self._signature, parameters, places, masks)

    def _masks(self) -> Sequence[Mask | None] | None:
        """Of the two dropouts of each φ, empty if none drops; None if the kernel cannot make them."""
        drops = [m for phi in self._phis for m in (phi.dropout1, phi.dropout2)]
        if not any(drop.p and drop.training for drop in drops):
            return ()
        if any(drop.rows is not None or (drop.p and not drop.seeded) for drop in drops):
            return None
        return [drop.mask for drop in drops]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # a copy of the layer finds its own


def _parts(phi: Phi) -> list[nn.Module]:
    parts = [phi._modules.get(name) for name in ("norm", "first", "second", "third")]
    return [m for m in parts if m is not None]
