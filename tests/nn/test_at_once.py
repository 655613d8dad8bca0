"""When an EHNN-MLP layer runs as one kernel, and that it gives what it gives part by part."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import prune

import ehnn
from ehnn.nn import EHNNMLP, Stack, bounded_memory
from ehnn.ops import use_backend
from ehnn.ops.cpu_layer import layer_fits
from ehnn.testing import random_hypergraph
from ehnn.training.runs import Runs

pytestmark = pytest.mark.skipif(not layer_fits(torch.ones(1, 16), 16, 16), reason="needs a C compiler")


@pytest.fixture
def o() -> ehnn.overlap.Overlap:
    return random_hypergraph(20, 10, (1, 5), seed=0).overlap("nodes", "all")


def at_once(y: Tensor) -> bool:
    return "CpuLayer" in type(y.grad_fn).__name__


def test_it_runs_at_once_and_agrees_with_part_by_part(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    y = layer(x, o)
    assert at_once(y)
    torch.testing.assert_close(y, layer._part_by_part(x, o), rtol=1e-5, atol=1e-5)


def test_where_it_does_not_apply(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    with use_backend("reference"):
        assert not at_once(layer(x, o))
    with torch.autocast("cpu", torch.bfloat16):
        assert not at_once(layer(x, o))
    assert not at_once(EHNNMLP(8, 16)(x[:, :8], o))
    assert not at_once(EHNNMLP(10, 10)(x[:, :10], o))
    assert not at_once(EHNNMLP(16, 16, dropout=0.5)(x, o))
    assert at_once(EHNNMLP(16, 16, dropout=0.5).eval()(x, o))
    found = torch.func.grad(lambda x: layer(x, o).square().sum())(x)
    inner = x.clone().requires_grad_()
    want = torch.autograd.grad(layer(inner, o).square().sum(), inner)[0]
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)


def test_many_runs_are_one_operation_and_each_what_it_is_alone(o):
    layers, x = [EHNNMLP(16, 16) for _ in range(3)], torch.randn(3, 20, 16, requires_grad=True)
    stacked = {k: torch.stack([dict(m.named_parameters())[k].detach() for m in layers]).requires_grad_()
               for k, _ in layers[0].named_parameters()}  # fmt: skip

    def one(parameters, x):
        return torch.func.functional_call(layers[0], parameters, (x, o))

    y = torch.vmap(one)(stacked, x)
    assert "CpuLayerOfRuns" in type(y.grad_fn).__name__
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


@pytest.mark.parametrize("edges", [[], [[]], [[0, 1]]])
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "nodes"), ("nodes", "graph"), ("all", "all")])
def test_degenerate_relations(edges, ends):
    for nodes in (0, 3):
        if nodes or not any(edges):
            o = ehnn.Hypergraph.from_edges(edges, num_nodes=nodes).overlap(*ends)
            layer, x = EHNNMLP(16, 16), torch.randn(o.num_sources, 16)
            with use_backend("reference"):
                want = layer(x, o)
            torch.testing.assert_close(layer(x, o), want, rtol=1e-5, atol=1e-5)


def test_who_listens_to_a_part_hears_it(o):
    layer, x, heard = EHNNMLP(16, 16), torch.randn(20, 16), []
    layer(x, o)
    handle = layer.phi2.register_forward_hook(lambda *_: heard.append(1))
    assert not at_once(layer(x, o))
    assert heard == [1]
    handle.remove()
    assert at_once(layer(x, o))


def test_other_parts_and_parameters_are_noticed(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    old = layer(x, o)
    layer.phi3.third.weight = nn.Parameter(torch.zeros(16, 16))
    other = layer(x, o)
    assert at_once(other)
    torch.testing.assert_close(other, layer._part_by_part(x, o), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(old, other)
    layer.phi1.second = nn.Linear(16, 16)
    assert at_once(layer(x, o))
    torch.testing.assert_close(layer(x, o), layer._part_by_part(x, o), rtol=1e-5, atol=1e-5)
    nn.utils.parametrizations.weight_norm(layer.phi1.second)
    assert not at_once(layer(x, o))
    layer.phi1.second, layer.phi2 = nn.Linear(16, 16), copy.deepcopy(EHNNMLP(16, 16).phi2)
    torch.testing.assert_close(layer(x, o), layer._part_by_part(x, o), rtol=1e-5, atol=1e-5)


def test_a_part_of_another_kind_is_called(o):
    class Other(nn.Module):
        def forward(self, x: Tensor, orders: object, plus: object = None) -> Tensor:
            return 2 * x

    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    assert at_once(layer(x, o))
    for name in ("phi1", "phi2", "phi3"):
        setattr(layer, name, Other())
        assert torch.equal(layer(x, o), layer._part_by_part(x, o))


def test_other_settings_are_noticed(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    layer(x, o)
    for name, value in (("scale", 0.5), ("aggregation", "sum"), ("global_interaction", False)):
        setattr(layer, name, value)
        assert at_once(layer(x, o))
        torch.testing.assert_close(layer(x, o), layer._part_by_part(x, o), rtol=1e-5, atol=1e-5)


def test_casts_are_noticed(o):
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    y = layer(x, o)
    double = layer.double()(x.double(), o)
    assert at_once(double)
    torch.testing.assert_close(double, y.double(), rtol=1e-4, atol=1e-4)
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


def test_masks_with_a_seed_are_those_of_the_parts():
    h = random_hypergraph(20, 10, (1, 5), seed=0, d_node=16)
    step = torch.tensor(7)

    def make() -> Stack:
        return Stack(16, 16, lambda a, b: EHNNMLP(a, b, dropout=0.4), width=16)

    def outcome() -> list[Tensor]:
        runs = Runs(make, [3])
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
        assert at_once(y)
        kept = y.grad_fn.saved_tensors[0].numel()
        return [
            torch.tensor(kept),
            y.detach(),
            *torch.autograd.grad(y.square().sum(), [x, *layer.parameters()]),
        ]

    more, *want = outcome()
    with bounded_memory(rows=5):
        less, *got = outcome()
    assert less < 0.5 * more
    assert all(map(torch.equal, got, want))


def test_another_epsilon_is_heard(o):
    """The kernels have PyTorch's own; any other goes part by part, also when it is set after a call."""
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    assert at_once(layer(x, o))
    for module in layer.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 0.1
    with use_backend("reference"):
        want = layer(x, o)
    torch.testing.assert_close(layer(x, o), want, rtol=1e-5, atol=1e-5)


def test_parameters_are_read_by_name_and_as_they_lie(o):
    x = torch.randn(20, 16)
    pruned, turned = EHNNMLP(16, 16), EHNNMLP(16, 16)
    for layer in (pruned, turned):
        assert at_once(layer(x, o))
    prune.random_unstructured(pruned.phi1.second, "bias", 0.5)
    weight = turned.phi1.second.weight
    weight.data = weight.data.t()
    for layer in (pruned, turned):
        with use_backend("reference"):
            want = layer(x, o)
        torch.testing.assert_close(layer(x, o), want, rtol=1e-5, atol=1e-5)
