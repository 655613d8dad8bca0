"""Checks of dense inputs and of the memory they would take."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

MAX_ENTRIES = 2**25
"""Bound on the entries of one dense tensor (256 MiB in float64)."""

MAX_AXES = 24
"""Bound on the order of one dense tensor."""


def check_dense(n: int, order: int, width: int, name: str) -> None:
    """Refuse a dense ``[n^order, width]`` tensor that is too large, before anything is allocated."""
    if order > MAX_AXES:
        raise ValueError(
            f"{name} of order {order} has more than {MAX_AXES} axes: the dense algebra is for small n"
        )
    entries = n**order * width
    if entries > MAX_ENTRIES:
        raise ValueError(
            f"{name} needs {n}^{order}·{width} = {entries:,} dense entries, more than {MAX_ENTRIES:,}; "
            "the dense algebra is for small n"
        )


def read_tensor(A: Tensor, n: int | None = None, name: str = "A") -> tuple[int, int, int]:
    """(n, k, d) of an order-k tensor ``A [n]*k + [d]``; where k = 0, n is that given, or −1."""
    if not isinstance(A, Tensor):
        raise ValueError(f"{name} must be a tensor of shape [n]*k + [d], got {type(A).__name__}")
    if A.dim() < 1 or len(set(A.shape[:-1])) > 1:
        raise ValueError(f"{name} must have shape [n]*k + [d], got {tuple(A.shape)}")
    k, d = A.dim() - 1, A.shape[-1]
    if n is not None and k and A.shape[0] != as_count(n, "n"):
        raise ValueError(f"{name} has {A.shape[0]} nodes, expected n={n}")
    found = A.shape[0] if k else n
    return (-1 if found is None else as_count(found, "n")), k, d


def read_layer(A: Tensor, l: int, n: int | None) -> tuple[int, int, int]:
    """(n, k, d) of the input of a layer to order ``l``."""
    as_count(l, "l")
    n_found, k, d = read_tensor(A, n)
    if n_found < 0 and l > 0:
        raise ValueError(
            f"an input of order 0 does not tell the number of nodes: give n for an output of order {l}"
        )
    return max(n_found, 0), k, d


def check_parameter(value: Tensor, like: Tensor, shape: tuple[int | None, ...], name: str) -> None:
    """``value`` must have ``shape`` (None: any) and the dtype of ``like``."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a tensor, got {type(value).__name__}")
    fits = value.dim() == len(shape) and all(w in (None, s) for s, w in zip(value.shape, shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if w is None else str(w) for w in shape)
        raise ValueError(f"{name} must have shape [{wanted}], got {list(value.shape)}")
    if value.dtype != like.dtype:
        raise ValueError(f"{name} must have the dtype of the input, {like.dtype}, got {value.dtype}")


def look_up(parameters: Any, key: tuple[Any, ...], name: str, like: Tensor) -> Tensor:
    """The weight ``[d, d']`` at ``key``, or the bias ``[d']`` at a key of one entry, checked.

    ``parameters`` are a mapping, where a key of one entry is that entry, or a function of the entries.
    """
    plain = key if len(key) > 1 else key[0]
    if not callable(parameters) and plain not in parameters:
        raise ValueError(f"{name} has no entry {plain}")
    value: Tensor = parameters(*key) if callable(parameters) else parameters[plain]
    shape = (None,) if len(key) == 1 else (like.shape[-1], None)
    check_parameter(value, like, shape, f"{name}[{', '.join(map(str, key))}]")
    return value


def nearly_equal(a: Tensor, b: Tensor) -> bool:
    """Equal up to rounding (half the digits of the dtype): outputs of layers are symmetric only so far."""
    if not a.is_floating_point() or a.numel() == 0:
        return torch.equal(a, b)
    tolerance = torch.finfo(a.dtype).eps ** 0.5 * float(a.detach().abs().max())
    return bool(((a - b).abs() <= tolerance).all())


def powers(n: int, order: int, device: torch.device | None = None) -> Tensor:
    """``[order]`` row-major strides of ``[n]^order``."""
    return torch.tensor([n ** (order - 1 - a) for a in range(order)], dtype=torch.int64, device=device)
