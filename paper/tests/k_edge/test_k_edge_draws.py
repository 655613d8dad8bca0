"""Tables over several draws of the data: fresh hypergraphs, two spreads, the trivial rule."""

from __future__ import annotations

import pytest
import torch

from ehnn.training import Result
from ehnn_paper.experiment import reproduce, table_lines
from ehnn_paper.k_edge import KEdge, draws
from ehnn_paper.results import read_rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "DRAWS", 2)

    def task_of(setting: str, draw: int, device: str = "cpu") -> draws.DrawnKEdge:
        return draws.DrawnKEdge(setting, seed=draw + 1, train=2, valid=2, test=3, batch_size=2, partitions=1)

    monkeypatch.setattr(draws, "task_of", task_of)


def test_draws_share_no_hypergraph() -> None:
    seen = set()
    for setting in ("interpolation", "extrapolation"):
        for task in (KEdge(setting, test=3), *(draws.task_of(setting, d) for d in range(2))):
            parts = [task.test_batch, task.valid_batch]
            parts += [task.small_test_batch] if isinstance(task, draws.DrawnKEdge) else []
            for h in (*parts, *task.members[:3]):
                key = tuple(h.index.flatten()[:60].tolist())
                assert key not in seen
                seen.add(key)


def test_the_spreads_over_draws_and_over_seeds_are_apart() -> None:
    def result(a: float, b: float) -> Result:
        row = {"epoch": 1, "loss": [0.0, 0.0], "valid": [1.0, 1.0], "test": [a, b], "test/20": [a, b]}
        worse = row | {"epoch": 2, "valid": [0.0, 0.0], "test": [a + 1, b + 1]}
        return Result(None, [row, worse], best_epoch=[1, 1])  # type: ignore[arg-type]

    rows = draws.rows_of(
        "m", "seen", [result(70, 74), result(80, 84), result(90, 94)], 77.0, {"command": "command"}
    )
    found = {(row["metric"], row["selection"]): row for row in rows}
    chosen = found["accuracy", "validation"]
    assert (chosen["mean"], chosen["std"], chosen["runs"], chosen["paper"]) == (82.0, 10.0, 6, None)
    assert found["accuracy_std_over_seeds", "validation"]["mean"] == pytest.approx(8**0.5)
    assert found["accuracy", "test-best"]["mean"] == 83.0
    assert found["accuracy_20", "test-best"]["paper"] == 77.0


def test_a_cell_is_trained_on_every_draw_and_goes_on(small: None, tmp_path) -> None:
    places = {"out": tmp_path / "results", "runs_dir": tmp_path / "runs", "say": lambda text: None}
    models = (draws.TRIVIAL, "all-deep-sets")
    cells = reproduce(draws.K_EDGE, models, ("seen",), seeds=range(2), epochs=2, **places)
    rows = read_rows("k-edge-draws", tmp_path / "results")
    assert {row["runs"] for row in rows if row["model"] == "all-deep-sets"} == {4}
    trivial = [row for row in rows if row["model"] == draws.TRIVIAL]
    assert [row["selection"] for row in trivial] == ["none", "none"]
    assert all(50 < row["mean"] <= 100 for row in trivial)
    assert len(cells[1]["curves"]["test"][0]) == 4
    again = reproduce(draws.K_EDGE, models, ("seen",), seeds=range(2), epochs=2, **places)
    assert [cell["rows"] for cell in again] == [cell["rows"] for cell in cells]
    assert len(table_lines(cells)) == 2
    draws.K_EDGE.draw(cells[:1], tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_the_trivial_rule_predicts_the_mark() -> None:
    task = draws.DrawnKEdge("seen", seed=1, test=2)
    h = task.test_batch
    expected = 100 * (h.x.argmax(1) == h.y).double().mean().item()
    assert draws._by_mark(h) == pytest.approx(expected)
    assert torch.equal(h.x.argmax(1) == 1, (h.x[:, 1] == 1))
