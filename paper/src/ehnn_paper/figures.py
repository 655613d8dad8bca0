"""Figures by matplotlib, without a window; files are written atomically."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write
from ehnn._utils.optional import require

# Okabe and Ito: colours that colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def new_figure(**options: Any) -> Any:
    """A matplotlib Figure; an ImportError says how to get matplotlib."""
    return require("matplotlib.figure", "plot").Figure(**options)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write the picture in the format of the ending of ``path`` (PNG without one); folders are made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format=path.suffix.lstrip(".") or "png")
    return path
