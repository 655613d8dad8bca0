"""Every operation on every implementation that this machine has, over the same cases."""

from __future__ import annotations

import contextlib

import pytest
import torch

from ehnn.ops import bounded_memory
from ehnn.ops._native.compiled import missing
from ehnn.ops.generated_matmul import chunked
from ehnn.ops.phi import fused

from .operation_cases import CASES, Declined, check, implementations
from .ops_helpers import assert_passes_interpreted

DTYPES = [torch.float32, torch.float64, torch.bfloat16]
ON_CPU = [
    (case, name)
    for case, name in implementations()
    if name not in ("triton", "halves", "fused", "own", "weighted", "pipelined", "recomputed")
]
EXPECTED_TO_DECLINE = {
    ("phi of other width", "cpu"): "the width changes",
}
C_KERNELS = {"segment_sum": "sums", "dropout": "dropout", "phi": "phi", "ehnn_mlp": "layer"}


def needs_compiler(case: str, implementation: str) -> bool:
    return implementation == "cpu" and CASES[case].operation.name in C_KERNELS


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("case", "implementation"), [pytest.param(*p, id=" by ".join(p)) for p in ON_CPU])
def test_on_a_cpu(case, implementation, dtype, monkeypatch):
    monkeypatch.setattr(chunked, "MOST", 24)  # two matrices at a time
    kernel = needs_compiler(case, implementation)
    if kernel and missing("sums", torch.float32) is not None:
        pytest.skip("needs a C compiler")
    bounded = bounded_memory(rows=7) if implementation == "chunked" else contextlib.nullcontext()
    reason = EXPECTED_TO_DECLINE.get((case, implementation))
    if kernel and dtype is torch.bfloat16:
        reason = "bfloat16|the width changes"
    with bounded:
        if reason is None:
            check(case, implementation, dtype)
        else:
            with pytest.raises(Declined, match=reason):
                check(case, implementation, dtype)


def test_on_tritons_interpreter():
    """All GPU kernels on a CPU; on a machine with a GPU they are tested compiled, below."""
    assert_passes_interpreted("operation_cases.py", "all triton implementations agree")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("case", "implementation"),
    [p for p in implementations() if p[1] in ("triton", "halves", "fused", "steps", "naive")],
)
def test_on_a_gpu(case, implementation, dtype, monkeypatch):
    monkeypatch.setattr(fused, "SWITCH", "1")
    try:
        check(case, implementation, dtype, "cuda")
    except Declined as reason:
        pytest.skip(str(reason))
