"""WHATsNet and CoNHD: their equations by loops, and the checks of the battery."""

import copy
import math
from functools import partial

import pytest
import torch
from safetensors.torch import load, save
from torch.func import functional_call, stack_module_state

from ehnn import Hypergraph
from ehnn.nn.baselines import CoNHD, WHATsNet
from ehnn.nn.baselines._within_order import within_order

from ..battery import D_IN, D_OUT, DEGENERATE, dressed, hypergraph

MODELS = {
    "whatsnet": partial(WHATsNet, width=8),
    "conhd-isab": partial(CoNHD, width=8),
    "conhd-unb": partial(CoNHD, width=8, diffusion="unb"),
}
every = pytest.mark.parametrize("name", MODELS)


def make(name, seed=0):
    torch.manual_seed(seed)
    return MODELS[name](D_IN, D_OUT).eval()


# ---------------------------------------------------------------------- by loops


def attention(module, queries, x):
    """Multi-head attention of ``queries [m, d]`` to the set ``x [n, d]``."""
    q, k, v = module.query(queries), module.key(x), module.value(x)
    found = []
    for a, b, c in zip(*(t.chunk(module.heads, 1) for t in (q, k, v)), strict=True):
        found.append((a @ b.t() / math.sqrt(q.shape[1])).softmax(1) @ c)
    o = q + torch.cat(found, 1)
    return o + module.out(o).relu()


def induced(block, x):
    return attention(block.spread, x, attention(block.gather, block.points[0], x))


def by_groups(fn, x, owner):
    """``fn`` of the rows of each group, put back in place."""
    y = torch.zeros_like(x)
    for g in owner.unique():
        y[owner == g] = fn(x[owner == g])
    return y


def test_whatsnet_by_loops():
    model, h = make("whatsnet").double(), hypergraph(dtype=torch.float64)
    node, edge = h.index
    r = within_order(h, torch.float64)
    nodes, edges = model.embed(h.x), torch.zeros(h.num_edges, 8, dtype=torch.float64)

    def step(part, rows, old, owner):
        u = rows + part.place(r)
        for block in part.blocks:
            u = by_groups(partial(induced, block), u, owner)
        new = [
            attention(part.attention, old[g : g + 1], u[owner == g])[0]
            if bool((owner == g).any()) else alone(part.attention, old[g])
            for g in range(len(old))
        ]  # fmt: skip
        return part.linear(torch.stack(new))

    def alone(module, old):
        q = module.query(old)
        return q + module.out(q).relu()

    for to_edges, to_nodes in zip(model.to_edges, model.to_nodes, strict=True):
        edges = step(to_edges, nodes[node], edges, edge)
        nodes = step(to_nodes, edges[edge], nodes, node)
    want = model.out(torch.cat([edges[edge], nodes[node]], 1))
    torch.testing.assert_close(model(h), want)


@pytest.mark.parametrize("name", ["conhd-isab", "conhd-unb"])
def test_conhd_by_loops(name):
    model, h = make(name).double(), hypergraph(dtype=torch.float64)
    node, edge = h.index
    r = model.place(within_order(h, torch.float64))

    def one(block, x):
        if name == "conhd-isab":
            return induced(block, x)
        return block.outer(torch.cat([x, block.inner(x).mean(0).expand_as(x)], 1))

    first = y = model.embed(h.x).relu()[node]
    for _ in range(2):
        parts = [y]
        for blocks, owner in ((model.in_edges, edge), (model.in_nodes, node)):
            u = y + r
            for block in blocks:
                u = by_groups(partial(one, block), u, owner)
            parts.append(u)
        y = model.step(torch.cat([*parts, first], 1))
    torch.testing.assert_close(model(h), model.out(y))


def test_places_within_hyperedges_by_hand():
    """Node 0 is in three hyperedges, 1 and 2 in two, 3 and 4 in one."""
    h = Hypergraph.from_edges([[0, 1, 2], [0, 1], [0, 2, 3], [4]], num_nodes=6)
    r = within_order(h, torch.float64)
    third = 1 / 3
    want = [2 * third, third, third, 1, 0.5, 1, 2 * third, third, 1]
    torch.testing.assert_close(r[:, 0], torch.tensor(want, dtype=torch.float64))
    assert r.shape == (9, 4)
    # The core of 0, 1 and 2 is 2: each is in two of their hyperedges. That of 3 is 1.
    torch.testing.assert_close(r[:5, 3], torch.tensor([third] * 3 + [0.5] * 2, dtype=torch.float64))
    torch.testing.assert_close(r[5:8, 3], torch.tensor([2, 2, 1], dtype=torch.float64) * third)


# ---------------------------------------------------------------------- battery


@every
def test_rows_follow_their_incidences(name):
    model, h = make(name).double(), hypergraph(dtype=torch.float64)
    nodes, edges = torch.randperm(h.num_nodes), torch.randperm(h.num_edges)
    moved = h.permute_nodes(nodes).permute_edges(edges)
    here = (edges[h.index[1]] * h.num_nodes + nodes[h.index[0]]).argsort()
    there = (moved.index[1] * h.num_nodes + moved.index[0]).argsort()
    torch.testing.assert_close(model(moved)[there], model(h)[here])


@every
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_hypergraphs(name, kind):
    model, h = make(name), dressed(DEGENERATE[kind])
    y = model(h)
    assert y.shape == (h.num_incidences, D_OUT)
    assert y.isfinite().all()
    y.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@every
def test_gradients_reach_every_parameter(name):
    model, h = make(name).train(), hypergraph()
    model(h).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@every
def test_dtypes(name):
    single, double, h = make(name), make(name).double(), hypergraph()
    want = double(h.replace(x=h.x.double()))
    torch.testing.assert_close(single(h).double(), want, atol=1e-3, rtol=1e-3)
    low = make(name).bfloat16()(h.replace(x=h.x.bfloat16()))
    assert low.dtype == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (single(h).float() - want.float()).abs().max() < 0.1 * want.abs().max()


@every
def test_vmap_over_parameters_is_a_loop(name):
    models, h = [make(name, seed) for seed in range(3)], hypergraph()
    want = torch.stack([m(h) for m in models])
    got = torch.vmap(lambda p, b: functional_call(models[0], (p, b), (h,)))(*stack_module_state(models))
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


@every
def test_state_and_copies(name):
    model, other, h = make(name), make(name, seed=1), hypergraph()
    want = model(h)
    assert not torch.equal(other(h), want)
    other.load_state_dict(load(save({k: v.contiguous() for k, v in model.state_dict().items()})))
    assert torch.equal(other(h), want)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        next(twin.parameters()).add_(1)
    assert torch.equal(model(h), want)


@every
def test_what_does_not_fit(name):
    model, h = make(name), hypergraph()
    with pytest.raises(ValueError, match="x must be"):
        model(h, h.x[:, :2])
    directed = Hypergraph.from_directed([([0], [1])], x=torch.ones(2, D_IN))
    with pytest.raises(ValueError, match="does not take roles"):
        model(directed)
    with pytest.raises(ValueError, match="does not use edge_weight"):
        model(h.replace(edge_weight=torch.rand(h.num_edges)))
    with pytest.raises(ValueError, match="d_out must be a positive integer"):
        MODELS[name](D_IN, 0)
    with pytest.raises(ValueError, match="diffusion must be one of"):
        CoNHD(4, 2, diffusion="heat")
