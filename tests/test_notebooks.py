"""The notebooks run from top to bottom, in an empty folder, and carry no outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def cells(path):
    return [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["own_layer.ipynb", "own_table.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for number, cell in enumerate(cells(path)):
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), namespace)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_notebook_carries_no_outputs(path):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path))
