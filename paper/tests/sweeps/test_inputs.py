"""The ablation of inputs: one input at a time, the same for every model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ehnn.hypergraph import Hypergraph
from ehnn_paper.benchmark import inputs, table
from ehnn_paper.results import read_rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    y = torch.arange(24) % 2
    edges = [list(range(k, 24, 2)) for k in range(2)] + [[0, 1, 2], [3, 4]]
    x = torch.randn(24, 4, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(table, "labelled", lambda name, data_dir: Hypergraph.from_edges(edges, x=x, y=y))


def test_trials_differ_in_the_input_alone() -> None:
    asked = inputs.trials(["some"], inputs.MODELS, runs=2, epochs=1, first_seed=7)
    assert len(asked) == len(inputs.MODELS) * len(inputs.INPUTS)
    for model in inputs.MODELS:
        own = [dict(t.settings) for t in asked if t.model.startswith(f"{model},")]
        given = [settings.pop("inputs") for settings in own]
        assert all(settings == own[0] for settings in own)
        assert given == list(inputs.INPUTS.values())


def test_rows_name_dataset_and_input(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def here(asked, compute, folder, **options) -> int:
        kept = [(trial, compute(trial)) for trial in asked]
        monkeypatch.setattr(inputs, "choose", lambda asked, folder: _chosen(kept))
        return 0

    monkeypatch.setattr(inputs, "sweep", here)
    monkeypatch.setattr(inputs, "digest_of", lambda data_dir, name: "")
    asked = inputs.trials(["zoo"], ["mlp", "ehnn-mlp"], runs=2, epochs=1, first_seed=700)
    assert inputs.reproduce(asked, "", "cpu", tmp_path, jobs=1) == 0
    found = {(row["setting"], row["model"]): row for row in read_rows("inputs", tmp_path)}
    names = [f"zoo, {name}" for name in inputs.INPUTS]
    assert set(found) == {(name, model) for name in names for model in ("mlp", "ehnn-mlp")}
    assert found["zoo, gate", "mlp"]["settings"]["inputs"] == {"gate": 8.0}
    assert found["zoo, plain", "mlp"]["seeds"] == [700, 701]


def _chosen(kept):
    from ehnn_paper.sweep import Chosen

    for trial, found in kept:
        yield trial.dataset, trial.model, Chosen(found["test"], [0] * len(found["test"]), (trial,), [])
