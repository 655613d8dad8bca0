"""Hyperedge prediction: the cells of its table."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import ehnn
from ehnn_paper.hyperedges import data, models

CELL = models.Cell("house-committees", None, "size", 0, seed=3)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = [[i, (i + 1) % 40, (i + 2) % 40] for i in range(40)] + [[0]]
    data.problem.cache_clear()
    monkeypatch.setattr(data, "load", lambda name, data_dir: ehnn.Hypergraph.from_edges(ring))


def test_negatives_of_every_kind_have_the_sizes_of_real_sets(small: None) -> None:
    known, parts = data.problem("house-committees", None, 3, 500, 1, None)
    data.problem.cache_clear()
    assert len(parts) == 1 + len(data.KINDS) + data.RANKED
    assert all(torch.equal(part.orders, parts[0].orders) for part in parts)
    assert known.num_edges + parts[0].num_edges == 41  # the set of one node is known or asked too
    perfect = torch.tensor([1.0] * parts[0].num_edges + [0.0] * (len(parts) - 1) * parts[0].num_edges)
    assert set(data.measure(perfect, parts[0]).values()) == {100.0}


def test_sizes_alone_are_at_chance(small: None) -> None:
    found = models.compute(CELL, "cpu", None)
    data.problem.cache_clear()
    assert {found[f"auroc-{kind}"] for kind in data.KINDS} == {50.0}


@pytest.mark.parametrize("model", models.ESTIMATORS)
def test_estimators_have_no_settings(small: None, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    class Short(ehnn.HyperedgePredictor):
        def __init__(self, **arguments: object) -> None:
            given.append(arguments)
            super().__init__(**arguments | {"width": 8})

    monkeypatch.setattr(ehnn, "HyperedgePredictor", Short)
    found = models.compute(models.Cell("house-committees", None, model, 0, 3, epochs=1), "cpu", None)
    data.problem.cache_clear()
    assert 0 <= found["auroc-hard"] <= 100
    assert found["valid"] > 1  # in percent
    same = {"random_state": 3, "device": "cpu", "epochs": 1}
    assert given == [same | models.ESTIMATORS[model]]


def test_a_cell_names_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = []
    for text in ("one", "other"):
        monkeypatch.setattr(data.loading, "digest", lambda name, data_dir, text=text: text)
        data.digest_of.cache_clear()
        codes.append(data.digest_of("house-committees", str(tmp_path)))
    data.digest_of.cache_clear()
    assert codes[0] != codes[1]
