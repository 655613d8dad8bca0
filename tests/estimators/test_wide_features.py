"""Features of many columns, which networks of the portfolio read smoothed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators.portfolio import node_table
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.nn.baselines.tf_hnn import smoothed


def words(columns: int = 300, nodes: int = 40) -> ehnn.Hypergraph:
    """Nodes with a few words each, in sets of three."""
    generator = np.random.default_rng(0)
    x = torch.from_numpy((generator.random((nodes, columns)) < 0.02).astype(np.float32))
    edges = [generator.choice(nodes, 3, replace=False).tolist() for _ in range(nodes)]
    return ehnn.Hypergraph.from_edges(edges, nodes, x=x)


def test_many_columns_are_smoothed_as_tf_hnn_does_it() -> None:
    h = words()
    table = NodeTable(h)
    expected = smoothed(h.features("nodes"), h, 2, 0.3).numpy()
    np.testing.assert_allclose(table.block("wide"), expected, atol=1e-6)
    np.testing.assert_allclose(table.block("smooth"), expected, atol=1e-6)


def test_few_columns_are_read_as_they_are() -> None:
    h = words(columns=20)
    table = NodeTable(h)
    np.testing.assert_array_equal(table.block("wide"), h.features("nodes").numpy())
    assert table.block("smooth").shape == (40, 60)


def test_too_many_numbers_are_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_table, "_NUMBERS", 40 * 300 - 1)
    assert not NodeTable(words()).reads_smoothed
    assert NodeTable(words(nodes=39)).reads_smoothed


def test_other_rows_are_read_as_those_of_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    table = NodeTable(words())
    table.block("wide")
    learned = {name: value for name, value in table.cache.items() if name.startswith("directions.")}
    monkeypatch.setattr(node_table, "_NUMBERS", 0)
    assert NodeTable(words(), learned).reads_smoothed
    assert not NodeTable(words(), {"passes": np.zeros(40)}).reads_smoothed  # a file of an earlier version


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    h = words()
    y: list[int | None] = [i % 2 if i % 4 else None for i in range(40)]
    model = ehnn.NodeClassifier(budget=5.0, random_state=0).fit(h, y)
    model.save(tmp_path / "model")
    again = ehnn.NodeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(model.predict_proba(h), again.predict_proba(h))
    assert model.predict_proba(h.subhypergraph(torch.arange(10))).shape == (10, 2)
