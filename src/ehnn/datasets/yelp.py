"""Yelp's five CSV files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph
from ehnn.io._support import BOUND_PER_ENTRY, MIN_BOUND

from .labels import as_labels
from .text import as_integers, check_rows, read_csv_columns, read_csv_text
from .words import bag_of_words

NUM_WORDS = 1000
STARS = range(2, 11)  # half stars: 1.0 is 2, 5.0 is 10


def read_yelp(latlong: Path, locations: Path, names: Path, stars: Path, incidence: Path) -> Hypergraph:
    """Restaurants with features, labels (stars) and the hyperedges of the users who went to them.

    ``x`` is [latitude, longitude, one-hot state, one-hot city, counts of the 1000 most frequent words].
    All integers in the files count from 1. A hyperedge number that is skipped is an empty hyperedge.
    """
    y = _read_stars(stars)
    place = read_csv_columns(latlong, ("latitude", "longitude")).astype(np.float32)
    where = read_csv_columns(locations, ("state_int", "city_int"))
    state, city = (  # a place for each restaurant at most: each is a column of x
        as_integers(locations, where[:, i], ("state_int", "city_int")[i], 1, 1, len(where)) for i in range(2)
    )
    texts = read_csv_text(names, "name")
    for path, rows in ((latlong, len(place)), (locations, len(where)), (names, len(texts))):
        if rows != y.size:
            raise ValueError(f"{path} has {rows} rows, expected one for each of the {y.size} in {stars}")
    x = np.hstack([place, _one_hot(state), _one_hot(city), bag_of_words(texts, NUM_WORDS)[0]])
    node, edge = _read_incidence(incidence, y.size)
    return Hypergraph.from_incidence(
        (torch.from_numpy(node), torch.from_numpy(edge)),
        y.size,
        int(edge.max()) + 1,  # the files state the number of hyperedges nowhere else
        x=torch.from_numpy(x),
        y=as_labels(y, stars),
    )


def _one_hot(numbers: np.ndarray) -> np.ndarray:
    matrix = np.zeros((numbers.size, int(numbers.max())), dtype=np.float32)
    matrix[np.arange(numbers.size), numbers - 1] = 1.0
    return matrix


def _read_stars(path: Path) -> np.ndarray:
    column = read_csv_columns(path, ("business_stars",), label=True)[:, 0]
    known = ~np.isnan(column)
    good = ~known | np.isin(column, list(STARS))
    check_rows(path, good, f"business_stars must be an integer from {STARS[0]} to {STARS[-1]}", 1)
    return np.where(known, column - STARS[0], -1).astype(np.int64)


def _read_incidence(path: Path, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    table = read_csv_columns(path, ("node", "he"))
    node = as_integers(path, table[:, 0], "node", 1, 1, num_nodes)
    edge = as_integers(path, table[:, 1], "he", 1, 1, max(MIN_BOUND, BOUND_PER_ENTRY * len(table)))
    return node - 1, edge - 1
