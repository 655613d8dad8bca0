"""ED-HNN, TF-HNN, PhenomNN, SheafHyperGNN and HealHGNN against their formulas with dense float64 matrices."""

import pytest
import torch
from torch import Tensor

from ehnn import Hypergraph
from ehnn.nn import baselines
from ehnn.nn.baselines.heal import to_edges, to_nodes
from ehnn.nn.baselines.tf_hnn import smoothed
from ehnn.testing import random_hypergraph

from .test_baseline_dense import incidence, inverse, normalised, prepared

N, D = 9, 4


@pytest.fixture(params=[0, 1])
def h(request: pytest.FixtureRequest) -> Hypergraph:
    """Empty and single hyperedges, repeated ones and an isolated node."""
    drawn = random_hypergraph(N - 1, 6, (0, 5), seed=request.param)
    generator = torch.Generator().manual_seed(request.param)
    x = torch.randn(N, D, generator=generator, dtype=torch.float64)
    return Hypergraph.from_edges([*drawn.edges(), [3], [0, 1, 2], [0, 1, 2], []], num_nodes=N, x=x)


def mlp(network: baselines.ed_hnn.NormedMLP, x: Tensor) -> Tensor:
    """linear (norm (relu ... linear (norm x)))."""
    for i, (norm, linear) in enumerate(zip(network.norms, network.linears, strict=True)):
        x = linear(torch.nn.functional.layer_norm(x.relu() if i else x, x.shape[-1:], norm.weight, norm.bias))
    return x


def test_ed_hnn(h: Hypergraph) -> None:
    conv = prepared(baselines.EDHNNConv(D, phi=2, rho=2, psi=1, alpha=0.3)).eval()
    first = torch.randn_like(h.x)
    messages = {
        e: torch.stack([mlp(conv.phi, h.x[v]) for v in members]).mean(0)
        for e, members in enumerate(h.edges())
        if members
    }
    rows = []
    for v in range(N):
        got = [mlp(conv.rho, torch.cat([h.x[v], m])) for e, m in messages.items() if v in h.edges()[e]]
        mean = torch.stack(got).mean(0) if got else torch.zeros(D, dtype=torch.float64)
        rows.append(mlp(conv.psi, 0.7 * mean + 0.3 * first[v]))
    keep = [torch.nn.Identity()] * 2
    torch.testing.assert_close(conv(h.x, h, first, keep), torch.stack(rows))


def test_ed_hnn_without_networks_is_two_means(h: Hypergraph) -> None:
    conv = baselines.EDHNNConv(D, phi=0, rho=0, psi=0, alpha=0.25).double()
    H = incidence(h)
    want = 0.75 * inverse(H.sum(1)) @ H @ inverse(H.sum(0)) @ H.T @ h.x + 0.25 * h.x
    # A hyperedge without members sends nothing, so no node has one.
    torch.testing.assert_close(conv(h.x, h, h.x, []), want)


def test_ed_hnn_shares_its_parameters_between_layers() -> None:
    deep, shallow = (baselines.EDHNN(D, 2, layers=layers) for layers in (8, 1))
    assert sum(p.numel() for p in deep.parameters()) == sum(p.numel() for p in shallow.parameters())


@pytest.mark.parametrize("layers", [0, 1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_tf_hnn(h: Hypergraph, layers: int, alpha: float) -> None:
    H = incidence(h)
    S = normalised(H @ inverse(H.sum(0)) @ H.T)
    powers = [torch.linalg.matrix_power(S, step) @ h.x for step in range(layers + 1)]
    want = sum(alpha * (1 - alpha) ** step * p for step, p in enumerate(powers[:-1]))
    want = want + (1 - alpha) ** layers * powers[-1]
    torch.testing.assert_close(smoothed(h.x, h, layers, alpha), want)


def test_tf_hnn_smooths_once_and_follows_other_features(h: Hypergraph) -> None:
    model = baselines.TFHNN(D, 2, width=8).double().eval()
    torch.testing.assert_close(model(h), model(h, h.x))
    assert len(h._derived) == 1
    other = h.replace(x=h.x.flip(0))
    assert not torch.allclose(model(h), model(other))
    torch.testing.assert_close(model(other), model(h, other.x))


@pytest.mark.parametrize("step", [None, 0.4])
def test_phenom_nn(h: Hypergraph, step: float | None) -> None:
    model = baselines.PhenomNN(D, 3, width=5, layers=4, lambda0=2.0, lambda1=0.5, step=step).double().eval()
    H, eye = incidence(h), torch.eye(N, dtype=torch.float64)
    A = normalised(H @ H.T), normalised(H @ inverse(H.sum(0)) @ H.T)
    Q = 2 * torch.diag(A[0].sum(1)) + 0.5 * torch.diag(A[1].sum(1)) + eye
    first = y = torch.relu(model.embed(h.x))
    a = 1 / 3.5 if step is None else step
    for _ in range(4):
        y = (1 - a) * y + a * torch.linalg.inv(Q) @ (2 * A[0] @ y + 0.5 * A[1] @ y + first)
    torch.testing.assert_close(model(h), model.classifier(y.relu()))


def test_sheaf(h: Hypergraph) -> None:
    d, f = 3, 5
    model = prepared(baselines.SheafHyperGNN(D, 2, width=f, layers=1, stalk=d)).eval()
    alpha, H = model.restrictions(h.x, h), incidence(h)
    F = torch.zeros(N * d, h.num_edges * d, dtype=torch.float64)
    for row, (v, e) in enumerate(h.index.T.tolist()):
        for k in range(d):
            F[v * d + k, e * d + k] = alpha[row, k]
    root = inverse((F @ F.T).diagonal(), 0.5)
    M = root @ F @ inverse(H.sum(0).repeat_interleave(d)) @ F.T
    diagonal = torch.diag(M.diagonal())
    operator = torch.eye(N * d, dtype=torch.float64) + (M - diagonal) - diagonal
    rows = model.thetas[0](model.norms[0](model.embed(h.x).reshape(N * d, f)))
    y = torch.nn.functional.elu(operator @ root @ rows + model.biases[0])
    torch.testing.assert_close(model(h), model.classifier(y.reshape(N, d * f)))


def test_sheaf_maps_see_the_node_and_the_mean_of_the_hyperedge(h: Hypergraph) -> None:
    model = baselines.SheafHyperGNN(D, 2, width=5, stalk=3).double().eval()
    alpha = model.restrictions(h.x, h)
    v, e = h.index[:, 4].tolist()
    mean = h.x[h.edges()[e]].mean(0)
    ends = [model.embed(t).reshape(3, 5).mean(0) for t in (h.x[v], mean)]
    torch.testing.assert_close(alpha[4], torch.sigmoid(model.maps(torch.cat(ends).unsqueeze(0)))[0])


def test_heal(h: Hypergraph) -> None:
    model = baselines.HealHGNN(D, 3, width=6, layers=3, temperature=0.7).double().eval()
    torch.nn.init.uniform_(model.node_side.m)
    torch.nn.init.uniform_(model.edge_side.m)
    H = incidence(h)
    T = inverse(H.sum(1), 0.5) @ H @ inverse(H.sum(0), 0.5)
    torch.testing.assert_close(to_edges(h.x, h), T.T @ h.x)
    torch.testing.assert_close(to_nodes(torch.ones(h.num_edges, 2).double(), h), T.sum(1, True).expand(-1, 2))
    P = T @ T.T, T.T @ T
    raw = torch.nn.functional.gelu(model.embed(h.x))
    x = first = [model.norm(raw), model.norm(T.T @ raw)]
    sides = model.node_side, model.edge_side
    b = []
    for s in range(2):
        rows = P[s] @ first[s]
        spread = (rows.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        b.append(torch.sigmoid(sides[s].of_boundary(rows / spread) / 0.7))
    for layer in range(3):
        new = []
        for s, side in enumerate(sides if layer < 2 else sides[:1]):
            i, other = 1 - b[s], (T if s == 0 else T.T) @ x[1 - s]
            sent = i * (P[s] @ ((1 + i) * x[s])) + side.r(x[s]) * b[s] * (P[s] @ (i * x[s]))
            sent = sent + (i + side.w(x[s]) * b[s]) * side.m[layer] * other
            new.append(side.norms[layer](side.mixes[layer](sent) + side.g[layer](first[s])))
        x = new
    torch.testing.assert_close(model(h), model.classifier(x[0]))
