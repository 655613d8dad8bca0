"""The time that a fit may take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ehnn
from ehnn.estimators import auto_incidences
from ehnn.estimators.portfolio.budget import BUDGETS, default_seconds, seconds_of


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
