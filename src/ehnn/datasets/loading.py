"""Find the files of a dataset by name and read its hypergraph."""

from __future__ import annotations

import hashlib
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
from .transfer import file_sha256
from .yelp import read_yelp


def fetch(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    progress: bool | None = None,
) -> Path:
    """Make sure that all files of the dataset ``name`` are here, and return the folder of the first.

    Each file is looked for in ``data_dir`` (by default ``$EHNN_DATA``), then in the user's cache, then
    downloaded into the cache from ``base_url`` (by default ``$EHNN_MIRROR``, else the paper's repository).
    Where the sum of a downloaded file is not known, the dataset is read and must be what its card says.
    ``progress`` shows a bar; None: in a terminal only.

    >>> fetch("zoo")  # doctest: +SKIP
    """
    about = card(name)
    archive = _archive(about, data_dir)
    found = [archive] if archive else locate(about, data_dir, base_url=base_url, progress=progress)
    if archive is None and _unsure(about, found):
        _read_whole(about, found, 0)
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
    ``seed`` draws the noise of House and Walmart and changes nothing else. Files are found in
    ``data_dir`` or at ``base_url`` as in `fetch`; with ``download=False`` the network is not used.

    >>> h = load("zoo")  # doctest: +SKIP
    >>> h.x.shape, h.y.shape  # doctest: +SKIP
    (torch.Size([101, 16]), torch.Size([101]))
    """
    about = card(name)
    archive = _archive(about, data_dir)
    if archive is not None:
        return read_simplices_archive(archive, about.name)
    paths = locate(about, data_dir, download=download, base_url=base_url)
    return _read_whole(about, paths, seed)


def altered(name: str, data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """The files of a dataset, as `load` finds them on this machine, that are not those of its card."""
    about = card(name)
    if _archive(about, data_dir) is not None:
        return []
    pairs = zip(about.files, locate(about, data_dir, download=False), strict=True)
    return [path for file, path in pairs if file.sha256 not in (None, file_sha256(path))]


def digest(name: str, data_dir: str | os.PathLike[str] | None = None) -> str:
    """A checksum of the files of a dataset as `load` finds them; it changes when they change."""
    about = card(name)
    archive = _archive(about, data_dir)
    paths = [archive] if archive is not None else locate(about, data_dir)
    return hashlib.sha256(" ".join(map(file_sha256, paths)).encode()).hexdigest()


def _unsure(about: Card, paths: list[Path]) -> list[Path]:
    """Downloaded files whose sum is not known."""
    pairs = zip(about.files, paths, strict=True)
    return [path for file, path in pairs if file.sha256 is None and cache_dir() in path.parents]


def _read_whole(about: Card, paths: list[Path], seed: int) -> Hypergraph:
    """The hypergraph; downloaded files that turn out to be something else are removed."""
    unsure = _unsure(about, paths)
    try:
        h = _read(about, paths, seed)
        if unsure:
            _check_statistics(about, h)
    except ValueError as error:
        if not unsure:
            raise
        for path in unsure:
            path.unlink(missing_ok=True)
        names = ", ".join(str(path) for path in unsure)
        raise DataError(
            f"what was downloaded as {about.name!r} is something else, and was removed ({names}): {error}"
        ) from error
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
    """The collection's own archive of an unlabelled dataset, if it is there in place of the .npz file."""
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
    s = about.statistics
    features = 0 if h.x is None else h.x.shape[1]
    classes = 0 if h.y is None else int(h.y.max()) + 1
    found = (h.num_nodes, h.num_edges, features, classes)
    expected = (s.nodes, s.hyperedges, s.features, s.classes)
    if found != expected:
        raise DataError(
            f"the files of {about.name!r} hold (nodes, hyperedges, features, classes) = {found}, "
            f"expected {expected}"
        )
