"""Labels of incidences are found again in a hypergraph with other rows, in another order, or with copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators import as_hypergraph
from ehnn.estimators.auto_incidences import AutoIncidences, MatchedIncidences, _edge_numbers, _matched
from ehnn.estimators.portfolio import budget
from ehnn.estimators.portfolio.budget import BUDGETS
from ehnn.estimators.portfolio.fit_nodes import set_hashes
from ehnn.estimators.portfolio.incidence_table import IncidenceTable

FAST = {"budget": "fast", "random_state": 0}


@pytest.fixture(autouse=True)
def _a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "fast", 0.05)
    monkeypatch.setattr(budget, "STOP", 100.0)  # on a busy machine too


def pairs_of(h: ehnn.Hypergraph) -> list[tuple[object, object]]:
    """(node, hyperedge) of each incidence, by name or number."""
    nodes, edges = h.node_names or range(h.num_nodes), h.edge_names or range(h.num_edges)
    return [(nodes[v], edges[e]) for v, e in h.index.T.tolist()]


def known_of(matched: MatchedIncidences, h: ehnn.Hypergraph) -> dict[tuple[object, object], int]:
    """The known label of each (node, hyperedge), by name or number."""
    return {
        pair: label for pair, label in zip(pairs_of(h), matched.target.tolist(), strict=True) if label >= 0
    }


def mails() -> tuple[dict[str, list[str]], dict[tuple[str, str], str]]:
    """Ten mails of the same four people, each sent by another one, and labels of nine of them."""
    people = ["ann", "bob", "cy", "dan"]
    edges = {f"m{i}": people for i in range(10)}
    label = {(v, e): "to" if v != people[i % 4] else "from" for i, e in enumerate(edges) for v in people}
    return edges, {pair: role for pair, role in label.items() if pair[1] != "m4"}


def test_copies_of_a_hyperedge_are_found_by_name(tmp_path: Path) -> None:
    edges, label = mails()
    model = ehnn.IncidenceClassifier(**FAST).fit(edges, label)
    model.save(tmp_path)
    turned = as_hypergraph(dict(reversed(edges.items())))
    few = as_hypergraph(
        {"m7": edges["m7"], "m4": edges["m4"], "new": edges["m0"], "m2": ["cy", "eve", "ann"]}
    )
    for fitted in (model, ehnn.estimators.load(tmp_path)):
        auto, words = fitted.model_, fitted.classes_.tolist()
        assert {k: words[v] for k, v in known_of(auto.matched(turned), turned).items()} == label
        found = {k: words[v] for k, v in known_of(auto.matched(few), few).items()}
        assert found == {k: v for k, v in label.items() if k[1] == "m7" or k in (("cy", "m2"), ("ann", "m2"))}


def test_copies_without_names_are_found_in_their_order() -> None:
    sets = [[0, 1, 2], [3, 4], [0, 1, 2], [0, 2, 3], [0, 1, 2]]
    h = ehnn.Hypergraph.from_edges(sets, 5)
    y = np.array([0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0])
    auto = ehnn.IncidenceClassifier(**FAST).fit(h, y).model_
    other = ehnn.Hypergraph.from_edges([sets[3], *[sets[0]] * 4, sets[1]], 5)
    target, edge = auto.matched(other).target, h.index[1].numpy()
    expected = np.concatenate([y[edge == e] for e in (3, 0, 2, 4)] + [[-1] * 3] + [y[edge == 1]])
    np.testing.assert_array_equal(target, expected)


def test_copies_without_names_differ_in_their_roles() -> None:
    sides = [([0, 1], [2]), ([2], [0, 1]), ([1, 3], [2, 0]), ([2, 0], [1, 3])]
    h = ehnn.Hypergraph.from_directed(sides, num_nodes=4)
    assert h.roles is not None
    auto = ehnn.IncidenceClassifier(**FAST).fit(h, h.roles.tolist()).model_
    turned = ehnn.Hypergraph.from_directed(sides[::-1], num_nodes=4)
    assert turned.roles is not None
    np.testing.assert_array_equal(auto.matched(turned).target, turned.roles.numpy())


def test_models_saved_without_hyperedges_are_read() -> None:
    edges = [[0, 1], [], [0, 1], [0, 1], [1, 2, 3], [2, 0], [0, 2], [3], []]
    h = ehnn.Hypergraph.from_edges(edges, 4)
    model = ehnn.IncidenceClassifier(**FAST).fit(h, [i % 2 for i in range(h.num_incidences)])
    about, tensors = model.model_.about(), model.model_.tensors()
    older = AutoIncidences.restore(
        {k: v for k, v in about.items() if k != "groups"},
        {k: v for k, v in tensors.items() if k not in ("auto.bank.edge", "auto.keys")}, "cpu",
    )  # fmt: skip
    np.testing.assert_array_equal(older.bank["edge"], h.index[1].numpy())
    np.testing.assert_array_equal(older.matched(h).target, model.model_.matched(h).target)
    bank = {k: v[:0] for k, v in older.bank.items()}
    assert _edge_numbers(bank, set_hashes(h)).shape == (0,)


@pytest.mark.parametrize("names", [["a"], "abc", [1, 2.5, "c"]])
def test_damaged_names_of_hyperedges(names: object) -> None:
    model = ehnn.IncidenceClassifier(**FAST).fit({"a": [0, 1], "b": [1, 2], "c": [0, 2]}, [0, 1] * 3)
    with pytest.raises(ValueError, match="the names of 3 hyperedges must be as many texts or integers"):
        AutoIncidences.restore(model.model_.about() | {"groups": names}, model.model_.tensors(), "cpu")


def test_names_that_are_true_or_false_do_not_prevent_saving(tmp_path: Path) -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]], 3, edge_names=[True, False])
    model = ehnn.IncidenceClassifier(**FAST).fit(h, [0, 1, 1, 0])
    model.save(tmp_path)
    assert ehnn.estimators.load(tmp_path).predict(h).shape == (4,)


def test_pairs_that_are_not_there() -> None:
    none = np.zeros(0, np.int64)
    assert _matched((none, none), (none, none)).shape == (0,)
    assert _matched((np.array([1]), np.array([2])), (none, none)).tolist() == [-1]
    assert _matched((none, none), (np.array([1]), np.array([2]))).shape == (0,)


def projects() -> tuple[dict[str, list[str]], dict[tuple[str, str], str]]:
    """Meetings of projects: the role of a person is that of other meetings with people of the project."""
    generator = np.random.default_rng(0)
    staff = [generator.choice(30, 6, replace=False) for _ in range(12)]
    role = {(v, p): "ab"[generator.integers(2)] for p in range(12) for v in staff[p]}
    edges: dict[str, list[str]] = {}
    label: dict[tuple[str, str], str] = {}
    for e, p in enumerate(generator.integers(0, 12, 150)):
        members = generator.choice(staff[p], 4, replace=False)
        edges[f"e{e}"] = [f"n{v}" for v in members]
        label |= {(f"n{v}", f"e{e}"): role[v, p] for v in members}
    return edges, label


@pytest.mark.parametrize("whole", [True, False])
def test_predictions_are_the_same_in_another_order_and_beside_a_new_hyperedge(whole: bool) -> None:
    edges, label = projects()
    generator = np.random.default_rng(1)
    asked = [pair for pair in label if (int(pair[1][1:]) >= 100 if whole else generator.random() < 0.3)]
    known = {pair: role for pair, role in label.items() if pair not in set(asked)}
    model = ehnn.IncidenceClassifier(**FAST).fit(edges, known)
    assert model.model_.partly is not whole

    def answers(data: dict[str, list[str]]) -> dict[tuple[object, object], float]:
        h = as_hypergraph(data)
        return dict(zip(pairs_of(h), model.predict_proba(data)[:, 1].tolist(), strict=True))

    names = generator.permutation(list(edges)).tolist()
    turned = {e: generator.permutation(edges[e]).tolist() for e in names}
    expected, found = answers(edges), answers(turned)
    np.testing.assert_allclose([found[pair] for pair in label], [expected[pair] for pair in label], atol=1e-3)
    more = answers(edges | {"new": ["n0", "n1"]})
    right = [
        np.mean([(some[pair] > 0.5) == (label[pair] == "b") for pair in asked]) for some in (expected, more)
    ]
    assert right[0] > 0.9
    assert right[1] > right[0] - 0.03


def test_explanations_are_the_same_in_another_order() -> None:
    edges, label = projects()
    known = {pair: role for pair, role in label.items() if int(pair[1][1:]) < 100}
    model = ehnn.IncidenceClassifier(**FAST).fit(edges, known)
    row = (edges["e120"][0], "e120")
    first, second = (
        model.explain(data, [row])[0] for data in (edges, dict(sorted(edges.items(), reverse=True)))
    )
    effects = [{(c.kind, c.name): c.effect for c in e.contributions} for e in (first, second)]
    same = effects[0].keys() & effects[1].keys()  # of equal ones, which are left out depends on the order
    assert len(same) > 5
    np.testing.assert_allclose([effects[0][k] for k in same], [effects[1][k] for k in same], atol=1e-2)


def test_hyperedges_that_teach_without_labels_of_each_other_stay_the_same() -> None:
    h = ehnn.Hypergraph.from_edges([[i, i + 1] for i in range(30)], 31)
    expected = IncidenceTable(h, partly=True).alone
    numbers = np.random.default_rng(0).permutation(31)[:30] - 1  # of 30 in fit, one is not there, one is new
    found = IncidenceTable(h, partly=True, edges=numbers[h.index[1].numpy()]).alone
    np.testing.assert_array_equal(found, np.append(expected, False)[numbers])
    assert 0 < expected.sum() < 30


def test_dates_are_not_rounded(tmp_path: Path) -> None:
    """A date of each node, and one of each hyperedge, tell the labels by a second."""
    generator = np.random.default_rng(0)
    late = generator.integers(0, 2, 40)
    edges = [generator.choice(40, 4, replace=False).tolist() for _ in range(60)]
    later = generator.integers(0, 2, 60)
    h = ehnn.Hypergraph.from_edges(
        edges, 40, x=torch.from_numpy(1.7e9 + late)[:, None], edge_x=torch.from_numpy(1.7e9 + later)[:, None]
    )
    node, edge = h.index.numpy()
    y = late[node] ^ later[edge]
    known = [int(label) if e < 40 else None for label, e in zip(y, edge, strict=True)]
    model = ehnn.IncidenceClassifier(**FAST).fit(h, known)
    assert (model.predict(h) == y)[edge >= 40].mean() > 0.95
    model.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(h), model.predict_proba(h))


@pytest.mark.parametrize("columns", [100, 300])
def test_wide_features_are_reduced_as_in_fit(columns: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    words = (generator.random((60, columns)) < 0.2).astype(np.float32)
    edges = [generator.choice(60, 4, replace=False).tolist() for _ in range(80)]
    names = tuple(f"n{i}" for i in range(60))
    h = ehnn.Hypergraph.from_edges(
        edges, 60, x=torch.from_numpy(words), node_names=names, edge_names=range(80)
    )
    node, edge = h.index.numpy()
    y = (words[node] @ generator.normal(size=columns) > 0).astype(int)
    known = [int(label) if e < 60 else None for label, e in zip(y, edge, strict=True)]
    model = ehnn.IncidenceClassifier(**FAST).fit(h, known)
    model.save(tmp_path)
    expected = dict(zip(pairs_of(h), model.predict_proba(h)[:, 1], strict=True))
    turned = h.permute_nodes(generator.permutation(60)).permute_edges(generator.permutation(80))
    more = ehnn.Hypergraph.from_edges(
        [*edges, [60, 61]], 62, edge_names=range(81), node_names=(*names, "new", "newer"),
        x=torch.cat([h.x, 1 - h.x[:2]]),
    )  # fmt: skip
    for fitted in (model, ehnn.estimators.load(tmp_path)):
        for other in (turned, more):
            found = dict(zip(pairs_of(other), fitted.predict_proba(other)[:, 1], strict=True))
            values = [(found[pair], expected[pair]) for pair in expected]
            assert np.abs(np.diff(values)).max() < 0.02
