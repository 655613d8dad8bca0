"""The demo on other draws of the known functions."""

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
    return experiment("demo_draws")


def test_a_draw_is_a_fifth_of_its_own(script: ModuleType) -> None:
    demo, one, other = (script.drawn(draw, 23) for draw in (script.DEMO, 0, 1))
    assert np.flatnonzero(demo).tolist() == [0, 5, 10, 15, 20]
    assert demo.sum() == one.sum() == other.sum()
    assert not np.array_equal(one, other)
    assert np.array_equal(one, script.drawn(0, 23))


def test_rows_are_means_over_draws_and_pair_them(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(draw: int, budget: str) -> dict[str, Any]:
        simple = {"majority": 20.0, "vote": 60.0, "lr-features": 70.0 + draw}
        return {"accuracy": simple | {"node-classifier": 75.0 + 3 * draw}}

    monkeypatch.setattr(script, "measure", measured)
    script.main(["--draws", "2", "--out", str(tmp_path / "runs"), "--results", str(tmp_path)])
    found = {(r["setting"], r["model"], r["metric"]): r for r in read_rows("demo-draws", tmp_path)}
    ahead = found["random fifths", "node-classifier", "ahead"]
    assert (ahead["mean"], ahead["std"], ahead["seeds"]) == (6.0, pytest.approx(2**0.5), [0, 1])
    assert found["every fifth", "node-classifier", "accuracy"]["mean"] == 72.0
    assert found["every fifth", "lr-features", "accuracy"]["std"] is None
    assert ("random fifths", "lr-features", "ahead") not in found
