"""What the kernels of a whole φ have in common: inputs, and comparisons with the definition.

Imported by the cases that run under Triton's interpreter, after they have set its variable.
"""

from __future__ import annotations

import numpy as np
import torch
from ops_helpers import assert_as_good_as_plain, values_and_gradients
from torch import Tensor

from ehnn.hypergraph.pairs import SparsePattern, selection
from ehnn.ops import Mask, PhiWeights, use_backend
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


def kernel_of(module):
    """The kernel of an implementation, which fails with the reason where it declines."""

    def kernel(*given):
        reason = module.supports(*given)
        assert reason is None, reason
        return module.run(*given)

    return kernel


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


def compare_with_plain(kernel, rows: int, d: int, orders: int, masks: tuple[Mask | None, ...]) -> None:
    pairs = orders_of(rows, orders)

    def plain(*tensors: Tensor) -> Tensor:
        with use_backend("reference"):
            return of_whole(reference_phi, pairs, masks)(*tensors)

    assert_as_good_as_plain(of_whole(kernel, pairs, masks), plain, inputs(rows, d, orders))


def compare_runs(kernel, rows: int, d: int, orders: int) -> None:
    """Runs side by side, of which some inputs are shared, against each run alone; gradients too."""
    pairs = orders_of(rows, orders)
    seeds = torch.tensor([3, 2**35, 11])
    dims = (0, None, 0, 0, 0, 0, None, 0, 0)
    tensors = [t if d == 0 else t[0] for t, d in zip(inputs(rows, d, orders, (3,)), dims, strict=True)]

    def run(seed: Tensor, *one: Tensor) -> Tensor:
        return of_whole(kernel, pairs, (Mask(seed, 0.5), Mask(SEED, 0.5)))(*one)

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


def compare_compiled(kernel) -> tuple[list[Tensor], SparsePattern]:
    """Compiled for any number of rows against eager; returns the tensors and the orders of the case."""
    tensors, pairs = inputs(20, 16, 4), orders_of(20, 4)
    phi = of_whole(kernel, pairs, masks_of(20)[1])
    phi(*tensors)  # the pattern is split outside of the graph
    compiled = torch.compile(phi, fullgraph=True, dynamic=True, backend="aot_eager")
    for got, want in zip(*(values_and_gradients(f, tensors) for f in (compiled, phi)), strict=True):
        torch.testing.assert_close(got, want)
    return tensors, pairs


def reason_of(module, d: int, x: Tensor, d_out: int | None = None) -> str | None:
    """Why the kernel declines rows x for a φ of width ``d_out``."""
    square = torch.zeros(d_out or d, d_out or d)
    weights = PhiWeights(
        square[0], square[0], ((square, square[0]), (square, square[0])), (square, square[0]), None
    )
    return module.supports(x, None, None, weights, (None, None), None)
