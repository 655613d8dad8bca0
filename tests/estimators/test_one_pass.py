"""Classes and probabilities in one pass over the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ehnn
from ehnn.cli.app import app
from ehnn.estimators.auto import AutoNodes

EDGES = [["ann", "bob", "cy"], ["cy", "dan"], ["eve", "flo", "gus"], ["gus", "hal"]] * 2
KNOWN = {"ann": "left", "dan": "left", "eve": "right", "hal": "right"}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each pass over a hypergraph."""
    found: list[int] = []
    plain = AutoNodes.logits

    def counted(self: AutoNodes, h, matched=None):  # type: ignore[no-untyped-def]
        found.append(h.num_nodes)
        return plain(self, h, matched)

    monkeypatch.setattr(AutoNodes, "logits", counted)
    return found


def test_both_are_those_of_predict_and_predict_proba(passes: list[int]) -> None:
    model = ehnn.NodeClassifier(budget=0.01).fit(EDGES, KNOWN)
    classes, shares = model.predict_with_proba(EDGES)
    assert len(passes) == 1
    assert np.array_equal(classes, model.predict(EDGES))
    np.testing.assert_array_equal(shares, model.predict_proba(EDGES))


def test_the_commands_predict_once(passes: list[int], tmp_path: Path) -> None:
    lines = ["person,club,team"]
    for number, edge in enumerate(EDGES):
        lines += [f"{person},c{number},{KNOWN.get(person, '')}" for person in edge]
    data = tmp_path / "members.csv"
    data.write_text("\n".join(lines) + "\n")
    run = tmp_path / "run"
    columns = ["--node-column", "person", "--edge-column", "club"]
    for command in (
        ["train", "--data", data, *columns, "--label-column", "team", "--budget", "0.01", "--out", run],
        ["predict", "--model", run, "--data", data, "--out", tmp_path / "predicted.csv"],
    ):
        passes.clear()
        found = CliRunner().invoke(app, [str(word) for word in command])
        assert found.exit_code == 0, found.output
        assert len(passes) == 1, command
