"""Cases for the Triton kernels, run by test_ops_triton.py in a process of their own.

Triton decides at import whether its kernels are interpreted, so the variable must be set before.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch

from ehnn import Hypergraph
from ehnn.hypergraph import pairs as pairs_module
from ehnn.ops import (
    Mask,
    join,
    layer_norm,
    norm_and_skip,
    reference_softmax_sum,
    seeded_dropout,
    segment_softmax_sum,
    segment_sum,
    shifted_relu,
    use_backend,
)
from ehnn.ops.segment_sum import reference_sum

np.seterr(all="ignore")  # masked lanes of a block compute on infinities
pairs_module.LONG = 3  # rows of more than three pairs are cut, so that the merging kernels run


def check(name: str, got: torch.Tensor, want: torch.Tensor, tolerance: float) -> None:
    error = (got.double() - want.double()).abs().max().item() if want.numel() else 0.0
    assert torch.isfinite(got).all(), f"{name} is not finite"
    assert error <= tolerance, f"{name} is off by {error}"


def compare(h: Hypergraph, dtype: torch.dtype, scale: float, tolerance: float) -> None:
    """Outputs and every gradient of both operations against the plain versions in float64."""
    generator = torch.Generator().manual_seed(0)
    pairs = h.incidence
    x64 = torch.randn(h.num_nodes, 2, 5, generator=generator, dtype=torch.float64)
    s64 = scale * torch.randn(h.num_nodes, 2, generator=generator, dtype=torch.float64)
    w64 = torch.randn(h.num_edges, 2, 5, generator=generator, dtype=torch.float64)
    results = []
    for kind in (torch.float64, dtype):
        x, s, w = (t.to(dtype).to(kind) for t in (x64, s64, w64))
        x.requires_grad_(), s.requires_grad_()
        if kind is dtype and len(results) == 1:
            with use_backend("triton"):
                y, z = segment_sum(x, pairs), segment_softmax_sum(x, s, pairs)
                grads = [*torch.autograd.grad((y * w).sum(), x), *torch.autograd.grad((z * w).sum(), (x, s))]
        else:
            y = reference_sum(x.flatten(1), pairs.ptr, pairs.index).reshape(-1, 2, 5)
            z = reference_softmax_sum(x, s, pairs)
            grads = [*torch.autograd.grad((y * w).sum(), x), *torch.autograd.grad((z * w).sum(), (x, s))]
        results.append([y.detach(), z.detach(), *grads])
    for name, want, got in zip(("sum", "softmax", "dx of sum", "dx", "ds"), *results, strict=True):
        assert got.dtype == dtype
        check(f"{name} ({dtype}, logits × {scale})", got, want, tolerance * (1 + want.abs().max().item()))


def compare_between_products(h: Hypergraph, dtype: torch.dtype, tolerance: float) -> None:
    """`shifted_relu` and `seeded_dropout`: masks, outputs and gradients, of runs alone and side by side."""
    generator = torch.Generator().manual_seed(1)
    orders = h.overlap("edges", "edges").source_orders
    count, d = len(orders.values), 5
    z64 = torch.randn(3, h.num_edges, d, generator=generator, dtype=torch.float64)
    t64 = torch.randn(3, count, d, generator=generator, dtype=torch.float64)
    w = torch.randn(3, h.num_edges, d, generator=generator, dtype=torch.float64)
    seeds = torch.tensor([7, 2**40 + 1, 12345])
    rows = torch.arange(h.num_edges).flip(0) + 100
    for p, numbers in ((0.0, ()), (0.5, ()), (0.25, (rows, 1000))):

        def act(z, table, seed, p=p, numbers=numbers):
            mask = Mask(seed, p, *numbers)
            y = shifted_relu(1 * z, table, orders.pairs, mask if p else None)
            y = shifted_relu(1 * y, table[:1], None)
            y = join(1 * y, z, table, orders.pairs)
            y, skip = norm_and_skip(join(1 * y, z, table[:1], None), table[0], table[-1])
            y = layer_norm(y + 0.5 * skip, table[-1], table[0])
            return seeded_dropout(y, mask) if p else y

        results = []
        for backend, kind in (("cpu", torch.float64), ("triton", dtype)):
            with use_backend(backend):
                z, table = (t.to(dtype).to(kind).requires_grad_() for t in (z64, t64))
                alone = torch.stack([act(*each) for each in zip(z, table, seeds, strict=True)])
                y = torch.vmap(act)(z, table, seeds)
                check("side by side", y, alone, tolerance)
                results.append([y.detach(), *torch.autograd.grad((y * w).sum(), (z, table))])
        for name, want, got in zip(("y", "dz", "dtable"), *results, strict=True):
            assert got.dtype == dtype
            check(f"{name} of shifted_relu ({dtype}, p={p})", got, want, tolerance * 10)


if __name__ == "__main__":
    short = Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [4], [], [0, 5]], num_nodes=7)
    long = Hypergraph.from_edges([list(range(11)), [3], [], list(range(4, 9)), [3, 10]], num_nodes=12)
    for h in (short, long):
        for dtype, tolerance in ((torch.float64, 1e-13), (torch.float32, 2e-6), (torch.float16, 2e-2)):
            for scale in (1.0, 100.0):
                compare(h, dtype, scale if dtype != torch.float16 else 1.0, tolerance)
    assert long.incidence.split is not None
    for dtype, tolerance in ((torch.float64, 1e-6), (torch.float32, 2e-6), (torch.float16, 2e-2)):
        compare_between_products(long, dtype, tolerance)
    with use_backend("triton"):  # NaN in a column reaches only the rows that hold it
        x = torch.randn(7, 3)
        x[6] = float("nan")
        assert torch.isfinite(segment_sum(x, short.incidence)).all()
    print("all triton cases passed")
