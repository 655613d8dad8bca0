"""How the device is named in a row, and how it is set up for a measurement."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def check_device(device: str) -> str:
    """``device`` if it is there; a ValueError otherwise."""
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda, got {device!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {device!r} was asked for, but this PyTorch finds no GPU; use cpu")
    return device


def is_gpu(device: str) -> bool:
    return torch.device(device).type == "cuda"


def label(device: str) -> str:
    """The device in a ``setting``: ``cuda``, or ``cpu-2`` for two threads."""
    return "cuda" if is_gpu(device) else f"cpu-{torch.get_num_threads()}"


def command(name: str, device: str) -> str:
    """What to type for a benchmark to run as it does now."""
    more = "" if is_gpu(device) else f" --threads {torch.get_num_threads()}"
    return f"ehnn bench {name} --device {device}{more}"


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """PyTorch with ``count`` CPU threads inside (None leaves it)."""
    before = torch.get_num_threads()
    try:
        if count is not None:
            torch.set_num_threads(count)
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """``"highest"`` (full float32) or ``"high"`` (TF32 products) inside."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def free() -> None:
    """Give back what the last measurement held."""
    gc.collect()
    if "torch._dynamo" in sys.modules:  # else there is nothing to reset, and a long import to spare
        torch.compiler.reset()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
