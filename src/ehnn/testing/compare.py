"""Comparison of two tensors with a message that says where and by how much they differ."""

from __future__ import annotations

import torch
from torch import Tensor

# Rounding of sums in another order, relative to the largest entry; integers must agree exactly.
_TOLERANCE = {
    torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2,
    torch.complex128: 1e-10, torch.complex64: 1e-4,
}  # fmt: skip


def assert_close(
    got: Tensor, want: Tensor, what: str, left: str, right: str, tolerance: float | None
) -> None:
    """Raise an AssertionError whose first line is ``what`` unless ``got`` is ``want``, up to rounding.

    ``tolerance`` is relative to the largest entry of ``want`` (at least 1); None: by dtype.
    """
    if got.shape != want.shape:
        raise AssertionError(
            f"{what}\n  {left} has shape {tuple(got.shape)}, {right} has shape {tuple(want.shape)}"
        )
    if tolerance is None:
        tolerance = _TOLERANCE.get(want.dtype, 0.0)
    wide = torch.complex128 if got.is_complex() or want.is_complex() else torch.float64
    a, b = (t.detach().cpu().to(wide) for t in (got, want))
    scale = max(1.0, float(b[b.isfinite()].abs().max())) if bool(b.isfinite().any()) else 1.0
    off = ~torch.isclose(a, b, rtol=0.0, atol=tolerance * scale)  # NaN is never close
    exact = tolerance == 0 and got.dtype == want.dtype and not (b.is_complex() or want.is_floating_point())
    if exact:
        off = (got != want).detach().cpu()  # float64 has no digits for integers beyond 2⁵³
    if not bool(off.any()):
        return
    first = tuple(off.nonzero()[0].tolist())
    error = float((a - b).abs()[off].max())
    raise AssertionError(
        f"{what}\n"
        f"  {left} and {right} differ in {int(off.sum())} of {off.numel()} entries, "
        f"by up to {error:.3g} (allowed {tolerance * scale:.3g})\n"
        f"  first at {list(first)}: {_shown(got[first])} and {_shown(want[first])}"
    )


def _shown(value: Tensor) -> str:
    number = value.item()
    return f"{number:.6g}" if isinstance(number, (float, complex)) else str(number)
