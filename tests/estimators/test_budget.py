"""The time that a fit may take."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators import auto_incidences
from ehnn.estimators.portfolio import budget
from ehnn.estimators.portfolio.budget import BUDGETS, default_seconds, seconds_of
from ehnn.estimators.portfolio.folds import fit_count
from ehnn.estimators.portfolio.node_members import node_members
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output


@pytest.mark.parametrize(
    ("rows", "incidences", "most"),
    [(5000, 50_000, 20), (30_000, 150_000, 70), (1000, 1_000_000, 250), (10**6, 10**6, 250)],
)
def test_the_default_leaves_time_to_read_and_save(rows: int, incidences: int, most: float) -> None:
    """5,000 rows in 30 seconds, 30,000 in 90 and 10⁶ incidences in six minutes, all in all."""
    assert default_seconds(rows, incidences) <= most
    assert seconds_of("fast", rows, incidences) == BUDGETS["fast"] * default_seconds(rows, incidences)


def test_more_data_never_has_less_time() -> None:
    sizes = np.unique(np.geomspace(1, 10**8, 60).astype(np.int64)).tolist()
    for i, j in ((1, 0), (0, 1), (1, 1)):
        found = [default_seconds(n if i else 1000, n if j else 1000) for n in sizes]
        assert found == sorted(found)
        assert 20 <= found[0] <= found[-1] <= 600


def test_incidences_are_given_the_time_of_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    clock_of = auto_incidences.clock_of
    monkeypatch.setattr(auto_incidences, "clock_of", lambda *given: asked.append(given) or clock_of(*given))
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [0, 3], [2, 3]])
    ehnn.IncidenceClassifier(budget=0.01).fit(h, [0, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    assert asked == [(0.01, 4, 10)]


def _circles(nodes: int = 60) -> tuple[ehnn.Hypergraph, list[int]]:
    random = np.random.default_rng(0)
    y = np.arange(nodes) % 2
    edges = [random.choice(np.flatnonzero(y == k % 2), 4, replace=False).tolist() for k in range(nodes)]
    return ehnn.Hypergraph.from_edges(edges, nodes), y.tolist()


def test_a_slow_machine_tries_the_same_members(monkeypatch: pytest.MonkeyPatch) -> None:
    h, y = _circles()
    real = time.monotonic(), time.process_time()
    found = []
    for speed in (1.0, 1.5):
        for name, start in zip(("monotonic", "process_time"), real, strict=True):
            plain = getattr(time, name)
            monkeypatch.setattr(budget.time, name, lambda p=plain, s=start, f=speed: s + f * (p() - s))
        fitted = ehnn.NodeClassifier(budget="fast", width=8, epochs=2).fit(h, y)
        found.append(([row["member"] for row in fitted.leaderboard_], fitted.left_out_))
        monkeypatch.undo()
    assert found[0] == found[1]
    assert "EHNN-MLP" in {*found[0][0], *found[0][1]}


def test_a_fit_that_takes_far_too_long_says_what_it_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    h, y = _circles()
    monkeypatch.setattr(budget.Clock, "passed", property(lambda self: 1e9))
    fitted = ehnn.NodeClassifier(width=8, epochs=2, verbose=True).fit(h, y)
    assert re.search(r"out of time after \d+ s, without .*EHNN-MLP", capsys.readouterr().err)
    assert fitted.left_out_["EHNN-MLP"] == "time"
    assert "vote: members" in {row["member"] for row in fitted.leaderboard_}


@pytest.mark.parametrize(
    ("nodes", "edges", "order"),
    [(100, 50, 3), (5000, 5000, 4), (5000, 500, 40), (30_000, 20_000, 5), (1700, 60_000, 9)],
)
@pytest.mark.parametrize("classes", [2, 20])
def test_there_is_room_for_a_network(nodes: int, edges: int, order: int, classes: int) -> None:
    """Of all members in their order, EHNN-MLP is within the default budget."""
    random = np.random.default_rng(0)
    index = (random.integers(0, nodes, edges * order), np.repeat(np.arange(edges), order))
    h = ehnn.Hypergraph.from_incidence(
        index, nodes, edges, x=torch.from_numpy(random.random((nodes, 30))).float()
    )
    labelled = nodes * 3 // 4
    clock = budget.clock_of("default", h.num_nodes, h.num_incidences)
    plan = {"model": "ehnn-mlp", "width": 64, "dropout": 0.2, "options": None, "epochs": 300}
    fits = fit_count(labelled)
    specs = node_members(NodeTable(h), Output("classes", classes), labelled, plan, clock.seconds / fits)
    within = []
    for spec in specs:
        needed = spec.seconds * (fits + (not spec.bagged))
        if spec.always or clock.room(needed):
            clock.spent += needed
            within.append(spec.name)
    assert "EHNN-MLP" in within
    assert clock.spent <= clock.seconds
