"""Explanations: what is named as important is important to the prediction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators.explain.near import neighbourhood, select

FAST = {"budget": 0.01}  # the simple members alone


Fitted = tuple[ehnn.Hypergraph, ehnn.NodeClassifier]


@pytest.fixture(scope="module")
def voting() -> Fitted:
    """Simple members on `two_groups`."""
    h, y = two_groups()
    return h, ehnn.NodeClassifier(**FAST).fit(h, y)


@pytest.fixture(scope="module")
def network() -> Fitted:
    """One network, which reads no labels."""
    h, y = two_groups()
    return h, ehnn.NodeClassifier(model="ehnn-mlp", width=16, epochs=40, residual=False).fit(h, y)


def two_groups(n: int = 90, seed: int = 0) -> tuple[ehnn.Hypergraph, list[int | None]]:
    """Three kinds of people; four of nine groups are of one kind, the others are of all."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    groups = [
        rng.choice(np.flatnonzero(kind == i % 3) if i % 9 < 4 else n, rng.integers(2, 6), replace=False)
        for i in range(2 * n)
    ]
    x = torch.tensor(np.eye(3)[kind] + rng.normal(size=(n, 3)), dtype=torch.float32)
    h = ehnn.Hypergraph.from_edges([g.tolist() for g in groups], n, x=x)
    return h, [None if i % 4 == 0 else int(k) for i, k in enumerate(kind)]


def log_odds(model: Any, h: ehnn.Hypergraph, row: int, target: Any) -> float:
    p = model.predict_proba(h)[row][model.classes_.tolist().index(target)]
    return float(np.log(p) - np.log1p(-p))


def leave(h: ehnn.Hypergraph, node: int, edges: Sequence[int]) -> ehnn.Hypergraph:
    """``h`` without the incidences of ``node`` with ``edges``."""
    v, e = h.index.numpy()
    kept = np.flatnonzero((v != node) | ~np.isin(e, edges))
    return select(h, kept, np.arange(h.num_nodes), np.arange(h.num_edges))


@pytest.mark.parametrize("kind", ["voting", "network"])
def test_named_hyperedges_matter_more_than_others(kind: str, request: pytest.FixtureRequest) -> None:
    h, model = request.getfixturevalue(kind)
    rng = np.random.default_rng(1)
    named, drawn = [], []
    for found in model.explain(h, list(range(0, 40, 4)), most=8):
        own = [c for c in found.contributions if c.kind == "hyperedge" and c.effect > 0][:2]
        others = np.flatnonzero(h.index[0].numpy() == found.row)
        others = h.index[1].numpy()[rng.choice(others, len(own), replace=False)]
        before = log_odds(model, h, found.row, found.target)
        named.append(
            before - log_odds(model, leave(h, found.row, [c.name for c in own]), found.row, found.target)
        )
        drawn.append(before - log_odds(model, leave(h, found.row, others), found.row, found.target))
    assert np.mean(named) > 1.3 * np.mean(drawn)
    assert np.mean(named) > np.mean(drawn) + np.std(np.subtract(named, drawn)) / np.sqrt(len(named))


def test_an_effect_is_what_leaving_the_thing_out_does(voting: Fitted) -> None:
    h, model = voting
    (found,) = model.explain(h, [4])
    assert found.near is None
    before = log_odds(model, h, 4, found.target)
    assert found.value == pytest.approx(1 / (1 + np.exp(-before)), abs=1e-6)
    first = next(c for c in found.contributions if c.kind == "hyperedge")
    after = log_odds(model, leave(h, 4, [first.name]), 4, found.target)
    assert first.effect == pytest.approx(before - after, abs=1e-3)
    assert first.without == pytest.approx(1 / (1 + np.exp(-after)), abs=1e-6)
    other = next(c for c in found.contributions if c.kind == "co-member")
    node, edge = h.index.numpy()
    shared = np.intersect1d(edge[node == 4], edge[node == other.name])
    after = log_odds(model, leave(h, other.name, shared), 4, found.target)
    assert other.effect == pytest.approx(before - after, abs=1e-3)


def test_features_of_a_linear_model_are_exact() -> None:
    """Coefficient times (value − mean), on the scale of the log-odds."""
    h, _ = two_groups()
    assert h.x is not None
    noise = 2 * torch.randn(h.num_nodes, generator=torch.Generator().manual_seed(0))
    model = ehnn.NodeClassifier(**FAST).fit(h, (h.x[:, 0] - h.x[:, 1] + noise > 0).long())
    portfolio = model.model_.portfolio
    (linear,) = portfolio.members.get("linear: features", [None])
    assert linear is not None
    portfolio.weights = portfolio.new_weights = {"linear: features": 1.0}
    arrays, power = linear.model.arrays, portfolio.powers["linear: features"]
    slope = (arrays["weight"][:, 1] - arrays["weight"][:, 0]) * arrays["scale"] * power
    (found,) = model.explain(h, [7], target=1)
    exact = slope * (h.x[7] - h.x.mean(0)).numpy()
    effects = {c.name: c.effect for c in found.contributions if c.kind == "feature"}
    assert [effects[i] for i in range(3)] == pytest.approx(exact.tolist(), rel=1e-3, abs=1e-4)
    assert all(c.effect == 0 for c in found.contributions if c.kind == "hyperedge")


def test_a_neighbourhood_is_small_and_near(voting: Fitted) -> None:
    h, model = voting
    node, edge = h.index.numpy()
    near = neighbourhood(h, np.array([5]), 100)
    assert near.h.num_incidences <= 100 < h.num_incidences
    assert set(edge[node == 5]) <= set(near.edges)
    inside = np.isin(edge, edge[node == 5])
    assert set(node[inside]) <= set(near.nodes)
    assert neighbourhood(h, np.array([5]), h.num_incidences).whole
    whole, (part,) = model.explain(h, [8])[0], model.explain(h, [8], neighbourhood=300)
    assert part.near is not None
    assert part.near <= 300
    assert part.value == whole.value
    found, expected = (
        {c.name: c.effect for c in e.contributions if c.kind == "hyperedge"} for e in (part, whole)
    )
    assert found.keys() == expected.keys()
    assert np.corrcoef([found[k] for k in found], [expected[k] for k in found])[0, 1] > 0.8


def test_large_hyperedges_are_sampled_and_the_row_stays_in_them() -> None:
    edges = [list(range(3000)), [0, 1], [1, 2]]
    near = neighbourhood(ehnn.Hypergraph.from_edges(edges), np.array([2999]), 1000)
    assert 300 < near.h.num_incidences < 1000
    assert 2999 in near.nodes


def test_hyperedges_numbers_and_several_labels() -> None:
    h, y = two_groups(45)
    kinds = ehnn.HyperedgeClassifier(**FAST).fit(h, [i % 3 if i % 4 else None for i in range(h.num_edges)])
    (found,) = kinds.explain(h, [8], most=5)
    assert {c.kind for c in found.contributions} == {"member", "hyperedge"}
    node, edge = h.index.numpy()
    assert {c.name for c in found.contributions if c.kind == "member"} == set(node[edge == 8].tolist())
    numbers = ehnn.NodeRegressor(**FAST).fit(h, [None if v is None else 10.0 * v for v in y])
    (found,) = numbers.explain(h, 4, most=5)
    assert found.unit == "number"
    assert found.value == pytest.approx(numbers.predict(h)[4])
    told = {c.detail.split(",")[0] for c in found.contributions if c.kind == "co-member"}
    assert told <= {"0", "10", "20"}
    several = [[None, None] if v is None else [v == 0, v == 1] for v in y]
    labels = ehnn.NodeClassifier(**FAST).fit(h, several)
    (found,) = labels.explain(h, [4], target=1, most=5)
    assert found.target == 1
    assert found.value == pytest.approx(labels.predict_proba(h)[4, 1])
    assert str(found).startswith(f"4, label 1: predicted {found.prediction}, p(1) = {found.value:.3f}")


def test_incidences_in_the_hypergraph_of_fit_and_in_another() -> None:
    rng = np.random.default_rng(0)
    mails = {
        f"m{i}": [f"p{j}" for j in rng.choice(30, rng.integers(2, 5), replace=False)] for i in range(120)
    }
    label = {
        (v, e): "sender" if v == max(m, key=lambda name: int(name[1:])) else "receiver"
        for e, m in mails.items()
        for v in m
        if int(e[1:]) % 4
    }
    model = ehnn.IncidenceClassifier(**FAST).fit(mails, label)
    row = (mails["m0"][0], "m0")
    for data, asked in ((mails, row), ({**mails, "new": ["p29", "p3"]}, ("p29", "new"))):
        (found,) = model.explain(data, [asked])
        assert found.row == asked
        best = next(c for c in found.contributions if c.kind == "hyperedge")
        fewer = {e: [v for v in m if (v, e) != (asked[0], best.name)] for e, m in data.items()}
        if data is mails:
            place = next(i for i, pair in enumerate(pairs(fewer)) if pair == asked)
            p = model.predict_proba(fewer)[place][model.classes_.tolist().index(found.target)]
            assert np.sign(best.effect) == np.sign(found.value - best.without)
            assert 0 < p < 1
        else:
            assert any(c.detail.startswith("sender") for c in found.contributions)


def test_numbers_of_incidences_are_those_of_the_rows_of_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    sets = {f"e{i}": ["a", f"b{i % 7}", f"c{i % 5}"] for i in range(12)}
    frame = pd.DataFrame([(v, e) for v, e in pairs(sets)], columns=["node", "edge"])
    frame = frame.sample(frac=1, random_state=0)
    model = ehnn.IncidenceClassifier(**FAST).fit(frame, [v[0] for v in frame["node"]])
    found = model.explain(frame, [0, 5, ("a", "e3")], most=1)
    assert [e.row for e in found] == [tuple(frame.iloc[0]), tuple(frame.iloc[5]), ("a", "e3")]
    assert [e.prediction for e in found][:2] == model.predict(frame)[[0, 5]].tolist()
    assert model.explain(frame, np.int64(5), most=1)[0].row == found[1].row
    assert model.explain(frame, ("a", "e3"), most=1)[0].row == model.explain(sets, ("a", "e3"), most=1)[0].row


def pairs(edges: dict[str, list[str]]) -> list[tuple[str, str]]:
    h = ehnn.estimators.as_hypergraph(edges)
    assert h.node_names is not None
    assert h.edge_names is not None
    return [(h.node_names[v], h.edge_names[e]) for v, e in h.index.T.tolist()]  # type: ignore[misc]


def test_whole_hypergraphs() -> None:
    rng = np.random.default_rng(0)
    many = [
        ehnn.Hypergraph.from_edges([rng.choice(8, 3 + i % 2, replace=False).tolist() for _ in range(6)], 8)
        for i in range(20)
    ]
    model = ehnn.HypergraphClassifier(**FAST).fit(many, [i % 2 for i in range(20)])
    (found,) = model.explain(many, [1])
    assert model.explain(many, 1)[0] == model.explain(many, np.int64(1))[0] == found
    first = next(c for c in found.contributions if c.kind == "hyperedge")
    kept = [edge for i, edge in enumerate(many[1].edges()) if i != first.name]
    p = model.predict_proba([ehnn.Hypergraph.from_edges(kept, 8)])[0][1]
    assert first.without == pytest.approx(p if found.target == 1 else 1 - p, abs=1e-6)


def test_text_table_and_json(voting: Fitted) -> None:
    h, model = voting
    names = [f"person {i} " + "x" * 300 * (i == 4) for i in range(90)]
    found = model.explain(h.replace(node_names=names), names[4:6])
    assert json.loads(json.dumps(found.to_dict()))[1]["row"] == "person 5 "
    frame = found.to_frame()
    assert len(frame) == sum(len(e.contributions) for e in found)
    assert set(frame["kind"]) == {"hyperedge", "co-member", "feature", "own label"}
    assert max(map(len, str(found).splitlines())) < 160
    assert "own label" in "\n".join(found[1].lines(100))


def test_a_class_is_explained_by_any_form_of_its_name(voting: Fitted) -> None:
    h, model = voting
    for i, wanted in enumerate(model.classes_):  # numbers of NumPy
        for form in (wanted, wanted.item(), float(wanted)):
            (found,) = model.explain(h, [1], target=form, most=1)
            assert found.target == wanted
            assert found.value == pytest.approx(model.predict_proba(h)[1, i])
    for missing in (float("nan"), -1):  # which mean no label
        with pytest.raises(ValueError, match="was not there in fit"):
            model.explain(h, [1], target=missing)


def test_rows_in_every_form(voting: Fitted) -> None:
    h, model = voting
    named = h.replace(node_names=[("person", i) if i < 2 else f"person {i}" for i in range(90)])
    told = model.explain(named, [("person", 1), "person 4"], most=1)
    assert named.node_names is not None
    for rows in ((("person", 1), "person 4"), named.node_names[1:5:3]):
        assert model.explain(named, rows, most=1).rows == told.rows
    for row in (4, np.int64(4), np.array([4]), (4,)):
        assert [found.row for found in model.explain(h, row, most=1)] == [4]
    assert [found.row for found in model.explain(named, ("person", 1), most=1)] == [("person", 1)]


def test_what_cannot_be_explained_is_an_error(voting: Fitted) -> None:
    h, model = voting
    for wrong, message in (
        ({"rows": [500]}, "node 500 is not a node"),
        ({"rows": [1], "target": "blue"}, "class 'blue' was not there in fit"),
        ({"rows": [1], "most": 0}, "most must be"),
    ):
        with pytest.raises(ValueError, match=message):
            model.explain(h, **wrong)
    with pytest.raises(ehnn.estimators.NotFittedError):
        ehnn.NodeClassifier().explain(h, [0])


@pytest.mark.parametrize("settings", [FAST, {"model": "mlp", "width": 8, "epochs": 30, "lr": 0.01}])
def test_a_feature_that_is_equal_in_all_nodes_of_a_hypergraph(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    """Its mean over the nodes of the hypergraph says the same: it takes the mean of all of fit."""
    rng = np.random.default_rng(0)
    many = [
        ehnn.Hypergraph.from_edges(
            [[0, 1, 2], [2, 3]], x=np.stack([rng.normal(size=4), np.full(4, i % 2)], 1).astype(np.float32)
        )
        for i in range(40)
    ]
    model = ehnn.HypergraphClassifier(**settings).fit(many, [i % 2 for i in range(40)])
    model.save(tmp_path)
    for fitted in (model, ehnn.estimators.load(tmp_path)):
        (found,) = fitted.explain([many[1]])
        first = found.contributions[0]
        assert (first.kind, first.name, first.detail) == ("feature", 1, "mean 1, in fit 0.5")
        assert first.effect > 0.5
        x = torch.cat([many[1].x[:, :1], torch.full((4, 1), 0.5)], 1)
        expected = fitted.predict_proba([many[1].replace(x=x)])[0, 1]
        assert first.without == pytest.approx(expected, abs=1e-6)


def test_features_that_are_whole_numbers_take_their_mean() -> None:
    x = torch.arange(12)[:, None] % 2
    edges = [[i, (i + 2) % 12] for i in range(12)]
    h = ehnn.Hypergraph.from_edges(edges, x=x)
    model = ehnn.NodeClassifier(model="hgnn", width=4, epochs=5).fit(h, x[:, 0].tolist())
    (found,), (same,) = (model.explain(data, [0]) for data in (h, h.replace(x=x.float())))
    assert "feature" in [c.kind for c in found.contributions]
    assert found == same
    graphs, y = [h.replace(x=x + i % 2) for i in range(8)], [0, 1] * 4
    (found,) = ehnn.HypergraphClassifier(**FAST).fit(graphs, y).explain(graphs, 0)
    assert "feature" in [c.kind for c in found.contributions]


@pytest.mark.parametrize("settings", [FAST, {"model": "ehnn-mlp", "width": 8, "epochs": 10}])
@pytest.mark.parametrize("named", [False, True])
def test_new_hyperedges_are_explained_as_they_are_predicted(settings: dict[str, Any], named: bool) -> None:
    rng = np.random.default_rng(0)
    sets = [rng.choice(range(i % 2, 20, 2), 3, replace=False).tolist() for i in range(60)]

    def hypergraph(rows: range) -> ehnn.Hypergraph:
        names = {"edge_names": [f"e{i}" for i in rows], "node_names": [f"n{i}" for i in range(20)]}
        return ehnn.Hypergraph.from_edges([sets[i] for i in rows], 20, **(names if named else {}))

    model = ehnn.HyperedgeClassifier(**settings).fit(hypergraph(range(30)), [i % 2 for i in range(30)])
    asked = hypergraph(range(60))
    shares = model.predict_proba(asked)
    rows = [3, 35, 59]
    for row, found in zip(
        rows, model.explain(asked, [f"e{i}" for i in rows] if named else rows), strict=True
    ):
        expected = shares[row, list(model.classes_).index(found.target)]
        assert found.value == pytest.approx(expected, abs=1e-6)
        assert found.row == (f"e{row}" if named else row)
    x = torch.ones(20, 2)
    with pytest.raises(ValueError, match=r"^x must have"):
        model.explain(asked.replace(x=x), [f"e{3}" if named else 3])


def test_columns_of_a_frame_are_explained_by_name() -> None:
    pd = pytest.importorskip("pandas")
    h, _ = two_groups(30)
    y = pd.DataFrame({"first": np.arange(30) % 3 == 0, "second": np.arange(30) % 3 == 1}).astype(int)
    for kind, told in (
        (ehnn.NodeClassifier, "label second: predicted"),
        (ehnn.NodeRegressor, "number second"),
    ):
        model = kind(**FAST).fit(h, y)
        named, numbered = (model.explain(h, [4], target=target, most=3)[0] for target in ("second", 1))
        assert named == numbered
        assert named.target == "second"
        assert str(named).startswith(f"4, {told}")
        with pytest.raises(
            ValueError, match=r"column from 0 to 1 or one of \['first', 'second'\], got 'third'"
        ):
            model.explain(h, [4], target="third")
