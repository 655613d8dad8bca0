"""Datasets: every source ends in a Hypergraph with labels.

>>> from ehnn import datasets
>>> h = datasets.load("zoo")                            # doctest: +SKIP
>>> train, valid, test = datasets.random_split(h.y, seed=0)   # doctest: +SKIP
"""

from .cards import Card, File, Statistics
from .catalogue import card, list_datasets
from .errors import DataError
from .loading import altered, fetch, load
from .locate import BASE_URL, cache_dir
from .splits import random_split
from .transfer import download

__all__ = [
    "BASE_URL",
    "Card",
    "DataError",
    "File",
    "Statistics",
    "altered",
    "cache_dir",
    "card",
    "download",
    "fetch",
    "list_datasets",
    "load",
    "random_split",
]
