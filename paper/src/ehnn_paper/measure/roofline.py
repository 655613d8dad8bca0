r"""What a layer needs at least: bytes through memory and operations of products, and the time for them.

Every network, sum and product reads its inputs once and writes its output once; nothing else is moved. A
network of several products (φ) keeps its activations to itself. Backward, it reads its input and the gradient
of its output, and writes the gradient of its input. Operations are those of matrix products, two for each
multiplication and addition. Backward has twice as many as forward. The machine needs
:math:`\max(\text{bytes} / \text{bandwidth}, \text{operations} / \text{rate})`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

import torch

from ehnn.hypergraph import Hypergraph
from ehnn.overlap import Overlap

from .machine import is_gpu, matmul_precision
from .memory import copy_bandwidth
from .timing import milliseconds

FLOAT, INDEX = 4, 8
"""Bytes of a number and of an index."""


class Need(NamedTuple):
    """Bytes through memory and operations of products."""

    bytes: float = 0.0
    operations: float = 0.0


NOTHING = Need()


@dataclass(frozen=True)
class Work:
    """What the two directions need.

    >>> product(10, 2, 3) + product(10, 3, 1)
    Work(forward=Need(bytes=360.0, operations=180.0), backward=Need(bytes=560.0, operations=360.0))
    """

    forward: Need = NOTHING
    backward: Need = NOTHING

    def __add__(self, other: Work) -> Work:
        pairs = (self.forward, other.forward), (self.backward, other.backward)
        return Work(*(Need(*map(sum, zip(a, b, strict=True))) for a, b in pairs))

    @property
    def step(self) -> Need:
        """Both directions."""
        return Need(*map(sum, zip(self.forward, self.backward, strict=True)))


def network(rows: int, *widths: int) -> Work:
    """An MLP of these widths: φ has four."""
    operations = 2.0 * rows * sum(a * b for a, b in pairwise(widths))
    first, last = FLOAT * rows * widths[0], FLOAT * rows * widths[-1]
    return Work(Need(float(first + last), operations), Need(float(2 * first + last), 2 * operations))


def product(rows: int, d_in: int, d_out: int) -> Work:
    """Rows times a matrix."""
    return network(rows, d_in, d_out)


def sums(pairs: int, cols: int, rows: int, d: int) -> Work:
    """A sum over the rows of a pattern; its gradient is a sum over the columns."""
    need = Need(float(FLOAT * d * (cols + rows) + INDEX * (pairs + rows)))
    return Work(need, Need(float(FLOAT * d * (cols + rows) + INDEX * (pairs + cols))))


def ehnn_mlp(overlap: Overlap, d_in: int, d_out: int, pooled: bool = True) -> Work:
    """`ehnn.nn.EHNNMLP`."""
    groups = overlap.num_groups + (overlap.num_members if pooled else 0)
    networks = network(overlap.num_sources, d_in, d_out, d_out, d_out) + network(groups, *[d_out] * 4)
    return networks + network(overlap.num_targets, *[d_out] * 4) + _sums(overlap, d_out)


def ehnn_transformer(overlap: Overlap, d_in: int, d_out: int, heads: int) -> Work:
    """`ehnn.nn.EHNNTransformer`: in addition values, logits, the merge of heads and the last MLP."""
    logits = heads * (1 + overlap.sizes.values.shape[0])
    values = product(overlap.num_sources, d_out, d_out + logits)
    merged = product(overlap.num_groups + overlap.num_members, d_out, d_out)
    return ehnn_mlp(overlap, d_in, d_out) + values + merged + network(overlap.num_targets, *[d_out] * 3)


def all_deep_sets(overlap: Overlap, d_in: int, d_out: int) -> Work:
    """`ehnn.nn.baselines.AllDeepSets`."""
    networks = network(overlap.num_sources, d_in, d_out, d_out) + network(overlap.num_targets, *[d_out] * 3)
    return networks + _merged_sums(overlap, d_out)


def all_set_transformer(overlap: Overlap, d_in: int, d_out: int) -> Work:
    """`ehnn.nn.baselines.AllSetTransformer`."""
    products = product(overlap.num_sources, d_in, 2 * d_out) + network(overlap.num_targets, *[d_out] * 3)
    return products + _merged_sums(overlap, d_out)


def ehnn_linear(overlap: Overlap, d_in: int, d_out: int) -> Work:
    """`ehnn.nn.EHNNLinear` without what makes its matrices: a product for each fine group."""
    fine = overlap.weight_groups
    groups, pairs = fine.source_to_group.num_rows, len(fine.source_to_group)
    summed = sums(pairs, overlap.num_sources, groups, d_in) + sums(groups, groups, overlap.num_targets, d_out)
    return summed + product(groups, d_in, d_out)


def hgnn(h: Hypergraph, d_in: int, d_out: int) -> Work:
    """`ehnn.nn.baselines.HGNNConv`, and PyG's HypergraphConv: a product and two sums."""
    to_edges = sums(h.num_incidences, h.num_nodes, h.num_edges, d_out)
    return (
        product(h.num_nodes, d_in, d_out) + to_edges + sums(h.num_incidences, h.num_edges, h.num_nodes, d_out)
    )


def _sums(overlap: Overlap, d: int) -> Work:
    local = sums(overlap.num_pairs, overlap.num_sources, overlap.num_groups, d)
    if overlap.group_to_target is None:
        return local
    return local + sums(overlap.num_groups, overlap.num_groups, overlap.num_targets, d)


def _merged_sums(overlap: Overlap, d: int) -> Work:
    return sums(overlap.num_pairs, overlap.num_sources, overlap.num_targets, d)


def work_of(name: str, h: Hypergraph, width: int = 64, heads: int = 4, middle: str | None = None) -> Work:
    """What a pair V → middle → V needs, by the name of its row in the cost table."""
    counts: dict[str, tuple[Callable[..., Work], str]] = {
        "all-deep-sets": (all_deep_sets, "edges"),
        "all-set-transformer": (all_set_transformer, "edges"),
        "ehnn-lookup": (ehnn_linear, "all"),
        "ehnn-hypernetwork": (ehnn_linear, "all"),
        "ehnn-mlp": (ehnn_mlp, "all"),
        "ehnn-transformer": (partial(ehnn_transformer, heads=heads), "all"),
    }
    count, own = counts[name]
    through = middle or own
    ends = ("nodes", through), (through, "nodes")
    return sum((count(h.overlap(*end), width, width) for end in ends), Work())


# ---------------------------------------------------------------------- the machine


@dataclass(frozen=True)
class Machine:
    """Bytes per second of a copy, and operations per second of products of a kind."""

    bandwidth: float
    rate: float

    def milliseconds(self, need: Need) -> float:
        """The time that the machine needs at least."""
        return 1e3 * max(need.bytes / self.bandwidth, need.operations / self.rate)

    def limit(self, need: Need) -> str:
        """What takes that time: ``"memory"`` or ``"products"``."""
        in_memory = need.bytes / self.bandwidth >= need.operations / self.rate
        return "memory" if in_memory else "products"

    def beside(self, need: Need, measured: float) -> tuple[str, dict[str, float]]:
        """What to print beside ``measured`` milliseconds, and metrics of a row."""
        least = self.milliseconds(need)
        text = (
            f"needs {need.bytes / 1e6:.4g} MB, {need.operations / 1e9:.4g} GFLOP: {least:.3g} ms "
            f"({self.limit(need)}), x{measured / least:.1f}"
        )
        metrics = {"needed_mb": need.bytes / 1e6, "needed_gflop": need.operations / 1e9}
        return text, {**metrics, "roofline_ms": least, "times_roofline": measured / least}


@cache
def measured_machine(device: str, precision: str = "float32") -> Machine:
    """A copy and products of large matrices on this device, now: ``"float32"``, ``"tf32"`` or ``"bf16"``.

    On a GPU a float32 product can also be three products of halves, and a TF32 product one, so the rates are
    at least those.
    """
    gpu = is_gpu(device)
    bandwidth = copy_bandwidth(device, 2048 if gpu else 256)
    if not gpu:
        return Machine(bandwidth, _rate(device, torch.float32, "highest", 1024))
    kind = torch.bfloat16 if precision == "bf16" else torch.float16
    halves = _rate(device, kind, "highest", 8192)
    return Machine(bandwidth, halves if precision in ("bf16", "tf32") else halves / 3)


def _rate(device: str, dtype: torch.dtype, precision: str, size: int) -> float:
    """Operations per second of a product of two square matrices of random numbers; the best of several."""
    a, b = torch.randn(2, size, size, device=device).to(dtype)
    out = torch.empty_like(a)
    with matmul_precision(precision):
        best = min(milliseconds(lambda: torch.mm(a, b, out=out), 5, device, warm_up=2))
    return 2 * size**3 / (best * 1e-3)
