"""Folders of every kind, whole, empty and damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn import Hypergraph
from ehnn.estimators import HyperedgePredictor, NodeClassifier
from ehnn.nn import EHNNMLP, Stack
from ehnn.report import read_run, read_runs, write_report, write_run
from ehnn.report.history import History, thin
from ehnn.report.scales import SPACE
from ehnn.report.sections import on_test, share_on_test
from ehnn.tasks import NodeClassification
from ehnn.training import TrainConfig, fit

from .conftest import put


def test_a_folder_of_fit(club: Hypergraph, tmp_path: Path) -> None:
    task, config = NodeClassification(club, seeds=range(3)), TrainConfig(epochs=4, lr=0.02)
    result = fit(
        lambda: Stack(4, 3, EHNNMLP, width=4), task, range(3), config, directory=tmp_path, quiet=True
    )
    run = read_run(tmp_path)
    assert run.parameters["lr"] == 0.02
    assert run.parameters["seeds"] == [0, 1, 2]
    assert run.history is not None
    assert run.history.epochs.tolist() == [1, 2, 3, 4]
    assert run.history.runs == 3
    rows, valid = run.history.best()  # type: ignore[misc]
    assert run.history.epochs[rows].tolist() == result.best_epoch
    assert valid == pytest.approx(result.best_valid)
    assert run.history.selected("test") == pytest.approx(result.selected("validation"))


def test_a_saved_estimator(club: Hypergraph, tmp_path: Path) -> None:
    NodeClassifier(model="ehnn-mlp", width=4, epochs=3, lr=0.5).fit(club).save(tmp_path)
    run = read_run(tmp_path)
    assert (run.task, run.model, run.parameters["lr"]) == ("NodeClassifier", "ehnn-mlp", 0.5)
    assert run.history is not None
    assert len(run.history.epochs) == 3


def test_models_that_a_saved_estimator_compared(club: Hypergraph, tmp_path: Path) -> None:
    nodes = NodeClassifier(budget="fast").fit(club)
    sets = HyperedgePredictor(width=4, epochs=1).fit([[i, (i + 1) % 20, (i + 2) % 20] for i in range(20)])
    for number, model in enumerate((nodes, sets)):
        model.save(tmp_path / str(number))
        run = read_run(tmp_path / str(number))
        assert [row["member"] for row in run.leaderboard] == [row["member"] for row in model.leaderboard_]
        assert (
            "Models compared" in Path(write_report([tmp_path / str(number)], tmp_path / "a.html")).read_text()
        )
    about = json.loads((tmp_path / "0" / "model.json").read_text())
    for wrong in ({"auto": 3}, {"auto": {}}, {"fitted": 3, "auto": None}):
        (tmp_path / "0" / "model.json").write_text(json.dumps(about | wrong))
        assert read_run(tmp_path / "0").leaderboard == []


def test_a_line_that_is_being_written_does_not_count(tmp_path: Path) -> None:
    rows = [json.dumps({"epoch": e, "loss": [1 / e]}) for e in (1, 2)]
    (tmp_path / "metrics.jsonl").write_text("\n".join([*rows, '{"epoch": 3, "lo']))
    assert read_run(tmp_path).history.epochs.tolist() == [1, 2]  # type: ignore[union-attr]
    assert read_run(tmp_path).notes == []
    (tmp_path / "metrics.jsonl").write_text("\n".join([rows[0], "nonsense", rows[1]]))
    assert read_run(tmp_path / "metrics.jsonl").notes == ["metrics.jsonl, line 2: not JSON"]


def test_run_json_goes_before_the_other_files(club: Hypergraph, tmp_path: Path) -> None:
    NodeClassifier(model="ehnn-mlp", width=4, epochs=3).fit(club).save(tmp_path)
    put(tmp_path, {"model": "mine", "history": []})
    run = read_run(tmp_path)
    assert run.model == "mine"
    assert run.task == "NodeClassifier"


def test_folders_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere does not exist"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"holds no run: expected a folder with run.json or metrics.jsonl"):
        read_run(tmp_path)
    put(tmp_path / "a" / "b", {})
    with pytest.raises(ValueError, match=r"there are runs in .*a/b$"):
        read_run(tmp_path)
    with pytest.raises(ValueError, match="at least one folder"):
        read_runs([])


@pytest.mark.parametrize(("text", "message"), [("{", "is damaged"), ("[1]", "must hold an object, got list")])
def test_damaged_records_name_the_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ValueError, match=rf"run\.json {message}"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "note"),
    [
        ("parameters", [1], "expected an object, got list"),
        ("labels", "abc", "expected a list of names, got str"),
        ("history", [{"loss": 1}], "an epoch must be a whole number from 0 to"),
        ("history", "abc", "history must be a list of rows, got str"),
        ("data", {"nodes": -1}, "expected a count, got -1"),
        ("data", {"orders": {"two": 1}}, "invalid literal"),
        ("test", {"confusion": [[1, 2]]}, "confusion must be a square matrix"),
        ("test", {"per_class": {"a": [2, 1]}}, "'a' has 2 right of 1"),
        ("test", {"per_class": {"a": [2]}}, r"expected [right, total] for 'a', got '[2]'"),
        ("hypergraph", {"edges": [[9]], "labels": ["a"]}, "1 nodes, but columns of [1] and node 9"),
        ("hypergraph", {}, "hypergraph must have edges"),
        ("attention", 3, "expected an object, got int"),
        ("attention", {"layers": [{"meeting": {"2": [0.5]}}]}, "order 2 must have its share and an even one"),
        ("seconds", "x", "expected a number, got 'x'"),
    ],
)
def test_a_part_that_cannot_be_read_is_noted(tmp_path: Path, key: str, value: object, note: str) -> None:
    run = read_run(put(tmp_path, {"model": "m", key: value}))
    assert run.model == "m"
    assert len(run.notes) == 1
    assert run.notes[0].startswith(f"{key}: {note}")


@pytest.mark.parametrize("parameters", [{"validation_fraction": 0}, {"valid": 0.0}])
def test_without_validation_data_there_is_no_curve(tmp_path: Path, parameters: dict[str, float]) -> None:
    history = [{"epoch": 1, "loss": 2.0, "valid": 0.0}]
    run = read_run(put(tmp_path, {"parameters": parameters, "history": history}))
    assert run.history is not None
    assert list(run.history.metrics) == ["loss"]
    assert list(read_run(put(tmp_path, {"history": history})).history.metrics) == ["loss", "valid"]  # type: ignore


def test_names_tell_runs_apart(tmp_path: Path) -> None:
    folders = [put(tmp_path / name / "seeds", {}) for name in ("mlp", "hgnn")]
    assert [run.name for run in read_runs([*folders, folders[0]])] == ["mlp/seeds", "hgnn/seeds"]
    assert [run.name for run in read_runs(folders[:1])] == ["seeds"]


def test_accuracies_are_shares_or_percentages(tmp_path: Path) -> None:
    for value, share in ((0.25, 0.25), (25, 0.25), (1, 1), (100.0, 1)):
        assert read_run(put(tmp_path, {"test": {"accuracy": value}})).test.accuracy == share  # type: ignore
    both = {"test": {"accuracy": 0.1, "confusion": [[3, 1], [0, 0]]}}
    assert read_run(put(tmp_path, both)).test.accuracy == 0.75  # type: ignore[union-attr]


# ---------------------------------------------------------------------- histories


def test_history_fills_gaps_and_takes_the_last_of_an_epoch() -> None:
    rows = [
        {"epoch": 2, "loss": [1.0, float("inf")], "valid": [1, None]},
        {"epoch": 1, "loss": [3.0, 2.0]},
        {"epoch": 2, "loss": [0.5, float("nan")], "valid": [7, 8], "note": "text"},
    ]
    found = History.read(rows)
    assert found.epochs.tolist() == [1, 2]
    assert list(found.metrics) == ["loss", "valid"]
    assert np.isnan(found.metrics["loss"]).tolist() == [[False, False], [False, True]]
    assert found.best()[1].tolist() == [7, 8]  # type: ignore[index]
    assert found.selected("test") is None


def test_of_equal_validation_metrics_the_later_counts() -> None:
    found = History.read([{"epoch": e, "valid": v, "test": e} for e, v in enumerate((1, 3, 3, 2), 1)])
    assert found.selected("test").tolist() == [3]  # type: ignore[union-attr]


def test_thinning_keeps_the_ends_and_the_extremes() -> None:
    values = np.sin(np.arange(10_000) / 50)
    values[4321], values[77] = 9, -9
    kept = thin(values, 400)
    assert len(kept) <= 402
    assert {0, 77, 4321, 9999} <= set(kept.tolist())
    assert thin(np.full(1000, np.nan), 100).tolist() == [0, 999]
    assert torch.equal(torch.tensor(thin(values[:50], 400)), torch.arange(50))


def test_several_splits_are_shown_as_their_mean(tmp_path: Path) -> None:
    tests = [{"accuracy": 0.5}, {"accuracy": 0.7}]
    run = read_run(write_run(tmp_path / "classes", test=tests[0], runs=tests).parent)
    assert on_test(run) == ("test accuracy, 2 splits", f"60.0 ± 14.1{SPACE}%")
    assert share_on_test(run) == pytest.approx(60)
    tests = [{"r2": 0.5}, {"r2": 0.7}]
    run = read_run(write_run(tmp_path / "numbers", test=tests[0], runs=tests).parent)
    assert on_test(run) == ("test r2, 2 splits", "0.6 ± 0.1414")
    assert share_on_test(run) is None
