"""Samples: everything drawn is exact, and what is left out is right on average."""

import pytest
import torch

from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer, Stack
from ehnn.nn.baselines import HGNN, AllDeepSets, AllSetTransformer
from ehnn.ops import segment_mean, segment_softmax_sum, segment_sum
from ehnn.parallel.running import RunningPools
from ehnn.parallel.sampled import Part, SampledPairs
from ehnn.parallel.sampling import _draw, sample, seed_batches
from ehnn.testing import random_hypergraph

ALL = [(-1, -1), (-1, -1)]


@pytest.fixture
def h() -> Hypergraph:
    return random_hypergraph(40, 30, (1, 6), seed=0, d_node=4, dtype=torch.float64)


@pytest.mark.parametrize("middle", ["edges", "all"])
@pytest.mark.parametrize("layer", [EHNNMLP, EHNNTransformer, AllDeepSets, AllSetTransformer])
def test_without_limits_seeds_are_exact(h: Hypergraph, middle: str, layer: type) -> None:
    """With all pairs drawn and all nodes as seeds the global term is exact; with some, the local ones."""
    torch.manual_seed(0)
    model = Stack(4, 3, layer, width=8, path=("nodes", middle, "nodes", middle, "nodes")).double()
    full = model(h)
    everything = torch.arange(40).flip(0)
    torch.testing.assert_close(model(sample(h, everything, ALL)), full[everything])
    for part in model.layers:
        part.global_interaction = False
    if layer is not EHNNTransformer:
        seeds = torch.tensor([7, 3, 21])
        torch.testing.assert_close(model(sample(h, seeds, [*ALL]))[:3], model(h)[seeds])


def test_sums_are_unbiased(h: Hypergraph) -> None:
    """Over many draws, the sum through two relations and the global sum have the right mean."""
    generator = torch.Generator().manual_seed(0)
    truth = segment_sum(
        segment_sum(h.x, h.overlap("nodes", "edges").merged), h.overlap("edges", "nodes").merged
    )
    means = segment_mean(h.x, h.overlap("nodes", "edges").merged)
    seen: dict[str, list[torch.Tensor]] = {"two": [], "nodes": [], "edges": []}
    for _ in range(800):
        seeds = torch.randperm(40, generator=generator)[:10]
        s = sample(h, seeds, [(2, 2)], generator)
        there, back = s.overlap("nodes", "edges"), s.overlap("edges", "nodes")
        edges = segment_sum(s.x, there.merged)
        estimate = torch.full((40, 4), torch.nan, dtype=torch.float64)
        estimate[seeds] = segment_sum(edges, back.merged)[:10]
        seen["two"].append(estimate)
        seen["nodes"].append(segment_sum(s.x, there.source_to_graph))
        seen["edges"].append(segment_sum(segment_mean(s.x, there.merged), back.source_to_graph))
    for name, want in (("two", truth), ("nodes", h.x.sum(0)), ("edges", means.sum(0))):
        values = torch.stack(seen[name])
        mean, count = values.nanmean(0), (~values.isnan()).sum(0)
        spread = ((values - mean).square().nanmean(0) / count).sqrt()
        assert ((mean - want).abs() <= 4.5 * spread + 1e-9).all(), name


def test_true_orders_and_limits(h: Hypergraph) -> None:
    s = sample(h, torch.tensor([1, 2, 3]), [(1, 2)], torch.Generator().manual_seed(0))
    assert torch.equal(s.orders, h.orders[s.edge_ids])
    assert torch.equal(s.degrees, h.degrees[s.node_ids])
    assert int(s.to_nodes.lengths.max()) == 1
    assert int(s.to_edges.lengths.max()) <= 2
    assert s.num_nodes <= 3 + 2 * 3


@pytest.mark.parametrize("middle", ["edges", "all"])
def test_relations_tell_the_true_orders_and_lengths(h: Hypergraph, middle: str) -> None:
    """A layer that reads an order must not see how many nodes were drawn."""
    s = sample(h, torch.arange(8), [(1, 1)], torch.Generator().manual_seed(0))
    assert bool((h.orders[s.edge_ids] > s.to_edges.lengths).any())
    ones = torch.ones(s.num_nodes, dtype=torch.int64)
    orders, degrees = h.orders[s.edge_ids], h.degrees[s.node_ids]
    there, back = s.overlap("nodes", middle), s.overlap(middle, "nodes")
    wanted = orders if middle == "edges" else torch.cat([ones, orders])
    assert torch.equal(there.target_orders.expand(), wanted)
    assert torch.equal(back.source_orders.expand(), wanted)
    assert torch.equal(there.source_orders.expand(), ones)
    assert torch.equal(back.target_orders.expand(), ones)
    assert torch.equal(there.merged.lengths, wanted)  # of which the mean is taken
    assert torch.equal(back.merged.lengths, degrees if middle == "edges" else degrees + 1)
    total = {"edges": int((h.orders > 0).sum()), "all": 40 + int((h.orders > 0).sum())}[middle]
    assert (there.source_to_graph.lengths.tolist(), back.source_to_graph.lengths.tolist()) == ([40], [total])


def test_draws_are_without_replacement_and_uniform(h: Hypergraph) -> None:
    generator = torch.Generator().manual_seed(0)
    node = int(h.degrees.argmax())
    seen = torch.zeros(h.num_edges)
    for _ in range(400):
        s = sample(h, [node], [(2, 0)], generator)
        assert s.to_nodes.lengths.tolist() == [2]
        seen[s.edge_ids] += 1
    own = h.incidence.t_index[h.incidence.t_ptr[node] : h.incidence.t_ptr[node + 1]]
    share = seen[own] / 400
    assert float(seen.sum()) == 800 == float(seen[own].sum())
    assert (share - 2 / len(own)).abs().max() < 0.12  # more than four standard deviations


def test_repr_of_a_sampled_relation_is_one_line(h: Hypergraph) -> None:
    o = sample(h, torch.arange(3), [(2, 2)]).overlap("nodes", "edges")
    assert repr(o).startswith(f"SampledOverlap({o.num_sources} sources, {o.num_targets} targets")
    assert repr(o.merged) == f"SampledPairs({o.num_targets} rows, {o.num_sources} columns)"


def test_what_a_sample_cannot_do(h: Hypergraph) -> None:
    s = sample(h, torch.tensor([0]), [(2, 2)])
    with pytest.raises(ValueError, match="a sample has the relations"):
        s.overlap("edges", "edges")
    with pytest.raises(ValueError, match="not available on samples"):
        EHNNLinear(4, 2).double()(s.x, s.overlap("nodes", "edges"))


def test_bad_seeds_are_named(h: Hypergraph) -> None:
    for seeds, told in (
        ([5, 7, 5], "seeds must be distinct nodes, got 5 more than once"),
        ([-1], "seeds must not be negative, got -1"),
        ([40], "seeds must be below 40, got 40"),
        (torch.ones(40, dtype=torch.bool), "seeds must be integers, got dtype torch.bool"),
    ):
        with pytest.raises(ValueError, match=told):
            sample(h, seeds, [(2, 2)])
    with pytest.raises(ValueError, match="fan_out must have"):
        sample(h, [0], [])


def test_weights_go_along(h: Hypergraph) -> None:
    """Without limits a model that reads weights and incidences is exact on a sample."""
    torch.manual_seed(0)
    h = h.replace(edge_weight=torch.rand(30, dtype=torch.float64))
    model, seeds = HGNN(4, 3, width=8).double().eval(), torch.tensor([7, 3, 21])
    torch.testing.assert_close(model(sample(h, seeds, 2 * ALL))[:3], model(h)[seeds])


MARKS = {
    "roles": ("roles",),
    "edge weights": ("edge_weight",),
    "incidence weights": ("incidence_weight",),
    "all": ("roles", "edge_weight", "incidence_weight"),
}


def marked(h: Hypergraph, names: tuple[str, ...]) -> Hypergraph:
    draw = torch.Generator().manual_seed(1)
    values = {
        "roles": torch.randint(3, (h.num_incidences,), generator=draw),
        "edge_weight": torch.rand(h.num_edges, dtype=torch.float64, generator=draw) + 0.5,
        "incidence_weight": torch.rand(h.num_incidences, dtype=torch.float64, generator=draw) + 0.5,
    }
    return h.replace(**{name: values[name] for name in names})


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("middle", ["edges", "all"])
@pytest.mark.parametrize("layer", [EHNNMLP, EHNNTransformer])
def test_roles_and_weights_of_a_whole_sample(h: Hypergraph, marks: str, middle: str, layer: type) -> None:
    """With all pairs drawn a sample gives what the whole hypergraph gives, and not what a bare one does."""
    torch.manual_seed(0)
    whole = marked(h, MARKS[marks])
    model = Stack(4, 3, layer, width=8, path=("nodes", middle, "nodes", middle, "nodes")).double().eval()
    everything = torch.arange(40).flip(0)
    full = model(whole)
    torch.testing.assert_close(model(sample(whole, everything, ALL)), full[everything])
    assert not torch.allclose(model(h), full, atol=1e-3)
    for part in model.layers:
        part.global_interaction = False
    if layer is EHNNMLP:
        seeds = torch.tensor([7, 3, 21])
        torch.testing.assert_close(model(sample(whole, seeds, ALL))[:3], model(whole)[seeds])


@pytest.mark.parametrize("marks", ["edge weights", "all"])
def test_running_pools_with_weights(h: Hypergraph, marks: str) -> None:
    """The first estimate is that of the sample, here of everything."""
    torch.manual_seed(0)
    whole = marked(h, MARKS[marks])
    model = Stack(4, 3, EHNNTransformer, width=8).double()
    full = model(whole)
    torch.testing.assert_close(RunningPools(model)(sample(whole, torch.arange(40), ALL)), full)


def test_sums_by_role_and_weight_are_unbiased(h: Hypergraph) -> None:
    generator = torch.Generator().manual_seed(0)
    whole = marked(h, MARKS["all"])
    o = whole.overlap("nodes", "edges")
    wanted = torch.zeros(30, 3, 4, dtype=torch.float64)
    wanted[o.group_target, o.sizes.expand()[:, 0].argmax(1)] = segment_sum(whole.x, o.source_to_group)
    found = []
    for _ in range(600):
        s = sample(whole, torch.arange(40), [(-1, 2)], generator)
        o = s.overlap("nodes", "edges")
        estimate = torch.zeros_like(wanted)
        at = s.edge_ids[o.group_target], o.sizes.expand()[:, 0].argmax(1)
        estimate[at] = segment_sum(s.x, o.source_to_group)
        found.append(estimate)
    values = torch.stack(found)
    spread = values.std(0) / 600**0.5
    assert ((values.mean(0) - wanted).abs() <= 4.5 * spread + 1e-9).all()


def test_roles_weights_and_features_of_drawn_incidences(h: Hypergraph) -> None:
    whole = marked(h, MARKS["all"]).replace(incidence_x=torch.arange(h.num_incidences).double().unsqueeze(1))
    s = sample(whole, torch.tensor([5, 1]), [(2, 2)], torch.Generator().manual_seed(0))
    at = {pair: i for i, pair in enumerate(zip(*whole.index.tolist(), strict=True))}
    node, edge = s.node_ids[s.index[0]].tolist(), s.edge_ids[s.index[1]].tolist()
    place = torch.tensor([at[pair] for pair in zip(node, edge, strict=True)])
    assert torch.equal(s.roles, whole.roles[place])
    assert torch.equal(s.incidence_weight, whole.incidence_weight[place])
    assert torch.equal(s.incidence_x, whole.incidence_x[place])
    assert s.num_roles == 3
    assert torch.equal(s.role_orders.sum(1), s.true_orders)
    assert torch.equal(s.role_degrees.sum(1), s.true_degrees)
    there = s.overlap("nodes", "edges")
    assert torch.equal(there.target_orders.expand(), s.role_orders)
    role = there.sizes.expand()[:, 0].argmax(1)
    assert torch.equal(there.source_to_group.lengths, s.role_orders[there.group_target, role])


def test_all_of_a_sample_moves(h: Hypergraph) -> None:
    s = sample(h, [0, 1], [(2, 2)])
    s.overlap("nodes", "edges")
    moved = s.to("meta")
    assert {t.device.type for t in (moved.x, moved.to_edges.index, moved.to_nodes.index)} == {"meta"}
    assert moved.num_seeds == 2
    assert s.to("cpu") is s


def test_seed_batches() -> None:
    batches = list(seed_batches(torch.arange(10), 4, seed=1, epoch=2))
    assert sorted(torch.cat(batches).tolist()) == list(range(10))
    assert [len(b) for b in batches] == [4, 4, 2]


def test_seed_batches_are_shuffled_by_seed_and_epoch() -> None:
    drawn = {
        (seed, epoch): tuple(torch.cat(list(seed_batches(torch.arange(30), 7, seed, epoch))).tolist())
        for seed in (0, 1)
        for epoch in (0, 1, 2)
    }
    assert len(set(drawn.values())) == 6
    assert tuple(range(30)) not in drawn.values()
    again = torch.cat(list(seed_batches(torch.arange(30), 7, 1, 2)))
    assert tuple(again.tolist()) == drawn[1, 2]


def test_any_seed_will_do() -> None:
    first, second = (torch.cat(list(seed_batches(torch.arange(10), 4, 2**62, e))) for e in (0, 1))
    assert not torch.equal(first, second)
    with pytest.raises(ValueError, match="batch_size must be a positive integer, got 0"):
        next(seed_batches(torch.arange(10), 0, 1, 2))


def test_a_softmax_far_below_the_largest_logit_is_still_one() -> None:
    pairs = Hypergraph.from_edges([[0, 1], [2, 3], [0, 3]]).incidence
    scale, weight = torch.tensor([2.0, 3.0, 1.0]), torch.tensor([1.0, 2.0, 1.0, 0.5])
    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(4, 1, 1).requires_grad_()
    for low in (-20.0, -120.0):
        logits = torch.tensor([0.0, 0.0, low, low]).unsqueeze(1).requires_grad_()
        whole = SampledPairs([Part(pairs)], pairs.lengths)
        expected = segment_softmax_sum(x, logits, pairs)
        torch.testing.assert_close(segment_softmax_sum(x, logits, whole), expected)
        drawn = SampledPairs([Part(pairs, scale, weight)], pairs.lengths)
        found = segment_softmax_sum(x, logits, drawn)
        torch.testing.assert_close(found[:2].flatten(), torch.tensor([5 / 3, 10 / 3]))
        found.sum().backward()
        assert bool(logits.grad.isfinite().all())


def test_long_rows_are_drawn_evenly_and_without_repetition() -> None:
    long, limit = 400, 7
    ptr = torch.tensor([0, long, long + 60, long + 63])
    counts, generator = torch.zeros(long + 63), torch.Generator().manual_seed(0)
    for _ in range(4000):
        row, place = _draw(ptr, torch.tensor([0, 1, 2]), limit, generator)
        assert torch.equal(torch.bincount(row), torch.tensor([limit, limit, 3]))
        assert place.unique().shape == place.shape
        assert bool(((place >= ptr[row]) & (place < ptr[row + 1])).all())
        counts[place] += 1
    expected = 4000 * limit / long
    assert abs(float(counts[:long].mean()) - expected) < 1e-3
    assert float((counts[:long] - expected).square().mean()) < 1.4 * expected  # about that of a binomial draw


def test_long_rows_that_repeat_too_often_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehnn.parallel.sampling._LONG", 0)  # also rows that are shorter than what is drawn
    ptr = torch.tensor([0, 5, 11])
    for seed in range(20):
        row, place = _draw(ptr, torch.tensor([0, 1]), 5, torch.Generator().manual_seed(seed))
        assert torch.equal(torch.bincount(row), torch.tensor([5, 5]))
        assert sorted(place[row == 0].tolist()) == [0, 1, 2, 3, 4]
