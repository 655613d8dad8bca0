"""Candidates, association hypergraph and affinities."""

import dataclasses
from itertools import permutations, product

import pytest
import torch

import ehnn
from ehnn_paper.matching.affinity import Affinity, angle_cosines
from ehnn_paper.matching.association import (
    associate,
    corner_orders,
    pairs_without_waiting,
    triangle_sides,
)
from ehnn_paper.matching.candidates import candidates_of

from .matching_examples import CHANNELS, WHOLE, member, random_batch

COUNTS = [(4, 5), (3, 3), (6, 2), (1, 4), (5, 5)]


def test_candidates_are_all_pairs_within_a_pair():
    batch = random_batch(COUNTS)
    found = candidates_of(batch)
    owner_a, owner_b = batch.a.owner.tolist(), batch.b.owner.tolist()
    wanted = [(i, j) for i, p in enumerate(owner_a) for j, q in enumerate(owner_b) if p == q]
    assert list(zip(found.a.tolist(), found.b.tolist(), strict=True)) == wanted
    assert torch.equal(found.first[found.a] + found.b, torch.arange(len(found)))
    assert found.pair.tolist() == [owner_a[i] for i, _ in wanted]


def test_dense_puts_every_candidate_in_its_place():
    found = candidates_of(random_batch(COUNTS))
    dense = found.dense(torch.arange(len(found)).double(), fill=-1)
    assert dense.shape == (5, 6, 6)
    assert torch.equal(dense[found.pair, found.local_a, found.local_b], torch.arange(len(found)).double())
    assert int((dense >= 0).sum()) == len(found)


def oracle(batch, found):
    """Hyperedges of candidates by loops over everything."""
    number = {(i, j): c for c, (i, j) in enumerate(zip(found.a.tolist(), found.b.tolist(), strict=True))}
    owner_a, owner_b = batch.a.owner.tolist(), batch.b.owner.tolist()
    twos, threes = set(), set()
    for e, f in product(batch.a.edges.T.tolist(), batch.b.edges.T.tolist()):
        if owner_a[e[0]] == owner_b[f[0]]:
            twos |= {frozenset(number[i, j] for i, j in zip(e, g, strict=True)) for g in permutations(f)}
    for s, t in product(batch.a.triangles.T.tolist(), batch.b.triangles.T.tolist()):
        if owner_a[s[0]] == owner_b[t[0]]:
            threes |= {frozenset(number[i, j] for i, j in zip(s, u, strict=True)) for u in permutations(t)}
    return twos, threes


@pytest.mark.parametrize("seed", range(3))
def test_hyperedges_are_those_of_the_oracle(seed):
    batch = random_batch(COUNTS, seed)
    found = associate(batch)
    twos, threes = oracle(batch, found.candidates)
    edges = [frozenset(e) for e in found.structure.edges()]
    assert len(edges) == len(set(edges)) == 2 * found.edge_pairs + 6 * len(found.triangles_a)
    assert set(edges[: 2 * found.edge_pairs]) == twos
    assert set(edges[2 * found.edge_pairs :]) == threes


def test_the_structure_is_a_proper_hypergraph():
    """The pairs are what the builder would have made of the same index: sorted both ways, nothing merged."""
    h = associate(random_batch(COUNTS)).structure
    built = ehnn.Hypergraph.from_incidence(h.index, h.num_nodes, h.num_edges)
    for name in ("ptr", "index", "t_ptr", "t_index", "t_perm"):
        assert torch.equal(getattr(h.incidence, name), getattr(built.incidence, name))
    assert h.num_members == len(COUNTS)
    node, edge = h.index
    assert torch.equal(h.node_batch[node], h.edge_batch[edge])


def test_a_gpu_would_make_the_same_structure():
    pairs = associate(random_batch(COUNTS)).structure.incidence
    assert_same(pairs_without_waiting(pairs.ptr, pairs.index, pairs.rows, pairs.num_cols), pairs)


def assert_same(one, other, path="overlap"):
    """Equal in every field, tensors by value; what is only kept for later need not be."""
    if path.endswith(".codes"):
        return
    assert type(one) is type(other), path
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, path
        assert torch.equal(one, other), path
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}")
    else:
        assert one == other, path


@pytest.mark.parametrize("counts", [COUNTS, [(5, 4)], [(1, 1), (2, 1)], [(1, 1)], [(0, 3)], [(0, 2), (3, 3)]])
@pytest.mark.parametrize("orders", [(2, 3), (2,), (3,)])
def test_the_overlap_is_the_one_that_is_searched(counts, orders):
    found = associate(random_batch(counts), orders)
    searched = found.structure.overlap("all", "nodes")
    assert_same(found.overlap.source_sizes, searched.source_sizes, "source_sizes")
    assert_same(found.overlap, searched)
    assert_same(found.overlap.sizes_and_pool, searched.sizes_and_pool)


def test_orders_can_be_left_out():
    batch = random_batch(COUNTS)
    both, twos, threes = associate(batch), associate(batch, (2,)), associate(batch, (3,))
    assert both.structure.edges() == twos.structure.edges() + threes.structure.edges()
    assert associate(batch, ()).structure.num_edges == 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_keypoints(count):
    found = associate(random_batch([(count, count)]))
    assert found.structure.num_nodes == count**2
    assert found.structure.num_edges == {1: 0, 2: 2, 3: 18 + 6}[count]


def test_too_many_hyperedges_are_refused():
    batch = random_batch([(8, 8)])
    needed = associate(batch).structure.num_edges
    associate(batch, max_hyperedges=needed)
    with pytest.raises(ValueError, match=f"{needed:,} hyperedges"):
        associate(batch, max_hyperedges=needed - 1)
    with pytest.raises(ValueError, match="orders must be among"):
        associate(batch, (2, 4))


def affinity_oracle(affinity, batch, found):
    """Candidate by candidate and hyperedge by hyperedge, for a single pair."""
    x, y = batch.a.features, batch.b.features
    whole = torch.cat([batch.a.whole[0], batch.b.whole[0]])
    w_node, w_edge = affinity.weights(whole / whole.norm()).tanh().reshape(2, -1)
    soft = torch.nn.functional.softplus
    rows = list(zip(found.candidates.a.tolist(), found.candidates.b.tolist(), strict=True))
    nodes = [soft((w_node * x[i] * y[j]).sum()) - 0.5 for i, j in rows]
    edges = []
    for nodes_of in found.structure.edges():
        pairs = [rows[c] for c in nodes_of]
        if len(pairs) == 2:
            (i, j), (k, m) = pairs
            edges.append((soft((w_edge * (x[i] - x[k]) * (y[j] - y[m])).sum()) - 0.5) / 2)
        else:
            gap = torch.stack([cosine(x, pairs, c, 0) - cosine(y, pairs, c, 1) for c in range(3)])
            edges.append(torch.exp(-(gap**2).sum()))
    return torch.stack(nodes), torch.stack(edges)


def cosine(x, pairs, corner, side):
    here, one, two = (x[pairs[(corner + k) % 3][side]] for k in range(3))
    return torch.nn.functional.cosine_similarity(one - here, two - here, dim=0)


def test_affinities_are_those_of_the_oracle():
    torch.manual_seed(0)
    batch = random_batch([(5, 6)], dtype=torch.float64)
    affinity, found = Affinity(CHANNELS, WHOLE).double(), associate(batch)
    nodes, edges = affinity(batch.a.features, batch.b.features, batch, found)
    wanted = affinity_oracle(affinity, batch, found)
    torch.testing.assert_close(nodes, wanted[0])
    torch.testing.assert_close(edges, wanted[1])


def test_a_batch_is_its_members():
    torch.manual_seed(0)
    batch, affinity = random_batch(COUNTS), Affinity(CHANNELS, WHOLE)
    found = associate(batch)
    nodes, edges = affinity(batch.a.features, batch.b.features, batch, found)
    for pair in range(len(COUNTS)):
        alone = member(batch, pair)
        single = associate(alone)
        one, two = affinity(alone.a.features, alone.b.features, alone, single)
        torch.testing.assert_close(nodes[found.candidates.pair == pair], one)
        torch.testing.assert_close(edges[found.structure.edge_batch == pair], two)


def test_identical_keypoints_give_finite_affinities_and_gradients():
    batch = random_batch([(4, 4)])
    x = torch.ones(4, CHANNELS, requires_grad=True)
    affinity = Affinity(CHANNELS, WHOLE)
    nodes, edges = affinity(x, x, batch, associate(batch))
    (nodes.sum() + edges.sum()).backward()
    assert all(bool(t.isfinite().all()) for t in (nodes, edges, x.grad))


def test_cosines_of_a_right_angle():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = angle_cosines(x, triangle_sides(torch.tensor([[0], [1], [2]])))
    torch.testing.assert_close(found, torch.tensor([[0.0, 0.5**0.5, 0.5**0.5]]))


def test_corner_orders_are_all_six():
    assert sorted(corner_orders(torch.device("cpu")).tolist()) == [list(p) for p in permutations(range(3))]


def test_sizes_travel_with_the_batch():
    batch = random_batch(COUNTS)
    assert batch.known_sizes is None
    assert batch.to("cpu").known_sizes == batch.sizes
