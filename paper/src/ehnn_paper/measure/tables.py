"""Rows of a benchmark: collected, written as they come, and printed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ehnn_paper.results import provenance, read_rows, write_rows

Row = dict[str, Any]
Say = Callable[[str], None]
Metrics = Mapping[str, Sequence[float] | float | None]


@dataclass
class Report:
    """The rows of one benchmark.

    In a row, ``mean`` is the *median* of the ``runs`` repeats: what disturbs a clock only adds to it.

    Args:
        experiment: the name of the table in ``out``.
        command: what to type to get the rows again.
        out: the folder; None writes nothing.
        say: gets each line of the printed table.
    """

    experiment: str
    command: str
    out: Path | None
    say: Say = print
    rows: list[Row] = field(default_factory=list)

    @cached_property
    def source(self) -> dict[str, str]:
        """Command, commit, hardware and date."""
        return provenance(self.command)

    def add(
        self, setting: str, model: str, metrics: Metrics,
        paper: dict[str, float] | None = None,
    ) -> None:  # fmt: skip
        """A row per metric (None: not measured), written at once: what is measured stays, come what may."""
        known = paper or {}
        new = [
            {"setting": setting, "model": model, "selection": "none", "metric": metric,
             **_summary(values), "paper": known.get(metric), **self.source}
            for metric, values in metrics.items() if values is not None
        ]  # fmt: skip
        self.rows += [{"experiment": self.experiment, **row} for row in new]
        if self.out is not None:
            write_rows(self.experiment, new, self.out)


def _summary(values: Sequence[float] | float) -> dict[str, Any]:
    if isinstance(values, (int, float)):
        return {"mean": float(values), "std": None, "runs": 1}
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": float(statistics.median(values)), "std": std, "runs": len(values)}


def merge(source: Path, out: Path) -> list[str]:
    """Merge the tables of one folder, measured on another machine, into another; returns their names."""
    names = sorted(path.stem for path in Path(source).glob("*.json"))
    if not names:
        raise ValueError(f"no tables (*.json) in {source}")
    for name in names:
        write_rows(name, read_rows(name, source), out)
    return names


def reason(error: BaseException) -> str:
    """The first line of an error, short enough for a table."""
    text = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[0]}"[:140]
