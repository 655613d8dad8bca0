"""NodeClassifier and NodeRegressor: what they learn, what they accept, what they refuse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators import NotFittedError
from ehnn.estimators.supervised import hold_out
from ehnn.estimators.targets import Classes

QUICK: dict[str, Any] = {
    "model": "ehnn-mlp", "width": 16, "epochs": 40, "lr": 0.01, "dropout": 0.0, "options": {"dropout": 0.0},
    "residual": False,
}  # fmt: skip


def hidden(h: ehnn.Hypergraph, every: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Labels with every second one missing, and the missing ones alone."""
    y = h.y.numpy()
    seen = np.arange(len(y)) // 3 % every == 0
    return np.where(seen, y, np.nan), np.where(seen, np.nan, y)


@pytest.mark.parametrize("model", ["ehnn-mlp", "ehnn-transformer", "all-deep-sets", "hgnn"])
def test_classifier_converges(kinds: ehnn.Hypergraph, model: str) -> None:
    known, asked = hidden(kinds)
    chosen: dict[str, Any] = {"model": model, "options": None, "dropout": 0.1}
    if model == "all-deep-sets":
        chosen |= {"dropout": 0.2, "epochs": 80}
    if model == "ehnn-transformer":
        chosen |= {"lr": 0.003, "epochs": 60, "options": {"dropout": 0.0}}
    fitted = ehnn.NodeClassifier(**QUICK | chosen).fit(kinds, known)
    assert fitted.score(kinds, asked) > (0.55 if model == "ehnn-transformer" else 0.85)  # chance is a third
    assert fitted.predict_proba(kinds).shape == (60, 3)
    np.testing.assert_allclose(fitted.predict_proba(kinds).sum(1), 1)
    assert (fitted.classes_[fitted.predict_proba(kinds).argmax(1)] == fitted.predict(kinds)).all()


def test_defaults_find_the_kinds(kinds: ehnn.Hypergraph) -> None:
    known, asked = hidden(kinds)
    assert ehnn.NodeClassifier(width=16, epochs=20).fit(kinds, known).score(kinds, asked) > 0.8


def test_labels_by_name_with_text_classes(kinds: ehnn.Hypergraph) -> None:
    names = [f"p{v}" for v in range(60)]
    h = kinds.replace(node_names=names, y=None)
    label = {f"p{v}": ("red", "green", "blue")[v % 3] for v in range(30)}
    fitted = ehnn.NodeClassifier(**QUICK).fit(h, label | {"p31": None, "p32": float("nan")})
    assert fitted.classes_.tolist() == ["blue", "green", "red"]
    rest = {f"p{v}": ("red", "green", "blue")[v % 3] for v in range(30, 60)}
    assert fitted.score(h, rest) > 0.85
    assert set(fitted.predict(h)) <= {"red", "green", "blue"}


def test_forms_of_missing_labels_agree(kinds: ehnn.Hypergraph) -> None:
    known, _ = hidden(kinds)
    forms = [
        known,
        [None if np.isnan(v) else int(v) for v in known],
        torch.from_numpy(np.nan_to_num(known, nan=-1).astype(int)),
        {v: int(known[v]) for v in np.flatnonzero(known >= 0)},
    ]
    quick = QUICK | {"epochs": 3}
    found = [ehnn.NodeClassifier(**quick).fit(kinds, y).predict_proba(kinds) for y in forms]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_labels_as_pandas_series(kinds: ehnn.Hypergraph) -> None:
    pd = pytest.importorskip("pandas")
    known, _ = hidden(kinds)
    quick = QUICK | {"epochs": 3}
    plain = ehnn.NodeClassifier(**quick).fit(kinds, known).predict_proba(kinds)
    rows = np.flatnonzero(known >= 0)
    for series in (pd.Series(known), pd.Series(known[rows], index=rows)):
        found = ehnn.NodeClassifier(**quick).fit(kinds, series).predict_proba(kinds)
        np.testing.assert_array_equal(found, plain)


def test_index_of_a_pandas_series(kinds: ehnn.Hypergraph) -> None:
    """An index of its own says which nodes the labels are for; the default one does not."""
    pd = pytest.importorskip("pandas")
    h = kinds.replace(node_names=[60 - v for v in range(60)], y=None)  # node 0 is called 60
    y = kinds.y.numpy()
    fitted = ehnn.NodeClassifier(**QUICK | {"epochs": 3}).fit(kinds)
    score = fitted.score(kinds)
    assert fitted.score(h, pd.Series(y)) == score
    assert fitted.score(h, pd.Series(y[::-1], index=pd.RangeIndex(1, 61))) == score
    assert fitted.score(h, pd.Series(y, index=pd.RangeIndex(60, 0, -1))) == score
    assert fitted.score(kinds, pd.Series(y[::2], index=pd.RangeIndex(0, 60, 2))) == fitted.score(
        kinds, {v: y[v] for v in range(0, 60, 2)}
    )
    with pytest.raises(ValueError, match="60 is not a node: expected 0 to 59"):
        fitted.score(kinds, pd.Series(y, index=pd.RangeIndex(1, 61)))
    with pytest.raises(ValueError, match=r"one row per node \(60\), got 30"):
        fitted.score(h, pd.Series(y[:30]))


@pytest.mark.filterwarnings("ignore:y has a label per node by position")
def test_order_of_a_label_per_node() -> None:
    """Numbers from 0 by number, names by first appearance."""
    pd = pytest.importorskip("pandas")
    edges = [[2, 0], [0, 1], [3, 2]]
    rows = pd.DataFrame(
        [(v, e) for e, members in enumerate(edges) for v in members], columns=["node", "edge"]
    )
    forms = [
        (edges, [0, 1, 2, 3]),
        (rows, [0, 1, 2, 3]),
        ([[f"p{v}" for v in members] for members in edges], ["p2", "p0", "p1", "p3"]),
        (rows + 1, [3, 1, 2, 4]),
        (dict(enumerate(edges)), [2, 0, 1, 3]),
    ]
    y = [0.0, 1.0, 5.0, 7.0]
    quick = QUICK | {"epochs": 2, "validation_fraction": 0}
    for form, order in forms:
        found, named = (
            ehnn.NodeRegressor(**quick).fit(form, labels).predict(form)
            for labels in (y, dict(zip(order, y, strict=True)))
        )
        np.testing.assert_array_equal(found, named)


def test_several_labels_per_node(kinds: ehnn.Hypergraph) -> None:
    kind = kinds.y.numpy()
    table = np.stack([kind == 0, kind != 1], 1).astype(float)
    known = table.copy()
    known[1::2] = np.nan
    known[0, 1] = -1  # a single entry may be missing too
    fitted = ehnn.NodeClassifier(**QUICK | {"epochs": 80}).fit(kinds, known)
    asked = table.copy()
    asked[::2] = np.nan
    assert fitted.score(kinds, asked) > 0.8
    assert fitted.predict(kinds).shape == fitted.predict_proba(kinds).shape == (60, 2)
    with pytest.raises(ValueError, match="must hold 0, 1"):
        ehnn.NodeClassifier(**QUICK).fit(kinds, table * 2)


def test_regression(kinds: ehnn.Hypergraph) -> None:
    true = 1000.0 + 50.0 * kinds.y.numpy()
    known = true.copy()
    known[1::2] = np.nan
    fitted = ehnn.NodeRegressor(**QUICK).fit(kinds, known)
    assert fitted.score(kinds, np.where(np.isnan(known), true, np.nan)) > 0.7
    assert abs(fitted.predict(kinds).mean() - 1050) < 15  # on the scale of the data
    two = ehnn.NodeRegressor(**QUICK | {"epochs": 2}).fit(kinds, np.stack([true, -true], 1))
    assert two.predict(kinds).shape == (60, 2)
    with pytest.raises(ValueError, match="has a number"):
        ehnn.NodeRegressor().fit(kinds, [None] * 60)


def test_nodes_without_features_and_other_hypergraphs() -> None:
    """Hubs and leaves by structure alone, then on a hypergraph never seen."""

    def star(n: int) -> ehnn.Hypergraph:
        return ehnn.Hypergraph.from_edges([[0, i] for i in range(2, n)] + [[1, i] for i in range(2, n)])

    y = np.array([1, 1] + [0] * 18)
    fitted = ehnn.NodeClassifier(**QUICK, features="structural").fit(star(20), y)
    assert fitted.predict(star(26)).tolist() == [1, 1] + [0] * 24
    with pytest.raises(ValueError, match="edge_x must have 0 channels"):
        fitted.predict(star(20).replace(edge_x=torch.ones(36, 2)))


def test_hyperedge_features_are_read() -> None:
    """Only the features of hyperedges tell the classes apart."""
    rng = np.random.default_rng(0)
    edges = [[2 * i, 2 * i + 1] for i in range(20)]
    kind = rng.integers(0, 2, 20)
    h = ehnn.Hypergraph.from_edges(edges, edge_x=torch.tensor(kind, dtype=torch.float32).unsqueeze(1))
    y = kind.repeat(2)
    known = np.where(np.arange(40) < 20, y, np.nan)
    fitted = ehnn.NodeClassifier(**QUICK).fit(h, known)
    assert fitted.score(h, y) > 0.95
    with pytest.raises(ValueError, match="does not read hyperedge features"):
        ehnn.NodeClassifier(**QUICK | {"model": "hgnn", "options": None}).fit(h, known)


def test_validation_chooses_residual_connections(kinds: ehnn.Hypergraph, tmp_path: Path) -> None:
    """Both are trained, the better in validation is kept, and a saved model has what it was trained with."""
    quick = QUICK | {"epochs": 15}
    fitted = {r: ehnn.NodeClassifier(**quick | {"residual": r}).fit(kinds) for r in (None, False, True)}
    valid = {r: max(row["valid"] for row in m.history_) for r, m in fitted.items()}
    assert valid[None] == max(valid[False], valid[True])
    assert fitted[None].residual_ == (valid[True] > valid[False])
    same = fitted[fitted[None].residual_]
    np.testing.assert_array_equal(fitted[None].predict_proba(kinds), same.predict_proba(kinds))
    assert not np.array_equal(fitted[False].predict_proba(kinds), fitted[True].predict_proba(kinds))
    fitted[True].save(tmp_path / "kept")
    again = ehnn.NodeClassifier.load(tmp_path / "kept")
    np.testing.assert_allclose(again.predict_proba(kinds), fitted[True].predict_proba(kinds))
    other = {"model": "hgnn", "options": None, "residual": None, "epochs": 1}
    assert not ehnn.NodeClassifier(**QUICK | other).fit(kinds).residual_  # it has none


def test_seed_fixes_everything(kinds: ehnn.Hypergraph) -> None:
    quick = QUICK | {"epochs": 4, "dropout": 0.5}
    first, again, other = (
        ehnn.NodeClassifier(**quick, random_state=s).fit(kinds).predict_proba(kinds) for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_renumbering_permutes_predictions(kinds: ehnn.Hypergraph) -> None:
    fitted = ehnn.NodeClassifier(**QUICK | {"epochs": 3}).fit(kinds)
    perm = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    there = fitted.predict_proba(kinds.permute_nodes(perm))[perm.numpy()]
    np.testing.assert_allclose(there, fitted.predict_proba(kinds), atol=1e-5)


def test_own_module(kinds: ehnn.Hypergraph) -> None:
    class Own(torch.nn.Module):
        def __init__(self, d_in: int, d_out: int) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(d_in, d_out), torch.nn.Dropout(0.3))

        def forward(self, h: ehnn.Hypergraph) -> torch.Tensor:
            return self.net(h.x)

    largest = kinds.x.argmax(1)  # what a linear map can learn
    models = [ehnn.NodeClassifier(model=Own, epochs=60, lr=0.05).fit(kinds, largest) for _ in range(2)]
    assert models[0].score(kinds, largest) > 0.8
    np.testing.assert_array_equal(models[0].predict_proba(kinds), models[1].predict_proba(kinds))
    with pytest.raises(ValueError, match="must give"):
        ehnn.NodeClassifier(model=lambda d_in, d_out: Own(d_in, d_out + 1)).fit(kinds)
    with pytest.raises(ValueError, match=r"must return an nn\.Module"):
        ehnn.NodeClassifier(model=lambda d_in, d_out: 3).fit(kinds)


def test_selection_and_early_stopping(kinds: ehnn.Hypergraph) -> None:
    fitted = ehnn.NodeClassifier(**QUICK | {"epochs": 200}, patience=5).fit(kinds)
    assert len(fitted.history_) < 200
    valid = [row["valid"] for row in fitted.history_]
    assert valid[fitted.best_epoch_ - 1] == max(valid)
    last = ehnn.NodeClassifier(**QUICK | {"epochs": 4}, validation_fraction=0, patience=1).fit(kinds)
    assert last.best_epoch_ == 4


def test_validation_part_is_stratified() -> None:
    target = torch.tensor([0] * 10 + [1] * 5 + [2] + [-1] * 4)
    train, valid = hold_out(Classes((0, 1, 2)), target, 0.2, 0)
    assert not (train & valid).any()
    assert torch.equal(train | valid, target >= 0)
    assert target[valid].bincount(minlength=3).tolist() == [2, 1, 0]  # the only one of a class is trained on


BAD_LABELS = [
    ([-1] * 60, "not one of the 60 rows has a label"),
    ([2] * 60, "only one class, 2"),
    ([1, -1] * 30, "is -1 a class, or no label"),
    ([1, -1, 0] * 20, "give classes as text"),
    ([2, -1] * 30, "only one class, 2; -1 means no label"),
    ([0, 1] * 29, r"one row per node \(60\), got 58"),
    (["a", 1] * 30, "all text or all numbers"),
    ([0.5, 1.0] * 30, "use a regressor"),
    ({0: 1, 77: 0}, "77 is not a node: expected 0 to 59"),
    ("abc", "one label per row"),
    (None, "no labels of its own"),
]


@pytest.mark.parametrize(("y", "message"), BAD_LABELS)
def test_bad_labels(kinds: ehnn.Hypergraph, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ehnn.NodeClassifier().fit(kinds.replace(y=None), y)


def test_label_of_an_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"'bb' is not a node \(did you mean 'bob'\?\)"):
        ehnn.NodeClassifier().fit([["ann", "bob"], ["bob", "cy"]], {"ann": 0, "bb": 1})


def test_class_that_was_not_there_in_fit(kinds: ehnn.Hypergraph) -> None:
    fitted = ehnn.NodeClassifier(**QUICK | {"epochs": 1}).fit(kinds)
    with pytest.raises(ValueError, match="class 7 was not there in fit"):
        fitted.score(kinds, [7] * 60)
    with pytest.raises(ValueError, match="nothing to score"):
        fitted.score(kinds, [-1] * 60)


BAD_PARAMETERS = [
    ({"model": "ehnn-transfomer"}, "did you mean 'ehnn-transformer'"),
    ({"model": 5}, "model must be one of"),
    ({"width": 0}, "width must be"),
    ({"options": {"hedas": 2}}, "hedas"),
    ({"features": "none"}, "features must be one of"),
    ({"validation_fraction": 1.0}, "validation_fraction"),
    ({"random_state": None}, "random_state"),
    ({"lr": -1.0}, "lr must be"),
    ({"epochs": 0}, "epochs must be"),
    ({"device": "nosuch"}, "device 'nosuch'"),
    ({"dropout": 1.5}, "dropout"),
    ({"budget": "quick"}, "budget must be one of"),
    ({"budget": 0}, "seconds above 0"),
    ({"class_weight": "even"}, "class_weight must be"),
    ({"class_weight": {0: -1}}, "class_weight must map classes to weights"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(kinds: ehnn.Hypergraph, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ehnn.NodeClassifier(**parameters).fit(kinds)  # the constructor only stores


def test_bad_features(kinds: ehnn.Hypergraph) -> None:
    with pytest.raises(ValueError, match="NaN or infinity in row 2"):
        ehnn.NodeClassifier().fit(
            kinds.replace(x=torch.ones(60, 1).index_fill(0, torch.tensor([2]), torch.nan))
        )
    fitted = ehnn.NodeClassifier(**QUICK | {"epochs": 1}).fit(kinds)
    with pytest.raises(ValueError, match="x must have 3 channels as in fit, got 4"):
        fitted.predict(kinds.replace(x=torch.ones(60, 4)))
    with pytest.raises(ValueError, match="got no x"):
        fitted.predict(kinds.replace(x=None))


def test_asked_before_fit(kinds: ehnn.Hypergraph) -> None:
    for method in ("predict", "predict_proba", "score", "save"):
        with pytest.raises(NotFittedError, match="call fit first"):
            getattr(ehnn.NodeClassifier(), method)(kinds)


def test_minus_one() -> None:
    """No label beside classes from 0; a class where None says missing or where others are negative."""
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [3, 4, 5]])
    quick = QUICK | {"epochs": 1}
    for y, classes in (
        ([0, 1, -1, -1, None, 1], [-1, 0, 1]),
        ([-2, -1, 0, 1, 2, 0], [-2, -1, 0, 1, 2]),
        (torch.tensor([0, 1, 2, 1, -1, -1]), [0, 1, 2]),
        (["-1", "0", "1", "0", "1", "-1"], ["-1", "0", "1"]),
    ):
        assert ehnn.NodeClassifier(**quick).fit(h, y).classes_.tolist() == classes


def test_progress_says_how_many_trainings_there_are(
    kinds: ehnn.Hypergraph, capsys: pytest.CaptureFixture[str]
) -> None:
    quick: dict[str, Any] = {"model": "ehnn-mlp", "width": 4, "epochs": 1, "verbose": True}
    ehnn.NodeClassifier(**quick).fit(kinds)
    told = capsys.readouterr().err
    assert "NodeClassifier, ehnn-mlp, training 1 of 2: epoch 1/1" in told
    assert "NodeClassifier, ehnn-mlp, residual, training 2 of 2: epoch 1/1" in told
    ehnn.NodeClassifier(**quick, residual=True).fit(kinds)
    assert "NodeClassifier, ehnn-mlp, residual: epoch 1/1" in capsys.readouterr().err


def linear(d_in: int, d_out: int) -> torch.nn.Module:
    raise AssertionError("a fit with a setting that is not read must not begin")


@pytest.mark.parametrize(
    ("model", "residual"),
    [("auto", True), ("auto", False), ("hgnn", True), ("all-set-transformer", True), ("ehnn-mlp+", False),
     (linear, True)],
)  # fmt: skip
def test_residual_is_refused_by_models_that_ignore_it(model: Any, residual: bool) -> None:
    name = f"model '{model}'" if isinstance(model, str) else "a model from a factory"
    told = rf"residual={residual} would be ignored: {re.escape(name)} has no such setting, 'ehnn-mlp' or"
    for kind in (ehnn.NodeClassifier, ehnn.HyperedgeClassifier):
        with pytest.raises(ValueError, match=told):
            kind(model=model, residual=residual).fit([[0, 1], [1, 2]], [0, 1, 0])


@pytest.mark.parametrize("model", ["auto", "hgnn", linear])
def test_a_path_is_refused_by_models_without_one(model: Any) -> None:
    estimator = ehnn.HypergraphClassifier(model=model, path=("nodes", "edges", "graph"))
    with pytest.raises(ValueError, match=r"path=\('nodes', 'edges', 'graph'\) would be ignored: "):
        estimator.fit([[[0, 1]], [[0, 1, 2]]], [0, 1])


def test_a_model_that_is_always_residual_is_trained_once() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3, 4], [4, 5], [5, 6, 7]] * 2)
    model = ehnn.NodeClassifier(model="ehnn-mlp+", width=4, epochs=1)
    told: list[str] = []
    train = model._train
    vars(model)["_train"] = lambda *args, **given: told.append(given["turn"]) or train(*args, **given)
    model.fit(h, [0, 1] * 4)
    assert told == [""]
