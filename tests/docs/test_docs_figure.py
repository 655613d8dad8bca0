"""The figure of docs/theory.md can be drawn again, and its matrix is right."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("overlaps_example", ROOT / "examples" / "overlaps.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_matrix_counts_common_nodes(example):
    families = [*({v} for v in range(len(example.PLACES))), *map(set, example.EDGES.values())]
    expected = [[len(i & j) for j in families] for i in families]
    assert example.sizes(example.hypergraph()).tolist() == expected


def test_the_figure_is_drawn(example, tmp_path):
    pytest.importorskip("matplotlib", reason="the figure needs matplotlib")
    example.main(tmp_path / "overlaps.png")
    assert (tmp_path / "overlaps.png").read_bytes().startswith(PNG)


def test_the_figure_is_committed():
    assert (ROOT / "docs" / "img" / "overlaps.png").read_bytes().startswith(PNG)
