"""The choice of backend takes effect, nests and refuses unknown names."""

import pytest
import torch

from ehnn.ops import segment_softmax_sum, segment_sum, use_backend
from ehnn.ops.backend import backend_of
from ehnn.ops.cpu_sum import has_kernel

from .ops_helpers import patterns

PAIRS = patterns()["odd"]
FAST = "compiled_sum" if has_kernel(torch.ones(1)) else "cpu_sum"


def calls(monkeypatch, backend, op):
    """Names of the versions that ran."""
    import sys

    seen = []
    for module, name in (
        ("segment_sum", "cpu_sum"),
        ("segment_sum", "compiled_sum"),
        ("segment_sum", "reference_sum"),
        ("softmax_sum", "reference_softmax_sum"),
        ("softmax_sum", "_forward"),
    ):
        home = sys.modules[f"ehnn.ops.{module}"]
        real = getattr(home, name)

        def spy(*args, real=real, name=name):
            seen.append(name)
            return real(*args)

        monkeypatch.setattr(home, name, spy)
    with use_backend(backend):
        op()
    return seen


@pytest.mark.parametrize(
    ("backend", "want"),
    [("cpu", [FAST]), ("auto", [FAST]), ("reference", ["reference_sum"])],
)
def test_segment_sum(monkeypatch, backend, want):
    assert calls(monkeypatch, backend, lambda: segment_sum(torch.ones(8, 1), PAIRS)) == want


@pytest.mark.parametrize(
    ("backend", "want"), [("cpu", ["_forward", FAST]), ("reference", ["reference_softmax_sum"])]
)
def test_softmax_sum(monkeypatch, backend, want):
    x, s = torch.ones(8, 1, 1), torch.ones(8, 1)
    assert calls(monkeypatch, backend, lambda: segment_softmax_sum(x, s, PAIRS)) == want


def test_contexts_nest_and_end():
    x = torch.ones(1)
    default = backend_of(x)
    with use_backend("reference"):
        with use_backend("cpu"):
            assert backend_of(x) == "cpu"
        assert backend_of(x) == "reference"
        with pytest.raises(RuntimeError, match="inside"), use_backend("cpu"):
            raise RuntimeError("inside")
        assert backend_of(x) == "reference"
    assert backend_of(x) == default


def test_unknown_backend():
    with pytest.raises(ValueError, match=r"backend must be one of .*got 'numpy'"), use_backend("numpy"):
        pass
