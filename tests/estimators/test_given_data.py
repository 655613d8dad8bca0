"""What users hand to the default: names, frames, new hyperedges, weights; and how errors name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators.new_hyperedges import new_hyperedges
from ehnn.estimators.portfolio.node_members import node_members
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output
from ehnn.estimators.weights import in_order_of
from ehnn.hypergraph import dual

from .test_auto import FAST, circles


def test_weights_are_found_by_name_where_labels_are() -> None:
    pd = pytest.importorskip("pandas")
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2], [2, 3]], 4).replace(node_names=tuple("abcd"))
    y, weight = pd.Series([0, 1, 0, 1], [*"abcd"]), pd.Series([1.0, 2.0, 3.0, 4.0], [*"abcd"])
    assert list(in_order_of(y, weight)) == in_order_of(y, weight.iloc[::-1]) == [1, 2, 3, 4]
    assert in_order_of(dict(y), dict(weight.iloc[::-1])) == [1, 2, 3, 4]
    assert in_order_of([0, 1, 0, 1], weight) is weight
    named = {"model": "ehnn-mlp", "width": 8, "epochs": 3, "validation_fraction": 0}
    first, second = (
        ehnn.NodeClassifier(**named).fit(h, y, sample_weight=w).predict_proba(h)
        for w in (weight, weight.iloc[::-1])
    )
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="one row for each label: 'd' and 0 more have none"):
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
    joined, nodes, groups = new_hyperedges(dual(h), dual(new)).with_rows(np.arange(2))
    assert nodes.tolist() == [0, 1, 2, 3, -1, -1]
    assert joined.num_nodes == 6 and joined.edges()[0] == [0, 4]  # noqa: PT018
    assert torch.equal(joined.x, torch.eye(4)[[0, 1, 2, 3, 0, 1]])
    assert torch.equal(joined.edge_x, x)
    assert groups.tolist() == [0, 1, 2, 3, 4, 5]
    stranger = ehnn.Hypergraph.from_edges([[0, 6]], 7, edge_x=torch.eye(4)[:1])
    assert new_hyperedges(dual(h), dual(stranger)) is None  # it would need features of node 6
    assert new_hyperedges(dual(h), dual(h)) is None


def test_weights_must_not_be_negative() -> None:
    h, y = circles()
    h = h.replace(edge_weight=torch.ones(h.num_edges).index_fill(0, torch.tensor([2]), -1.0))
    with pytest.raises(ValueError, match="edge_weight must not be negative, got -1 in row 2"):
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


@pytest.mark.parametrize("flag", ["verbose", "residual"])
def test_words_for_yes_and_no_are_refused(flag: str) -> None:
    with pytest.raises(ValueError, match=f"{flag} must be True or False, got 'no'"):
        ehnn.NodeClassifier(**{flag: "no"}).fit(*circles())


def test_options_are_of_our_layers() -> None:
    plan = {"model": "ehnn-mlp", "width": 8, "dropout": 0.0, "options": {"aggregation": "sum"}, "epochs": 9}
    specs = node_members(NodeTable(circles()[0]), Output("classes", 2), 60, plan, 10.0)
    plans = {spec.name: dict(spec.options)["plan"]["options"] for spec in specs if spec.kind == "ehnn"}
    assert plans.pop("EHNN-MLP") == {"aggregation": "sum"}
    assert plans.keys() >= {"HGNN"}
    assert {*plans.values()} == {None}


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


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("tall", "labels must be numbers here, got 'tall'"),
        (np.datetime64("2024-01-05"), "labels must be numbers here, got datetime"),
        ([1.0, 2.0], "must be a row of numbers, as others are, got 1.0"),
    ],
)
def test_numbers_that_are_none_are_named(wrong: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ehnn.NodeRegressor(**FAST).fit([[0, 1], [1, 2]], [1.0, wrong, 2.0])


def test_scores_are_weighted_as_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    h, y = circles(30)
    weight, known = np.arange(30) / 10, np.arange(30) % 4 != 0
    small = {"model": "ehnn-mlp", "width": 4, "epochs": 1}
    model = ehnn.NodeClassifier(**small).fit(h, y)
    hidden = [int(v) if k else None for v, k in zip(y, known, strict=True)]
    found = metrics.accuracy_score(y[known], model.predict(h)[known], sample_weight=weight[known])
    assert 0 < found < 1
    assert model.score(h, hidden, sample_weight=weight) == pytest.approx(found)
    named = dict(reversed([*enumerate(weight)]))
    assert model.score(h, dict(enumerate(y)), named) == model.score(h, y, weight)
    several = np.stack([y, 1 - y], 1)
    many = ehnn.NodeClassifier(**small).fit(h, several)
    found = metrics.accuracy_score(several, many.predict(h), sample_weight=weight)
    assert many.score(h, several, weight) == pytest.approx(found)
    numbers = np.stack([weight, weight**2 - y], 1)
    regressor = ehnn.NodeRegressor(**small).fit(h, numbers)
    found = metrics.r2_score(numbers, regressor.predict(h), sample_weight=weight)
    assert regressor.score(h, numbers, sample_weight=weight) == pytest.approx(found, abs=1e-5)
    with pytest.raises(ValueError, match="not one node has a label and a sample_weight above 0"):
        model.score(h, [None, *y[1:]], sample_weight=[1.0, *[0.0] * 29])


def test_scores_of_candidates_and_hypergraphs_are_weighted() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(0)
    scores, answers, weight = draw.integers(0, 5, 40), draw.integers(0, 2, 40), draw.random(40)
    found = metrics.roc_auc_score(answers, scores, sample_weight=weight)
    assert ehnn.tasks.hyperedges.auroc(scores, answers, weight) == pytest.approx(found)
    with pytest.raises(ValueError, match="above 0 for a candidate with answer 0 and for one with answer 1"):
        ehnn.tasks.hyperedges.auroc(scores, answers, answers)
    h, _ = circles(30)
    model = ehnn.HyperedgePredictor(model="ehnn-mlp", width=4, epochs=1).fit(h)
    asked, true = [[0, 2], [1, 2, 3], [0, 1], [4, 6]], [1, 0, 0, 1]
    found = metrics.roc_auc_score(true, model.decision_function(asked), sample_weight=[1, 2, 3, 4])
    assert model.score(asked, true, sample_weight=[1, 2, 3, 4]) == pytest.approx(found)
    graphs, kinds = [[[0, 1]], [[0, 1, 2]]] * 3, [0, 1] * 3
    model = ehnn.HypergraphClassifier(model="ehnn-mlp", width=4, epochs=1).fit(graphs, kinds)
    found = metrics.accuracy_score(kinds, model.predict(graphs), sample_weight=range(6))
    assert model.score(graphs, kinds, sample_weight=range(6)) == pytest.approx(found)


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e300])
@pytest.mark.parametrize("model", ["ehnn-mlp", "auto"])
def test_only_ratios_of_weights_count(model: str, scale: float) -> None:
    h, y = circles(30)
    weight = 0.1 + np.arange(30) / 30
    settings: dict[str, Any] = FAST if model == "auto" else {"model": model, "width": 4, "epochs": 5}
    found = [
        ehnn.NodeRegressor(**settings).fit(h, y + 0.5, sample_weight=w)
        for w in (weight / weight.max(), scale * weight)
    ]
    np.testing.assert_allclose(found[1].predict(h), found[0].predict(h), atol=1e-5)
    assert found[1].score(h, y + 0.5, scale * weight) == pytest.approx(
        found[0].score(h, y + 0.5, weight), 1e-4
    )


def test_weights_of_hypergraphs_are_found_by_name_where_labels_are() -> None:
    pd = pytest.importorskip("pandas")
    graphs, small = (
        [[[0, 1]], [[0, 1, 2]], [[0, 1], [1, 2]]] * 4,
        {"model": "ehnn-mlp", "width": 4, "epochs": 2},
    )
    y = pd.Series([0, 1, 0] * 4, [f"graph {i}" for i in range(12)])
    weight = pd.Series(np.arange(12.0), y.index)
    first, second = (
        ehnn.HypergraphClassifier(**small, validation_fraction=0).fit(graphs, y, w)
        for w in (weight, weight[::-1])
    )
    np.testing.assert_array_equal(first.predict_proba(graphs), second.predict_proba(graphs))
    wrong = pd.Series([0, 0, 1] * 4, y.index)
    assert 0 < first.score(graphs, wrong, weight) == first.score(graphs, wrong, weight[::-1]) < 1
    with pytest.raises(ValueError, match="one row for each label: 'graph 3' and 0 more have none"):
        first.fit(graphs, y, weight.drop("graph 3"))


def test_weights_of_incidences_are_found_by_name_where_labels_are() -> None:
    pd = pytest.importorskip("pandas")
    sets = {f"e{i}": ["a", f"b{i % 7}", f"c{i % 5}"] for i in range(12)}
    label = {(v, e): "xyz"["abc".index(v[0])] for e, members in sets.items() for v in members}
    weight = {pair: 1.0 + i for i, pair in enumerate(label)}
    model = ehnn.IncidenceClassifier(**FAST)
    first = model.fit(sets, label, weight).predict_proba(sets)
    index = pd.MultiIndex.from_tuples(list(label))
    y, w = pd.Series(list(label.values()), index), pd.Series(list(weight.values()), index)
    np.testing.assert_array_equal(model.fit(sets, y.iloc[::-1], w).predict_proba(sets), first)
    other = model.fit(sets, y, pd.Series(w.to_numpy()[::-1], index)).predict_proba(sets)
    assert abs(other - first).max() > 1e-6
    wrong = y.replace({"x": "y"})
    share = sum(v for (node, _), v in weight.items() if node != "a") / sum(weight.values())
    assert model.score(sets, wrong, w.sample(frac=1, random_state=0)) == pytest.approx(share)
    with pytest.raises(ValueError, match=r"sample_weight must be by \(node, hyperedge\), as y is"):
        model.fit(sets, label, [1.0] * len(label))


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
def test_a_model_without_features_says_where_it_knows_nothing(kind: type, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    sets = {f"s{i}": [f"p{v}" for v in draw.choice(12, 3, replace=False)] for i in range(20)}
    h = ehnn.estimators.as_hypergraph(sets)
    names = h.node_names if kind is ehnn.NodeClassifier else h.edge_names
    y = {name: "ab"[i % 2] for i, name in enumerate(names)}
    later, strange = {"t0": ["p0", "p1", "p2", "p3", "p4"]}, {"t0": ["q0", "q1"], "t1": ["q1", "q2"]}
    network = {"model": "ehnn-mlp", "width": 4, "epochs": 1}
    for number, settings in enumerate((network, FAST)):
        model = kind(**settings).fit(sets, y)
        model.predict(dict(reversed(sets.items())))  # the same sets in another order
        model.save(tmp_path / str(number))
        for twin in (model, ehnn.estimators.load(tmp_path / str(number))):
            twin.predict(later)
            with pytest.warns(UserWarning, match="nothing in this hypergraph was there in fit"):
                twin.predict(strange)
    kind(**network, features="structural").fit(sets, y).predict(strange)


@pytest.mark.parametrize("model", ["hgnn", "ehnn-mlp", "mlp"])
@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
def test_networks_without_features_read_who_is_with_whom(kind: type, model: str, tmp_path: Path) -> None:
    """Two circles in which all degrees and orders are equal; renumbered nodes keep their coordinates."""
    edges = [[20 * c + (i + k) % 20 for k in range(3)] for c in range(2) for i in range(20)]
    names = {"node_names": [f"p{i}" for i in range(40)], "edge_names": [f"e{i}" for i in range(40)]}
    h, y = ehnn.Hypergraph.from_edges(edges).replace(**names), [i // 20 for i in range(40)]
    known, asked = ([v if (i % 3 == 0) == held else None for i, v in enumerate(y)] for held in (False, True))
    network = {"model": model, "width": 16, "epochs": 60, "validation_fraction": 0.0, "lr": 0.01}
    fitted = kind(**network).fit(h, known)
    assert fitted.score(h, asked) > 0.9
    assert kind(**network, features="structural").fit(h, known).score(h, asked) < 0.7
    fitted.save(tmp_path)
    turned = h.permute_nodes(np.random.default_rng(0).permutation(40))
    rows = (
        range(40) if kind is ehnn.HyperedgeClassifier else [int(v[1:]) for v in map(str, turned.node_names)]
    )
    found = ehnn.estimators.load(tmp_path).predict_proba(turned)
    np.testing.assert_allclose(found, fitted.predict_proba(h)[list(rows)], atol=1e-4)


def test_labels_of_several_kinds_at_once() -> None:
    h, y = circles(20)
    sparse = pytest.importorskip("scipy.sparse")
    several = np.stack([y, 1 - y], 1)
    model = ehnn.NodeClassifier(**FAST)
    np.testing.assert_array_equal(
        model.fit(h, sparse.csr_array(several)).predict_proba(h), model.fit(h, several).predict_proba(h)
    )
    for names in ([["a", "b"], ["b"]], [{"a", "b"}, {"b"}]):
        with pytest.raises(ValueError, match=r"matrix of 0 and 1, got .*MultiLabelBinarizer makes one"):
            model.fit(h, names * 10)
    with pytest.raises(ValueError, match=r"not one of the 20 rows has a label in column 1 \(from 0\)"):
        model.fit(h, np.stack([y, np.full(20, np.nan)], 1))


def test_weights_that_leave_nothing_are_refused() -> None:
    h, y = circles(20)
    told = "must be above 0 for a row with a label"
    with pytest.raises(ValueError, match=told):
        ehnn.NodeClassifier(**FAST, class_weight={0: 0, 1: 0}).fit(h, y)
    with pytest.raises(ValueError, match=told):
        ehnn.NodeClassifier(**FAST).fit(h, [None, *y[1:]], sample_weight=[1.0, *[0.0] * 19])
    with pytest.raises(ValueError, match=told):
        ehnn.HypergraphClassifier(**FAST, class_weight={0: 0, 1: 0}).fit([[[0, 1]], [[0, 1, 2]]], [0, 1])
    with pytest.raises(ValueError, match="edge_weight is 0 in all 20 rows"):
        ehnn.NodeClassifier(**FAST).fit(h.replace(edge_weight=torch.zeros(20)), y)
    with pytest.raises(ValueError, match=r"class_weight has 7, which is not one of the classes \[0, 1\]"):
        ehnn.NodeClassifier(**FAST, class_weight={0: 1, 7: 2}).fit(h, y)


def test_class_weights_of_numpy_are_those_of_python() -> None:
    h, y = circles(20)
    given = dict(zip(np.unique(y), np.array([1.0, 5.0]), strict=True))
    first, second = (
        ehnn.NodeClassifier(**FAST, class_weight=weight).fit(h, y).predict_proba(h)
        for weight in (given, {0: 1, 1: 5})
    )
    np.testing.assert_array_equal(first, second)


def test_weights_of_a_node_that_is_given_twice_are_added_up() -> None:
    h, y = circles(20)
    model = ehnn.NodeClassifier(model="ehnn-mlp", width=4, epochs=3, hypergraph=h, validation_fraction=0)
    rows = np.arange(20)
    twice = model.fit([*rows, 0], [*y, y[0]], sample_weight=[1.0] * 21).predict_proba(rows)
    once = model.fit(rows, y, sample_weight=[2.0, *[1.0] * 19]).predict_proba(rows)
    np.testing.assert_allclose(twice, once, atol=1e-6)
    other = model.fit(rows, y, sample_weight=[1.0] * 20).predict_proba(rows)
    assert abs(other - once).max() > 1e-6
    pd = pytest.importorskip("pandas")
    series, weight = (pd.Series(values, [*rows, 0]) for values in ([*y, y[0]], [1.0] * 21))
    model.set_params(hypergraph=None).fit(h, series, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(h), once, atol=1e-6)


def test_a_file_that_needs_more_words_names_arguments(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_text("person,club\nann,chess\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"node_column and edge_column .*; ehnn.tables.read takes these"):
        ehnn.NodeClassifier(**FAST).fit(path, [0])
    path.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=r"is empty.* columns$"):
        ehnn.NodeClassifier(**FAST).fit(path, [0])


def test_rows_of_a_frame_in_another_order_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"node": [*"abcabc"], "edge": [*"xxxyyy"]})
    y = pd.Series([*"ppqppq"])
    model = ehnn.IncidenceClassifier(**FAST).fit(frame, y)
    with pytest.raises(ValueError, match=r"y has the rows of the frame in another order: y.reindex"):
        model.fit(frame, y.iloc[::-1])
    with pytest.raises(ValueError, match=r"sample_weight has the rows of the frame in another order"):
        model.score(frame, y, pd.Series(1.0, frame.index[::-1]))
    model.fit(frame.iloc[::-1], y.iloc[::-1])


def test_hypergraphs_with_other_features_are_refused() -> None:
    plain = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"got \(0, 0\) in the first and \(2, 0\) in hypergraph 1"):
        ehnn.HypergraphClassifier(**FAST).fit([plain, plain.replace(x=torch.ones(3, 2))], [0, 1])
    with pytest.raises(ValueError, match="labels of hypergraphs must be a sequence with one per row"):
        ehnn.HypergraphClassifier(**FAST).fit([plain, plain], {0: "a", 1: "b"})


def test_a_label_of_weight_0_is_absent() -> None:
    """It is no vote for others either, and it does not validate."""
    h, y = circles(40)
    weight = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    wrong = np.where(weight > 0, y, 1 - y)
    some = [v if w else None for v, w in zip(y.tolist(), weight, strict=True)]
    network = {"model": "ehnn-mlp", "width": 4, "epochs": 3}
    for settings in (FAST, network):
        for kind, data in ((ehnn.NodeClassifier, h), (ehnn.HyperedgeClassifier, dual(h))):
            first = kind(**settings).fit(data, wrong, sample_weight=weight).predict_proba(data)
            np.testing.assert_array_equal(first, kind(**settings).fit(data, some).predict_proba(data))
        numbers = ehnn.NodeRegressor(**settings)
        first = numbers.fit(h, np.where(weight > 0, y, 1e9), sample_weight=weight).predict(h)
        np.testing.assert_allclose(first, numbers.fit(h, some).predict(h), atol=1e-6)
    node, counted = h.index[0].numpy(), np.arange(h.num_incidences) % 3 > 0
    of_pairs = ehnn.IncidenceClassifier(**FAST)
    first = of_pairs.fit(
        h, np.where(counted, y[node], 1 - y[node]), sample_weight=counted * 1.0
    ).predict_proba(h)
    known = [int(y[v]) if kept else None for v, kept in zip(node, counted, strict=True)]
    np.testing.assert_array_equal(first, of_pairs.fit(h, known).predict_proba(h))
    pairs, triples = [[0, 1], [1, 2]], [[0, 1, 2], [1, 2, 3]]
    of_all = ehnn.HypergraphClassifier(**FAST)
    first = of_all.fit([pairs, triples, pairs] * 4, [0, 1, 1] * 4, sample_weight=[1, 1, 0] * 4).predict_proba(
        [pairs]
    )
    second = of_all.fit([pairs, triples, pairs] * 4, [0, 1, None] * 4).predict_proba([pairs])
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("kind", ["nodes", "hyperedges", "incidences", "hypergraphs", "sets"])
def test_a_fit_that_is_interrupted_changes_nothing(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    h, y = circles(20)
    text = np.array(["no", "yes"])[y]
    graphs = [[[0, 1], [1, 2]], [[0, 1, 2], [1, 2, 3]]] * 6
    several: dict[str, Any] = {
        "nodes": (ehnn.NodeClassifier, h, y, text),
        "hyperedges": (ehnn.HyperedgeClassifier, dual(h), y, text),
        "incidences": (ehnn.IncidenceClassifier, h, y[h.index[0]], text[h.index[0]]),
        "hypergraphs": (ehnn.HypergraphClassifier, graphs, [0, 1] * 6, ["no", "yes"] * 6),
        "sets": (ehnn.HyperedgePredictor, h, None, None),
    }
    make, data, first, second = several[kind]
    model = make(**FAST, epochs=2).fit(data, first)
    asked = [[0, 1], [2, 3]] if kind == "sets" else data
    before, kept = model.predict_proba(asked), dict(vars(model))

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for name in ("portfolio.portfolio.Portfolio.fit", "set_members.SetMembers.fit"):
        monkeypatch.setattr(f"ehnn.estimators.{name}", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, second)
    monkeypatch.undo()
    assert vars(model) == kept
    np.testing.assert_array_equal(model.predict_proba(asked), before)


def test_a_frame_of_several_hypergraphs_is_refused() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"graph": [0, 0, 1], "node": [1, 2, 3], "edge": [1, 1, 2]})
    with pytest.raises(ValueError, match=r"groupby\('graph'\)"):
        ehnn.HypergraphClassifier(**FAST).fit(frame, ["a", "b"])


@pytest.mark.parametrize("settings", [FAST, {"model": "hgnn", "width": 4, "epochs": 1}])
def test_no_hyperedges_have_no_predictions(settings: dict[str, Any]) -> None:
    h, y = circles(20)
    model = ehnn.HyperedgeClassifier(**settings).fit(dual(h.replace(x=None)), y)
    empty = ehnn.Hypergraph.from_edges([], 3)
    assert model.predict(empty).shape == (0,)
    assert model.predict_proba(empty).shape == (0, 2)


def test_a_name_that_comes_twice_changes_no_prediction_of_hyperedges() -> None:
    h, y = circles(20)
    settings: dict[str, Any] = {"model": "hgnn", "width": 4, "epochs": 3}
    names = {"edge_names": ["e3" if i == 8 else f"e{i}" for i in range(20)]}
    plain = dual(h).replace(node_names=None)
    twice = plain.replace(**names)
    first, second = (
        ehnn.HyperedgeClassifier(**settings).fit(data, y).predict_proba(data) for data in (plain, twice)
    )
    np.testing.assert_array_equal(first, second)
