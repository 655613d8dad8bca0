"""A set of (row, column) pairs, sorted both ways: the structure under incidences and overlaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors, keep
from ehnn._utils.validation import as_count, as_index

from .display import counted

LONG = 256
"""Pairs in a chunk of a long row."""


@dataclass(frozen=True, eq=False, repr=False)
class SparsePattern:
    """A set of (row, column) pairs in compressed row order and in compressed column order.

    It is the pattern of a sparse 0/1 matrix ``A [num_rows, num_cols]`` together with that of its
    transpose, so that sums over rows and the gradients of such sums both read memory in order.

    Attributes:
        num_rows, num_cols: the stored counts; rows and columns without pairs are ordinary.
        ptr: ``[num_rows + 1]``; row r owns the places ``ptr[r]:ptr[r+1]`` of ``index``.
        index: ``[pairs]`` columns, ascending within a row.
        t_ptr: ``[num_cols + 1]``; the same for columns.
        t_index: ``[pairs]`` rows, ascending within a column.
        t_perm: ``[pairs]``; the place in row order of the pair at each place of column order, so that
            a value per pair ``v`` (row order) is ``v[t_perm]`` in column order.

    >>> from ehnn import Hypergraph
    >>> pairs = Hypergraph.from_edges([[0, 1], [1, 2]]).incidence  # hyperedges × nodes
    >>> pairs.ptr.tolist(), pairs.index.tolist()
    ([0, 2, 4], [0, 1, 1, 2])
    >>> pairs.t_ptr.tolist(), pairs.t_index.tolist()
    ([0, 1, 3, 4], [0, 0, 1, 1])
    """

    num_rows: int
    num_cols: int
    ptr: Tensor
    index: Tensor
    t_ptr: Tensor
    t_index: Tensor
    t_perm: Tensor

    def __post_init__(self) -> None:
        """Refuse tensors that would make a kernel read out of bounds."""
        if not torch.compiler.is_compiling():
            _check_pattern(self)

    @classmethod
    def unchecked(
        cls, num_rows: int, num_cols: int, ptr: Tensor, index: Tensor, t_ptr: Tensor, t_index: Tensor,
        t_perm: Tensor,
    ) -> SparsePattern:  # fmt: skip
        """A pattern of tensors that this library has made, without the checks and the time that they take."""
        if torch.compiler.is_compiling():
            return cls(num_rows, num_cols, ptr, index, t_ptr, t_index, t_perm)
        made = object.__new__(cls)
        made.__dict__.update(
            num_rows=num_rows, num_cols=num_cols, ptr=ptr, index=index, t_ptr=t_ptr, t_index=t_index,
            t_perm=t_perm,
        )  # fmt: skip
        return made

    def __len__(self) -> int:
        return self.index.shape[0]

    def __repr__(self) -> str:
        counts = {"row": self.num_rows, "column": self.num_cols, "pair": len(self)}
        return f"{type(self).__name__}({', '.join(counted(n, noun) for noun, n in counts.items())})"

    @property
    def lengths(self) -> Tensor:
        """``[num_rows]`` number of pairs in each row."""
        return self.ptr.diff()

    @property
    def t_lengths(self) -> Tensor:
        """``[num_cols]`` number of pairs in each column."""
        return self.t_ptr.diff()

    @property
    def rows(self) -> Tensor:
        """``[pairs]`` the row of each pair, in row order."""
        return repeat(self.lengths, len(self))

    @cached_tensors
    def _derived(self) -> dict[Any, Any]:
        """Values that models have computed from these pairs: a cache."""
        return {}

    @cached_tensors
    def inverse_lengths(self) -> Tensor:
        """``[num_rows]`` float64: 1 over the number of pairs in each row (1 for empty rows)."""
        return 1 / self.lengths.clamp(min=1).double()

    @cached_tensors
    def split(self) -> tuple[Tensor, Tensor] | None:
        """Rows cut into chunks of at most `LONG` pairs: ``chunk_ptr`` of the chunks and ``row_ptr`` of the
        chunks of each row; None if no row is longer. For processors that take a row each."""
        return _split(self.ptr, len(self))

    @cached_tensors
    def t_split(self) -> tuple[Tensor, Tensor] | None:
        """`split` for columns."""
        return _split(self.t_ptr, len(self))

    def transpose(self) -> SparsePattern:
        """The same pairs with rows and columns exchanged; no sorting."""
        inverse = torch.empty_like(self.t_perm)
        inverse[self.t_perm] = arange_like(self.t_perm)
        return SparsePattern.unchecked(
            self.num_cols, self.num_rows, self.t_ptr, self.t_index, self.ptr, self.index, inverse
        )

    def to(self, device: torch.device | str, non_blocking: bool = False) -> SparsePattern:
        """The same on another device."""
        return self._map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> SparsePattern:
        return self._map(lambda t: t.pin_memory())

    def _map(self, fn: Callable[[Tensor], Tensor]) -> SparsePattern:
        tensors: tuple[Tensor, ...] = (self.ptr, self.index, self.t_ptr, self.t_index, self.t_perm)
        return SparsePattern.unchecked(self.num_rows, self.num_cols, *map(fn, tensors))


class OwnSums(SparsePattern):
    """A pattern that computes its own sums, because its pairs are on several ranks or are a sample."""

    def __post_init__(self) -> None:
        """No kernel reads these."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.num_rows, 'row')}, {counted(self.num_cols, 'column')})"

    def reduce_sum(self, x: Tensor) -> Tensor:
        """``[num_cols, …] → [num_rows, …]``, as `ehnn.ops.segment_sum`."""
        raise NotImplementedError

    def reduce_softmax(self, x: Tensor, logits: Tensor) -> Tensor:
        """``x [num_cols, heads, c]``, ``logits [num_cols, heads]``: as `ehnn.ops.segment_softmax_sum`."""
        raise NotImplementedError


def arange_like(t: Tensor) -> Tensor:
    """``[0, 1, …, len(t) − 1]`` on the device of ``t``."""
    return torch.arange(t.shape[0], device=t.device)


def starts(counts: Tensor) -> Tensor:
    """The sum of the counts before each."""
    return counts.cumsum(0) - counts


def repeat(lengths: Tensor, total: int) -> Tensor:
    """``[total]``: each i repeated ``lengths[i]`` times; ``total`` spares a device synchronisation."""
    return torch.repeat_interleave(arange_like(lengths), lengths, output_size=total)


_static = False


@contextmanager
def static_shapes() -> Iterator[None]:
    """Inside, no size depends on values of tensors, as while a CUDA graph is recorded."""
    global _static
    before, _static = _static, True
    try:
        yield
    finally:
        _static = before


def shape_static(device: torch.device) -> bool:
    """Whether no size may depend on values of tensors: in compiled code, and inside `static_shapes`."""
    if torch.compiler.is_compiling() or _static:
        return True
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def pointer(values: Tensor, size: int) -> Tensor:
    """``[size + 1]``: where each integer below ``size`` begins once ``values`` are sorted."""
    ptr = torch.zeros(size + 1, dtype=torch.int64, device=values.device)
    if shape_static(values.device):  # the size of a `bincount` depends on values
        return ptr.index_add(0, values + 1, torch.ones_like(values)).cumsum(0)
    torch.cumsum(torch.bincount(values, minlength=size), 0, out=ptr[1:])
    return ptr


def owners(ptr: Tensor, places: int) -> Tensor:
    """``[places]`` the row of each place; those beyond the last row's are given to that row."""
    at = torch.arange(places, device=ptr.device)
    return (torch.searchsorted(ptr, at, right=True) - 1).clamp(max=ptr.shape[0] - 2)


def pairs_from_sorted(ptr: Tensor, index: Tensor, num_cols: int) -> SparsePattern:
    """Pairs from compressed rows whose columns ascend within each row."""
    t_ptr, t_index, t_perm = _transpose(ptr, index, num_cols)
    return SparsePattern.unchecked(ptr.shape[0] - 1, num_cols, ptr, index, t_ptr, t_index, t_perm)


def checked_pairs(ptr: Tensor, index: Tensor, num_cols: int) -> SparsePattern:
    """`pairs_from_sorted` of tensors that were read from a file: a ValueError if they are not such rows."""
    check_sorted(ptr, index, as_count(num_cols, "the number of columns"))
    return pairs_from_sorted(ptr, index, num_cols)


def check_sorted(ptr: Tensor, index: Tensor, num_cols: int) -> None:
    """Raise a ValueError unless ``ptr`` and ``index`` are compressed rows of ascending columns."""
    for name, tensor in (("pointers of rows", ptr), ("columns of pairs", index)):
        if tensor.dtype != torch.int64 or tensor.dim() != 1:
            raise ValueError(
                f"{name} must be int64 in one dimension, got {tensor.dtype} {tuple(tensor.shape)}"
            )
    as_index(index, "columns of pairs", num_cols)
    pairs = index.shape[0]
    if not ptr.numel() or int(ptr[0]) or int(ptr[-1]) != pairs or bool((ptr.diff() < 0).any()):
        raise ValueError(f"pointers of rows must ascend from 0 to the {pairs} pairs")
    begins = torch.zeros(pairs + 1, dtype=torch.bool)
    begins[ptr] = True
    if not bool(((index.diff() > 0) | begins[1:-1]).all()):
        raise ValueError("columns of pairs must ascend within each row")


def _check_pattern(p: SparsePattern) -> None:
    """Raise a ValueError unless the tensors have the shapes and, on a CPU, the range of a pattern."""
    pairs = (len(p),)
    expected = {
        "ptr": ((p.num_rows + 1,), None), "t_ptr": ((p.num_cols + 1,), None), "index": (pairs, p.num_cols),
        "t_index": (pairs, p.num_rows), "t_perm": (pairs, len(p)),
    }  # fmt: skip
    for name, (shape, size) in expected.items():
        tensor: Tensor = getattr(p, name)
        if tensor.dtype != torch.int64 or tensor.shape != shape:
            raise ValueError(
                f"{name} must be int64 of shape {list(shape)}, got {tensor.dtype} {list(tensor.shape)}"
            )
        if type(tensor) is not Tensor or not tensor.is_cpu or shape_static(tensor.device):
            continue  # to read values of a GPU would wait for it
        if size is not None:
            as_index(tensor, name, size)
        elif int(tensor[0]) or int(tensor[-1]) != len(p) or bool((tensor.diff() < 0).any()):
            raise ValueError(f"{name} must ascend from 0 to the {len(p)} pairs")


def _split(ptr: Tensor, pairs: int) -> tuple[Tensor, Tensor] | None:
    lengths, rows = ptr.diff(), ptr.shape[0] - 1
    fixed = shape_static(ptr.device)
    if not rows or (not fixed and int(lengths.max()) <= LONG):
        return None
    chunks = torch.div(lengths + LONG - 1, LONG, rounding_mode="floor")
    row_ptr = torch.cat([chunks.new_zeros(1), chunks.cumsum(0)])
    # Where no size may depend on values: as many chunks as there can be; the last ones are empty.
    row = owners(row_ptr, rows + pairs // LONG) if fixed else repeat(chunks, int(row_ptr[-1]))
    at = arange_like(row)
    starts = torch.minimum(ptr[row] + LONG * (at - row_ptr[row]), ptr[-1])
    return torch.cat([starts, ptr[-1:]]), row_ptr


def with_short(pairs: SparsePattern, *, rows: bool = False, columns: bool = False) -> SparsePattern:
    """The pairs, with a note that no row, or no column, is longer than `LONG`, so that none is counted."""
    return keep(pairs, **({"split": None} if rows else {}), **({"t_split": None} if columns else {}))


def selection(index: Tensor, num_cols: int) -> SparsePattern:
    """Pairs with exactly one column ``index[r]`` in each row r (``[num_rows]`` int64)."""
    order = torch.argsort(index, stable=True)
    ptr = torch.arange(index.shape[0] + 1, device=index.device)
    pairs = SparsePattern.unchecked(
        index.shape[0], num_cols, ptr, index, pointer(index, num_cols), order, order
    )
    return with_short(pairs, rows=True)


def pairs_from_coo(
    row: Tensor, col: Tensor, num_rows: int, num_cols: int, need_order: bool = False
) -> tuple[SparsePattern, Tensor | None]:
    """Pairs from unsorted ``row``, ``col`` (``[n]`` int64, in range). Repeated pairs are merged.

    Returns the pairs and, if ``need_order``, ``[pairs]`` the place in the input of the first
    occurrence of each pair (to carry values along); otherwise None. O(n log n), no Python loop.
    """
    order = None
    if not need_order:
        row, col = _distinct(*lexsort(row, col, num_cols))
    else:
        order = torch.argsort(col, stable=True)
        order = order[torch.argsort(row[order], stable=True)]
        row, col, order = _distinct(row[order], col[order], order)
    pairs = pairs_from_sorted(pointer(row, num_rows), col, num_cols)
    return pairs, order


def lexsort(row: Tensor, col: Tensor, num_cols: int) -> tuple[Tensor, Tensor]:
    """``row`` and ``col`` (``[n]`` each) sorted by row, then column (columns are below ``num_cols``)."""
    base = max(num_cols, 1)
    if row.numel() and int(row.max()) >= (2**63 - 1) // base:
        order = torch.argsort(col, stable=True)
        order = order[torch.argsort(row[order], stable=True)]
        return row[order], col[order]
    key = row * base
    key += col
    if key.device.type == "cpu":
        key.numpy().sort()  # several times faster than torch.sort, which also makes the permutation
    else:
        key = torch.sort(key).values
    row = torch.div(key, base, rounding_mode="floor")
    return row, key.sub_(row * base)


def _distinct(row: Tensor, col: Tensor, *more: Tensor) -> tuple[Tensor, ...]:
    """The first of each run of equal (row, col)."""
    first = torch.ones(row.shape[0], dtype=torch.bool, device=row.device)
    first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
    if bool(first.all()):
        return row, col, *more
    return tuple(v[first] for v in (row, col, *more))


def _transpose(ptr: Tensor, index: Tensor, num_cols: int) -> tuple[Tensor, Tensor, Tensor]:
    """Column order of compressed rows: pointer, rows and places."""
    num_rows, n = ptr.shape[0] - 1, index.shape[0]
    if ptr.device.type == "cpu" and n:
        from scipy.sparse import csr_array

        places = csr_array(
            (np.arange(n, dtype=np.int32 if n < 2**31 else np.int64), index.numpy(), ptr.numpy()),
            shape=(num_rows, num_cols),
        ).tocsc()
        as_tensor = [
            torch.from_numpy(a.astype(np.int64, copy=False))
            for a in (places.indptr, places.indices, places.data)
        ]
        return as_tensor[0], as_tensor[1], as_tensor[2]
    values, perm = torch.sort(index, stable=True)
    return pointer(values, num_cols), repeat(ptr.diff(), n)[perm], perm
