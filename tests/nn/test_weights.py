"""Weights of hyperedges and of incidences multiply the terms of our layers."""

import warnings

import pytest
import torch

import ehnn
from ehnn import Hypergraph
from ehnn.hypergraph.weighted import WeightedPattern
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer, Readout, baselines
from ehnn.ops import explain, segment_mean, segment_softmax_sum, segment_sum
from ehnn.testing import assert_equivariant

EDGES = [[0, 1, 2], [1, 3], [], [0, 3, 4], [1, 3]]
TOLERANCE = {"atol": 1e-10, "rtol": 1e-10}


def weighted(roles=False, edge=True, incidence=True):
    h = Hypergraph.from_edges(EDGES, num_nodes=6)
    if roles:
        h = h.replace(roles=torch.arange(h.num_incidences) % 2)
    generator = torch.Generator().manual_seed(0)
    rows = {"x": h.num_nodes, "edge_x": h.num_edges, "incidence_x": h.num_incidences}
    given = {k: torch.randn(n, 2, generator=generator, dtype=torch.float64) for k, n in rows.items()}
    given["edge_weight"] = torch.tensor([2.0, 0.5, 3.0, -1.0, 1.0], dtype=torch.float64) if edge else None
    count = torch.arange(h.num_incidences, dtype=torch.float64)
    return h.replace(**given, incidence_weight=count / 4 - 1 if incidence else None)


def family(h, name):
    """(hyperedge number or None, node or None) of each row."""
    node, edge = h.index.tolist()
    nodes, edges = [(None, v) for v in range(h.num_nodes)], [(e, None) for e in range(h.num_edges)]
    pairs = list(zip(edge, node, strict=True))
    return {"nodes": nodes, "edges": edges, "all": nodes + edges, "incidences": pairs}[name]


def factors(h, source, target):
    """``[sources, targets]`` the factor of a pair's term, ``[sources]`` of a source's, by the definition."""
    node, edge = h.index.tolist()
    of_pair = dict(zip(zip(node, edge, strict=True), h.incidence_weight.tolist(), strict=True))
    sources, targets = family(h, source), family(h, target)
    own = [1.0 if e is None else float(h.edge_weight[e]) for e, _ in sources]
    if source == "incidences":
        own = [w * of_pair[v, e] for w, (e, v) in zip(own, sources, strict=True)]
    table = torch.ones(len(sources), len(targets), dtype=torch.float64)
    for i, (e, v) in enumerate(sources):
        for j, (f, u) in enumerate(targets):
            table[i, j] = own[i]
            if e is None and f is not None:
                table[i, j] *= of_pair.get((v, f), 0.0)
            if e is not None and f is None:
                table[i, j] *= of_pair.get((u, e), 0.0)
    return table, torch.tensor(own, dtype=torch.float64)


FAMILIES = [
    ("nodes", "edges"), ("edges", "nodes"), ("nodes", "all"), ("all", "nodes"), ("edges", "edges"),
    ("nodes", "incidences"), ("incidences", "nodes"), ("all", "all"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:incidence_weight does not act")
@pytest.mark.parametrize("roles", [False, True])
@pytest.mark.parametrize(("source", "target"), FAMILIES)
def test_linear_weighs_its_terms(source, target, roles):
    h = weighted(roles)
    plain = h.replace(edge_weight=None, incidence_weight=None)
    torch.manual_seed(0)
    layer = EHNNLinear(2, 3).double()
    x = h.features(source)[:, :2].clone().requires_grad_()
    y = layer(x, h.overlap(source, target))
    table, own = factors(h, source, target)
    relation = plain.overlap(source, target)
    layer.global_interaction = False
    local = [layer(x * table[:, j, None], relation)[j] for j in range(table.shape[1])]
    exact = torch.stack(local) + layer._global(x * own[:, None], relation)
    torch.testing.assert_close(y, exact, **TOLERANCE)
    got, want = (torch.autograd.grad(v.pow(2).sum(), x)[0] for v in (y, exact))
    torch.testing.assert_close(got, want, **TOLERANCE)


LAYERS = {
    "linear": lambda: EHNNLinear(2, 4),
    "mlp": lambda: EHNNMLP(2, 4, aggregation="sum"),
    "sigmoid": lambda: EHNNTransformer(2, 4, heads=2, attention="sigmoid", global_interaction=False),
}


@pytest.mark.parametrize("name", sorted(LAYERS))
@pytest.mark.parametrize("target", ["nodes", "edges", "graph"])
def test_a_weight_of_two_is_a_hyperedge_twice(name, target):
    """With sums: the weight multiplies the term of the hyperedge, and of its pool."""
    once = weighted(incidence=False).replace(edge_weight=torch.tensor([2.0, 1, 1, 1, 1]))
    twice = Hypergraph.from_edges([*EDGES, EDGES[0]], num_nodes=6)
    torch.manual_seed(0)
    layer = LAYERS[name]().double()
    y = layer(once.edge_x, once.overlap("edges", target))
    z = layer(torch.cat([once.edge_x, once.edge_x[:1]]), twice.overlap("edges", target))
    torch.testing.assert_close(y, z[: len(y)], **TOLERANCE)


@pytest.mark.filterwarnings("ignore:incidence_weight does not act")
@pytest.mark.parametrize("make", [EHNNLinear, EHNNMLP, EHNNTransformer, Readout])
@pytest.mark.parametrize(
    "ends", [("nodes", "all"), ("edges", "nodes"), ("edges", "edges"), ("edges", "graph")]
)
def test_weights_of_one_change_no_bit(make, ends):
    plain = weighted(edge=False, incidence=False)
    ones = plain.replace(edge_weight=torch.ones(5), incidence_weight=torch.ones(plain.num_incidences))
    torch.manual_seed(0)
    layer, x = make(2, 4).double(), plain.features(ends[0])[:, :2]
    assert torch.equal(layer(x, plain.overlap(*ends)), layer(x, ones.overlap(*ends)))
    other = ones.replace(edge_weight=torch.arange(5.0))
    with_weights = layer(x, other.overlap(*ends))
    assert torch.allclose(layer(x, plain.overlap(*ends)), with_weights) == (ends[0] == "nodes")


def test_sums_of_weighted_pairs():
    h = weighted()
    pattern = h.overlap("nodes", "edges").source_to_group
    assert isinstance(pattern, WeightedPattern)
    assert isinstance(pattern.to("cpu"), WeightedPattern)
    dense = torch.zeros(pattern.num_rows, pattern.num_cols, dtype=torch.float64)
    dense[pattern.rows, pattern.index] = pattern.weights
    x = torch.randn(6, 2, 3, dtype=torch.float64)
    torch.testing.assert_close(segment_sum(x, pattern), torch.einsum("rc,chd->rhd", dense, x))
    mean = torch.einsum("rc,chd->rhd", dense, x) / pattern.lengths[:, None, None]
    torch.testing.assert_close(segment_mean(x, pattern), mean)
    logits = torch.randn(6, 2, dtype=torch.float64)
    members = torch.zeros_like(dense)
    members[pattern.rows, pattern.index] = 1
    alpha = torch.where(members[..., None] > 0, logits.exp(), torch.zeros(()))
    alpha = alpha / alpha.sum(1, keepdim=True)
    want = torch.einsum("rch,rc,chd->rhd", alpha, dense, x)
    torch.testing.assert_close(segment_softmax_sum(x, logits, pattern), want)
    y = torch.randn(pattern.num_rows, 2, dtype=torch.float64)
    torch.testing.assert_close(segment_sum(y, pattern.transpose()), dense.T @ y)


@pytest.mark.filterwarnings("ignore:incidence_weight does not act")
@pytest.mark.parametrize("make", [EHNNMLP, EHNNTransformer])
def test_weighted_layers_are_equivariant_and_batch(make):
    h = weighted(roles=True)
    torch.manual_seed(0)
    layer = make(2, 4).double()
    for ends in (("nodes", "edges"), ("edges", "nodes"), ("edges", "edges")):
        assert_equivariant(layer, h, *ends, trials=1)
        both = ehnn.batch([h, h])
        y = layer(both.features(ends[0]), both.overlap(*ends))
        torch.testing.assert_close(y, layer(h.features(ends[0]), h.overlap(*ends)).repeat(2, 1), **TOLERANCE)
    ran = explain(layer, h.x, h.overlap("nodes", "edges"), quiet=True)
    assert "weighted" in ran.ran("segment_sum") | ran.ran("segment_softmax_sum")


def test_a_warning_says_where_incidence_weights_do_not_act():
    h = weighted()
    with pytest.warns(UserWarning, match="incidence_weight does not act between two hyperedges"):
        h.overlap("edges", "edges")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h.overlap("nodes", "all")
        h.overlap("all", "nodes")
        weighted(incidence=False).overlap("edges", "edges")


def test_what_does_not_use_weights_says_so():
    h = weighted()
    with pytest.warns(UserWarning, match="HGNN ignores incidence_weight"):
        baselines.HGNN(2, 2, width=4).double()(h)
    with pytest.warns(UserWarning, match="UniGCNII ignores edge_weight"):
        baselines.UniGCNII(2, 2, width=4).double()(h.replace(incidence_weight=None))
    with pytest.raises(ValueError, match="weights get no gradient"):
        h.replace(edge_weight=h.edge_weight.requires_grad_()).overlap("edges", "nodes")
