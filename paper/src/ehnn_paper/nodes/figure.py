"""Node classification: the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ehnn_paper.dots import draw_lead

from .published import DATASETS
from .table import accuracies

_LEAST = -15.0


def plot(table_rows: Sequence[Mapping[str, Any]], path: Path | str) -> Path:
    """A line for each dataset: how many points a model is above the best competitor there.

    The format is that of the ending of ``path``; the file is written whole or not at all.
    """
    ours = accuracies(table_rows)
    values = {m: {d: row[d] for d in DATASETS if d in row} for m, row in ours.items()}
    return draw_lead(values, path, "test accuracy above the best competitor, percentage points", _LEAST)
