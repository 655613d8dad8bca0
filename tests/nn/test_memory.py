"""Chunks of rows give the same numbers, and keep less."""

import pytest
import torch

from ehnn.nn import EHNNMLP, EHNNTransformer, Stack
from ehnn.ops import bounded_memory, explain, use_backend
from ehnn.ops.ehnn_mlp import recomputed
from ehnn.testing import random_hypergraph


@pytest.mark.parametrize("layer", [EHNNMLP, EHNNTransformer])
def test_chunks_give_the_same_outputs_and_gradients(layer):
    h = random_hypergraph(40, 25, (1, 6), seed=0, d_node=3, dtype=torch.float64)
    model = Stack(3, 2, layer, width=8).double()
    want = model(h)
    expected = torch.autograd.grad(want.square().sum(), list(model.parameters()))
    with bounded_memory(rows=7):
        got = model(h)
        found = torch.autograd.grad(got.square().sum(), list(model.parameters()))
    torch.testing.assert_close(got, want)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


def kept(model, *given) -> int:
    """Bytes that a forward pass keeps for the backward pass."""
    sizes = {}
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.__setitem__(t.untyped_storage().data_ptr(), t.untyped_storage().nbytes()) or t,
        lambda t: t,
    )
    with hooks:
        model(*given)
    return sum(sizes.values())


def test_less_is_kept_for_the_backward_pass():
    h = random_hypergraph(3000, 2000, (2, 6), seed=0, d_node=4)
    model = Stack(4, 2, EHNNMLP, width=16)
    everything = kept(model, h)
    with bounded_memory(rows=500):
        assert kept(model, h) < 0.5 * everything


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_layer_keeps_its_input_alone_where_each_phi_does(monkeypatch, dropout):
    monkeypatch.setattr(recomputed, "_phi_keeps_its_input", lambda x: True)
    h = random_hypergraph(3000, 2000, (2, 6), seed=0, d_node=16)
    layer, o = EHNNMLP(16, 16, dropout=dropout), h.overlap("nodes", "edges")

    def outcome():
        torch.manual_seed(0)
        y = layer(h.x, o)
        return y, torch.autograd.grad(y.square().sum(), list(layer.parameters()))

    with use_backend("reference"):
        (want, gradients), everything = outcome(), kept(layer, h.x, o)
        with bounded_memory(rows=500):
            got, found = outcome()
            assert kept(layer, h.x, o) < 0.1 * everything
            assert "ehnn_mlp: recomputed" in str(explain(layer, h.x, o))
    torch.testing.assert_close(got, want)
    for a, b in zip(found, gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-3)


def test_no_gradient_needs_no_recomputation():
    h = random_hypergraph(40, 25, (1, 6), seed=0, d_node=3)
    model = Stack(3, 2, EHNNMLP, width=8)
    with torch.no_grad(), bounded_memory(rows=7):
        got = model(h)
    torch.testing.assert_close(got, model(h))


def test_rows_must_be_positive():
    with pytest.raises(ValueError, match="rows must be a positive integer, got 0"), bounded_memory(0):
        pass


@pytest.mark.parametrize("layer", [EHNNMLP, EHNNTransformer])
def test_chunks_without_an_order_embedding(layer):
    h = random_hypergraph(12, 9, (1, 4), seed=1, d_edge=8)
    model, o = layer(8, 8, order_embedding=False), h.overlap("edges", "nodes")
    want = model(h.edge_x, o)
    with bounded_memory(rows=2):
        torch.testing.assert_close(model(h.edge_x, o), want)


def test_chunks_inside_a_transform():
    """`torch.func.grad` cannot make activations again: they are kept."""
    h = random_hypergraph(12, 9, (1, 4), seed=1, d_node=8)
    model, o = EHNNMLP(8, 8), h.overlap("nodes", "edges")
    want = torch.func.grad(lambda x: model(x, o).square().sum())(h.x)
    with bounded_memory(rows=2):
        torch.testing.assert_close(torch.func.grad(lambda x: model(x, o).square().sum())(h.x), want)
