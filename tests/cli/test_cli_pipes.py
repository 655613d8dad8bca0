"""Pipes and devices in place of files."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import ehnn
from ehnn.io import read_csv, read_edge_lines

from .own_tables import run

LARGE = 30_000
"""Lines: more than a pipe holds at once."""


@contextmanager
def piped(text: str):
    """The path of a pipe that somebody writes ``text`` to, as ``<(cat file)`` of a shell."""
    mine, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "w") as file:
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    yield Path(f"/dev/fd/{mine}")
    os.close(mine)
    writer.join()


def lines() -> str:
    return "".join(f"a{i} b{i % 97}\n" for i in range(LARGE))


def table() -> str:
    return "node,edge\n" + "".join(f"a{i},b{i % 97}\n" for i in range(LARGE))


def test_lines_through_a_pipe(folder: Path) -> None:
    with piped(lines()) as path:
        said = run("data", "convert", path, "out.csv", "--from", "lines")
    assert f"{LARGE} hyperedges" in said
    assert read_csv("out.csv").num_edges == LARGE


@pytest.mark.parametrize("kind", ["csv", "pairs"])
def test_a_table_through_a_pipe(folder: Path, kind: str) -> None:
    with piped(table()) as path:
        columns = ("--node-column", "node", "--edge-column", "edge") if kind == "pairs" else ()
        run("data", "convert", path, "out.csv", "--from", kind, *columns)
    h = read_csv("out.csv")
    assert (h.num_nodes, h.num_edges, h.num_incidences) == (LARGE, 97, LARGE)


def test_the_readers_of_the_library() -> None:
    with piped(table()) as path:
        assert read_csv(path).num_incidences == LARGE
    with piped("0 1\n1 2\n") as path:
        assert read_edge_lines(path) == ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])


def test_a_named_pipe_is_read_anew_each_time(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for count in (1, 2):
        writer = threading.Thread(
            target=pipe.write_text, args=("node,edge\n" + "a,e\n" + "b,e\n" * (count - 1),)
        )
        writer.start()
        assert read_csv(pipe).num_nodes == count
        writer.join()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_an_end_is_refused(folder: Path, device: str) -> None:
    said = run("data", "convert", device, "out.csv", "--from", "lines", code=2)
    assert said.strip() == f"Error: {device} is a device; a file is expected"
    said = run("train", "--data", device, "--label-column", "y", code=2)
    assert f"{device} is a device" in said


def test_a_table_to_a_device(folder: Path) -> None:
    Path("in.txt").write_text("a b\nb c\n")
    run("data", "convert", "in.txt", "/dev/null", "--to", "csv")
    assert Path("/dev/null").is_char_device()
