"""Every reader on small files of its format: what is read, and what is said of a corrupted file."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn.datasets.archive import extract
from ehnn.datasets.content_edges import read_content_edges
from ehnn.datasets.edge_lines import noisy_labels, read_edge_lines
from ehnn.datasets.packed import read_packed
from ehnn.datasets.simplices import read_simplices_archive
from ehnn.datasets.words import bag_of_words, words_of
from ehnn.datasets.yelp import read_yelp

CONTENT = "2\t0.5\t1\t7\n0\t1.5\t0\t3\n1\t-2\t1e-3\t7\n3\t9\t9\t9\n4\t9\t9\t9\n5\t8\t8\t8\n"
EDGES = "0\t3\n2\t3\n1\t4\n2\t4\n"


def write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_bytes(text.encode())
    return paths


def content(folder: Path, content: str = CONTENT, edges: str = EDGES):
    return read_content_edges(*write(folder, content=content, edges=edges))


# ------------------------------------------------------------------ .content and .edges


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


# ------------------------------------------------------------------ hyperedge lines


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
        ("", "labels, line 1: the file holds no rows"),
    ],
)
def test_corrupted_labels(tmp_path, labels, message):
    with pytest.raises(ValueError, match=message):
        lines(tmp_path, labels=labels)


# ------------------------------------------------------------------ npz

ARRAYS = {
    "node": np.array([0, 1, 2]),
    "edge": np.array([0, 0, 1]),
    "num_nodes": np.array(4),
    "num_edges": np.array(3),
    "y": np.array([0, -1, 1, 1]),
    "x_data": np.array([1.0, 2.0], dtype=np.float32),
    "x_indices": np.array([1, 0], dtype=np.int32),
    "x_indptr": np.array([0, 1, 1, 2, 2]),
    "x_shape": np.array([4, 2]),
}


def packed(folder: Path, **changes: np.ndarray | None):
    arrays = {k: v for k, v in (ARRAYS | changes).items() if v is not None}
    np.savez(folder / "a.npz", **arrays)
    return read_packed(folder / "a.npz")


def test_packed(tmp_path):
    h = packed(tmp_path)
    assert (h.num_nodes, h.num_edges) == (4, 3)
    assert h.edges() == [[0, 1], [2], []]
    assert h.x.tolist() == [[0, 1], [0, 0], [2, 0], [0, 0]]
    assert h.y.tolist() == [0, -1, 1, 1]
    plain = packed(tmp_path, y=None, x_data=None)
    assert plain.x is None
    assert plain.y is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node": None}, "has no array 'node'"),
        ({"node": np.array([0, 1, 4])}, r"'node'\[2\] must be in \[0, 4\), got 4"),
        ({"edge": np.array([0, -1, 1])}, r"'edge'\[1\] must be in"),
        ({"node": np.array([0.0, 1, 2])}, "vector of integers"),
        ({"edge": np.array([0])}, "do not pair up"),
        ({"num_nodes": np.array([4, 4])}, "'num_nodes' must be one count"),
        ({"y": np.array([1, 1])}, "'y' must be 4 integers"),
        ({"y": np.full(4, -1)}, "not one of the 4 nodes has a label"),
        ({"x_indices": np.array([1, 7])}, "not a CSR matrix"),
        ({"x_indptr": np.array([0, 1])}, "not a CSR matrix"),
        ({"x_shape": None}, "has no array 'x_shape'"),
        ({"x_data": np.array([1.0, np.nan])}, "not finite"),
        ({"node": np.array([None, 1, 2], dtype=object)}, "plain arrays"),
    ],
)
def test_corrupted_packed(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        packed(tmp_path, **changes)
    assert "a.npz" in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"not a zip file", b"PK\x03\x04 cut off"])
def test_packed_that_is_no_npz(tmp_path, raw):
    (tmp_path / "a.npz").write_bytes(raw)
    with pytest.raises(ValueError, match=r"a\.npz is not a readable"):
        read_packed(tmp_path / "a.npz")


# ------------------------------------------------------------------ Yelp

YELP = {
    "latlong": "latitude,longitude\n40.5,-105\n45,-122.25\n1,2\n",
    "locations": "city_int,zipcode_int,state_int\n1,1,1\n3,2,2\n1,6,2\n",
    "names": 'name\nCafé Pizza\n"The Pizza, and Pizza Bar"\n\n',
    "stars": "business_stars\n8\n2\n10\n",
    "incidence": "he,node\n1,1\n1,3\n3,2\n",
}


def yelp(folder: Path, **changes: str):
    return read_yelp(*write(folder, **(YELP | changes)))


def test_yelp(tmp_path):
    h = yelp(tmp_path)
    assert h.edges() == [[0, 2], [], [1]]
    assert h.y.tolist() == [6, 0, 8]
    place, state, city, words = h.x.split([2, 2, 3, 3], dim=1)
    assert place.tolist() == [[40.5, -105], [45, -122.25], [1, 2]]
    assert state.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert city.tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert words.tolist() == [[0, 1, 1], [1, 0, 2], [0, 0, 0]]  # bar, cafe, pizza


def test_yelp_missing_stars(tmp_path):
    assert yelp(tmp_path, stars="business_stars\n8\n?\n10\n").y.tolist() == [6, -1, 8]
    with pytest.raises(ValueError, match="not one of the 3 nodes"):
        yelp(tmp_path, stars="business_stars\n?\n?\n?\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("latlong", "latitude,longitude\n1,2\n1,north\n", "latlong, line 3: column 2 must be a number"),
        ("latlong", "latitude,longitude\n1,2\n", "latlong has 1 rows, expected one for each of the 3"),
        ("latlong", "lat,longitude\n1,2\n", "latlong, line 1: no column 'latitude'"),
        (
            "locations",
            "city_int,state_int\n1,1\n1,0\n1,1\n",
            "locations, line 3: state_int must be an integer",
        ),
        ("names", 'name\na\n"b,c",d\ne\n', "names, line 3: 2 columns, expected 1"),
        ("names", "title\na\n", "names, line 1: no column 'name'"),
        (
            "stars",
            "business_stars\n8\n11\n3\n",
            "stars, line 3: business_stars must be an integer from 2 to 10",
        ),
        ("incidence", "node,he\n1,1\n4,1\n", "incidence, line 3: node must be at most 3"),
        ("incidence", "node,he\n1,1\n1,0\n", "incidence, line 3: he must be an integer"),
        ("incidence", "node,he\n", "incidence, line 2: the file holds no rows"),
        ("incidence", "", "incidence, line 1: no column 'node'"),
    ],
)
def test_corrupted_yelp(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        yelp(tmp_path, **{name: text})


def test_words():
    assert words_of("Jalapeño & the BAR_2's x") == ["jalapeno", "bar_2"]
    counts, kept = bag_of_words(["a bb cc", "cc dd cc", ""], 2)
    assert kept == ["bb", "cc"]  # bb and dd are equally frequent: the alphabet decides
    assert counts.tolist() == [[1, 1], [0, 2], [0, 0]]
    assert bag_of_words(["", ""], 5)[0].shape == (2, 0)


# ------------------------------------------------------------------ archives


def make_tar(path: Path, members: dict[str, str], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return path


def test_simplices_archive(tmp_path):
    tar = make_tar(tmp_path / "t.tar.gz", {"t/t-nverts.txt": "2\n1\n", "t/t-simplices.txt": "1\n4\n2\n"})
    h = read_simplices_archive(tar, "t")
    assert (h.num_nodes, h.edges()) == (4, [[0, 3], [1]])
    with pytest.raises(ValueError, match=r"must hold u-nverts\.txt"):
        read_simplices_archive(tar, "u")
    short = make_tar(tmp_path / "s.tar.gz", {"t-nverts.txt": "2\n1\n", "t-simplices.txt": "1\n4\n"})
    with pytest.raises(ValueError, match="has 2 lines, expected 3"):
        read_simplices_archive(short, "t")


@pytest.mark.parametrize(
    ("members", "links"),
    [({"../evil": "x"}, {}), ({"/evil": "x"}, {}), ({}, {"l": "../../evil"}), ({"l/x": "x"}, {"l": "/etc"})],
)
def test_extraction_stays_inside(tmp_path, members, links):
    tar = make_tar(tmp_path / "t.tar.gz", members, links)
    try:
        extract(tar, tmp_path / "in" / "side")
    except ValueError as error:
        assert "was refused" in str(error)  # noqa: PT017
    written = {p.relative_to(tmp_path).parts[0] for p in tmp_path.rglob("*")}
    assert written <= {"t.tar.gz", "in"}
    assert not (tmp_path / "in" / "evil").exists()


def test_archive_cut_off(tmp_path):
    tar = make_tar(tmp_path / "t.tar.gz", {"a": "x" * 10_000})
    tar.write_bytes(tar.read_bytes()[:60])
    with pytest.raises(ValueError, match="not a whole tar file"):
        extract(tar, tmp_path / "in")
