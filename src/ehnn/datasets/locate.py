"""Find the files of a dataset: in a data folder, the user's cache, or the public repository."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from .cards import Card, File
from .errors import DataError
from .transfer import download as fetch_file
from .transfer import file_sha256

__all__ = ["locate"]

# One commit of the paper's repository, so that the files behind the address never change.
BASE_URL = (
    "https://raw.githubusercontent.com/jw9730/ehnn/4557e4cb30046584b50e5aa328aef8eb80417a15"
    "/semi-supervised-node-classification/data/raw_data"
)


def cache_dir() -> Path:
    """The folder for downloaded files: ``$XDG_CACHE_HOME/ehnn/datasets``, by default in ``~/.cache``.

    >>> cache_dir().name
    'datasets'
    """
    root = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not root.is_absolute():  # unset, or relative, which the XDG specification says to ignore
        root = Path.home() / ".cache"
    return root / "ehnn" / "datasets"


def data_folder(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """``data_dir``, or else ``$EHNN_DATA``, or else None; it must be a folder if it is given."""
    given, what = data_dir, "data_dir"
    if given is None:
        given, what = os.environ.get("EHNN_DATA") or None, "EHNN_DATA"
    if given is None:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DataError(f"{what} must be a folder, got {str(given)!r}")
    return folder


def find_file(path: str, folder: Path) -> Path | None:
    """A raw file in a folder laid out like the public one, with a ``hypergraphs`` level above it, or flat."""
    places = (folder / path, folder / "hypergraphs" / path, folder / Path(path).name)
    return next((place for place in places if place.is_file()), None)


def locate(
    card: Card,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    base_url: str | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """The paths of a card's files, in its order.

    Files that are not in ``data_dir`` or the cache are downloaded into the cache, unless
    ``download=False``. A `DataError` names those that are missing. ``base_url`` and ``progress`` are those of
    `ehnn.datasets.fetch`.

    >>> from ehnn.datasets import card
    >>> locate(card("zoo"))  # doctest: +SKIP
    """
    folder = data_folder(data_dir)
    mirror = base_url or os.environ.get("EHNN_MIRROR") or None
    found = {file: _on_disk(file, folder) for file in card.files}
    missing = [file for file, path in found.items() if path is None]
    if missing and not download:
        raise _unavailable(card, missing, folder, "Downloading is switched off.")
    if mirror is None and not all(file.public for file in missing):
        raise _unavailable(
            card, missing, folder, "There is no public address for it (EHNN_MIRROR is not set)."
        )
    for i, file in enumerate(missing):
        url = f"{(mirror or BASE_URL).rstrip('/')}/{quote(file.path)}"
        try:
            found[file] = fetch_file(
                url, cache_dir() / file.path, file.sha256, size=file.size, progress=progress
            )
        except DataError as error:
            raise _unavailable(card, missing[i:], folder, f"The download failed: {error}.") from error
    return [path for path in found.values() if path is not None]


def _on_disk(file: File, folder: Path | None) -> Path | None:
    found = find_file(file.path, folder) if folder is not None else None
    if found is not None:
        return found
    cached = cache_dir() / file.path
    # A cached file was whole when it was renamed; the sum also sees what has happened to the disk since.
    whole = cached.is_file() and file.sha256 in (None, file_sha256(cached))
    return cached if whole else None


def _unavailable(card: Card, missing: list[File], folder: Path | None, reason: str) -> DataError:
    looked = " or ".join(str(place) for place in (folder, cache_dir()) if place is not None)
    target = folder or cache_dir()
    if (target / "hypergraphs").is_dir() and not missing[0].path.startswith("scale/"):
        target = target / "hypergraphs"
    note = "" if all(file.public for file in missing) else f" {card.notes}"
    return DataError(
        f"dataset {card.name!r} lacks {', '.join(file.path for file in missing)}: not in {looked}. {reason} "
        f"Put {'it' if len(missing) == 1 else 'them'} at {', '.join(str(target / f.path) for f in missing)}, "
        f"or into another folder given as data_dir or EHNN_DATA.{note}"
    )
