"""By name: a dataset's files, and the hypergraph in them."""

from __future__ import annotations

import os
from pathlib import Path

from ehnn.hypergraph import Hypergraph

from .cards import Card
from .catalogue import card, noise_of
from .content_edges import read_content_edges
from .edge_lines import read_edge_lines
from .errors import DataError
from .locate import cache_dir, data_folder, locate
from .packed import read_packed
from .simplices import read_simplices_archive
from .yelp import read_yelp


def fetch(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    progress: bool | None = None,
) -> Path:
    """Make sure that all files of a dataset are on this machine, and return the folder of the first.

    Each file is looked for in ``data_dir`` (by default ``$EHNN_DATA``), then in the user's cache, then
    downloaded into the cache from ``base_url`` (by default ``$EHNN_MIRROR``, else the paper's repository).
    """
    about = card(name)
    archive = _archive(about, data_dir)
    found = [archive] if archive else locate(about, data_dir, base_url=base_url, progress=progress)
    return found[0].parent


def load(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    seed: int = 0,
    base_url: str | None = None,
) -> Hypergraph:
    """The dataset called ``name`` with ``x`` ``[num_nodes, d]`` float32 and ``y`` ``[num_nodes]`` int64.

    Labels count from 0 and are -1 where a node has none; ``x`` or ``y`` is None where the dataset has none.
    ``seed`` draws the noise of House and Walmart and changes nothing else. Files are found as in `fetch`;
    with ``download=False`` the network is not used.
    """
    about = card(name)
    archive = _archive(about, data_dir)
    if archive is not None:
        return read_simplices_archive(archive, about.name)
    paths = locate(about, data_dir, download=download, base_url=base_url)
    h = _read(about, paths, seed)
    if any(
        file.sha256 is None and cache_dir() in path.parents
        for file, path in zip(about.files, paths, strict=True)
    ):
        _check_statistics(about, h)
    return h


def _read(about: Card, paths: list[Path], seed: int) -> Hypergraph:
    kind = about.files[0].path
    if kind.endswith(".content"):
        return read_content_edges(*paths)
    if kind.endswith(".npz"):
        return read_packed(*paths)
    if kind.endswith(".csv"):
        return read_yelp(*paths)
    edges, labels = paths
    return read_edge_lines(edges, labels, noise_of(about.name), seed)


def _archive(about: Card, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """The collection's own archive of an unlabelled dataset, where it lies there instead of the .npz file."""
    folder = data_folder(data_dir)
    packed = Path(about.files[0].path)
    if packed.parent.name != "scale":
        return None
    folders = [f for f in (folder, cache_dir()) if f is not None]
    if any((f / place).is_file() for f in folders for place in (packed, packed.name)):
        return None
    places = [f / sub / f"{about.name}.tar.gz" for f in folders for sub in ("", "scale")]
    return next((place for place in places if place.is_file()), None)


def _check_statistics(about: Card, h: Hypergraph) -> None:
    """A downloaded file whose sum is not known must at least be of the known size."""
    s, folder = about.statistics, (cache_dir() / about.files[0].path).parent
    features = 0 if h.x is None else h.x.shape[1]
    classes = 0 if h.y is None else int(h.y.max()) + 1
    found = (h.num_nodes, h.num_edges, features, classes)
    expected = (s.nodes, s.hyperedges, s.features, s.classes)
    if found != expected:
        raise DataError(
            f"the downloaded files of {about.name!r} hold (nodes, hyperedges, features, classes) = {found}, "
            f"expected {expected}; empty the folder {folder} and fetch again"
        )
