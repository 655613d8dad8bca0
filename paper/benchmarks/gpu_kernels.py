"""φ and whole layers on a GPU: errors against float64, equal bits, time and memory.

``python paper/benchmarks/gpu_kernels.py``, on a GPU, in about two minutes. ``--part`` chooses among

- ``check``: φ of several widths, row counts, tables and dropouts, products of rows, and layers: the error of
  the value and of every gradient against float64, over that of plain PyTorch; whether two runs, and the
  replay of a CUDA graph, give the same bits.
- ``fuzz``: the fused φ on about sixty random cases, between zones of memory that must not change, three times
  each; then the machine code of every kernel that ran, for registers that nothing wrote.
- ``pair``: V → E → V at 10⁶ and 10⁷ incidences: EHNN-MLP, EHNN-Transformer, HGNN and PyG's HypergraphConv;
  and the kernels that ours run at 10⁷, with their times.
- ``cost``: the pair of the cost table in a CUDA graph.
- ``overlap``: the pairs of hyperedges of walmart-trips (``--data-dir``) that share nodes, found on the GPU.
- ``steps``: as ``pair``, with φ step by step (``EHNN_FUSED_PHI=0``).
- ``phi``: φ at 10⁵ to 10⁷ rows beside the steps that it replaces.
- ``products``: products of rows of width 64 and 256 beside PyTorch's.

Each part runs in a process of its own, so that a kernel that fails takes no other part with it. Kernels are
compiled in several processes first; what they compile is found in Triton's cache.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.datasets import load
from ehnn.hypergraph.pairs import selection
from ehnn.hypergraph.products import common_columns
from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn.nn.baselines import HGNNConv
from ehnn.ops import Mask, PhiWeights, linear, use_backend
from ehnn.ops.phi import fused, steps
from ehnn.ops.phi.naive import reference_phi
from ehnn.overlap.relation import overlap
from ehnn.testing import random_hypergraph
from ehnn_paper.cost.pair import Pair, drop_isolated, make_pair
from ehnn_paper.measure.machine import matmul_precision
from ehnn_paper.measure.machine_code import disassembled, read_before_written
from ehnn_paper.measure.memory import copy_bandwidth, peak_bytes
from ehnn_paper.measure.roofline import Work, ehnn_mlp, ehnn_transformer, hgnn, measured_machine
from ehnn_paper.measure.timing import Step, make_step, median, milliseconds, record_graph, split_times
from ehnn_paper.results import write_rows
from ehnn_paper.scale.figure import draw_performance
from ehnn_paper.scale.scale import made_hypergraph

DEVICE = "cuda"
PARTS = ("fuzz", "check", "pair", "cost", "overlap", "steps", "phi", "products")
START = time.perf_counter()
WARM_SECONDS = 40
FUSED = os.environ.get("EHNN_FUSED_PHI") != "0"
DRAWS = 5
PART_SECONDS = 45


def say(text: str) -> None:
    print(f"[{time.perf_counter() - START:5.0f}] {text}", flush=True)


# ---------------------------------------------------------------------- φ


def weights_of(d: int, deep: bool = True, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """γ, β, W₁, b₁, (W₂, b₂,) W₃, b₃ and a residual table."""
    generator = torch.Generator().manual_seed(d)
    shapes = [(d,), (d,), (d, d + 4), (d,), *([(d, d), (d,)] if deep else []), (d, d), (d,)]
    drawn = [torch.randn(*shape, generator=generator) for shape in shapes]
    return [(t / d**0.5 if t.dim() > 1 else t).to(DEVICE, dtype) for t in drawn]


def _same(t: Tensor) -> Tensor:
    return t


class Case:
    """A function of x and the parameters, by any implementation of φ."""

    def __init__(
        self, rows: int, d: int, numbers: int = 7, drop: float = 0.0, deep: bool = True,
        residual: bool = True, dtype: torch.dtype = torch.float32, draw: int = 0, runs: int = 1,
        second: float | None = None, numbered: bool = False,
    ) -> None:  # fmt: skip
        generator = torch.Generator(DEVICE).manual_seed(rows + draw)
        lead = (runs,) if runs > 1 else ()
        self.x = torch.randn(*lead, rows, d, generator=generator, device=DEVICE).to(dtype)
        self.grad = torch.randn(*lead, rows, d, generator=generator, device=DEVICE).to(dtype)
        self.params = weights_of(d, deep, dtype)
        if runs > 1:
            self.params = [torch.stack([t * (1 + i / 8) for i in range(runs)]) for t in self.params]
        self.deep, self.runs = deep, runs
        self.codes = torch.arange(4 * numbers, device=DEVICE).reshape(numbers, 4).sin()
        self.orders = selection(torch.arange(rows, device=DEVICE) * 5 % numbers, numbers)
        self.table = None
        if residual:
            self.table = torch.randn(*lead, numbers, d, generator=generator, device=DEVICE).to(dtype)
        seed = torch.tensor(2**40 + 7, device=DEVICE)
        of_rows = (torch.arange(rows, device=DEVICE).flip(0) + 100, rows + 1000) if numbered else (None, None)
        both = (drop, drop if second is None else second)[: 2 if deep else 1]
        self.masks = tuple(Mask(seed + i, p, *of_rows) if p else None for i, p in enumerate(both))
        self.name = f"{rows} rows of {d}, {numbers} orders, drop {both}, deep {deep}, {dtype}"
        self.name += f", {runs} runs" * (runs > 1) + ", numbered" * numbered + ", no table" * (not residual)

    def tensors(self) -> list[Tensor]:
        return [self.x, *self.params, *([] if self.table is None else [self.table])]

    def names(self) -> list[str]:
        middle = ["W2", "b2"] if self.deep else []
        last = [] if self.table is None else ["table"]
        return ["y", "x", "gamma", "beta", "W1", "b1", *middle, "W3", "b3", *last]

    def __call__(self, run: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        x, gamma, beta, *rest = tensors
        count = 3 if self.deep else 2
        layers = [(rest[2 * i], rest[2 * i + 1]) for i in range(count)]
        weights = PhiWeights(gamma, beta, tuple(layers[:-1]), layers[-1], None)
        residual = (rest[2 * count], self.orders) if self.table is not None else None
        return run(x, self.codes.to(x.dtype), self.orders, weights, self.masks, residual)

    def outcome(
        self,
        run: Callable[..., Tensor],
        dtype: torch.dtype | None = None,
        place: Callable[[Tensor], Tensor] = _same,
    ) -> list[Tensor]:
        """The value and every gradient; ``place`` says where inputs lie in memory."""
        leaves = [place(t.to(dtype or t.dtype, copy=True)).requires_grad_() for t in self.tensors()]
        y = torch.vmap(partial(self, run))(*leaves) if self.runs > 1 else self(run, *leaves)
        return [y.detach(), *torch.autograd.grad(y, leaves, self.grad.to(y.dtype))]

    def step(self, run: Callable[..., Tensor]) -> Step:
        leaves = [t.clone().requires_grad_() for t in self.tensors()]
        return Step(lambda: self(run, *leaves), leaves, self.grad)


def declines(case: Case) -> str | None:
    found: list[str | None] = []
    tensors = [t[0] if case.runs > 1 else t for t in case.tensors()]
    case(lambda *given: found.append(fused.supports(*given)) or given[0], *tensors)
    return found[0]


def check() -> None:
    """Errors relative to those of plain PyTorch, both against float64."""
    for precision in ("highest", "high"):
        worst: dict[str, tuple[float, str]] = {}
        with matmul_precision(precision):
            for given in check_cases(precision):
                try:
                    check_one(given, worst, precision)
                except Exception as error:
                    say(f"check {precision} {given}: {type(error).__name__} {str(error)[:100]}")
        for name, (ratio, where) in worst.items():
            say(f"check {precision}: worst {name:<22} {ratio:6.2f} times plain PyTorch ({where})")


def check_all() -> None:
    """φ, products of rows, then layers."""
    same_bits()
    check()
    check_products()
    check_layers()
    check_code()


def errors_of(
    outcome: Callable[[str], list[Tensor]], exact: list[Tensor], names: list[str]
) -> dict[str, float]:
    """By name, the error of ``outcome("fast")`` over that of ``outcome("plain")``."""
    fast, again, plain = outcome("fast"), outcome("fast"), outcome("plain")
    found = {
        f"TWO RUNS DIFFER in {n}": 9.0
        for n, a, b in zip(names, fast, again, strict=True)
        if not torch.equal(a, b)
    }
    for name, a, b, want in zip(names, fast, plain, exact, strict=True):
        found[name] = ratio_of(a, b, want)[2]
    return found


def same_bits() -> None:
    """Whether five runs of φ give the same bits, of several orders and of one."""
    for numbers in (7, 1):
        case = Case(200_003, 64, numbers)
        first, *others = (case.outcome(fused.run) for _ in range(5))
        differ = {
            n for o in others for n, a, b in zip(case.names(), first, o, strict=True) if not torch.equal(a, b)
        }
        say(f"check: {numbers} orders, five runs differ in {sorted(differ) or 'nothing'}")


def check_products() -> None:
    """`ehnn.ops.linear`, of halves."""
    for rows, n, k in ((20_001, 64, 64), (20_001, 256, 256), (20_001, 96, 40)):
        torch.manual_seed(n)
        inputs = [torch.randn(shape, device=DEVICE) for shape in ((rows, k), (n, k), (n,))]
        probe = torch.randn(rows, n, device=DEVICE)

        def outcome(kind: str, inputs: list[Tensor] = inputs, probe: Tensor = probe) -> list[Tensor]:
            cast = torch.float64 if kind == "exact" else torch.float32
            leaves = [t.to(cast, copy=True).requires_grad_() for t in inputs]
            y = linear(*leaves) if kind == "fast" else F.linear(*leaves)
            return [y.detach(), *torch.autograd.grad(y, leaves, probe.to(cast))]

        found = errors_of(outcome, outcome("exact"), ["y", "x", "W", "b"])
        say(f"check product {rows} x {k} -> {n}: {found}")


def check_layers() -> None:
    """Layers against the naive definition; few rows, but the kernels that many rows take."""
    from ehnn.ops.segment_sum import triton_kernels as of_sums

    products = sys.modules["ehnn.ops.linear"]
    products.FEWEST_ROWS = of_sums.MANY_ROWS = 512  # type: ignore[attr-defined]
    h = made_hypergraph(15_000, DEVICE)
    for make in (EHNNMLP, partial(EHNNTransformer, heads=4)):
        for ends in (("nodes", "edges"), ("edges", "nodes")):
            for draw in range(DRAWS):
                found = layer_errors(make, h.overlap(*ends).prepare(), draw)
                if max(found.values()) < 2:
                    break
            bad = {n: round(v, 2) for n, v in found.items() if not v < 2}
            where = f"{getattr(make, 'func', make).__name__} {ends}, draw {draw}"
            say(f"check layer {where}: worst {max(found.values()):.2f}, {bad}")


def layer_errors(make: Any, relation: Any, draw: int) -> dict[str, float]:
    torch.manual_seed(draw)
    layer = make(64, 64).to(DEVICE)
    doubled = deepcopy(layer).double()
    x = torch.randn(relation.num_sources, 64, device=DEVICE)
    probe = torch.randn(relation.num_targets, 64, device=DEVICE)
    names = ["y", "x", *(name for name, _ in layer.named_parameters())]

    def outcome(kind: str) -> list[Tensor]:
        model = doubled if kind == "exact" else layer
        leaf = x.to(next(model.parameters()).dtype, copy=True).requires_grad_()
        with use_backend("auto" if kind == "fast" else "reference"):
            y = model(leaf, relation)
            grads = torch.autograd.grad(y, [leaf, *model.parameters()], probe.to(y), allow_unused=True)
        return [y.detach(), *(torch.zeros_like(y) if g is None else g for g in grads)]

    found = errors_of(outcome, outcome("exact"), names)
    graph = torch.cuda.CUDAGraph()
    eager = outcome("fast")
    with torch.cuda.graph(graph):
        replayed = outcome("fast")
    graph.replay()
    if not all(map(torch.equal, eager, replayed)):
        found["THE REPLAY DIFFERS"] = 9.0
    return found


def check_cases(precision: str) -> list[tuple[Any, ...]]:
    """The arguments of `Case`."""
    kinds = (
        (64, 1, 0.0, True, False), (4000, 7, 0.0, True, True), (5000, 7, 0.5, True, True),
        (20_003, 7, 0.0, True, True), (20_001, 1, 0.1, False, False), (20_001, 100, 0.0, True, True),
    )  # fmt: skip
    if precision == "high":
        return [(kinds[3][0], 64, *kinds[3][1:], torch.float32)]
    wide = [(rows, 64, *more, torch.float32) for rows, *more in (kinds[3], *kinds[:3], *kinds[4:])]
    return [*wide, (20_003, 32, *kinds[3][1:], torch.float32), (20_003, 64, *kinds[3][1:], torch.bfloat16)]


def check_one(given: tuple[Any, ...], worst: dict[str, tuple[float, str]], precision: str) -> None:
    """Of several draws, the first whose errors are at most twice those of plain PyTorch.

    A ReLU near 0 may round to the other side in float32, and a gradient is then another one.
    """
    for draw in range(DRAWS):
        case = Case(*given, draw=draw)
        reason = declines(case)
        if reason:
            say(f"check: {case.name}: declined, {reason}")
            return
        exact = case.outcome(reference_phi, torch.float64)
        plain, got, again = (case.outcome(run) for run in (reference_phi, fused.run, fused.run))
        found = {}
        for name, a, b, c, want in zip(case.names(), got, plain, again, exact, strict=True):
            found[name] = ratio_of(a, b, want)
            if not torch.equal(a, c):
                off = float((a - c).norm())
                say(f"check {precision}: {case.name}: TWO RUNS DIFFER in {name} by {off:.3g}")
        if all(ratio < 2 for _, _, ratio in found.values()):
            break
    for name, (error, allowed, ratio) in found.items():
        key = f"{str(case.x.dtype).rpartition('.')[2]} {name}"
        if not ratio < 2:
            say(f"check {precision}: {case.name}: {name} off by {error:.3g}, plain {allowed:.3g}")
        if key not in worst or not ratio <= worst[key][0]:
            worst[key] = ratio, f"draw {draw}, {case.name}"


# ---------------------------------------------------------------------- many random cases

UNTOUCHED = 0x7FC5
"""Two bytes that are part of a NaN in float16, bfloat16 and float32."""
ZONE = 2048


class Zones:
    """`torch` for the kernels' modules, with memory that nobody may touch around each allocation.

    The memory itself is NaN at first too, so that what is not written shows in the result.
    """

    def __init__(self) -> None:
        self.buffers: list[tuple[Tensor, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def empty(self, *shape: Any, dtype: torch.dtype, device: Any) -> Tensor:
        sizes = torch.Size(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        words = sizes.numel() * dtype.itemsize // 2
        buffer = torch.full((words + 2 * ZONE,), UNTOUCHED, dtype=torch.int16, device=device)
        self.buffers.append((buffer, words))
        return buffer[ZONE : ZONE + words].view(dtype).view(sizes)

    def empty_like(self, t: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        return self.empty(t.shape, dtype=dtype or t.dtype, device=t.device)

    def holding(self, t: Tensor) -> Tensor:
        return self.empty_like(t).copy_(t)

    def intact(self) -> bool:
        """Whether nothing was written into a zone since the last call."""
        zones = [t for b, n in self.buffers for t in (b[:ZONE], b[ZONE + n :])]
        self.buffers.clear()
        return all(bool((torch.cat(zones[i : i + 64]) == UNTOUCHED).all()) for i in range(0, len(zones), 64))


FUZZ_KINDS: tuple[dict[str, Any], ...] = (
    {"d": 64, "deep": True, "many": True, "residual": True},
    {"d": 64, "deep": True, "many": False, "residual": False},
    {"d": 64, "deep": False, "many": True, "residual": True, "drop": 0.5},
    {"d": 64, "deep": True, "many": True, "residual": True, "drop": 0.5, "second": 0.25, "numbered": True},
    {"d": 64, "deep": True, "many": True, "residual": False, "drop": 0.0, "second": 0.1},
    {"d": 64, "deep": True, "many": True, "residual": True, "runs": 3, "drop": 0.5},
    {"d": 32, "deep": True, "many": True, "residual": True},
    {"d": 32, "deep": False, "many": False, "residual": True, "drop": 0.1, "numbered": True},
    {"d": 64, "deep": True, "many": True, "residual": True, "dtype": torch.bfloat16},
    {"d": 32, "deep": True, "many": True, "residual": True, "dtype": torch.bfloat16, "drop": 0.5},
    {"d": 64, "deep": True, "many": True, "residual": True, "precision": "high"},
    {"d": 64, "deep": False, "many": False, "residual": False, "precision": "high"},
    {"d": 64, "deep": True, "many": True, "residual": True, "precision": "high", "runs": 3, "drop": 0.5},
    {
        "d": 64,
        "deep": False,
        "many": True,
        "residual": True,
        "precision": "high",
        "drop": 0.1,
        "numbered": True,
    },
    {"d": 64, "deep": True, "many": True, "residual": False, "precision": "high", "drop": 0.0, "second": 0.1},
    {"d": 32, "deep": True, "many": True, "residual": True, "precision": "high", "drop": 0.5},
)
"""What kernels are compiled for; the sizes of each are drawn."""


def fuzz_cases(each: int = 5) -> list[tuple[str, dict[str, Any]]]:
    """The precision and the arguments of `Case` of each case, the same in every call."""
    from ehnn.ops.phi.fused_kernels import FEW_ROWS

    generator = random.Random(29)
    full = 132 * 64  # rows that a block on each processor takes
    found = []
    for kind in FUZZ_KINDS:
        given = {k: v for k, v in kind.items() if k not in ("many", "precision")}
        for number in range(each):
            edge = generator.choice((64, 128, 1024, FEW_ROWS, full, 4 * full, 6 * full, 12 * full))
            rows = max(64, edge + generator.choice((-1, 0, 1))) if number else 64
            rows = int(64 * 4700 ** generator.random()) if number == each - 1 else rows
            numbers = generator.choice((2, 7, 16, 17, 64, 1000)) if kind["many"] else 1
            found.append((kind.get("precision", "highest"), {"rows": rows, "numbers": numbers, **given}))
    return found


def fuzz() -> None:
    """The fused φ: errors at most twice those of plain PyTorch, memory around it untouched, equal runs."""
    from ehnn.ops import triton_halves
    from ehnn.ops.phi import fused_kernels, hopper_kernels

    zones, worst, faults = Zones(), 0.0, 0
    for module in (fused_kernels, hopper_kernels, triton_halves):
        module.torch = zones  # type: ignore[attr-defined]
    cases = fuzz_cases()
    for precision, given in cases:
        with matmul_precision(precision):
            ratio, fault = fuzz_one(given, zones)
        worst, faults = max(worst, ratio), faults + bool(fault)
        if fault:
            say(f"fuzz FAULT {precision} {Case(**given).name}: {fault}")
    say(f"fuzz: {len(cases)} cases, {faults} with faults, worst error {worst:.2f} times plain PyTorch")
    check_code()


def fuzz_one(given: dict[str, Any], zones: Zones) -> tuple[float, str]:
    """The worst error over that of plain PyTorch, and what is wrong; of several draws, see `check_one`."""
    fault = ""
    for draw in range(DRAWS):
        case = Case(**given, draw=draw)
        if reason := declines(case):
            return 0.0, f"declined, {reason}"
        exact, plain = case.outcome(reference_phi, torch.float64), case.outcome(reference_phi)
        got, *again = (case.outcome(fused.run, place=zones.holding) for _ in range(3))
        names = case.names()
        if not zones.intact():
            return 9.0, "memory of others was written"
        if any(not torch.equal(a, b) for other in again for a, b in zip(got, other, strict=True)):
            return 9.0, "runs differ"
        found = {n: ratio_of(*three)[2] for n, *three in zip(names, got, plain, exact, strict=True)}
        worst = max(v if v == v else math.inf for v in found.values())
        fault = ", ".join(f"{n} {v:.2f}" for n, v in found.items() if not v < 2)
        if not fault:
            break
    return worst, fault


def check_code() -> None:
    """Registers that our kernels in this process read before they write them."""
    names = r"ehnn\.ops\.(phi|linear|softmax_sum)\..*kernels"
    modules = [m for name, m in sys.modules.items() if re.fullmatch(names, name)]
    kernels = {
        f"{kernel.__module__} {kernel.__name__} {key}": compiled.asm["cubin"]
        for kernel in {k for m in modules for k in vars(m).values() if hasattr(k, "device_caches")}
        for caches in kernel.device_caches.values()
        for key, compiled in caches[0].items()
    }
    with ThreadPoolExecutor(16) as pool:
        texts = dict(zip(kernels, pool.map(disassembled, kernels.values()), strict=True))
    with ProcessPoolExecutor(16, multiprocessing.get_context("fork")) as processes:
        for name, bad in zip(texts, processes.map(read_before_written, texts.values()), strict=True):
            if bad:
                say(f"code FAULT {name}: {bad}")
    say(f"code: {len(texts)} kernels were looked at")


def ratio_of(got: Tensor, plain: Tensor, exact: Tensor) -> tuple[float, float, float]:
    """The errors of both, and the first over the second."""
    error, allowed = (
        float((t.double() - exact).norm() / exact.norm().clamp(min=1e-30)) for t in (got, plain)
    )
    return error, allowed, error / max(allowed, float(torch.finfo(got.dtype).eps) / 4)


def phi_sizes(sizes: tuple[int, ...] = (10**5, 10**6, 10**7)) -> None:
    for d in (64, 32):
        for rows in sizes:
            case = Case(rows, d)
            for precision in ("highest", "high"):
                with matmul_precision(precision):
                    for name, run in (("steps", steps.run), ("fused", fused.run)):
                        if name == "fused" and declines(case):
                            continue
                        try:
                            time_phi(case, precision, name, run)
                        except Exception as error:
                            say(f"phi {case.name} {name}: {type(error).__name__} {str(error)[:100]}")
            del case
            free()


def time_phi(case: Case, precision: str, name: str, run: Callable[..., Tensor]) -> None:
    step = case.step(run)
    times = split_times({"": step}, 5, DEVICE, 2)[""]
    forward, backward = median(times["forward"]), median(times["backward"])
    rows, d = case.x.shape
    operations = 22 * d * d * rows / (forward + backward) / 1e9
    peak = peak_bytes(step, DEVICE) / 1e6
    say(
        f"phi {rows:>9} rows of {d:<3} {precision:<7} {name:<5} forward {forward:8.3f}"
        f" backward {backward:8.3f} total {forward + backward:8.3f} ms, {operations:6.1f} TFLOP/s,"
        f" {peak:8.1f} MB"
    )


# ---------------------------------------------------------------------- layers


def models(h: Any, width: int) -> dict[str, Callable[[], tuple[Any, Callable[[Tensor], Tensor]]]]:
    def pair(layer: Any) -> tuple[Any, Callable[[Tensor], Tensor]]:
        model = Pair(layer, layer, h, "edges").to(DEVICE)
        for relation in model.overlaps:
            relation.prepare()
        return model, model

    def hgnn() -> tuple[Any, Callable[[Tensor], Tensor]]:
        conv = HGNNConv(width, width).to(DEVICE)
        return conv, lambda x: conv(x, h)

    def pyg() -> tuple[Any, Callable[[Tensor], Tensor]]:
        from torch_geometric.nn import HypergraphConv

        conv, index = HypergraphConv(width, width).to(DEVICE), h.index
        return conv, lambda x: conv(x, index, num_edges=h.num_edges)

    return {
        "ehnn-mlp": partial(pair, partial(EHNNMLP, width, width)),
        "ehnn-transformer": partial(pair, partial(EHNNTransformer, width, width, heads=4)),
        "hgnn": hgnn,
        "pyg HypergraphConv": pyg,
    }


def pairs(sizes: tuple[int, ...] = (10**6, 10**7), width: int = 64) -> None:
    for size in sizes:
        h = made_hypergraph(size, DEVICE)
        x = torch.randn(h.num_nodes, width, device=DEVICE).requires_grad_()
        for name, make in models(h, width).items():
            if not FUSED and not name.startswith("ehnn"):
                continue
            for precision in ("highest", "high") if name.startswith("ehnn") else ("highest",):
                try:
                    with matmul_precision(precision):
                        time_pair(name, make, h, x, size, precision)
                except Exception as error:
                    say(f"pair {size:.0e} {name} {precision}: {type(error).__name__} {str(error)[:150]}")
                free()
        del h, x
        free()


def time_pair(name: str, make: Any, h: Any, x: Tensor, size: int, precision: str) -> None:
    machine = measured_machine(DEVICE, "tf32" if precision == "high" else "float32")
    free()
    torch.manual_seed(0)
    model, forward = make()
    step = make_step(model, lambda: forward(x), x)
    step()
    eager = median(milliseconds(step, 5, DEVICE, 1))
    peak = peak_bytes(step, DEVICE) / 1e6
    graph = float("nan")
    if name.startswith("ehnn") or name == "hgnn":
        graph = median(milliseconds(record_graph(step), 5, DEVICE, 1))
    counts = {"ehnn-mlp": ehnn_mlp, "ehnn-transformer": partial(ehnn_transformer, heads=4)}
    width = x.shape[1]
    if name in counts:
        work = sum((counts[name](one, width, width) for one in model.overlaps), Work())
    else:
        work = hgnn(h, width, width)
    beside, _ = machine.beside(work.step, eager if graph != graph else graph)
    kind = "pair" if FUSED else "steps"
    times = f"eager {eager:8.3f} graph {graph:8.3f} ms {peak:9.1f} MB"
    say(f"{kind} {size:.0e} {name:<20} {precision:<7} {times}  {beside}")
    if size == 10**7 and name in counts and precision == "highest":
        profile(name, step)


def profile(name: str, step: Callable[[], Any]) -> None:
    """The kernels of a step."""
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as found:
        step()
        torch.cuda.synchronize()
    times: dict[str, list[float]] = {}
    for event in found.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times.setdefault(event.name, []).append(event.time_range.elapsed_us())
    total = sum(map(sum, times.values()))
    say(f"profile {name}: {sum(map(len, times.values()))} launches, {total / 1e3:.3f} ms")
    for kernel, all_of_it in sorted(times.items(), key=lambda one: -sum(one[1]))[:30]:
        print(f"  {sum(all_of_it) / 1e3:8.3f} ms {len(all_of_it):4} x {kernel[:100]}", flush=True)


def products(rows: int = 10**6) -> None:
    for width in (64, 256):
        x, w = torch.randn(rows, width, device=DEVICE), torch.randn(width, width, device=DEVICE)
        x, w = x.requires_grad_(), w.requires_grad_()
        for name, run in (("halves", linear), ("PyTorch", F.linear)):
            step = Step(lambda run=run, x=x, w=w: run(x, w), [x, w], torch.randn(rows, width, device=DEVICE))
            times = split_times({"": step}, 5, DEVICE, 2)[""]
            forward, backward = median(times["forward"]), median(times["backward"])
            rate = 6 * rows * width**2 / (forward + backward) / 1e9
            both = f"forward {forward:.3f} backward {backward:.3f} ms"
            say(f"product {width:3} {name:<8} {both}, {rate:.0f} TFLOP/s")


ALL_COSTS = ("ehnn-mlp", "ehnn-transformer")


def cost(names: tuple[str, ...] = ALL_COSTS) -> None:
    h = drop_isolated(random_hypergraph(1024, 128, orders=(2, 10), seed=0)).to(DEVICE)
    x = torch.randn(h.num_nodes, 64, device=DEVICE).requires_grad_()
    for name in names:
        pair = make_pair(name, h)
        for relation in pair.overlaps:
            relation.prepare()
        step = make_step(pair, lambda pair=pair: pair(x), x)
        step()
        eager = median(milliseconds(step, 20, DEVICE))
        graph = median(milliseconds(record_graph(step), 50, DEVICE))
        say(f"cost {name:<20} eager {eager:7.3f} graph {graph:7.3f} ms")
        if names == ALL_COSTS:
            profile(name, step)


def overlaps(data_dir: str | None) -> None:
    h = load("walmart-1", data_dir, download=False).to(DEVICE)
    for _ in range(3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        found = common_columns(h.incidence, h.incidence)
        torch.cuda.synchronize()
        counted = time.perf_counter() - begin
        pairs = found[0].shape[0]
        del found
        begin = time.perf_counter()
        relation = overlap(h, "edges", "edges")
        torch.cuda.synchronize()
        whole = time.perf_counter() - begin
        say(f"overlap {pairs} pairs: product {counted:.3f} s, whole relation {whole:.3f} s, {relation}")
        del relation
        free()


def free() -> None:
    gc.collect()
    torch.cuda.empty_cache()


# ---------------------------------------------------------------------- compiling in several processes


def warm(job: tuple[str, Any]) -> str:
    """Compile what a part needs, on few rows."""
    kind, what = job
    begin = time.perf_counter()
    try:
        if kind in ("check", "phi"):
            case = Case(*what[0])
            with matmul_precision(what[1]):
                if declines(case) is None:
                    case.outcome(fused.run)
        elif kind == "fuzz":
            with matmul_precision(what[0]):
                Case(**what[1]).outcome(fused.run)
        elif kind == "cost":
            cost(what)
        else:
            h = made_hypergraph(100_000, DEVICE)
            x = torch.randn(h.num_nodes, 64, device=DEVICE).requires_grad_()
            with matmul_precision(what[1]):
                model, forward = models(h, 64)[what[0]]()
                torch.autograd.grad(forward(x).sum(), [x, *model.parameters()], allow_unused=True)
    except Exception as error:
        return f"warm {job}: {type(error).__name__} {str(error).splitlines()[0][:150]}"
    return f"warm {kind} {what}: {time.perf_counter() - begin:.1f} s"


def warm_jobs(parts: list[str]) -> list[tuple[str, Any]]:
    jobs: list[tuple[str, Any]] = []
    if "fuzz" in parts:
        from ehnn.ops.phi.fused_kernels import FEW_ROWS

        jobs += [
            ("fuzz", (precision, {**given, "rows": rows}))
            for precision, given in fuzz_cases(1)
            for rows in (64, FEW_ROWS)
        ]
    if "check" in parts:
        for precision in ("highest", "high"):
            jobs += [("check", (given, precision)) for given in check_cases(precision)]
    if "pair" in parts:
        names = "ehnn-mlp", "ehnn-transformer"
        jobs += [("pair", (name, precision)) for name in names for precision in ("highest", "high")]
    if "cost" in parts:
        jobs += [("cost", ("ehnn-mlp",)), ("cost", ("ehnn-transformer",))]
    if "phi" in parts:
        jobs += [("phi", ((20_000, d), "highest")) for d in (32, 64)]
    return jobs


def warm_up(parts: list[str], processes: int) -> None:
    """Each process takes every so many-th job; one that does not end in time is ended."""
    jobs = warm_jobs(parts)
    if not jobs or processes < 2:
        return
    command = [sys.executable, __file__, "--part", *parts, "--processes", str(processes), "--warm"]
    running = [subprocess.Popen([*command, str(number)]) for number in range(min(processes, len(jobs)))]
    for one in running:
        try:
            one.wait(max(0.1, WARM_SECONDS - (time.perf_counter() - START)))
        except subprocess.TimeoutExpired:
            one.kill()
    say(f"compiled in {len(running)} processes, which ended with {[one.poll() for one in running]}")


# ---------------------------------------------------------------------- rows of what was printed

PHI_LINE = re.compile(
    r"phi +(\d+) rows of (\d+) +(\w+) +(\w+) +forward +([\d.]+) backward +([\d.]+) total +([\d.]+) ms,"
    r" +[\d.]+ TFLOP/s, +([\d.]+) MB"
)
PAIR_LINE = re.compile(
    r"(pair|steps) (\d)e\+0(\d) (\S+(?: HypergraphConv)?) +(\w+) +"
    r"eager +([\d.]+) graph +([\d.na]+) ms +([\d.]+) MB"
    r"(?: +needs ([\d.e+]+) MB, ([\d.e+]+) GFLOP: ([\d.e-]+) ms \(\w+\), x([\d.]+))?"
)
COST_LINE = re.compile(r"cost (?:table, )?(\S+) +eager +([\d.]+) graph +([\d.]+) ms")
PRODUCT_LINE = re.compile(r"product +(\d+) (\w+) +forward ([\d.]+) backward ([\d.]+) ms")
OVERLAP_LINE = re.compile(r"overlap (\d+) pairs: product ([\d.]+) s, whole relation ([\d.]+) s")


def rows_of(text: str) -> list[dict[str, Any]]:
    """Rows (setting, model, metric, mean, runs) of what the parts ``phi``, ``pair`` and ``cost`` printed.

    Layers of ours ran with the fused φ, and their rows say so.
    """
    found: list[tuple[str, str, dict[str, str], int]] = []
    for rows, d, precision, model, forward, backward, total, peak in PHI_LINE.findall(text):
        values = {"forward_ms": forward, "backward_ms": backward, "total_ms": total, "peak_mb": peak}
        found.append(
            (f"{int(rows):.0e} rows of {d}, cuda, {precision}".replace("e+0", "e"), model, values, 5)
        )
    needs = "needed_mb", "needed_gflop", "roofline_ms", "times_roofline"
    for kind, first, power, model, precision, eager, graph, peak, *needed in PAIR_LINE.findall(text):
        if not model.startswith("ehnn") and kind == "steps":
            continue
        own = f"{model}, {'fused phi' if kind == 'pair' else 'steps'}" if model.startswith("ehnn") else model
        values = {
            "eager_ms": eager,
            "graph_ms": graph,
            "peak_mb": peak,
            **dict(zip(needs, needed, strict=True)),
        }
        found.append((f"{first}e{power} incidences, cuda, {precision}", own, values, 5))
    for model, eager, graph in COST_LINE.findall(text):
        found.append(("cost table, cuda", f"{model}, fused phi", {"eager_ms": eager}, 20))
        found.append(("cost table, cuda", f"{model}, fused phi", {"graph_ms": graph}, 50))
    for width, model, forward, backward in PRODUCT_LINE.findall(text):
        values = {"forward_ms": forward, "backward_ms": backward}
        found.append((f"product of 1e6 rows with {width} x {width}, cuda", model, values, 5))
    times = [(pairs, float(whole)) for pairs, _, whole in OVERLAP_LINE.findall(text)]
    if times:
        found.append((f"{times[0][0]} overlaps of walmart-trips, cuda", "overlap",
                      {"seconds": f"{median([one for _, one in times])}"}, len(times)))  # fmt: skip
    return [
        {"setting": setting, "model": model, "selection": "none", "metric": metric, "mean": float(value),
         "std": None, "runs": 1 if metric == "peak_mb" else runs, "paper": None}
        for setting, model, values, runs in found for metric, value in values.items()
        if value not in ("", "nan")
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--data-dir")
    parser.add_argument("--processes", type=int, default=12, help="that compile at the start")
    parser.add_argument(
        "--alone", action="store_true", help="run the parts in this process, and compile there"
    )
    parser.add_argument("--together", action="store_true", help="run the parts in one process, not one each")
    parser.add_argument("--warm", type=int, help="compile the jobs of this process, and end")
    parser.add_argument("--read", type=Path, help="write rows of what an earlier call printed into this file")
    parser.add_argument("--ran", help="with --read: command, commit, hardware and date, between semicolons")
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args()
    if given.read is not None:
        names = "command", "commit", "hardware", "date"
        about = dict(zip(names, (part.strip() for part in given.ran.split(";")), strict=True))
        write_rows("gpu-kernels", [{**row, **about} for row in rows_of(given.read.read_text())], given.out)
        draw_performance(given.out)
        return
    if not torch.cuda.is_available():
        print("skipped: this benchmark needs a GPU")
        return
    if given.warm is not None:
        for job in warm_jobs(given.part)[given.warm :: given.processes]:
            line = warm(job)
            if "Error" in line or "Exception" in line:
                say(line)
        return
    if given.alone:
        run = {
            "fuzz": fuzz, "check": check_all, "pair": pairs, "cost": cost,
            "overlap": partial(overlaps, given.data_dir),
            "steps": pairs, "phi": phi_sizes, "products": products,
        }  # fmt: skip
        for part in given.part:
            say(f"part {part}")
            run[part]()
        return
    warm_up(given.part, given.processes)
    say(f"copy {copy_bandwidth(DEVICE, 2048) / 1e9:.0f} GB/s, {torch.cuda.get_device_name()}")
    for part in [given.part] if given.together else [[one] for one in given.part]:
        env = {**os.environ, **({"EHNN_FUSED_PHI": "0"} if part == ["steps"] else {})}
        more = ["--data-dir", given.data_dir] if given.data_dir else []
        command = [sys.executable, __file__, "--alone", "--part", *part, *more]
        try:
            done = subprocess.run(command, env=env, timeout=PART_SECONDS * len(part), check=False)
            say(f"part {' '.join(part)} ended with {done.returncode}")
        except subprocess.TimeoutExpired:
            say(f"part {' '.join(part)} took too long")


if __name__ == "__main__":
    main()
