"""The table of the estimators of numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ehnn_paper.results import read_rows


@pytest.fixture
def script(experiment: Callable[[str], ModuleType]) -> ModuleType:
    return experiment("regression")


def test_splits_are_disjoint_and_repeat(script: ModuleType) -> None:
    parts = script.split(10, 3)
    assert [len(part) for part in parts] == [5, 2, 3]
    assert sorted(np.concatenate(parts).tolist()) == list(range(10))
    assert all((a == b).all() for a, b in zip(parts, script.split(10, 3), strict=True))


def test_simple_models_do_not_read_test_numbers(script: ModuleType) -> None:
    data = script.load("effects", "")
    train, valid, test = script.split(len(data.y), 0)
    other = script.sets.Data(data.task, data.h, data.y.copy())
    other.y[test] += 100.0
    for model in ("mean", "neighbours", "ridge"):
        assert np.array_equal(
            script.simple(model, data, train, valid), script.simple(model, other, train, valid)
        )
    assert script.r2(data.y[test], script.simple("ridge", data, train, valid)[test]) > 0.2


def test_the_margin_is_to_the_best_of_the_others(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = {"default": 0.5, "mean": 0.0, "ridge": 0.4, "neighbours": None}

    def measured(name: str, model: str, seed: int, data_dir: str) -> dict[str, Any]:
        value = reached[model]
        return {} if value is None else {"r2": value + 0.1 * seed}

    monkeypatch.setattr(script, "measure", measured)
    given = ["--datasets", "noise", "--models", *reached, "--splits", "2", "--out", str(tmp_path / "runs")]
    script.main(["--data-dir", "none", *given, "--results", str(tmp_path)])
    found = {row["model"]: row for row in read_rows("regression", tmp_path)}
    assert found.keys() == {"default", "mean", "ridge"}
    told = found["default"]["settings"]
    assert (told["best_other"], told["margin"]) == ("ridge", pytest.approx(0.1))
    assert told["standard_error"] == pytest.approx(0.05)
