"""Runs to report about, made once: small, but trained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehnn import Hypergraph
from ehnn.estimators import NodeClassifier
from ehnn.report import attention_by_order, data_record, hypergraph_record, score_record, write_run

from .browser import Browser, find_browser

EVIL = "</title></script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>\"&"
LABELS = ["north", "south", "west"]


@pytest.fixture(scope="session")
def club() -> Hypergraph:
    """36 people in three teams and 24 clubs, most of them within a team."""
    rng = np.random.default_rng(1)
    teams = np.arange(36) // 12
    edges = [rng.choice(np.flatnonzero(teams == e % 3), 2 + e % 4, replace=False).tolist() for e in range(21)]
    x = torch.tensor(rng.normal(size=(36, 4)) + 2 * np.eye(3, 4)[teams], dtype=torch.float32)
    return Hypergraph.from_edges([*edges, [0, 12], [13, 24, 1], []], 36, x=x, y=torch.tensor(teams))


@pytest.fixture(scope="session")
def runs(club: Hypergraph, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two finished runs: a Transformer and an MLP."""
    folder = tmp_path_factory.mktemp("runs")
    return [train(club, model, folder / model) for model in ("ehnn-transformer", "ehnn-mlp")]


def train(h: Hypergraph, model: str, folder: Path) -> Path:
    assert h.y is not None
    options = {"heads": 2} if model == "ehnn-transformer" else None
    estimator = NodeClassifier(model=model, width=8, epochs=6, lr=0.03, dropout=0.0, options=options)
    estimator.fit(h)
    predicted = np.array(estimator.predict(h))
    predicted[[2, 15]] = (predicted[[2, 15]] + 1) % 3  # two mistakes to look at
    return write_run(
        folder,
        task="node classification",
        model=model,
        parameters=estimator.get_params(),
        data=data_record(h),
        labels=LABELS,
        history=estimator.history_,
        test=score_record(h.y, predicted, LABELS, h),
        hypergraph=hypergraph_record(h, [LABELS[i] for i in h.y], [LABELS[i] for i in predicted]),
        attention=attention_by_order(estimator, h),
        seconds=1.5,
        command=f"ehnn train --data club.csv --label-column team --model {model}",
    ).parent


def put(folder: Path, record: Any) -> Path:
    """A folder with this ``run.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


def hostile() -> dict[str, Any]:
    """A record in which every text tries to become code."""
    test = {"confusion": [[1, 2], [3, 4]], "per_class": {EVIL: [1, 3]}, "per_order": {2: [1, 2]}, EVIL: 3}
    graph = {
        "edges": [[0, 1], [1, 2], []],
        "names": [EVIL] * 3,
        "labels": [EVIL, "b", None],
        "predicted": [EVIL] * 3,
    }
    return {
        "task": EVIL, "model": EVIL, "metric": EVIL, "command": EVIL, "version": EVIL,
        "parameters": {EVIL: EVIL, "a": {EVIL: [EVIL]}}, "summary": {EVIL: EVIL},
        "labels": [EVIL, "b\u202e\x00\ud800"], "history": [{"epoch": 1, "loss": 1.0, "valid": 2.0, EVIL: 3}],
        "test": test, "hypergraph": graph, "data": {"nodes": 3},
        "attention": {"layers": [{"name": EVIL, "meeting": {"1": [0.5, 0.5], "2": [0.5, 0.5]}}]},
    }  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium on this machine (set CHROMIUM to its path)")
    with Browser(path) as found:
        yield found
