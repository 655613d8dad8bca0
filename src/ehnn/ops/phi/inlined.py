"""Modules whose parameters a kernel may read instead of calling them."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook


class Inlined(nn.Module):
    """A module that a fused kernel may replace, because its ``forward`` is known.

    ``class Phi(Network, known=True)`` is known. Subclasses of it and modules with hooks are called instead.
    """

    _known: type[nn.Module] | None = None

    def __init_subclass__(cls, known: bool = False) -> None:
        super().__init_subclass__()
        if known:
            cls._known = cls

    def read(self) -> list[Tensor]:
        """The parameters in the order in which they were made: all, if there is no `reason_to_call`."""
        return [p for p in self._parameters.values() if p is not None]

    def reason_to_call(self) -> str | None:
        """Why the module has to be called, or None."""
        return "its class is not known" if self._known is None else reason_to_call(self, self._known)


def reason_to_call(module: nn.Module, known: type[nn.Module]) -> str | None:
    """Why a module has to be called, though the ``forward`` of its kind is ``known``; or None."""
    if type(module) is not known:
        return f"it is a {type(module).__name__}, not a {known.__name__}"
    hooks = module._forward_hooks or module._forward_pre_hooks
    if hooks or module._backward_hooks or module._backward_pre_hooks:
        return "it has hooks (pruning sets one too)"
    return "there are hooks on all modules" if _has_any_global_hook() else None
