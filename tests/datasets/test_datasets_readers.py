"""Readers of text files, on small ones: what is read, and what is said of a corrupted file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ehnn.datasets.content_edges import read_content_edges
from ehnn.datasets.edge_lines import noisy_labels, read_edge_lines

from .raw_files import write

CONTENT = "2\t0.5\t1\t7\n0\t1.5\t0\t3\n1\t-2\t1e-3\t7\n3\t9\t9\t9\n4\t9\t9\t9\n5\t8\t8\t8\n"
EDGES = "0\t3\n2\t3\n1\t4\n2\t4\n"


def content(folder: Path, content: str = CONTENT, edges: str = EDGES):
    return read_content_edges(*write(folder, content=content, edges=edges))


def test_content_edges_maps_ids_and_drops_hyperedge_rows(tmp_path):
    h = content(tmp_path)
    assert h.num_nodes == 3
    assert h.edges() == [[0, 1], [0, 2]]
    assert torch.equal(h.x, torch.tensor([[0.5, 1], [1.5, 0], [-2, 1e-3]]))
    assert h.y.tolist() == [1, 0, 1]


def test_content_edges_accepts_other_white_space(tmp_path):
    text = "\r\n".join(line.replace("\t", "  ") for line in CONTENT.splitlines())
    assert content(tmp_path, text + "\r\n\r\n", EDGES.replace("\t", " ")) == content(tmp_path)


@pytest.mark.parametrize("mark", ["?", "nan", "-1", "", "NA"])
def test_missing_labels_are_masked(tmp_path, mark):
    assert content(tmp_path, CONTENT.replace("1.5\t0\t3", f"1.5\t0\t{mark}")).y.tolist() == [0, -1, 0]


def test_all_labels_missing_is_an_error(tmp_path):
    text = "".join(f"{i}\t1\t1\t?\n" for i in range(5))
    with pytest.raises(ValueError, match=r"content: not one of the 3 nodes has a label"):
        content(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1.5", "one", r"content, line 2: column 2 must be a number, got 'one'"),
        ("1.5\t", "", r"content, line 2: 3 columns, expected 4"),
        ("1.5", "inf", r"content, line 2: .*finite"),
        ("1.5", "nan", r"content, line 2: .*finite"),
        ("0\t3\n", "0\tinf\n", r"content, line 2: .*finite"),
        ("\n1\t", "\n0\t", r"content, line 3: its id was given before"),
        ("\n1\t", "\n\n\n1.5\t", r"content, line 5: the id must be an integer"),
        ("\n1\t", "\n-1\t", r"content, line 3: the id must be an integer"),
        ("1.5", "\x00\x00", r"content, line 2"),
        ("\n1\t-2\t1e-3\t7", "", r"edges, line 3: its node id is not in content"),
        (CONTENT, "", r"content, line 1: the file holds no rows"),
    ],
)
def test_corrupted_content_names_file_and_line(tmp_path, old, new, message):
    with pytest.raises(ValueError, match=message):
        content(tmp_path, CONTENT.replace(old, new))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("0\t3\nx\t3\n", r"edges, line 2: column 1 must be a number, got 'x'"),
        ("0\t3\n1\n", r"edges, line 2: 1 columns, expected 2"),
        ("0\t3\t1\n", r"edges, line 1: 3 columns"),
        ("0\t3\n4\t3\n", r"edges, line 2: a node id must be below"),
        ("0\t3\n0.5\t3\n", r"edges, line 2: the node id must be an integer"),
        ("", r"edges, line 1: the file holds no rows"),
    ],
)
def test_corrupted_edges_names_file_and_line(tmp_path, edges, message):
    with pytest.raises(ValueError, match=message):
        content(tmp_path, CONTENT, edges)


def test_bytes_that_are_not_text_are_named(tmp_path):
    paths = write(tmp_path, content="", edges=EDGES)
    paths[0].write_bytes(CONTENT.encode().replace(b"1.5", b"\xff\xfe"))
    with pytest.raises(ValueError, match="content, line 2"):
        read_content_edges(*paths)


def lines(
    folder: Path, edges: str = "1,2,3\n3,4\n2,2\n", labels: str = "1\n2\n2\n1\n5\n", sigma: float = 0.0
):
    return read_edge_lines(*write(folder, edges=edges, labels=labels), sigma, seed=0)


def test_edge_lines(tmp_path):
    h = lines(tmp_path)
    assert h.num_nodes == 5
    assert h.edges() == [[0, 1, 2], [2, 3], [1]]
    assert h.y.tolist() == [0, 1, 1, 0, 4]
    assert h.x.shape == (5, 100)
    assert torch.equal(h.x.argmax(1), h.y)
    assert lines(tmp_path, "1,2,3\r\n3, 4\r\n2,2", "1\r\n2\r\n2\r\n1\r\n5") == h


def test_edge_lines_missing_labels(tmp_path):
    h = lines(tmp_path, labels="1\n?\n\n-1\n2\n")
    assert h.y.tolist() == [0, -1, -1, -1, 1]
    assert h.x[1:4].abs().sum() == 0
    with pytest.raises(ValueError, match="labels: not one of the 5 nodes"):
        lines(tmp_path, labels="?\n" * 5)


def test_noise_has_its_seed_and_deviation():
    y = torch.zeros(2000, dtype=torch.int64)
    state = torch.get_rng_state()
    x = noisy_labels(y, 0.6, seed=3)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, noisy_labels(y, 0.6, seed=3))
    assert not torch.equal(x, noisy_labels(y, 0.6, seed=4))
    assert abs(x.std(dim=0).mean().item() - 0.6) < 0.01
    assert abs(x[:, 0].mean().item() - 1) < 0.06
    assert abs(x[:, 1:].mean().item()) < 0.01
    with pytest.raises(ValueError, match="num_features must be at least the 3 classes, got 2"):
        noisy_labels(torch.tensor([2]), 1.0, 0, num_features=2)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("1,2\n2,x\n", "edges, line 2: .*got 'x'"),
        ("1,2\n2,,3\n", "edges, line 2: .*got ''"),
        ("1,2\n\n2,3\n", "edges, line 2: .*got ''"),
        ("1,2\n0,1\n", "edges, line 2: .*from 1 to 5.*got '0'"),
        ("1,2\n2,3\n6\n", "edges, line 3: .*got '6'"),
        ("1,2\n1_0\n", "edges, line 2: .*got '1_0'"),
        ("1,2\n99999999999999999999\n", "edges, line 2"),
        (f"1,2\n{'9' * 5000}\n", "edges, line 2"),
        ("1,2\n１,２\n", "edges, line 2: .*got '１'"),
        ("1,2\n+5, 3\n", "edges, line 2: .*got '\\+5'"),
        ("", "edges, line 1: the file holds no hyperedges"),
    ],
)
def test_corrupted_edge_lines(tmp_path, edges, message):
    with pytest.raises(ValueError, match=message):
        lines(tmp_path, edges)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("1\n2\n0\n", "labels, line 3: .*got '0'"),
        ("1\n1,2\n", "labels, line 2: .*got '1,2'"),
        ("1\nred\n", "labels, line 2: .*got 'red'"),
        ("1\n101\n", "labels, line 2: .*from 1 to 100, got '101'"),
        (f"1\n{'9' * 5000}\n", "labels, line 2: .*got '999"),
        ("", "labels, line 1: the file holds no rows"),
    ],
)
def test_corrupted_labels(tmp_path, labels, message):
    with pytest.raises(ValueError, match=message):
        lines(tmp_path, labels=labels)
