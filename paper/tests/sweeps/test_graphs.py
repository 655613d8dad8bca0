"""Classification of whole hypergraphs: folds, one run each, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn.hypergraph import Hypergraph
from ehnn_paper.graphs import table
from ehnn_paper.graphs.data import Labelled, parts_of, read_graphs
from ehnn_paper.graphs.task import FoldedGraphs
from ehnn_paper.results import read_rows


def labelled(count: int = 30, several: bool = False) -> Labelled:
    """Pairs (class 0) and triples (class 1)."""
    members = [
        Hypergraph.from_edges([[0, 1], [1, 2]] if i % 2 == 0 else [[0, 1, 2], [1, 2, 3]])
        for i in range(count)
    ]
    y = torch.arange(count) % 2
    return Labelled(members, torch.stack([y, 1 - y], 1) if several else y)


def test_files_are_cut_into_hypergraphs(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "some.npz", node=[0, 1, 2, 3, 4, 2], edge=[0, 0, 1, 1, 2, 2], node_ptr=[0, 2, 5],
        edge_ptr=[0, 1, 3], y=[1, 0],
    )  # fmt: skip
    found = read_graphs(tmp_path / "some.npz")
    assert [h.edges() for h in found.members] == [[[0, 1]], [[0, 1], [0, 2]]]
    assert found.y.tolist() == [1, 0]
    np.savez(tmp_path / "bad.npz", node=[0], edge=[0])
    with pytest.raises(ValueError, match="has no array 'edge_ptr'"):
        read_graphs(tmp_path / "bad.npz")


@pytest.mark.parametrize("several", [False, True])
def test_every_hypergraph_is_tested_once_and_parts_do_not_meet(several: bool) -> None:
    y = labelled(53, several).y
    parts = parts_of(y, seed=3)
    assert ((parts == 2).sum(0) == 1).all()
    assert ((parts == 1).sum(1) >= 8).all()
    if not several:
        for fold in parts:  # within the classes
            counts = torch.stack([torch.bincount(y[fold == part], minlength=2) for part in range(3)])
            assert ((counts[:, 0] - counts[:, 1]).abs() <= 2).all()
    assert not torch.equal(parts, parts_of(y, seed=4))


@pytest.mark.parametrize("several", [False, True])
def test_a_run_learns_from_its_training_part_alone(several: bool) -> None:
    data = labelled(20, several)
    task = FoldedGraphs(data, batch_size=8)
    parts = parts_of(data.y, 0)
    rows = torch.cat(task._rows)
    for h in task.batches(0):
        logits = torch.zeros(5, h.num_members, 2, requires_grad=True)
        task.loss(logits, h).sum().backward()
        assert torch.equal(logits.grad.abs().sum(-1) > 0, task._known[id(h)][1] == 0)
    found = torch.cat([task._known[id(h)][1] for h in task._batches], 1)
    assert torch.equal(found, parts[:, rows])

    def right(h: Hypergraph) -> torch.Tensor:
        y = task._known[id(h)][0]
        return 9 * (2.0 * y - 1 if several else 2.0 * torch.nn.functional.one_hot(y, 2) - 1).expand(5, -1, 2)

    scores = task.evaluate(right)
    assert scores["test"].tolist() == [100.0] * 5
    assert scores["valid"].tolist() == pytest.approx([100.0] * 5, abs=1e-3)


def test_the_table_has_rows_of_what_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = labelled(40)
    folder = tmp_path / "graphs"
    folder.mkdir()
    nodes, edges = (
        [0, *np.cumsum([h.num_nodes for h in data.members])],
        [0, *np.cumsum([h.num_edges for h in data.members])],
    )
    pairs = [h.index + torch.tensor([[n], [e]]) for h, n, e in zip(data.members, nodes, edges, strict=False)]
    node, edge = torch.cat(pairs, 1).numpy()
    np.savez(
        folder / "imdb-wri-form.npz", node=node, edge=edge, node_ptr=nodes, edge_ptr=edges, y=data.y.numpy()
    )
    monkeypatch.setitem(table.SHARED, "steps", 4)
    missing = table.reproduce(
        ["imdb-wri-form"], ["mlp", "ehnn-mlp", table.SIZES], data_dir=str(tmp_path), choices=2,
        out=tmp_path / "results", runs_dir=tmp_path / "runs", say=lambda text: None,
    )  # fmt: skip
    rows = {(r["model"], r["metric"]): r for r in read_rows("graphs", tmp_path / "results")}
    assert missing == 0
    assert rows["lr-sizes", "accuracy"]["mean"] == 100.0
    assert rows["mlp", "accuracy"]["runs"] == 5
    assert rows["mlp", "accuracy"]["paper"] == 52.94
    assert set(rows["ehnn-mlp", "accuracy"]["settings"]["search"]) == {"0", "1"}
    assert rows["ehnn-mlp", "seconds"]["selection"] == "none"
    with pytest.raises(ValueError, match="choices must be from 1 to 4, got 5"):
        table.reproduce(["imdb-wri-form"], ["mlp"], data_dir=str(tmp_path), choices=5)
