"""Files of public datasets of hypergraphs."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ehnn.datasets.content_edges import read_content_edges
from ehnn.datasets.edge_lines import read_edge_lines
from ehnn.datasets.packed import read_packed
from ehnn.datasets.simplices import read_simplices_archive
from ehnn.datasets.yelp import read_yelp

from .seeds import Seed


def content(folder: Path) -> Iterable[Seed]:
    rows = b"0\t1\t0.5\t3\n1\t0\t2\t4\n2\t1\t1\t3\n3\t0\t0\t0\n"
    edges = b"0\t3\n1\t3\n1\t4\n2\t4\n"
    yield Seed(
        {"a.content": rows, "a.edges": edges}, lambda f: read_content_edges(f / "a.content", f / "a.edges")
    )


def house(folder: Path) -> Iterable[Seed]:
    files = {"edges.txt": b"1,2,3\n3,4\n1,4\n", "labels.txt": b"1\n2\n2\n1\n"}
    yield Seed(files, lambda f: read_edge_lines(f / "edges.txt", f / "labels.txt", 1.0, 0))


def yelp(folder: Path) -> Iterable[Seed]:
    files = {
        "latlong.csv": b"latitude,longitude\n1.5,2\n3,4\n5,6\n",
        "locations.csv": b"state_int,city_int\n1,1\n1,2\n2,3\n",
        "name.csv": b'name\nThe Corner\n"Pizza, ""Uno"""\nCorner Pizza\n',
        "stars.csv": b"business_stars\n2\n10\n5\n",
        "incidence.csv": b"he,node\n1,1\n1,2\n2,3\n2,1\n",
    }

    def read(place: Path) -> Any:
        return read_yelp(*(place / name for name in files))

    yield Seed(files, read)


def packed(folder: Path) -> Iterable[Seed]:
    arrays = {
        "node": np.array([0, 1, 2, 2, 3]), "edge": np.array([0, 0, 0, 1, 1]), "num_nodes": np.array(4),
        "num_edges": np.array(2),
    }  # fmt: skip
    features = {
        "y": np.array([0, 1, -1, 1]), "x_data": np.ones(3), "x_indices": np.array([0, 2, 1]),
        "x_indptr": np.array([0, 1, 2, 3, 3]), "x_shape": np.array([4, 3]),
    }  # fmt: skip
    for save, more in ((np.savez, features), (np.savez_compressed, features), (np.savez, {})):
        file = io.BytesIO()
        save(file, **arrays, **more)
        yield Seed({"h.npz": file.getvalue()}, lambda f: read_packed(f / "h.npz"))


def simplices(folder: Path) -> Iterable[Seed]:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, body in (("nverts", b"3\n2\n"), ("simplices", b"1\n2\n3\n3\n4\n"), ("times", b"1\n1\n")):
            info = tarfile.TarInfo(f"tiny/tiny-{name}.txt")
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    data = gzip.compress(raw.getvalue(), mtime=0)
    yield Seed({"tiny.tar.gz": data}, lambda f: read_simplices_archive(f / "tiny.tar.gz", "tiny"))


FORMATS = {"content": content, "house": house, "yelp": yelp, "packed": packed, "simplices": simplices}
