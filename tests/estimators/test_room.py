"""Estimators choose how they train from the memory there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn.estimators import NodeClassifier, NodeRegressor, room, supervised
from ehnn.hypergraph import Hypergraph
from ehnn.parallel.synthetic import synthetic
from ehnn.testing import random_hypergraph


@pytest.fixture
def h() -> Hypergraph:
    """Features that tell the class, so that a few steps show whether a model learns."""
    h = synthetic(300, 400, 3)
    return h.replace(x=torch.nn.functional.one_hot(h.y, 3).float())


def free(monkeypatch: pytest.MonkeyPatch, size: float | None) -> None:
    monkeypatch.setattr(room, "free_memory", lambda device: size)


def test_the_first_way_that_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    h = random_hypergraph(1000, 500, (1, 4), seed=0)
    whole, bounded = room.training_bytes(h, "ehnn-mlp", 64, 1)
    assert bounded < whole
    for size, way in ((None, "whole"), (whole, "whole"), (whole - 1, "bounded"), (bounded - 1, "sampled")):
        free(monkeypatch, None if size is None else int(np.ceil(size / room.PART)))
        assert room.way_of(h, "ehnn-mlp", 64, 1, "cpu") == way


def test_free_memory_of_this_machine_is_known() -> None:
    size = room.free_memory("cpu")
    assert size is None or 2**20 < size < 2**50


def test_chunks_give_the_same_model(h: Hypergraph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(room, "_CHUNK", 100)
    settings = {"model": "ehnn-mlp", "width": 8, "epochs": 2, "residual": False, "device": "cpu"}
    found = {}
    for way, size in (("whole", None), ("bounded", 1.2 * sum(room.training_bytes(h, "ehnn-mlp", 8, 1)) / 2)):
        free(monkeypatch, size)
        model = NodeClassifier(**settings).fit(h)
        assert model.way_ == way
        found[way] = model.predict_proba(h)
    np.testing.assert_allclose(found["bounded"], found["whole"], atol=1e-5)


@pytest.mark.parametrize("name", ["ehnn-mlp", "ehnn-transformer"])
def test_samples_learn_and_the_model_is_saved_without_them(
    h: Hypergraph, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free(monkeypatch, 1)
    monkeypatch.setattr(supervised, "BATCH", 60)
    h = h.replace(edge_x=torch.ones(h.num_edges, 1))
    model = NodeClassifier(model=name, width=8, epochs=6, lr=0.03, residual=True, device="cpu").fit(h)
    assert model.way_ == "sampled"
    assert model.score(h) > 0.6  # of three classes
    model.save(tmp_path / "model")
    again = NodeClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(h), model.predict_proba(h), atol=1e-6)


def test_numbers_are_learned_from_samples(h: Hypergraph, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 1)
    monkeypatch.setattr(supervised, "BATCH", 60)
    y = h.y.double().numpy()
    model = NodeRegressor(model="ehnn-mlp", width=8, epochs=6, lr=0.03, residual=True, device="cpu")
    model = model.fit(h.replace(y=None), y, sample_weight=np.ones(len(y)))
    assert model.way_ == "sampled"
    assert model.score(h.replace(y=None), y) > 0.2
