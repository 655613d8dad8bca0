"""One path: what the command line trains, Python reads, and the other way round."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehnn
from ehnn.tables.later import ask

pd = pytest.importorskip("pandas")

QUICK: dict[str, Any] = {"model": "ehnn-mlp", "width": 8, "epochs": 3, "device": "cpu"}


def members() -> Any:
    draw = np.random.default_rng(0)
    rows = [(f"p{2 * v + c % 2}", f"c{c}") for c in range(24) for v in draw.choice(15, 4, replace=False)]
    return pd.DataFrame(rows, columns=["person", "club"])


def people() -> Any:
    return pd.DataFrame({"person": [f"p{i}" for i in range(30)], "team": ["ab"[i % 2] for i in range(30)],
                         "age": range(30)})  # fmt: skip


def table(**options: Any) -> ehnn.tables.TableData:
    return ehnn.tables.read(
        members(), "team", nodes=people(), node_column="person", edge_column="club", **options
    )


def test_a_table_is_fitted_saved_and_asked_about_later_tables(tmp_path: Path) -> None:
    data = table()
    model = ehnn.NodeClassifier(**QUICK).fit(data)
    model.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    whole = model.predict_proba(data.h)
    source = ehnn.tables.Source(members(), people())
    np.testing.assert_allclose(again.predict_proba(source), whole, atol=1e-6)
    np.testing.assert_allclose(again.predict_proba(data), whole, atol=1e-6)
    later = members().head(3).replace("c0", "new club")
    with pytest.warns(UserWarning, match="1 of 1 sets were not there in training, 'new club' for one"):
        found = again.predict(ehnn.tables.Source(later, people()))
    assert found.shape == (30,)
    with pytest.raises(ValueError, match="reads the columns 'age' of a table of nodes"):
        again.predict(members())


def test_a_later_source_may_call_its_columns_otherwise() -> None:
    model = ehnn.NodeClassifier(**QUICK).fit(table())
    expected = model.predict_proba(ehnn.tables.Source(members(), people()))
    renamed = members().set_axis(["who", "group"], axis=1), people().rename(columns={"person": "name"})
    with pytest.raises(ValueError, match=r"no column 'person' with the names .*; id_column says what it is"):
        model.predict(ehnn.tables.Source(members(), renamed[1]))
    layout = ehnn.tables.Layout(node="who", edge="group")
    found = model.predict_proba(ehnn.tables.Source(*renamed, layout, id_column="name"))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def asked_ages(nodes: Any, sets: Any = None) -> dict[str, float]:
    """What a later table of people makes the model read, whatever part a person is predicted in."""
    source = ehnn.tables.Source(members() if sets is None else sets, nodes, table().reader.layout)
    found = ask(table().reader, source)
    assert sorted(np.concatenate([part.places for part in found.parts])) == [*range(len(found.names))]
    ages = {}
    for part in found.parts:
        assert part.h.x is not None
        assert part.h.node_names is not None
        ages |= {str(part.h.node_names[row]): part.h.x[row, 0].item() for row in part.rows}
    return ages


def test_later_columns_of_known_nodes_are_read() -> None:
    later = people().assign(age=lambda t: 100 - t.age)
    assert asked_ages(later)["p7"] == 93


def test_a_later_table_needs_only_what_is_new() -> None:
    sets = pd.DataFrame({"person": ["new", "p7", "p9"], "club": "club of three"})
    nodes = pd.DataFrame({"person": ["new", "p9"], "age": [50, None]})
    assert asked_ages(nodes, sets) == {"new": 50, "p7": 7, "p9": 9}


def test_later_weights_are_read() -> None:
    weighted = members().assign(weight=2.0)
    read = {"node_column": "person", "edge_column": "club", "weight_column": "weight"}
    reader = ehnn.tables.read(weighted, "team", nodes=people(), **read).reader
    found = ask(reader, ehnn.tables.Source(weighted.assign(weight=3.0), people(), reader.layout))
    assert [part.h.incidence_weight.unique().tolist() for part in found.parts] == [[3.0]]


def test_the_column_of_roles_is_read() -> None:
    with_roles = members().assign(part=["chair", "member"] * 48)
    read = {"node_column": "person", "edge_column": "club", "role_column": "part"}
    data = ehnn.tables.read(with_roles, "team", nodes=people(), **read)
    assert not any("not read" in remark for remark in data.remarks)


def test_labels_of_other_things_are_refused() -> None:
    lists = pd.DataFrame({"members": [["a", "b"], ["b", "c"], ["a"]], "kind": ["x", "y", "x"]})
    with pytest.raises(
        ValueError, match="labels of the table are of sets, and NodeClassifier learns those of nodes"
    ):
        ehnn.NodeClassifier(**QUICK).fit(ehnn.tables.read(lists, "kind"))
    prices = lists.assign(kind=[1.5, 2.5, 3.5])
    with pytest.raises(ValueError, match=r"read as numbers, and HyperedgeClassifier .* HyperedgeRegressor"):
        ehnn.HyperedgeClassifier(**QUICK).fit(ehnn.tables.read(prices, "kind", regression=True))


def test_a_model_of_the_command_line_is_read_in_python(tmp_path: Path, monkeypatch) -> None:
    typer = pytest.importorskip("typer.testing")
    from ehnn.cli.app import app

    monkeypatch.chdir(tmp_path)
    members().to_csv("members.csv", index=False)
    people().drop(columns="age").to_csv("people.csv", index=False)
    command = "train --data members.csv --node-column person --edge-column club --nodes people.csv --out m"
    quick = [
        "--label-column",
        "team",
        "--model",
        "ehnn-mlp",
        "--epochs",
        "3",
        "--width",
        "8",
        "--device",
        "cpu",
    ]
    assert typer.CliRunner().invoke(app, [*command.split(), *quick]).exit_code == 0
    asked = ["predict", "--model", "m", "--data", "members.csv"]
    assert typer.CliRunner().invoke(app, asked).exit_code == 0
    written = pd.read_csv("predictions.csv")
    model = ehnn.estimators.load("m")
    for form in ("members.csv", members()):
        np.testing.assert_allclose(model.predict_proba(form), written[["p(a)", "p(b)"]], atol=2e-6)
    some = ehnn.tables.read(members(), task="hyperedges", node_column="person", edge_column="club").h
    assert model.predict(some).shape == (28,)  # without people of no club


def test_hyperedges_are_known_by_name_or_by_their_nodes() -> None:
    """A member that reads the incidence matrix must not take one hyperedge for another."""
    from ehnn.estimators.portfolio.fit_nodes import FitNodes
    from ehnn.estimators.portfolio.node_table import incidence_matrix

    edges = {"x": ["a", "b"], "y": ["b", "c"], "z": ["a", "c", "d"]}
    fitted = ehnn.io.from_named_edges(edges)
    fit_nodes = FitNodes.of(fitted, np.zeros(4, np.int64), None)
    other = ehnn.io.from_named_edges({"new": ["d", "e"], "z": ["a", "c", "d"], "x": ["b", "a", "e"]})
    found = fit_nodes.columns(fit_nodes.group_places(other), incidence_matrix(other)).toarray()
    names = other.node_names
    assert [set(np.array(names)[column > 0]) for column in found.T] == [
        {"a", "b", "e"},
        set(),
        {"a", "c", "d"},
    ]
    unnamed = other.replace(edge_names=None)
    found = fit_nodes.columns(fit_nodes.group_places(unnamed), incidence_matrix(unnamed)).toarray()
    assert [set(np.array(names)[column > 0]) for column in found.T] == [set(), set(), {"a", "c", "d"}]
    none = ehnn.io.from_named_edges({})
    assert fit_nodes.columns(fit_nodes.group_places(none), incidence_matrix(none)).shape[0] == 0


def test_a_column_that_was_constant_in_fit_says_nothing_later() -> None:
    from ehnn.estimators.portfolio.linear import Linear
    from ehnn.estimators.portfolio.outputs import Output

    draw = np.random.default_rng(0)
    x = np.stack([draw.normal(size=200), np.full(200, 0.6931472)], 1).astype(np.float32)
    target = (x[:, 0] > 0).astype(np.int64)
    model = Linear(Output("classes", 2)).fit(x, target, np.arange(200), None, 0)
    other = x.copy()
    other[:, 1] = 1.0986123
    np.testing.assert_allclose(model.scores(other), model.scores(x), atol=1e-6)
    far = x * np.array([1000.0, 1.0], np.float32)
    assert np.abs(model.scores(far)).max() < 10 * np.abs(model.scores(x)).max()


def test_a_later_table_may_be_a_pipe_with_another_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("node,set,team\na,x,1\nb,x,2\nc,y,1\nd,y,2\n")
    data = ehnn.tables.read(tmp_path / "a.csv", "team")
    model = ehnn.NodeClassifier(**QUICK, features="structural").fit(data)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("node;set\na;x\nb;x\n",))
    writer.start()
    assert model.predict(pipe).shape == (2,)
    writer.join()


def test_later_tables_are_scored() -> None:
    model = ehnn.NodeClassifier(**QUICK).fit(table())
    source = ehnn.tables.Source(members(), people())
    truth = dict(zip(people().person, people().team, strict=True))
    expected = model.score(table())
    assert model.score(source, truth) == pytest.approx(expected)
    assert model.score(source, pd.Series(truth).sample(frac=1, random_state=0)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.score(source)


def test_weights_of_the_labels_of_a_table_are_found_by_name() -> None:
    weight = pd.Series(np.arange(30) + 1.0, [f"p{i}" for i in range(30)])
    first, second = (
        ehnn.NodeClassifier(**QUICK).fit(table(), sample_weight=w) for w in (weight, weight.iloc[::-1])
    )
    np.testing.assert_array_equal(first.predict_proba(table()), second.predict_proba(table()))
    assert first.score(table(), sample_weight=weight) == first.score(table(), None, weight.iloc[::-1])


def test_labels_of_given_nodes_in_another_order_are_refused() -> None:
    h = table().h
    names = list(h.node_names)
    y = pd.Series([name[-1] in "02468" for name in names], names)
    model = ehnn.NodeClassifier(**QUICK, hypergraph=h).fit(names, y)
    with pytest.raises(ValueError, match=r"y has the nodes in another order: give y.loc\[nodes\]"):
        model.fit(names, y.iloc[::-1])
    model.fit(names[::-1], y.iloc[::-1])
