"""CHESHIRE: against PyTorch Geometric on the cliques, and the checks of the battery."""

import copy

import pytest
import torch
from safetensors.torch import load, save
from torch.func import functional_call, stack_module_state

from ehnn import Hypergraph
from ehnn.nn.baselines import CHESHIRE
from ehnn.nn.baselines.cheshire import ranking_loss
from ehnn.testing import random_hypergraph

from ..battery import DEGENERATE, hypergraph


def make(num_edges: int, seed: int = 0, **options: float) -> CHESHIRE:
    torch.manual_seed(seed)
    return CHESHIRE(num_edges, width=12, conv_width=6, **options)


@pytest.fixture
def known() -> Hypergraph:
    return hypergraph(dtype=torch.float64)


@pytest.fixture
def candidates(known: Hypergraph) -> Hypergraph:
    found = random_hypergraph(known.num_nodes, 7, (2, 5), seed=3).edges()
    return Hypergraph.from_edges([*found, [0], []], num_nodes=known.num_nodes)


def test_a_candidate_is_a_graph_of_pyg(known, candidates):
    """The equation with PyG's GraphNorm and ChebConv on the complete graph of each candidate."""
    peer = pytest.importorskip("torch_geometric.nn", exc_type=ImportError)
    model = make(known.num_edges).double().eval()
    torch.nn.init.normal_(model.mean_scale)
    norm, conv = peer.GraphNorm(12).double(), peer.ChebConv(12, 6, K=3).double()
    with torch.no_grad():
        norm.weight.copy_(model.weight)
        norm.bias.copy_(model.shift)
        norm.mean_scale.copy_(model.mean_scale)
        conv.bias.copy_(model.convs[0].bias)
        for theirs, ours in zip(conv.lins, model.convs, strict=True):
            theirs.weight.copy_(ours.weight)
    dense = torch.zeros(known.num_nodes, known.num_edges, dtype=torch.float64)
    dense[known.index[0], known.index[1]] = 1
    x = torch.nn.functional.hardtanh(model.encoder(dense))
    for score, members in zip(model(known, candidates), candidates.edges(), strict=True):
        if not members:
            continue
        n = len(members)
        pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
        index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t()
        z = torch.nn.functional.hardtanh(conv(norm(x[members]), index))
        pooled = torch.cat([z.amax(0) - z.amin(0), z.square().mean(0).sqrt()])
        torch.testing.assert_close(score, torch.sigmoid(model.out(pooled)))


def test_alpha_dropout_keeps_mean_and_deviation():
    model = make(1, dropout=0.3).train()
    torch.manual_seed(0)
    y = model._alpha_dropout(torch.randn(200_000, 1))
    assert abs(float(y.mean())) < 0.02
    assert abs(float(y.std()) - 1) < 0.02
    assert torch.equal(model.eval()._alpha_dropout(y), y)


def test_scores_do_not_depend_on_numbers_or_on_other_candidates(known, candidates):
    model = make(known.num_edges).double().eval()
    want = model(known, candidates)
    perm = torch.randperm(known.num_nodes)
    moved = model(known.permute_nodes(perm), candidates.permute_nodes(perm))
    torch.testing.assert_close(moved, want)
    alone = Hypergraph.from_edges(candidates.edges()[:1], num_nodes=known.num_nodes)
    torch.testing.assert_close(model(known, alone), want[:1])


@pytest.mark.parametrize("kind", [k for k, h in DEGENERATE.items() if h.num_edges])
def test_degenerate_hypergraphs(kind):
    h = DEGENERATE[kind]
    model = make(h.num_edges)
    y = model(h, h)
    assert y.shape == (h.num_edges, 1)
    y.sum().backward()
    assert y.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_no_candidates(known):
    assert make(known.num_edges)(hypergraph(), Hypergraph.from_edges([], known.num_nodes)).shape == (0, 1)


def test_gradients_reach_every_parameter(known, candidates):
    model = make(known.num_edges).double()
    ranking_loss(*model(known, candidates)[:, 0].split([4, 5])).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_float64_and_bfloat16(known, candidates):
    model = make(known.num_edges).eval()
    want = model(known, candidates)
    torch.testing.assert_close(model.double()(known, candidates).float(), want, atol=1e-5, rtol=1e-4)
    low = model.bfloat16()(known, candidates)
    assert low.dtype == torch.bfloat16
    assert (low.float() - want).abs().max() < 0.05


def test_vmap_over_parameters_is_a_loop(known, candidates):
    models = [make(known.num_edges, seed).eval() for seed in range(3)]
    state = stack_module_state(models)
    got = torch.vmap(lambda p, b: functional_call(models[0], (p, b), (known, candidates)))(*state)
    torch.testing.assert_close(got, torch.stack([m(known, candidates) for m in models]))


def test_state_and_copies(known, candidates):
    model, other = make(known.num_edges).eval(), make(known.num_edges, seed=1).eval()
    want = model(known, candidates)
    assert not torch.equal(other(known, candidates), want)
    other.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(other(known, candidates), want)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.shift.add_(1)
    assert torch.equal(model(known, candidates), want)


def test_compiles_whole(known, candidates):
    torch.compiler.reset()
    model = make(known.num_edges).eval()
    want = model(known, candidates)  # makes what is derived from the candidates, once
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    torch.testing.assert_close(compiled(known, candidates), want)


def test_it_learns_to_rank(known):
    positive = Hypergraph.from_edges(known.edges()[:6], num_nodes=known.num_nodes)
    negative = random_hypergraph(known.num_nodes, 6, (2, 5), seed=9)
    model = make(known.num_edges)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = ranking_loss(model(known, positive), model(known, negative))
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        assert model.eval()(known, positive).mean() > model(known, negative).mean() + 0.3


def test_ranking_loss_by_hand():
    found = ranking_loss(torch.tensor([0.9, 0.1]), torch.tensor([0.5, 0.3]))
    want = torch.tensor([-0.5, 0.3]).exp().log1p().mean()
    torch.testing.assert_close(found, want)


def test_what_does_not_fit(known, candidates):
    with pytest.raises(ValueError, match="h must have the 5 training hyperedges, got 9"):
        make(5)(known, candidates)
    model = make(known.num_edges)
    with pytest.raises(ValueError, match="candidates must be over the same"):
        model(known, Hypergraph.from_edges([[0]], num_nodes=3))
    directed = Hypergraph.from_directed([([0], [1])], num_nodes=known.num_nodes)
    with pytest.raises(ValueError, match=r"CHESHIRE is called as model\(h\) with a Hypergraph, got a tensor"):
        model(torch.ones(2, 2), candidates)
    with pytest.raises(ValueError, match="CHESHIRE does not take roles"):
        model(known, directed)
    with pytest.raises(ValueError, match="num_edges must be a positive integer"):
        CHESHIRE(0)
