"""Random numbers of one thread, drawn from its own generators and not from those of the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_DRAWS = {
    "rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "poisson",
    "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "trunc_normal_",
    "orthogonal_",
}  # fmt: skip
"""Functions of PyTorch that take a ``generator``."""
_LIKE: dict[str, Callable[..., Tensor]] = {"rand_like": torch.rand, "randn_like": torch.randn}


class OwnRandom(TorchFunctionMode):
    """Inside, in this thread, PyTorch draws what it would after ``torch.manual_seed(seed)``.

    The generators of the process are neither read nor changed, so threads do not disturb each other. This
    holds for the functions that take a generator, for ``rand_like``, ``randn_like`` and for dropout. Other
    functions that draw (attention with dropout, recurrent layers with dropout) use those of the process.

    >>> with OwnRandom(0):
    ...     layer = nn.Linear(2, 1)
    >>> generator = torch.manual_seed(0)
    >>> torch.equal(layer.weight, nn.Linear(2, 1).weight)
    True
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def generator(self, device: torch.device | str = "cpu") -> torch.Generator:
        """The generator that draws on a device."""
        device = torch.device(device)
        if device not in self._generators:
            self._generators[device] = torch.Generator(device).manual_seed(self.seed)
        return self._generators[device]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name == "dropout":
            return self._dropout(*args, **kwargs)
        if name in _LIKE:
            like = args[0]
            about = {"dtype": like.dtype, "device": like.device, **{k: v for k, v in kwargs.items() if v}}
            return _LIKE[name](like.shape, generator=self.generator(about["device"]), **about)
        if name in _DRAWS and kwargs.get("generator") is None:
            kwargs["generator"] = self.generator(_device(args, kwargs))
        return func(*args, **kwargs)

    def _dropout(
        self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, **train: bool
    ) -> Tensor:
        """PyTorch's dropout: the same mask from the same state of a generator, on a CPU."""
        if not train.get("train", training) or p == 0:
            return input
        if p == 1:
            return input.zero_() if inplace else input * 0
        mask = torch.empty_like(input).bernoulli_(1 - p, generator=self.generator(input.device)).div_(1 - p)
        return input.mul_(mask) if inplace else input * mask


def _device(args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device:
    """The device on which a function draws: that of its first tensor, or its argument ``device``."""
    tensors = (value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
    first = next(tensors, None)
    if first is not None:
        return first.device
    return torch.device(kwargs.get("device") or torch.get_default_device())


def is_foreign(model: nn.Module) -> bool:
    """Whether a model has modules of neither this library nor PyTorch, which may draw numbers as they run."""
    own = ("ehnn.", "torch.nn.")
    return not all(type(module).__module__.startswith(own) for module in model.modules())
