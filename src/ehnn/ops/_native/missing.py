"""Warnings, once each, for fast versions that should work on this machine and do not."""

from __future__ import annotations

import inspect
import warnings

import torch


def triton_works() -> bool:
    """Whether Triton can be imported; where there is a GPU and it cannot, a warning says so."""
    try:
        import triton  # noqa: F401
    except Exception as error:  # an incompatible Triton may fail in any way
        if torch.cuda.is_available():
            warnings.warn(
                f"Triton cannot be used ({type(error).__name__}: {error}), so operations on a GPU are "
                f"several times slower; install the Triton that PyTorch {torch.__version__} was built with",
                stacklevel=2,
            )
        return False
    return True


def triton_keeps_loops() -> bool:
    """Whether Triton has an option to move no code out of a loop, where it would fill the registers."""
    import triton.language as tl

    return "disable_licm" in inspect.signature(tl.range.__init__).parameters
