"""The tables of k-edge identification: recipes, rows, cells that are kept, figures, experiments as files."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from ehnn.cli.show import plain_table
from ehnn.training import Result
from ehnn_paper.experiment import (
    COLUMNS,
    Experiment,
    finished,
    make_cell,
    reproduce,
    table_lines,
)
from ehnn_paper.k_edge import KEdge
from ehnn_paper.k_edge import recipes as k_edge
from ehnn_paper.k_edge.figure import draw_k_edge
from ehnn_paper.results import KEYS, read_rows

ROOT = Path(__file__).parents[3]
RECIPES = [(table, name) for table, recipes in k_edge.EXPERIMENTS.items() for name in recipes]


@pytest.fixture(scope="module")
def task() -> KEdge:
    return KEdge(train=2, valid=2, test=3, batch_size=2, partitions=1)


@pytest.mark.parametrize(("table", "name"), RECIPES)
def test_recipes_build_and_run(table: str, name: str, task: KEdge) -> None:
    recipe = k_edge.EXPERIMENTS[table][name]
    h = task.test_batch
    with torch.no_grad():
        assert recipe.make()(h).shape == (h.num_nodes, 2)
    assert recipe.config(7).epochs == 7
    assert len(recipe.paper) == 3


def test_rows_have_the_schema(task: KEdge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k_edge, "KEdge", lambda setting, **options: task)
    result = k_edge.run("all-deep-sets", "seen", seeds=(0, 1), epochs=1, quiet=True)
    rows = k_edge.rows("k-edge", "all-deep-sets", "seen", result, "the command", (0, 1))
    assert [row["selection"] for row in rows] == ["validation", "test-best"]
    assert all({"experiment", *row} == set(KEYS) for row in rows)
    assert [row["paper"] for row in rows] == [None, 76.99]
    assert all(row["runs"] == 2 and 0 <= row["mean"] <= 100 for row in rows)
    by_order = k_edge.by_order(result, "seen", "cpu")
    assert by_order.keys() <= set(range(2, 11))
    assert all(len(values) == 2 for values in by_order.values())


# ---------------------------------------------------------------------- cells


class Table:
    """An experiment whose training is a count of how often it was asked for."""

    def __init__(self) -> None:
        self.trained: list[tuple[str, str]] = []
        self.version = "1"
        self.experiment = Experiment(
            "tiny", "A tiny table", ("a", "b"), ("x", "y"), 3, self.train, lambda m, s: m + s + self.version
        )

    def train(self, model, setting, *, seeds, epochs, device, directory, command):
        self.trained.append((model, setting))
        directory.mkdir(parents=True, exist_ok=True)
        row = {
            "setting": setting,
            "model": model,
            "metric": "accuracy",
            "mean": 90.0,
            "std": 1.0,
            "runs": len(seeds),
        }
        row |= {"command": command, "commit": "c", "hardware": "h", "date": "d"}
        rows = [
            row | {"selection": "validation", "paper": None},
            row | {"selection": "test-best", "paper": 95.0},
        ]
        history = [{"epoch": e, "loss": [1.0], "valid": [2.0], "test": [3.0]} for e in range(1, epochs + 1)]
        return make_cell(model, setting, Result(None, history), rows)  # type: ignore[arg-type]


def run(table: Table, tmp_path: Path, models=("a", "b"), settings=("x",), **options):
    places = {"out": tmp_path / "results", "runs_dir": tmp_path / "runs", "say": lambda text: None}
    return reproduce(table.experiment, models, settings, seeds=range(2), **(places | options))


def test_what_is_done_is_not_trained_again(tmp_path: Path) -> None:
    table = Table()
    cells = run(table, tmp_path)
    assert run(table, tmp_path, settings=("x", "y"))[:2] == cells
    assert table.trained == [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")]
    run(table, tmp_path, ("b",), fresh=True)
    assert table.trained[4:] == [("b", "x")]


def test_a_changed_recipe_or_length_is_trained_anew(tmp_path: Path) -> None:
    table = Table()
    run(table, tmp_path, ("a",))
    table.version = "2"
    run(table, tmp_path, ("a",))
    run(table, tmp_path, ("a",), epochs=4)
    assert table.trained == [("a", "x")] * 3
    assert len(finished(table.experiment, tmp_path / "runs", range(2))) == 1


def test_each_cell_is_written_as_soon_as_it_is_there(tmp_path: Path) -> None:
    table = Table()
    train = table.train

    def stops(model, setting, **options):
        if model == "b":
            raise KeyboardInterrupt
        return train(model, setting, **options)

    object.__setattr__(table.experiment, "train", stops)
    with pytest.raises(KeyboardInterrupt):
        run(table, tmp_path)
    rows = read_rows("tiny", tmp_path / "results")
    assert [row["model"] for row in rows] == ["a", "a"]
    assert rows[0]["command"] == "ehnn reproduce tiny --setting x --models a --seeds 2 --epochs 3"


def test_a_damaged_cell_names_the_file(tmp_path: Path) -> None:
    table = Table()
    run(table, tmp_path, ("a",))
    folder = table.experiment.folder(tmp_path / "runs", "a", "x", range(2), 3)
    for text in ("{", '{"rows": []}', "[1]"):
        (folder / "cell.json").write_text(text)
        with pytest.raises(ValueError, match=r"cell\.json.* remove the file to train again"):
            run(table, tmp_path, ("a",))


def test_the_table_has_both_rules_and_the_paper(tmp_path: Path) -> None:
    lines = table_lines(run(Table(), tmp_path, ("a",)))
    assert lines == [("x", "a", "90.00 ± 1.00", "90.00 ± 1.00", "95.00", "2")]
    text = plain_table(COLUMNS, lines).splitlines()
    assert text[0].split() == " ".join(COLUMNS).split()
    assert text[2].split() == " ".join(lines[0]).split()
    assert all(line == line.rstrip() for line in text)


def test_long_curves_are_thinned_and_keep_the_last_epoch() -> None:
    history = [{"epoch": e, "loss": [1.0], "valid": [2.0], "test": [3.0]} for e in range(1, 501)]
    cell = make_cell("m", "s", Result(None, history), [])  # type: ignore[arg-type]
    assert len(cell["curves"]["epoch"]) == 125
    assert cell["curves"]["epoch"][-1] == 500
    json.dumps(cell)


# ---------------------------------------------------------------------- figures


def drawable(model: str, setting: str, runs: int) -> dict:
    curves = {
        "epoch": [1, 2],
        "loss": [[1.0] * runs] * 2,
        "valid": [[2.0] * runs] * 2,
        "test": [[70.0] * runs] * 2,
    }
    extra = {
        "orders": k_edge.TRAIN_ORDERS[setting],
        "by_order": {str(k): [80.0] * runs for k in range(2, 11)},
    }
    return {"model": model, "setting": setting, "rows": [], "curves": curves, "extra": extra}


@pytest.mark.parametrize("runs", [1, 3])
def test_figures_are_drawn(tmp_path: Path, runs: int) -> None:
    pytest.importorskip("matplotlib")
    cells = [drawable(m, s, runs) for s in k_edge.SETTINGS for m in k_edge.TABLE_1]
    draw_k_edge(cells, tmp_path / "new" / "figure.png")
    assert (tmp_path / "new" / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["figure.png"]


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one cell"):
        draw_k_edge([], tmp_path / "figure.png")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        draw_k_edge([drawable("ehnn-mlp", "seen", 1)], tmp_path / "figure.png")


# ---------------------------------------------------------------------- the demo


def script(name: str, folder: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"file_{name}", ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_trains_what_it_names() -> None:
    demo = script("k_edge", "paper/examples")
    assert set(demo.MODELS) == set(demo.TITLES) <= set(k_edge.TABLE_1)
    cell, seconds = demo.train("all-deep-sets", 1)
    assert seconds > 0
    assert 0 <= cell["rows"][0]["mean"] <= 100
    assert cell["extra"]["by_order"].keys() == set(range(2, 11))
