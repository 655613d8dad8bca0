"""Patterns to sum over, and the measure of error: twice that of the plain version against float64."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ehnn import Hypergraph
from ehnn.hypergraph import SparsePattern
from ehnn.testing import random_hypergraph


def patterns() -> dict[str, SparsePattern]:
    """Rows × columns patterns by name."""
    odd = Hypergraph.from_edges([[], [0, 1, 2], [5], [], [1, 2], [1, 2], []], num_nodes=8)
    return {
        "random": random_hypergraph(60, 40, (1, 12), seed=0).incidence,
        "odd": odd.incidence,
        "transposed": odd.incidence.transpose(),
        "single-node rows": Hypergraph.from_edges([[3], [3], [0]], num_nodes=4).incidence,
        "one row": Hypergraph.from_edges([list(range(300))]).incidence,
    }


def empty_patterns() -> dict[str, SparsePattern]:
    """Patterns without pairs."""
    return {
        "empty rows": Hypergraph.from_edges([[], []], num_nodes=3).incidence,
        "no rows": Hypergraph.from_edges([], num_nodes=3).incidence,
        "no columns": Hypergraph.from_edges([[], []], num_nodes=0).incidence,
        "nothing": Hypergraph.from_edges([], num_nodes=0).incidence,
    }


def long_pattern(length: int) -> SparsePattern:
    """One row with all columns, between two small ones."""
    node = torch.cat([torch.tensor([0]), torch.arange(length), torch.tensor([1, 2])])
    edge = torch.cat([torch.tensor([0]), torch.ones(length, dtype=torch.int64), torch.tensor([2, 2])])
    return Hypergraph.from_incidence(torch.stack([node, edge]), length, 4).incidence


def values_and_gradients(fn: Callable[..., Tensor], inputs: Sequence[Tensor], seed: int = 0) -> list[Tensor]:
    """The output of ``fn`` and the gradient of every input, for one random output gradient."""
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    y = fn(*leaves)
    probe = torch.randn(y.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return [y.detach(), *torch.autograd.grad(y, leaves, probe.to(y))]


def assert_as_good_as_plain(
    fast: Callable[..., Tensor], plain: Callable[..., Tensor], inputs: Sequence[Tensor]
) -> None:
    """Output and gradients of ``fast`` err at most twice as much as those of ``plain``.

    The yardstick is ``plain`` in float64 on the same (rounded) inputs. The slack is a few roundings of
    the largest entry of the result or of the first input, of which a result may be a difference.
    """
    exact = values_and_gradients(plain, [t.double() for t in inputs])
    names = ["output", *(f"gradient of input {i}" for i in range(len(inputs)))]
    got, expected = values_and_gradients(fast, inputs), values_and_gradients(plain, inputs)
    for name, a, b, want in zip(names, got, expected, exact, strict=True):
        assert a.shape == want.shape
        assert a.dtype == b.dtype
        if want.numel() == 0:
            continue
        scale = max(float(t.abs().max()) for t in (want, inputs[0]) if t.numel())
        slack = 4 * torch.finfo(a.dtype).eps * scale
        error, allowed = ((t.double() - want).abs().max() for t in (a, b))
        assert error <= 2 * allowed + slack, f"{name}: error {error:.3g}, plain {allowed:.3g}"


def assert_passes_interpreted(script: str, says: str) -> None:
    """A script beside this file, run by Triton's interpreter: the kernels of a GPU on a CPU.

    On a machine with a GPU they are tested compiled (`test_on_a_gpu` of `test_every_operation.py`).
    """
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU: the kernels run compiled")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(script))], capture_output=True, text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"}, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert says in done.stdout
