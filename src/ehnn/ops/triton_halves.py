"""Float32 products on tensor cores for kernels in Triton: numbers as halves, and sums over programs.

A half has 11 bits. Times a power of two that brings the largest of them to 2¹⁴, numbers are sums of a high
and a low half, but for 2⁻²³ of themselves. high·low + low·high + high·high, added up in float32, leaves out
2⁻²² of a product; high·high alone, with PARTS = 1, is as accurate as TF32. A power of two serves a row, or a
whole block.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

GROUP = 128
"""Partial sums that a program adds up."""


@triton.jit
def _power(amax):
    """The power of two that brings ``amax`` to 2¹⁴ or just above, and its inverse."""
    bits = tl.maximum(amax.to(tl.int32, bitcast=True) & 0x7F800000, 30 << 23)
    up = (254 << 23) - bits + (14 << 23)
    return up.to(tl.float32, bitcast=True), (bits - (14 << 23)).to(tl.float32, bitcast=True)


@triton.jit
def _split(a, PARTS: tl.constexpr = 2):
    """High and low halves; the high ones twice where they are all."""
    high = a.to(tl.float16)
    low = high
    if PARTS == 2:
        low = (a - high.to(tl.float32)).to(tl.float16)
    return high, low


@triton.jit
def _halves_of_rows(a, PARTS: tl.constexpr = 2):
    """Halves, with a power of two for each row, and their inverses."""
    up, down = _power(tl.max(tl.abs(a), 1))
    high, low = _split(a * up[:, None], PARTS)
    return high, low, down[:, None]


@triton.jit
def _halves(a, PARTS: tl.constexpr = 2):
    """The same with one power of two; all NaN where a number is not finite."""
    amax = tl.max(tl.abs(a))
    up, down = _power(amax)
    high, low = _split(a * (up + (amax - amax)), PARTS)
    return high, low, down


@triton.jit
def _product(a_high, a_low, b_high, b_low, PARTS: tl.constexpr = 2):
    if PARTS == 2:
        total = tl.dot(a_high, b_low, tl.dot(a_low, b_high))
        return tl.dot(a_high, b_high, total)
    else:
        return tl.dot(a_high, b_high)


@triton.jit
def _total_kernel(
    part, total, size, count, total_run, GROUP: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr
):
    """``[runs, count, size] → [runs, groups, size]``: the sums of GROUP each."""
    run, group = tl.program_id(1).to(tl.int64), tl.program_id(2)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK_P, BLOCK], tl.float32)
    end = tl.minimum((group + 1) * GROUP, count)
    for first in range(group * GROUP, end, BLOCK_P):
        p = first + tl.arange(0, BLOCK_P)
        both = (p < end)[:, None] & (place < size)[None, :]
        acc += tl.load(part + (run * count + p)[:, None] * size + place[None, :], mask=both, other=0.0)
    tl.store(total + run * total_run + group * size + place, tl.sum(acc, 0), mask=place < size)


def total_of(part: Tensor) -> Tensor:
    """``[runs, count, size] → [runs, size]`` in a fixed order."""
    while part.shape[1] > 1:
        runs, count, size = part.shape
        groups = triton.cdiv(count, GROUP)
        total = torch.empty((runs, groups, size), dtype=part.dtype, device=part.device)
        _total_kernel[triton.cdiv(size, 64), runs, groups](
            part, total, size, count, total.stride(0), GROUP=GROUP, BLOCK_P=32, BLOCK=64
        )
        part = total
    return part[:, 0]


@cache
def processors(device: torch.device) -> int:
    """The number of multiprocessors of a GPU; 2 in Triton's interpreter."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 2
