"""``model="auto"``: the portfolio behind the node estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ehnn
from ehnn import estimators
from ehnn.estimators.beside import beside
from ehnn.estimators.models import Plan
from ehnn.estimators.portfolio import linear
from ehnn.estimators.portfolio.ehnn_net import EHNN
from ehnn.estimators.portfolio.nets import standard
from ehnn.estimators.portfolio.node_members import node_members
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output
from ehnn.estimators.portfolio.selection import class_bias, hopeless, temperature
from ehnn.estimators.weights import in_order_of
from ehnn.hypergraph import dual
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


def test_features_are_found_where_company_says_nothing() -> None:
    h, y = circles()
    mixed = h.permute_nodes(np.random.default_rng(1).permutation(60))
    x = (
        torch.from_numpy(y * 2.0 - 1)[:, None]
        + torch.randn(60, 1, generator=torch.Generator().manual_seed(0)) / 2
    )
    fitted = ehnn.NodeClassifier(**FAST).fit(mixed.replace(x=x), hidden(y))
    asked = np.arange(60) % 3 == 0
    assert np.mean(fitted.predict(mixed.replace(x=x))[asked] == y[asked]) > 0.85


def test_networks_are_tried_and_saved(tmp_path: Path) -> None:
    h, y = circles(30)
    h = h.replace(node_names=[f"p{i}" for i in range(30)])
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
    assert fitted.model_.company.places(other).max() == -1
    assert fitted.model_.company.places(h).min() == 0
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


def test_weights_are_found_by_name_where_labels_are() -> None:
    pd = pytest.importorskip("pandas")
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2], [2, 3]], 4).replace(node_names=tuple("abcd"))
    y, weight = pd.Series([0, 1, 0, 1], [*"abcd"]), pd.Series([1.0, 2.0, 3.0, 4.0], [*"abcd"])
    assert in_order_of(y, weight) == in_order_of(y, weight.iloc[::-1]) == [1, 2, 3, 4]
    assert in_order_of(dict(y), dict(weight.iloc[::-1])) == [1, 2, 3, 4]
    assert in_order_of([0, 1, 0, 1], weight) is weight
    named = {"model": "ehnn-mlp", "width": 8, "epochs": 3, "validation_fraction": 0}
    first, second = (
        ehnn.NodeClassifier(**named).fit(h, y, sample_weight=w).predict_proba(h)
        for w in (weight, weight.iloc[::-1])
    )
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="number for each label: 'd' and 0 more have none"):
        ehnn.NodeClassifier(**named).fit(h, y, sample_weight=weight.drop("d"))
    with pytest.raises(ValueError, match="each name once"):
        in_order_of(y, pd.concat([weight, weight]))


@pytest.mark.parametrize("named", [True, False])
def test_new_hyperedges_alone_are_judged_by_members_of_fit(tmp_path: Path, named: bool) -> None:
    generator = np.random.default_rng(0)
    sets = [generator.choice(range(i % 3, 60, 3), 3, replace=False).tolist() for i in range(90)]
    known, later, kind = sets[:60], sets[60:], (np.arange(90) % 3).tolist()
    fitted = ehnn.HyperedgeClassifier(**FAST)
    if named:
        names = [{f"{word}{i}": [f"n{v}" for v in e] for i, e in enumerate(part)}
                 for word, part in (("e", known), ("q", later))]  # fmt: skip
        known, later = names
        fitted.fit(known, dict(zip(known, kind[:60], strict=True)))
        some = {"e3": known["e3"], **later}
        assert (fitted.predict(some) == [0, *kind[60:]]).all()
        told = fitted.explain(later, ["q1"])[0]
    else:
        fitted.fit(known, kind[:60])
        told = fitted.explain(later, [1])[0]
    assert str(told).startswith(f"{'q1' if named else '1'}: predicted {kind[61]}, p({kind[61]}) = 0.9")
    assert "member" in str(told).splitlines()[1]
    assert (fitted.predict(later) == kind[60:]).all()
    assert (fitted.predict([*known, *later] if not named else {**known, **later}) == kind).all()
    fitted.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(later), fitted.predict_proba(later))
    assert fitted.predict([[0, 3], [], [999]] if not named else {"a": ["n0", "n3"], "b": []})[0] == 0


def test_new_hyperedges_have_features_of_known_members() -> None:
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0))
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2], [3, 4], [4, 5]], x=x, edge_x=torch.eye(4))
    new = ehnn.Hypergraph.from_edges([[0, 2], [3, 5]], 6, edge_x=torch.eye(4)[:2])
    joined, nodes, groups = beside(dual(h), dual(new)).with_rows(np.arange(2))
    assert nodes.tolist() == [0, 1, 2, 3, -1, -1]
    assert joined.num_nodes == 6 and joined.edges()[0] == [0, 4]  # noqa: PT018
    assert torch.equal(joined.x, torch.eye(4)[[0, 1, 2, 3, 0, 1]])
    assert torch.equal(joined.edge_x, x)
    assert groups.tolist() == [0, 1, 2, 3, 4, 5]
    stranger = ehnn.Hypergraph.from_edges([[0, 6]], 7, edge_x=torch.eye(4)[:1])
    assert beside(dual(h), dual(stranger)) is None  # it would need features of node 6
    assert beside(dual(h), dual(h)) is None


@pytest.mark.parametrize(("value", "told"), [(float("nan"), "nan"), (float("inf"), "inf"), (-1.0, "-1")])
def test_weights_must_be_numbers(value: float, told: str) -> None:
    h, y = circles()
    h = h.replace(edge_weight=torch.ones(h.num_edges).index_fill(0, torch.tensor([2]), value))
    with pytest.raises(ValueError, match=f"edge_weight must be finite and not negative, got {told} in row 2"):
        ehnn.NodeClassifier(**FAST).fit(h, y.tolist())


def test_members_of_sets_are_in_alphabetical_order() -> None:
    sets = [{"dan", "ann", "cy"}, {"bo", "dan"}]
    assert ehnn.estimators.as_hypergraph(sets).node_names == ("ann", "cy", "dan", "bo")
    assert ehnn.estimators.as_hypergraph(dict(enumerate(sets))).node_names == ("ann", "cy", "dan", "bo")


def test_inputs_that_say_less_than_they_seem_to() -> None:
    with pytest.raises(ValueError, match="hyperedge 'f' has a missing node"):
        ehnn.estimators.as_hypergraph({"e": ["a", "b"], "f": ["b", None]})
    with pytest.raises(ValueError, match="hyperedges of names are given as lists"):
        ehnn.estimators.as_hypergraph(np.array([["a", "b"], ["b", "c"]]))
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"node": ["a", "b"], "edge": ["e", "e"], "weight": [1.0, 2.0]})
    with pytest.warns(UserWarning, match="column 'weight' of the frame is not read"):
        ehnn.estimators.as_hypergraph(frame)


def test_errors_about_hyperedges_name_the_side_of_the_user() -> None:
    h = ehnn.Hypergraph.from_edges(
        [[0, 1], [1, 2], [2, 3], [0, 3]], x=torch.ones(4, 3), edge_x=torch.ones(4, 2)
    )
    fitted = ehnn.HyperedgeClassifier(**FAST).fit(h, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^x must have 3 channels as in fit, got no x$"):
        fitted.predict(h.replace(x=None))
    with pytest.raises(ValueError, match=r"^edge_x must have 2 channels as in fit, got no edge_x$"):
        fitted.predict(h.replace(edge_x=None))
    with pytest.raises(ValueError, match=r"does not read node features; drop them: h.replace\(x=None\)"):
        ehnn.HyperedgeClassifier(model="hgnn", epochs=1).fit(h, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^x must be finite"):
        ehnn.HyperedgeClassifier(**FAST).fit(h.replace(x=h.x * float("nan")), [0, 1, 0, 1])


def test_class_weights_are_saved_with_their_classes(tmp_path: Path) -> None:
    h, y = circles()
    ehnn.NodeClassifier(**FAST, class_weight={0: 2.0, 1: 1.0}).fit(h, y.tolist()).save(tmp_path)
    assert ehnn.estimators.load(tmp_path).class_weight == {0: 2.0, 1: 1.0}


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_are_in_range(seed: int) -> None:
    h, y = circles()
    with pytest.raises(ValueError, match="random_state must be from 0 to 2⁶³ − 1, got"):
        ehnn.NodeClassifier(**FAST, random_state=seed).fit(h, y.tolist())


def test_options_are_of_our_layers() -> None:
    plan = {"model": "ehnn-mlp", "width": 8, "dropout": 0.0, "options": {"aggregation": "sum"}, "epochs": 9}
    specs = node_members(NodeTable(circles()[0]), Output("classes", 2), 60, plan, 10.0)
    plans = {spec.name: dict(spec.options)["plan"]["options"] for spec in specs if spec.kind == "ehnn"}
    assert plans.pop("EHNN-MLP") == {"aggregation": "sum"}
    assert plans.keys() >= {"HGNN"}
    assert {*plans.values()} == {None}


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


def test_incidences_of_a_frame_are_its_rows(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    pairs = [(f"n{v}", f"e{e}") for e in range(40) for v in generator.choice(20, 4, replace=False)]
    frame = pd.DataFrame(pairs, columns=["node", "edge"]).sample(frac=1, random_state=1)
    label = frame.node.str[1:].astype(int) % 2
    for y in (label, label.to_numpy(), label.set_axis(pd.MultiIndex.from_frame(frame))):
        model = ehnn.IncidenceClassifier(**FAST).fit(frame, y)
        assert (model.predict(frame) == label).mean() > 0.95
        assert model.score(frame, y) > 0.95
    table = ehnn.tables.read(frame.assign(kind=label), "kind", task="incidences", regression=False)
    assert (ehnn.IncidenceClassifier(**FAST).fit(table).predict(frame) == label).mean() > 0.95
    twice = pd.concat([frame, frame.head(3)], ignore_index=True)
    kept = pd.concat([label, label.head(3)]).to_numpy()
    model = ehnn.IncidenceClassifier(**FAST).fit(twice, kept, sample_weight=np.ones(163))
    assert model.predict(twice).shape == (163,)
    with pytest.raises(
        ValueError, match=r"row 160 \(from 0\) of the frame says [01] of a node in a hyperedge"
    ):
        ehnn.IncidenceClassifier(**FAST).fit(twice, np.append(kept[:160], 1 - kept[160:]))


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
    net = EHNN(output, Plan("hgnn", 8))
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
