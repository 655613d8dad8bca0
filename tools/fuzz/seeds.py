"""What is fuzzed: valid files, the function that reads them, and how a damaged copy of them is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .archives import mutate_npz, mutate_tar
from .json_files import mutate_json
from .pictures import mutate_image
from .plain import Random, mutate_bytes, mutate_text
from .tensors import in_order, mutate_safetensors

Files = dict[str, bytes | None]
"""The contents of a folder by relative path; None is a folder in the place of a file."""


@dataclass(frozen=True)
class Seed:
    """Valid files.

    Attributes:
        files: their contents by relative path.
        read: what a user calls, given the folder; whatever it returns, or raises, is judged by `trial`.
        repair: makes sums and sizes right again, as the author of a hostile file would; not always called.
        fixed: files that are never changed.
        also: further errors that are documented.
    """

    files: Files
    read: Callable[[Path], Any]
    repair: Callable[[Files], None] | None = None
    fixed: tuple[str, ...] = ()
    also: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        if self.repair is not None:
            self.repair(self.files)


def files_in(folder: Path) -> Files:
    """The files below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {str(path.relative_to(folder)): path.read_bytes() for path in found}
    return {name: in_order(data) if name.endswith(".safetensors") else data for name, data in files.items()}


Mutator = Callable[[bytes, Random], bytes]
_BY_SUFFIX: dict[str, tuple[Mutator, ...]] = {
    ".json": (mutate_json, mutate_json, mutate_json, mutate_text),
    ".jsonl": (mutate_text,),
    ".npz": (mutate_npz, mutate_npz, mutate_npz),
    ".tar": (mutate_tar, mutate_tar),
    ".gz": (mutate_tar, mutate_tar),
    ".safetensors": (mutate_safetensors, mutate_safetensors, mutate_safetensors),
    ".mat": (),
    **dict.fromkeys((".png", ".jpg", ".gif", ".tiff", ".webp", ".bmp"), (mutate_image,)),
}


def damaged(seed: Seed, rng: Random) -> Files:
    """A copy of the files with a few changes, mostly a single one."""
    files: Files = dict(seed.files)
    targets = [name for name in files if name not in seed.fixed]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(targets)
        data = files.get(name)
        if data is None:
            continue
        if rng.random() < 0.02:
            _replace(files, name, rng)
            continue
        mutators = _BY_SUFFIX.get(Path(name).suffix, (mutate_text, mutate_text))
        mutate = rng.choice((*mutators, mutate_bytes))
        try:
            files[name] = mutate(data, rng)
        except Exception:
            if data == seed.files[name]:
                raise
            files[name] = mutate_bytes(data, rng)  # damaged too much by now to be taken apart
    if seed.repair is not None and rng.random() < 0.75:
        with suppress(Exception):  # what is too damaged for it stays as it is
            seed.repair(files)
    return files


def _replace(files: Files, name: str, rng: Random) -> None:
    action = rng.randrange(3)
    if action == 0:
        del files[name]
    elif action == 1:
        files[name] = None
    else:
        files[name] = files[rng.choice(list(files))]


def write(files: Files, folder: Path) -> int:
    """Write the files into a new folder; returns their size."""
    folder.mkdir()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)
    return sum(len(data) for data in files.values() if data is not None)
