"""Roles of nodes within hyperedges in tables and estimators: read, used, saved, and refused where unread."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import ehnn
from ehnn import io as eio
from ehnn.estimators.portfolio import budget
from ehnn.estimators.portfolio.budget import BUDGETS
from ehnn.estimators.portfolio.incidence_overlaps import Overlaps
from ehnn.tables import read

FAST = {"budget": "fast", "random_state": 0}


@pytest.fixture(autouse=True)
def _a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "fast", 0.05)
    monkeypatch.setattr(budget, "STOP", 100.0)  # on a busy machine too


def reactions(count: int = 80, seed: int = 0) -> tuple[ehnn.Hypergraph, list[str]]:
    """Pairs of hyperedges with the same members, sides exchanged: the side of node 0 is the class."""
    rng = np.random.default_rng(seed)
    edges, labels = [], []
    for _ in range(count // 2):
        others = (1 + rng.choice(20, 3, replace=False)).tolist()
        sides = [0, others[0]], others[1:]
        edges += [sides, sides[::-1]]
        labels += ["uses", "makes"]
    return ehnn.Hypergraph.from_directed(edges, num_nodes=21), labels


def pairs_table(h: ehnn.Hypergraph, words: tuple[str, ...]) -> pd.DataFrame:
    node, edge = h.index.tolist()
    assert h.roles is not None
    return pd.DataFrame({
        "node": [f"n{v}" for v in node], "set": [f"s{e}" for e in edge],
        "part": [words[r] for r in h.roles.tolist()],
    })  # fmt: skip


def test_hyperedges_that_differ_in_direction_alone_are_told_apart() -> None:
    h, labels = reactions()
    known = [label if i < 60 else None for i, label in enumerate(labels)]
    model = ehnn.HyperedgeClassifier(**FAST).fit(h, known)
    assert (model.predict(h)[60:] == labels[60:]).mean() > 0.9
    blind = ehnn.HyperedgeClassifier(**FAST).fit(h.replace(roles=None), known)
    assert (blind.predict(h.replace(roles=None))[60:] == labels[60:]).mean() < 0.7


def test_ehnn_by_name_sees_roles_and_others_refuse() -> None:
    h, labels = reactions()
    known = [label if i < 60 else None for i, label in enumerate(labels)]
    h = h.replace(x=(torch.arange(21) == 0).float()[:, None])
    settings = {"width": 32, "epochs": 150, "dropout": 0.0, "residual": True}
    model = ehnn.HyperedgeClassifier(model="ehnn-mlp", **settings).fit(h, known)
    assert (model.predict(h)[60:] == labels[60:]).mean() > 0.8
    with pytest.raises(ValueError, match=r"model 'hgnn' does not take roles; use h.replace\(roles=None\)"):
        ehnn.HyperedgeClassifier(model="hgnn", epochs=1).fit(h, known)


def test_nodes_are_told_apart_by_their_roles() -> None:
    rng = np.random.default_rng(1)
    tails, heads = np.arange(20), np.arange(20, 40)
    edges = [(rng.choice(tails, 2).tolist(), rng.choice(heads, 2).tolist()) for _ in range(60)]
    h = ehnn.Hypergraph.from_directed(edges, num_nodes=40)
    y = ["tail"] * 20 + ["head"] * 20
    known = [label if i % 20 < 10 else None for i, label in enumerate(y)]
    model = ehnn.NodeClassifier(**FAST).fit(h, known)
    assert model.score(h, y) > 0.95


def test_incidences_read_their_role() -> None:
    h, _ = reactions()
    assert h.roles is not None
    y = ["out" if r else "in" for r in h.roles.tolist()]
    known = [label if e < 60 else None for label, e in zip(y, h.index[1].tolist(), strict=True)]
    model = ehnn.IncidenceClassifier(**FAST).fit(h, known)
    assert model.score(h, y) > 0.95


@pytest.mark.parametrize("words", [("tail", "head"), ("substrate", "product"), ("0", "1")])
def test_a_role_column_reaches_the_estimator_and_later_tables(tmp_path: Path, words: tuple[str, ...]) -> None:
    h, labels = reactions()
    table = pairs_table(h, words).merge(
        pd.DataFrame({"set": [f"s{e}" for e in range(80)], "kind": [*labels[:60], *[None] * 20]})
    )
    table.to_csv(tmp_path / "sets.csv", index=False)
    columns = {"node_column": "node", "edge_column": "set", "role_column": "part"}
    data = read(tmp_path / "sets.csv", "kind", task="sets", **columns)
    assert data.h.num_roles == 2
    model = ehnn.HyperedgeClassifier(**FAST).fit(data)
    model.save(tmp_path / "model")
    again = ehnn.estimators.load(tmp_path / "model")
    later = table[table["set"].isin([f"s{e}" for e in range(60, 80)])]
    found = again.predict(later.drop(columns="kind"))
    order = [int(name[1:]) for name in dict.fromkeys(later["set"])]
    assert (found == np.array(labels)[order]).mean() > 0.9
    one_side = later[later["part"] == words[1]].drop(columns="kind")  # fewer roles than in training
    with pytest.warns(UserWarning, match="20 of 20 sets were not there in training"):
        assert len(again.predict(one_side)) == one_side["set"].nunique()


def test_bad_role_columns(tmp_path: Path) -> None:
    h, labels = reactions(8)
    table = pairs_table(h, ("substrate", "product"))
    table["kind"] = [labels[int(name[1:])] for name in table["set"]]
    columns = {"node_column": "node", "edge_column": "set", "role_column": "part"}
    data = read(table, "kind", task="sets", **columns)
    model = ehnn.HyperedgeClassifier(**FAST).fit(data)
    with pytest.raises(ValueError, match="must be one of the roles product, substrate, got 'catalyst'"):
        model.predict(table.replace({"part": {"product": "catalyst"}}))
    with pytest.raises(ValueError, match="part"):
        model.predict(table.drop(columns="part"))
    with pytest.raises(ValueError, match="column 'part' must name a role, is blank"):
        read(table.replace({"part": {"product": ""}}), "kind", task="sets", **columns)
    with pytest.raises(ValueError, match="role_column is for a row per member"):
        read(pd.DataFrame({"members": ["a;b", "b;c"]}), task="hyperedges", role_column="part")
    both = pd.concat([table, table.iloc[:1].assign(part="product")])
    with pytest.raises(
        ValueError, match=r"column 'part' says 'product' of a node that .*row 0.* says 'substrate'"
    ):
        read(both, "kind", task="sets", **columns)
    with pytest.raises(ValueError, match="there is no argument 'rolecolumn'"):
        read(table, "kind", rolecolumn="part")


def test_hif_and_xgi_with_direction_reach_estimators(tmp_path: Path) -> None:
    h, labels = reactions()
    known = [label if i < 60 else None for i, label in enumerate(labels)]
    eio.write_hif(h, tmp_path / "h.json")
    model = ehnn.HyperedgeClassifier(**FAST).fit(tmp_path / "h.json", known)
    assert (model.predict(tmp_path / "h.json")[60:] == labels[60:]).mean() > 0.9
    xgi = pytest.importorskip("xgi")
    other = eio.to_xgi(h)
    assert isinstance(other, xgi.DiHypergraph)
    model = ehnn.HyperedgeClassifier(**FAST).fit(other, known)
    assert (model.predict(other)[60:] == labels[60:]).mean() > 0.9


def test_predict_wants_the_roles_of_fit(tmp_path: Path) -> None:
    h, labels = reactions(20)
    model = ehnn.HyperedgeClassifier(**FAST).fit(h, labels)
    with pytest.raises(ValueError, match="fit had 2 roles of nodes within hyperedges, got none"):
        model.predict(h.replace(roles=None))
    with pytest.raises(ValueError, match="fit had 2 roles of nodes within hyperedges, got 3"):
        model.predict(h.replace(roles=h.roles + 1))
    undirected = ehnn.HyperedgeClassifier(**FAST).fit(h.replace(roles=None), labels)
    with pytest.raises(ValueError, match="fit had no roles, got 2"):
        undirected.predict(h)
    kept = ehnn.HyperedgeClassifier(hypergraph=h, **FAST).fit(range(20), labels)
    kept.save(tmp_path / "kept")
    again = ehnn.estimators.load(tmp_path / "kept")
    assert again.hypergraph.num_roles == 2
    assert torch.equal(again.hypergraph.roles, h.roles)
    assert json.loads((tmp_path / "kept" / "model.json").read_text())["fitted"]["hypergraph"]["roles"] == 2


def test_estimators_without_roles_say_so() -> None:
    h, _ = reactions(20)
    with pytest.raises(ValueError, match="HyperedgePredictor does not take roles"):
        ehnn.HyperedgePredictor(epochs=1).fit(h)
    model = ehnn.HyperedgePredictor(epochs=1, width=8, model="ehnn-mlp").fit(h.replace(roles=None))
    with pytest.raises(ValueError, match="a candidate does not take roles"):
        model.predict_proba(h)
    with pytest.raises(ValueError, match="an estimator of hypergraphs does not take roles"):
        ehnn.HypergraphClassifier(**FAST).fit([h, h], [0, 1])


def test_weights_act_in_ehnn_by_name_and_others_warn() -> None:
    edges = [[0, 1, 2], [2, 3], [3, 4, 5], [0, 5]]
    h = ehnn.Hypergraph.from_edges(edges)
    weighted = h.replace(incidence_weight=torch.linspace(0.2, 2, h.num_incidences))
    y = [0, 0, 1, 1, 0, 1]
    settings = {"model": "ehnn-mlp", "epochs": 3, "width": 8, "validation_fraction": 0.0}
    plain, ones, heavy = (
        ehnn.NodeClassifier(**settings).fit(g, y).predict_proba(g)
        for g in (h, h.replace(incidence_weight=torch.ones(h.num_incidences)), weighted)
    )
    assert np.array_equal(plain, ones)
    assert not np.allclose(plain, heavy)
    with pytest.warns(UserWarning, match="'hgnn' does not read weights"):
        ehnn.NodeClassifier(model="hgnn", epochs=1, validation_fraction=0.0).fit(weighted, y)


def test_validation_chooses_and_is_not_trained_on() -> None:
    h, _ = reactions(40)
    assert h.roles is not None
    y = h.roles.tolist()
    held = h.index[1].numpy() >= 30
    model = ehnn.IncidenceClassifier(**FAST).fit(h, y, validation=held)
    assert (model.model_.bank["target"][held] == -1).all()
    assert model.score(h, y) > 0.95
    with pytest.raises(ValueError, match=r"validation must be a boolean for each incidence \(160\)"):
        ehnn.IncidenceClassifier(**FAST).fit(h, y, validation=held[:3])
    with pytest.raises(ValueError, match="validation must leave labels to train on"):
        ehnn.IncidenceClassifier(**FAST).fit(h, y, validation=np.ones_like(held))


def test_overlaps_are_those_of_other_hyperedges() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [0, 3]])
    found = Overlaps.of(h)
    assert found is not None
    columns = np.expm1(found.columns())
    shared = dict(zip(zip(*h.index.tolist(), strict=True), columns, strict=True))
    assert shared[1, 0][:3].round().tolist() == [0, 1, 0]  # the second hyperedge shares two nodes
    assert shared[0, 0][:3].round().tolist() == [1, 0, 0]  # the third shares one
    labels = np.zeros((h.num_incidences, 2))
    labels[:3] = [[1, 0], [1, 0], [0, 1]]  # known in the first hyperedge alone
    read = found.labels(labels)
    assert not read[:3].any()  # a label is not in its own columns
    pairs = {pair: row.tolist() for pair, row in zip(zip(*h.index.tolist(), strict=True), read, strict=True)}
    assert pairs[1, 1] == pytest.approx([0, 0, np.log(2), 0])  # 1 had the first label there, 2 the second
    assert Overlaps.of(ehnn.Hypergraph.from_edges([[0]])) is not None
