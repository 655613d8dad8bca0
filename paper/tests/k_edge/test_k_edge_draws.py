"""Tables over several draws of the data: fresh hypergraphs, two spreads, the trivial rule."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.training import Result, fit
from ehnn_paper.experiment import reproduce, table_lines
from ehnn_paper.k_edge import KEdge, draws
from ehnn_paper.k_edge.recipes import TABLE_1
from ehnn_paper.results import read_rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "DRAWS", 2)

    monkeypatch.setattr(draws, "draw_of", tiny)


def tiny(setting: str, draw: int, device: str = "cpu") -> KEdge:
    return KEdge(setting, seed=draw + 1, train=3, valid=2, test=3, batch_size=2, partitions=2)


def test_draws_share_no_hypergraph() -> None:
    seen = set()
    for setting in ("interpolation", "extrapolation"):
        for task in (KEdge(setting, test=3), *(draws.draw_of(setting, d) for d in range(2))):
            parts = draws.DrawnKEdge([task], 1).scored
            for h in (*parts.values(), *task.members[:3]):
                key = tuple(h.index.flatten()[:60].tolist())
                assert key not in seen
                seen.add(key)


def test_the_spreads_over_draws_and_over_seeds_are_apart() -> None:
    def result(a: float, b: float) -> Result:
        row = {"epoch": 1, "loss": [0.0, 0.0], "valid": [1.0, 1.0], "test": [a, b], "test/20": [a, b]}
        worse = row | {"epoch": 2, "valid": [0.0, 0.0], "test": [a + 1, b + 1]}
        return Result(None, [row, worse], best_epoch=[1, 1])  # type: ignore[arg-type]

    rows = draws.rows_of(
        "m", "seen", [result(70, 74), result(80, 84), result(90, 94)], 2, 77.0, {"command": "command"}
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
    orders = next(row for row in rows if row["metric"] == "accuracy_seen_orders")
    by_order = torch.tensor([v for v in cells[1]["extra"]["by_order"].values() if len(v) == 4])
    assert orders["mean"] == pytest.approx(by_order.mean().item(), rel=1e-5)
    trivial = [row for row in rows if row["model"] == draws.TRIVIAL]
    assert [row["selection"] for row in trivial] == ["none", "none"]
    assert all(50 < row["mean"] <= 100 for row in trivial)
    assert len(cells[1]["curves"]["test"][0]) == 4
    again = reproduce(draws.K_EDGE, models, ("seen",), seeds=range(2), epochs=2, **places)
    assert [cell["rows"] for cell in again] == [cell["rows"] for cell in cells]
    shown = {line[1]: line[2] for line in table_lines(cells)}
    means = {row["model"]: row["mean"] for row in reversed(rows) if row["selection"] != "test-best"}
    assert {model: text.split(" ")[0] for model, text in shown.items()} == {
        model: f"{mean:.2f}" for model, mean in means.items()
    }
    draws.K_EDGE.draw(cells[:1], tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


@pytest.mark.parametrize("model", ["ehnn-mlp", "ehnn-transformer+"])
def test_a_run_beside_other_draws_is_the_run_alone(model: str) -> None:
    tasks = [tiny("extrapolation", draw) for draw in range(2)]
    make, config = TABLE_1[model].make, TABLE_1[model].config(3)
    both = fit(make, draws.DrawnKEdge(tasks, 2), [5, 6, 5, 6], config, quiet=True).history
    alone = fit(make, draws.DrawnKEdge(tasks[:1], 2), [5, 6], config, quiet=True).history
    for together, by_itself in zip(both, alone, strict=True):
        assert together["loss"][:2] == pytest.approx(by_itself["loss"], rel=1e-4)
        assert together["valid"][:2] == pytest.approx(by_itself["valid"])
    assert both[0]["loss"][:2] != pytest.approx(both[0]["loss"][2:], rel=1e-3)  # another draw


def test_accuracy_by_order_takes_each_run_on_its_own_draw() -> None:
    task = draws.DrawnKEdge([tiny("seen", draw) for draw in range(2)], 1)

    def predict(h: Hypergraph) -> Tensor:  # run 0 is right on every node, run 1 on none
        right = torch.nn.functional.one_hot(h.y, 2).float()
        return torch.stack([right, -right])

    for draw, value in ((0, 100.0), (1, 0.0)):
        orders = tasks_orders(task.draws[draw])
        found = task.accuracy_by_order(predict)
        assert all(value in found[k] for k in orders)
    assert task.evaluate(predict)["test"].tolist() == [100.0, 0.0]


def tasks_orders(task: KEdge) -> set[int]:
    return set(task.accuracy_by_order(lambda h: torch.zeros(1, h.num_nodes, 2)))


def test_the_trivial_rule_predicts_the_mark() -> None:
    h = KEdge("seen", seed=1, test=2).test_batch
    expected = 100 * (h.x.argmax(1) == h.y).double().mean().item()
    assert draws._by_mark(h) == pytest.approx(expected)
    assert torch.equal(h.x.argmax(1) == 1, (h.x[:, 1] == 1))


def test_orders_in_and_out_of_the_training_data_have_rows_of_their_own() -> None:
    accuracy = {"metric": "accuracy", "selection": "validation", "seeds": [0, 1], "runs": 4}
    extra = {
        "orders": [2, 3],
        "by_order": {"2": [90.0, 80.0, 70.0, 60.0], "3": [90.0] * 4, "9": [10.0, 20.0, 30.0, 40.0]},
    }
    seen, unseen = draws.order_rows({"rows": [accuracy], "extra": extra})
    assert (seen["metric"], seen["mean"]) == ("accuracy_seen_orders", 82.5)
    assert (unseen["mean"], unseen["std"]) == (25.0, pytest.approx(20 / 2**0.5))
