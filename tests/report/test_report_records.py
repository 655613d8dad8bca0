"""The parts of run.json, against plain loops and against the layers themselves."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph, batch
from ehnn.nn import EHNNMLP, EHNNTransformer, Stack
from ehnn.ops import attention_logits
from ehnn.report import (
    accuracy_by_order,
    attention_by_order,
    data_record,
    drawing,
    hypergraph_record,
    read_run,
    score_record,
    write_run,
)
from ehnn.report.layout import hull

edges = st.lists(st.sets(st.integers(0, 7), max_size=5).map(list), max_size=7)


@given(
    edges, st.lists(st.booleans(), min_size=9, max_size=9), st.lists(st.booleans(), min_size=9, max_size=9)
)
@settings(max_examples=60, deadline=None)
def test_accuracy_by_order_is_a_count_over_nodes(sets: list, right: list, among: list) -> None:
    h = Hypergraph.from_edges(sets, 9)
    plain: dict[int, list[int]] = {}
    for node in range(9):
        for order in {len(edge) for edge in sets if node in edge}:
            if among[node]:
                hits = plain.setdefault(order, [0, 0])
                hits[0] += right[node]
                hits[1] += 1
    assert accuracy_by_order(h, right, among) == dict(sorted(plain.items()))


def test_accuracy_by_order_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"right must be \[num_nodes\] = \[3\], got \[2\]"):
        accuracy_by_order(Hypergraph.from_edges([[0, 1]], 3), [True, False])


@given(edges)
@settings(max_examples=30, deadline=None)
def test_data_record_counts(sets: list) -> None:
    h = Hypergraph.from_edges(sets, 9)
    found = data_record(h)
    assert sum(found["orders"].values()) == h.num_edges
    assert sum(found["degrees"].values()) == h.num_nodes
    assert sum(k * n for k, n in found["orders"].items()) == found["incidences"] == h.num_incidences


def test_score_record() -> None:
    h = Hypergraph.from_edges([[0, 1], [1, 2, 3]], 5)
    true, predicted = [0, 0, 1, -1, 1], [0, 1, 1, 1, 0]
    found = score_record(true, predicted, ["a", "b"], h)
    assert found["confusion"] == [[1, 1], [1, 1]]
    assert found["accuracy"] == 0.5
    assert found["per_class"] == {"a": [1, 2], "b": [1, 2]}
    assert found["per_order"] == {2: [1, 2], 3: [1, 2]}
    part = score_record(true, predicted, ["a", "b"], h, among=[True, False, True, True, False])
    assert part["confusion"] == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([0, 1], [0], r"must be \[rows\]"),
        ([-1, -1], [0, 0], "nothing to score"),
        ([0, 2], [0, 0], "true must be below 2, the number of labels, got 0 to 2"),
        ([0, 1], [0, 5], "predicted must be below 2"),
    ],
)
def test_score_record_says_what_is_wrong(true: list, predicted: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_record(true, predicted, ["a", "b"])


def test_small_hypergraphs_are_recorded_and_large_ones_not() -> None:
    h = Hypergraph.from_edges([[0, 1], []], 3, node_names=["x", "y", "z"])
    found = hypergraph_record(h, ["a", None, 3])
    assert found == {"nodes": 3, "edges": [[0, 1], []], "names": ["x", "y", "z"], "labels": ["a", None, "3"]}
    assert hypergraph_record(Hypergraph.from_edges([], 61)) is None
    assert hypergraph_record(Hypergraph.from_edges([[0]] * 41, 1)) is None


def test_write_run_comes_back(tmp_path) -> None:
    write_run(tmp_path, model="m", parameters={"lr": 0.1}, attention={}, labels=None)
    run = read_run(tmp_path)
    assert (run.model, run.parameters, run.attention, run.notes) == ("m", {"lr": 0.1}, None, [])
    with pytest.raises(ValueError, match="a run has no modle; it has task, model"):
        write_run(tmp_path, modle="m")


def test_write_run_takes_numbers_as_they_come(tmp_path) -> None:
    """Of NumPy and torch too; what is not a number is null, so that the file is JSON to everyone."""
    history = [{"epoch": np.int64(1), "loss": np.float32(0.5), "valid": torch.tensor(3.0)}]
    path = write_run(
        tmp_path, labels=np.array(["a", "b"]), history=history, seconds=float("nan"), summary={1: 2}
    )
    run = read_run(tmp_path)
    assert (run.labels, run.seconds, run.notes) == (["a", "b"], None, [])
    assert run.history is not None
    assert set(run.history.metrics) == {"loss", "valid"}
    assert "NaN" not in path.read_text()


@pytest.mark.parametrize("among", [[True], [1, 0], [[True, False]]])
def test_rows_that_count_are_one_flag_each(among: list) -> None:
    with pytest.raises(ValueError, match=r"among must be \[2\] of bool"):
        score_record([0, 1], [0, 1], ["a", "b"], among=among)


# ---------------------------------------------------------------------- the layout


@given(edges, st.integers(8, 12))
@settings(max_examples=20, deadline=None)
def test_drawing_is_finite_and_inside(sets: list, nodes: int) -> None:
    found = drawing(Hypergraph.from_edges(sets, nodes))
    places = np.concatenate([found.nodes, found.hubs])
    assert np.isfinite(places).all()
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9
    gaps = np.linalg.norm(found.nodes[:, None] - found.nodes[None], axis=-1) + np.eye(nodes)
    assert gaps.min() > 0.02  # no node hides another


def test_drawing_puts_friends_together(club: Hypergraph) -> None:
    nodes = drawing(club).nodes
    assert (drawing(club).nodes == nodes).all()
    assert club.y is not None
    team, place = club.y.numpy(), nodes[club.degrees.numpy() > 0]
    team = team[club.degrees.numpy() > 0]
    gap = np.linalg.norm(place[:, None] - place[None], axis=-1)
    same = team[:, None] == team[None]
    assert gap[same].mean() < 0.7 * gap[~same].mean()


def test_drawing_of_nothing_and_of_too_much() -> None:
    assert drawing(Hypergraph.from_edges([], 0)).nodes.shape == (0, 2)
    with pytest.raises(ValueError, match="at most 60 nodes and 40 hyperedges can be drawn, got 61 and 0"):
        drawing(Hypergraph.from_edges([], 61))


def test_hull_holds_all_points() -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    corners = hull(points)
    following = np.roll(corners, -1, 0)
    side = following - corners
    gap = points[:, None] - corners[None]
    assert (side[:, 0] * gap[..., 1] - side[:, 1] * gap[..., 0] >= -1e-12).all()


# ---------------------------------------------------------------------- attention


@pytest.mark.parametrize("attention", ["softmax", "sigmoid"])
@pytest.mark.parametrize("ends", [("nodes", "all"), ("all", "nodes"), ("edges", "edges")])
def test_attention_is_that_of_the_layer(attention: str, ends: tuple[str, str]) -> None:
    """The logits are those that the layer computes for itself; the shares are sums of its weights."""
    torch.manual_seed(0)
    members = [[[0, 1, 2], [2, 3], [0, 1]], [[0, 1], [1, 2, 3]]]
    h = batch([Hypergraph.from_edges(sets, 4, edge_x=torch.randn(len(sets), 3)) for sets in members])
    h = h.replace(x=torch.randn(8, 3))
    make = partial(EHNNTransformer, heads=2, attention=attention)
    model = Stack(6 if ends[0] == "all" else 3, 2, make, width=4, path=ends)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # far from even
        (found,) = attention_by_order(model, h)["layers"]
        shares, everywhere = plain_shares(model, h, *ends)
    assert found["name"] == f"layer 1, {ends[0]} → {ends[1]}"
    for key, wanted in (("meeting", shares), ("everywhere", everywhere)):
        assert found[key].keys() == wanted.keys()
        for order, pair in wanted.items():
            assert found[key][order] == pytest.approx(pair, rel=1e-4)
        assert sum(share for share, _ in found[key].values()) == pytest.approx(1)


def plain_shares(model: Stack, h: Hypergraph, source: str, target: str) -> tuple[dict, dict]:
    """Loops over groups and members, with the layer's own logits."""
    layer, overlap = model.layers[0], h.overlap(source, target)
    assert isinstance(layer, EHNNTransformer)
    x = layer.phi1(model.embed(h.features(source)), overlap.source_orders)
    query = layer.query(overlap.sizes)
    everywhere, local = attention_logits(x, query, layer.key, overlap.source_sizes, layer.heads, True)
    orders = overlap.source_orders.expand().tolist()
    groups: dict[tuple[int, int], list[tuple[int, torch.Tensor]]] = {}
    slots = overlap.source_sizes
    sources = range(len(local)) if slots.source_to_slot is None else slots.source_to_slot.index.tolist()
    at = dict(zip(zip(sources, slots.sizes.expand().tolist(), strict=True), local, strict=True))
    for j, i, size in zip(*(part.tolist() for part in overlap.pairs()), strict=True):
        groups.setdefault((j, size), []).append((orders[i], at[i, size]))
    members: dict[int, list[tuple[int, torch.Tensor]]] = {}
    for i, member in enumerate(overlap.source_batch.tolist()):
        members.setdefault(member, []).append((orders[i], everywhere[i]))
    return tuple(mean_shares(list(g.values()), layer.attention) for g in (groups, members))  # type: ignore


def mean_shares(groups: list, attention: str) -> dict[int, tuple[float, float]]:
    groups = [group for group in groups if len(group) > 1]
    found: dict[int, list[float]] = {}
    for group in groups:
        logits = torch.stack([logit for _, logit in group]).double()
        weight = logits.softmax(0) if attention == "softmax" else logits.sigmoid() / logits.sigmoid().sum(0)
        for (order, _), share in zip(group, weight.mean(1).tolist(), strict=True):
            pair = found.setdefault(order, [0.0, 0.0])
            pair[0] += share / len(groups)
            pair[1] += 1 / len(group) / len(groups)
    return {order: (share, even) for order, (share, even) in sorted(found.items())}


def test_evenness() -> None:
    """1 where all weights are equal, less where one source has most."""
    torch.manual_seed(0)
    h = Hypergraph.from_edges([[0, 1, 2], [0, 3], [1]], 4, x=torch.eye(4))
    model = Stack(4, 2, partial(EHNNTransformer, heads=1, global_interaction=False), width=4)
    layer = model.layers[0]
    with torch.no_grad():
        for parameter in layer.key.parameters():
            parameter.zero_()
        found = attention_by_order(model, h)["layers"][0]
        assert found["evenness"] == pytest.approx({2: 1, 3: 1})  # orders 1 have no choice
        assert found["everywhere"] == {}
        layer.key.weight.normal_(0, 100, generator=torch.Generator().manual_seed(0))
        uneven = attention_by_order(model, h)["layers"][0]["evenness"]
        assert 0 <= uneven[3] < 0.5


def test_attention_leaves_the_model_as_it_was() -> None:
    h = Hypergraph.from_edges([[0, 1]], 3, x=torch.eye(3))
    model = Stack(3, 2, EHNNTransformer, width=4).train()
    model.layers[0].eval()
    before = [module.training for module in model.modules()]
    assert len(attention_by_order(model, h)["layers"]) == 2
    assert [module.training for module in model.modules()] == before
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert attention_by_order(Stack(3, 2, EHNNMLP, width=4), h) == {}
