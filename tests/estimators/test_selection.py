"""Which members are trusted, and which rows judge them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.special import softmax

import ehnn
from ehnn.estimators.portfolio.folds import Folds, fold_count
from ehnn.estimators.portfolio.linear import Linear, linear_seconds, search_rows
from ehnn.estimators.portfolio.nets import MLP, Schedule, mlp_seconds
from ehnn.estimators.portfolio.outputs import Output
from ehnn.estimators.portfolio.portfolio import Portfolio
from ehnn.estimators.portfolio.selection import greedy, guarded, hedged, shrunk

NUMBERS = Output("numbers", 1)


def test_an_average_within_two_standard_errors_of_nothing_is_the_mean() -> None:
    random = np.random.default_rng(0)
    y = random.standard_normal((400, 1))
    ones = np.ones(400)
    for signal, least, most in ((0.0, 0.7, 1.0), (1.0, 0.0, 0.05)):
        scores = {"mean": np.zeros((400, 1)), "one": signal * y + 0.5 * random.standard_normal((400, 1))}
        found = shrunk(NUMBERS, scores, {"one": 1.0}, y, ones)
        assert sum(found.values()) == pytest.approx(1)
        assert least <= found["mean"] <= most
    classes = Output("classes", 2)
    assert shrunk(classes, {}, {"one": 1.0}, np.zeros(3, np.int64), np.ones(3)) == {"one": 1.0}


def test_noise_is_predicted_as_its_mean() -> None:
    lost = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        edges = [random.choice(120, 4, replace=False).tolist() for _ in range(120)]
        x = torch.from_numpy(random.standard_normal((120, 5))).float()
        h = ehnn.Hypergraph.from_edges(edges, 120, x=x)
        y = random.standard_normal(120)
        fitted = ehnn.NodeRegressor(budget=0.01).fit(h, {i: y[i] for i in range(90)})
        asked = y[90:]
        error, least = ((asked - p) ** 2 for p in (fitted.predict(h)[90:], y[:90].mean()))
        lost.append((error.sum() - least.sum()) / ((asked - asked.mean()) ** 2).sum())
    assert np.mean(lost) < 0.02


@pytest.mark.parametrize(("rows", "folds", "judged"), [(20, 15, 3), (75, 10, 2), (150, 5, 1), (2000, 3, 1)])
def test_few_rows_are_judged_more_often(rows: int, folds: int, judged: int) -> None:
    output, target = Output("classes", 2), np.arange(rows) % 2
    drawn = Folds.draw(output, target, None, 0)
    assert len(drawn.train) == folds == judged * fold_count(rows)
    assert np.array_equal(np.bincount(drawn.checked, minlength=rows), np.full(rows, judged))
    for train, asked, place in zip(drawn.train, drawn.asked, drawn.place, strict=True):
        assert not np.intersect1d(train, asked).size
        assert np.array_equal(drawn.checked[place], asked)


def test_a_penalty_is_judged_on_all_folds_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[tuple[float, int]] = []
    plain = Portfolio._fitted

    def counted(self: Portfolio, spec, table, rows, weight, number):  # type: ignore[no-untyped-def]
        if spec.name == "linear: features":
            fitted.append((dict(spec.options).get("strength", 1.0), len(rows)))
        return plain(self, spec, table, rows, weight, number)

    monkeypatch.setattr(Portfolio, "_fitted", counted)
    x = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    h = ehnn.Hypergraph.from_edges([[0, 1]], 200, x=x)
    ehnn.NodeClassifier(budget=0.01).fit(h, (x[:, 0] > 0).long().tolist())
    assert len([one for one in fitted if one[0] == fitted[0][0]]) >= 5


def test_dropout_of_members_is_seeded() -> None:
    """The same seed gives the same network; the state of the process has no part in it."""
    x, y = np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32), np.arange(60) % 2
    found = []
    for process, seed in ((0, 1), (5, 1), (0, 2)):
        torch.manual_seed(process)
        model = MLP(Output("classes", 2), schedule=Schedule(3))
        found.append(model.fit(x, y, np.arange(60), None, seed).scores(x))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 1e-3


def test_more_rows_and_columns_take_longer() -> None:
    few, many = (mlp_seconds(rows, 50, Schedule(20)) for rows in (1000, 100_000))
    assert 0 < few < many
    assert mlp_seconds(1000, 500, Schedule(20)) > few


def test_a_few_sure_rows_do_not_decide() -> None:
    """A member that is right more often is not given up for three rows that it is wrongly sure about."""
    random, output = np.random.default_rng(0), Output("classes", 2)
    y = random.integers(0, 2, 400)

    def member(hits: float, sure: float) -> np.ndarray:
        says = np.where(random.random(400) < hits, y, 1 - y)
        return np.log(np.where(says[:, None] == np.arange(2), sure, 1 - sure))

    good, dull = member(0.9, 0.9), member(0.6, 0.6)
    good[:3] = np.log(np.where(y[:3, None] == np.arange(2), 1e-7, 1 - 1e-7))
    found = greedy(output, {"dull": dull, "good": good}, y, np.ones(400))
    assert found["good"] > 0.8


def test_few_labels_do_not_choose_between_equals() -> None:
    """With nine labels, members that have all of them right share the weight; not with thousands."""
    output = Output("classes", 2)
    for rows, least, most in ((9, 0.2, 0.5), (9000, 0.0, 0.01)):
        y = np.arange(rows) % 2
        sure, fair, bad = (np.log(np.where(y[:, None] == np.arange(2), p, 1 - p)) for p in (0.9, 0.85, 0.1))
        found = hedged(output, {"sure": sure, "fair": fair, "bad": bad}, {"sure": 1.0}, y, rows)
        assert sum(found.values()) == pytest.approx(1)
        assert least <= found.get("fair", 0.0) <= most
        assert "bad" not in found
    assert hedged(NUMBERS, {}, {"one": 1.0}, np.zeros((3, 1)), 3) == {"one": 1.0}


def test_a_weak_penalty_gets_the_last_of_many_rows_right() -> None:
    """Six of 4,000 rows are told by a rare column alone; a mean gradient of 10⁻³ leaves four wrong."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(4000, 3)).astype(np.float32)
    x[:, 0] += np.where(generator.random(4000) < 0.5, -3, 3)
    x[:, 0] = np.where(np.abs(x[:, 0]) < 1, np.sign(x[:, 0]), x[:, 0])
    x[:, 2] = generator.random(4000) < 0.002
    y = ((x[:, 0] > 0) | (x[:, 2] > 0)).astype(np.int64)
    model = Linear(Output("classes", 2), strength=1000.0).fit(x, y, np.arange(4000), None, 0)
    assert (model.scores(x).argmax(1) == y).all()


def test_linear_members_learn_rare_classes() -> None:
    """The gradient of each class is small beside its share, however rare it is."""
    generator = np.random.default_rng(0)
    rows, classes = 6000, 12
    y = np.minimum(generator.geometric(0.45, rows) - 1, classes - 1)
    x = (generator.random((rows, 3 * classes)) < 0.05).astype(np.float32)
    for column in range(3):
        x[np.arange(rows), 3 * y + column] = generator.random(rows) < 0.6

    def left(rough: bool) -> float:
        fitted = Linear(Output("classes", classes), 1.0, rough).fit(
            csr_matrix(x), y, np.arange(rows), None, 0
        )
        hot = np.eye(classes)[y]
        gradient = x.T @ (softmax(fitted.scores(csr_matrix(x)), 1) - hot) + fitted.arrays["weight"]
        return float((np.abs(gradient).max(0) / hot.sum(0)).max())

    assert left(False) < 0.1 < left(True)


def test_the_search_of_a_penalty_reads_fewer_rows_where_a_fit_is_long() -> None:
    assert search_rows(50_000, linear_seconds(50_000, 20, 4)) == 50_000
    long = linear_seconds(50_000, 800, 60)
    assert 8000 <= search_rows(50_000, long) < 10_000
    assert search_rows(5000, linear_seconds(5000, 20_000, 60)) == 5000
    assert linear_seconds(5000, 10, 60, every=100_000) > 10 * linear_seconds(5000, 10, 60)


def test_a_member_that_is_right_more_often_and_less_sure_is_not_alone() -> None:
    y, output, ones = np.zeros(400, np.int64), Output("classes", 2), np.ones(400)

    def member(right: int, wrong: float) -> np.ndarray:
        share = np.where(np.arange(400) < right, 0.6, wrong)
        return np.log(np.stack([share, 1 - share], 1))

    scores = {"average": member(300, 0.4), "lucky": member(310, 0.01), "better": member(310, 0.4)}
    for name, chosen in (("lucky", "average"), ("better", "better")):
        pair = {n: scores[n] for n in ("average", name)}
        assert guarded(output, pair, {"average": 1.0}, y, ones) == {chosen: 1.0}
