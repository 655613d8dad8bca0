"""Layers between role-marked hyperedges: the dense reference, permutations, and one role as without."""

from copy import deepcopy
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call, stack_module_state, vmap

import ehnn
from ehnn import Hypergraph
from ehnn.algebra import role_layer
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer, OrderEncoding, Stack, baselines
from ehnn.overlap import overlap
from ehnn.testing import assert_equivariant

FAMILIES = ("nodes", "edges", "all", "incidences")
TOLERANCE = {"atol": 1e-10, "rtol": 1e-10}
D_IN, D_OUT = 2, 3


def directed(double=True):
    dtype = torch.float64 if double else torch.float32
    sides = [([0, 1], [2]), ([2], [3, 0]), ([1, 3], [0, 2]), ([], [4]), ([3], []), ([], []), ([2], [3, 0])]
    h = Hypergraph.from_directed(sides, num_nodes=6)
    rows = {"x": h.num_nodes, "edge_x": h.num_edges, "incidence_x": h.num_incidences}
    generator = torch.Generator().manual_seed(0)
    return h.replace(**{k: torch.randn(n, D_IN, generator=generator, dtype=dtype) for k, n in rows.items()})


def marks(h, family):
    """``[rows, nodes]``: the roles that the family has by definition, −1 for no member."""
    R, (node, edge) = h.num_roles, h.index
    roles = torch.zeros_like(node) if h.roles is None else h.roles
    nodes = torch.where(torch.eye(h.num_nodes, dtype=torch.bool), 0, -1)
    edges = torch.full((h.num_edges, h.num_nodes), -1)
    edges[edge, node] = roles
    if family == "incidences":
        found = edges[edge]
        found[torch.arange(len(node)), node] += R
        return found, 2 * R
    one = R == 1
    every = torch.cat([nodes if one else torch.where(nodes == 0, R, -1), edges])
    return {"nodes": (nodes, 1), "edges": (edges, R), "all": (every, R if one else R + 1)}[family]


def features(h, family):
    return h.features(family)[:, :D_IN]


@pytest.mark.parametrize(("source", "target"), list(product(FAMILIES, FAMILIES)))
def test_linear_is_the_dense_reference(source, target):
    h = directed()
    (i, R), (j, S) = marks(h, source), marks(h, target)
    torch.manual_seed(0)
    layer = EHNNLinear(D_IN, D_OUT).double()
    x = features(h, source).clone().requires_grad_()
    y = layer(x, h.overlap(source, target))
    exact = role_layer(x, i, j, cache(layer.weight), cache(layer.bias), (R, S))
    torch.testing.assert_close(y, exact, **TOLERANCE)
    probe = torch.randn_like(y)
    got, want = (torch.autograd.grad(v, [x, *layer.parameters()], probe) for v in (y, exact))
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, **TOLERANCE)


def test_candidates_with_and_without_roles():
    h = directed()
    i, R = marks(h, "edges")
    torch.manual_seed(0)
    layer = EHNNLinear(D_IN, D_OUT).double()
    plain = Hypergraph.from_edges([[0, 1, 2], [3], []], num_nodes=6)
    three = Hypergraph.from_edges([[0, 1, 2], [3, 5]], num_nodes=6, roles=[[2, 1, 0], [0, 2]])
    for candidates in (plain, three):
        j, S = marks(candidates, "edges")
        y = layer(h.edge_x, h.overlap("edges", candidates))
        torch.testing.assert_close(
            y, role_layer(h.edge_x, i, j, layer.weight, layer.bias, (R, S)), **TOLERANCE
        )


def test_a_batch_is_its_members():
    members = [directed(), directed().permute_nodes([3, 0, 5, 1, 2, 4]), directed()]
    both = ehnn.batch(members)
    torch.manual_seed(0)
    for make in (EHNNLinear, EHNNMLP, lambda a, b: EHNNTransformer(a, 4, heads=2)):
        layer = make(D_IN, 4).double()
        for ends in (("nodes", "edges"), ("edges", "edges"), ("incidences", "nodes"), ("all", "graph")):
            parts = [layer(features(h, ends[0]), h.overlap(*ends)) for h in members]
            y = layer(features(both, ends[0]), both.overlap(*ends))
            if ends[0] == "all":  # rows of a batch are all nodes, then all hyperedges
                assert y.shape == (3, 4)
            torch.testing.assert_close(y, torch.cat(parts), **TOLERANCE)


LAYERS = {
    "linear": lambda d_in, d_out: EHNNLinear(d_in, d_out),
    "mlp": lambda d_in, d_out: EHNNMLP(d_in, d_out),
    "mlp without order": lambda d_in, d_out: EHNNMLP(d_in, d_out, order_embedding=False, aggregation="sum"),
    "transformer": lambda d_in, d_out: EHNNTransformer(d_in, d_out, heads=2),
    "sigmoid": lambda d_in, d_out: EHNNTransformer(d_in, d_out, heads=2, attention="sigmoid"),
}


@st.composite
def role_hypergraphs(draw, max_roles=3):
    n = draw(st.integers(0, 5))
    nodes = st.lists(st.integers(0, n - 1), unique=True, max_size=n) if n else st.just([])
    edges = draw(st.lists(nodes, max_size=4))
    roles = [draw(st.lists(st.integers(0, max_roles - 1), min_size=len(e), max_size=len(e))) for e in edges]
    h = Hypergraph.from_edges(edges, n, roles=roles)
    rows = {"x": n, "edge_x": len(edges), "incidence_x": h.num_incidences}
    return h.replace(**{k: torch.randn(r, D_IN, dtype=torch.float64) for k, r in rows.items()})


@settings(max_examples=10, deadline=None)
@given(
    role_hypergraphs(), st.sampled_from(sorted(LAYERS)), st.sampled_from(FAMILIES), st.sampled_from(FAMILIES)
)
def test_layers_are_equivariant(h, name, source, target):
    torch.manual_seed(0)
    layer = LAYERS[name](D_IN, 4).double()
    fn = lambda h: layer(features(h, source), h.overlap(source, target))  # noqa: E731
    assert_equivariant(fn, h, target=target, trials=1)


@settings(max_examples=10, deadline=None)
@given(role_hypergraphs(), st.sampled_from(FAMILIES), st.sampled_from(FAMILIES))
def test_overlap_is_the_table_of_matrices(h, source, target):
    """Every pair once, with its M; groups have one M; role counts; memory linear in pairs."""
    o = overlap(h, source, target)
    (i, R), (j, S) = marks(h, source), marks(h, target)
    dense = ehnn.algebra.overlap_matrix(i, j, (R, S))
    rows, columns, M = o.pairs()
    found = torch.zeros_like(dense)
    found[columns, rows] = M.reshape(-1, R, S)
    assert torch.equal(found, dense)
    assert len(rows) == int((dense.flatten(2).sum(2) > 0).sum())
    counts = ehnn.algebra.role_counts
    assert torch.equal(o.source_orders.expand().reshape(-1, R), counts(i, R))
    assert torch.equal(o.target_orders.expand().reshape(-1, S), counts(j, S))
    assert len(o.sizes.values.unique(dim=0)) == len(o.sizes.values)
    for pattern in (o.merged, o.source_sizes.slot_to_group, o.weight_groups.source_to_group):
        assert len(pattern) == len(rows)


@pytest.mark.parametrize("name", sorted(LAYERS))
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "nodes"), ("edges", "edges"), ("all", "all")])
def test_one_role_changes_no_bit(name, ends):
    plain = directed(double=False).replace(roles=None)
    marked = plain.replace(roles=torch.zeros_like(plain.index[0]))
    torch.manual_seed(0)
    layer = LAYERS[name](D_IN, 4)
    x = features(plain, ends[0])
    assert torch.equal(layer(x, plain.overlap(*ends)), layer(x, marked.overlap(*ends)))
    assert plain.overlap(*ends).sizes.values.dim() == marked.overlap(*ends).sizes.values.dim() == 1


def test_lookup_holds_role_counts():
    h = Hypergraph.from_directed([([0, 1], [2]), ([2], [3]), ([1], [0])], num_nodes=4)
    counts = [(2, 1), (1, 1)]
    layer = EHNNLinear(2, 3, weights="lookup", source_orders=counts, target_orders=counts).double()
    with torch.no_grad():
        layer.weights.biases.normal_()
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    y = layer(x, h.overlap("edges", "edges"))
    i, R = marks(h, "edges")
    exact = role_layer(x, i, i, layer.weight, layer.bias, (R, R))
    torch.testing.assert_close(y, exact, **TOLERANCE)
    got, want = (torch.autograd.grad(v.pow(2).sum(), [x, *layer.parameters()]) for v in (y, exact))
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, **TOLERANCE)
    with pytest.raises(ValueError, match=r"source order \(1,\) is not in the lookup table"):
        layer(torch.zeros(4, 2, dtype=torch.float64), h.overlap("nodes", "edges"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (((1, 1), (1, 1), ((1, 1), (0, 0))), "row sums of at most"),
        (((2, 1), (1, 1), ((1, 0), (1, 0))), "column sums of at most"),
        (((1, 1), (1, 1), 1), "m must be 2 rows of 2 counts"),
        (((1, 1), (1, 1), ((1,), (0,))), "m must be 2 rows of 2 counts"),
        (((1, -1), (1, 1), ((0, 0), (0, 0))), "k must be an integer that is not negative"),
        (((), (1,), ()), "k must have a count for each role"),
        ((2, 1, 2), "the overlap of orders 2 and 1 must be from 0 to 1, got 2"),
    ],
)
def test_a_weight_that_does_not_exist_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        EHNNLinear(2, 3).weight(*asked)


def test_a_network_sees_the_direction():
    """A reaction and its reverse: undirected they are the same hypergraph."""
    there = Hypergraph.from_directed([([0], [1, 2])], x=torch.ones(3, 2))
    back = Hypergraph.from_directed([([1, 2], [0])], x=torch.ones(3, 2))
    torch.manual_seed(0)
    for make in (EHNNMLP, EHNNTransformer):
        model = Stack(2, 3, make, width=8, path=("nodes", "edges", "nodes"))
        assert not torch.allclose(model(there), model(back))
        blind = [model(h.replace(roles=None)) for h in (there, back)]
        torch.testing.assert_close(*blind)


@pytest.mark.parametrize("width", [8, 64])
def test_the_code_of_a_matrix(width):
    """One role: the paper's bits. A role that does not occur changes nothing. Matrices are told apart."""
    encoding = OrderEncoding("sinusoidal", width)
    k = torch.arange(300)
    assert torch.equal(encoding(k), encoding(k[:, None]))
    assert torch.equal(encoding(k), encoding(k[:, None, None]))
    M = torch.tensor(list(product(range(4), repeat=4))).reshape(-1, 2, 2)
    code = encoding(M)
    torch.testing.assert_close(code, encoding(torch.nn.functional.pad(M, (0, 2, 0, 1))))
    gaps = torch.cdist(code.double(), code.double()).fill_diagonal_(9)
    assert float(gaps.min()) > 0.25


def test_what_cannot_see_roles_refuses_them():
    h = directed(double=False)
    told = r"does not take roles; use h.replace\(roles=None\)"
    with pytest.raises(ValueError, match=told):
        baselines.AllDeepSets(D_IN, 2)(h.x, h.overlap("nodes", "edges"))
    with pytest.raises(ValueError, match=told):
        baselines.HGNN(D_IN, 2, width=4)(h)
    assert baselines.HGNN(D_IN, 2, width=4)(h.replace(roles=None)).shape == (6, 2)
    with pytest.raises(ValueError, match="order_encoding='number' takes no roles"):
        EHNNMLP(D_IN, 2, order_encoding="number")(h.x, h.overlap("nodes", "edges"))


def test_too_many_nodes_of_incidences_are_refused():
    h = Hypergraph.from_edges([range(100)])
    with pytest.raises(ValueError, match="10,000 nodes in all"):
        h.overlap("incidences", "nodes", max_pairs=5000)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_what_holds_without_roles_holds_with_them(name):
    """Backends agree, copies and saved parameters are the same layer, and parameters may be stacked."""
    h = directed(double=False)
    torch.manual_seed(0)
    layers = [LAYERS[name](D_IN, 4) for _ in range(2)]
    for ends in (("nodes", "edges"), ("edges", "edges")):
        x, o = features(h, ends[0]), h.overlap(*ends)
        y = [layer(x, o) for layer in layers]
        with ehnn.ops.use_backend("reference"):
            torch.testing.assert_close(layers[0](x, o), y[0])
        twin = LAYERS[name](D_IN, 4)
        twin.load_state_dict(layers[0].state_dict())
        assert torch.equal(twin(x, o), y[0])
        assert torch.equal(deepcopy(layers[0])(x, o), y[0])
        torch.testing.assert_close(layers[0].bfloat16()(x.bfloat16(), o).float(), y[0], atol=0.2, rtol=0.2)
        layers[0] = twin
        stacked, _ = stack_module_state(layers)
        call = lambda p, x=x, o=o: functional_call(layers[0], p, (x, o))  # noqa: E731
        torch.testing.assert_close(vmap(call)(stacked), torch.stack(y))
