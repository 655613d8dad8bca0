"""``model="auto"``: the portfolio behind the node estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ehnn
from ehnn import estimators
from ehnn.estimators.models import NetworkSpec
from ehnn.estimators.portfolio import linear
from ehnn.estimators.portfolio.ehnn_net import EHNN
from ehnn.estimators.portfolio.nets import standard
from ehnn.estimators.portfolio.node_members import node_members
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output
from ehnn.estimators.portfolio.selection import class_bias, hopeless, temperature
from ehnn.tasks.hypergraphs import overlap_hypergraphs

FAST = {"budget": 0.01}  # the simple members alone


def circles(n: int = 60, seed: int = 0) -> tuple[ehnn.Hypergraph, np.ndarray]:
    """Two circles of people who meet among themselves; features say nothing."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % 2
    edges = [generator.choice(np.flatnonzero(y == k % 2), 4, replace=False).tolist() for k in range(n)]
    x = torch.from_numpy(generator.standard_normal((n, 3))).float()
    return ehnn.Hypergraph.from_edges(edges, n, x=x), y


def hidden(y: np.ndarray) -> list[int | None]:
    """Every third label is not known."""
    return [None if i % 3 == 0 else int(v) for i, v in enumerate(y)]


def test_votes_are_found_where_features_say_nothing() -> None:
    h, y = circles()
    fitted = ehnn.NodeClassifier(**FAST).fit(h, hidden(y))
    asked = np.arange(60) % 3 == 0
    assert np.mean(fitted.predict(h)[asked] == y[asked]) > 0.9
    names = [row["member"] for row in fitted.leaderboard_]
    assert names[0] == "majority"
    assert names[-1] == "average"
    assert "linear: features" in names
    assert sum(row["weight"] for row in fitted.leaderboard_[:-1]) == pytest.approx(1, abs=1e-3)


def test_features_are_found_where_co_members_say_nothing() -> None:
    h, y = circles()
    mixed = h.permute_nodes(np.random.default_rng(1).permutation(60))
    x = (
        torch.from_numpy(y * 2.0 - 1)[:, None]
        + torch.randn(60, 1, generator=torch.Generator().manual_seed(0)) / 2
    )
    fitted = ehnn.NodeClassifier(**FAST).fit(mixed.replace(x=x), hidden(y))
    asked = np.arange(60) % 3 == 0
    assert np.mean(fitted.predict(mixed.replace(x=x))[asked] == y[asked]) > 0.85


def test_trees_read_features_alone_where_co_members_say_nothing() -> None:
    """Whether the product of two features is positive: neither linear models nor votes can tell."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 2, generator=generator)
    edges = torch.randperm(400, generator=generator).reshape(100, 4).tolist()
    y = (x.prod(1) > 0).int().numpy()
    h = ehnn.Hypergraph.from_edges(edges, num_nodes=400, x=x)
    fitted = ehnn.NodeClassifier(width=8, epochs=3).fit(h, hidden(y))
    assert fitted.model_.portfolio.new_weights.get("boosting: features", 0) > 0.3
    asked = np.arange(400) % 3 == 0
    assert fitted.score(h, [int(v) if a else None for v, a in zip(y, asked, strict=True)]) > 0.85
    new = fitted.predict(
        ehnn.Hypergraph.from_edges([], num_nodes=100, x=x[asked][:100])
    )  # without co-members
    assert np.mean(new == y[asked][:100]) > 0.85


def test_linear_members_of_hundreds_of_classes_keep_to_the_budget() -> None:
    h = ehnn.Hypergraph.from_edges(np.arange(600).reshape(200, 3).tolist())
    labelled, plan = 4000, {"model": "ehnn-mlp", "width": 8, "dropout": 0.5, "options": None, "epochs": 3}
    for classes, always in ((3, True), (600, False)):
        specs = node_members(NodeTable(h), Output("classes", classes), labelled, dict(plan), share=2.5)
        assert {s.name: s.always for s in specs}["linear: votes"] is always


def test_networks_are_tried_and_saved(tmp_path: Path) -> None:
    h, y = circles(30)
    h = h.replace(node_names=[f"p{i}" for i in range(30)])
    before = torch.get_rng_state()
    fitted = ehnn.NodeClassifier(width=8, epochs=3).fit(h, hidden(y))
    assert {"MLP: all", "boosting", "HGNN", "EHNN-MLP"} <= {row["member"] for row in fitted.leaderboard_}
    for name, weight in (("all", {r["member"]: 0.1 for r in fitted.leaderboard_[:-1]}), ("own", None)):
        kept = fitted.model_.portfolio
        if weight is not None:
            chosen = {k: v for k, v in weight.items() if k in kept.members}
            kept.weights = {k: v / sum(chosen.values()) for k, v in chosen.items()}
        fitted.save(tmp_path / name)
        for twin in (estimators.load(tmp_path / name), ehnn.NodeClassifier.load(tmp_path / name)):
            np.testing.assert_allclose(twin.predict_proba(h), fitted.predict_proba(h), atol=1e-6)
            assert twin.leaderboard_ == fitted.leaderboard_
            assert twin.n_features_in_ == fitted.n_features_in_
    assert torch.equal(torch.get_rng_state(), before)  # the user's random numbers go on as if nothing was


def test_a_loaded_default_knows_its_number_of_features(tmp_path: Path) -> None:
    h, y = circles(30)
    h = h.replace(x=torch.rand(30, 4), edge_x=torch.rand(h.num_edges, 2))
    sets = torch.arange(h.num_edges) % 2
    incidences = (np.arange(h.num_incidences) % 2).tolist()
    for kind, data, labels, count in (
        (ehnn.NodeClassifier, h, y, 4),
        (ehnn.HyperedgeClassifier, h, sets.tolist(), 2),
        (ehnn.IncidenceClassifier, h, incidences, 4),
        (ehnn.HypergraphClassifier, [h, h.replace(x=1 - h.x)] * 5, [0, 1] * 5, 4),
    ):
        model = kind(**FAST).fit(data, labels)
        model.save(tmp_path / kind.__name__)
        assert estimators.load(tmp_path / kind.__name__).n_features_in_ == model.n_features_in_ == count


def test_known_labels_are_found_by_name_in_another_order() -> None:
    h, y = circles()
    h = h.replace(node_names=[f"p{i}" for i in range(60)])
    fitted = ehnn.NodeClassifier(**FAST).fit(h, hidden(y))
    order = np.random.default_rng(2).permutation(60)
    turned = h.permute_nodes(order)
    place = [int(str(name)[1:]) for name in turned.node_names or ()]
    asked = np.array(place) % 3 == 0  # propagation hides known labels by groups, which are drawn by number
    found, expected = fitted.predict_proba(turned), fitted.predict_proba(h)[place]
    np.testing.assert_allclose(found[asked], expected[asked], atol=1e-5)


def test_a_new_hypergraph_has_no_known_labels() -> None:
    """Nodes of other hyperedges are other nodes, though their numbers are the same."""
    h, y = circles()
    fitted = ehnn.NodeClassifier(**FAST).fit(h, hidden(y))
    other, _ = circles(seed=5)
    found = fitted.predict_proba(other)
    assert fitted.model_.fit_nodes.places(other).max() == -1
    assert fitted.model_.fit_nodes.places(h).min() == 0
    assert np.isfinite(found).all()


def test_a_row_does_not_see_its_own_label() -> None:
    """Labels without any structure cannot be told: held-out accuracy is near chance, however they vote."""
    generator = np.random.default_rng(0)
    edges = [generator.choice(200, 5, replace=False).tolist() for _ in range(200)]
    y = generator.integers(0, 2, 200)
    fitted = ehnn.NodeClassifier(**FAST).fit(ehnn.Hypergraph.from_edges(edges, 200), y.tolist())
    for row in fitted.leaderboard_:
        assert row["accuracy"] < 0.66, row


def test_numbers_and_several_labels() -> None:
    h, y = circles()
    number = ehnn.NodeRegressor(**FAST).fit(h, [None if v is None else 10.0 + v for v in hidden(y)])
    asked = np.arange(60) % 3 == 0
    assert np.abs(number.predict(h)[asked] - 10 - y[asked]).mean() < 0.3
    several = np.stack([y, 1 - y], 1).astype(float)
    several[asked] = np.nan
    fitted = ehnn.NodeClassifier(**FAST).fit(h, several)
    assert np.mean(fitted.predict(h)[asked] == np.stack([y, 1 - y], 1)[asked]) > 0.9
    assert fitted.predict_proba(h).shape == (60, 2)


@pytest.mark.parametrize("edges", [[], [[0, 1, 2, 3, 4, 5, 6, 7]], [[0], [1]]])
def test_degenerate_hypergraphs(edges: list[list[int]]) -> None:
    h = ehnn.Hypergraph.from_edges(edges, 8)
    for y in ([0, 1, 0, 1, None, None, None, None], ["a", "b"] * 4, [0, 0, 0, 1, None, None, None, 0]):
        assert ehnn.NodeClassifier(**FAST).fit(h, y).predict(h).shape == (8,)
    assert ehnn.NodeRegressor(**FAST).fit(h, [1.5, *[None] * 7]).predict(h).tolist() == [1.5] * 8


def test_weights_of_rows_and_classes() -> None:
    generator = np.random.default_rng(0)
    y = (generator.random(200) < 0.1).astype(int)
    x = torch.from_numpy(y + generator.standard_normal(200))[:, None].float()
    h = ehnn.Hypergraph.from_edges([], 200, x=x)
    plain = ehnn.NodeClassifier(**FAST).fit(h, y.tolist()).predict(h).sum()
    even = ehnn.NodeClassifier(**FAST, class_weight="balanced").fit(h, y.tolist()).predict(h).sum()
    rows = ehnn.NodeClassifier(**FAST).fit(h, y.tolist(), sample_weight=1 + 8 * y).predict(h).sum()
    assert plain < 20 < min(even, rows)
    named = {"model": "ehnn-mlp", "width": 8, "epochs": 10, "lr": 0.03, "validation_fraction": 0}
    first, second = (
        ehnn.NodeClassifier(**named, class_weight=w).fit(h, y.tolist()).predict(h).sum()
        for w in (None, {0: 0.1})
    )
    assert first < second
    with pytest.raises(ValueError, match=r"one number per row \(200\), got \[3\]"):
        ehnn.NodeClassifier(**FAST).fit(h, y.tolist(), sample_weight=[1, 2, 3])


def test_hyperedges(tmp_path: Path) -> None:
    """Members of a hyperedge say its class; nodes are the groups of the dual hypergraph."""
    h, y = circles()
    kind = [int(y[e[0]]) for e in h.edges()]
    asked = np.arange(60) % 3 == 0
    fitted = ehnn.HyperedgeClassifier(**FAST).fit(
        h, [None if a else k for a, k in zip(asked, kind, strict=True)]
    )
    assert fitted.score(h, kind) > 0.95
    fitted.save(tmp_path)
    np.testing.assert_array_equal(estimators.load(tmp_path).predict(h), fitted.predict(h))
    named = ehnn.HyperedgeClassifier(model="ehnn-mlp", width=8, epochs=2).fit(h, kind)
    assert named.predict(h).shape == (60,)
    number = ehnn.HyperedgeRegressor(**FAST).fit(h, [float(k) for k in kind])
    assert number.score(h, kind) > 0.5
    with pytest.raises(ValueError, match=r"one row per hyperedge \(60\), got 2"):
        ehnn.HyperedgeClassifier().fit(h, [0, 1])
    with pytest.raises(ValueError, match="'z' is not a hyperedge"):
        ehnn.HyperedgeClassifier().fit({"a": [0, 1], "b": [1, 2]}, {"a": 0, "z": 1})


def test_incidences(tmp_path: Path) -> None:
    """The member with the least number is the sender, so nodes have a history."""
    generator = np.random.default_rng(0)
    edges = {f"m{i}": [f"p{v}" for v in generator.choice(40, 3, replace=False)] for i in range(80)}
    label = {
        (v, e): "sender" if v == min(vs, key=lambda p: int(p[1:])) else "receiver"
        for e, vs in edges.items()
        for v in vs
    }
    known = {k: v for k, v in label.items() if int(k[1][1:]) % 4}
    fitted = ehnn.IncidenceClassifier(**FAST).fit(edges, known)
    rest = {k: v for k, v in label.items() if k not in known}
    assert fitted.score(edges, rest) > 0.72  # two thirds are receivers
    fitted.save(tmp_path)
    np.testing.assert_array_equal(estimators.load(tmp_path).predict_proba(edges), fitted.predict_proba(edges))
    later = {f"n{i}": [f"p{v}" for v in generator.choice(45, 3, replace=False)] for i in range(40)}
    truth = {
        (v, e): "sender" if v == min(vs, key=lambda p: int(p[1:])) else "receiver"
        for e, vs in later.items()
        for v in vs
    }
    assert fitted.score(later, truth) > 0.7
    for y, message in (([0, 1], "one row per incidence"), ({("p1", "zz"): 0}, "is no \\(node, hyperedge\\)")):
        with pytest.raises(ValueError, match=message):
            ehnn.IncidenceClassifier().fit(edges, y)
    with pytest.raises(ValueError, match="must be 'auto'"):
        ehnn.IncidenceClassifier(model="hgnn").fit(edges, known)


def test_hypergraphs(tmp_path: Path) -> None:
    members, y = overlap_hypergraphs(40)
    fitted = ehnn.HypergraphClassifier(**FAST).fit(members[:30], y[:30])
    assert fitted.score(members[30:], y[30:]) > 0.8
    fitted = ehnn.HypergraphClassifier(width=8, epochs=1, budget="best").fit(members[:12], y[:12])
    assert "EHNN-MLP" in [row["member"] for row in fitted.leaderboard_]
    fitted.save(tmp_path)
    twin = estimators.load(tmp_path)
    np.testing.assert_allclose(twin.predict_proba(members), fitted.predict_proba(members), atol=1e-6)
    number = ehnn.HypergraphRegressor(**FAST).fit(members, [float(h.num_edges) for h in members])
    assert number.score(members, [float(h.num_edges) for h in members]) > 0.9
    assert number.predict([]).shape == (0,)


def test_a_column_that_is_constant_but_for_rounding_does_not_count() -> None:
    """Else one hyperedge of another size, in prediction, would outweigh everything else."""
    constant = np.full((100, 1), np.log(5), np.float32)
    _, scale = linear._scale(np.hstack([constant, np.arange(100, dtype=np.float32)[:, None]]))
    assert scale[0] == 0
    assert scale[1] > 0


def test_a_member_far_behind_on_the_first_fold_is_given_up() -> None:
    output = Output("classes", 2)
    y = np.arange(100) % 2
    sure = np.log(np.where(np.eye(2)[y] > 0, 0.95, 0.05))
    weak = np.log(np.where((np.arange(100) % 4 < 3)[:, None], 0.5, np.exp(sure)))
    assert hopeless(output, weak, [sure], y)
    assert not hopeless(output, sure, [weak], y)
    assert not hopeless(output, weak[:20], [sure[:20]], y[:20])  # too few rows to tell


def test_the_network_learns_from_votes_without_the_labels_that_it_predicts() -> None:
    h, y = circles(40)
    output = Output("classes", 2)
    table = NodeTable(h).with_known(output, y, np.array([0.5, 0.5]))
    net = EHNN(output, NetworkSpec("hgnn", 8))
    net.arrays = standard(table.matrix(("count",)))
    asked = []
    for columns, labels, rows in net._hidden(table, ("count",), y, np.arange(40), 0):
        known = y.copy()
        known[rows] = -1
        without = NodeTable(h).with_known(output, known, np.array([0.5, 0.5]))
        assert not labels[rows].any()
        torch.testing.assert_close(columns, net._tensor(without.matrix(("count",))))
        asked += rows.tolist()
    assert sorted(asked) == list(range(40))


def test_numbers_of_a_member_that_overfits_are_shrunk_to_the_mean() -> None:
    generator = np.random.default_rng(0)
    y, noise = generator.standard_normal((2, 400, 1))
    output, ones = Output("numbers", 1), np.ones(400)
    assert temperature(output, y + 0.1 * noise, y, ones) > 0.95
    assert temperature(output, noise, y, ones) < 0.2
    assert temperature(output, -y, y, ones) == 0.0
    shrunk = output.sharpen(y + 2 * noise, temperature(output, y + 2 * noise, y, ones))
    assert output.losses(shrunk, y).mean() < 1.0 < output.losses(y + 2 * noise, y).mean()


def test_rare_classes_do_not_cost_accuracy() -> None:
    generator = np.random.default_rng(0)
    rare = np.clip(generator.beta(1, 3, 5000), 0.01, 0.99)  # the calibrated probability of class 1
    y = (generator.random(5000) < rare).astype(np.int64)
    scores, output = np.log(np.stack([1 - rare, rare], 1)), Output("classes", 2)
    bias = class_bias(output, scores, y, np.ones(5000))
    assert bias[1] > bias[0]  # class 1 is chosen more often
    lost = np.exp(scores.max(1)) - np.exp(scores[np.arange(5000), (scores + bias).argmax(1)])
    assert 0 < lost.mean() <= 0.25 * 0.5 / 5000**0.5


def test_the_generator_of_the_process_is_left_alone(tmp_path: Path) -> None:
    h, y = circles(30)
    small = {"width": 8, "epochs": 2}
    fits = [
        (ehnn.HypergraphClassifier(**small), *overlap_hypergraphs(3)),
        (ehnn.NodeClassifier(model="ehnn-mlp", **small), h, hidden(y)),
    ]
    before = torch.get_rng_state()
    for i, (model, data, labels) in enumerate(fits):
        model.fit(data, labels).predict(data)
        assert torch.equal(torch.get_rng_state(), before), model
        model.save(tmp_path / str(i))
        estimators.load(tmp_path / str(i)).predict(data)
        assert torch.equal(torch.get_rng_state(), before), f"load of {model}"
