"""Modules whose parameters a kernel may read instead of calling them."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook


class Fusable(nn.Module):
    """A module whose parameters a fused kernel may read instead of calling its ``forward``.

    ``class Phi(Network, fusable=True)`` says that kernels know its ``forward``. A subclass of `Phi` may have
    another one, so it is called unless it says the same. Modules with hooks are called too.
    """

    _fusable: type[nn.Module] | None = None

    def __init_subclass__(cls, fusable: bool = False) -> None:
        super().__init_subclass__()
        if fusable:
            cls._fusable = cls

    def own_parameters(self) -> list[Tensor]:
        """The parameters in the order in which they were registered; all, if there is no `reason_to_call`."""
        return [p for p in self._parameters.values() if p is not None]

    def reason_to_call(self) -> str | None:
        """Why the module has to be called, or None."""
        if self._fusable is None:
            return f"{type(self).__name__} is not declared fusable"
        return reason_to_call(self, self._fusable)


def reason_to_call(module: nn.Module, known: type[nn.Module]) -> str | None:
    """Why a module has to be called, though kernels know the ``forward`` of the class ``known``; or None."""
    if type(module) is not known:
        return f"it is a {type(module).__name__}, not a {known.__name__}"
    hooks = module._forward_hooks or module._forward_pre_hooks
    if hooks or module._backward_hooks or module._backward_pre_hooks:
        return "it has hooks (pruning sets one too)"
    return "there are hooks on all modules" if _has_any_global_hook() else None
