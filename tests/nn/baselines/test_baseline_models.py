"""One battery for every node model: equivariance, batches, odd hypergraphs, gradients, many runs at once."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call, grad, stack_module_state, vmap

import ehnn
from ehnn import Hypergraph
from ehnn.nn import baselines
from ehnn.testing import assert_equivariant, random_hypergraph
from ehnn.testing.strategies import hypergraphs

MODELS = {
    "mlp": partial(baselines.MLP, norm=True),
    "cegcn": baselines.CEGCN,
    "cegat": partial(baselines.CEGAT, heads=2, out_heads=2),
    "hnhn": baselines.HNHN,
    "hgnn": baselines.HGNN,
    "hcha": baselines.HCHA,
    "hcha-symmetric": partial(baselines.HCHA, symmetric=True),
    "hcha-attention": partial(baselines.HCHA, attention=True),
    "hypergcn": baselines.HyperGCN,
    "hypergcn-slow": partial(baselines.HyperGCN, fast=False),
    "hypergcn-no-mediators": partial(baselines.HyperGCN, mediators=False),
    "unigcnii": baselines.UniGCNII,
    "han": partial(baselines.HAN, heads=2),
    "han-two-metapaths": partial(baselines.HAN, heads=2, metapaths=(1, 2), layers=2),
    "ed-hnn": baselines.EDHNN,
    "ed-hnn-plain": partial(baselines.EDHNN, phi=0, rho=0, psi=1, alpha=0.0, classifier_layers=2),
    "tf-hnn": baselines.TFHNN,
    "phenom-nn": partial(baselines.PhenomNN, layers=3, lambda0=1.0),
    "sheaf": partial(baselines.SheafHyperGNN, stalk=2),
    "heal": baselines.HealHGNN,
}
each_model = pytest.mark.parametrize("name", MODELS)
pytestmark = pytest.mark.filterwarnings("ignore:[A-Za-z]+ ignores edge_weight")


def make(name: str, **options) -> torch.nn.Module:
    torch.manual_seed(options.pop("init", 0))
    return MODELS[name](3, 2, width=8, **options).double()


def weighted(h: Hypergraph) -> Hypergraph:
    generator = torch.Generator().manual_seed(1)
    return h.replace(
        x=torch.randn(h.num_nodes, 3, generator=generator, dtype=torch.float64),
        edge_weight=torch.rand(h.num_edges, generator=generator, dtype=torch.float64) + 0.5,
        incidence_weight=None,
    )


@each_model
@settings(max_examples=12, deadline=None)
@given(h=hypergraphs(max_nodes=6, max_edges=5))
def test_equivariant_on_any_hypergraph(name: str, h: Hypergraph) -> None:
    assert_equivariant(make(name).eval(), weighted(h), trials=1)


@each_model
def test_equivariant_on_a_batch_in_float32(name: str) -> None:
    members = [random_hypergraph(7, 5, (0, 4), seed=s, d_node=3) for s in range(3)]
    assert_equivariant(make(name).float().eval(), ehnn.batch(members))


@each_model
def test_batch_is_its_members(name: str) -> None:
    edges = [[[0, 1, 2], [2, 3], []], [], [[0], [0, 1]], [[0, 1, 2, 3, 4]]]
    members = [
        weighted(Hypergraph.from_edges(e, num_nodes=n)) for e, n in zip(edges, (5, 2, 3, 5), strict=True)
    ]
    model = make(name).eval()
    torch.testing.assert_close(model(ehnn.batch(members)), torch.cat([model(h) for h in members]))


@each_model
@pytest.mark.parametrize(
    ("edges", "num_nodes"),
    [([], 3), ([[], []], 2), ([[0]], 1), ([], 1), ([[0, 1], [], [0, 1]], 4), ([], 0), ([[]], 0)],
)
def test_degenerate_hypergraphs(name: str, edges: list, num_nodes: int) -> None:
    h = weighted(Hypergraph.from_edges(edges, num_nodes=num_nodes))
    model = make(name)
    y = model(h)
    assert y.shape == (num_nodes, 2)
    assert y.dtype == torch.float64
    y.sum().backward()
    assert y.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@each_model
def test_gradients_are_right(name: str) -> None:
    h = weighted(random_hypergraph(6, 5, (0, 4), seed=0))
    model = make(name).eval()
    assert torch.autograd.gradcheck(lambda x: model(h, x), h.x.clone().requires_grad_())


@each_model
def test_every_parameter_learns(name: str) -> None:
    model = make(name, layers=2)
    model(weighted(random_hypergraph(9, 6, (2, 4), seed=0))).square().sum().backward()
    # Attention over a single metapath is 1 whatever its parameters.
    idle = ("project", "query") if name == "han" else ()
    for key, parameter in model.named_parameters():
        if not any(part in key for part in idle):
            assert parameter.grad is not None, key
            assert parameter.grad.abs().sum() > 0, key


@each_model
def test_many_runs_at_once(name: str) -> None:
    """The first call is inside the transforms, so what is kept on the hypergraph must survive them."""
    h = weighted(random_hypergraph(10, 6, (1, 5), seed=0))
    models = [make(name, init=i) for i in range(3)]
    stacked = stack_module_state(models)

    def loss(parameters: dict, buffers: dict) -> torch.Tensor:
        return functional_call(models[0], (parameters, buffers), (h,)).square().sum()

    vmap(grad(loss), randomness="different")(*stacked)  # with dropout
    for model in models:
        model.eval()
    values = vmap(loss)(*stacked)
    gradients = vmap(grad(loss))(*stacked)
    for i, model in enumerate(models):
        alone = model(h).square().sum()
        torch.testing.assert_close(values[i], alone)
        want = torch.autograd.grad(alone, tuple(model.parameters()), materialize_grads=True)
        for (key, _), g in zip(model.named_parameters(), want, strict=True):
            torch.testing.assert_close(gradients[key][i], g, msg=key)


@each_model
def test_first_call_in_inference_mode(name: str) -> None:
    h, model = weighted(random_hypergraph(6, 4, (1, 3), seed=0)), make(name)
    with torch.inference_mode():
        model(h)
    model(h).sum().backward()


@each_model
def test_given_features_replace_the_stored_ones(name: str) -> None:
    h, model = weighted(random_hypergraph(6, 4, (1, 3), seed=0)), make(name).eval()
    bare = h.replace(x=None)
    torch.testing.assert_close(model(bare, h.x), model(h))
    with pytest.raises(ValueError, match="no features"):
        model(bare)
    with pytest.raises(ValueError, match=r"\[6, 3\], got \[6, 4\]"):
        model(h, torch.zeros(6, 4))
    with pytest.raises(ValueError, match=r"as the parameters are, got torch\.int64"):
        model(h, torch.zeros(6, 3, dtype=torch.int64))


@each_model
def test_learns_a_planted_partition(name: str) -> None:
    """Two communities with hyperedges inside them and noisy features."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(40) % 2
    edges = [(2 * torch.randperm(20, generator=generator)[:4] + i % 2).tolist() for i in range(30)]
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    x[:, 0] += 2 * y
    h, model = Hypergraph.from_edges(edges, num_nodes=40, x=x), make(name, dropout=0.1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(h)[:30], y[:30]).backward()
        optimiser.step()
    accuracy = (model.eval()(h)[:30].argmax(1) == y[:30]).double().mean()
    assert accuracy > 0.9


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"cegat", "han", "han-two-metapaths"}))
def test_memory_is_linear_in_incidences(name: str) -> None:
    """One hyperedge of 20,000 nodes has 400 million pairs: a model that made them would be refused."""
    h = Hypergraph.from_edges([range(20_000)], x=torch.ones(20_000, 3))
    assert make(name).float().eval()(h).isfinite().all()


@pytest.mark.parametrize("name", ["cegat", "han"])
def test_too_large_a_clique_expansion_is_refused(name: str) -> None:
    h = Hypergraph.from_edges([range(20_000)], x=torch.ones(20_000, 3))
    with pytest.raises(ValueError, match="max_pairs"):
        make(name).float()(h)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be a positive integer, got 0"),
        ({"layers": 0}, "layers must be a positive integer, got 0"),
        ({"layers": True}, "layers must be a positive integer, got True"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
    ],
)
@each_model
def test_bad_arguments(name: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MODELS[name](3, 2, **options)


@pytest.mark.parametrize("model", [baselines.CEGAT, baselines.HAN])
@given(heads=st.sampled_from([0, 3, -1]))
@settings(max_examples=3, deadline=None)
def test_bad_heads(model: type, heads: int) -> None:
    with pytest.raises(ValueError, match="heads must"):
        model(3, 2, width=8, heads=heads)


def test_clique_convolutions_survive_half_precision() -> None:
    """Two numbers of the size of a degree are subtracted there."""
    torch.manual_seed(0)
    h = Hypergraph.from_edges([[0]] * 1000 + [[0, 1]], num_nodes=2, x=torch.randn(2, 4))
    model = baselines.CEGCN(4, 4, layers=1, dropout=0.0)
    want = model(h)
    half = model.bfloat16()(h.replace(x=h.x.bfloat16()))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), want, rtol=0.05, atol=0.02)
