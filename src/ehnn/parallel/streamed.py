"""Features of a shard that stay in its file: they are read in chunks of rows when they are needed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph

from .files import read_header, read_manifest
from .ranks import Ranks


class StreamedFeatures:
    """``x`` of this rank's shard, of which a chunk of rows at a time is in memory.

    The file is not checked again: `load_shard`, with ``features=False``, has read its checksum.

    Args:
        directory: that of `load_shard`.
        ranks: from `start`.
        rows: of a chunk.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.eye(4))
    >>> _ = ehnn.parallel.save_shards(h, ehnn.parallel.partition(h, 1, "contiguous"), "shards")
    >>> features = StreamedFeatures("shards", ehnn.parallel.Ranks(), rows=3)
    >>> features.shape, features.linear(torch.ones(2, 4)).shape
    ((4, 4), torch.Size([4, 2]))
    """

    def __init__(self, directory: str | Path, ranks: Ranks, rows: int = 2**16) -> None:
        self.path = Path(directory) / read_manifest(directory)["files"][ranks.rank]["name"]
        header, begin = read_header(self.path)
        entry = header.get("x")
        if entry is None:
            raise ValueError(f"shard {self.path} has no features")
        if entry["dtype"] != "F32":
            raise ValueError(f"features of {self.path} must be float32 to be streamed, got {entry['dtype']}")
        self.shape: tuple[int, int] = tuple(entry["shape"])
        self.rows, self._begin = as_count(rows, "rows", 1), begin + entry["data_offsets"][0]

    def __repr__(self) -> str:
        return f"StreamedFeatures({self.shape[0]} × {self.shape[1]} in {self.path.name})"

    def chunks(self) -> Iterator[tuple[int, Tensor]]:
        """The number of the first row and the rows ``[rows, d]`` of each chunk."""
        for first in range(0, self.shape[0], self.rows):
            count = min(self.rows, self.shape[0] - first) * self.shape[1]
            begin = self._begin + 4 * first * self.shape[1]
            read = np.fromfile(self.path, dtype="<f4", count=count, offset=begin)
            yield first, torch.from_numpy(read).reshape(-1, self.shape[1])

    def linear(self, weight: Tensor) -> Tensor:
        """``x`` times the transpose of ``weight [out, d]``: ``[num_nodes, out]``, where the weight is.

        The backward pass reads the file again.
        """
        return _Streamed.apply(weight, self)


class _Streamed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, features: StreamedFeatures) -> Tensor:
        ctx.features, ctx.like = features, weight.detach()
        out = weight.new_empty(features.shape[0], weight.shape[0])
        for first, x in features.chunks():
            torch.mm(x.to(weight), weight.t(), out=out[first : first + x.shape[0]])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = torch.zeros_like(ctx.like)
        for first, x in ctx.features.chunks():
            total.addmm_(grad[first : first + x.shape[0]].t(), x.to(total))
        return total, None


class WithStreamed(nn.Module):
    """A model on a linear map of `StreamedFeatures`, plus one of ``h.x``.

    Args:
        inner: called as ``inner(h, x)`` with ``x [num_nodes, width]``, such as a `Stack`.
        features: in the file of the shard.
        d_in: channels of ``h.x``.
        width: channels of the sum.

    Shapes: a Hypergraph with ``x [num_nodes, d_in]`` → what ``inner`` gives.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.eye(4))
    >>> _ = ehnn.parallel.save_shards(h, ehnn.parallel.partition(h, 1, "contiguous"), "shards")
    >>> features = StreamedFeatures("shards", ehnn.parallel.Ranks())
    >>> model = WithStreamed(ehnn.nn.Stack(8, 2, ehnn.nn.EHNNMLP), features, d_in=1, width=8)
    >>> model(h.replace(x=torch.ones(4, 1))).shape
    torch.Size([4, 2])
    """

    def __init__(self, inner: nn.Module, features: StreamedFeatures, d_in: int, width: int) -> None:
        super().__init__()
        self.inner, self.features, self.own = inner, features, nn.Linear(d_in, width)
        bound = 1 / math.sqrt(features.shape[1])
        self.weight = nn.Parameter(torch.empty(width, features.shape[1]).uniform_(-bound, bound))

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        own = self.own(h.features("nodes") if x is None else x)
        return self.inner(h, own + self.features.linear(self.weight))
