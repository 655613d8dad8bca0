"""Every operation on every implementation, against its definition: the cases, and a check of one of them.

`test_every_operation.py` runs them on the CPU, on a GPU where there is one, and (this file as a script, in a
process of its own) on Triton's interpreter.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

if __name__ == "__main__":
    os.environ["TRITON_INTERPRET"] = "1"  # it is read at import

import torch
from torch import Tensor

from ehnn import Hypergraph
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph import pairs as pairs_module
from ehnn.hypergraph.pairs import selection
from ehnn.nn import EHNNMLP
from ehnn.ops import Mask, PhiWeights, use_backend
from ehnn.ops.additive_attention import ADDITIVE_ATTENTION
from ehnn.ops.attention_logits import LOGITS
from ehnn.ops.dispatch import Operation
from ehnn.ops.dropout import DROPOUT
from ehnn.ops.ehnn_mlp import EHNN_MLP
from ehnn.ops.generated_matmul import GENERATED_MATMUL, GENERATED_MIX
from ehnn.ops.grouped_matmul import GROUPED_MATMUL
from ehnn.ops.linear import LINEAR
from ehnn.ops.norm import NORM
from ehnn.ops.phi import PHI
from ehnn.ops.phi.steps import JOIN, SHIFTED_RELU
from ehnn.ops.segment_sum import BROADCAST_ROWS, SEGMENT_SUM
from ehnn.ops.softmax_sum import SOFTMAX_SUM
from ehnn.testing import random_hypergraph


class Case(NamedTuple):
    """An operation and the shapes of its named tensors; ``call`` hands them to an implementation."""

    operation: Operation
    shapes: dict[str, tuple[int, ...]]
    call: Callable[..., Any]
    """``(run, device, **tensors) -> Tensor``"""
    gain: float = 1.0
    """How much it enlarges small errors."""


if __name__ == "__main__":
    pairs_module.LONG = 3  # the interpreter is slow
HUGE = 300 if pairs_module.LONG == 256 else 11
"""Pairs of a row that is cut into chunks on a GPU."""


def odd_rows() -> SparsePattern:
    """Empty rows, a row of all columns, rows that are the same, columns in no row."""
    edges = [[], [0, 1, 2], list(range(HUGE)), [5], [], [1, 2], [1, 2], []]
    return Hypergraph.from_edges(edges, num_nodes=HUGE + 4).incidence


def one_each(rows: int, columns: int) -> SparsePattern:
    return selection(torch.arange(rows) * 7 % columns, columns)


def _sum(run: Any, device: str, x: Tensor, factors: bool = False) -> Tensor:
    pairs = odd_rows().to(device)
    scale = (
        torch.linspace(0.5, 2, pairs.num_rows, device=device),
        torch.linspace(-1, 1, x.shape[0], device=device),
    )
    return run(x, pairs, *(scale if factors else (None, None)))


def _softmax(run: Any, device: str, x: Tensor, logits: Tensor, scale: float) -> Tensor:
    return run(x, scale * logits, odd_rows().to(device))


def _masks(device: str, rows: int) -> tuple[Mask, Mask]:
    numbers = torch.arange(rows, device=device).flip(0) + 100
    seed = torch.tensor(2**40 + 7, device=device)
    return Mask(seed, 0.5), Mask(seed + 1, 0.25, numbers, 1000)


def _phi(run: Any, device: str, drops: bool = False, rows: int = 40, **t: Tensor) -> Tensor:
    codes = torch.arange(15, device=device).reshape(3, 5).sin().to(t["x"].dtype) if "code" in t else None
    w1 = t["w1"] if codes is None else torch.cat([t["w1"], t["code"]], 1)
    weights = PhiWeights(
        t.get("gamma"), t.get("beta"), ((w1, t["b1"]), (t["w2"], t["b2"])), (t["w3"], t["b3"]), t.get("skip")
    )
    masks = _masks(device, rows) if drops else (None, None)
    residual = (t["table"], one_each(rows, 4).to(device)) if "table" in t else None
    return run(t["x"], codes, one_each(rows, 3).to(device), weights, masks, residual)


def _phi_shapes(d_in: int, d: int, norm: bool = True, more: bool = True) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"x": (40, d_in)}
    shapes |= {"gamma": (d_in,), "beta": (d_in,)} if norm else {}
    shapes |= {"w1": (d, d_in), "b1": (d,), "w2": (d, d), "b2": (d,), "w3": (d, d), "b3": (d,)}
    shapes |= {"code": (d, 5), "table": (4, d)} if more else {}
    return shapes | ({"skip": (d, d_in)} if d_in != d else {})


def with_tensors(layer: EHNNMLP, tensors: dict[str, Tensor]) -> EHNNMLP:
    """The layer with these in the places of its parameters."""
    for name, value in tensors.items():
        owner, _, own = name.replace("__", ".").rpartition(".")
        layer.get_submodule(owner)._parameters[own] = value  # type: ignore[assignment]
    return layer


def _layer(options: dict[str, Any], ends: tuple[str, str]) -> Case:
    layer = EHNNMLP(16, 16, **options)
    h = random_hypergraph(14, 9, (1, 5), seed=0)
    names = {name.replace(".", "__"): tuple(p.shape) for name, p in layer.named_parameters()}
    rows = h.overlap(*ends).num_sources

    def call(run: Any, device: str, x: Tensor, **tensors: Tensor) -> Tensor:
        overlap = h.to(device).overlap(*ends)
        return run(x, overlap, with_tensors(copy.deepcopy(layer).to(device), tensors).parts())

    return Case(EHNN_MLP, {"x": (rows, 16), **names}, call)


def _logits(pooled: bool, ends: tuple[str, str]) -> Case:
    h = random_hypergraph(14, 9, (1, 5), seed=0)
    o = h.overlap(*ends)
    shapes = {"x": (o.num_sources, 8), "query": (1 + len(o.sizes.values), 8)}
    shapes |= {"weight": (16 if pooled else 8, 8), "bias": (16 if pooled else 8,)}

    linear = torch.nn.Linear(8, 16 if pooled else 8)

    def call(run: Any, device: str, x: Tensor, query: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        key = copy.deepcopy(linear).to(device)
        key._parameters.update(weight=weight, bias=bias)
        slots = h.to(device).overlap(*ends).source_sizes
        return torch.cat([t.flatten() for t in run(x, query, key, slots, 2, pooled)])

    return Case(LOGITS, shapes, call)


def _grouped(run: Any, device: str, x: Tensor, weight: Tensor) -> Tensor:
    return run(x, weight, torch.tensor([0, 3, 3, 8, 11, 12, 12], device=device))


def _generated(run: Any, device: str, x: Tensor, weight: Tensor) -> Tensor:
    """Keys are numbers of matrices."""
    ends = [0, 3, 3, 8, 11, 12]
    keys = torch.tensor([[1], [0], [4], [2], [3]], device=device)
    return run(x, lambda k: weight[k[:, 0]], keys, torch.tensor(ends, device=device), ends, weight.shape[2])


def _mixed(run: Any, device: str, x: Tensor, weight: Tensor) -> Tensor:
    keys = torch.arange(6, device=device).reshape(2, 3, 1)
    return run(x, lambda k: weight[k[:, 0]], keys, weight.shape[2])


def _table(run: Any, device: str, z: Tensor, table: Tensor, drops: bool) -> Tensor:
    mask = _masks(device, 40)[1] if drops else None
    return run(1 * z, table, one_each(40, 4).to(device) if len(table) > 1 else None, mask)


CASES: dict[str, Case] = {
    "sum": Case(SEGMENT_SUM, {"x": (HUGE + 4, 5)}, _sum),
    "sum of matrices": Case(SEGMENT_SUM, {"x": (HUGE + 4, 2, 3)}, _sum),
    "scaled sum": Case(SEGMENT_SUM, {"x": (HUGE + 4, 17)}, partial(_sum, factors=True)),
    "broadcast rows": Case(
        BROADCAST_ROWS, {"x": (3, 6)}, lambda run, device, x: run(x, one_each(40, 3).to(device))
    ),
    "softmax": Case(
        SOFTMAX_SUM, {"x": (HUGE + 4, 2, 3), "logits": (HUGE + 4, 2)}, partial(_softmax, scale=1.0)
    ),
    "wide softmax": Case(
        SOFTMAX_SUM, {"x": (HUGE + 4, 2, 3), "logits": (HUGE + 4, 2)}, partial(_softmax, scale=60.0), 60
    ),
    "additive attention": Case(
        ADDITIVE_ATTENTION, {"x": (HUGE + 4, 2, 3), "source": (HUGE + 4, 2), "target": (8, 2)},
        lambda run, device, **t: run(*t.values(), odd_rows().to(device)),
    ),
    "grouped": Case(GROUPED_MATMUL, {"x": (12, 3), "weight": (6, 3, 4)}, _grouped),
    "generated": Case(GENERATED_MATMUL, {"x": (12, 3), "weight": (5, 3, 4)}, _generated),
    "generated mix": Case(GENERATED_MIX, {"x": (4, 2, 3), "weight": (6, 3, 4)}, _mixed),
    "dropout": Case(DROPOUT, {"x": (40, 6)}, lambda run, device, x: run(x, _masks(device, 40)[1])),
    "dropout of matrices": Case(
        DROPOUT, {"x": (40, 2, 3)}, lambda run, device, x: run(x, _masks(device, 40)[0])
    ),
    "linear": Case(
        LINEAR, {"x": (9, 5), "weight": (4, 5), "bias": (4,)}, lambda run, device, **t: run(*t.values())
    ),
    "norm": Case(
        NORM, {"x": (9, 5), "weight": (5,), "bias": (5,)},
        lambda run, device, **t: torch.cat([a * (i + 1) for i, a in enumerate(run(*t.values(), 1e-5))]),
    ),
    "shifted relu": Case(SHIFTED_RELU, {"z": (40, 6), "table": (4, 6)}, partial(_table, drops=False)),
    "shifted relu, dropped": Case(SHIFTED_RELU, {"z": (40, 6), "table": (1, 6)}, partial(_table, drops=True)),
    "join": Case(
        JOIN, {"z": (40, 6), "x": (40, 6), "table": (4, 6)},
        lambda run, device, z, x, table: run(1 * z, x, table, one_each(40, 4).to(device)),
    ),
    "phi": Case(PHI, _phi_shapes(16, 16), _phi),
    "phi, dropped": Case(PHI, _phi_shapes(16, 16), partial(_phi, drops=True)),
    "phi without norm": Case(PHI, _phi_shapes(16, 16, norm=False), _phi),
    "phi of other width": Case(PHI, _phi_shapes(10, 16), partial(_phi, drops=True)),
    "phi without orders": Case(PHI, _phi_shapes(32, 32, more=False), _phi),
    "layer": _layer({}, ("nodes", "all")),
    "layer between hyperedges": _layer({"aggregation": "sum", "scale": 0.3}, ("edges", "edges")),
    "layer without pool": _layer({"global_interaction": False, "norm": False}, ("all", "nodes")),
    "layer without orders": _layer({"order_embedding": False}, ("edges", "nodes")),
    "logits": _logits(True, ("nodes", "edges")),
    "logits by size": _logits(True, ("edges", "edges")),
    "logits without pool": _logits(False, ("edges", "edges")),
}  # fmt: skip


def tensors_of(
    case: Case, dtype: torch.dtype, device: str, runs: int = 0, seed: int = 0
) -> dict[str, Tensor]:
    """Fresh leaves, not contiguous: every second number of a larger tensor."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for name, shape in case.shapes.items():
        wide = [*([runs] if runs else []), *shape[:-1], 2 * shape[-1]]
        drawn = torch.randn(wide, generator=generator)[..., ::2]
        drawn = drawn / shape[-1] ** 0.5 if len(shape) > 1 and name not in ("x", "z", "logits") else drawn
        found[name] = drawn.to(dtype).to(device).requires_grad_()
    return found


def outcome(case: Case, run: Any, tensors: dict[str, Tensor], device: str) -> dict[str, Tensor]:
    """The value and the gradient of every tensor by name."""
    y = case.call(run, device, **tensors)
    probe = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(y)
    grads = torch.autograd.grad(y, list(tensors.values()), probe, allow_unused=True)
    zeros = (torch.zeros_like(t) for t in tensors.values())
    filled = [g if g is not None else z for g, z in zip(grads, zeros, strict=True)]
    return {"value": y.detach(), **dict(zip(tensors, filled, strict=True))}


def check(name: str, implementation: str, dtype: torch.dtype, device: str = "cpu") -> None:
    """Values and all gradients err at most twice as much as the definition, and vmap is a loop."""
    case = CASES[name]
    (one,) = (i for i in case.operation.implementations if i.name == implementation)
    run = strict(one)
    # In bfloat16 a ReLU near 0 rounds to either side, processors differ in which, and a gradient is then
    # another one. A wrong implementation is wrong for every draw; a right one agrees on some.
    draws = 10 if dtype is torch.bfloat16 else 1
    for draw in range(draws):
        problem = difference(case, run, dtype, device, draw)
        if problem is None:
            break
    assert problem is None, f"{name} by {implementation}: {problem}"
    if dtype is torch.float32 and (name, implementation) not in NO_VMAP:
        many = tensors_of(case, dtype, device, runs=3)
        together = torch.vmap(lambda t: case.call(run, device, **t))(many)
        alone = torch.stack([case.call(run, device, **{k: t[r] for k, t in many.items()}) for r in range(3)])
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


def difference(case: Case, run: Any, dtype: torch.dtype, device: str, draw: int) -> str | None:
    """What differs from the definition by more than rounding, or None."""
    exact = {
        k: t.detach().double().requires_grad_() for k, t in tensors_of(case, dtype, device, seed=draw).items()
    }
    definition = case.operation.implementations[-1].run
    with use_backend("reference"):
        want = outcome(case, definition, exact, device)
        plain = outcome(case, definition, tensors_of(case, dtype, device, seed=draw), device)
    got = outcome(case, run, tensors_of(case, dtype, device, seed=draw), device)
    for key, value in got.items():
        assert value.dtype == dtype
        slack = 20 * case.gain * torch.finfo(dtype).eps * (1 + want[key].abs().max().item())
        error, allowed = ((t.double() - want[key]).abs().max().item() for t in (value, plain[key]))
        if error > 2 * allowed + slack:
            return f"{key} is off by {error:.3g}"
    return None


NO_VMAP = {("broadcast rows", "gather")}
"""Implementations that decline there."""


def strict(one: Any) -> Callable[..., Any]:
    """The implementation, or why it declines."""

    def run(*args: Any) -> Any:
        reason = one.supports(*args)
        if reason is not None:
            raise Declined(reason)
        return one.run(*args)

    return run


class Declined(Exception):
    """An implementation does not take these arguments."""


def implementations() -> list[tuple[str, str]]:
    """(case, implementation) of all that are not the definition."""
    return [(name, i.name) for name, case in CASES.items() for i in case.operation.implementations]


if __name__ == "__main__":
    import numpy as np

    from ehnn.ops.segment_sum import triton_kernels as of_sums

    np.seterr(all="ignore")  # masked lanes of a block compute on infinities
    linear = sys.modules["ehnn.ops.linear"]
    linear.FEWEST_ROWS = linear.NARROWEST = 1  # type: ignore[attr-defined]
    ran, declined = 0, []
    with use_backend("triton"):
        for case, implementation in implementations():
            if implementation not in ("triton", "halves", "fused"):
                continue
            for dtype in (torch.float32, torch.float64, torch.float16):  # NumPy has no bfloat16
                try:
                    check(case, implementation, dtype)
                    ran += 1
                except Declined as reason:
                    declined.append(f"{case} by {implementation}, {dtype}: {reason}")
        x = torch.ones(HUGE + 4, 3)
        x[-1] = torch.nan  # in no row
        (kernel,) = (i for i in SEGMENT_SUM.implementations if i.name == "triton")
        assert strict(kernel)(x, odd_rows(), None, None).isfinite().all()
        of_sums.MANY_ROWS, of_sums.SHORT = 1, HUGE  # several rows in a program, as many short ones have it
        for case, one in CASES.items():
            if one.operation is SEGMENT_SUM and (case, "triton") in implementations():
                check(case, "triton", torch.float32)
                ran += 1
    print("\n".join(declined))
    print(f"all triton implementations agree ({ran} cases)")
