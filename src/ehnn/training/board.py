"""Metrics for TensorBoard, if it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Board:
    """Writes the mean over runs of each metric to ``directory/tensorboard``, if TensorBoard is there.

    Args:
        directory: of the run; None writes nothing.
        epoch: epochs already done; what was written after them by a run that was stopped is dropped.
    """

    def __init__(self, directory: Path | None, epoch: int) -> None:
        self._writer: Any = None
        if directory is None or find_spec("tensorboard") is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:  # an installation that does not fit this PyTorch must not stop a run
            return
        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=epoch + 1)

    def write(self, row: dict[str, Any]) -> None:
        """``row``: the epoch, and lists over runs by name."""
        if self._writer is None:
            return
        for name, values in row.items():
            if name != "epoch":
                self._writer.add_scalar(name, sum(values) / len(values), row["epoch"])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
