"""The choice of backend takes effect, nests and refuses unknown names."""

from unittest.mock import Mock

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ehnn.ops import explain, segment_softmax_sum, segment_sum, use_backend
from ehnn.ops._native.compiled import missing
from ehnn.ops.autograd import differentiable, opaque
from ehnn.ops.dispatch import backend_of

from .ops_helpers import patterns

PAIRS = patterns()["odd"]
FAST = "cpu" if missing("sums", torch.float32) is None else "embedding_bag"


@pytest.mark.parametrize(("backend", "want"), [("cpu", FAST), ("auto", FAST), ("reference", "naive")])
def test_segment_sum(backend, want):
    with use_backend(backend):
        assert explain(segment_sum, torch.ones(8, 1), PAIRS, quiet=True).ran("segment_sum") == {want}


@pytest.mark.parametrize(("backend", "want"), [("cpu", "cpu"), ("reference", "naive")])
def test_softmax_sum(backend, want):
    given = torch.ones(8, 1, 1), torch.ones(8, 1), PAIRS
    with use_backend(backend):
        assert explain(segment_softmax_sum, *given, quiet=True).ran("segment_softmax_sum") == {want}


def test_an_explanation_leaves_out_other_devices_and_names_a_backend_that_was_chosen(capsys):
    given = torch.ones(8, 1, 1), torch.ones(8, 1), PAIRS
    found = explain(segment_softmax_sum, *given)
    assert capsys.readouterr().out == "segment_softmax_sum: cpu\n"
    assert found[0].declined == (("triton", "it takes tensors on a GPU"),)
    with use_backend("reference"):
        lines = str(explain(segment_softmax_sum, *given, quiet=True)).splitlines()
    assert lines == [
        "segment_softmax_sum: naive",
        "    not triton: the backend is 'reference', this needs 'triton'",
        "    not cpu: the backend is 'reference', this needs 'cpu'",
    ]


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


class Watched(TorchDispatchMode):
    """Names of the operators that PyTorch was asked for."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def test_an_opaque_function_is_an_operator_for_those_that_watch_and_a_plain_call_for_others(monkeypatch):
    calls = []

    @opaque("ehnn_tests::doubled", fake=torch.empty_like)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return 2 * x

    x = torch.ones(3)
    monkeypatch.setattr(doubled, "op", operator := Mock(wraps=doubled.op))
    assert doubled(x).tolist() == [2, 2, 2]
    assert not operator.called
    monkeypatch.undo()
    with Watched() as watched:
        assert doubled(x).tolist() == [2, 2, 2]
    assert "ehnn_tests::doubled" in watched.names
    with FakeTensorMode() as mode:
        assert doubled(mode.from_tensor(x)).shape == (3,)
    assert len(calls) == 2  # shapes alone
    assert torch.compile(lambda x: doubled(x) + 1, backend="aot_eager", fullgraph=True)(x).tolist() == [3] * 3


def test_what_a_kernel_gives_may_be_overwritten() -> None:
    """As the outcome of a product is, by the steps of φ behind it."""
    double = differentiable(
        "double", lambda _, x: (2 * x,), lambda _, kept, grads: (2 * grads[0],), keep=lambda *_: ()
    )
    x = torch.ones(3, requires_grad=True)
    y = double(None, x)[0].add_(1).relu_()
    assert y.tolist() == [3.0, 3.0, 3.0]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 2.0, 2.0]
