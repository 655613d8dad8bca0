"""What docs/extending.md promises: hooks, parametrisations, pruning, other parts, adapters, old files."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune

from ehnn.nn import EHNNMLP, EHNNTransformer, Phi
from ehnn.ops import explain
from ehnn.ops._native.compiled import missing
from ehnn.testing import random_hypergraph

LAYERS = [EHNNMLP, EHNNTransformer]
PARTS = ["phi1", "phi2", "phi3", "bias"]


@pytest.fixture
def data():
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=16)
    return h.x, h.overlap("nodes", "edges")


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("part", ["", *PARTS, "phi2.dropout1"])
def test_hooks_are_called_and_change_nothing(make, part, data):
    layer, heard = make(16, 16), []
    before = layer(*data)
    module = layer.get_submodule(part)
    handles = [
        module.register_forward_pre_hook(lambda *_: heard.append("before")),
        module.register_forward_hook(lambda *_: heard.append("after")),
    ]
    torch.testing.assert_close(layer(*data), before)
    # The masks of dropout are made inside the kernels of φ: only the modules named in the docs are called.
    assert heard == ([] if part == "phi2.dropout1" else ["before", "after"])
    for handle in handles:
        handle.remove()
    if part == "bias":  # it is given no tensors
        return
    module.register_full_backward_hook(lambda *_: heard.append("backward"))
    x = data[0].clone().requires_grad_()
    layer(x, data[1]).sum().backward()
    assert ("backward" in heard) == (part in ("", "phi1", "phi2", "phi3"))


@pytest.mark.skipif(missing("layer", torch.float32) is not None, reason="needs a C compiler")
def test_who_listens_is_the_reason(data):
    layer = EHNNMLP(16, 16)
    assert explain(layer, *data, quiet=True).ran("ehnn_mlp") == {"cpu"}
    handle = layer.phi2.register_forward_hook(lambda *_: None)
    (first, *_) = explain(layer, *data, quiet=True)
    assert (first.ran, "phi2 has to be called: it has hooks" in first.declined[0][1]) == ("naive", True)
    handle.remove()
    assert explain(layer, *data, quiet=True).ran("ehnn_mlp") == {"cpu"}
    everywhere = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert explain(layer, *data, quiet=True).ran("ehnn_mlp") == {"naive"}
    finally:
        everywhere.remove()


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("part", ["phi1", "phi2", "phi3"])
def test_any_module_may_stand_in_the_place_of_phi(make, part, data):
    class Other(nn.Module):
        def forward(self, x, orders, residual=None):
            return torch.zeros_like(x)

    class More(Phi):
        def forward(self, x, orders, residual=None):
            return super().forward(x, orders, residual) + 1

    layer = make(16, 16)
    before = layer(*data)
    phi = getattr(layer, part)
    more = More(16, 16, phi.encoding)
    more.load_state_dict(phi.state_dict())
    for other in (Other(), more):
        setattr(layer, part, other)
        assert not torch.allclose(layer(*data), before)
    setattr(layer, part, phi)
    torch.testing.assert_close(layer(*data), before)


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize(
    ("part", "name"), [("phi1", "w2"), ("phi2", "b1"), ("phi3", "gamma"), ("bias", "w1")]
)
def test_every_parameter_may_be_parametrised(make, part, name, data):
    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

    layer = make(16, 16)
    module = getattr(layer, part)
    with torch.no_grad():
        getattr(module, name).mul_(2)
    want = layer(*data)
    with torch.no_grad():
        getattr(module, name).div_(2)
    parametrize.register_parametrization(module, name, Double())
    torch.testing.assert_close(layer(*data), want)
    layer(*data).square().sum().backward()
    assert module.parametrizations[name].original.grad.abs().sum() > 0


@pytest.mark.parametrize("make", LAYERS)
def test_a_pruned_layer_is_trained(make, data):
    layer = make(16, 16)
    prune.l1_unstructured(layer.phi1, "w2", amount=0.5)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        layer(*data).square().mean().backward()
        optimizer.step()
    layer(*data)
    assert torch.equal(layer.phi1.w2, layer.phi1.w2_orig * layer.phi1.w2_mask)
    assert int((layer.phi1.w2 == 0).sum()) == 128


@pytest.mark.parametrize("part", ["key", "query.net", "value", "merge"])
@pytest.mark.parametrize("options", [{}, {"global_interaction": False}, {"attention": "sigmoid"}])
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "edges"), ("all", "graph")])
def test_the_linear_maps_of_attention_are_modules(part, options, ends):
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=8, d_edge=8)
    x, overlap, heard = h.features(ends[0]), h.overlap(*ends), []
    layer = EHNNTransformer(x.shape[1], 8, **options)
    before = layer(x, overlap)
    layer.get_submodule(part).register_forward_hook(lambda *_: heard.append(1))
    torch.testing.assert_close(layer(x, overlap), before)
    assert len(heard) == 1


class LowRank(nn.Module):
    """W x + B A x: what adapters such as LoRA put around a linear map."""

    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner
        self.a = nn.Parameter(torch.randn(2, inner.in_features))
        self.b = nn.Parameter(torch.zeros(inner.out_features, 2))

    def forward(self, x):
        return self.inner(x) + x @ self.a.T @ self.b.T


@pytest.mark.parametrize("part", ["key", "value", "merge"])
def test_adapters_around_linear_maps(part, data):
    layer = EHNNTransformer(16, 16)
    before = layer(*data)
    setattr(layer, part, LowRank(getattr(layer, part)))
    torch.testing.assert_close(layer(*data), before)
    layer(*data).square().sum().backward()
    assert getattr(layer, part).b.grad.abs().sum() > 0


def test_adapters_of_phi_are_parametrisations(data):
    class LowRankWeight(nn.Module):
        def __init__(self, rows, columns):
            super().__init__()
            self.a, self.b = nn.Parameter(torch.randn(2, columns)), nn.Parameter(torch.zeros(rows, 2))

        def forward(self, weight):
            return weight + self.b @ self.a

    layer = EHNNMLP(16, 16).requires_grad_(False)
    before = layer(*data)
    adapter = LowRankWeight(*layer.phi1.w1.shape)
    parametrize.register_parametrization(layer.phi1, "w1", adapter)
    torch.testing.assert_close(layer(*data), before)
    layer(*data).square().sum().backward()
    assert adapter.b.grad.abs().sum() > 0
    assert layer.phi1.w2.grad is None


def test_a_pruned_key_is_trained(data):
    layer = EHNNTransformer(16, 16)
    prune.l1_unstructured(layer.key, "weight", amount=0.5)
    for _ in range(2):
        layer(*data).square().sum().backward()
    assert layer.key.weight_orig.grad.abs().sum() > 0


@pytest.mark.parametrize("name", ["local_dropout", "global_dropout"])
def test_dropouts_of_attention_may_be_exchanged(name, data):
    layer = EHNNTransformer(16, 16)
    before = layer(*data)
    setattr(layer, name, nn.Identity())
    torch.testing.assert_close(layer(*data), before)


OLD = {
    "gamma": "norm.weight", "beta": "norm.bias", "w1": "first.weight", "b1": "first.bias",
    "w2": "second.weight", "b2": "second.bias", "w3": "third.weight", "b3": "third.bias",
    "skip": "skip.weight",
}  # fmt: skip
OLD_BIAS = {"w1": "net.0.weight", "b1": "net.0.bias", "w2": "net.2.weight", "b2": "net.2.bias"}


@pytest.mark.parametrize("make", LAYERS)
def test_files_of_earlier_versions_are_read(make, data):
    layer, other = make(16, 8), make(16, 8)

    def old(name: str) -> str:
        owner, _, last = name.rpartition(".")
        known = OLD_BIAS if owner == "bias" else OLD
        return f"{owner}.{known[last]}" if owner in (*PARTS, "feed_forward") else name

    state = {old(name): value for name, value in layer.state_dict().items()}
    assert {"phi1.norm.weight", "phi1.skip.weight", "bias.net.2.bias"} <= set(state)
    other.load_state_dict(state)
    torch.testing.assert_close(other(*data), layer(*data))
    with pytest.raises(RuntimeError, match=r"Missing key.*phi1\.w2"):
        other.load_state_dict({k: v for k, v in state.items() if k != "phi1.second.weight"})
