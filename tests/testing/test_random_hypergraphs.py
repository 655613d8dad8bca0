import time
from collections import Counter
from itertools import combinations

import pytest
import torch
from hypothesis import find, given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph
from ehnn.testing import random_hypergraph
from ehnn.testing.strategies import batches, hypergraphs, members

QUICK = settings(max_examples=40, deadline=None)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 2**32), st.data())
@QUICK
def test_counts_and_orders(n, m, seed, data):
    low = data.draw(st.integers(0, n))
    high = data.draw(st.integers(low, n))
    h = random_hypergraph(n, m, (low, high), seed=seed, d_node=2, d_edge=0)
    assert (h.num_nodes, h.num_edges) == (n, m)
    assert all(low <= k <= high for k in h.orders.tolist())
    assert (h.x.shape, h.edge_x.shape) == ((n, 2), (m, 0))
    assert h == random_hypergraph(n, m, (low, high), seed=seed, d_node=2, d_edge=0)


@pytest.mark.parametrize("n", [5, 6])
def test_every_set_of_an_order_is_as_likely(n):
    draws = 6000
    for k in range(n + 1):
        sets = list(combinations(range(n), k))
        found = Counter(map(tuple, random_hypergraph(n, draws, k, seed=k).edges()))
        expected = draws / len(sets)
        chi2 = sum((found[s] - expected) ** 2 / expected for s in sets)
        assert chi2 < 3 * len(sets) + 20


def test_orders_are_drawn_from_the_collection():
    for orders in ([2, 7], {2, 7}, range(2, 8, 5), torch.tensor([2, 7]), [2, 2, 7]):
        assert set(random_hypergraph(10, 100, orders, seed=0).orders.tolist()) == {2, 7}
    assert set(random_hypergraph(10, 200, (2, 5), seed=0).orders.tolist()) == {2, 3, 4, 5}
    assert set(random_hypergraph(10, 9, 10, seed=0).orders.tolist()) == {10}


def test_sources_of_randomness():
    one, two = (torch.Generator().manual_seed(3) for _ in range(2))
    assert random_hypergraph(9, 9, 3, generator=one) == random_hypergraph(9, 9, 3, generator=two)
    assert random_hypergraph(9, 9, 3, generator=one) != random_hypergraph(9, 9, 3, seed=3)
    torch.manual_seed(0)
    first = random_hypergraph(9, 9, 3)
    torch.manual_seed(0)
    assert random_hypergraph(9, 9, 3) == first


def test_dtype():
    assert random_hypergraph(3, 1, 2, d_node=1, dtype=torch.float64).x.dtype == torch.float64


def test_a_million_incidences_take_no_time():
    start = time.process_time()
    h = random_hypergraph(100_000, 166_667, (2, 10), seed=0)
    assert h.num_incidences > 900_000
    assert time.process_time() - start < 10


def test_no_hyperedges_have_no_order():
    assert random_hypergraph(0, 0) == Hypergraph.from_edges([])
    assert random_hypergraph(1, 0).num_nodes == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 1, 4), "orders must be below 4, got 4"),
        ((3, 1), "orders must be below 4, got 10"),
        ((3, 1, (2, 1)), r"orders must be \(lowest, highest\), got \(2, 1\)"),
        ((3, 1, -1), "orders must not be negative, got -1"),
        ((3, 1, []), "at least one order"),
        ((3, 1, [1.5]), "orders must be integers"),
        ((-3, 1), "num_nodes must be an integer that is not negative, got -3"),
        ((3, 1.0), "num_edges must be an integer that is not negative, got 1.0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        random_hypergraph(*arguments)


def test_one_source_of_randomness():
    with pytest.raises(ValueError, match="seed or generator"):
        random_hypergraph(3, 1, 2, seed=0, generator=torch.Generator())
    with pytest.raises(ValueError, match="d_node must be"):
        random_hypergraph(3, 1, 2, d_node=-1)


# ---------------------------------------------------------------------- strategies

CORNERS = {
    "zero nodes": lambda h: h.num_nodes == 0,
    "zero nodes, some hyperedges": lambda h: h.num_nodes == 0 and h.num_edges > 1,
    "zero hyperedges": lambda h: h.num_edges == 0 and h.num_nodes > 1,
    "empty hyperedge": lambda h: 0 in h.orders and h.num_incidences > 0,
    "trailing empty hyperedge": lambda h: h.num_edges > 1 and h.orders[-1] == 0 and h.orders[0] > 0,
    "isolated node": lambda h: 0 in h.degrees and h.num_incidences > 0,
    "one node": lambda h: h.num_nodes == 1,
    "more hyperedges": lambda h: h.num_edges > h.num_nodes > 1,
    "more nodes": lambda h: h.num_nodes > h.num_edges > 1,
    "repeated hyperedge": lambda h: len(set(map(tuple, filter(None, h.edges())))) < int((h.orders > 0).sum()),
    "all attributes": lambda h: "None" not in map(str, (h.x, h.y, h.edge_x, h.edge_weight, h.node_names)),
    "no attributes": lambda h: h.x is h.y is h.edge_x is h.edge_weight is h.edge_names is h.incidence_weight,
}


@pytest.mark.parametrize("corner", CORNERS)
def test_the_strategy_draws(corner):
    find(hypergraphs(), CORNERS[corner], settings=settings(max_examples=2000, deadline=None, database=None))


@given(
    hypergraphs(min_nodes=2, max_nodes=3, min_edges=1, max_edges=2, features=True, weights=False, names=True)
)
@QUICK
def test_the_strategy_keeps_its_bounds(h):
    assert 2 <= h.num_nodes <= 3
    assert 1 <= h.num_edges <= 2
    assert (h.x.shape[1], h.edge_x.shape[1]) == (3, 2)
    assert h.edge_weight is h.incidence_weight is None
    assert len(set(h.node_names)) == h.num_nodes
    assert len(set(h.edge_names)) == h.num_edges


@given(members(max_members=3), batches(max_members=2))
@QUICK
def test_batches_have_at_most_so_many_members(hs, b):
    assert len(hs) <= 3
    assert b.num_members <= 2


def test_only_the_strategies_need_hypothesis():
    import subprocess
    import sys

    code = "import sys; sys.modules['hypothesis'] = None; import ehnn.testing"
    subprocess.run([sys.executable, "-c", code], check=True)
