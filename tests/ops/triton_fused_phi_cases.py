"""Cases for the kernels of a whole φ, run by test_ops_fused_phi.py in a process of their own.

Triton decides at import whether its kernels are interpreted, so the variable must be set before.
"""

from __future__ import annotations

import functools
import os

os.environ["TRITON_INTERPRET"] = os.environ["EHNN_FUSED_PHI"] = "1"

import numpy as np
import pytest
import torch
from ops_helpers import assert_as_good_as_plain, values_and_gradients
from torch import Tensor, library

from ehnn.hypergraph.pairs import SparsePattern, selection
from ehnn.ops import Mask, PhiWeights, use_backend
from ehnn.ops.phi import fused as phi_fused
from ehnn.ops.phi import fused_kernels
from ehnn.ops.phi.fused import _backward, _forward
from ehnn.ops.phi.naive import reference_phi

np.seterr(all="ignore")
torch.use_deterministic_algorithms(True)  # which also fills memory that nobody wrote with NaN
SEED = torch.tensor(2**40 + 7)


CODE = 3


def inputs(rows: int, d: int, orders: int, runs: tuple[int, ...] = ()) -> list[Tensor]:
    """What `of_whole` takes: x, γ, β, W₁, b₁, W₂, b₂, W₃, b₃."""
    generator = torch.Generator().manual_seed(rows + d)
    shapes = [(rows, d), (d,), (d,), (d, d + CODE), (d,), (d, d), (d,), (d, d), (d,)]
    drawn = [torch.randn(*runs, *shape, generator=generator) for shape in shapes]
    return [t / d**0.5 if i in (3, 5, 7) else t for i, t in enumerate(drawn)]


def fused_phi(*given):
    """The kernel, or an error that says why it declines."""
    reason = phi_fused.supports(*given)
    assert reason is None, reason
    return phi_fused.run(*given)


def of_whole(fn, pairs: SparsePattern | None, masks: tuple[Mask | None, ...]):
    """φ as a function of its tensors."""
    orders = 1 if pairs is None else pairs.num_cols
    codes = torch.arange(orders * CODE).reshape(orders, CODE).sin()

    def phi(x, gamma, beta, w1, b1, w2, b2, w3, b3):
        index = selection(torch.zeros(x.shape[0], dtype=torch.int64), 1) if pairs is None else pairs
        weights = PhiWeights(gamma, beta, ((w1, b1), (w2, b2)), (w3, b3), None)
        return fn(x, codes.to(x.dtype), index, weights, masks, None)

    return phi


def orders_of(rows: int, orders: int) -> SparsePattern | None:
    return None if orders == 1 else selection(torch.arange(rows) * 7 % orders, orders)


def masks_of(rows: int) -> list[tuple[Mask | None, ...]]:
    numbers = torch.arange(rows).flip(0) + 100
    return [(None, None), (Mask(SEED, 0.5), Mask(SEED + 1, 0.25, numbers, 1000)), (None, Mask(SEED, 0.1))]


def compare_with_plain(rows: int, d: int, orders: int, masks: tuple[Mask | None, ...]) -> None:
    pairs = orders_of(rows, orders)

    def plain(*tensors: Tensor) -> Tensor:
        with use_backend("reference"):
            return of_whole(reference_phi, pairs, masks)(*tensors)

    assert_as_good_as_plain(of_whole(fused_phi, pairs, masks), plain, inputs(rows, d, orders))


def compare_runs(rows: int, d: int, orders: int) -> None:
    """Runs side by side, of which some inputs are shared, against each run alone; gradients too."""
    pairs = orders_of(rows, orders)
    seeds = torch.tensor([3, 2**35, 11])
    dims = (0, None, 0, 0, 0, 0, None, 0, 0)
    tensors = [t if d == 0 else t[0] for t, d in zip(inputs(rows, d, orders, (3,)), dims, strict=True)]

    def run(seed: Tensor, *one: Tensor) -> Tensor:
        return of_whole(fused_phi, pairs, (Mask(seed, 0.5), Mask(SEED, 0.5)))(*one)

    def alone(*many: Tensor) -> Tensor:
        each = ([t if d is None else t[i] for t, d in zip(many, dims, strict=True)] for i in range(3))
        return torch.stack([run(seed, *one) for seed, one in zip(seeds, each, strict=True)])

    def together(*many: Tensor) -> Tensor:
        return torch.vmap(run, (0, *dims))(seeds, *many)

    results = [values_and_gradients(fn, tensors) for fn in (together, alone)]
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    gradient = torch.func.grad(lambda x, seed, *rest: run(seed, x, *rest).square().sum())
    got = torch.vmap(gradient, (0, 0, *dims[1:]))(tensors[0], seeds, *tensors[1:])
    x = tensors[0].clone().requires_grad_()
    torch.testing.assert_close(got, torch.autograd.grad(alone(x, *tensors[1:]).square().sum(), x)[0])


def compare_compiled() -> None:
    tensors, pairs = inputs(20, 16, 4), orders_of(20, 4)
    phi = of_whole(fused_phi, pairs, masks_of(20)[1])
    phi(*tensors)  # the pattern is split outside of the graph
    compiled = torch.compile(phi, fullgraph=True, dynamic=True, backend="aot_eager")
    for got, want in zip(*(values_and_gradients(f, tensors) for f in (compiled, phi)), strict=True):
        torch.testing.assert_close(got, want)
    x, gamma, beta, w1, _, *rest = (t.unsqueeze(0) for t in tensors)
    params = [gamma, beta, w1[..., :16], *rest]
    given = (x, torch.randn(1, 4, 16), pairs.index, torch.randn(1, 1, 16), None, params)
    given += (*[None, 0.0, None, None] * 2, "tf32")
    for op, args in ((_forward, (*given, torch.float32)), (_backward, (x, *given))):
        library.opcheck(op.op, args, test_utils=("test_schema", "test_faketensor"))


def reason(d: int, x: Tensor, d_out: int | None = None) -> str | None:
    """Why the kernel declines rows x for a φ of width ``d_out``."""
    square = torch.zeros(d_out or d, d_out or d)
    weights = PhiWeights(
        square[0], square[0], ((square, square[0]), (square, square[0])), (square, square[0]), None
    )
    return phi_fused.supports(x, None, None, weights, (None, None), None)


def compare_one_hidden_layer() -> None:
    """The feed-forward part of a layer, with a residual table of many and of one row."""
    rows, d = 50, 16
    x, gamma, beta, _, b1, w1, b2, w2, _ = inputs(rows, d, 1)
    for numbers in (1, 3, 70):
        table, pairs = torch.randn(numbers, d), orders_of(rows, numbers)

        def run(fn, x, gamma, beta, w1, b1, w2, b2, table, pairs=pairs):
            weights = PhiWeights(gamma, beta, ((w1, b1),), (w2, b2), None)
            return fn(x, None, None, weights, (Mask(SEED, 0.5),), (table, pairs))

        def plain(*tensors: Tensor, run=run) -> Tensor:
            with use_backend("reference"):
                return run(reference_phi, *tensors)

        fused = functools.partial(run, fused_phi)
        assert_as_good_as_plain(fused, plain, [x, gamma, beta, w1, b1, w2, b2, table])


def check_equal_bits() -> None:
    """Sums over rows are made in a fixed order."""
    phi = of_whole(fused_phi, orders_of(100, 3), masks_of(100)[1])
    first, second = (values_and_gradients(phi, inputs(100, 16, 3)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def check_edges() -> None:
    """What does not fit, and the second derivative."""
    x = torch.zeros(2, 64)
    phi_fused.ENABLED = False
    assert reason(64, x) == ""  # opt-in
    phi_fused.ENABLED = True
    for d in phi_fused.WIDTHS:
        assert reason(d, torch.zeros(2, d)) is None
    assert reason(64, torch.zeros(10**6, 1).expand(-1, 64)) is None  # any number of rows
    assert reason(64, x.bfloat16()) is None
    for d in (48, 512, 8):
        assert "it takes equal widths" in reason(d, torch.zeros(2, d))
    assert "got 64 and 32" in reason(64, x, 32)
    assert "there are no rows" in reason(64, x[:0])
    assert all("float32" in reason(64, x.to(kind)) for kind in (torch.float64, torch.float16))
    with torch.autocast("cpu", torch.float16):
        assert "autocast to torch.float16" in reason(64, x)
    with torch.autocast("cpu", torch.bfloat16):
        assert reason(64, x) is None
    tensors = [t.requires_grad_() for t in inputs(3, 16, 1)]
    y = of_whole(fused_phi, None, (None, None))(*tensors)
    (dx,) = torch.autograd.grad(y.square().sum(), tensors[0], create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        dx.sum().backward()


if __name__ == "__main__":
    with use_backend("triton"):
        for rows in (1, 33):
            for orders, masks in zip((1, 3, 70), masks_of(rows), strict=True):
                compare_with_plain(rows, 16, orders, masks)
        compare_with_plain(33, 16, 1, masks_of(33)[1])
        compare_with_plain(33, 16, 70, masks_of(33)[1])
        for d in (32, 64):
            compare_with_plain(33, d, 9, masks_of(33)[1])
        compare_runs(20, 16, 1)
        compare_runs(20, 16, 70)
        compare_compiled()
        check_edges()
        compare_one_hidden_layer()
        # Several larger blocks of rows for each program, and one program for each of several runs.
        fused_kernels.FEW_ROWS = 0
        fused_kernels.FORWARD[16] = fused_kernels.BACKWARD[16] = (32, 4)
        fused_kernels.SQUARES, fused_kernels.GROUP = (32, 4, 6, 1), 2
        check_equal_bits()
        compare_with_plain(100, 16, 3, masks_of(100)[1])
        compare_runs(40, 16, 5)
    print("all cases of the fused phi passed")
