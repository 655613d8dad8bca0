"""Hypergraph classification: overlaps of two nodes, which V → E → V cannot see."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators.auto import AutoGraphs
from ehnn.nn import EHNNMLP, EHNNTransformer, Stack, baselines
from ehnn.tasks.hypergraphs import overlap_hypergraphs, overlap_twins

LAYERS = [
    EHNNMLP,
    partial(EHNNMLP, aggregation="sum"),
    EHNNTransformer,
    baselines.AllDeepSets,
    baselines.AllSetTransformer,
]


@pytest.mark.parametrize("size", [3, 4, 7])
def test_twins_agree_in_orders_and_degrees_and_differ_in_overlaps(size: int) -> None:
    ladder, necklace = overlap_twins(size)
    for h in (ladder, necklace):
        assert (h.num_nodes, h.num_edges) == (3 * size, 2 * size)
        assert set(h.orders.tolist()) == {3}
        assert set(h.degrees.tolist()) == {2}
    assert ladder.overlap("edges", "edges").sizes.values.tolist() == [1, 3]
    assert necklace.overlap("edges", "edges").sizes.values.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="at least 3"):
        overlap_twins(2)


@pytest.mark.parametrize("size", [3, 6])
def test_colour_refinement_does_not_separate_twins(size: int) -> None:
    nx = pytest.importorskip("networkx")
    hashes = {
        nx.weisfeiler_lehman_graph_hash(
            ehnn.io.to_networkx(h.replace(x=None)), node_attr="bipartite", iterations=6
        )
        for h in overlap_twins(size)
    }
    assert len(hashes) == 1


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(
    "path", [("nodes", "edges", "nodes"), ("nodes", "edges", "nodes", "edges", "nodes", "graph")]
)
def test_nodes_to_edges_to_nodes_gives_twins_identical_outputs(layer, path: tuple[str, ...]) -> None:
    torch.manual_seed(0)
    model = Stack(1, 5, layer, width=8, path=path).double().eval()
    ladder, necklace = (h.replace(x=h.x.double()) for h in overlap_twins(5))
    torch.testing.assert_close(model(ladder), model(necklace), rtol=0, atol=1e-12)


@pytest.mark.parametrize("layer", LAYERS[:3])
def test_edges_to_edges_separates_twins(layer) -> None:
    torch.manual_seed(0)
    model = Stack(1, 5, layer, width=8, path=("nodes", "edges", "edges", "graph")).double().eval()
    ladder, necklace = (h.replace(x=h.x.double()) for h in overlap_twins(5))
    assert (model(ladder) - model(necklace)).abs().max() > 1e-4


def test_overlap_layers_learn_the_task_and_message_passing_stays_at_chance() -> None:
    train, test = overlap_hypergraphs(60, seed=0), overlap_hypergraphs(30, seed=1)
    quick = {"width": 16, "epochs": 15, "lr": 0.005, "batch_size": 16}
    ours = ehnn.HypergraphClassifier(model="ehnn-mlp", **quick).fit(*train)
    assert ours.score(*test) == 1
    assert ours.predict_proba(test[0]).shape == (30, 2)
    for model, path in (("all-deep-sets", None), ("ehnn-mlp", ("nodes", "edges", "nodes", "graph"))):
        blind = ehnn.HypergraphClassifier(model=model, path=path, **quick).fit(*train)
        twins = blind.predict_proba(test[0]).reshape(15, 2, 2)
        np.testing.assert_allclose(twins[:, 0], twins[:, 1], atol=1e-5)
        assert blind.score(*test) == pytest.approx(0.5, abs=0.1)  # rounding may break a tie


def test_regression_of_a_count() -> None:
    rng = np.random.default_rng(0)
    members = [
        ehnn.Hypergraph.from_edges([rng.choice(8, 3, replace=False).tolist() for _ in range(m)], num_nodes=8)
        for m in rng.integers(1, 12, 60)
    ]
    y = [float(h.degrees.max()) for h in members]
    fitted = ehnn.HypergraphRegressor(model="ehnn-mlp", width=16, epochs=40, lr=0.005, batch_size=16).fit(
        members[:45], y[:45]
    )
    assert fitted.score(members[45:], y[45:]) > 0.5
    assert fitted.predict(members[45:]).shape == (15,)


def test_batch_and_list_agree_and_bad_input() -> None:
    members, y = overlap_hypergraphs(10)
    fitted = ehnn.HypergraphClassifier(model="ehnn-mlp", width=8, epochs=1, batch_size=3).fit(members, y)
    np.testing.assert_allclose(
        fitted.predict_proba(ehnn.batch(members)), fitted.predict_proba(members), atol=1e-6
    )
    assert fitted.predict([]).shape == (0,)
    lists = ehnn.HypergraphClassifier(model="ehnn-mlp", width=8, epochs=1).fit(
        [h.edges() for h in members], ["a", "b"] * 5
    )
    assert set(lists.predict([h.edges() for h in members])) <= {"a", "b"}
    for call, message in (
        (lambda: fitted.fit(members, y[:4]), r"one row per hypergraph \(10\), got 4"),
        (lambda: fitted.fit(members, [0] * 10), "only one class"),
        (lambda: fitted.fit(5, y), "list of hypergraphs"),
        (lambda: fitted.score(members, [5] * 10), "class 5 was not there"),
        (
            lambda: ehnn.HypergraphClassifier(model="ehnn-mlp", path=("nodes", "edges")).fit(members, y),
            "end in 'graph'",
        ),
        (lambda: ehnn.HypergraphClassifier(batch_size=0).fit(members, y), "batch_size"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("name", ["x", "edge_x"])
def test_dates_are_not_rounded_by_the_default(name: str, tmp_path: Path) -> None:
    """Dates that differ by seconds: a half of the hypergraphs has more late ones."""
    generator = np.random.default_rng(0)
    members, y = [], np.arange(60) % 2
    for late in y:
        dates = 1.7e9 + (generator.random(8) < 0.2 + 0.6 * late)
        edges = [generator.choice(8, 3, replace=False).tolist() for _ in range(8)]
        members.append(ehnn.Hypergraph.from_edges(edges, 8, **{name: torch.from_numpy(dates)[:, None]}))
    model = ehnn.HypergraphClassifier(budget="fast").fit(members[:40], y[:40])
    assert model.score(members[40:], y[40:]) > 0.85
    model.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(members), model.predict_proba(members))
    tensors = {k: v for k, v in model.model_.tensors().items() if "shift" not in k}
    older = AutoGraphs.restore(model.model_.about(), tensors, "cpu")  # of a file without shifts
    assert older.logits(members).isfinite().all()
    number = ehnn.HypergraphRegressor(budget="fast").fit(members[:40], y[:40].astype(float))
    assert number.score(members[40:], y[40:].astype(float)) > 0.5


@pytest.mark.filterwarnings("ignore:incidence_x of the hypergraph")
def test_hypergraphs_of_other_dtypes_and_with_unread_features() -> None:
    """What only some have, and the default does not read, is no reason to refuse."""
    pairs, triples = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]]), ehnn.Hypergraph.from_edges([[0, 1, 2]])
    x = torch.ones(3, 1)
    some = [pairs.replace(x=x, incidence_x=torch.ones(4, 1)), triples.replace(x=x.long())] * 6
    model = ehnn.HypergraphClassifier(budget="fast").fit([*some, pairs.replace(x=x)], [0, 1] * 6 + [0])
    assert model.predict([pairs.replace(x=x)]).tolist() == [0]
    broken = pairs.replace(x=torch.tensor([[0.0], [0.0], [np.nan]]))
    with pytest.raises(ValueError, match="x must be finite, got NaN or infinity in row 2"):
        ehnn.HypergraphClassifier(budget="fast").fit([*some, broken], [0, 1] * 6 + [0])


def scaled_pairs(scale: float, name: str) -> list[ehnn.Hypergraph]:
    """Hypergraphs whose class is in the mean of their features, in large units."""
    generator = np.random.default_rng(0)
    return [
        ehnn.Hypergraph.from_edges(
            [generator.choice(6, 3, replace=False).tolist() for _ in range(6)], 6,
            **{name: torch.from_numpy((generator.normal(size=(6, 2)) + 3 * (i % 2)) * [scale, 1.0])},
        )
        for i in range(40)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["x", "edge_x"])
@pytest.mark.parametrize("scale", [1e15, 1e30, 1e37])
def test_huge_features_of_hypergraphs(scale: float, name: str, tmp_path: Path) -> None:
    members, y = scaled_pairs(scale, name), np.arange(40) % 2
    model = ehnn.HypergraphClassifier(budget="fast").fit(members, y)
    assert model.score(members, y) > 0.9
    model.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(members), model.predict_proba(members))
    usual = ehnn.HypergraphClassifier(budget="fast").fit(scaled_pairs(1.0, name), y)
    assert np.isfinite(usual.predict_proba(members)).all()
    with pytest.raises(ValueError, match=f"^{name} has numbers that are too large for float32"):
        usual.predict(scaled_pairs(1e60, name))


def test_networks_read_huge_features_of_hypergraphs() -> None:
    members, y = scaled_pairs(1e30, "x"), np.arange(40) % 2
    model = ehnn.HypergraphRegressor(width=8, epochs=1, budget="best").fit(members[:30], y[:30].astype(float))
    assert "EHNN-MLP" in [row["member"] for row in model.leaderboard_]
    assert np.isfinite(model.predict(members)).all()
    assert np.isfinite(model.predict(scaled_pairs(1e37, "x"))).all()


@pytest.mark.parametrize("kind", [ehnn.HypergraphClassifier, ehnn.HypergraphRegressor])
def test_hypergraphs_without_nodes_are_learnt_from(kind: type, tmp_path: Path) -> None:
    """With two hypergraphs, those of a fold may have no node at all."""
    members = [ehnn.Hypergraph.from_edges([]), ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])]
    fitted = kind(budget="fast", width=8, epochs=2).fit(members, [0, 1])
    fitted.save(tmp_path)
    np.testing.assert_array_equal(ehnn.estimators.load(tmp_path).predict(members), fitted.predict(members))
