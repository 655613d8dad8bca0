"""A whole EHNN-MLP layer as one kernel of a CPU against the plain version: values, gradients, memory."""

import platform
from functools import partial

import pytest
import torch
from torch import Tensor

import ehnn
from ehnn import Hypergraph
from ehnn.nn import EHNNMLP
from ehnn.ops import use_backend
from ehnn.ops._native import compiled
from ehnn.ops._native.compiled import library, missing
from ehnn.ops.ehnn_mlp import calls as layer_calls
from ehnn.ops.ehnn_mlp import cpu as cpu_layer
from ehnn.testing import random_hypergraph

from .ops_helpers import assert_as_good_as_plain, values_and_gradients

pytestmark = pytest.mark.skipif(missing("layer", torch.float32) is not None, reason="needs a C compiler")

ENDS = [("nodes", "all"), ("all", "nodes"), ("nodes", "edges"), ("edges", "nodes"), ("edges", "edges")]
KINDS = {
    "the paper's": {},
    "no pool": {"global_interaction": False},
    "no orders": {"order_embedding": False},
    "neither": {"global_interaction": False, "order_embedding": False},
    "sums of numbers": {"aggregation": "sum", "scale": 1 / 32, "order_encoding": "number", "norm": False},
    "scaled means": {"scale": 0.5, "norm": False},
}


@pytest.fixture(autouse=True)
def poisoned(monkeypatch):
    """Memory that nobody wrote is NaN."""
    torch.use_deterministic_algorithms(True)
    monkeypatch.setattr(layer_calls, "_scratch", layer_calls._Scratch())
    yield
    torch.use_deterministic_algorithms(False)


def hypergraphs() -> dict[str, Hypergraph]:
    each = [random_hypergraph(30, 15, (1, 6), seed=i) for i in range(3)]
    odd = Hypergraph.from_edges([[], [0, 1, 2], [5], [], [1, 2]], num_nodes=8)
    nothing = Hypergraph.from_edges([], num_nodes=0)
    return {
        "one": each[0],
        "batch": ehnn.batch(each),
        "empty hyperedges, isolated nodes": odd,
        "an empty member": ehnn.batch([each[0], nothing, odd]),
    }


def called(layer: EHNNMLP, o: ehnn.overlap.Overlap, fast: bool):
    """The layer as a function of x and its parameters."""
    names = [name for name, _ in layer.named_parameters()]

    def call(x: Tensor, *parameters: Tensor) -> Tensor:
        with use_backend("cpu" if fast else "reference"):
            for name, value in zip(names, parameters, strict=True):
                owner, _, own = name.rpartition(".")
                layer.get_submodule(owner)._parameters[own] = value
            y = layer(x, o)
        assert ("cpu_layer" in type(y.grad_fn).__name__) == fast
        return y

    return call


def inputs(o: ehnn.overlap.Overlap, layer: EHNNMLP) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(o.num_sources, layer.d_in, generator=generator)
    shaken = [p + 0.1 * torch.randn(p.shape, generator=generator) for p in layer.parameters()]
    return [x, *(p.detach() for p in shaken)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", hypergraphs())
@pytest.mark.parametrize("ends", ENDS, ids=" to ".join)
def test_as_good_as_plain(ends, name, kind):
    o = hypergraphs()[name].overlap(*ends)
    torch.manual_seed(0)
    layer = EHNNMLP(16, 16, **KINDS[kind])
    made, tensors = [called(layer, o, fast) for fast in (True, False)], inputs(o, layer)
    assert_as_good_as_plain(*made, tensors)
    exact = [t.double() for t in tensors]
    for a, b in zip(*(values_and_gradients(f, exact) for f in made), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("d", [32, 64, 80])
def test_widths_and_more_rows_than_sums_are_taken_in_one_go(d):
    o = random_hypergraph(3200 if d == 32 else 400, 200, (2, 9), seed=0).overlap("nodes", "all")
    torch.manual_seed(d)
    layer = EHNNMLP(d, d)
    assert_as_good_as_plain(*(called(layer, o, fast) for fast in (True, False)), inputs(o, layer))


def test_the_same_numbers_in_every_call_and_without_gradients():
    o, layer = hypergraphs()["batch"].overlap("all", "nodes"), EHNNMLP(32, 32)
    tensors = inputs(o, layer)
    first, second = (values_and_gradients(called(layer, o, True), tensors) for _ in range(2))
    assert all(map(torch.equal, first, second))
    with torch.no_grad():
        assert torch.equal(layer(tensors[0], o), first[0])


def test_gradients_of_some_and_twice():
    o, layer = hypergraphs()["one"].overlap("nodes", "edges"), EHNNMLP(16, 16)
    x = torch.randn(o.num_sources, 16)
    layer.phi2.requires_grad_(False)
    y = layer(x, o)
    want = torch.autograd.grad(y.square().sum(), layer.phi1.w1, retain_graph=True)[0]
    y.square().sum().backward(retain_graph=True)
    assert layer.phi2.w1.grad is None
    y.square().sum().backward()
    torch.testing.assert_close(layer.phi1.w1.grad, 2 * want)


def test_no_second_derivative():
    o, layer = hypergraphs()["one"].overlap("nodes", "edges"), EHNNMLP(16, 16)
    x = torch.randn(o.num_sources, 16, requires_grad=True)
    (dx,) = torch.autograd.grad(layer(x, o).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"no second derivative; use use_backend\('reference'\)"):
        dx.square().sum().backward()


def test_what_is_changed_between_forward_and_backward_is_noticed():
    o, layer = hypergraphs()["one"].overlap("nodes", "edges"), EHNNMLP(16, 16)
    y = layer(torch.randn(o.num_sources, 16), o)
    with torch.no_grad():
        layer.phi1.w2.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_the_kernel_reads_lives_as_long_as_its_relation():
    before = len(cpu_layer._relations)
    o = hypergraphs()["one"].overlap("nodes", [[0, 1, 2]])
    EHNNMLP(16, 16)(torch.randn(o.num_sources, 16), o)
    assert len(cpu_layer._relations) == before + 1
    del o
    assert len(cpu_layer._relations) <= before


@pytest.mark.parametrize(
    "spoil",
    [lambda p: p.double(), lambda p: p[:8], lambda p: p.to("meta")],
    ids=["another dtype", "another shape", "elsewhere"],
)
def test_parameters_that_the_kernel_would_misread_are_declined(spoil):
    o, layer = hypergraphs()["one"].overlap("nodes", "edges"), EHNNMLP(16, 16)
    x = torch.randn(o.num_sources, 16)
    assert cpu_layer.supports(x, o, layer.parts()) is None
    layer.phi2.w2 = torch.nn.Parameter(spoil(layer.phi2.w2.detach()))
    assert "parameters" in cpu_layer.supports(x, o, layer.parts())


def test_parameters_that_are_not_dense_are_read_as_they_are():
    o, layer = hypergraphs()["one"].overlap("nodes", "edges"), EHNNMLP(16, 16)
    layer.phi1.w2.data = layer.phi1.w2.data.t()
    x = torch.randn(o.num_sources, 16)
    y = layer(x, o)
    assert "cpu_layer" in type(y.grad_fn).__name__
    with torch.no_grad():
        assert torch.equal(layer(x, o), y)
    with use_backend("reference"):
        torch.testing.assert_close(y, layer(x, o), rtol=1e-5, atol=1e-5)


def test_rows_with_gaps_between_them():
    o, layer = hypergraphs()["one"].overlap("nodes", "edges"), EHNNMLP(16, 16)
    x = torch.randn(o.num_sources, 32)[:, ::2].requires_grad_()
    y = layer(x, o)
    (dx,) = torch.autograd.grad(y, x, torch.ones(16, y.shape[0]).T)
    again = x.detach().clone().requires_grad_()
    torch.testing.assert_close(layer(again, o), y)
    torch.testing.assert_close(torch.autograd.grad(layer(again, o).sum(), again)[0], dx)


def test_no_nan_stays_hidden():
    o = Hypergraph.from_edges([[0, 1], [2, 3]]).overlap("nodes", "edges")
    x = torch.randn(4, 16)
    x[3, 5] = torch.nan
    y = EHNNMLP(16, 16, global_interaction=False)(x, o)
    assert y[0].isfinite().all()
    assert y[1].isnan().all()
    assert partial(EHNNMLP(16, 16), overlap=o)(x).isnan().all()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a processor")
def test_a_processor_with_narrow_vectors_gives_the_same(monkeypatch, tmp_path):
    layer = EHNNMLP(32, 32)

    def outcome() -> list[Tensor]:
        o = hypergraphs()["batch"].overlap("nodes", "all")
        x = torch.randn(o.num_sources, 32, generator=torch.Generator().manual_seed(0)).requires_grad_()
        y = layer(x, o)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), [x, *layer.parameters()])]

    want = outcome()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled, "OPTIONS", ("-O1", "-march=x86-64", "-fPIC", "-shared"))
    narrow = library.__wrapped__("layer", torch.float32)
    assert narrow is not None
    monkeypatch.setattr(layer_calls, "library", lambda *_: narrow)
    for a, b in zip(outcome(), want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
