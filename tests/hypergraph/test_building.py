"""Every accepted form gives the same hypergraph, in both sorted orders."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph
from ehnn.testing.strategies import hypergraphs

QUICK = settings(max_examples=60, deadline=None)
EDGES = [[0, 2, 3], [], [3, 1], [0, 2, 3], [4], []]  # empty, repeated and trailing empty hyperedges
NODES = 6  # node 5 is isolated


def dense(edges=EDGES, num_nodes=NODES, dtype=np.float32):
    matrix = np.zeros((num_nodes, len(edges)), dtype=dtype)
    for e, nodes in enumerate(edges):
        matrix[list(nodes), e] = 1
    return matrix


def index(edges=EDGES):
    return np.array([(v, e) for e, nodes in enumerate(edges) for v in nodes], dtype=np.int64).reshape(-1, 2).T


def csr(matrix):
    return torch.sparse_csr_tensor(*_csr_parts(matrix), size=matrix.shape)


def _csr_parts(matrix):
    m = sp.csr_array(matrix)
    return torch.tensor(m.indptr), torch.tensor(m.indices), torch.tensor(m.data)


FORMS = {
    "numpy dense": dense,
    "numpy dense, float64": lambda: dense(dtype=np.float64),
    "numpy dense, bool": lambda: dense(dtype=bool),
    "numpy dense, int": lambda: dense(dtype=np.int64),
    "numpy dense, uint32": lambda: dense(dtype=np.uint32),
    "numpy dense, read-only": lambda: np.broadcast_to(dense(), (NODES, len(EDGES))),
    "numpy dense, reversed twice": lambda: dense()[::-1].copy()[::-1],
    "numpy dense, big-endian": lambda: dense(dtype=">f4"),
    "torch dense": lambda: torch.tensor(dense()),
    "torch dense, bool": lambda: torch.tensor(dense(dtype=bool)),
    "nested lists": lambda: dense().tolist(),
    "scipy csr": lambda: sp.csr_array(dense()),
    "scipy csc": lambda: sp.csc_matrix(dense()),
    "scipy coo": lambda: sp.coo_matrix(dense()),
    "scipy lil": lambda: sp.lil_array(dense()),
    "scipy csr, bool": lambda: sp.csr_array(dense(dtype=bool)),
    "torch COO": lambda: torch.tensor(dense()).to_sparse(),
    "torch COO, bool": lambda: torch.tensor(dense(dtype=bool)).to_sparse(),
    "torch CSR": lambda: csr(dense()),
    "torch CSC": lambda: torch.tensor(dense()).to_sparse_csc(),
}
INDEX_FORMS = {
    "numpy index": index,
    "numpy index, int32": lambda: index().astype(np.int32),
    "numpy index, uint8": lambda: index().astype(np.uint8),
    "numpy index, reversed": lambda: index()[:, ::-1],
    "torch index": lambda: torch.tensor(index()),
    "pair of arrays": lambda: tuple(index()),
    "pair of lists": lambda: index().tolist(),
    "pair of uint16 arrays": lambda: tuple(index().astype(np.uint16)),
    "repeated": lambda: np.concatenate([index(), index()], axis=1),
}


@pytest.fixture
def expected():
    return Hypergraph.from_edges(EDGES, NODES)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:Sparse CS[RC] tensor support")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_matrices(form, expected):
    assert Hypergraph.from_incidence(FORMS[form]()) == expected


@pytest.mark.parametrize("form", INDEX_FORMS)
def test_indices(form, expected):
    assert Hypergraph.from_incidence(INDEX_FORMS[form](), NODES, len(EDGES)) == expected


@pytest.mark.parametrize(
    "edges",
    [
        [set(e) for e in EDGES],
        tuple(tuple(e) for e in EDGES),
        (iter(e) for e in EDGES),
        [np.array(e, dtype=np.int64) for e in EDGES],
        [torch.tensor(e, dtype=torch.int64) for e in EDGES],
        [[*e, *e] for e in EDGES],
        [e[::-1] for e in EDGES],
    ],
    ids=["sets", "tuples", "iterators", "arrays", "tensors", "repeated", "reversed"],
)
def test_edges(edges, expected):
    assert Hypergraph.from_edges(edges, NODES) == expected


def test_both_sorted_orders_by_hand():
    p = Hypergraph.from_edges([[2, 0], [], [0]], 4).incidence
    assert (p.num_rows, p.num_cols, len(p)) == (3, 4, 3)
    assert (p.ptr.tolist(), p.index.tolist()) == ([0, 2, 2, 3], [0, 2, 0])
    assert (p.t_ptr.tolist(), p.t_index.tolist()) == ([0, 2, 2, 3, 3], [0, 2, 0])
    assert p.t_perm.tolist() == [0, 2, 1]


@given(hypergraphs(), st.randoms(use_true_random=False))
@QUICK
def test_both_sorted_orders_against_brute_force(h, random):
    columns = h.index.T.tolist() * 2
    random.shuffle(columns)
    pairs = np.array(columns, dtype=np.int64).reshape(-1, 2).T
    built = Hypergraph.from_incidence(pairs, h.num_nodes, h.num_edges)
    by_edge = sorted({(e, v) for v, e in columns})
    by_node = sorted((v, e) for e, v in by_edge)
    p = built.incidence
    assert list(zip(p.rows.tolist(), p.index.tolist(), strict=True)) == by_edge
    assert p.t_index.tolist() == [e for _, e in by_node]
    assert p.t_perm.tolist() == [by_edge.index((e, v)) for v, e in by_node]
    assert built.orders.tolist() == [len(e) for e in h.edges()]
    assert built.degrees.tolist() == [sum(v in e for e in h.edges()) for v in range(h.num_nodes)]
    assert p.t_ptr.tolist() == [0, *np.cumsum(built.degrees.tolist()).tolist()]
    assert built.edges() == h.edges() == [sorted(e) for e in h.edges()]


@given(hypergraphs(features=False, weights=False, names=False))
@QUICK
def test_dense_round_trip(h):
    matrix = dense(h.edges(), h.num_nodes, bool)
    assert Hypergraph.from_incidence(matrix) == h
    assert Hypergraph.from_incidence(sp.csr_array(matrix)) == h
    assert Hypergraph.from_incidence(h.index, h.num_nodes, h.num_edges) == h
    assert Hypergraph.from_edges(h.edges(), h.num_nodes) == h


# ---------------------------------------------------------------------- weights

WEIGHTED = np.array([[0.5, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, -3.0]], dtype=np.float32)


@pytest.mark.parametrize(
    "make",
    [np.array, torch.tensor, sp.csr_array, sp.coo_array, lambda m: torch.tensor(m).to_sparse(), csr],
    ids=["numpy", "torch", "scipy csr", "scipy coo", "torch COO", "torch CSR"],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_entries_become_incidence_weights(make):
    h = Hypergraph.from_incidence(make(WEIGHTED))
    assert h.edges() == [[0, 1], [], [0, 2]]
    assert h.incidence_weight.tolist() == [0.5, 2.0, 1.0, -3.0]
    assert h.incidence_weight.dtype == torch.float32


def test_weights_follow_their_incidences_and_a_repeated_one_counts_once():
    index = ([2, 0, 2, 0, 1], [1, 1, 0, 1, 0])
    h = Hypergraph.from_incidence(index, incidence_weight=[5.0, 6.0, 7.0, 6.0, 9.0])
    assert h.edges() == [[1, 2], [0, 2]]
    assert h.incidence_weight.tolist() == [9.0, 7.0, 6.0, 5.0]


@pytest.mark.parametrize(("names", "name"), [(None, "0"), (("ann", "bob", "cy"), "'ann'")])
def test_an_incidence_with_two_weights_is_refused(names, name):
    index = ([2, 0, 2, 0, 1], [1, 1, 0, 1, 0])
    told = f"node {name} is given twice in hyperedge 1, with incidence_weight 6.0 and 8.0"
    with pytest.raises(ValueError, match=told):
        Hypergraph.from_incidence(index, incidence_weight=[5.0, 6.0, 7.0, 8.0, 9.0], node_names=names)


def test_an_incidence_with_one_weight_twice_counts_once():
    h = Hypergraph.from_incidence(([0, 0], [0, 0]), incidence_weight=[2.0, 2.0])
    assert h.incidence_weight.tolist() == [2.0]


@pytest.mark.parametrize("library", ["scipy", "torch"])
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_repeated_entries_of_a_sparse_matrix_are_merged_not_added(library):
    row, col, data = [0, 1, 0], [0, 0, 0], [1.0, 1.0, 1.0]
    if library == "scipy":
        matrix = sp.coo_array((data, (row, col)), shape=(2, 1))
    else:
        matrix = torch.sparse_coo_tensor(torch.tensor([row, col]), torch.tensor(data), (2, 1))
    assert Hypergraph.from_incidence(matrix) == Hypergraph.from_edges([[0, 1]])


def test_explicit_zeros_of_a_sparse_matrix_are_no_incidences():
    matrix = sp.coo_array(([0.0, 1.0], ([0, 1], [0, 0])), shape=(2, 1))
    assert Hypergraph.from_incidence(matrix).edges() == [[1]]


@given(hypergraphs(weights=True), st.randoms(use_true_random=False))
@QUICK
def test_weights_against_brute_force(h, random):
    order = list(range(h.num_incidences))
    random.shuffle(order)
    order = torch.tensor(order, dtype=torch.int64)
    again = Hypergraph.from_incidence(
        h.index[:, order], h.num_nodes, h.num_edges, incidence_weight=h.incidence_weight[order]
    )
    assert torch.equal(again.index, h.index)
    assert torch.equal(again.incidence_weight, h.incidence_weight)


def test_numbers_too_large_for_one_key_are_sorted_all_the_same(monkeypatch):
    from ehnn.hypergraph import pairs

    row, col = torch.tensor([3, 0, 3, 3]), torch.tensor([1, 2, 0, 1])
    keyed, _ = pairs.pairs_from_coo(row, col, 4, 3)
    sorted_twice, order = pairs.pairs_from_coo(row, col, 4, 3, need_order=True)
    for name in ("ptr", "index", "t_ptr", "t_index", "t_perm"):
        assert torch.equal(getattr(keyed, name), getattr(sorted_twice, name))
    assert order.tolist() == [1, 2, 0]


# ---------------------------------------------------------------------- counts


def test_counts_are_stored_not_inferred():
    h = Hypergraph.from_incidence(([0], [0]), num_nodes=3, num_edges=5)
    assert (h.num_nodes, h.num_edges, h.num_incidences) == (3, 5, 1)
    assert h.orders.tolist() == [1, 0, 0, 0, 0]


def test_counts_come_from_attributes_before_the_largest_number():
    assert Hypergraph.from_edges([[0]], x=np.zeros((4, 1))).num_nodes == 4
    assert Hypergraph.from_edges([[0]], y=[0, 1, 2]).num_nodes == 3
    assert Hypergraph.from_edges([[0]], node_names="abc").num_nodes == 3
    assert Hypergraph.from_incidence(([0], [0]), edge_x=np.zeros((2, 1))).num_edges == 2
    assert Hypergraph.from_incidence(([0], [0]), edge_weight=[1.0, 1.0, 2.0]).num_edges == 3
    assert Hypergraph.from_incidence(([0], [0]), edge_names=["a", "b"]).num_edges == 2
    assert Hypergraph.from_incidence(([1], [2])).num_nodes == 2
    assert Hypergraph.from_incidence(([1], [2])).num_edges == 3
    assert Hypergraph.from_edges([[0]], num_nodes=np.int64(3)).num_nodes == 3


@pytest.mark.parametrize(
    ("h", "shape"),
    [
        (Hypergraph.from_edges([]), (0, 0)),
        (Hypergraph.from_edges([], 3), (3, 0)),
        (Hypergraph.from_edges([[], []]), (0, 2)),
        (Hypergraph.from_edges([[], []], 3), (3, 2)),
        (Hypergraph.from_edges([[0]]), (1, 1)),
        (Hypergraph.from_incidence(np.zeros((2, 0), dtype=int)), (0, 0)),
        (Hypergraph.from_incidence([[], []]), (0, 0)),
        (Hypergraph.from_incidence(np.zeros((0, 4))), (0, 4)),
        (Hypergraph.from_incidence(np.zeros((4, 0))), (4, 0)),
        (Hypergraph.from_incidence(sp.csr_array((4, 0))), (4, 0)),
        (Hypergraph.from_incidence(torch.zeros(0, 4).to_sparse()), (0, 4)),
    ],
)
def test_small_and_empty(h, shape):
    assert (h.num_nodes, h.num_edges) == shape
    assert h.orders.shape == (shape[1],)
    assert h.degrees.shape == (shape[0],)
    assert h.index.shape == (2, h.num_incidences)
    assert len(h.edges()) == shape[1]


def test_the_input_is_neither_changed_nor_shared():
    given_index = torch.tensor([[3, 0, 1], [1, 1, 0]])
    before = given_index.clone()
    h = Hypergraph.from_incidence(given_index)
    assert torch.equal(given_index, before)
    given_index.zero_()
    assert h.edges() == [[1], [0, 3]]
