"""Readers of packed arrays and of Yelp's tables, and what they say of a corrupted file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ehnn.datasets.packed import read_packed
from ehnn.datasets.words import bag_of_words, words_of
from ehnn.datasets.yelp import read_yelp

from .raw_files import write

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
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file"):
        read_packed(tmp_path / "a.npz")


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
        ("incidence", "node,he\n1,1\n4,1\n", "line 3: node must be an integer, at least 1 and at most 3"),
        ("incidence", "node,he\n1,1\n1,0\n", "incidence, line 3: he must be an integer"),
        ("incidence", "node,he\n1,1\n1,99999999999\n", "incidence, line 3: .* at most 1,000,000"),
        ("locations", "city_int,state_int\n1,1\n99999999999,1\n1,1\n", "line 3: city_int .* at most 3"),
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
