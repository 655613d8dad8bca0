"""scikit-learn's protocol, saving and loading, and every form of input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ehnn
from ehnn import estimators, io
from ehnn._utils.sealed import json_sum
from ehnn.estimators import as_hypergraph, structural_features
from ehnn.tasks.hypergraphs import overlap_hypergraphs

QUICK: dict[str, Any] = {"model": "ehnn-mlp", "width": 8, "epochs": 2}
KINDS = [
    ehnn.NodeClassifier, ehnn.NodeRegressor, ehnn.HyperedgePredictor, ehnn.HypergraphClassifier,
    ehnn.HypergraphRegressor,
]  # fmt: skip


def fitted(kind: type, h: ehnn.Hypergraph) -> tuple[Any, Any]:
    """A fitted estimator, and something to predict on."""
    if kind in (ehnn.HypergraphClassifier, ehnn.HypergraphRegressor):
        members, y = overlap_hypergraphs(12)
        return kind(**QUICK).fit(members, y), members
    if kind is ehnn.HyperedgePredictor:
        return kind(**QUICK).fit(h), [[0, 3, 6], [1, 2], [7, 8, 9, 10]]
    return kind(**QUICK).fit(h, h.y), h


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize("kind", KINDS)
def test_parameters(kind: type) -> None:
    one = kind(width=8, options={"norm": False})
    params = one.get_params()
    assert params["width"] == 8
    assert kind(**params).get_params() == params
    assert one.set_params(lr=0.5) is one
    assert one.lr == 0.5
    with pytest.raises(ValueError, match=r"no parameter 'widht' \(did you mean 'width'\?\)"):
        one.set_params(widht=3)
    with pytest.raises(TypeError):
        kind(widht=3)
    assert repr(kind(width=8)) == f"{kind.__name__}(width=8)"
    assert vars(kind(width=8)) == kind(width=8).get_params()  # nothing but what it was given


def test_long_parameters_are_shown_in_short() -> None:
    pd = pytest.importorskip("pandas")
    edges = [["ann", "bob"], ["bob", "cy"]] * 50
    frame = pd.DataFrame(
        [(v, e) for e, members in enumerate(edges) for v in members], columns=["node", "edge"]
    )
    for given in (edges, frame, np.eye(4)):
        shown = repr(ehnn.NodeClassifier(hypergraph=given, width=8))
        assert shown.startswith("NodeClassifier(width=8, hypergraph=")
        assert len(shown) < 250
    assert repr(ehnn.NodeClassifier(width=np.int64(64), epochs=7)) == "NodeClassifier(epochs=7)"


@pytest.mark.parametrize("kind", KINDS)
def test_clone(kind: type, kinds: ehnn.Hypergraph) -> None:
    base = pytest.importorskip("sklearn.base")
    one, data = fitted(kind, kinds)
    twin = base.clone(one)
    assert twin is not one
    assert twin.get_params() == one.get_params()
    with pytest.raises(ValueError, match="call fit first"):
        twin.predict(data)
    assert base.is_classifier(one) == ("Regressor" not in kind.__name__)


def test_cross_validation_over_nodes(kinds: ehnn.Hypergraph) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    chosen: dict[str, Any] = {"epochs": 30, "lr": 0.01, "residual": False}
    model = ehnn.NodeClassifier(hypergraph=kinds.replace(y=None), **QUICK | chosen)
    y = kinds.y.numpy()
    scores = selection.cross_val_score(model, np.arange(60), y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8
    search = selection.GridSearchCV(model, {"epochs": [1, 30]}, cv=2).fit(np.arange(60), y)
    assert search.best_params_ == {"epochs": 30}
    assert search.predict([0, 1]).shape == (2,)


def test_cross_validation_over_hypergraphs() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    members, y = overlap_hypergraphs(16)
    scores = selection.cross_val_score(ehnn.HypergraphClassifier(**QUICK), members, y.numpy(), cv=2)
    assert scores.shape == (2,)


def test_nodes_of_a_stored_hypergraph_by_name() -> None:
    edges = [["ann", "bob"], ["bob", "cy"], ["dan", "eve"], ["eve", "flo"]]
    model = ehnn.NodeClassifier(hypergraph=edges, **QUICK)
    model.fit(["ann", "cy", "dan"], ["l", "l", "r"])
    assert model.predict(["flo", "bob"]).shape == (2,)
    with pytest.raises(ValueError, match="node 'anna' is not a node"):
        model.predict(["anna"])
    with pytest.raises(ValueError, match=r"one row per node given \(1\), got 2"):
        model.fit(["ann"], [0, 1])


# ---------------------------------------------------------------------- saving


@pytest.mark.parametrize("kind", KINDS)
def test_saving(kind: type, kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    one, data = fitted(kind, kinds)
    one.save(tmp_path / "m")
    one.save(tmp_path / "m")  # again, in place
    assert sorted(p.suffix for p in (tmp_path / "m").iterdir()) == [".json", ".safetensors"]
    for twin in (kind.load(tmp_path / "m"), estimators.load(tmp_path / "m")):
        np.testing.assert_array_equal(twin.predict(data), one.predict(data))
        assert twin.get_params() == one.get_params()
        assert twin.history_ == one.history_


def test_a_new_save_replaces_the_old_one(kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    for epochs in (1, 2):
        last = ehnn.NodeClassifier(**QUICK | {"epochs": epochs}).fit(kinds)
        last.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(
        ehnn.NodeClassifier.load(tmp_path).predict_proba(kinds), last.predict_proba(kinds)
    )


def test_text_classes_and_names_survive(tmp_path: Path) -> None:
    edges = [["ann", "bob"], ["bob", "cy"], ["cy", "ann", "dé"]]
    ehnn.NodeClassifier(**QUICK).fit(edges, {"ann": "rød", "cy": "blå"}).save(tmp_path / "c")
    assert ehnn.NodeClassifier.load(tmp_path / "c").classes_.tolist() == ["blå", "rød"]
    ehnn.HyperedgePredictor(**QUICK, validation_fraction=0).fit(edges).save(tmp_path / "p")
    found = ehnn.HyperedgePredictor.load(tmp_path / "p")
    assert found.predict_proba([["ann", "dé"]]).shape == (1, 2)


@pytest.mark.parametrize("names", [None, [f"p{v}" for v in range(60)], [np.int64(v + 1) for v in range(60)]])
def test_a_stored_hypergraph_is_saved(
    kinds: ehnn.Hypergraph, names: list[Any] | None, tmp_path: Path
) -> None:
    nodes = np.arange(60) if names is None else names
    one = ehnn.NodeClassifier(hypergraph=kinds.replace(node_names=names), **QUICK).fit(nodes, kinds.y)
    one.save(tmp_path)
    for twin in (ehnn.NodeClassifier.load(tmp_path), estimators.load(tmp_path)):
        np.testing.assert_array_equal(twin.predict_proba(nodes[40:]), one.predict_proba(nodes[40:]))
        assert twin.score(nodes, kinds.y) == one.score(nodes, kinds.y)
        assert twin.hypergraph == one.hypergraph.replace(y=None)


@pytest.mark.filterwarnings("ignore:.*does not read weights", "ignore:.*incidence_x")
def test_what_is_saved_of_a_stored_hypergraph(kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    """All that a model can read, also where two of it are one tensor; isolated nodes, empty hyperedges."""
    both = torch.ones(5, 1)
    h = ehnn.Hypergraph.from_edges([[0, 1], [], [1, 2], [0], []], 5, x=both, edge_x=both)
    h = h.replace(edge_weight=both[:, 0], incidence_weight=torch.arange(5.0), incidence_x=both)
    parts = ehnn.batch([h, h])
    for hypergraph in (h, parts, kinds.to("cpu").replace(y=None, x=None), [["ann", "bob"], ["bob", "cy"]]):
        nodes = np.asarray(as_hypergraph(hypergraph).node_names or np.arange(5))[:3]
        ehnn.NodeRegressor(hypergraph=hypergraph, **QUICK).fit(nodes, [0.0, 1.0, 2.0]).save(tmp_path)
        assert ehnn.NodeRegressor.load(tmp_path).hypergraph == as_hypergraph(hypergraph)


def test_features_of_incidences_are_not_ignored_silently() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]]).replace(incidence_x=torch.ones(4, 1))
    with pytest.warns(UserWarning, match="incidence_x .* do not read it"):
        as_hypergraph(h)


@pytest.mark.parametrize(
    ("kind", "new"), [(ehnn.NodeClassifier, "hypergraph"), (ehnn.HyperedgePredictor, "members")]
)
def test_files_of_older_versions(kind: type, new: str, kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    one, data = fitted(kind, kinds)
    one.save(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    del about["fitted"][new], about["sha256"]
    about["version"] = 1
    (tmp_path / "model.json").write_text(json.dumps(about))
    np.testing.assert_array_equal(kind.load(tmp_path).predict(data), one.predict(data))


def test_names_that_cannot_be_saved(tmp_path: Path) -> None:
    one = ehnn.NodeRegressor(hypergraph=[[("a", 1), ("b", 2)]], **QUICK).fit([("a", 1), ("b", 2)], [0, 1])
    with pytest.raises(ValueError, match=r"must be text or integers to be saved, got \('a', 1\)"):
        one.save(tmp_path)
    edges = {"e": [("a", 1), ("b", 2)], "f": [("b", 2), ("c", 3)]}  # new hyperedges need the names of fit
    for model in (ehnn.HyperedgeRegressor(**QUICK), ehnn.HyperedgeClassifier(budget="fast")):
        with pytest.raises(ValueError, match=r"must be text or integers to be saved, got \('a', 1\)"):
            model.fit(edges, [0, 1]).save(tmp_path)


@pytest.mark.parametrize("changed", [{"width": 16}, {"model": "hgnn"}, {"model": "auto"}])
def test_parameters_that_changed_after_fit_are_not_saved(
    changed: dict[str, Any], kinds: ehnn.Hypergraph, tmp_path: Path
) -> None:
    one = ehnn.NodeClassifier(**QUICK).fit(kinds)
    with pytest.raises(ValueError, match="parameters were changed after fit, fit again before save"):
        one.set_params(**changed).save(tmp_path)
    one.set_params(**QUICK).save(tmp_path)
    assert ehnn.NodeClassifier.load(tmp_path).width == QUICK["width"]


def test_own_module_is_asked_for(kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    def make(d_in: int, d_out: int) -> torch.nn.Module:
        return ehnn.nn.baselines.MLP(d_in, d_out, width=4)

    one = ehnn.NodeClassifier(model=make, epochs=2).fit(kinds)
    one.save(tmp_path)
    with pytest.raises(ValueError, match="pass its factory"):
        ehnn.NodeClassifier.load(tmp_path)
    twin = ehnn.NodeClassifier.load(tmp_path, model=make)
    np.testing.assert_array_equal(twin.predict(kinds), one.predict(kinds))


def test_damaged_files(kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    ehnn.NodeClassifier(**QUICK).fit(kinds).save(tmp_path)
    about, weights = tmp_path / "model.json", next(tmp_path.glob("*.safetensors"))
    text, data = about.read_text(), weights.read_bytes()
    whole = json.loads(text)
    del whole["sha256"]

    def sealed(about: dict[str, Any]) -> bytes:
        return json.dumps(about | {"sha256": json_sum(about)}).encode()

    wrong: list[tuple[Path, bytes, str]] = [
        (about, text[:100].encode(), "is damaged"),
        (about, b"[]", "not a saved estimator"),
        (about, sealed(whole | {"version": 9}), "version 9"),
        (about, sealed(whole | {"class": "NodeRegressor"}), "holds a 'NodeRegressor'"),
        (about, sealed(whole | {"weights": {"file": "../x", "sha256": ""}}), "names no file"),
        (about, sealed(whole | {"params": {}}), "saved with a model of your own"),
        (about, sealed(whole | {"params": whole["params"] | {"widht": 1}}), "is damaged"),
        (about, sealed(whole | {"params": whole["params"] | {"width": 9}}), "is damaged"),
        (about, sealed({k: v for k, v in whole.items() if k != "fitted"}), "is damaged"),
        (about, sealed(whole | {"fitted": {"targets": 3}}), "is damaged"),
        (about, json.dumps(whole | {"fitted": {}}).encode(), "do not have the checksum"),
        (weights, data[:-1], "is damaged"),
        (weights, b"", "is damaged"),
    ]
    for path, content, message in wrong:
        about.write_text(text)
        weights.write_bytes(data)
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            ehnn.NodeClassifier.load(tmp_path)
    weights.unlink()
    about.write_text(text)
    with pytest.raises(ValueError, match="cannot be read"):
        ehnn.NodeClassifier.load(tmp_path)
    with pytest.raises(ValueError, match="holds no saved estimator"):
        ehnn.NodeClassifier.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        ehnn.NodeClassifier(**QUICK).fit(kinds).save(tmp_path / "file")


# ---------------------------------------------------------------------- forms of input


def test_every_form_of_input() -> None:
    sparse, pd = pytest.importorskip("scipy.sparse"), pytest.importorskip("pandas")
    edges = [[0, 1, 2], [2, 3], [1, 3]]
    h = ehnn.Hypergraph.from_edges(edges)
    node, edge = h.index.numpy()
    matrix = sparse.csr_array((np.ones(len(node), dtype=int), (node, edge)))
    forms = [
        h, edges, tuple(map(set, edges)), matrix, matrix.toarray().astype(bool), h.index,
        pd.DataFrame({"node": node, "hyperedge": edge}), pd.DataFrame({"a": node, "edge": edge}),
        pd.DataFrame({"Edge": edge, "w": 0.5, "Node": node}), io.to_hif_dict(h),
        [np.array(e) for e in edges], sparse.csr_matrix(matrix).todense(),
    ]  # fmt: skip
    for form in forms:
        found = as_hypergraph(form)
        if isinstance(form, pd.DataFrame):  # its numbers stay names: a part of it has gaps
            assert (found.node_names, found.edge_names) == ((0, 1, 2, 3), (0, 1, 2))
            found = found.replace(node_names=None, edge_names=None)
        assert found == h, type(form)


def test_names_of_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"who": ["ann", "bob", "bob"], "set": ["chess", "chess", "choir"]})
    h = as_hypergraph(frame)
    assert h.node_names == ("ann", "bob")
    assert h.edge_names == ("chess", "choir")
    for bad, message in (
        (frame.assign(age=1), "which columns of the frame"),
        (frame.assign(who=["ann", None, "bob"]), "column 'who' of the frame is empty in row 1"),
        (frame["who"], "got Series"),
    ):
        with pytest.raises(ValueError, match=message):
            as_hypergraph(bad)


@pytest.mark.parametrize(
    ("columns", "node"),
    [
        (("set", "node"), "node"), (("SET_ID", "Member"), "Member"), (("vertex", "group"), "vertex"),
        (("group_id", "node_id"), "node_id"), (("hyperedge_id", "who"), "who"), (("who", "edge_id"), "who"),
        (("where", "member"), "member"), (("member", "where"), "member"),
        (("group", "hyperedge", "w", "member", "node"), "node"),
    ],
)  # fmt: skip
def test_columns_of_a_frame(columns: tuple[Any, ...], node: Any) -> None:
    pd = pytest.importorskip("pandas")
    h = as_hypergraph(pd.DataFrame({c: ["p", "q"] if c == node else ["c", "c"] for c in columns}))
    assert h.node_names == ("p", "q")
    assert h.edge_names == ("c",)


def test_columns_of_a_frame_that_do_not_say_which() -> None:
    pd = pytest.importorskip("pandas")
    for columns in (
        ["who", "where", "w"], ["set", "who", "w"], ["node", "where", "w"], ["node"], ["who", "where"],
        ["club", "person"], ["group", "set"], [0, 1],
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"which columns of the frame .* node_column="):
            as_hypergraph(pd.DataFrame([["p"] * len(columns)], columns=columns))


def test_a_matrix_of_numbers_is_no_incidence_matrix() -> None:
    ones = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert as_hypergraph(ones) == as_hypergraph(torch.from_numpy(ones)) == as_hypergraph([[0, 1], [1, 2]])
    for matrix in (np.random.default_rng(0).random((50, 4)), torch.rand(2, 4), ones * 2):
        with pytest.raises(ValueError, match=r"must hold 0 and 1, got .*features are given as x"):
            as_hypergraph(matrix)


def test_frames_of_other_libraries_and_files(tmp_path: Path) -> None:
    polars, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rows = {"node": ["ann", "bob", "bob"], "edge": ["x", "x", "y"]}
    wanted = as_hypergraph({"x": ["ann", "bob"], "y": ["bob"]})
    path = tmp_path / "rows.csv"
    path.write_text("node,edge\nann,x\nbob,x\nbob,y\n", encoding="utf-8")
    for form in (
        polars.DataFrame(rows),
        pa.table(rows),
        path,
        str(path),
        ehnn.tables.read(path, task="hyperedges"),
    ):
        assert as_hypergraph(form) == wanted


@pytest.mark.parametrize("library", ["pyg", "pyg_bipartite", "xgi", "hypernetx", "networkx"])
@pytest.mark.filterwarnings("ignore")
def test_objects_of_other_libraries(library: str) -> None:
    pytest.importorskip({"pyg": "torch_geometric", "pyg_bipartite": "torch_geometric"}.get(library, library))
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.randn(4, 2))
    assert as_hypergraph(getattr(io, f"to_{library}")(h)) == h


def test_what_is_no_hypergraph() -> None:
    with pytest.raises(FileNotFoundError, match=r"members\.csv"):
        as_hypergraph("members.csv")
    for bad, message in (
        (3, "a hypergraph must be"),
        ([1, 2], "collections of nodes"),
        (["ab", "cd"], "got the text 'ab'"),
        (None, "a hypergraph must be"),
    ):
        with pytest.raises(ValueError, match=message):
            as_hypergraph(bad)
    data = pytest.importorskip("torch_geometric.data")
    with pytest.raises(ValueError, match="HyperGraphData, or a Data with hyperedge_index, is expected"):
        as_hypergraph(data.Data(edge_index=torch.tensor([[0, 1], [1, 0]])))
    assert as_hypergraph(data.Data(hyperedge_index=torch.tensor([[0, 1, 2], [0, 0, 1]]))).num_edges == 2


def test_structural_features_are_equivariant(ring: list[list[int]]) -> None:
    h = ehnn.Hypergraph.from_edges([*ring, [], [3]], num_nodes=45)
    perm = torch.randperm(45, generator=torch.Generator().manual_seed(0))
    assert torch.equal(structural_features(h.permute_nodes(perm))[perm], structural_features(h))
    assert structural_features(h)[44].tolist() == [1, 0, 0, 0, 0]
    assert structural_features(ehnn.Hypergraph.from_edges([])).shape == (0, 5)
