"""Every format that the library and the paper's package read, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch

from . import data_formats, model_formats, paper_formats, table_formats
from .seeds import Seed

FORMATS: dict[str, Callable[[Path], Iterable[Seed]]] = {
    **table_formats.FORMATS,
    **data_formats.FORMATS,
    **model_formats.FORMATS,
    **(paper_formats.FORMATS if find_spec("ehnn_paper") and find_spec("PIL") else {}),
}


def make(names: Sequence[str], scratch: Path) -> dict[str, list[Seed]]:
    """Seeds of some formats, made by the library in folders below ``scratch``; the same every time."""
    found = {}
    for name in names:
        folder = scratch / f"seeds-{name}"
        folder.mkdir()
        torch.manual_seed(0)
        found[name] = list(FORMATS[name](folder))
    return found
