"""Parts of a layer that were exchanged, pruned or are listened to are called; the others need not be."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn.nn.order import OrderEncoding
from ehnn.ops import use_backend
from ehnn.testing import random_hypergraph

LAYERS = [EHNNMLP, EHNNTransformer]


@pytest.fixture
def data():
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=8)
    return h.x, h.overlap("nodes", "edges")


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("width", [8, 6])
@pytest.mark.parametrize("part", ["phi1.first", "phi2.second", "phi3.third", "phi3.norm"])
def test_who_listens_changes_nothing(make, width, part, data):
    layer, heard = make(8, width, **({"heads": 2} if make is EHNNTransformer else {})), []
    before = layer(*data)
    layer.get_submodule(part).register_forward_hook(lambda *_: heard.append(1))
    torch.testing.assert_close(layer(*data), before)
    assert heard == [1]


def test_the_feed_forward_part_is_heard_too(data):
    layer, heard = EHNNTransformer(8, 8), []
    before = layer(*data)
    layer.feed_forward.second.register_forward_hook(lambda *_: heard.append(1))
    torch.testing.assert_close(layer(*data), before)
    assert heard == [1]


@pytest.mark.parametrize("make", LAYERS)
def test_another_layer_in_the_place_of_one_is_asked(make, data):
    class More(nn.Linear):
        def forward(self, x):
            return super().forward(x) + 1

    layer = make(8, 8)
    before = layer(*data)
    other = More(8, 8)
    other.load_state_dict(layer.phi1.second.state_dict())
    layer.phi1.second = other
    assert not torch.allclose(layer(*data), before)


@pytest.mark.parametrize("make", LAYERS)
def test_a_pruned_layer_is_trained(make, data):
    layer = make(8, 8)
    prune.l1_unstructured(layer.phi1.second, "weight", amount=0.5)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        layer(*data).square().mean().backward()
        optimizer.step()
    part = layer.phi1.second
    layer(*data)
    assert torch.equal(part.weight, part.weight_orig * part.weight_mask)
    assert int((part.weight == 0).sum()) == 32


@pytest.mark.parametrize("part", ["key", "query.net", "value", "merge"])
@pytest.mark.parametrize("options", [{}, {"global_interaction": False}, {"attention": "sigmoid"}])
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "edges"), ("all", "graph")])
def test_the_parts_of_attention_are_heard(part, options, ends):
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=8, d_edge=8)
    x, overlap, heard = h.features(ends[0]), h.overlap(*ends), []
    layer = EHNNTransformer(x.shape[1], 8, **options)
    before = layer(x, overlap)
    layer.get_submodule(part).register_forward_hook(lambda *_: heard.append(1))
    torch.testing.assert_close(layer(x, overlap), before)
    assert heard == [1]


def test_a_pruned_key_is_trained(data):
    layer = EHNNTransformer(8, 8)
    prune.l1_unstructured(layer.key, "weight", amount=0.5)
    for _ in range(2):
        layer(*data).square().sum().backward()
    assert layer.key.weight_orig.grad.abs().sum() > 0


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("part", ["phi1.skip", "phi2.dropout1", "phi3.dropout2", "phi2.encoding"])
def test_what_stands_around_the_layers_of_phi_may_be_exchanged(make, part, data):
    layer = make(8, 8)
    where, name = part.split(".")
    other = {"skip": nn.Linear(8, 8), "encoding": Silent("sinusoidal", 8)}.get(name, nn.Dropout(0.0))
    setattr(getattr(layer, where), name, other)
    found = layer(*data)
    with use_backend("reference"):
        torch.testing.assert_close(layer(*data), found)
    layer.phi1.first.register_forward_hook(lambda *_: None)  # every part is called
    torch.testing.assert_close(layer(*data), found)


class Silent(OrderEncoding):
    def of(self, orders, dtype):
        return torch.zeros_like(super().of(orders, dtype))


@pytest.mark.parametrize("name", ["feed_forward.dropout", "local_dropout", "global_dropout"])
def test_dropouts_of_attention_may_be_exchanged(name, data):
    layer = EHNNTransformer(8, 8)
    before = layer(*data)
    where, _, last = name.rpartition(".")
    setattr(layer.get_submodule(where), last, nn.Identity())
    torch.testing.assert_close(layer(*data), before)
