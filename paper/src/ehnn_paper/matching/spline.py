"""SplineConv: graph convolution whose weight is a spline of where the neighbour lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn._utils.cached import plain_tensors

from .pair_batch import Side

KERNEL, IMAGE = 5, 256


@dataclass(frozen=True, eq=False)
class SplineGraph:
    """Directed edges of both images of all pairs, and what a linear B-spline makes of their directions.

    Attributes:
        source, target: ``[e]`` rows of the keypoints of a, then those of b.
        corners: ``[e, 4]`` the control points around each direction, as places in ``used``.
        weights: ``[e, 4]`` their shares, which sum to 1.
        used: the control points that occur, of all ``kernel²``; None for all of them.
    """

    source: Tensor
    target: Tensor
    corners: Tensor
    weights: Tensor
    used: tuple[int, ...] | None


def spline_graph(a: Side, b: Side, kernel: int = KERNEL) -> SplineGraph:
    """The graph of both sides, each Delaunay edge in both directions.

    The direction of an edge is the difference of its ends, source minus target, as a share of the image:
    (dx, dy) / (2 · 256) + 1/2, which lies in [0, 1]².
    """
    points = torch.cat([a.points, b.points])
    edges = torch.cat([a.edges, b.edges + a.points.shape[0]], 1)
    source, target = torch.cat([edges, edges.flip(0)], 1)
    corners, weights = spline_basis((points[source] - points[target]) / (2 * IMAGE) + 0.5, kernel)
    if on_gpu(corners) or torch.compiler.is_compiling():  # to ask which occur would wait for the device
        return SplineGraph(source, target, corners, weights, None)
    used, corners = torch.unique(corners, return_inverse=True)
    return SplineGraph(source, target, corners, weights, tuple(used.tolist()))


def spline_basis(directions: Tensor, kernel: int) -> tuple[Tensor, Tensor]:
    """Control points ``[e, 4]`` and shares ``[e, 4]`` of ``[e, 2]`` directions: an open B-spline of degree 1.

    Control point (x, y) of the ``kernel × kernel`` grid over [0, 1]² is number ``x + kernel · y``.
    """
    position = directions.clamp(0, 1) * (kernel - 1)
    low = position.floor().clamp(max=kernel - 2)
    part = position - low
    x, y = low.long().unbind(1)
    share = torch.stack([1 - part, part], 1)  # [e, low or high, x or y]
    corners = (x + kernel * y).unsqueeze(1) + _around(kernel, x.device)
    return corners, (share[:, None, :, 0] * share[:, :, None, 1]).flatten(1)


def on_gpu(t: Tensor) -> bool:
    return t.device.type != "cpu"


@lru_cache
def _around(kernel: int, device: torch.device) -> Tensor:
    """``[4]``: from a control point to those of its cell; kept, since a copy from the host is waited for."""
    with plain_tensors():
        return torch.tensor([0, 1, kernel, kernel + 1], device=device)


class SplineConv(nn.Module):
    r"""SplineConv (Fey, Lenssen, Weichert, Müller; CVPR 2018) with a maximum over neighbours.

    .. math:: y_i = \max_{j \to i} \sum_c B_c(u_{ji})\, x_j W_c \;+\; x_i W_{\text{root}} + b

    with B the linear B-spline basis over a 5 × 5 grid of control points c and u the direction of the
    edge. Nodes that no edge reaches have a maximum of 0. Every node is multiplied with the matrix of every
    control point that occurs, and an edge reads four of these rows. Directions between neighbours are
    short, so on a CPU about a third of the control points is enough.

    Shapes: ``x [n, d_in]`` → ``[n, d_out]``.
    """

    def __init__(self, d_in: int, d_out: int, kernel: int = KERNEL) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(kernel**2, d_in, d_out))
        self.root = nn.Linear(d_in, d_out)
        nn.init.uniform_(self.weight, -1 / math.sqrt(d_in * kernel**2), 1 / math.sqrt(d_in * kernel**2))

    def forward(self, x: Tensor, graph: SplineGraph) -> Tensor:
        if graph.source.shape[0] == 0:
            return self.root(x)
        rows = graph.corners * x.shape[0] + graph.source.unsqueeze(1)
        messages = _weighted(self._table(x, graph), rows, graph.weights.to(x.dtype))
        zeros = messages.new_zeros(x.shape[0], messages.shape[1])
        index = graph.target.unsqueeze(1).expand_as(messages)
        return zeros.scatter_reduce(0, index, messages, "amax", include_self=False) + self.root(x)

    def _table(self, x: Tensor, graph: SplineGraph) -> Tensor:
        """``[used · n, d_out]``: every node times the matrix of every control point in use."""
        if graph.used is None:
            return torch.matmul(x, self.weight).flatten(0, 1)
        # Unbound: selecting the matrices would copy them and make a full gradient for each.
        matrices = self.weight.unbind(0)
        return torch.cat([x @ matrices[c] for c in graph.used])


def _weighted(table: Tensor, rows: Tensor, shares: Tensor) -> Tensor:
    """``[r, d], [e, 4], [e, 4] → [e, d]``: sums of four rows each."""
    if not on_gpu(table):
        return F.embedding_bag(rows, table, per_sample_weights=shares, mode="sum")
    # The gradient of a bag would be sorted by row first, in a dozen kernels.
    found = table.index_select(0, rows.flatten()).reshape(*rows.shape, -1)
    return (found * shares.unsqueeze(2)).sum(1)


class Refine(nn.Module):
    """x + 0.1 · SplineConv(ReLU(SplineConv(x))): features of keypoints that know their neighbours.

    Args:
        channels: of the features.
        layers: of SplineConv; 0 leaves the features as they are.
        width: between the layers, ``channels`` if not given. A layer has 25 · d_in · d_out parameters: two of
            1024 channels are 52 million, and most of the cost of a step on a CPU.
        share: of what the layers give.
    """

    def __init__(self, channels: int, layers: int = 2, width: int | None = None, share: float = 0.1) -> None:
        super().__init__()
        widths = [channels, *[width or channels] * (layers - 1), channels]
        self.layers = nn.ModuleList([SplineConv(*ends) for ends in pairwise(widths[: layers + 1])])
        self.share = share

    def forward(self, x: Tensor, graph: SplineGraph) -> Tensor:
        """``[n, channels] → [n, channels]``."""
        y = x
        for number, layer in enumerate(self.layers):
            y = layer(F.relu(y) if number else y, graph)
        return x + self.share * y if len(self.layers) else x
