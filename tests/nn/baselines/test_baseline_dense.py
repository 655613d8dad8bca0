"""Every convolution against its formula with dense float64 matrices."""

import pytest
import torch
from torch import Tensor

from ehnn import Hypergraph
from ehnn.nn import baselines
from ehnn.testing import random_hypergraph

N, D_IN, D_OUT = 9, 4, 6


@pytest.fixture(params=[0, 1, 2])
def h(request: pytest.FixtureRequest) -> Hypergraph:
    """Empty and single hyperedges, repeated ones, an isolated node, hyperedge weights."""
    drawn = random_hypergraph(N - 1, 6, (0, 5), seed=request.param)
    edges = [*drawn.edges(), [3], [0, 1, 2], [0, 1, 2], []]
    generator = torch.Generator().manual_seed(request.param)
    return Hypergraph.from_edges(
        edges,
        num_nodes=N,
        x=torch.randn(N, D_IN, generator=generator, dtype=torch.float64),
        edge_weight=torch.rand(len(edges), generator=generator, dtype=torch.float64) + 0.5,
    )


def incidence(h: Hypergraph) -> Tensor:
    """The dense H, nodes × hyperedges."""
    dense = torch.zeros(h.num_nodes, h.num_edges, dtype=torch.float64)
    dense[tuple(h.index)] = 1
    return dense


def inverse(t: Tensor, power: float = 1.0) -> Tensor:
    """diag(t)^-power, 0 where t is 0."""
    return torch.diag(torch.tensor([v**-power if v > 0 else 0.0 for v in t.tolist()], dtype=torch.float64))


def normalised(adjacency: Tensor) -> Tensor:
    full = adjacency + torch.eye(len(adjacency), dtype=torch.float64)
    root = inverse(full.sum(1), 0.5)
    return root @ full @ root


def prepared(conv: torch.nn.Module) -> torch.nn.Module:
    """The convolution in float64 with a bias that is not 0."""
    for name, parameter in conv.double().named_parameters():
        if "bias" in name:
            torch.nn.init.normal_(parameter)
    return conv


def test_gcn(h: Hypergraph) -> None:
    conv = prepared(baselines.CliqueGCNConv(D_IN, D_OUT))
    H = incidence(h)
    A = H @ H.T
    A.fill_diagonal_(0)
    want = normalised(A) @ h.x @ conv.theta.weight.T + conv.bias
    torch.testing.assert_close(conv(h.x, h), want)


@pytest.mark.parametrize("use_weights", [True, False])
def test_hgnn_and_hcha(h: Hypergraph, use_weights: bool) -> None:
    h = h if use_weights else h.replace(edge_weight=None)
    W = torch.diag(h.edge_weight) if use_weights else torch.eye(h.num_edges, dtype=torch.float64)
    H = incidence(h)
    Dv, De = (H @ W).sum(1), H.sum(0)
    symmetric = inverse(Dv, 0.5) @ H @ W @ inverse(De) @ H.T @ inverse(Dv, 0.5)
    rows = inverse(Dv) @ H @ W @ inverse(De) @ H.T
    for conv, P in (
        (baselines.HGNNConv(D_IN, D_OUT), symmetric),
        (baselines.HCHAConv(D_IN, D_OUT), rows),
        (baselines.HCHAConv(D_IN, D_OUT, symmetric=True), symmetric),
    ):
        prepared(conv)
        torch.testing.assert_close(conv(h.x, h), P @ h.x @ conv.theta.weight.T + conv.bias)


def test_gradients_reach_hyperedge_weights(h: Hypergraph) -> None:
    conv = prepared(baselines.HGNNConv(D_IN, 2))
    weight = h.edge_weight.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda w: conv(h.x, h.replace(edge_weight=w)), weight)


@pytest.mark.parametrize("symmetric", [False, True])
def test_hcha_attention(h: Hypergraph, symmetric: bool) -> None:
    conv = prepared(baselines.HCHAAttention(D_IN, D_OUT, symmetric=symmetric))
    H, W = incidence(h), torch.diag(h.edge_weight)
    x = h.x @ conv.theta.weight.T
    of_edges = inverse(H.sum(0)) @ H.T @ x
    a, b = conv.attention
    logits = torch.nn.functional.leaky_relu((x @ a)[:, None] + (of_edges @ b)[None], 0.2)
    H = logits.masked_fill(H == 0, -torch.inf).softmax(1).nan_to_num(0.0)
    D, B = (H @ W).sum(1), H.sum(0)
    if symmetric:
        want = inverse(D, 0.5) @ H @ W @ inverse(B) @ H.T @ inverse(D, 0.5) @ x
    else:
        want = inverse(D) @ H @ W @ inverse(B) @ H.T @ x
    torch.testing.assert_close(conv(h.x, h), want + conv.bias)


def test_hnhn(h: Hypergraph) -> None:
    conv = prepared(baselines.HNHNConv(D_IN, D_OUT, width=5, alpha=-1.5, beta=-0.5))
    A = incidence(h)
    v, e = inverse(A.sum(1), 0.5).diagonal(), inverse(A.sum(0), 1.5).diagonal()
    to_edges = inverse(A.T @ v) @ A.T @ torch.diag(v)
    to_nodes = inverse(A @ e) @ A @ torch.diag(e)
    edges = torch.relu(to_edges @ h.x @ conv.to_edges.weight.T + conv.to_edges.bias)
    want = to_nodes @ edges @ conv.to_nodes.weight.T + conv.to_nodes.bias
    torch.testing.assert_close(conv(h.x, h), want)


def test_unigcnii(h: Hypergraph) -> None:
    """Self-loops here are columns of H, one for each node that is not a hyperedge already."""
    conv = prepared(baselines.UniGCNIIConv(D_IN, alpha=0.1, beta=0.3))
    lonely = [i for i in range(N) if [i] not in h.edges()]
    assert 0 < len(lonely) < N
    H = torch.cat([incidence(h), torch.eye(N, dtype=torch.float64)[:, lonely]], 1)
    d_i = H.sum(1)
    mean = inverse(H.sum(0)) @ H.T
    smooth = inverse(d_i, 0.5) @ H @ inverse(mean @ d_i, 0.5) @ mean @ h.x
    first = torch.randn_like(h.x)
    mixed = 0.9 * smooth + 0.1 * first
    want = 0.7 * mixed + 0.3 * mixed @ conv.theta.weight.T
    torch.testing.assert_close(conv(h.x, h, first), want)


@pytest.mark.parametrize("mediators", [True, False])
@pytest.mark.parametrize("use_weights", [True, False])
def test_hypergcn(h: Hypergraph, mediators: bool, use_weights: bool) -> None:
    h = h if use_weights else h.replace(edge_weight=None)
    conv = prepared(baselines.HyperGCNConv(D_IN, D_OUT, mediators=mediators))
    A = torch.zeros(N, N, dtype=torch.float64)
    projection = (h.x @ conv.direction).tolist()
    for e, members in enumerate(h.edges()):
        if len(members) < 2:
            continue
        w = h.edge_weight[e].item() if use_weights else 1.0
        i, j = max(members, key=projection.__getitem__), min(members, key=projection.__getitem__)
        links = [(i, j)]
        if mediators:
            links += [(end, k) for end in (i, j) for k in members if k not in (i, j)]
            assert len(links) == 2 * len(members) - 3
        for a, b in links:
            A[a, b] += w / len(links)
            A[b, a] += w / len(links)
    want = normalised(A) @ h.x @ conv.theta.weight.T + conv.bias
    torch.testing.assert_close(conv(h.x, h), want)


def test_fast_hypergcn_keeps_the_extremes_of_the_input(h: Hypergraph) -> None:
    model = baselines.HyperGCN(D_IN, 2, seed=3).double().eval()
    found = model.input_extremes(h, h.x)
    assert model.input_extremes(h, 2 * h.x) is found
    noisy = torch.randn_like(h.x)
    by_hand = model.convs[0](noisy, h, found)
    by_hand = model.convs[1](torch.relu(by_hand), h, found)
    torch.testing.assert_close(model(h, noisy), by_hand)


def test_hypergcn_with_equal_features_is_deterministic() -> None:
    """Ties: the lowest number is the high end and the highest number the low end."""
    h = Hypergraph.from_edges([[1, 2, 4]], x=torch.ones(5, D_IN))
    found = baselines.HyperGCN(D_IN, 2).input_extremes(h, h.x)
    assert (found.high.tolist(), found.low.tolist()) == ([1], [4])


def dense_attention(x: Tensor, heads, pattern: Tensor) -> Tensor:
    """``[rows, heads · channels]`` GAT with a dense pattern."""
    y = (x @ heads.theta.weight.T).reshape(len(x), heads.heads, -1)
    parts = []
    for k in range(heads.heads):
        logits = (y[:, k] @ heads.of_target[k])[:, None] + (y[:, k] @ heads.of_source[k])[None]
        logits = torch.nn.functional.leaky_relu(logits, 0.2).masked_fill(pattern == 0, -torch.inf)
        parts.append(logits.softmax(1) @ y[:, k])
    return torch.cat(parts, 1)


def test_gat(h: Hypergraph) -> None:
    H = incidence(h)
    pattern = H @ H.T + torch.eye(N, dtype=torch.float64)
    conv = prepared(baselines.CliqueGATConv(D_IN, D_OUT, heads=3))
    torch.testing.assert_close(conv(h.x, h), dense_attention(h.x, conv.attention, pattern) + conv.bias)
    last = prepared(baselines.CliqueGATConv(D_IN, D_OUT, heads=2, concat=False))
    both = dense_attention(h.x, last.attention, pattern).reshape(N, 2, D_OUT)
    torch.testing.assert_close(last(h.x, h), both.mean(1) + last.bias)


@pytest.mark.filterwarnings("ignore:HAN ignores edge_weight")
def test_han(h: Hypergraph) -> None:
    model = prepared(baselines.HAN(D_IN, 2, width=D_OUT, heads=3, metapaths=(1, 2), semantic=5)).eval()
    H = incidence(h)
    near = H @ H.T + torch.eye(N, dtype=torch.float64)
    conv = model.convs[0]
    z = [
        torch.nn.functional.elu(dense_attention(h.x, path, pattern) + bias)
        for path, pattern, bias in zip(conv.paths, (near, near @ near), conv.bias, strict=True)
    ]
    w = torch.stack([conv.query(torch.tanh(conv.project(p))).mean() for p in z])
    mixed = sum(b * p for b, p in zip(w.softmax(0), z, strict=True))
    torch.testing.assert_close(model(h), model.classifier(mixed))
