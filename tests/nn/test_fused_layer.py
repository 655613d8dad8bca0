"""When an EHNN-MLP layer runs as one kernel, and that it gives what Eq. 7 gives."""

import copy
import pickle

import pytest
import torch
from torch import Tensor

import ehnn
from ehnn.nn import EHNNMLP, Stack
from ehnn.ops import bounded_memory, explain, use_backend
from ehnn.ops._native.compiled import missing
from ehnn.ops.ehnn_mlp.naive import reference_ehnn_mlp
from ehnn.testing import random_hypergraph
from ehnn.training.runs import Runs

pytestmark = pytest.mark.skipif(missing("layer", torch.float32) is not None, reason="needs a C compiler")


@pytest.fixture
def o() -> ehnn.overlap.Overlap:
    return random_hypergraph(20, 10, (1, 5), seed=0).overlap("nodes", "all")


def ran(layer: EHNNMLP, x: Tensor, o: ehnn.overlap.Overlap) -> str:
    (name,) = explain(layer, x, o, quiet=True).ran("ehnn_mlp")
    return name


def plain(layer: EHNNMLP, x: Tensor, o: ehnn.overlap.Overlap) -> Tensor:
    with use_backend("reference"):
        return reference_ehnn_mlp(x, o, layer.parts())


def test_it_is_one_kernel_and_agrees_with_the_equation(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    assert ran(layer, x, o) == "cpu"
    torch.testing.assert_close(layer(x, o), plain(layer, x, o), rtol=1e-5, atol=1e-5)


def test_why_it_declines(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)

    def reason(layer=layer, x=x, o=o) -> str:
        (choice,) = (c for c in explain(layer, x, o, quiet=True) if c.operation == "ehnn_mlp")
        assert choice.ran == "naive"
        return choice.declined[0][1]

    with use_backend("reference"):
        assert "the backend is 'reference'" in reason()
    with torch.autocast("cpu", torch.bfloat16):
        assert reason() == "autocast is on"
    assert "the width changes from 8 to 16" in reason(EHNNMLP(8, 16), x[:, :8])
    assert "vectors of 64 bytes" in reason(EHNNMLP(10, 10), x[:, :10])
    assert ran(EHNNMLP(16, 16, dropout=0.5), x, o) == ran(EHNNMLP(16, 16, dropout=0.5).eval(), x, o) == "cpu"
    none = ehnn.Hypergraph.from_edges([], num_nodes=3).overlap("nodes", "edges")
    assert "no targets" in reason(x=x[:3], o=none)
    large = random_hypergraph(9000, 10, (1, 5), seed=0).overlap("nodes", "edges")
    assert "more than 8192 rows" in reason(x=torch.randn(9000, 16), o=large)


def test_many_runs_are_one_operation_and_each_what_it_is_alone(o):
    layers, x = [EHNNMLP(16, 16) for _ in range(3)], torch.randn(3, 20, 16, requires_grad=True)
    stacked = {k: torch.stack([dict(m.named_parameters())[k].detach() for m in layers]).requires_grad_()
               for k, _ in layers[0].named_parameters()}  # fmt: skip

    def one(parameters, x):
        return torch.func.functional_call(layers[0], parameters, (x, o))

    y = torch.vmap(one)(stacked, x)
    assert "cpu_layer" in type(y.grad_fn).__name__
    grads = torch.autograd.grad(y.square().sum(), [x, *stacked.values()], create_graph=True)
    for r, layer in enumerate(layers):
        alone = x[r].detach().requires_grad_()
        want = layer(alone, o)
        torch.testing.assert_close(y[r], want)
        wanted = torch.autograd.grad(want.square().sum(), [alone, *layer.parameters()])
        for got, wish in zip(grads, wanted, strict=True):
            torch.testing.assert_close(got[r], wish, rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError, match="use_backend"):
        torch.autograd.grad(grads[0].sum(), x)
    shared = torch.vmap(lambda x: layers[0](x, o))(x)
    torch.testing.assert_close(shared[1], layers[0](x[1], o))
    inner = torch.func.grad(lambda x: layers[0](x, o).square().sum())(x[1].detach())
    want = torch.autograd.grad(layers[0](x[1], o).square().sum(), x)[0][1]
    torch.testing.assert_close(inner, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("edges", [[], [[]], [[0, 1]]])
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "nodes"), ("nodes", "graph"), ("all", "all")])
def test_degenerate_relations(edges, ends):
    for nodes in (0, 3):
        if nodes or not any(edges):
            o = ehnn.Hypergraph.from_edges(edges, num_nodes=nodes).overlap(*ends)
            layer, x = EHNNMLP(16, 16), torch.randn(o.num_sources, 16)
            torch.testing.assert_close(layer(x, o), plain(layer, x, o), rtol=1e-5, atol=1e-5)


def test_other_settings_are_noticed(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    layer(x, o)
    for name, value in (("scale", 0.5), ("aggregation", "sum"), ("global_interaction", False)):
        setattr(layer, name, value)
        assert ran(layer, x, o) == "cpu"
        torch.testing.assert_close(layer(x, o), plain(layer, x, o), rtol=1e-5, atol=1e-5)


def test_casts_are_noticed(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    y = layer(x, o)
    assert ran(layer.double(), x.double(), o) == "cpu"
    torch.testing.assert_close(layer(x.double(), o), y.double(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.float()(x, o), y)


def test_copies_have_parameters_of_their_own(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    y = layer(x, o)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x, o), y)
        with torch.no_grad():
            for p in other.parameters():
                p.zero_()
        assert not torch.equal(other(x, o), y)
        assert torch.equal(layer(x, o), y)


@pytest.mark.parametrize("seeds", [[3], [3, 5]])
def test_masks_with_a_seed_are_those_of_the_parts(seeds):
    h = random_hypergraph(20, 10, (1, 5), seed=0, d_node=16)
    step = torch.tensor(7)

    def make() -> Stack:
        return Stack(16, 16, lambda a, b: EHNNMLP(a, b, dropout=0.4), width=16)

    def outcome() -> list[Tensor]:
        runs = Runs(make, seeds)
        y = runs.forward(h, step=step)
        runs.backward(y.square().sum())
        return [y.detach(), *runs.gradients()]

    fast = outcome()
    with use_backend("reference"):
        slow = outcome()
    for a, b in zip(fast, slow, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_checkpoint_gives_the_same_gradients(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16, requires_grad=True)
    layer(x, o).square().sum().backward()
    want, x.grad = x.grad, None
    torch.utils.checkpoint.checkpoint(layer, x, o, use_reentrant=False).square().sum().backward()
    assert torch.equal(x.grad, want)


def test_under_bounded_memory_hidden_layers_are_made_again_and_give_the_same(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16, requires_grad=True)

    def outcome() -> list[Tensor]:
        y = layer(x, o)
        assert "cpu_layer" in type(y.grad_fn).__name__
        kept = y.grad_fn.saved_tensors[0].numel()
        grads = torch.autograd.grad(y.square().sum(), [x, *layer.parameters()])
        return [torch.tensor(kept), y.detach(), *grads]

    more, *want = outcome()
    with bounded_memory(rows=5):
        less, *got = outcome()
    assert less < 0.5 * more
    assert all(map(torch.equal, got, want))
