"""Bad input: a ValueError that names the thing, its value and what was expected."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ehnn import Hypergraph

NAN, INF = float("nan"), float("inf")
from_edges, from_incidence = Hypergraph.from_edges, Hypergraph.from_incidence


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, -1]], "node numbers in edges must not be negative, got -1"),
        ([[0, 1.0]], "node numbers in edges must be integers, got dtype torch.float64, such as 0.0"),
        ([[0, 1], [2, 1.5]], "node numbers in edges must be integers, got dtype torch.float64, such as 1.5"),
        ([[0, NAN]], "must be integers"),
        ([[0, INF]], "must be integers"),
        ([[True]], "must be integers, got dtype torch.bool"),
        ([[0, None]], "must be integers, got \\[0, None\\]"),
        (["ab"], "must be integers, got \\['a', 'b'\\]"),
        ([[0, [1]]], "must be integers"),
        ([[[0, 1]]], "must have one dimension, got shape \\(1, 2\\)"),
        ([[2**70]], "must be integers"),
        ([[2**63]], "must be integers"),
        ([[0], [2**40]], "the largest node number 1,099,511,627,776 would make .* give num_nodes"),
        (5, "edges must be collections of node numbers, got 5"),
        ([1, 2], "edges must be collections of node numbers"),
        ([[0], None], "edges must be collections of node numbers"),
    ],
)
def test_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        from_edges(edges)


@pytest.mark.parametrize("given", [3, [[0, 1]], np.eye(2)])
def test_the_constructor_names_the_ways_to_build(given):
    with pytest.raises(
        ValueError, match=r"incidence must be a SparsePattern, got (?s:.)*use Hypergraph.from_edges"
    ):
        Hypergraph(given)


@pytest.mark.parametrize("count", [-1, 2.0, "3", True, NAN])
def test_counts(count):
    with pytest.raises(ValueError, match="num_nodes must be an integer that is not negative, got"):
        from_edges([[0]], num_nodes=count)
    with pytest.raises(ValueError, match="num_edges must be an integer that is not negative, got"):
        from_incidence(([0], [0]), num_edges=count)


@pytest.mark.parametrize(
    ("incidence", "message"),
    [
        (([0, 3], [0, 0]), "node numbers must be below 3, got 3"),
        (([0, 1], [0, 2]), "hyperedge numbers must be below 2, got 2"),
        (([0, 1], [0, -2]), "hyperedge numbers must not be negative, got -2"),
        (np.array([[0, -1], [0, 0]]), "node numbers must not be negative, got -1"),
        (np.array([[0, 5], [0, 0]]), "node numbers must be below 3, got 5"),
        (([0, 1], [0]), "2 node numbers and 1 hyperedge numbers do not pair up"),
        (([0.5], [0]), "node numbers must be integers"),
        (([0], [NAN]), "hyperedge numbers must be integers"),
        (np.array([[0.0, 1.0], [0.0, 1.0]]), "num_nodes=3 does not match .* shape \\(2, 2\\)"),
        (np.ones((3, 3)), "num_edges=2 does not match the incidence matrix of shape \\(3, 3\\)"),
        (np.ones(3), "incidence must have two dimensions, got shape \\(3,\\)"),
        (np.ones((3, 2, 1)), "two dimensions, got shape \\(3, 2, 1\\)"),
        (
            np.array([[1.0, 1.0], [0, 0], [0, NAN]]),
            "entries must be finite, got nan for node 2 in hyperedge 1",
        ),
        (torch.tensor([[INF, 1.0]] * 3), "incidence entries must be finite"),
        (sp.csr_array(np.array([[NAN, 1.0]] * 3)), "incidence entries must be finite"),
        (torch.tensor([[NAN, 1.0]] * 3).to_sparse(), "incidence entries must be finite"),
        (sp.csr_array(np.ones((3, 2), dtype=complex)), "must be real numbers, got dtype complex128"),
        (np.ones((3, 2), dtype=complex), "must be real numbers, got dtype torch.complex128"),
        (torch.ones(3, 2, dtype=torch.complex64).to_sparse(), "must be real numbers"),
        (sp.coo_array(np.ones(3)), "two dimensions, got shape \\(3,\\)"),
        (torch.ones(3, 2, 2).to_sparse(), "two sparse dimensions, got shape \\(3, 2, 2\\)"),
        (torch.ones(3, 2).to_sparse(1), "two sparse dimensions"),
        (np.array([["a", "b"]] * 3), "incidence must be a matrix or a 2 × nnz index"),
        ("text", "incidence must be a matrix or a 2 × nnz index, got 'text'"),
        (None, "incidence must be a matrix or a 2 × nnz index, got None"),
        ({0: [1]}, "incidence must be a matrix or a 2 × nnz index"),
        ([[0], [1, 2], [3]], "incidence must be a matrix or a 2 × nnz index"),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_incidences(incidence, message):
    with pytest.raises(ValueError, match=message):
        from_incidence(incidence, 3, 2)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_weights_are_finite_however_they_are_given(value):
    plain, one = from_edges([[0, 1], [1, 2]]), [1.0, value]
    of_edge, of_node = (
        f"edge_weight must be finite, got {value} for ",
        "incidence_weight must be finite, got ",
    )
    of_node += f"{value} for "
    weights = torch.tensor([1.0, 1.0, value, 1.0])
    directed = Hypergraph.from_directed
    for make, told in (
        (lambda: from_edges([[0], [1]], edge_weight=one), of_edge + "hyperedge 1"),
        (lambda: directed([([0], [1]), ([1], [0])], edge_weight=np.array(one)), of_edge + "hyperedge 1"),
        (lambda: plain.replace(edge_weight=torch.tensor(one)), of_edge + "hyperedge 1"),
        (
            lambda: Hypergraph(plain.incidence, edge_weight=one, edge_names=("a", "b")),
            of_edge + "hyperedge 'b'",
        ),
        (lambda: plain.replace(incidence_weight=weights), of_node + "node 1 in hyperedge 1"),
        (lambda: from_incidence(([1, 0], [0, 0]), incidence_weight=one), of_node + "node 0 in hyperedge 0"),
        (
            lambda: from_incidence(([0], [0]), incidence_weight=[value], node_names=["x"]),
            of_node + "node 'x' in hyperedge 0",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            make()
    assert plain.replace(edge_weight=[-1, 2]).edge_weight.tolist() == [-1, 2]  # networks take negative ones


def test_a_hyperedge_number_out_of_all_proportion():
    with pytest.raises(ValueError, match=r"largest hyperedge number .* give num_edges if"):
        from_incidence(([0], [2**50]))


def test_counts_are_inferred_up_to_a_bound(monkeypatch):
    """A large number in a short list is a mistake: above the bound, and above 100 for each incidence."""
    monkeypatch.setattr("ehnn.hypergraph.build.MAX_INFERRED", 1000)
    few, many = [0] * 9, [0] * 19
    assert from_edges([[999]]).num_nodes == from_edges([[*few, 999]]).num_nodes == 1000
    assert from_edges([[*many, 1999]]).num_nodes == 2000
    assert from_incidence(([0] * 20, [*many, 1999])).num_edges == 2000
    for edges in ([[1000]], [[*few, 1000]], [[*many, 2000]]):
        with pytest.raises(ValueError, match=r"the largest node number .,000 would make .,001 nodes from"):
            from_edges(edges)
    with pytest.raises(ValueError, match="give num_edges if this is intended"):
        from_incidence(([0] * 20, [*many, 2000]))
    assert from_edges([[2000]], num_nodes=3000).num_nodes == 3000


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"x": np.ones((3, 1))}, "x must have one row per node \\(2\\), got 3 rows"),
        ({"x": np.ones(2)}, "x must have 2 dimensions, got shape \\(2,\\)"),
        ({"x": [["a"], ["b"]]}, "x must be numbers, got"),
        ({"x": [[1.0], [1.0, 2.0]]}, "x must be numbers, got"),
        ({"x": 5}, "x must have 2 dimensions"),
        ({"edge_x": np.ones((2, 1))}, "edge_x must have one row per hyperedge \\(1\\), got 2 rows"),
        ({"y": [0, 1, 2]}, "y must have one row per node \\(2\\), got 3 rows"),
        ({"y": np.ones((2, 1, 1))}, "y must have 1 or 2 dimensions, got shape \\(2, 1, 1\\)"),
        ({"edge_weight": [1.0, 2.0]}, "edge_weight must have one row per hyperedge \\(1\\), got 2 rows"),
        ({"incidence_weight": [1.0]}, "incidence_weight must have one row per incidence \\(2\\), got 1 rows"),
        ({"node_names": ["a"]}, "node_names must have 2 entries, got 1"),
        ({"edge_names": ["a", "b"]}, "edge_names must have 1 entries, got 2"),
        ({"edge_names": 3}, "edge_names must be a sequence of names, got 3"),
    ],
)
def test_attributes(attributes, message):
    with pytest.raises(ValueError, match=message):
        from_incidence(([0, 1], [0, 0]), 2, 1, **attributes)
    with pytest.raises(ValueError, match=message):
        from_incidence(([0, 1], [0, 0]), 2, 1).replace(**attributes)


@pytest.mark.parametrize("name", ["x", "y", "node_names", "edge_x", "edge_weight", "edge_names"])
def test_attributes_without_rows(name):
    with pytest.raises(ValueError, match=f"{name} must have one row per (node|edge), got 5"):
        from_incidence(([0], [0]), **{name: 5})


def test_numbers_beyond_the_features():
    with pytest.raises(ValueError, match=r"node numbers \(counted by the rows of x\) must be below 2, got 3"):
        from_edges([[0, 3]], x=np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"hyperedge numbers \(counted by the rows of edge_names\) must be"):
        from_incidence(([0], [1]), edge_names=["a"])


@pytest.mark.parametrize("name", ["X", "incidence", "num_members", "_overlaps"])
def test_replace_knows_its_attributes(name):
    with pytest.raises(
        ValueError, match=f"replace got \\['{name}'\\]; it can change \\['edge_names', .* 'y'\\]"
    ):
        from_edges([[0]]).replace(**{name: 1})


@pytest.mark.parametrize(
    ("perm", "message"),
    [
        ([0, 0], "perm must be a permutation of 2 numbers, got \\[0, 0\\]"),
        ([0], "perm must be a permutation of 2 numbers, got \\[0\\]"),
        ([], "perm must be a permutation of 2 numbers, got \\[\\]"),
        ([0, 1, 1], "perm must be a permutation"),
        ([0, 2], "perm must be below 2, got 2"),
        ([0, -1], "perm must not be negative, got -1"),
        ([0.0, 1.0], "perm must be integers"),
        (1, "perm must have one dimension"),
    ],
)
def test_permutations(perm, message):
    h = from_edges([[0, 1], [1]])
    with pytest.raises(ValueError, match=message):
        h.permute_nodes(perm)
    with pytest.raises(ValueError, match=message):
        h.permute_edges(perm)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0, 0], "nodes must not repeat"),
        ([2], "nodes must be below 2, got 2"),
        ([-1], "nodes must not be negative, got -1"),
        ([True, False], "nodes must be integers, got dtype torch.bool"),
        (0, "nodes must have one dimension"),
    ],
)
def test_subhypergraphs(nodes, message):
    with pytest.raises(ValueError, match=message):
        from_edges([[0, 1]]).subhypergraph(nodes)


def test_typos_in_arguments_are_not_swallowed():
    with pytest.raises(TypeError, match="edge_weights"):
        from_edges([[0]], edge_weights=[1.0])


def test_a_batch_without_its_vectors():
    with pytest.raises(ValueError, match="node_batch and edge_batch are needed for num_members=2"):
        Hypergraph(from_edges([[0]]).incidence, num_members=2)


def test_weights_that_a_model_computes_are_not_read() -> None:
    computed = torch.tensor([1.0, float("nan")], requires_grad=True)
    h = Hypergraph.from_edges([[0, 1], [1]])
    assert h.replace(edge_weight=computed).edge_weight is computed
    with pytest.raises(ValueError, match="edge_weight must be finite"):
        h.replace(edge_weight=computed.detach())
