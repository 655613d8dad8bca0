"""Convolutions against PyTorch Geometric's on the same weights."""

import pytest
import torch

from ehnn import Hypergraph
from ehnn.hypergraph import clique_expansion
from ehnn.nn import baselines
from ehnn.testing import random_hypergraph

D_IN, D_OUT = 4, 6


@pytest.fixture(scope="module")
def peer():
    return pytest.importorskip("torch_geometric.nn", exc_type=ImportError)


@pytest.fixture
def h() -> Hypergraph:
    h = random_hypergraph(12, 9, (1, 5), seed=0, d_node=D_IN, dtype=torch.float64)
    return h.replace(edge_weight=torch.rand(9, dtype=torch.float64) + 0.5)


def share(ours: torch.nn.Module, theirs: torch.nn.Module) -> None:
    """The same Θ and bias in both."""
    theta = ours.theta if hasattr(ours, "theta") else ours.attention.theta
    with torch.no_grad():
        ours.bias.normal_()
        theirs.lin.weight.copy_(theta.weight)
        theirs.bias.copy_(ours.bias)


def test_hcha_is_hypergraph_conv(peer, h: Hypergraph) -> None:
    ours, theirs = baselines.HCHAConv(D_IN, D_OUT).double(), peer.HypergraphConv(D_IN, D_OUT).double()
    share(ours, theirs)
    plain = h.replace(edge_weight=None)
    torch.testing.assert_close(ours(h.x, plain), theirs(h.x, h.index, num_edges=h.num_edges))


def test_whole_weights_are_repeated_hyperedges(peer, h: Hypergraph) -> None:
    """PyG leaves W out of its product, but a hyperedge of weight 3 is three hyperedges of weight 1."""
    ours, theirs = baselines.HCHAConv(D_IN, D_OUT).double(), peer.HypergraphConv(D_IN, D_OUT).double()
    share(ours, theirs)
    weight = torch.arange(9) % 3 + 1
    repeated = Hypergraph.from_edges(
        [e for e, w in zip(h.edges(), weight, strict=True) for _ in range(w)], 12
    )
    want = theirs(h.x, repeated.index, num_edges=repeated.num_edges)
    torch.testing.assert_close(ours(h.x, h.replace(edge_weight=weight.double())), want)


def test_hgnn_from_hypergraph_conv(peer, h: Hypergraph) -> None:
    """D^-½ P D^½ of the row-normalised product is the symmetric one."""
    ours, theirs = baselines.HGNNConv(D_IN, D_OUT).double(), peer.HypergraphConv(D_IN, D_OUT).double()
    share(ours, theirs)
    h = h.replace(edge_weight=None)
    root = h.degrees.double().sqrt().unsqueeze(1)
    inverse = torch.where(root > 0, 1 / root.clamp(min=1), 0.0)
    rows = theirs(inverse * h.x, h.index, num_edges=h.num_edges) - ours.bias
    torch.testing.assert_close(ours(h.x, h), root * rows + ours.bias)


def test_gcn_is_gcn_conv_on_the_clique_expansion(peer, h: Hypergraph) -> None:
    ours, theirs = baselines.CliqueGCNConv(D_IN, D_OUT).double(), peer.GCNConv(D_IN, D_OUT).double()
    share(ours, theirs)
    graph = clique_expansion(h)
    torch.testing.assert_close(ours(h.x, h), theirs(h.x, graph.index, graph.weight.double()))


@pytest.mark.parametrize("concat", [True, False])
def test_gat_is_gat_conv_on_the_clique_expansion(peer, h: Hypergraph, concat: bool) -> None:
    heads = 3
    ours = baselines.CliqueGATConv(D_IN, D_OUT, heads=heads, concat=concat).double()
    theirs = peer.GATConv(D_IN, D_OUT // heads if concat else D_OUT, heads=heads, concat=concat).double()
    share(ours, theirs)
    with torch.no_grad():
        theirs.att_src.copy_(ours.attention.of_source.unsqueeze(0))
        theirs.att_dst.copy_(ours.attention.of_target.unsqueeze(0))
    x = h.x.clone().requires_grad_()
    got, want = ours(x, h), theirs(x, clique_expansion(h).index)
    torch.testing.assert_close(got, want)
    grads = (torch.autograd.grad(y.square().sum(), x)[0] for y in (got, want))
    torch.testing.assert_close(*grads)
