"""Theorems 2, 3 and 4 and the counting example of appendix A.2."""

import pytest
import torch
from torch import nn

from ehnn import Hypergraph, batch
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer
from ehnn.nn.baselines import AllDeepSets, AllSetTransformer
from ehnn.ops import segment_softmax_sum
from ehnn.testing import random_hypergraph

FAMILIES = [("nodes", "edges"), ("edges", "nodes"), ("edges", "edges"), ("all", "all")]


class Blind(nn.Module):
    """φ(k, x) = f(x)."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, orders, plus=None):
        return self.inner(x)


class OnlyLocal(nn.Module):
    """φ(𝓘, x) = 1[𝓘 ≥ 1] x."""

    def forward(self, x, orders, plus=None):
        return x * (orders.expand() >= 1).to(x.dtype).unsqueeze(1)


class FixedQuery(nn.Module):
    """𝓠(𝓘) = Q."""

    def __init__(self, query):
        super().__init__()
        self.query = query

    def forward(self, sizes):
        return self.query.flatten().expand(1 + sizes.values.shape[0], -1)


def rows(h, family):
    return {"nodes": h.num_nodes, "edges": h.num_edges, "all": h.num_nodes + h.num_edges}[family]


def setting(source, target, width, seed=0):
    """A hypergraph with an isolated node and an empty hyperedge, features, and an overlap."""
    edges = [*random_hypergraph(9, 7, (1, 4), seed=seed).edges(), []]
    h = Hypergraph.from_edges(edges, num_nodes=10)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows(h, source), width, generator=generator, dtype=torch.float64)
    return x, h.overlap(source, target)


@pytest.mark.parametrize(("source", "target"), FAMILIES)
def test_mlp_reduces_to_all_deep_sets(source, target):
    """Theorem 3: φ₁(k, x) = φ₁'(x), φ₂(𝓘, x) = 1[𝓘 ≥ 1] x, φ₃(l, x) = φ₃'(x), 𝓑 = 0."""
    torch.manual_seed(0)
    baseline = AllDeepSets(4, 8, aggregation="sum").double()
    layer = EHNNMLP(4, 8, aggregation="sum").double()
    layer.phi1, layer.phi2, layer.phi3 = Blind(baseline.phi1), OnlyLocal(), Blind(baseline.phi2)
    layer.bias = None
    x, overlap = setting(source, target, 4)
    torch.testing.assert_close(layer(x, overlap), baseline(x, overlap), atol=1e-12, rtol=1e-12)


def test_all_deep_sets_does_not_reduce_to_mlp():
    """What does not meet a target moves EHNN-MLP, and not AllDeepSets."""
    h = Hypergraph.from_edges([[0, 1], [2, 3]])
    torch.manual_seed(0)
    x = torch.randn(4, 4)
    far = x.clone()
    far[2:] += 1
    overlap = h.overlap("nodes", "edges")
    blind, layer = AllDeepSets(4, 8), EHNNMLP(4, 8)
    assert torch.equal(blind(x, overlap)[0], blind(far, overlap)[0])
    assert (layer(x, overlap)[0] - layer(far, overlap)[0]).abs().max() > 1e-3


@pytest.mark.parametrize(("source", "target"), [("nodes", "edges"), ("edges", "nodes"), ("nodes", "all")])
def test_transformer_reduces_to_all_set_attention(source, target):
    """Theorem 4, for the attention of Eqs. 17 and 19 and the feed-forward of Eq. 18.

    Softmax runs over the sources of one 𝓘, so the two agree where a target meets its sources in one
    size, as it does wherever nodes are on a side.
    """
    torch.manual_seed(0)
    heads, width = 2, 8
    layer = EHNNTransformer(4, width, heads=heads).double()
    first, query = nn.Linear(4, width).double(), torch.randn(heads, width // heads, dtype=torch.float64)
    layer.phi1, layer.phi2, layer.phi3 = Blind(first), OnlyLocal(), Blind(nn.Identity())
    layer.query, layer.bias, layer.merge = FixedQuery(query), None, nn.Identity()
    x, overlap = setting(source, target, 4)
    z = first(x)
    local = layer.key(z)[:, width:]  # behind the keys of 𝓘 = 0
    key, value = (t.reshape(-1, heads, width // heads) for t in (local, layer.value(z)))
    logits = (key * query).sum(-1) / (width // heads) ** 0.5
    attention = segment_softmax_sum(value, logits, overlap.merged).flatten(1)
    want = layer.feed_forward(attention)
    torch.testing.assert_close(layer(x, overlap), want, atol=1e-12, rtol=1e-12)


def star_of_orders(orders):
    """One hyperedge of each order over nodes with identical features, and |e| as the target."""
    h = Hypergraph.from_edges([list(range(k)) for k in orders], num_nodes=max(orders))
    return torch.ones(h.num_nodes, 4), h.overlap("nodes", "edges"), h.orders.to(torch.float32).unsqueeze(1)


def fit(model, x, overlap, y, steps, lr=1e-2):
    """Mean squared error after ``steps`` steps of Adam."""
    optimiser = torch.optim.Adam(model.parameters(), lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, lr, total_steps=steps)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = (model(x, overlap) - y).square().mean()
        loss.backward()
        optimiser.step()
        schedule.step()
    return float(loss.detach())


class WithHead(nn.Module):
    """A layer and a linear map to the width of the target."""

    def __init__(self, layer, width, out):
        super().__init__()
        self.layer, self.out = layer, nn.Linear(width, out)

    def forward(self, x, overlap):
        return self.out(self.layer(x, overlap))


def test_all_set_transformer_cannot_count():
    x, overlap, _ = star_of_orders(range(1, 9))
    torch.manual_seed(0)
    y = AllSetTransformer(4, 16)(x, overlap)
    torch.testing.assert_close(y, y[:1].expand_as(y), atol=1e-6, rtol=1e-5)


def test_transformer_learns_to_count():
    x, overlap, y = star_of_orders(range(1, 9))
    torch.manual_seed(0)
    error = {
        kind.__name__: fit(WithHead(kind(4, 16), 16, 1), x, overlap, y, 150)
        for kind in (EHNNTransformer, AllSetTransformer)
    }
    assert error["AllSetTransformer"] > 0.99 * float(y.var(correction=0))
    assert error["EHNNTransformer"] < 0.01 * error["AllSetTransformer"]


def test_mlp_fits_a_random_layer_and_all_deep_sets_does_not():
    """Theorem 2: a random EHNN layer on one hypergraph, many features to learn from and others to test on."""
    torch.manual_seed(0)
    h = random_hypergraph(12, 16, (1, 4), seed=0)
    teacher = EHNNLinear(4, 4, weights="hypernetwork", hidden=16)
    seen, unseen = (batch([h.replace(edge_x=torch.randn(16, 4)) for _ in range(n)]) for n in (40, 20))
    overlap, other = (b.overlap("edges", "edges") for b in (seen, unseen))
    with torch.no_grad():
        y, want = teacher(seen.edge_x, overlap), teacher(unseen.edge_x, other)
    shift, scale = y.mean(), y.std()
    error = {}
    for kind in (EHNNMLP, AllDeepSets):
        model = WithHead(kind(4, 32, aggregation="sum"), 32, 4)
        fit(model, seen.edge_x, overlap, (y - shift) / scale, 200)
        with torch.no_grad():
            got = model(unseen.edge_x, other)
        error[kind.__name__] = float((got - (want - shift) / scale).square().mean())
    assert error["EHNNMLP"] < error["AllDeepSets"] / 5, error
