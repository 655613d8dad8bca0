"""Datasets: each loads as a Hypergraph with labels.

>>> from ehnn import datasets
>>> h = datasets.load("zoo")                            # doctest: +SKIP
>>> train, valid, test = datasets.random_split(h.y, seed=0)   # doctest: +SKIP
"""

from ehnn._utils.moved import former

from .cards import Card, File, Statistics
from .catalogue import card, list_datasets
from .errors import DataError
from .functions import scipy_functions, write_example
from .loading import fetch, load
from .locate import cache_dir
from .splits import random_split

__all__ = [
    "Card",
    "DataError",
    "File",
    "Statistics",
    "cache_dir",
    "card",
    "fetch",
    "list_datasets",
    "load",
    "random_split",
    "scipy_functions",
    "write_example",
]

__getattr__ = former(
    __name__,
    internal={
        ".loading": "altered",
        ".locate": "BASE_URL",
        ".transfer": "download",
    },
)
