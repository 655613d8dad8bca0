"""`segment_softmax_sum` on a GPU."""

from __future__ import annotations

from torch import Tensor

from ..autograd import opaque
from ..segment_sum.linear_map import Csr
from .cpu import fake_backward, fake_forward


def forward(x: Tensor, logits: Tensor, csr: Csr) -> tuple[Tensor, Tensor]:
    """y and the log-sum-exp of each row in float64 (−∞ for empty rows)."""
    ptr, index, split = csr
    return _forward(x, logits, ptr, index, *(split or (None, None)))


def backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, csr: Csr
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the logits; ``csr`` is of the columns."""
    ptr, index, split = csr
    return _backward(grad, x, logits, y, lse, ptr, index, *(split or (None, None)))


@opaque("ehnn::softmax_sum", fake_forward)
def _forward(
    x: Tensor, logits: Tensor, ptr: Tensor, index: Tensor, chunk_ptr: Tensor | None, row_ptr: Tensor | None
) -> tuple[Tensor, Tensor]:
    from .triton_kernels import softmax_sum

    split = None if chunk_ptr is None or row_ptr is None else (chunk_ptr, row_ptr)
    return softmax_sum(x, logits, ptr, index, split)


@opaque("ehnn::softmax_sum_backward", fake_backward)
def _backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, t_ptr: Tensor, t_index: Tensor,
    chunk_ptr: Tensor | None, row_ptr: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    from .triton_kernels import softmax_sum_backward

    split = None if chunk_ptr is None or row_ptr is None else (chunk_ptr, row_ptr)
    return softmax_sum_backward(grad, x, logits, y, lse, t_ptr, t_index, split)
