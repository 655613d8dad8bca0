"""Cases for the kernel of `ehnn.ops.linear`, run by test_ops_linear.py in a process of their own."""

from __future__ import annotations

import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import torch
import torch.nn.functional as F

from ehnn.ops import use_backend

module = sys.modules["ehnn.ops.linear"]  # the name in ehnn.ops is the function's
module.FEWEST_ROWS = module.NARROWEST = 1


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def both(fn, *inputs: torch.Tensor) -> list[torch.Tensor]:
    """The output and every gradient."""
    leaves = [t.clone().requires_grad_() for t in inputs]
    y = fn(*leaves)
    return [y.detach(), *torch.autograd.grad(y, leaves, normal(*y.shape, seed=9))]


def check(fn, plain, *inputs: torch.Tensor) -> None:
    with use_backend("triton"):
        got = both(fn, *inputs)
    for a, b in zip(got, both(plain, *inputs), strict=True):
        assert a.shape == b.shape
        assert torch.allclose(a, b, atol=1e-4), (a - b).abs().max()


if __name__ == "__main__":
    for rows, n, k in ((1, 1, 1), (70, 130, 33), (64, 128, 64), (129, 17, 96)):
        x, w, b = normal(rows, k, seed=0), normal(n, k, seed=1), normal(n, seed=2)
        check(module.linear, F.linear, x, w)
        check(module.linear, F.linear, x, w, b)
        check(lambda x, w: module.linear(x, w.t()), lambda x, w: x @ w, x, w.t().contiguous())
        check(lambda x, w, b: module.linear(x.t(), w, b), lambda x, w, b: F.linear(x.t(), w, b), x.t(), w, b)
    runs = normal(3, 5, 33, seed=3), normal(3, 7, 33, seed=4), normal(3, 7, seed=5)
    check(torch.vmap(module.linear), torch.vmap(F.linear), *runs)
    dims = (0, None, None)  # runs that share their weights
    check(torch.vmap(module.linear, dims), torch.vmap(F.linear, dims), runs[0], runs[1][0], runs[2][0])
    x = normal(4, 33, seed=6)
    x[2] = float("inf")
    with use_backend("triton"):
        assert module.linear(x, runs[1][0])[:2].isfinite().all()
        first = normal(2, 3, seed=7).requires_grad_()
        square = torch.autograd.grad(module.linear(first, first).pow(2).sum(), first, create_graph=True)[0]
        again = torch.autograd.grad(square.sum(), first)[0]
    plain = torch.autograd.grad((first @ first.t()).pow(2).sum(), first, create_graph=True)[0]
    assert torch.allclose(again, torch.autograd.grad(plain.sum(), first)[0], atol=1e-4)
    with use_backend("triton"):  # the compiler finds no break in the graph
        whole = torch.compile(module.linear, backend="aot_eager", fullgraph=True)
        check(whole, F.linear, normal(5, 33, seed=0), normal(7, 33, seed=1), normal(7, seed=2))
        graphs: list[str] = []
        noted = torch.compile(
            module.linear, backend=lambda graph, _: graphs.append(graph.code) or graph.forward
        )
        for precision in ("highest", "high"):  # a choice that what was compiled before notices
            torch.set_float32_matmul_precision(precision)
            noted(normal(5, 33, seed=0), normal(7, 33, seed=1))
    assert ["_C._nn.linear" in code for code in graphs] == [False, True], graphs
    print("all linear cases passed")
