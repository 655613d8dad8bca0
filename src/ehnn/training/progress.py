"""Progress of a run: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType

_SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """A progress bar with rate, loss, metric and time left; plain lines when not in a terminal.

    Args:
        label: what is running.
        total: number of epochs.
        done: epochs already done (a resumed run).
        quiet: show nothing.
        unit: what is counted, where it is not epochs.

    >>> with Progress("training", total=2, quiet=True) as progress:
    ...     for epoch in (1, 2):
    ...         progress.update(epoch, loss=0.5)
    """

    def __init__(
        self, label: str, total: int, done: int = 0, quiet: bool = False, unit: str = "epoch"
    ) -> None:
        self.label, self.total, self.first, self.quiet, self.unit = label, total, done, quiet, unit
        self._started = self._printed = time.monotonic()
        self._bar = None
        if not quiet and sys.stderr.isatty() and find_spec("rich") is not None:
            self._bar = _bar(label, total, done)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar[0].start()
        return self

    def update(self, done: int, **values: float) -> None:
        """``done`` epochs are done; ``values`` are shown."""
        if self.quiet:
            return
        rate = (done - self.first) / max(time.monotonic() - self._started, 1e-9)
        shown = "  ".join(f"{k} {v:.4g}" for k, v in values.items())
        if self._bar is not None:
            self._bar[0].update(self._bar[1], completed=done, values=f"{rate:.1f}/s  {shown}")
        elif time.monotonic() - self._printed > _SECONDS_BETWEEN_LINES or done == self.total:
            self._printed = time.monotonic()
            left = (self.total - done) / max(rate, 1e-9)
            speed = f"{rate:.1f} {self.unit}s/s"
            line = f"{self.label}: {self.unit} {done}/{self.total}  {shown}  {speed}  {left:.0f} s left"
            print(line, file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()


def _bar(label: str, total: int, done: int):  # type: ignore[no-untyped-def]
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[values]}"),
        TimeRemainingColumn(),
    )
    bar = RichProgress(*columns, console=Console(stderr=True), refresh_per_second=4)
    return bar, bar.add_task(label, total=total, completed=done, values="")
